"""Many assignments at once: which terms differ, without asking a solver.

Each assignment is a lane of NumPy arrays, so a thousand of them cost what a few cost one by one,
and a solver needs a hundred times longer to say that two terms differ.  What tells terms apart is
often that two addresses meet or that a value is at the edge of its range, so lanes come in
kinds, and the claim's own constants are among the values.  All values follow from names alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rewriter.core.readings.batched import Batched, Lanes
from rewriter.core.readings.extents import Extent

Conditions = NDArray[np.bool_]

_WORD = 64  # bits of a lane
_BYTES = 8  # of a lane
_U = np.uint64
_EDGES = np.array(
    [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 1 << 31, (1 << 63) - 1, 1 << 63, 2**64 - 1],
    dtype=_U,
)
_NEAR = 2  # the kind of lane in which values are near each other
_LINE = 64  # bytes, which the addresses near each other are aligned to


def _mixed(value: Any) -> Lanes:
    """A mixture of the bits of each value: the finalizer of SplitMix64 (Steele and others 2014)."""
    start, first, again, last = _STEPS
    value = np.asarray(value, dtype=_U) + start
    for shift, factor in (first, again):
        value = (value ^ value >> shift) * factor
    result: Lanes = value ^ value >> last
    return result


def _number(value: int) -> Lanes:
    """An array without lanes: NumPy takes half as long with one as with a scalar."""
    return np.array(value, dtype=_U)


START, LAST = 0x9E3779B97F4A7C15, 31
ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Of the mixture: what is added first, and the last shift; shift and factor of each round."""

_STEPS = (
    _number(START),
    (_number(ROUNDS[0][0]), _number(ROUNDS[0][1])),
    (_number(ROUNDS[1][0]), _number(ROUNDS[1][1])),
    _number(LAST),
)


def _salt(name: str) -> Lanes:
    return _mixed(np.array([crc32(name.encode())], dtype=_U))


def pool_of(constants: Iterable[int]) -> Lanes:
    """Values worth trying: edges of ranges, and constants with what is next to them."""
    own = np.array([0, *dict.fromkeys(constants)], dtype=_U)
    everywhere = (own & _U(0xFF)) * _U(0x0101010101010101)
    return np.concatenate([_EDGES, own, -own, own + _U(1), own - _U(1), everywhere])


@dataclass(frozen=True)
class Memory:
    """A memory in each lane: `older` with one cell replaced; the oldest one asks `initial`."""

    initial: Callable[[Lanes], Lanes]
    older: Memory | None = None
    address: Any = None
    value: Any = None

    def read(self, address: Lanes) -> Lanes:
        """The cell at an address."""
        stores, memory = [], self
        while memory.older is not None:
            stores.append(memory)
            memory = memory.older
        found = self.initial(address)
        for store in reversed(stores):
            found = np.where(store.address == address, store.value, found)
        return found


def _written(noise: Noise, data: str, memory: Memory, address: Lanes, value: Lanes) -> Memory:
    """A memory of bytes after a write."""
    extent = Extent.of(data)
    for byte in range(extent.size):
        part = value >> _U(extent.significance(byte)) & _U(0xFF)
        memory = Memory(memory.initial, memory, address + _U(byte) & noise.ones, part)
    return memory


def _read(noise: Noise, data: str, memory: Memory, address: Lanes) -> Lanes:
    """A number in a memory of bytes."""
    extent, found = Extent.of(data), np.zeros(1, dtype=_U)
    for byte in range(extent.size):
        part = memory.read(address + _U(byte) & noise.ones) & _U(0xFF)
        found = found | part << _U(extent.significance(byte))
    return found


@cache
def _lanes(count: int) -> tuple[Lanes, Lanes]:
    """What each lane mixes into its values, and the address that its addresses may be near."""
    lane = _mixed(np.arange(count, dtype=_U) << _U(32))
    return lane, _mixed(lane + _U(1)) & ~_U(_LINE - 1)


@lru_cache(32)  # claims number what is free in them, from 0 on
def _draw(lanes: int, name: str) -> tuple[NDArray[Any], ...]:
    """For a value of a name the kind in each lane, and of each kind what no claim has a say in."""
    lane, near = _lanes(lanes)
    drawn = _mixed(lane ^ _salt(name))
    again = _mixed(drawn)
    other = _mixed(again)
    inside = _U(8) * (again % _U(3)) + np.array([0, 0, 1, 7], dtype=_U)[again >> _U(62)]
    off = np.where(other & _U(1), _U(0), again >> _U(61))
    spread = again >> (_U(40) + (other & _U(0x17)))
    return _kind(lane, drawn % _U(8)), again, inside, near + off, spread, again & _U(15)


def _kind(lane: Lanes, drawn: Lanes) -> NDArray[np.intp]:
    """A kind of value for each lane: any, small and meeting, near each other, or mixed."""
    mixed = np.array([0, 1, 2, 3, 4, 5, 2, 1])[drawn]
    meeting = np.array([1, 1, 1, 1, 5, 5, 5, 5])[drawn]
    near = np.array([2, 2, 2, 2, 2, 2, 5, 5])[drawn]
    return np.choose(((lane >> _U(3)) % _U(4)).astype(np.intp), (mixed, meeting, near, mixed))


class Noise:
    """Values of what is free in a claim, in `lanes` lanes, `width` bits wide.

    `distances` are, by name, what the claim adds to a value: where values are near each other,
    such sums are, so that addresses meet.
    """

    def __init__(
        self,
        lanes: int,
        width: int,
        pool: Lanes = _EDGES,
        distances: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        self.width, self.pool, self.distances = width, pool, distances
        self.ones = _U((1 << width) - 1)
        self.machine = Batched(
            lanes,
            np.zeros((0, 0), np.uint8),
            np.zeros(0, _U),
            width=width,
            byteorder="little",
            aligned=True,
        )
        self._lane, self._near = _lanes(lanes)
        self._drawn: dict[str, Lanes] = {}
        self._memories: dict[str, Memory] = {}

    # What is free -------------------------------------------------------------------------

    def value(self, name: str, bits: int) -> Lanes:
        """A value of at most so many bits."""
        if name not in self._drawn:
            self._drawn[name] = self._value(name)
        drawn = self._drawn[name]
        return drawn if bits == _WORD else drawn & _U((1 << max(bits, 1)) - 1)

    def _value(self, name: str) -> Lanes:
        kind, again, inside, near, spread, small = _draw(len(self._lane), name)
        chosen = self.pool[again % _U(len(self.pool))]
        own = np.array([0, *self.distances.get(name, ())], dtype=_U)
        beside = np.where(again & _U(8), chosen, -own[again % _U(len(own))])
        found: Lanes = np.choose(kind, (again, inside, near + beside, chosen, spread, small))
        return found

    def condition(self, name: str) -> Conditions:
        """A condition."""
        found: Conditions = (_mixed(self._lane ^ _salt(name)) & _U(1)).astype(bool)
        return found

    def memory(self, name: str) -> Memory:
        """A memory: its cells are noise, in every other lane values worth trying.

        Where cells are bytes, eight of them are one such value in half of these lanes.  Where
        values are near each other many cells are too if the claim has distances: they may be
        addresses.
        """
        if name not in self._memories:
            self._memories[name] = self._memory(name)
        return self._memories[name]

    def _memory(self, name: str) -> Memory:
        salt, any_value = _salt(name), (self._lane >> _U(9) & _U(1)).astype(bool)
        near = (self._lane >> _U(3)) % _U(4) == _U(_NEAR)
        own = np.array([0, *chain(*self.distances.values())], dtype=_U)
        byte = np.where((self._lane >> _U(10) & _U(1)).astype(bool), _U(0), _U(_BYTES - 1))

        def initial(address: Lanes) -> Lanes:
            place = address & byte
            drawn = _mixed((address ^ place) ^ salt)
            found: Lanes = np.where(any_value, drawn, self.pool[drawn % _U(len(self.pool))])
            found = found >> (place << _U(3))
            if not self.distances:
                return found & self.ones
            other = drawn >> _U(32)
            beside = self._near - own[other % _U(len(own))] + (drawn >> _U(60) & _U(3))
            found = np.where(near & (drawn >> _U(63)).astype(bool), beside, found)
            return found & self.ones

        return Memory(initial)

    def opaque(self, name: str, values: Sequence[Any]) -> Lanes:
        """What an uninterpreted function gives: one that does not look at memory."""
        found = _salt(name)
        for value in values:
            if not isinstance(value, Memory):
                found = _mixed(found ^ _mixed(value))
        return found & self.ones

    # What is made of it -------------------------------------------------------------------

    def apply(self, kind: str, data: Any, args: Sequence[Any]) -> Any:
        """The value of a term's node that is not free, from its arguments'."""
        if kind == "const":
            return _constant(data)
        if kind == "opaque":
            return self.opaque(str(data), args)
        if kind in _OF_BYTES:
            return _OF_BYTES[kind](self, data, *args)
        result = _FUNCTIONS[kind](self, *args)
        if self.width == _WORD or not isinstance(result, np.ndarray) or result.dtype != _U:
            return result
        return result & self.ones

    def signed(self, value: Lanes) -> NDArray[np.int64]:
        """The value as a signed number."""
        unused = _WORD - self.width
        if not unused:
            return value.view(np.int64)
        return (value << _U(unused)).view(np.int64) >> np.int64(unused)

    def shifted(self, shift: Callable[[Lanes, Lanes], Lanes], value: Lanes, amount: Lanes) -> Lanes:
        """A shift by any amount; zeros from the width on."""
        if len(amount) == 1:  # most are by a constant
            return shift(value, amount) if int(amount[0]) < self.width else np.zeros(1, _U)
        inside = amount < _U(self.width)
        found: Lanes = np.where(inside, shift(value, np.where(inside, amount, _U(0))), _U(0))
        return found

    def ashr(self, value: Lanes, amount: Lanes) -> Lanes:
        """An arithmetic shift by any amount; the sign from the width on."""
        last: Any = self.width - 1
        last = min(int(amount[0]), last) if len(amount) == 1 else np.minimum(amount, _U(last))
        return (self.signed(value) >> np.asarray(last, dtype=np.int64)).view(_U)

    def umulh(self, a: Lanes, b: Lanes) -> Lanes:
        """The high half of a product."""
        return self.machine.umulh(a, b) if self.width == _WORD else a * b >> _U(self.width)


@lru_cache(1 << 12)  # the same ones in claim after claim
def _constant(value: int) -> Lanes:
    """One lane for all."""
    return np.array([value], dtype=_U)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda n, a, b: a + b,
    "sub": lambda n, a, b: a - b,
    "mul": lambda n, a, b: a * b,
    "and": lambda n, a, b: a & b,
    "or": lambda n, a, b: a | b,
    "xor": lambda n, a, b: a ^ b,
    "not": lambda n, a: ~a,
    "shl": lambda n, a, b: n.shifted(np.left_shift, a, b),
    "lshr": lambda n, a, b: n.shifted(np.right_shift, a, b),
    "ashr": lambda n, a, b: n.ashr(a, b),
    "umulh": lambda n, a, b: n.umulh(a, b),
    "ctpop": lambda n, a: n.machine.ctpop(a),
    "cttz": lambda n, a: np.minimum(n.machine.cttz(a), _U(n.width)),
    "ctlz": lambda n, a: n.machine.ctlz(a),
    "eq": lambda n, a, b: a == b,
    "ult": lambda n, a, b: a < b,
    "slt": lambda n, a, b: n.signed(a) < n.signed(b),
    "band": lambda n, a, b: a & b,
    "bnot": lambda n, a: ~a,
    "true": lambda n: np.array([True]),
    "false": lambda n: np.array([False]),
    "ite": lambda n, c, a, b: np.where(c, a, b),
    "store": lambda n, m, a, v: Memory(m.initial, m, a, v),
    "load": lambda n, m, a: m.read(a),
    "world": lambda n, m, *values: m,
}
_OF_BYTES: dict[str, Callable[..., Any]] = {"write": _written, "read": _read}
"""What depends on how many bytes it is about."""
