"""What a loop walks over: accesses whose address changes by the same distance in each pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewriter.core.code.dataflow import registers_of
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Sequential

Place = tuple[int, int] | None
"""A register as it was at the start of a pass, and what is added to it; None for the unknown."""


@dataclass(frozen=True)
class Touch:
    """Memory that an instruction names: `size` bytes, `displacement` from what `base` holds."""

    base: int
    displacement: int
    size: int
    stores: bool
    exact: bool = True


@dataclass(frozen=True)
class Moving:
    """An instruction as far as addresses go.

    A register of `sums` becomes another plus a number: result, source, distance.  Of what `lost`
    hold nothing is known afterwards.
    """

    touch: Touch | None
    sums: tuple[tuple[int, int, int], ...] = ()
    lost: tuple[int, ...] = ()


@dataclass(frozen=True)
class Access:
    """One access of a stream: bytes from where the stream is at the start of a pass."""

    number: int
    offset: int
    size: int
    stores: bool
    exact: bool


@dataclass(frozen=True)
class Stream:
    """All accesses from one register that a pass moves by `step` bytes.

    `at` is, before each instruction of a pass and after the last, a register that holds the
    stream's address with what must be added to it; None where no register does.
    """

    base: int
    step: int
    accesses: tuple[Access, ...]
    at: tuple[tuple[int, int] | None, ...]

    @property
    def writes(self) -> bool:
        """Whether nothing of it is read."""
        return all(access.stores for access in self.accesses)

    @property
    def ahead(self) -> int:
        """The offset of the access that is first in a line: the last one where it goes down."""
        offsets = [access.offset for access in self.accesses]
        return max(offsets) if self.step > 0 else min(offsets)

    def aligned(self, size: int) -> bool:
        """Whether what it accesses is shown to be on a multiple of `size` bytes."""
        same = [a for a in self.accesses if a.exact and a.size >= size]
        return bool(same) and self.step % size == 0 and (self.ahead - same[0].offset) % size == 0


def streams(insns: Sequence[Insn], target: Sequential) -> list[Stream]:
    """The streams of a loop whose pass is these instructions, one after the other."""
    return walked([_moving(insn, target)] for insn in insns)


def walked(groups: Iterable[Sequence[Moving]]) -> list[Stream]:
    """The streams of a loop whose pass is these groups; the reads of one are before its writes."""
    values: dict[int, Place] = {}
    accesses: list[tuple[int, Access]] = []
    before: list[dict[int, Place]] = []
    for group in groups:
        start = dict(values)
        for moving in group:
            touch = moving.touch
            place = None if touch is None else start.get(touch.base, (touch.base, 0))
            if touch is not None and place is not None:
                offset = place[1] + touch.displacement
                access = Access(len(before), offset, touch.size, touch.stores, touch.exact)
                accesses.append((place[0], access))
            before.append(start)
            _step(moving, start, values)
    before.append(dict(values))
    found = []
    for base in sorted({base for base, _ in accesses}):
        end = values.get(base, (base, 0))
        if end is not None and end[0] == base and end[1]:
            places = tuple(_holder(at, base) for at in before)
            own = tuple(access for other, access in accesses if other == base)
            found.append(Stream(base, end[1], own, places))
    return found


def _moving(insn: Insn, target: Sequential) -> Moving:
    """An instruction of a machine that says nothing of groups."""
    effects, touch = target.table.effects(insn.op), None
    spelled = target.spelling.address(insn) if target.table.accesses(insn) else None
    if spelled is not None:
        exact = insn.name not in target.spelling.CELL_ACCESSES
        base, displacement = spelled
        touch = Touch(base, displacement, effects.size, effects.stores, exact)
    linear = target.linear(insn)
    if linear is not None:
        return Moving(touch, (linear,))
    written = registers_of(target.table.defs(insn))
    stepped = None if target.hints is None else target.hints.stepped(insn)
    if stepped is None:
        return Moving(touch, (), tuple(written))
    base, distance = stepped
    return Moving(touch, ((base, base, distance),), tuple(r for r in written if r != base))


def _step(moving: Moving, start: dict[int, Place], values: dict[int, Place]) -> None:
    """What registers hold after an instruction that reads those of the start of its group."""
    values.update(dict.fromkeys(moving.lost))
    for result, source, distance in moving.sums:
        place = start.get(source, (source, 0))
        values[result] = None if place is None else (place[0], place[1] + distance)


def _holder(values: dict[int, Place], base: int) -> tuple[int, int] | None:
    """A register that holds the base, and what must be added: itself first."""
    for register in (base, *sorted(values)):
        place = values.get(register, (register, 0))
        if place is not None and place[0] == base:
            return register, -place[1]
    return None
