"""Code of 32-bit instructions: a major opcode above, a branch's signed distance below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewriter.core.target.code_form import NOWHERE, Contexts, Items, Numbers, Values, by_context
from rewriter.core.varints import packed, unpacked

_MAJOR = 26
_MAJORS = 1 << 32 - _MAJOR
_LONG = 255
"""Symbol of a run of nops that has no symbol of its own."""


class _LaidOut(NamedTuple):
    """Which nops stand where: word number and the number of the nop."""

    at: list[int]
    which: list[int]


@dataclass(frozen=True)
class Words:
    """A form of fixed-width code, little-endian.

    Instructions whose major opcode (bits 26 to 31) is in `branch_majors` branch by a signed number
    of words in their lowest `distance_bits`, counted from the next one. `nops` are two words.
    """

    branch_majors: frozenset[int]
    distance_bits: int
    nops: tuple[int, int]
    unit: int = 4
    size: int = 4

    def items(self, code: bytes, places: Numbers) -> Items:
        """Take code apart; `places` are its words."""
        words = np.frombuffer(code, "<u4").astype(np.uint64)
        real = ~np.isin(words, np.array(self.nops, np.uint64))
        words, where = words[real], places[real]
        branches = self.branches(words)
        mask, sign = (1 << self.distance_bits) - 1, 1 << self.distance_bits - 1
        distances = ((words & np.uint64(mask)).astype(np.int64) ^ sign) - sign
        targets = np.where(branches, where + 1 + distances, NOWHERE)
        return Items(
            np.where(branches, words & np.uint64(~mask & 0xFFFFFFFF), words), where, targets
        )

    def branches(self, values: Values) -> NDArray[np.bool_]:
        """Which values are branches."""
        majors = np.array(sorted(self.branch_majors), np.uint64)
        return np.isin(values >> np.uint64(_MAJOR), majors)

    def layout(self, code: bytes, places: Numbers, values: Values) -> tuple[bytes, ...]:
        """The runs of nops before each instruction and after the last.

        A run is a symbol: its nops as binary digits behind a one, less 1. Its context is the
        major opcodes of the instructions before and behind, and whether the first place is odd.
        """
        words = np.frombuffer(code, "<u4")
        kinds = np.where(words == self.nops[0], 0, np.where(words == self.nops[1], 1, 2))
        real = np.flatnonzero(kinds == 2)
        ends = np.concatenate([[-1], real, [len(words)]])
        symbols = np.zeros(len(real) + 1, np.uint8)
        long: list[int] = []
        for gap in np.flatnonzero(np.diff(ends) > 1).tolist():
            run = kinds[ends[gap] + 1 : ends[gap + 1]].tolist()
            symbols[gap] = _symbol(run)
            if symbols[gap] == _LONG:
                long += _long(run)
        odd = np.array(_followed(places))[ends[:-1] + 1]
        counts, stream = by_context(_contexts(values) | odd, symbols)
        return packed(counts), stream, packed(np.array(long, np.int64))

    def placed(
        self, columns: tuple[bytes, ...], places: Numbers, values: Values
    ) -> tuple[Numbers, _LaidOut]:
        """The place of each value, and the nops between."""
        counts, stream, long = columns
        contexts = Contexts(unpacked(counts), stream, 2 * (_MAJORS + 1) ** 2)
        runs = iter(unpacked(long).tolist())
        number, at, laid_out = [], 0, _LaidOut([], [])
        odd = _followed(places)
        for context in _contexts(values).tolist():
            if at >= len(odd):
                raise ValueError("layout")
            symbol = contexts.take(context | odd[at])
            if symbol:
                run = _run(symbol, runs, len(places) - at)
                laid_out.at.extend(range(at, at + len(run)))
                laid_out.which.extend(run)
                at += len(run)
            number.append(at)
            at += 1
        # What follows the last run is no instruction.
        if at != len(places) + 1:
            raise ValueError("layout")
        return places[np.array(number[:-1], np.int64)], laid_out

    def code(self, items: Items, places: Numbers, laid_out: object) -> bytes:
        """Put code together."""
        assert isinstance(laid_out, _LaidOut)
        words = np.zeros(len(places), np.uint64)
        mask = np.uint64((1 << self.distance_bits) - 1)
        distances = (items.targets - items.places - 1).astype(np.uint64) & mask
        branches = self.branches(items.values)
        words[np.searchsorted(places, items.places)] = np.where(
            branches, items.values & ~mask | distances, items.values
        )
        words[laid_out.at] = np.array(self.nops, np.uint64)[laid_out.which]
        return words.astype("<u4").tobytes()


def _followed(places: Numbers) -> list[int]:
    """Whether the place of each word is odd, and that of the one behind the last."""
    return [*(places & 1).tolist(), (int(places[-1]) + 1) & 1 if len(places) else 0]


def _contexts(values: Values) -> Numbers:
    """For each run of nops the major opcodes around it, where the next bit is free.

    64 stands for no instruction, before the first one and behind the last.
    """
    majors = (values >> np.uint64(_MAJOR)).astype(np.int64)
    before, after = np.concatenate([[_MAJORS], majors]), np.concatenate([majors, [_MAJORS]])
    contexts: Numbers = 2 * (before * (_MAJORS + 1) + after)
    return contexts


def _symbol(run: list[int]) -> int:
    if len(run) > 7:
        return _LONG
    return min(int("1" + "".join(map(str, run)), 2) - 1, _LONG)


def _long(run: list[int]) -> list[int]:
    """How many stretches of one nop, and each as twice its length and the nop."""
    edges = [0, *(n for n, (a, b) in enumerate(pairwise(run), 1) if a != b), len(run)]
    return [len(edges) - 1, *(2 * (b - a) + run[a] for a, b in pairwise(edges))]


def _run(symbol: int, long: Iterator[int], room: int) -> list[int]:
    """The nops of a symbol; ValueError for more than there is room for."""
    if symbol != _LONG:
        run = [int(digit) for digit in bin(symbol + 1)[3:]]
    else:
        run = []
        for _ in range(next(long)):
            stretch = next(long)
            if stretch >> 1 > room:
                raise ValueError("layout")
            run += [stretch & 1] * (stretch >> 1)
            if len(run) > room:
                raise ValueError("layout")
    if len(run) > room:
        raise ValueError("layout")
    return run
