"""Words of IA-64 slots to try: every selection of an instruction, and random operands in rows."""

from __future__ import annotations

import random
from collections.abc import Iterator

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Operand
from targets.ia64.isa.fields import LONG, SLOT_BITS, Unit
from targets.ia64.isa.rows import TABLE
from tests.targets.ia64.ia64_objdump import SLOT

Ranges = tuple[tuple[int, int], ...]  # (high, low) bits

_ALL = tuple(range(16))
# For each unit: major opcodes, and all bits that select an instruction there, by the manual's
# formats (4.1) and wider than our rows: a bit that binutils looks at and we do not is seen.
SELECTING: dict[Unit, tuple[tuple[tuple[int, ...], Ranges], ...]] = {
    Unit.M: ((_ALL, ((36, 26), (19, 19), (12, 10))),),
    Unit.I: (
        (_ALL, ((36, 26), (13, 12))),
        ((0, 5, 7), ((36, 26), (23, 19), (13, 12))),
    ),
    Unit.F: ((_ALL, ((36, 26), (13, 12))),),
    Unit.B: (
        (_ALL, ((36, 27), (12, 12), (8, 6))),
        ((0, 1, 2, 7), ((36, 27), (8, 3))),
    ),
    Unit.X: ((_ALL, ((36, 26), (20, 20), (8, 6))),),
}


def selections(unit: Unit) -> Iterator[tuple[int, Ranges]]:
    """Each major opcode of a unit with the bits that select below it."""
    for majors, ranges in SELECTING[unit]:
        for major in majors:
            yield major, ranges


def enumerated(
    unit: Unit, major: int, ranges: Ranges, source: random.Random, share: float = 1.0
) -> Iterator[int]:
    """Every value of the selecting bits (or a share of them), the other bits random."""
    bits = [bit for high, low in ranges for bit in range(low, high + 1)]
    selecting = sum(1 << bit for bit in bits) | 15 << 37
    for value in range(1 << len(bits)):
        if share == 1.0 or source.random() < share:
            chosen = sum((value >> n & 1) << bit for n, bit in enumerate(bits))
            yield major << 37 | chosen | source.getrandbits(LONG + 41) & ~selecting & whole(unit)


def whole(unit: Unit) -> int:
    """All bits of a word of the unit that an instruction is made of."""
    return SLOT | SLOT << LONG if unit is Unit.X else SLOT


def rows_of(unit: Unit) -> list[Op]:
    """The rows whose instructions go into a slot of the unit."""
    return [op for op in TABLE if _fits(op, unit)]


def _fits(op: Op, unit: Unit) -> bool:
    tag = unit << SLOT_BITS
    return (op.match ^ tag) & op.mask & 7 << SLOT_BITS == 0


def filled(op: Op, unit: Unit, source: random.Random, count: int) -> Iterator[int]:
    """Words of a row with random bits wherever it fixes none."""
    for _ in range(count):
        yield op.match & SLOT | source.getrandbits(LONG + 41) & ~op.mask & whole(unit)


def one_bits(op: Op, unit: Unit) -> Iterator[int]:
    """Words of a row with one of its free bits set, and with one cleared."""
    free = whole(unit) & ~op.mask
    for bit in range(LONG + SLOT_BITS):
        if free >> bit & 1:
            yield op.match & SLOT | 1 << bit
            yield (op.match & SLOT | free) & ~(1 << bit)


def random_insn(op: Op, source: random.Random) -> Insn:
    """An instruction of this row; the ends of its fields every other time."""
    values = []
    for operand in op.format.operands:
        codes = [0, (1 << operand.width) - 1] if source.random() < 0.4 else []
        codes = [c for c in codes if c not in operand.reserved] or _drawn(operand, source)
        values.append(operand.extract(_spread(source.choice(codes), operand)))
    return Insn(op, tuple(values))


def _drawn(operand: Operand, source: random.Random) -> list[int]:
    while (code := source.getrandbits(operand.width)) in operand.reserved:
        pass
    return [code]


def _spread(code: int, operand: Operand) -> int:
    word = 0
    for low, width in operand.pieces:
        word |= (code & (1 << width) - 1) << low
        code >>= width
    return word


def beyond(operand: Operand) -> list[int]:
    """Values just outside what the operand holds."""
    if operand.values:
        return [max(v for v in operand.values if v is not None) + 1]
    half = 1 << operand.width - 1
    low, high = (-half, half - 1) if operand.signed else (0, 2 * half - 1)
    return [code * operand.scale + operand.base for code in (low - 1, high + 1)]
