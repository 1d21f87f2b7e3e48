"""Shape proofs: one run shows what a copy does to every content of that shape.

Addresses and lengths are numbers; every byte of memory is a label that says where it came from.
What moves whole bytes (shifts by bytes, masks of bytes, OR of bytes one of which is zero) moves
labels; a byte made otherwise is no label any more; a branch or an address that depends on content
ends the proof.  So where a run comes to its end, its way does not depend on content, and each byte
of the result is a byte of the input or a constant: compared with the model, that is the claim for
all contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rewriter.contracts.contract import MASK64, Case, Contract, Piece, Plan, View
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.table import Table
from rewriter.core.readings.concrete import Concrete, Misaligned
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.trials import Program, Trials
from rewriter.verify.trials.engines.sweep import Code, poison
from rewriter.verify.trials.records import Point
from rewriter.verify.trials.steps import agrees
from rewriter.verify.trials.trial import Counterexample

_FIRST_LABEL = 256  # below it an entry is a constant byte
_MIXED = 1 << 30  # the label of a byte that was made of several: no byte of a result may be one
_RETURN = 0x10
_LIMIT = 100_000  # instructions


class DependsOnContent(Exception):
    """What is not a move of whole bytes was done to content; `operation` says what."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"{operation} of content")
        self.operation = operation


@dataclass(frozen=True, slots=True)
class Labelled:
    """A 64-bit value some of whose bytes are labels, the lowest byte first."""

    entries: tuple[int, ...]

    def __and__(self, other: int | Labelled) -> int | Labelled:
        return _bytewise(_keep, self, other)

    def __or__(self, other: int | Labelled) -> int | Labelled:
        return _bytewise(_join, self, other)

    def __xor__(self, other: int | Labelled) -> int | Labelled:
        return _bytewise(_add, self, other)

    def __add__(self, other: int | Labelled) -> int | Labelled:
        return _bytewise(_add, self, other) if other == 0 else self._never()

    __rand__, __ror__, __rxor__, __radd__ = __and__, __or__, __xor__, __add__

    def _never(self, *others: int | Labelled) -> int:
        raise DependsOnContent("arithmetic")

    __sub__ = __rsub__ = __mul__ = __rmul__ = __invert__ = _never

    def shifted(self, amount: int, left: bool) -> int | Labelled:
        """Shifted by whole bytes."""
        count, rest = divmod(amount & 63, 8)
        if rest:
            raise DependsOnContent("shift by bits")
        kept = self.entries[: 8 - count] if left else self.entries[count:]
        return _value((0,) * count + kept if left else kept + (0,) * count)


def _keep(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    return a if b in (0xFF, a) else b if a == 0xFF else _MIXED


def _add(a: int, b: int) -> int:
    return a if b == 0 else b if a == 0 else _MIXED


def _join(a: int, b: int) -> int:
    return a if a == b else _add(a, b)


def _entries(value: int | Labelled) -> tuple[int, ...]:
    if isinstance(value, Labelled):
        return value.entries
    return tuple((value & MASK64).to_bytes(8, "little"))


def _value(entries: tuple[int, ...]) -> int | Labelled:
    if max(entries) < _FIRST_LABEL:
        return int.from_bytes(bytes(entries), "little")
    return Labelled(entries)


def _bytewise(combine: Callable[[int, int], int], a: Labelled, b: int | Labelled) -> int | Labelled:
    pairs = zip(_entries(a), _entries(b), strict=True)
    return _value(tuple(combine(x, y) for x, y in pairs))


class Labels(Concrete):
    """The concrete reading with labels in memory and registers; 64-bit little-endian."""

    def set(self, register: Reg, value: int | Labelled) -> None:
        if register not in self.constants:
            kept = value if isinstance(value, Labelled) else value & self.ones
            self.registers[register] = kept  # type: ignore[assignment]

    def load(self, address: int, size: int) -> int:
        entries = [self.memory[at] for at in self._places(address, size)]
        return _value((*entries, *(0,) * (8 - size)))  # type: ignore[return-value]

    def store(self, address: int, value: int | Labelled, size: int) -> None:
        places = self._places(address, size)
        for at, entry in zip(places, _entries(value), strict=False):
            if at not in self.memory:
                raise KeyError(at)
            self.memory[at] = entry

    def _places(self, address: int, size: int) -> range:
        if isinstance(address, Labelled):
            raise DependsOnContent("address")
        address &= self.ones
        if address % size:
            raise Misaligned(address, size)
        return range(address, address + size)

    def shl(self, value: int | Labelled, amount: int) -> int:
        if isinstance(value, Labelled):
            return value.shifted(amount, left=True)  # type: ignore[return-value]
        return super().shl(value, amount)

    def lshr(self, value: int | Labelled, amount: int) -> int:
        if isinstance(value, Labelled):
            return value.shifted(amount, left=False)  # type: ignore[return-value]
        return super().lshr(value, amount)

    def eq(self, a: int, b: int) -> bool:
        return super().eq(_plain(a), _plain(b))

    def ult(self, a: int, b: int) -> bool:
        return super().ult(_plain(a), _plain(b))

    def slt(self, a: int, b: int) -> bool:
        return super().slt(_plain(a), _plain(b))


def _plain(value: int | Labelled) -> int:
    if isinstance(value, Labelled):
        raise DependsOnContent("comparison")
    return value


def prove_shapes(
    code: Code, contract: Contract, target: Trials, points: Iterable[tuple[Plan, Point]]
) -> Evidence | Counterexample:
    """Runs shapes of a contract on labels: BOUNDED by their number, and for every content.

    For contracts whose models only move bytes or write zero: copies, and fills with zero.
    """
    program, count = target.program(contract.linkage), 0
    for plan, point in points:
        problem = _shape(code, contract, program, target.table, contract.case(program.arena, point))
        if problem:
            where = code.name, contract.name, "shapes", plan.name
            return Counterexample(*where, point, problem)
        count += 1
    return Evidence(Grade.BOUNDED, cases=count, detail="shapes, each for every content")


def _shape(code: Code, contract: Contract, program: Program, table: Table, case: Case) -> str:
    """What is wrong with one shape; empty when it is proved."""
    machine = Labels(
        width=table.width,
        byteorder=table.byteorder,
        aligned=table.aligned,
        constants=table.constants,
    )
    wanted, result = _expected(contract, case, table.byteorder)
    for number, at in enumerate(wanted):
        machine.memory[at] = number + _FIRST_LABEL
    registers = dict(enumerate(poison(program, code.shared).tolist()))
    registers |= dict(zip(program.linkage.arguments, case.arguments, strict=False))
    registers |= {program.linkage.link: _RETURN, program.linkage.entry: code.entry}
    machine.registers.update({r: v for r, v in registers.items() if r not in table.constants})
    try:
        _run(machine, code, table)
    except (DependsOnContent, Misaligned, KeyError, TimeoutError) as trap:
        return f"{type(trap).__name__}: {trap}"
    if not agrees(contract.result, machine.registers[program.linkage.result], result, 64):
        return "another result"
    wrong = [at for at, entry in wanted.items() if machine.memory[at] != entry]
    return f"{len(wrong)} bytes come from elsewhere, the first at {wrong[0]:#x}" if wrong else ""


def _expected(
    contract: Contract, case: Case, order: ByteOrder
) -> tuple[dict[int, int], int | None]:
    """What each byte must be, constant or label, by what the model does to two sets of contents.

    The number of a byte is spread over the two; a byte that both turn to zero is the constant.
    """
    places = [at for piece in case.pieces for at in range(piece.address, piece.end)]
    made: list[bytes] = []
    result: int | None = None
    for shift in (0, 8):
        numbers = bytes(number + 1 >> shift & 0xFF for number in range(len(places)))
        view = View(_filled(case, numbers), order)
        result = contract.model(view, *case.arguments)
        made.append(b"".join(view.after()))
    numbers_after = (low | high << 8 for low, high in zip(*made, strict=True))
    entries = (number - 1 + _FIRST_LABEL if number else 0 for number in numbers_after)
    return dict(zip(places, entries, strict=True)), result


def _filled(case: Case, content: bytes) -> list[Piece]:
    pieces, at = [], 0
    for piece in case.pieces:
        size = len(piece.data)
        pieces.append(Piece(piece.address, content[at : at + size]))
        at += size
    return pieces


def _run(machine: Labels, code: Code, table: Table) -> None:
    size, at = table.size, code.entry
    for _ in range(_LIMIT):
        if at == _RETURN:
            return
        data = next(d[at - start :] for start, d in code.parts if 0 <= at - start < len(d))
        insn = table.decode(int.from_bytes(data[:size], "little"))
        if insn is None:
            raise KeyError(at)
        machine.target = None
        machine.execute(insn, at)
        at = at + insn.size if machine.target is None else machine.target
    raise TimeoutError("still running")
