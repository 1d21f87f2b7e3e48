"""Instruction groups that go on where one region ends and the next begins."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from rewriter.core.code.groups import Slot, groups
from rewriter.core.errors import BadInput
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.protocol import Memory


class OpenGroup:
    """The slots of the group that goes on behind straight code, as one region follows another."""

    def __init__(self, target: Bundling, slots: Sequence[Slot] = ()) -> None:
        self._target = target
        self.all: list[Slot] = []
        self._is_idle = True
        self.is_left = False  # whether control never comes to the end of the last region
        self.follow(slots)

    @property
    def slots(self) -> Sequence[Slot]:
        """The slots; none if nothing goes on, or only nops do."""
        return () if self._is_idle else self.all

    @property
    def idle(self) -> Sequence[Slot]:
        """The slots if only nops go on: what must be the first of its group may not follow."""
        return self.all if self._is_idle else ()

    def follow(self, slots: Sequence[Slot]) -> None:
        """Goes to the end of the next region, which is entered at its first slot only."""
        stops = [n for n, slot in enumerate(slots) if slot.stop]
        tail = slots[stops[-1] + 1 :] if stops else slots
        self.is_left = gone = any(self._target.ends(slot.insn) for slot in slots)
        if stops or gone:
            self.all, self._is_idle = [], True
        if not gone:
            self.all += tail
            self._is_idle &= all(self._target.is_nop(slot.insn) for slot in tail)


class OpenGroups:
    """The same in the old file and in the new one."""

    def __init__(self, target: Bundling, old: Memory, new: Memory, start: int) -> None:
        self._target = target
        self.old, self.new = (open_before(target, image, start) for image in (old, new))
        self._is_shown = self._ends_alike()

    def matter_to(self, slots: Sequence[Slot]) -> bool:
        """Whether something goes on in the new file, and not in the old one, that may be wrong in
        front of these slots, which are alike in both.

        Nops are wrong only in front of what must be the first of its group.
        """
        if self._is_shown:
            return False
        return bool(self.new.slots) or any(self.displaced(slots))

    def displaced(self, slots: Sequence[Slot]) -> Iterator[str]:
        """Why instructions may not stand in these slots behind the nops that go on in the new
        file."""
        if self._is_shown or not (idle := self.new.idle):
            return
        group = next(groups(slots), ())
        alone = set(self._target.proving.misplaced(group))
        for number, why in self._target.proving.misplaced([*idle, *group]):
            if (number - len(idle), why) not in alone:
                yield why

    def follow(self, old: Sequence[Slot], new: Sequence[Slot]) -> None:
        """Goes to the end of the next region."""
        counts = len(self.old.all), len(self.new.all)
        self.old.follow(old)
        self.new.follow(new)
        if (len(self.old.all), len(self.new.all)) == (counts[0] + len(old), counts[1] + len(new)):
            # Without a stop all that was open still is.
            self._is_shown &= free(self._target, old) == free(self._target, new)
        else:
            self._is_shown = self._ends_alike()

    def rest(self, nops: Sequence[Slot]) -> None:
        """Goes to the end of the nops that stand behind the last region in the new file."""
        if nops and not self.new.is_left:
            self.new.follow(nops)
            self._is_shown = self._ends_alike()

    def _ends_alike(self) -> bool:
        """Whether what goes on in the new file is the last, or all, of what does in the old one."""
        start = len(self.old.all) - len(self.new.all)
        if start < 0:
            return False
        return free(self._target, self.old.all[start:]) == free(self._target, self.new.all)


def open_before(target: Bundling, image: Memory, start: int) -> OpenGroup:
    """What goes on where control comes to an address from the code before it.

    Control does not come to nops behind a bundle that it leaves for ever.
    """
    pieces: list[list[Slot]] = []
    nops: list[Slot] = []
    at = start - target.bundle
    while slots := bundle_at(target, image, at):
        if all(target.is_nop(slot.insn) for slot in slots):
            nops = [*slots, *nops]
        else:
            pieces.append([*slots, *nops])
            nops = []
        if pieces and any(slot.stop for slot in slots):
            break
        at -= target.bundle
    group = OpenGroup(target, nops)
    for piece in reversed(pieces):  # each may be entered behind one that control leaves for ever
        group.follow(piece)
    return group


def bundle_at(target: Bundling, image: Memory, at: int) -> list[Slot]:
    """The slots of a bundle; none where there is no code, whatever its bytes are."""
    if not any(low <= at < high for low, high in image.executable_ranges()):
        return []
    try:
        return list(target.straight(image.read(at, target.bundle), at))
    except (BadInput, ValueError):
        return []


def open_at_end(target: Bundling, slots: Sequence[Slot]) -> Sequence[Slot]:
    """The slots of the group that goes on behind a region, of those that are its own."""
    return OpenGroup(target, slots).slots


def free(target: Bundling, slots: Sequence[Slot]) -> list[Hashable]:
    """Instructions without where they stand."""
    return [target.place_free(slot.insn) for slot in slots]
