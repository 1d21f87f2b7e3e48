"""Random operand sets for every Alpha row: which encodings, and which values in the registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.registers import Reg
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import FP, ZERO

Lanes = NDArray[np.uint64]

REGISTERS = (1, 2, 3, FP + 1, FP + 2, FP + 3)  # what a record holds
TAKEN = 4  # this one says where control went
MEMORY = 64  # bytes a record; the accessed cell is in the middle
MIDDLE = 24

# Rows that change control, or need more than one instruction to say something.
_TESTED_IN_PAIRS = {"stl_c": "ldl_l", "stq_c": "ldq_l"}
_SIZES = {"b": 1, "w": 2, "l": 4, "s": 4, "f": 4, "q": 8, "t": 8, "g": 8}
_LITERALS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 31, 32, 63, 64, 127, 128, 170, 254, 255)


@dataclass(frozen=True, slots=True)
class Variant:
    """One encoding of a row, with what must hold of the registers before it."""

    insns: tuple[Insn, ...]
    base: int | None = None  # this register is an address: that of `MIDDLE`, less `offset`
    offset: int = 0
    alignment: int = 1

    @property
    def insn(self) -> Insn:
        """The instruction under test."""
        return self.insns[-1]


def variants(op: Op) -> Iterator[Variant]:
    """The encodings of a row that are tested."""
    form = op.format.name
    if form == "operate":
        for a, b, c in ((1, 2, 3), (1, 2, 1), (1, 2, 2), (1, 1, 3), (1, 1, 1), (ZERO, 2, 3)):
            yield _plain(op, a, b, c)
        for a, b, c in ((1, ZERO, 3), (ZERO, ZERO, 3), (1, 2, ZERO)):
            yield _plain(op, a, b, c)
    elif form == "operate literal":
        for literal in _LITERALS:
            yield _plain(op, 1, literal, 3)
        for a, c in ((1, 1), (ZERO, 3), (1, ZERO)):
            yield _plain(op, a, 0x55, c)
    elif form in ("unary", "fp unary"):
        base = FP if form == "fp unary" else 0
        for b, c in ((2, 3), (2, 2), (ZERO, 3), (2, ZERO)):
            yield _plain(op, base + b, base + c)
    elif form == "unary literal":
        for literal in _LITERALS:
            yield _plain(op, literal, 3)
    elif form == "fp operate":
        for a, b, c in ((1, 2, 3), (1, 2, 1), (1, 2, 2), (1, 1, 3), (1, 1, 1), (31, 2, 3)):
            yield _plain(op, FP + a, FP + b, FP + c)
        yield _plain(op, FP + 1, FP + 31, FP + 3)
        yield _plain(op, FP + 1, FP + 2, FP + 31)
    elif form in ("fp to integer", "integer to fp"):
        there = (0, FP) if form == "integer to fp" else (FP, 0)
        for a, c in ((1, 3), (2, 1), (31, 2), (1, 31)):
            yield _plain(op, there[0] + a, there[1] + c)
    elif form in ("memory", "fp memory"):
        yield from _memory(op, FP if form == "fp memory" else 0)
    elif form == "base":
        yield Variant((Insn(op, (Reg(2),)),), base=2)
    elif form == "barrier":
        yield Variant((Insn(op, (Reg(0), Reg(0))),))
        yield Variant((Insn(op, (Reg(ZERO), Reg(ZERO))),))


def _plain(op: Op, *operands: int) -> Variant:
    kinds = op.format.operands
    return Variant(
        (
            Insn(
                op,
                tuple(
                    Reg(v) if o.kind.value == "register" else v
                    for o, v in zip(kinds, operands, strict=True)
                ),
            ),
        )
    )


def _memory(op: Op, file: int) -> Iterator[Variant]:
    if op.name in ("lda", "ldah"):
        for displacement in (0, 1, -1, 0x7FFF, -0x8000, 0x1234):
            for a, b in ((3, 2), (2, 2), (3, ZERO), (ZERO, 2)):
                yield _plain(op, a, displacement, b)
        return
    size = 1 if op.name.endswith("_u") else _SIZES[op.name[2]]
    for displacement in (0, 1, -1, 5, 0x7FFF, -0x8000):
        for a in (1, 2, ZERO):
            if a == 2 and (file or op.name in _TESTED_IN_PAIRS):
                continue  # no floating register is an address; a pair needs it twice
            insn = Insn(op, (Reg(file + a), displacement, Reg(2)))
            first = _TESTED_IN_PAIRS.get(op.name)
            locked = (Insn(TABLE.find(first), (Reg(3), displacement, Reg(2))),) if first else ()
            yield Variant((*locked, insn), base=2, offset=displacement, alignment=size)


_BOUNDARIES = np.array(
    [
        *(0, 1, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, (1 << 63) + 1),
        *(1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << 32, (1 << 64) - (1 << 31)),
        *(0xFF, 0x80, 0x7F, 1 << 15, (1 << 16) - 1),
    ],
    dtype=np.uint64,
)


def values(count: int, source: np.random.Generator) -> Lanes:
    """`count` values: uniform, small, few bits, repeated and special bytes, boundaries."""
    uniform = source.integers(0, 1 << 64, count, dtype=np.uint64)
    few = uniform.copy()
    for _ in range(3):
        few &= source.integers(0, 1 << 64, count, dtype=np.uint64)
    special = np.array([0, 1, 0x7F, 0x80, 0x81, 0xFE, 0xFF, 0x40], dtype=np.uint8)
    pattern = special[source.integers(0, len(special), (count, 8))].view(np.uint64)[:, 0]
    power = np.uint64(1) << source.integers(0, 64, count, dtype=np.uint64)
    near = power + source.integers(-2, 3, count).astype(np.uint64)
    small = source.integers(-300, 300, count).astype(np.uint64)
    width = uniform >> source.integers(0, 64, count, dtype=np.uint64)
    boundary = source.choice(_BOUNDARIES, count)
    kinds = (uniform, few, ~few, pattern, near, np.uint64(0) - near, small, width, boundary)
    return np.choose(source.integers(0, len(kinds), count), kinds)


def tame(op: Op, a: Lanes, b: Lanes) -> None:
    """Changes operands in place so that a row that traps on overflow does not."""
    if not op.name.endswith(("/v", "/sv")):
        return
    half = op.name.startswith("mul")
    if op.name.startswith("cvtql"):
        b[:] = _signed(b) >> 32
    elif op.name[3] == "q" or op.name.startswith("mulq"):
        for value in (a, b):
            value[:] = _signed(value) >> (33 if half else 2)
    else:  # only the low longword counts; what is above it stays random
        for value in (a, b):
            low = (_signed(value << np.uint64(32)) >> (32 + (17 if half else 2))).astype(np.uint64)
            value[:] = (value & np.uint64(0xFFFFFFFF << 32)) | (low & np.uint64(0xFFFFFFFF))


def _signed(value: Lanes) -> NDArray[np.int64]:
    return value.view(np.int64)
