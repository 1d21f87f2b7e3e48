"""The readings of a row agree: concrete with batched and written, symbolic with concrete."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.batched import Batched
from rewriter.core.readings.concrete import Concrete
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.readings.written import written
from rewriter.core.terms.evaluate import Evaluator
from rewriter.core.terms.term import Terms
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import FP
from tests.support.depth import depth
from tests.targets.alpha.against_qemu import DEFINED
from tests.targets.alpha.cases import values
from tests.targets.alpha.operands import random_insn

ADDRESS = 0x120003F00  # of the instruction
ROW = 64  # bytes of memory a lane; the accessed cell is its middle one
MIDDLE = 24
_NAMES = [f"r{register}" for register in range(2 * FP)]  # what Symbolic calls them
INSNS, LANES = depth(4, 8), 40  # for each row: encodings, and states for each


class States:
    """Random states before an instruction, in which its access is aligned and inside a lane."""

    def __init__(self, insn: Insn, source: np.random.Generator) -> None:
        drawn = values(2 * FP * LANES, source).reshape(2 * FP, LANES)
        self.registers = {Reg(r): drawn[r] for r in range(2 * FP)}
        self.memory = values(LANES * ROW // 8, source).view(np.uint8).reshape(LANES, ROW)
        self.base = values(LANES, source) & np.uint64(0xFFFFFFFFFFFFFF00)
        if insn.op.format.name in ("memory", "fp memory") and insn.operand("rb") in TABLE.constants:
            # The displacement is the address.
            self.base[:] = (insn.operand("disp") - MIDDLE) % (1 << 64)
        elif insn.has("disp"):
            offset = np.uint64((MIDDLE - insn.operand("disp")) % (1 << 64))
            self.registers[Reg(insn.operand("rb"))] = self.base + offset
        for register, value in TABLE.constants.items():
            self.registers[Reg(register)] = np.full(LANES, value, dtype=np.uint64)
        columns = np.stack([self.registers[Reg(r)] for r in range(2 * FP)], axis=1).tolist()
        self.lanes = [{Reg(r): v for r, v in enumerate(row)} for row in columns]

    def byte(self, lane: int, address: int) -> int:
        """The byte at an address of a lane's memory; a mixture of the address elsewhere."""
        offset = (address - int(self.base[lane])) % (1 << 64)
        return int(self.memory[lane, offset]) if offset < ROW else address * 151 >> 3 & 0xFF

    def cell(self, lane: int, address: int) -> int:
        """The eight bytes at an aligned address."""
        return int.from_bytes(bytes(self.byte(lane, address + i) for i in range(8)), "little")


def _random_insns(op: Op, source: random.Random) -> list[Insn]:
    insns = [random_insn(op, source) for _ in range(INSNS)]
    # An address in the displacement alone must be aligned as well.
    return [i.replace(disp=i.operand("disp") & -8) if i.has("disp") else i for i in insns]


def _machine(states: States, lane: int) -> Concrete:
    return Concrete(
        width=TABLE.width,
        byteorder=TABLE.byteorder,
        aligned=TABLE.aligned,
        constants=TABLE.constants,
        registers=dict(states.lanes[lane]),
        initial_byte=partial(states.byte, lane),
    )


def _concrete(insn: Insn, states: States, lane: int) -> Concrete:
    machine = _machine(states, lane)
    machine.execute(insn, ADDRESS)
    return machine


def _check_written(insn: Insn, states: States, runs: list[Concrete]) -> None:
    function = written(TABLE, insn)
    for lane, run in enumerate(runs):
        machine, goal = _machine(states, lane), insn.target(ADDRESS) or 0
        target = function.does(machine, machine.registers, goal, ADDRESS + insn.size)
        assert target == run.target, TABLE.text(insn)
        assert machine.registers == run.registers, TABLE.text(insn)
        assert machine.memory == run.memory, TABLE.text(insn)
        assert machine.events == run.events, TABLE.text(insn)
        assert not (function.quiet and (run.memory or run.events)), TABLE.text(insn)


def _check_batched(insn: Insn, states: States, runs: list[Concrete]) -> None:
    machine = Batched(
        lanes=LANES,
        memory=states.memory.copy(),
        base=states.base,
        width=TABLE.width,
        byteorder=TABLE.byteorder,
        aligned=TABLE.aligned,
        constants=TABLE.constants,
        registers=dict(states.registers),
    )
    machine.execute(insn, ADDRESS)
    after = np.stack([machine.registers[Reg(r)] for r in range(2 * FP)], axis=1).tolist()
    for lane, run in enumerate(runs):
        assert dict(enumerate(after[lane])) == run.registers, TABLE.text(insn)
        base = int(states.base[lane])
        for address, byte in run.memory.items():
            assert machine.memory[lane, (address - base) % (1 << 64)] == byte, TABLE.text(insn)
        target = None
        if machine.taken is not None and machine.taken[lane]:
            assert machine.target is not None
            target = int(machine.target[lane])
        assert target == run.target, TABLE.text(insn)
        events = [(name, *(int(v[lane]) for v in vs)) for name, *vs in machine.events]
        assert events == run.events, TABLE.text(insn)


def _check_symbolic(insn: Insn, states: States, runs: list[Concrete]) -> None:
    machine = Symbolic(Terms(64), TABLE.constants, "little", movable=False)
    machine.execute(insn, ADDRESS)
    for lane, run in enumerate(runs):
        evaluate = Evaluator(
            dict(zip(_NAMES, states.lanes[lane].values(), strict=True)),
            partial(states.cell, lane),
            opaque=lambda name, arguments: 1,  # only "lock held"
        )
        for register, term in machine.registers.items():
            assert evaluate(term) == run.registers[register], TABLE.text(insn)
        changed = {r for r, v in states.lanes[lane].items() if v != run.registers[r]}
        assert changed <= set(machine.registers), TABLE.text(insn)
        target = None
        if machine.control is not None and evaluate(machine.control[0]):
            target = evaluate(machine.control[1])
        assert target == run.target, TABLE.text(insn)
        if not insn.name.endswith("_c"):  # an event decides what a conditional store leaves
            after = evaluate(machine.memory)
            for address in run.memory:
                cell = after.read(address & -8)
                assert cell >> 8 * (address & 7) & 0xFF == run.memory[address], TABLE.text(insn)
        # The lock and arithmetic are events of their own to the symbolic reading.
        own = {"conditional store"} | ({insn.name} if TABLE.effects(insn.op).rounds else set())
        events = [
            (name, *map(evaluate, values)) for name, values, _ in machine.events if name not in own
        ]
        assert events == run.events, TABLE.text(insn)


@pytest.mark.parametrize("part", range(4))
def test_readings_agree(part: int) -> None:
    source, generator = random.Random(part), np.random.default_rng(part)
    for op in DEFINED[part::4]:
        for insn in _random_insns(op, source):
            states = States(insn, generator)
            runs = [_concrete(insn, states, lane) for lane in range(LANES)]
            _check_batched(insn, states, runs)
            _check_symbolic(insn, states, runs)
            _check_written(insn, states, runs)


def test_every_defined_row_has_a_symbolic_meaning() -> None:
    for op in TABLE:
        machine = Symbolic(Terms(64), TABLE.constants, "little")
        machine.execute(random_insn(op, random.Random(op.match)), ADDRESS)
        opaque = {
            term.data
            for value in machine.registers.values()
            for term in value.walk()
            if term.kind == "opaque"
        }
        assert op not in DEFINED or opaque <= {"lock held"}, op
