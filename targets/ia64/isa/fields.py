"""Operands of a 41-bit slot (SDM 2.3, vol. 3, 4.1).

The word of an instruction has the slot in bits 0 to 40, the number of its unit in bits 41 to 43,
and for the long instructions of an MLX bundle the L slot in bits 44 to 84.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.operands import CountedFrom, Kind, Operand, Piece, joined
from targets.ia64.registers import AR, BR, CR, FR, GR, PR

SLOT_BITS = 41
LONG = 44  # the first bit of the L slot in a word
BUNDLE = 16  # bytes; the unit of code addresses

Words = NDArray[np.uint64]


class Unit(IntEnum):
    """What a slot executes on; an A-type instruction stands in an M or an I slot."""

    M = 0
    I = 1  # noqa: E741  the manual's name
    F = 2
    B = 3
    X = 4
    L = 5


def slot_codes(operand: Operand, words: Words, longs: Words) -> NDArray[np.int64]:
    """The codes of an operand; `longs` holds the L slots of long instructions."""
    lowered = [
        longs >> np.uint64(low - LONG) if low >= LONG else words >> np.uint64(low)
        for low, _ in operand.pieces
    ]
    return joined(lowered, operand)


def _register(name: str, low: int, width: int, base: int) -> Operand:
    return Operand(name, Kind.REGISTER, ((low, width),), base=base)


def number(
    name: str,
    *pieces: Piece,
    signed: bool = False,
    scale: int = 1,
    base: int = 0,
    hexadecimal: bool = False,
    values: tuple[int | None, ...] = (),
) -> Operand:
    """An immediate operand; pieces from the least significant."""
    return Operand(
        name,
        Kind.IMMEDIATE,
        pieces,
        signed,
        scale,
        base,
        values=values,
        hexadecimal=hexadecimal,
    )


def target(name: str, *pieces: Piece) -> Operand:
    """A code address: a distance from this bundle, in bundles."""
    return Operand(name, Kind.TARGET, pieces, True, BUNDLE, origin=CountedFrom.HERE)


def completer(name: str, *pieces_and_names: Piece | str | None) -> Operand:
    """A completer that does not make another instruction of it: its pieces, then its spellings.

    None in place of a spelling is a reserved code.
    """
    pieces = tuple(piece for piece in pieces_and_names if isinstance(piece, tuple))
    names = [s for s in pieces_and_names if not isinstance(s, tuple)]
    width = sum(width for _, width in pieces)
    assert len(names) == 1 << width, name
    return Operand(
        name,
        Kind.IMMEDIATE,
        pieces,
        values=tuple(None if s is None else n for n, s in enumerate(names)),
        names=tuple(s or "" for s in names),
    )


def ignored(mask: int) -> Operand:
    """The bits of `mask`, which the processor ignores: kept, not shown."""
    pieces = []
    low = 0
    while mask >> low:
        if mask >> low & 1:
            width = 1
            while mask >> (low + width) & 1:
                width += 1
            pieces.append((low, width))
            low += width
        low += 1
    return number("ignored", *pieces)


QP = _register("qp", 0, 6, PR)
R1, R2, R3 = (_register(f"r{n}", low, 7, GR) for n, low in ((1, 6), (2, 13), (3, 20)))
R3_LOW = _register("r3", 20, 2, GR)
F1, F2, F3, F4 = (_register(f"f{n}", low, 7, FR) for n, low in ((1, 6), (2, 13), (3, 20), (4, 27)))
P1, P2 = _register("p1", 6, 6, PR), _register("p2", 27, 6, PR)
B1, B2 = _register("b1", 6, 3, BR), _register("b2", 13, 3, BR)
AR3, CR3 = _register("ar3", 20, 7, AR), _register("cr3", 20, 7, CR)

# Whether an A-type instruction stands in an M slot (0) or an I slot (1).
SLOT = number("slot", (SLOT_BITS, 1))
