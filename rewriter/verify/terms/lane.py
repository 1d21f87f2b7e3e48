"""One assignment in plain numbers, for one term much quicker than NumPy's calls.

Every value is any: two terms that are not equal seldom meet on it.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from zlib import crc32

from rewriter.core.terms.evaluate import Cells, Evaluator
from rewriter.verify.terms.noise import LAST, ROUNDS, START

_ONES = (1 << 64) - 1


def evaluator() -> Evaluator:
    """What the terms of one store are on the assignment."""
    return Evaluator(_VALUES, _cell, _opaque)


class _Values(dict[str, int]):
    """Values by name, each drawn when it is first asked for."""

    def __missing__(self, name: str) -> int:
        return _salt(name)


_VALUES = _Values()


def _cell(address: int) -> int:
    return _mixed(address ^ _ONES)


def _opaque(name: str, values: tuple[Any, ...]) -> int:
    found = _salt(name)
    for value in values:
        if not isinstance(value, Cells):
            found = _mixed(found ^ _mixed(int(value)))
    return found


@cache  # few names come again and again
def _salt(name: str) -> int:
    return _mixed(crc32(name.encode()))


def _mixed(value: int) -> int:
    """As `noise` mixes the bits of a value."""
    value = value + START & _ONES
    for shift, factor in ROUNDS:
        value = (value ^ value >> shift) * factor & _ONES
    return value ^ value >> LAST
