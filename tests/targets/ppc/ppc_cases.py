"""Random encodings and operand sets for every PowerPC row, and what the batched reading says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.batched import Batched, Lanes
from rewriter.verify.trials.engines.qemu import Batch
from targets.ppc.isa import control, integer, memory, rotate, storage, system
from targets.ppc.isa.table import PpcTable
from targets.ppc.meanings.answers import answer
from targets.ppc.registers import CA, CR, CTR, LR, OV, SO, TAR, XER, ZERO
from tests.targets.ppc.ppc_guest import MEMORY, REGISTERS, SPECIAL, TAKEN, PpcGuest

_FAMILIES = (integer, rotate, control, memory, storage, system)
# Rows of floating point and vectors have tests of their own (`test_ppc_vector_rows`).
OWN = frozenset(op for family in _FAMILIES for op in family.ROWS)

MIDDLE = 48  # where in a record's memory an access begins, at least
_FIELDS = [Reg(CR + n) for n in range(8)]
_XER_FLAGS = ((SO, 31), (OV, 30), (CA, 29))

_RECORDED = frozenset((*range(32), *_FIELDS, CA, OV, SO, LR, CTR, XER))

# Rows that are more than a function of registers and memory: events, results that the table does
# not know, clocks; those with an event that changes nothing are tested all the same.
_HARMLESS = frozenset({"prefetch", "isync", "eieio", "dcbt", "dcbtst", "lock"})
_HARMLESS_TOO = frozenset({"conditional store"})


class Answering(Batched):
    """The batched reading, with numbers for what is opaque."""

    def opaque(self, name: str, *values: Lanes) -> Lanes:
        columns = [value.tolist() for value in values]
        found = [answer(name, *row) for row in zip(*columns, strict=True)]
        if None in found:
            raise NotImplementedError(name)
        return np.array(found, dtype=np.uint64).astype(values[0].dtype)


def values(count: int, width: int, source: np.random.Generator) -> Lanes:
    """Random values: any, small ones, ends of ranges, few bits set, one sign and another."""
    top = 1 << width
    anything = source.integers(0, 1 << 64, count, dtype=np.uint64)
    kind = source.integers(0, 8, count)
    edges = np.array(
        [
            n % top
            for at in (7, 8, 15, 16, 31, 32, 33, 63)
            for n in (1 << at, (1 << at) - 1, -1 << at)
        ]
        + [0, 1, top - 1],
        dtype=np.uint64,
    )
    result = anything
    result = np.where(kind == 1, anything & np.uint64(0x7F), result)
    result = np.where(kind == 2, ~(anything & np.uint64(0x7F)), result)
    result = np.where(kind == 3, source.choice(edges, count), result)
    result = np.where(kind == 4, np.uint64(1) << (anything & np.uint64(63)), result)
    result = np.where(kind == 5, anything & np.uint64(0xFFFFFFFF), result)
    result = np.where(kind == 6, anything | np.uint64(0xFFFFFFFF80000000), result)
    return (result & np.uint64(top - 1)).astype(np.dtype(f"u{width // 8}"))


# Encodings ---------------------------------------------------------------------------------


def _frame(table: PpcTable, insn: Insn) -> tuple[tuple[Insn, ...], tuple[Insn, ...]]:
    """What stands in front of an instruction, and behind it, so that a record shows what it did."""
    move = table.find("or")
    if insn.has("rt_many") or insn.has("rs_many"):
        kept = [(n, n - 17) for n in range(27, 32)]
        touched = table.defs(insn) if insn.has("rt_many") else table.uses(insn)
        shown = [(n - 24, n) for n in range(27, 32) if touched >> n & 1]
        if insn.has("rs_many"):
            shown = [(number, other) for other, number in shown]
        save = [Insn(move, (Reg(b), Reg(a), Reg(a))) for a, b in kept]
        back = [Insn(move, (Reg(a), Reg(b), Reg(b))) for a, b in kept]
        show = [Insn(move, (Reg(a), Reg(b), Reg(b))) for a, b in shown]
        if insn.has("rs_many"):
            return (*save, *show), tuple(back)
        return tuple(save), (*show, *back)
    if "conditional store" in table.effects(insn.op).events:
        load = table.find(insn.name.replace("st", "l").replace("cx.", "arx"))
        return (Insn(load, (Reg(10), insn.operand("ra0"), insn.operand("rb"), 0)),), ()
    return (), ()


def is_testable(table: PpcTable, op: Op) -> bool:
    """Whether the row is a function of what a record holds, and changes nothing else."""
    effects = table.effects(op)
    told = set(effects.events) - _HARMLESS - _HARMLESS_TOO
    others = (effects.fixed_reads | effects.fixed_writes) - _RECORDED
    return op in OWN and op.flow is Flow.NEXT and not told and not others


def _drawn(operand: Operand, source: random.Random) -> int:
    if operand.kind is Kind.REGISTER and operand.values:  # a base: 0 may be the number
        choices = [ZERO, 3, 4, 5, 6] if operand.values[0] is not None else [3, 4, 5, 6]
        return Reg(source.choice(choices))
    if operand.kind is Kind.REGISTER and operand.base == 0:
        return Reg(source.choice((3, 4, 5, 6)))
    if operand.name.endswith("_many"):
        return source.choice((28, 29, 30, 31))
    if operand.name == "nb":
        return source.randrange(1, 5)
    if operand.values:
        return source.choice([value for value in operand.values if value is not None])
    low, high = operand.limits
    if operand.kind is Kind.REGISTER or source.random() < 0.7:
        value = operand.value(source.randrange(1 << operand.width))
        assert value is not None
        return value
    return source.choice((low, high))


def random_insn(op: Op, source: random.Random) -> Insn:
    """An instruction of this row on the registers of a record."""
    return Insn(op, tuple(_drawn(operand, source) for operand in op.format.operands))


@dataclass(frozen=True, slots=True)
class Address:
    """How the address of an access is put together: a base, and a number or another register."""

    base: int
    index: int | None
    distance: int


def address_of(insn: Insn) -> Address | None:
    """How an access finds its address; None where these registers cannot give one."""
    form = insn.op.format
    base = next((n for n in ("ra0", "ran", "ra") if n in form.positions), None)
    if base is None:
        return None
    register = insn.operand(base)
    number = next((n for n in ("d", "ds", "dq", "d34") if n in form.positions), None)
    if number is not None:
        return None if register == ZERO else Address(register, None, insn.operand(number))
    index = insn.operand("rb") if insn.has("rb") else None
    return (
        None
        if index == register or (index is None and register == ZERO)
        else Address(register, index, 0)
    )


def _makes_sense(table: PpcTable, insn: Insn) -> bool:
    """Whether the architecture says what happens, and this frame can bear it."""
    if insn.has("ran") and insn.has("rt") and insn.operand("rt") == insn.operand("ran"):
        return False
    effects = table.effects(insn.op)
    if not effects.loads and not effects.stores:
        return True
    place = address_of(insn)
    return place is not None


def insns(table: PpcTable, op: Op, count: int, source: random.Random) -> Iterator[Insn]:
    """Instructions of a row that make sense."""
    found = 0
    for _ in range(200 * count):
        insn = random_insn(op, source)
        if _makes_sense(table, insn):
            yield insn
            found += 1
        if found == count:
            return


# Runs --------------------------------------------------------------------------------------


@dataclass
class Run:
    """Cases of one instruction, perhaps in a frame: the records before, and those after."""

    table: PpcTable
    insn: Insn
    count: int
    seed: int
    before: dict[Reg, Lanes] = field(init=False)

    def __post_init__(self) -> None:
        self.source = np.random.default_rng(self.seed)
        width, special = self.table.width, (CTR, LR)
        self.before = {Reg(r): values(self.count, width, self.source) for r in REGISTERS}
        self.before |= {r: values(self.count, width, self.source) for r in special}
        small = self.source.integers(0, 16, (8, self.count)).astype(f"u{width // 8}")
        self.before |= {field: small[n] for n, field in enumerate(_FIELDS)}
        flags = self.source.integers(0, 2, (3, self.count)).astype(f"u{width // 8}")
        self.before |= {flag: flags[n] for n, (flag, _) in enumerate(_XER_FLAGS)}
        shape = (self.count, MEMORY)
        self.memory = self.source.integers(0, 256, shape, dtype=np.uint8)

        if self.insn.name.startswith("divde"):
            self._tame()

    def _tame(self) -> None:
        """qemu 7.2 takes some overflows of divde for quotients: small dividends, long divisors."""
        a, b = (Reg(self.insn.operand(name)) for name in ("ra", "rb"))
        self.before[a] &= np.uint64(0xFF)
        self.before[b] = self.before[b] & np.uint64((1 << 63) - 1) | np.uint64(1 << 44)

    def body(self, at: int) -> bytes:
        """The code of the routine."""
        first, last = _frame(self.table, self.insn)
        if self.insn.size > 4 and at % 64 == 60:  # a prefixed one must not cross such a boundary
            first = (Insn(self.table.find("ori"), (Reg(3), Reg(3), 0)),)
        code = self.bytes_of(*first, self.insn, *last)
        self.insns, self.address = (*first, self.insn, *last), at
        return code

    def bytes_of(self, *insns: Insn) -> bytes:
        """The code of some instructions; a prefix comes first in either order."""
        code = b""
        for insn in insns:
            word = self.table.encode(insn)
            for at in range(insn.size - 4, -1, -4):
                code += (word >> 8 * at & 0xFFFFFFFF).to_bytes(4, self.table.byteorder)
        return code

    def place(self, guest: PpcGuest) -> Batch:
        """Adds the routine to the guest, and makes the records."""
        routine = guest.add(self.body(guest.next_body))
        base = [guest.memory_address(n) for n in range(self.count)]
        self.base = np.array(base, dtype=self.before[LR].dtype)
        self.aim()
        return Batch(routine, self.records())

    def aim(self) -> None:
        """Makes the address of an access one inside its record."""
        effects = self.table.effects(self.insn.op)
        place = address_of(self.insn)
        if not (effects.loads or effects.stores) or place is None:
            return
        inside = self.source.integers(0, 16, self.count).astype(self.base.dtype)
        if "conditional store" in effects.events or "lock" in effects.events:
            inside = inside & inside.dtype.type(8)  # these trap when misaligned
            inside = inside - (self.base & inside.dtype.type(7))
        ones = (1 << self.table.width) - 1
        goal = self.base + inside + inside.dtype.type(MIDDLE)
        goal = goal - goal.dtype.type(place.distance & ones)
        if place.index is None:
            self.before[Reg(place.base)] = goal
        elif place.base == ZERO:
            self.before[Reg(place.index)] = goal
        else:
            self.before[Reg(place.index)] = goal - self.before[Reg(place.base)]

    def records(self) -> NDArray[np.uint8]:
        """The registers in the order of a record, then memory."""
        kind = np.dtype(f"u{self.table.width // 8}")
        columns = [self.before[Reg(r)] for r in REGISTERS]
        columns += [packed_cr(self.before), packed_xer(self.before)]
        columns += [self.before[CTR], self.before[LR]]
        order = "<" if self.table.byteorder == "little" else ">"
        stacked = np.stack([column.astype(kind) for column in columns], axis=1)
        return np.concatenate(
            [stacked.astype(kind.newbyteorder(order)).view(np.uint8), self.memory], 1
        )

    def expected(self) -> Batched:
        """The batched reading of the same cases."""
        unused = {
            Reg(n): np.zeros(self.count, dtype=self.base.dtype)
            for n in range(len(self.table.register_names))
        }
        machine = Answering(
            lanes=self.count,
            memory=self.memory.copy(),
            base=self.base,
            width=self.table.width,
            byteorder=self.table.byteorder,
            aligned=False,
            constants=self.table.constants,
            registers=unused | self.before,
        )
        self.execute(machine)
        return machine

    def execute(self, machine: Batched) -> None:
        """Runs the body."""
        at = self.address
        for insn in self.insns:
            machine.execute(insn, at)
            at += insn.size


def packed_cr(registers: dict[Reg, Lanes]) -> Lanes:
    """The condition register as a word."""
    first, *rest = (registers[field] for field in _FIELDS)
    for part in rest:
        first = first << first.dtype.type(4) | part
    return first


def packed_xer(registers: dict[Reg, Lanes]) -> Lanes:
    """SO, OV and CA where XER has them."""
    return sum(
        (registers[flag] << registers[flag].dtype.type(bit) for flag, bit in _XER_FLAGS),
        start=np.zeros_like(registers[CA]),
    )


def disagreements(run: Run, after: NDArray[np.uint8]) -> list[str]:
    """The registers that differ, with what was in all of them before; or memory."""
    machine, table = run.expected(), run.table
    width = table.width // 8
    kind = np.dtype(f"{'<' if table.byteorder == 'little' else '>'}u{width}")
    names = (*(f"r{n}" for n in REGISTERS), *SPECIAL)
    registers = machine.registers
    columns = [registers[Reg(r)] for r in REGISTERS]
    columns += [packed_cr(registers), packed_xer(registers), registers[CTR], registers[LR]]
    got = after[:, : width * len(names)].copy().view(kind).astype(f"u{width}")
    flags = got.dtype.type(sum(1 << bit for _, bit in _XER_FLAGS))
    got[:, names.index("xer")] &= flags
    found = []
    for n, (name, column) in enumerate(zip(names, columns, strict=True)):
        wrong = np.flatnonzero(got[:, n] != column)
        if len(wrong):
            at = int(wrong[0])
            before = {f"r{r}": hex(int(run.before[Reg(r)][at])) for r in REGISTERS}
            before["xer"] = hex(int(packed_xer(run.before)[at]))
            before["cr"] = hex(int(packed_cr(run.before)[at]))
            found.append(
                f"{table.name}: {table.text(run.insn, run.address)}: {name} is"
                f" {int(got[at, n]):#x} in qemu, {int(column[at]):#x} here, in {len(wrong)} of"
                f" {run.count} cases; before: {before}"
            )
    wrong = np.flatnonzero((after[:, width * len(names) :] != machine.memory).any(axis=1))
    if len(wrong):
        found.append(f"{table.name}: {table.text(run.insn)}: memory differs in {len(wrong)} cases")
    return found


# Control -----------------------------------------------------------------------------------

_NEXT, _THERE = 1, 2  # what register TAKEN gets


@dataclass
class ControlRun(Run):
    """Cases of a branch, whose target is behind it, or in front."""

    backward: bool = False

    def body(self, at: int) -> bytes:
        """The branch between two places that say where control went."""
        find, wide = self.table.find, self.table.width == 64
        jump, say = find("b"), find("addi")
        here, there = (Insn(say, (Reg(TAKEN), ZERO, place)) for place in (_NEXT, _THERE))
        to_tar: tuple[Insn, ...] = ()
        if wide and "bctar" in self.insn.name:
            to_tar = (Insn(find("mtspr", "815,rs"), (Reg(REGISTERS[-1]),)),)
        first = (*to_tar, Insn(jump, (12,)), there, Insn(jump, (12,))) if self.backward else to_tar
        last = (here,) if self.backward else (here, Insn(jump, (8,)), there)
        self.address = at + 4 * len(first)
        self.there = at + 4 * len(to_tar) + 4 if self.backward else self.address + 12
        target = self.insn.op.format.target
        if target is not None:
            name = self.insn.op.format.operands[target].name
            operand = self.insn.op.format.operands[target]
            goal = operand.distance(self.there, self.address, 4)
            self.insn = self.insn.replace(**{name: goal})
        return self.bytes_of(*first, self.insn, *last)

    def aim(self) -> None:
        """The registers that are jumped to hold the target, and two bits that do not count."""
        kind = self.base.dtype.type
        low = self.source.integers(0, 4, self.count).astype(self.base.dtype)
        for register, name in ((LR, "bclr"), (CTR, "bcctr"), (Reg(REGISTERS[-1]), "bctar")):
            if self.insn.name.startswith(name):
                self.before[register] = low + kind(self.there)
        if "bo" in "".join(self.insn.op.format.positions) and self.insn.name[:5] != "bcctr":
            some = self.source.integers(0, 3, self.count).astype(self.base.dtype)
            is_small = self.source.integers(0, 2, self.count) == 1
            self.before[CTR] = np.where(is_small, some, self.before[CTR])

    def execute(self, machine: Batched) -> None:
        """The branch alone, and where it says that control goes."""
        machine.registers[TAR] = self.before[Reg(REGISTERS[-1])]
        machine.execute(self.insn, self.address)
        assert machine.taken is not None and machine.target is not None
        assert (machine.target[machine.taken] == self.there).all(), self.insn
        kind = self.base.dtype
        machine.registers[Reg(TAKEN)] = np.where(machine.taken, _THERE, _NEXT).astype(kind)
