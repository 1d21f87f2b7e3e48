"""What a known routine must do: a reference model, how it is called, and cases to try it on.

A contract knows no machine.  Its model is plain Python over integers and bytes; its cases are
built in an `Arena` of addresses that a harness provides; which registers hold the arguments is
the target's `Linkage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import Literal

LINE = 64  # bytes: what a write hint gives up, and what surroundings must show
MASK64 = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Arena:
    """Rooms of accessible memory at fixed addresses, nothing accessible between them.

    `base` and `room` are multiples of every page size (64 KiB); sizes are in bytes.  Arguments are
    values of registers of `width` bits.
    """

    base: int
    page: int
    width: int
    rooms: int = 2
    room: int = 0x30000

    def start(self, room: int) -> int:
        """Address of the first byte of a room."""
        return self.base + 2 * room * self.room

    def end(self, room: int) -> int:
        """Address behind the last byte of a room."""
        return self.start(room) + self.room

    def widened(self, value: int) -> int:
        """A 32-bit integer as an argument: sign-extended to the register's width."""
        return widen(value) & (1 << self.width) - 1


@dataclass(frozen=True, slots=True)
class Piece:
    """Memory that a case sets up and looks at afterwards; starts and ends on 8 bytes."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class Case:
    """One call: the values of the arguments (as registers have them) and the memory around them.

    `promised` says that the contract promises something; otherwise it may fault, and a replacement
    does what the original does.
    """

    arguments: tuple[int, ...]
    pieces: tuple[Piece, ...]
    promised: bool = True

    @property
    def size(self) -> int:
        """How big a counterexample it is."""
        return sum(len(piece.data) for piece in self.pieces)


class View:
    """The memory of a case as a model sees it; an access outside is an error of the contract.

    `byteorder` is that of the machine that the case is for.
    """

    def __init__(self, pieces: Sequence[Piece], byteorder: Literal["little", "big"]) -> None:
        self.byteorder = byteorder
        self._parts = [(p.address, p.end, bytearray(p.data)) for p in pieces]
        self.written: list[tuple[int, int]] = []

    def read(self, address: int, size: int) -> bytes:
        """`size` bytes; none may be anywhere."""
        if not size:
            return b""
        start, part = self._part(address, size)
        return bytes(part[address - start : address - start + size])

    def store(self, address: int, value: int, size: int) -> None:
        """Writes a number of `size` bytes as the machine does."""
        self.write(address, value.to_bytes(size, self.byteorder))

    def write(self, address: int, data: bytes) -> None:
        """Writes, and remembers where."""
        if data:
            start, part = self._part(address, len(data))
            part[address - start : address - start + len(data)] = data
            self.written.append((address, address + len(data)))

    def find(self, byte: int, address: int) -> int:
        """Address of the first `byte` at or behind `address`."""
        start, part = self._part(address, 1)
        return start + part.index(byte, address - start)

    def string(self, address: int) -> bytes:
        """The string there, without its end."""
        return self.read(address, self.find(0, address) - address)

    def available(self, address: int) -> int:
        """How many bytes from there on can be accessed; none at the end of a room."""
        for start, end, _ in self._parts:
            if start <= address < end:
                return end - address
        return 0

    def after(self) -> tuple[bytes, ...]:
        """What the pieces hold now."""
        return tuple(bytes(part) for _, _, part in self._parts)

    def _part(self, address: int, size: int) -> tuple[int, bytearray]:
        for start, end, part in self._parts:
            if start <= address and address + size <= end:
                return start, part
        raise IndexError(f"the model uses {size} bytes at {address:#x}, outside the case")


class Result(Enum):
    """How a result is compared with the model's."""

    QUAD = "the whole register"
    INT = "a 32-bit integer, as the ABI widens it"
    SIGN = "the sign of a 32-bit integer"
    UNDONE = "bytes not done: no fewer than could not be, and none if all could"
    NOTHING = "not at all"


class Kind(Enum):
    """What an argument is."""

    TO = "address that is written"
    FROM = "address that is read"
    COUNT = "number of bytes"
    INT = "32-bit integer, widened as the ABI says"
    QUAD = "64-bit integer"


Model = Callable[..., int | None]
Build = Callable[..., Case]


@dataclass(frozen=True, slots=True)
class Plan:
    """Shapes to try: every combination of the values of the axes, small ones first.

    `axes` are for an engine that takes a microsecond a case, `few` for one that takes a
    millisecond and answers faults; without axes the plan is left out there.
    """

    name: str
    axes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    few: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def some(self) -> Iterator[tuple[Plan, dict[str, int]]]:
        """The few shapes."""
        yield from ((self, point) for point in combinations(self.few))


_NULL = "null"
NOTHING = Plan("nothing at no address", few={_NULL: (0,)})
"""Addresses and counts of zero."""
_NOWHERE = Plan("no address", few={_NULL: (24,)})
"""Of every contract: null pointers, which a program's own routine might take for something."""


@dataclass(frozen=True, slots=True)
class Contract:
    """A routine's promise.

    `model(view, *arguments)` gives the result and changes the view; it gives None where there is a
    result and the contract leaves it open: a replacement then does what the original does.
    `build(arena, **point)` makes the case at a point of a plan's axes; `linkage` is a name that the
    target knows.  Of memory only what the model writes may change, of registers what the linkage
    does not preserve.  One that `settles` leaves no result open where it promises anything.
    """

    name: str
    kinds: tuple[Kind, ...]
    result: Result
    model: Model
    build: Build
    plans: tuple[Plan, ...]
    linkage: str = "standard"
    settles: bool = False

    def points(self) -> Iterator[tuple[Plan, dict[str, int]]]:
        """Every shape, for an engine that takes a microsecond a case."""
        for plan in self.plans:
            yield from ((plan, point) for point in combinations(plan.axes))

    def few(self) -> Iterator[tuple[Plan, dict[str, int]]]:
        """The smaller set of shapes, with those that fault."""
        for plan in self.plans:
            yield from plan.some()

    @property
    def tried(self) -> tuple[Plan, ...]:
        """The plans, and what no contract promises anything of."""
        pointers = any(kind in (Kind.TO, Kind.FROM) for kind in self.kinds)
        return (*self.plans, _NOWHERE) if pointers else self.plans

    def expected(self, view: View, case: Case) -> int | None:
        """What the model gives; it changes the view.  None where nothing is promised."""
        return self.model(view, *case.arguments) if case.promised else None

    def _nowhere(self, count: int) -> Case:
        """Null pointers and a count; of zero something is promised."""
        given = {Kind.TO: 0, Kind.FROM: 0, Kind.COUNT: count}
        return Case(tuple(given.get(kind, 1) for kind in self.kinds), (), promised=not count)

    def case(self, arena: Arena, point: Mapping[str, int]) -> Case:
        """The case of one shape."""
        if _NULL in point:
            return self._nowhere(point[_NULL])
        return self.build(arena, **point)


def combinations(axes: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    """All points of the product of the axes, the last axis fastest; none without axes."""
    if not axes:
        return
    names = tuple(axes)
    for values in product(*axes.values()):
        yield dict(zip(names, values, strict=True))


def widen(value: int) -> int:
    """A 32-bit integer in a 64-bit register, sign-extended, modulo 2**64."""
    return ((value + (1 << 31)) % (1 << 32) - (1 << 31)) & MASK64
