"""The operands of an instruction: which bits of its word hold them, and what those mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses, shifted
from rewriter.core.isa.registers import register

Words = NDArray[np.unsignedinteger[Any]]
Piece: TypeAlias = tuple[int, int]
"""The lowest bit and the width of some bits of a word."""

_LISTED = 8
"""Bits of an operand whose values are written down."""


class Kind(Enum):
    """What the value of an operand is."""

    REGISTER = "register"
    IMMEDIATE = "immediate"
    SELECTOR = "selector"  # a number that says what is done: a meaning gets it as it is
    TARGET = "target"  # a code address, as a distance from its origin


class CountedFrom(Enum):
    """Where the distance that a branch encodes is counted from."""

    NEXT = "next"  # the instruction after the branch
    HERE = "here"  # the branch itself (on IA-64 its bundle)
    ZERO = "zero"  # nowhere: it is the address


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand and the bits that hold it.

    The bits in `pieces`, the least significant first, are its code.  The value is `values[code]`
    where there is a list (None: such a word is no instruction), else the code, sign-extended if
    `signed`, times `scale`, plus `base` (of a register: the number of the first of its file).
    `names` are the spellings of the codes, `hexadecimal` says how a number is written.
    """

    name: str
    kind: Kind
    pieces: tuple[Piece, ...]
    signed: bool = False
    scale: int = 1
    base: int = 0
    origin: CountedFrom = CountedFrom.NEXT
    values: tuple[int | None, ...] = ()
    names: tuple[str, ...] = ()
    hexadecimal: bool = False
    width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", sum(width for _, width in self.pieces))

    # One word -----------------------------------------------------------------------------

    @property
    def mask(self) -> int:
        """The operand's bits, in place."""
        return sum(((1 << width) - 1) << low for low, width in self.pieces)

    @property
    def reserved(self) -> tuple[int, ...]:
        """Codes that make the word no instruction."""
        return tuple(code for code, value in enumerate(self.values) if value is None)

    def code(self, word: int) -> int:
        """The bits of the operand as one number."""
        code = shift = 0
        for low, width in self.pieces:
            code |= (word >> low & (1 << width) - 1) << shift
            shift += width
        return code

    def value(self, code: int) -> int | None:
        """What a code stands for; None where it is reserved."""
        if self.values:
            return self.values[code]
        if self.signed:
            code -= code >> (self.width - 1) << self.width
        value = code * self.scale + self.base
        return register(value) if self.kind is Kind.REGISTER else value

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        if self.values:
            known = [value for value in self.values if value is not None]
            return min(known), max(known)
        span = 1 << self.width
        low, high = (-span // 2, span // 2 - 1) if self.signed else (0, span - 1)
        return low * self.scale + self.base, high * self.scale + self.base

    def read(self, word: int) -> int | None:
        """The operand's value in `word`; None where its code is reserved."""
        return self.value(self.code(word))

    def extract(self, word: int) -> int:
        """The operand's value in `word`, in which its code is not reserved."""
        value = self.read(word)
        assert value is not None, self
        return value

    def insert(self, value: int) -> int:
        """The bits that hold `value`; ValueError when they cannot."""
        code, word = self._code_of(value), 0
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

    # A branch's address ----------------------------------------------------------------

    def goal(self, value: int, address: int, size: int) -> int:
        """Where a branch of `size` bytes at `address` leads with this value of its target."""
        if self.origin is CountedFrom.ZERO:
            return value
        return value + address + (size if self.origin is CountedFrom.NEXT else 0)

    def distance(self, goal: int, address: int, size: int) -> int:
        """The value of the target with which a branch of `size` bytes leads to `goal`."""
        return goal - self.goal(0, address, size)

    # Many words ---------------------------------------------------------------------------

    def codes(self, words: Words) -> NDArray[np.int64]:
        """The code in each word."""
        return joined([words >> words.dtype.type(low) for low, _ in self.pieces], self)

    def values_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """What each code stands for; 0 for reserved ones, and 64 bits are taken as signed."""
        if self.values:
            return np.array([v or 0 for v in self.values], dtype=np.int64)[codes]
        if self.signed and self.width < 64:
            codes = codes - (codes >> (self.width - 1) << self.width)
        return codes * self.scale + self.base

    def goals(self, values: NDArray[np.int64], addresses: Addresses, size: int) -> Addresses:
        """Where branches of `size` bytes at each address lead with these values of their target."""
        if self.origin is CountedFrom.ZERO:
            return values.view(np.uint64)
        return shifted(addresses, values + (size if self.origin is CountedFrom.NEXT else 0))


def joined(lowered: Sequence[Words], operand: Operand) -> NDArray[np.int64]:
    """The code in each word, of words shifted so that a piece of the operand is lowest."""
    codes: NDArray[np.int64] | None = None
    shift = 0
    for words, (_, width) in zip(lowered, operand.pieces, strict=True):
        piece = (words & words.dtype.type((1 << width) - 1)).astype(np.int64) << shift
        codes = piece if codes is None else codes | piece
        shift += width
    assert codes is not None, operand
    return codes


Plan: TypeAlias = tuple[int, int, tuple[int | None, ...], Callable[[int], int | None]]
"""How an operand is read: lowest bit and mask; its values by code, or else what works it out."""


def plan(operand: Operand) -> Plan:
    """How to read an operand fast; the values of one short piece are written down."""
    (low, width), *more = operand.pieces
    mask, few = (1 << width) - 1, not more and width <= _LISTED
    values = tuple(map(operand.value, range(mask + 1))) if few else ()
    if more or operand.values or operand.kind is Kind.REGISTER:
        return low, mask, values, operand.read
    scale, base, top = operand.scale, operand.base, 1 << width - 1 if operand.signed else 0

    def read(word: int) -> int:
        return (((word >> low & mask) ^ top) - top) * scale + base

    return low, mask, values, read
