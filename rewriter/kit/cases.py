"""Cases of contracts as the program reads them, and the checksums that must come out."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import MASK64, Arena, Case, Contract, Kind, Result, View, widen
from rewriter.core.readings.machine import ByteOrder
from rewriter.suites.article import BOOT

END = MASK64
"""The number in the place of a routine's behind the last case."""
SIZES = (1, 8, 16, 31, 64, 200)
"""Bytes of the calls that are timed of a routine whose calls nobody counted."""
_RESULTS = {Result.QUAD: 0, Result.INT: 1, Result.SIGN: 2, Result.NOTHING: 3}
_OPEN = Result.NOTHING
_ARGUMENTS = 4
_PRIME = 0x100000001B3
_LARGEST = 1 << 20  # bytes of a case that the program has room for


@dataclass(frozen=True)
class Machine:
    """What cases need to know of where they run."""

    arena: Arena
    byteorder: ByteOrder

    @property
    def sign(self) -> str:
        """The byte order as `struct` spells it."""
        return "<" if self.byteorder == "little" else ">"


@dataclass(frozen=True)
class Timed:
    """A call that is timed."""

    number: int
    routine: str
    point: Mapping[str, int]

    @property
    def where(self) -> str:
        """The point in one word."""
        return ",".join(f"{axis}={value}" for axis, value in self.point.items())


def routines(exported: frozenset[str], width: int) -> tuple[str, ...]:
    """The routines that a library exports and the program can call, as C calls functions."""
    return tuple(
        name for name, one in CONTRACTS.items() if name in exported and _callable(one, width)
    )


def _callable(contract: Contract, width: int) -> bool:
    wide = width < 64 and Kind.QUAD in contract.kinds  # takes a pair of registers
    known = contract.result in _RESULTS and len(contract.kinds) <= _ARGUMENTS
    return contract.linkage == "standard" and known and not wide


def checks(names: Sequence[str], machine: Machine) -> tuple[bytes, list[str]]:
    """What the program is given to check, and the lines that it must write."""
    parts, lines = list[bytes](), list[str]()
    for routine, name in enumerate(names):
        count, total, contract = 0, 0, CONTRACTS[name]
        for _, point in contract.few():
            case = contract.case(machine.arena, point)
            if case.promised and case.size < _LARGEST - 0x1000:
                given, total = _checked(contract, case, machine, total)
                parts.append(_head(routine, count, given, case, machine))
                count += 1
        lines.append(f"check {name} {count} {total:016x}")
    return b"".join((*parts, _end(machine))), lines


def _checked(contract: Contract, case: Case, machine: Machine, total: int) -> tuple[Result, int]:
    """How a case's result is compared, and the checksum with it."""
    view = View(case.pieces, machine.byteorder)
    value = contract.model(view, *case.arguments)
    result = _OPEN if value is None else contract.result
    total = _summed(total, _normal(result, value or 0, machine.arena.width))
    for after in view.after():
        for (word,) in struct.iter_unpack(f"{machine.sign}Q", after):
            total = _summed(total, word)
    return result, total


def _normal(result: Result, value: int, width: int) -> int:
    """A result as the program compares it."""
    if result is Result.NOTHING:
        return 0
    if result is Result.SIGN:
        return ((value > 0) - (value < 0)) & MASK64
    return (widen(value) if result is Result.INT else value) & (1 << width) - 1


def _summed(total: int, word: int) -> int:
    return (total ^ word) * _PRIME & MASK64


def timed(names: Sequence[str], machine: Machine) -> tuple[Timed, ...]:
    """The calls that are timed: those of the mix that was counted, or of some sizes.

    A call that finds another memory each time, as one that appends does, is not timed.
    """
    found = list[Timed]()
    for name in names:
        contract = CONTRACTS[name]
        for point in _points(name):
            if _repeats(contract, contract.case(machine.arena, point), machine):
                found.append(Timed(len(found), name, point))
    return tuple(found)


def _points(name: str) -> Iterator[Mapping[str, int]]:
    counted = [job.point for job in BOOT if job.routine == name]
    yield from counted
    if counted:
        return
    axes = CONTRACTS[name].plans[0].axes
    first = {axis: next(iter(values)) for axis, values in axes.items()}
    yield from ({**first, "count": size} for size in SIZES if "count" in axes)
    if "count" not in axes and axes:
        yield first


def _repeats(contract: Contract, case: Case, machine: Machine) -> bool:
    view = View(case.pieces, machine.byteorder)
    contract.model(view, *case.arguments)
    once = view.after()
    try:
        contract.model(view, *case.arguments)
    except (IndexError, ValueError):  # it goes on behind the case's memory
        return False
    return view.after() == once


def times(names: Sequence[str], calls: Sequence[Timed], machine: Machine) -> bytes:
    """What the program is given to time."""
    parts = [
        _head(
            names.index(one.routine),
            one.number,
            Result.NOTHING,
            CONTRACTS[one.routine].case(machine.arena, one.point),
            machine,
        )
        for one in calls
    ]
    return b"".join((*parts, _end(machine)))


def _head(routine: int, number: int, result: Result, case: Case, machine: Machine) -> bytes:
    """A case as bytes."""
    spare = (0,) * (_ARGUMENTS - len(case.arguments))
    words = [routine, number, _RESULTS[result], *case.arguments, *spare, len(case.pieces)]
    words += [value for piece in case.pieces for value in (piece.address, len(piece.data))]
    head = struct.pack(f"{machine.sign}{len(words)}Q", *words)
    return b"".join((head, *(piece.data for piece in case.pieces)))


def _end(machine: Machine) -> bytes:
    return struct.pack(f"{machine.sign}Q", END)
