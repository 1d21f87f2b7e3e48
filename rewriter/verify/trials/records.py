"""Cases of a contract as bytes for a sweep, with what must come back.

The layout of a case is in `rewriter.verify.trials.engines.sweep`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.contracts.contract import Arena, Case, Contract, Plan, Result, View
from rewriter.core.plural import counted
from rewriter.core.readings.machine import ByteOrder

_HEAD = 10  # words of a case in front of its pieces
_ARGUMENTS = 8
_RESULT, _CHANGED = 2, 3  # words

Point = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Cases that one run takes: what goes in, what must come out, and where each case begins."""

    before: NDArray[np.uint8]
    after: NDArray[np.uint8]
    starts: NDArray[np.int64]
    points: tuple[tuple[Plan, Point], ...]
    result: Result
    width: int
    order: str

    def __len__(self) -> int:
        return len(self.points)

    def wrong(self, output: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The numbers of the cases that did not come out as they must."""
        got = output.copy()
        words = got.view(self.order)
        at = self.starts // 8 + _RESULT
        words[at] = _normal(self.result, words[at], self.width)
        differ = np.flatnonzero(got != self.after)
        return np.unique(np.searchsorted(self.starts, differ, side="right") - 1)

    def record(self, number: int) -> NDArray[np.uint8]:
        """The bytes of one case as they go in."""
        return self.before[self._bounds(number)]

    def size(self, number: int) -> int:
        """The bytes of one case."""
        return len(self.record(number))

    def _bounds(self, number: int) -> slice:
        last = number + 1 == len(self)
        end = len(self.before) if last else int(self.starts[number + 1])
        return slice(int(self.starts[number]), end)

    def explain(self, number: int, output: NDArray[np.uint8]) -> str:
        """What is wrong with a case."""
        bounds = self._bounds(number)
        got, want = output[bounds].copy(), self.after[bounds]
        words, wanted = got.view(self.order), want.view(self.order)
        found = words[_RESULT : _RESULT + 1]
        found[:] = _normal(self.result, found, self.width)
        if words[_CHANGED]:
            return f"preserved registers changed, mask {int(words[_CHANGED]):#x}"
        if words[_RESULT] != wanted[_RESULT]:
            return f"the result is {int(words[_RESULT]):#x}, not {int(wanted[_RESULT]):#x}"
        return self._memory(got, want)

    def _memory(self, got: NDArray[np.uint8], want: NDArray[np.uint8]) -> str:
        words = want.view(self.order)
        count = int(words[1])
        at = 8 * (_HEAD + 2 * count)
        for piece in range(count):
            address, size = (int(words[_HEAD + 2 * piece + n]) for n in (0, 1))
            wrong = np.flatnonzero(got[at : at + size] != want[at : at + size])
            if len(wrong):
                first = int(wrong[0])
                return (
                    f"wrong in {counted(len(wrong), 'byte')} of memory: the first, at"
                    f" {address + first:#x}, is {int(got[at + first]):#x}, not"
                    f" {int(want[at + first]):#x}"
                )
            at += size
        return "its record is damaged"


def _normal(result: Result, values: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """Results as they are compared: a result that is no widened 32-bit integer stays wrong."""
    if result is Result.NOTHING:
        return np.zeros_like(values)
    if result is Result.SIGN:
        low = values.astype(np.int64).astype(np.int32)
        good = _widened(low, width) == values.astype(np.uint64)
        made = np.sign(low).astype(np.int64)
        return np.where(good, made.astype(np.uint64), np.uint64(0xBAD0BAD0BAD0BAD0))
    return values


def _widened(values: NDArray[np.int32], width: int) -> NDArray[np.uint64]:
    """32-bit integers in registers of `width` bits."""
    return values.astype(np.int64).astype(np.uint64) & np.uint64((1 << width) - 1)


def chunks(
    contract: Contract,
    points: Iterable[tuple[Plan, Point]],
    arena: Arena,
    capacity: int,
    byteorder: ByteOrder,
) -> Iterator[Chunk]:
    """The cases of the points, as many together as fit into `capacity` bytes."""
    maker = _Maker(contract, arena.width, byteorder)
    for plan, point in points:
        before, after = maker.case(contract.case(arena, point))
        if maker.size + len(before) > capacity and maker.points:
            yield maker.finish()
        maker.add(plan, point, before, after)
    if maker.points:
        yield maker.finish()


class _Maker:
    def __init__(self, contract: Contract, width: int, byteorder: ByteOrder) -> None:
        self.contract, self.width = contract, width
        self.byteorder = byteorder
        self.order = "<" if byteorder == "little" else ">"
        self._heads = [struct.Struct(f"{self.order}{_HEAD + 2 * pieces}Q") for pieces in range(4)]
        self._clear()

    def _clear(self) -> None:
        self.size = 0
        self.before: list[bytes] = []
        self.after: list[bytes] = []
        self.starts: list[int] = []
        self.points: list[tuple[Plan, Point]] = []

    def case(self, case: Case) -> tuple[bytes, bytes]:
        """The bytes of a case before and after."""
        view = View(case.pieces, self.byteorder)
        result = self.contract.model(view, *case.arguments) or 0
        pack = self._heads[len(case.pieces)].pack
        tail = [v for p in case.pieces for v in (p.address, len(p.data))]
        rest = (*case.arguments, *(0,) * (_ARGUMENTS - len(case.arguments)))
        before = pack(0, len(case.pieces), *rest, *tail)
        after = pack(0, len(case.pieces), result & (1 << self.width) - 1, 0, *rest[2:], *tail)
        data = [before, *(p.data for p in case.pieces)]
        return b"".join(data), after + b"".join(view.after())

    def add(self, plan: Plan, point: Point, before: bytes, after: bytes) -> None:
        """One more case."""
        self.before.append(before)
        self.after.append(after)
        self.starts.append(self.size)
        self.points.append((plan, point))
        self.size += len(before)

    def finish(self) -> Chunk:
        """The chunk, whose results are made comparable; begins the next."""
        after = np.frombuffer(bytearray(b"".join(self.after)), dtype=np.uint8)
        words, at = after.view(f"{self.order}u8"), np.array(self.starts, dtype=np.int64) // 8
        words[at + _RESULT] = _wanted(self.contract.result, words[at + _RESULT], self.width)
        chunk = Chunk(
            np.frombuffer(b"".join(self.before), dtype=np.uint8),
            after,
            np.array(self.starts, dtype=np.int64),
            tuple(self.points),
            self.contract.result,
            self.width,
            f"{self.order}u8",
        )
        self._clear()
        return chunk


def _wanted(result: Result, values: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """The model's results, compared as the routine's will be."""
    if result is Result.INT:
        return _widened(values.astype(np.int64).astype(np.int32), width)
    return _normal(result, values, width)
