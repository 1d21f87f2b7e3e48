"""Operand fields of a 41-bit slot, and the kinds of field that IA-64 needs (SDM 2.3, vol. 3, 4.1).

The word of an instruction has the slot in bits 0 to 40, the number of its unit in bits 41 to 43,
and for the long instructions of an MLX bundle the L slot in bits 44 to 84.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa import Kind, Operand, Reg
from targets.ia64.registers import AR, BR, CR, FR, GR, PR

SLOT_BITS = 41
LONG = 44  # the first bit of the L slot in a word
BUNDLE = 16  # bytes; the unit of code addresses
_LISTED = 8  # bits of a field whose values are few enough to be written down

Words = NDArray[np.uint64]


class Unit(IntEnum):
    """What a slot executes on; an A-type instruction stands in an M or an I slot."""

    M = 0
    I = 1  # noqa: E741  the manual's name
    F = 2
    B = 3
    X = 4
    L = 5


@dataclass(frozen=True, slots=True)
class Field(Operand):
    """An operand in one or several pieces of the word.

    `pieces` are (low, width), the least significant first. The code is what the bits hold; the
    value is `values[code]` where there is a list (None: no instruction), else the code,
    sign-extended if `signed`, times `scale` plus `base`.  `names` spells a completer.
    """

    pieces: tuple[tuple[int, int], ...] = ()
    values: tuple[int | None, ...] = ()
    names: tuple[str, ...] = ()
    hexadecimal: bool = False

    @property
    def mask(self) -> int:
        """The operand's bits, in place."""
        return sum(((1 << width) - 1) << low for low, width in self.pieces)

    @property
    def reserved(self) -> tuple[int, ...]:
        """Codes that make the word no instruction."""
        return tuple(code for code, value in enumerate(self.values) if value is None)

    def code(self, word: int) -> int:
        """The bits of the field as one number."""
        code = shift = 0
        for low, width in self.pieces:
            code |= (word >> low & (1 << width) - 1) << shift
            shift += width
        return code

    def extract(self, word: int) -> int:
        """The operand's value in `word`, in which its code is not reserved."""
        value = self.read(word)
        assert value is not None, self
        return value

    def read(self, word: int) -> int | None:
        """The operand's value in `word`, None where its code is reserved."""
        return self._of(self.code(word))

    def _of(self, code: int) -> int | None:
        """The value that a code stands for."""
        if self.values:
            return self.values[code]
        if self.signed:
            code -= code >> (self.width - 1) << self.width
        value = code * self.scale + self.base
        return Reg(value) if self.kind is Kind.REGISTER else value

    @property
    def listed(self) -> tuple[int | None, ...]:
        """What each code stands for, where the field is one short piece; else nothing."""
        if len(self.pieces) > 1 or self.width > _LISTED:
            return ()
        return tuple(map(self._of, range(1 << self.width)))

    def insert(self, value: int) -> int:
        """The bits that hold `value`; ValueError when they cannot."""
        code = self._code_of(value)
        word = 0
        for low, width in self.pieces:
            word |= (code & (1 << width) - 1) << low
            code >>= width
        return word

    def _code_of(self, value: int) -> int:
        if self.values:
            if value in self.values:
                return self.values.index(value)
            raise ValueError(f"operand {self.name} cannot be {value}")
        code, rest = divmod(value - self.base, self.scale)
        span = 1 << self.width
        low, high = (-span // 2, span // 2) if self.signed else (0, span)
        if rest or not low <= code < high:
            raise ValueError(f"operand {self.name}={value} does not fit its {self.width}-bit field")
        return code % span

    def codes(self, words: Words, longs: Words) -> NDArray[np.int64]:
        """The codes in each word; `longs` holds the L slots of long instructions."""
        codes = np.zeros(words.shape, dtype=np.uint64)
        shift = 0
        for low, width in self.pieces:
            source, start = (longs, low - LONG) if low >= LONG else (words, low)
            piece = source >> np.uint64(start) & np.uint64((1 << width) - 1)
            codes |= piece << np.uint64(shift)
            shift += width
        return codes.view(np.int64)

    def extract_all(self, words: Words, longs: Words) -> NDArray[np.int64]:
        """`extract` for each word; a value of 64 bits is taken as signed."""
        codes = self.codes(words, longs)
        if self.values:
            return np.array([v or 0 for v in self.values], dtype=np.int64)[codes]
        if self.signed and self.width < 64:
            codes = codes - (codes >> (self.width - 1) << self.width)
        return codes * self.scale + self.base


def _register(name: str, low: int, width: int, base: int) -> Field:
    return Field(name, Kind.REGISTER, low, width, base=base, pieces=((low, width),))


def number(
    name: str,
    *pieces: tuple[int, int],
    signed: bool = False,
    scale: int = 1,
    base: int = 0,
    hexadecimal: bool = False,
    values: tuple[int | None, ...] = (),
) -> Field:
    """An immediate operand; pieces from the least significant."""
    width = sum(width for _, width in pieces)
    return Field(
        name,
        Kind.IMMEDIATE,
        pieces[0][0],
        width,
        signed,
        scale,
        base,
        pieces,
        values,
        hexadecimal=hexadecimal,
    )


def target(name: str, *pieces: tuple[int, int]) -> Field:
    """A code address: a distance from this bundle, in bundles."""
    width = sum(width for _, width in pieces)
    return Field(name, Kind.TARGET, pieces[0][0], width, True, BUNDLE, 0, pieces)


def completer(name: str, *pieces_and_names: tuple[int, int] | str | None) -> Field:
    """A completer that does not make another instruction of it: its pieces, then its spellings.

    None in place of a spelling is a reserved code.
    """
    pieces = tuple(piece for piece in pieces_and_names if isinstance(piece, tuple))
    names = [s for s in pieces_and_names if not isinstance(s, tuple)]
    width = sum(width for _, width in pieces)
    assert len(names) == 1 << width, name
    return Field(
        name,
        Kind.IMMEDIATE,
        pieces[0][0],
        width,
        pieces=pieces,
        values=tuple(None if s is None else n for n, s in enumerate(names)),
        names=tuple(s or "" for s in names),
    )


def ignored(mask: int) -> Field:
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
