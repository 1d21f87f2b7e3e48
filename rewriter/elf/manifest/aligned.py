"""One row of values told by another: what is equal, and what stands elsewhere or nowhere there.

A script walks over both rows. Each of its steps says how many values are equal from here on, how
many old ones follow that are not (the gap), and how many new ones are passed over. What is passed
over waits in a short queue: an old value of a gap is one of the queue, or it is spelled out. So
code whose order was changed within a region costs a small number for each instruction.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import compact
from rewriter.core.target.code_form import Numbers, Values

WAITING = 64
"""New values that were passed over and may still be named."""

_REACH = 150
"""Values of either row within which a gap ends."""
_REGION = 200
"""Values of either row within which a region in another order ends."""
_APART = 32
"""Values that only one row has, so far, beyond which this is no region in another order."""
_ALIKE = 3
"""Values in a row that make the end of a gap."""
_AT_ONCE = 64


@dataclass(frozen=True)
class Script:
    """How the old row follows from the new one.

    `equal` are the equal values of each step, `gaps` the old values of its gap and the new values
    passed over, by turns. `named` has for each old value of a gap 0, or one more than its place in
    the queue; `spelled` are the values with 0.
    """

    equal: Numbers
    gaps: Numbers
    named: Numbers
    spelled: Values


def align(old: Values, new: Values, home: Sequence[int]) -> tuple[Script, Numbers]:
    """A short script, and for each old value the number of its new partner, or -1.

    `home` is for each old value the new one that stands in its place.
    """
    return _Aligner(old, new, home).script()


def follow(script: Script, new: Values) -> tuple[Values, Numbers]:
    """The old row and its partners; ValueError or IndexError for a script that does not fit."""
    gaps = script.gaps.reshape(-1, 2)
    if len(script.equal) != len(gaps) or sum(gaps[:, 0].tolist()) != len(script.named):
        raise ValueError("steps")
    partner, literal = [np.zeros(0, np.int64)], []
    queue: list[int] = []
    at, names = 0, iter(script.named.tolist())
    for equal, (gap, passed) in zip(script.equal.tolist(), gaps.tolist(), strict=True):
        if equal + passed > len(new) - at:
            raise ValueError("steps")
        partner.append(np.arange(at, at + equal))
        at += equal
        queue += range(at, at + passed)
        at += passed
        found = []
        for _ in range(gap):
            name = next(names)
            found.append(queue.pop(name - 1) if name else -1)
        partner.append(np.array(found, np.int64))
        literal += found
        del queue[:-WAITING]
    row = np.concatenate(partner)
    if literal.count(-1) != len(script.spelled):
        raise ValueError("values spelled out")
    values = np.zeros(len(row), np.uint64)
    values[row >= 0] = new[row[row >= 0]]
    values[row < 0] = script.spelled
    return values, row


class _Aligner:
    """Walks over both rows and writes the script."""

    def __init__(self, old: Values, new: Values, home: Sequence[int]) -> None:
        self.old, self.new, self.home = old, new, home
        self.olds, self.news, self.grams = compact(old), compact(new), compact(_grams(old))
        numbered = _grams(new) << np.uint64(_PLACE) | np.arange(len(new)).astype(np.uint64)
        numbered.sort()
        self.places = compact(numbered)
        self.sums = _sums(old), _sums(new)

    def script(self) -> tuple[Script, Numbers]:
        equals: list[int] = []
        gaps: list[int] = []
        named: list[int] = []
        partner = np.full(len(self.olds), -1, np.int64)
        queue, waiting = list[int](), list[int]()
        i = j = 0
        while i < len(self.olds):
            equal = self._equal(i, j)
            partner[i : i + equal] = np.arange(j, j + equal)
            i, j = i + equal, j + equal
            gap, passed = self._gap(i, j) if i < len(self.olds) else (0, 0)
            equals.append(equal)
            gaps += (gap, passed)
            queue += range(j, j + passed)
            waiting += self.news[j : j + passed]
            for at, value in enumerate(self.olds[i : i + gap], i):
                name = waiting.index(value) + 1 if value in waiting else 0
                if name:
                    partner[at] = queue.pop(name - 1)
                    del waiting[name - 1]
                named.append(name)
            del queue[:-WAITING], waiting[:-WAITING]
            i, j = i + gap, j + passed
        steps = np.array(equals, np.int64), np.array(gaps, np.int64)
        return Script(*steps, np.array(named, np.int64), self.old[partner < 0]), partner

    def _equal(self, i: int, j: int) -> int:
        """How many values are equal from here on."""
        start, some = i, _AT_ONCE
        while i < len(self.olds) and j < len(self.news):
            some = min(some, len(self.olds) - i, len(self.news) - j)
            other = np.flatnonzero(self.old[i : i + some] != self.new[j : j + some])
            if len(other):
                return i - start + int(other[0])
            i, j, some = i + some, j + some, 4 * some
        return i - start

    def _gap(self, i: int, j: int) -> tuple[int, int]:
        """Old and new values up to where both go on alike."""
        region = self._region(i, j)
        if region:
            return region, region
        best, least = None, 2 * _REACH + 1
        for gap in range(min(_REACH, len(self.olds) - i)):
            if gap >= least:
                break
            passed = self._next(self.grams[i + gap], j) - j
            if passed <= _REACH and gap + passed < least:
                best, least = (gap, passed), gap + passed
        return best or self._lost(i, j)

    def _next(self, gram: int, j: int) -> int:
        """The first place from `j` on where new values start like that."""
        at = bisect_left(self.places, gram << _PLACE | j)
        if at == len(self.places) or self.places[at] >> _PLACE != gram:
            return len(self.news) + _REACH + 1
        return int(self.places[at]) & (1 << _PLACE) - 1

    def _region(self, i: int, j: int) -> int:
        """The shortest stretch of both rows with the same values in another order, or 0."""
        balance: dict[int, int] = {}
        apart, room = 0, min(_REGION, len(self.olds) - i, len(self.news) - j)
        old, new = self.sums
        sums = old[i : i + room + 1] - new[j : j + room + 1]
        if not (sums[1:] == sums[0]).any():
            return 0  # most are none, and need not be counted
        for size in range(room):
            for value, one in ((self.olds[i + size], 1), (self.news[j + size], -1)):
                before = balance.get(value, 0)
                balance[value] = before + one
                apart += abs(before + one) - abs(before)
            if not apart:
                return size + 1
            if apart > _APART:
                break
        return 0

    def _lost(self, i: int, j: int) -> tuple[int, int]:
        """Nothing alike is near: the new row goes on where the old one stands then."""
        gap = min(_REACH, len(self.olds) - i)
        home = self.home[i + gap] if i + gap < len(self.olds) else len(self.news)
        return gap, max(0, home - j)


_PLACE = 26
"""Bits of a place; the rest of 64 is for what stands there."""

_MIXED = np.uint64(0x9E3779B97F4A7C15)


def _sums(row: Values) -> NDArray[np.uint64]:
    """What mixed values come to before each place: stretches of the same values, in any order, add
    up to the same."""
    mixed = (row ^ row >> np.uint64(29)) * _MIXED
    mixed ^= mixed >> np.uint64(32)
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed * _MIXED, dtype=np.uint64)])


def _grams(row: Values) -> NDArray[np.uint64]:
    """A number for each place, by the values that start there."""
    after = np.concatenate([row, np.zeros(_ALIKE, np.uint64)])
    found = np.zeros(len(row), np.uint64)
    for n in range(_ALIKE):
        found = (found ^ after[n : n + len(row)]) * _MIXED
        found ^= found >> np.uint64(29)
    return found >> np.uint64(_PLACE)
