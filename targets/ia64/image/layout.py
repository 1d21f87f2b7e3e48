"""Regions with new code put in their places: in the old ones, or moved up within the function.

What moves with the code: IP-relative distances, and the lengths and times of the unwind
information, in the bytes that they have.  A function keeps its range; what is left of it at its
end are bundles of nops that nothing reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.target.bundling import Place, Region, Routine
from rewriter.core.target.protocol import CannotMove
from targets.ia64.image import unwind
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import SLOTS, TEMPLATES, Bundle
from targets.ia64.isa.fields import BUNDLE, SLOT
from targets.ia64.isa.formats import FIRST, SlotOp
from targets.ia64.isa.rows import TABLE

_IDLE, _STOPPED = TEMPLATES[0], TEMPLATES[1]


def nop(unit: str) -> int:
    """The word that does nothing, of a unit by its letter."""
    row = TABLE.find(f"nop.{unit}")
    return TABLE.encode(Insn(row, tuple(o.base for o in row.format.operands)))


_NOPS = nop("m"), nop("i"), nop("i")
NOPS = bundles.encode(Bundle(_IDLE, _NOPS))
"""A bundle that does nothing and is part of the group around it."""

STOP = bundles.encode(Bundle(_STOPPED, _NOPS))
"""A bundle that does nothing and ends the group around it."""


def padded(code: bytes, size: int, following: bytes) -> bytes:
    """Code with bundles that do nothing behind it, `size` bytes in all, in front of other code.

    They are part of the group of what follows, unless that begins with what must be the first of
    its group (SDM vol. 3: alloc, flushrs, loadrs), or is not known.
    """
    idle = (size - len(code)) // BUNDLE
    if idle and (not following or _must_begin_group(following)):
        return code + NOPS * (idle - 1) + STOP
    return code + NOPS * idle


def _must_begin_group(code: bytes) -> bool:
    """Whether the first instruction of code must be the first of its group."""
    try:
        slot = next(bundles.straight(code[:BUNDLE], 0))
    except ValueError:  # it holds something else
        return False
    assert isinstance(slot.insn.op, SlotOp)
    return FIRST in slot.insn.op.rules


def place_free(insn: Insn) -> Hashable:
    """What an instruction is, whatever slot it stands in and however far its target is.

    That is its row, by the bits that are fixed in it, and its other operands: rows share names and
    formats (`add` with and without the 1, moves from IP and from the predicates).
    """
    op, values = insn.op, insn.operands
    return op.match, op.mask, tuple([values[n] for n in _placeless(op)])


@cache
def _placeless(op: Op) -> tuple[int, ...]:
    """Which operands of a row are not its place."""
    operands = enumerate(op.format.operands)
    return tuple(n for n, o in operands if o.kind is not Kind.TARGET and o.name != SLOT.name)


def moved(code: bytes, old: int, new: int, place: Callable[[int], int]) -> bytes:
    """The bundles of code at `old` as they must be at `new`.

    `place` gives the new address of a target; CannotMove where a distance does not fit.
    """
    out = bytearray()
    for at in range(0, len(code), BUNDLE):
        raw = code[at : at + BUNDLE]
        bundle = bundles.decode(raw)
        if bundle is None:
            raise CannotMove("a bundle of a reserved template")
        words = tuple([_word(word, old + at, new + at, place) for word in bundle.words])
        out += raw if words == bundle.words else bundles.encode(Bundle(bundle.template, words))
    return bytes(out)


def _word(word: int, old: int, new: int, place: Callable[[int], int]) -> int:
    insn = TABLE.decode(word)
    if insn is None:
        raise CannotMove("a slot that holds no instruction")
    if insn.op.flow is Flow.NEXT:
        return word  # a prediction that names a bundle stays, and all around it
    fresh = {
        operand.name: place(old + value) - new
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True)
        if operand.kind is Kind.TARGET
    }
    if not fresh:
        return word
    try:
        return TABLE.encode(insn.replace(**fresh))
    except ValueError as error:
        raise CannotMove("a branch would not reach its target") from error


@dataclass(frozen=True)
class _Frame:
    """A function as it was and as it will be: where each region stands and what is in it."""

    routine: Routine
    read: Callable[[int, int], bytes]
    codes: Mapping[int, bytes]
    starts: Mapping[int, int]
    _decoded: dict[int, tuple[list[Slot], list[Slot]]] = field(default_factory=dict)

    def region(self, slot: int) -> Region:
        """The region that a slot of the function is in; CannotMove where it is in none."""
        address = self.routine.function.start + slot // SLOTS * BUNDLE
        for region in self.routine.regions:
            if region.start <= address < region.end:
                return region
        raise CannotMove("unwind information names what is not in it")

    def slot(self, address: int) -> int:
        """The number of the first slot of a bundle of the function."""
        return (address - self.routine.function.start) // BUNDLE * SLOTS

    def named(self, slot: int) -> int:
        """The new number of a slot that holds an instruction; CannotMove where it is lost."""
        region = self.region(slot)
        within = slot - self.slot(region.start)
        base = self.slot(self.starts[region.start])
        if region.start not in self.codes:
            return base + within
        old, new = self._both(region)
        there = next((s.insn for s in old if _number(s) == within), None)
        wanted = None if there is None else place_free(there)
        mine = [_number(s) for s in old if place_free(s.insn) == wanted]
        others = [_number(s) for s in new if place_free(s.insn) == wanted]
        if there is None or there.name.startswith("nop") or len(mine) != len(others):
            raise CannotMove("an instruction that unwind information names is not there any more")
        return base + others[mine.index(within)]

    def _both(self, region: Region) -> tuple[list[Slot], list[Slot]]:
        """A region's old and new slots; a prologue is asked for with each thing that it saves."""
        found = self._decoded.get(region.start)
        if found is None:
            old = self.read(region.start, region.end - region.start)
            found = self._decoded[region.start] = _slots(old), _slots(self.codes[region.start])
        return found


def _slots(code: bytes) -> list[Slot]:
    return list(bundles.straight(code, 0))


def _number(slot: Slot) -> int:
    return slot.address // BUNDLE * SLOTS + slot.address % BUNDLE


def retimed(
    described: unwind.Unwinding,
    routine: Routine,
    read: Callable[[int, int], bytes],
    codes: Mapping[int, bytes],
    starts: Mapping[int, int],
) -> bytes:
    """The unwind descriptors for regions with new `codes` at `starts`; raises CannotMove."""
    frame = _Frame(routine, read, codes, starts)
    moments = [m.slot for part in described.parts for m in part.moments]
    places = {slot: frame.named(slot) for slot in moments}
    bounds = _bounds(frame, described.parts, places)
    try:
        return unwind.retimed(described, places, bounds)
    except unwind.Malformed as error:
        raise CannotMove(f"unwind information: {error}") from error


def _bounds(
    frame: _Frame, parts: Sequence[unwind.Part], places: Mapping[int, int]
) -> dict[int, int]:
    """Where the regions of the unwind information end, by where they ended."""
    total = frame.slot(frame.routine.function.end)
    heads = {frame.slot(old): frame.slot(new) for old, new in frame.starts.items()}
    # What is free at the end is in no region: nothing runs there.
    bounds = {0: 0, total: heads.get(total, total)}
    for before, after in pairwise(parts):
        cut = before.end
        if cut in bounds:
            continue
        if cut in heads:
            bounds[cut] = heads[cut]
            continue
        region = frame.region(cut)
        base, head = heads[frame.slot(region.start)], frame.slot(region.start)
        if region.start not in frame.codes:
            bounds[cut] = base + cut - head
            continue
        low = max([base, *(places[m.slot] + 1 for m in before.moments)])
        end = base + len(frame.codes[region.start]) // BUNDLE * SLOTS
        high = min([end, *(places[m.slot] for m in after.moments)])
        if low > high:
            raise CannotMove("the prologue's end would stand behind the body's epilogue")
        bounds[cut] = min(max(base + cut - head, low), high)
    return bounds


def in_place(
    routine: Routine, read: Callable[[int, int], bytes], codes: Mapping[int, bytes]
) -> tuple[list[Place], dict[int, int]]:
    """Every region where it was, with bundles of nops behind a shorter one."""
    places, following = list[Place](), b""
    for region in reversed(routine.regions):
        size = region.end - region.start
        if region.start in codes:
            code = padded(codes[region.start], size, following)
            places.append(Place(region.start, region.start, code))
        following = codes.get(region.start) or read(region.start, BUNDLE)
    places.reverse()
    starts = {region.start: region.start for region in routine.regions}
    return places, starts | {routine.function.end: routine.function.end}


def compact(
    routine: Routine,
    read: Callable[[int, int], bytes],
    codes: Mapping[int, bytes],
    boundaries: Mapping[int, int],
) -> tuple[list[Place], dict[int, int]]:
    """Every region right behind the one before it; raises CannotMove.

    Regions with a boundary get bundles of nops in front of them up to a multiple of it, if the
    function has room for these and more of them stand on one then.
    """
    kept = {
        region.start: codes.get(region.start) or read(region.start, region.end - region.start)
        for region in routine.regions
    }
    plain = _one_behind_another(routine, kept)
    wide = _one_behind_another(routine, _widened(routine, kept, boundaries))

    def on_boundary(starts: Mapping[int, int]) -> int:
        return sum(starts[old] % boundary == 0 for old, boundary in boundaries.items())

    if on_boundary(wide) > on_boundary(plain):
        kept, starts = _widened(routine, kept, boundaries), wide
    else:
        starts = plain
    at = starts[routine.function.end]

    def place(target: int) -> int:
        if target not in routine.function:
            return target  # behind the end, too
        if target not in starts:
            raise CannotMove("a branch leads into a region")
        return starts[target]

    places = [
        Place(old, starts[old], moved(code, old, starts[old], place)) for old, code in kept.items()
    ]
    rest = routine.function.end - at
    if rest:
        places.append(Place(routine.function.end, at, padded(b"", rest, b"")))
    return places, starts


def _one_behind_another(routine: Routine, kept: Mapping[int, bytes]) -> dict[int, int]:
    """Where each region and, by the function's end, what is left stands."""
    starts, at = {}, routine.function.start
    for old, code in kept.items():
        starts[old] = at
        at += len(code)
    starts[routine.function.end] = at
    return starts


def _widened(
    routine: Routine, kept: Mapping[int, bytes], boundaries: Mapping[int, int]
) -> dict[int, bytes]:
    """Regions with nops behind those in front of which is no boundary, while there is room."""
    wide: dict[int, bytes] = {}
    at = routine.function.start
    room = len(range(at, routine.function.end)) - sum(map(len, kept.values()))
    free = {region.start for region in routine.regions if not region.reason}
    before = -1
    for old, code in kept.items():
        missing = -at % boundaries.get(old, BUNDLE)
        if before in free and 0 < missing <= room:
            wide[before] = padded(wide[before], len(wide[before]) + missing, code)
            room, at = room - missing, at + missing
        wide[old] = code
        before, at = old, at + len(code)
    return wide
