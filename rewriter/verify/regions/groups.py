"""Instruction groups that go on where one region ends and the next begins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from rewriter.core.code.groups import Slot
from rewriter.core.errors import BadInput
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.protocol import Memory


class OpenGroup:
    """The slots of the group that goes on behind straight code, as one region follows another."""

    def __init__(self, target: Bundling, slots: Sequence[Slot] = ()) -> None:
        self._target = target
        self.all: list[Slot] = []
        self._is_idle = True
        self.follow(slots)

    @property
    def slots(self) -> Sequence[Slot]:
        """The slots; none if nothing goes on, or only nops do."""
        return () if self._is_idle else self.all

    def follow(self, slots: Sequence[Slot]) -> None:
        """Goes to the end of the next region."""
        stops = [n for n, slot in enumerate(slots) if slot.stop]
        tail = slots[stops[-1] + 1 :] if stops else slots
        gone = any(self._target.ends(slot.insn) for slot in tail)
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

    @property
    def differ(self) -> bool:
        """Whether something goes on in the new file that does not in the old one."""
        return bool(self.new.slots) and not self._is_shown

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

    def _ends_alike(self) -> bool:
        """Whether what goes on in the new file is the last, or all, of what does in the old one."""
        start = len(self.old.all) - len(self.new.all)
        if start < 0:
            return False
        return free(self._target, self.old.all[start:]) == free(self._target, self.new.all)


def open_before(target: Bundling, image: Memory, start: int) -> OpenGroup:
    """What goes on where control comes to an address from the code before it."""
    ranges, bundles = image.executable_ranges(), []
    at = start - target.bundle
    while any(low <= at < high for low, high in ranges):  # else no code, whatever its bytes are
        try:
            bundles.append(list(target.straight(image.read(at, target.bundle), at)))
        except (BadInput, ValueError):
            break
        if any(slot.stop for slot in bundles[-1]):
            break
        at -= target.bundle
    group = OpenGroup(target)
    for slots in reversed(bundles):  # each may be entered behind one that control leaves for ever
        group.follow(slots)
    return group


def open_at_end(target: Bundling, slots: Sequence[Slot]) -> Sequence[Slot]:
    """The slots of the group that goes on behind a region, of those that are its own."""
    return OpenGroup(target, slots).slots


def free(target: Bundling, slots: Sequence[Slot]) -> list[Hashable]:
    """Instructions without where they stand."""
    return [target.place_free(slot.insn) for slot in slots]
