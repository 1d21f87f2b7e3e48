"""What a loop walks over: accesses whose address changes by the same distance in each pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.core.isa import Insn
from rewriter.core.target import Target
from rewriter.core.trace import registers_of


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


def streams(insns: Sequence[Insn], target: Target) -> list[Stream]:
    """The streams of a loop whose pass is these instructions."""
    values: dict[int, tuple[int, int] | None] = {}
    accesses: list[tuple[int, Access]] = []
    before: list[dict[int, tuple[int, int] | None]] = []
    for number, insn in enumerate(insns):
        before.append(dict(values))
        effects = target.table.effects(insn.op)
        if (effects.loads and target.table.defs(insn)) or effects.stores:
            base, displacement = target.spelling.address(insn)
            place = values.get(base, (base, 0))
            if place is not None:
                exact = insn.name not in target.spelling.GRANULE_ACCESSES
                offset, size = place[1] + displacement, effects.size
                access = Access(number, offset, size, effects.stores, exact)
                accesses.append((place[0], access))
        _step(insn, values, target)
    before.append(dict(values))
    found = []
    for base in sorted({base for base, _ in accesses}):
        end = values.get(base, (base, 0))
        if end is not None and end[0] == base and end[1]:
            places = tuple(_holder(at, base) for at in before)
            own = tuple(access for other, access in accesses if other == base)
            found.append(Stream(base, end[1], own, places))
    return found


def _step(insn: Insn, values: dict[int, tuple[int, int] | None], target: Target) -> None:
    """What registers hold after an instruction: the start of another and a distance, or unknown."""
    linear = target.linear(insn)
    if linear is not None:
        result, source, distance = linear
        place = values.get(source, (source, 0))
        values[result] = None if place is None else (place[0], place[1] + distance)
    else:
        values.update(dict.fromkeys(registers_of(target.table.defs(insn))))


def _holder(values: dict[int, tuple[int, int] | None], base: int) -> tuple[int, int] | None:
    """A register that holds the base, and what must be added: itself first."""
    for register in (base, *sorted(values)):
        place = values.get(register, (register, 0))
        if place is not None and place[0] == base:
            return register, -place[1]
    return None
