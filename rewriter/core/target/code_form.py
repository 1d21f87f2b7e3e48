"""Code as a row of instructions without what a new layout changes, and back.

Two versions of a routine differ in their nops, in the distances of their branches and in the
order of instructions. A form takes code apart so that what is left are values which both versions
share: `rewriter/elf/manifest/former.py` tells the old version by the new one with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Values = NDArray[np.uint64]

NOWHERE = -1
"""The target of an instruction that is no branch."""


@dataclass(frozen=True)
class Items:
    """The instructions of some code, nops left out, one row each.

    `values` are the instructions, the distance of a branch cleared. `places` are the units that
    they stand in and `targets` those that they branch to, counted from the start of the file;
    NOWHERE for what is no branch.
    """

    values: Values
    places: Numbers
    targets: Numbers


class CodeForm(Protocol):
    """How code of one architecture is taken apart.

    `unit` is the size in bytes of what branches count in, and `size` that of a value; `places` are
    always the units of the code, ascending. `partner` gives for each old instruction the number of
    the new one that is the same, or -1. ValueError for columns that describe no code.
    """

    @property
    def unit(self) -> int: ...
    @property
    def size(self) -> int: ...

    def items(self, code: bytes, places: Numbers) -> Items:
        """Take code apart."""
        ...

    def branches(self, values: Values) -> NDArray[np.bool_]:
        """Which values are branches."""
        ...

    def layout(self, code: bytes, places: Numbers, values: Values) -> tuple[bytes, ...]:
        """What gives the places of the values again: COLUMNS columns."""
        ...

    def placed(
        self, columns: tuple[bytes, ...], places: Numbers, values: Values
    ) -> tuple[Numbers, object]:
        """The place of each value, and what `code` asks for beside it."""
        ...

    def code(self, items: Items, places: Numbers, laid_out: object) -> bytes:
        """Put code together."""
        ...


COLUMNS = 3
"""Columns of a layout: how many symbols each context has, the symbols, and what is too long."""


def by_context(contexts: Numbers, symbols: NDArray[np.uint8]) -> tuple[Numbers, bytes]:
    """How many symbols stand in each context, and the symbols of one context after another.

    Symbols of one context are alike, so that a compressor has little left to do.
    """
    order = np.argsort(contexts, kind="stable")
    return np.bincount(contexts).astype(np.int64), symbols[order].tobytes()


class Contexts:
    """Symbols that `by_context` put in order, taken one by one."""

    def __init__(self, counts: Numbers, symbols: bytes, contexts: int) -> None:
        if len(counts) > contexts or int(counts.sum()) != len(symbols):
            raise ValueError("symbols of contexts")
        ends = np.zeros(contexts, np.int64)
        ends[: len(counts)] = np.cumsum(counts)
        ends[len(counts) :] = len(symbols)
        self.ends = ends.tolist()
        self.next = [0, *self.ends[:-1]]
        self.symbols = symbols

    def take(self, context: int) -> int:
        """The next symbol of a context; ValueError when there are no more."""
        at = self.next[context]
        if at >= self.ends[context]:
            raise ValueError("symbols of contexts")
        self.next[context] = at + 1
        return self.symbols[at]
