"""The readings of a PowerPC row agree: symbolic with concrete, concrete with batched, written."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
from support.depth import depth

from rewriter.analysis.reservations import LOCK, RELEASE
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.concrete import Concrete
from rewriter.core.readings.machine import ByteOrder, Machine
from rewriter.core.readings.unaligned import Unaligned
from rewriter.core.readings.written import written
from rewriter.core.terms.evaluate import Evaluator
from rewriter.core.terms.term import Terms
from targets.ppc.isa import table
from targets.ppc.isa.table import PpcTable
from targets.ppc.meanings.answers import answer
from tests.targets.ppc.ppc_cases import Run, insns
from tests.targets.ppc.test_ppc_meaning import branching, straight

_TABLES: tuple[tuple[int, ByteOrder], ...] = ((32, "big"), (64, "big"), (64, "little"))
ADDRESS, BASE = 0x10010000, 0x20000000  # of the instruction; of the memory of the first lane
INSNS, LANES = depth(1, 6), depth(4, 12)  # for each row: encodings, and states for each


class Answering(Concrete):
    """The concrete reading, with numbers for what is opaque."""

    def opaque(self, name: str, *values: int) -> int:
        return _answer(name, values)


def _answer(name: str, values: tuple[object, ...]) -> int:
    if name == "lock held":
        return 1
    found = answer(name, *values)  # type: ignore[arg-type]
    assert found is not None, name
    return found


def _state(run: Run, lane: int) -> dict[Reg, int]:
    """The registers of a lane before the instruction."""
    state = {Reg(n): 0 for n in range(len(run.table.register_names))}
    state.update({register: int(values[lane]) for register, values in run.before.items()})
    return state | {Reg(n): value for n, value in run.table.constants.items()}


def _byte(run: Run, lane: int, address: int) -> int:
    """The byte at an address before the instruction; what is beyond the record is 0."""
    place = address - int(run.base[lane])
    return int(run.memory[lane, place]) if 0 <= place < run.memory.shape[1] else 0


def _execute(run: Run, machine: Machine) -> None:
    at = run.address
    for insn in run.insns:
        machine.execute(insn, at)
        at += insn.size


def _machine(run: Run, lane: int) -> Concrete:
    return Answering(
        width=run.table.width,
        byteorder=run.table.byteorder,
        aligned=False,
        constants=run.table.constants,
        registers=_state(run, lane),
        initial_byte=partial(_byte, run, lane),
    )


def _concrete(run: Run, lane: int) -> Concrete:
    machine = _machine(run, lane)
    _execute(run, machine)
    return machine


def _check_written(run: Run, runs: list[Concrete]) -> None:
    for lane, one in enumerate(runs):
        machine, at = _machine(run, lane), run.address
        for insn in run.insns:
            goal = machine.const(insn.target(at) or 0)
            at += insn.size
            found = written(run.table, insn).does(machine, machine.registers, goal, at)
            machine.target = machine.target if found is None else found
        assert machine.target == one.target, run.insn
        assert machine.registers == one.registers, run.insn
        assert machine.memory == one.memory, run.insn
        assert machine.events == one.events, run.insn


def _check_batched(run: Run, runs: list[Concrete]) -> None:
    machine = run.expected()
    for lane, one in enumerate(runs):
        for register, value in one.registers.items():
            assert int(machine.get(register)[lane]) == value, (run.insn, register)
        for address, byte in one.memory.items():
            assert machine.memory[lane, address - int(run.base[lane])] == byte, run.insn
        if one.target is not None:
            assert machine.taken is not None and machine.target is not None
            assert machine.taken[lane] and int(machine.target[lane]) == one.target


def _check_symbolic(run: Run, runs: list[Concrete]) -> None:
    terms = Terms(run.table.width)
    machine = Unaligned(terms, run.table.constants, run.table.byteorder, movable=False)
    _execute(run, machine)
    for lane, one in enumerate(runs):
        state = _state(run, lane)
        evaluate = Evaluator(
            {f"r{register:d}": value for register, value in state.items()},
            partial(_byte, run, lane),
            opaque=lambda name, values: _answer(name, tuple(values)),
        )
        for register, term in machine.registers.items():
            assert evaluate(term) == one.registers[register], (run.insn, register)
        changed = {register for register, value in state.items() if value != one.get(register)}
        assert changed <= set(machine.registers), run.insn
        target = None
        if machine.control is not None and evaluate(machine.control[0]):
            target = evaluate(machine.control[1])
        assert target == one.target, run.insn
        if not run.insn.name.endswith("cx."):  # an event decides what it leaves
            after = evaluate(machine.memory)
            for address, byte in one.memory.items():
                assert after.read(address) == byte, run.insn


def _runs(known: PpcTable, part: int) -> list[Run]:
    source, found = random.Random(part), list[Run]()
    for op in [*straight(known), *branching(known)][part::4]:
        found += [
            Run(known, insn, LANES, n) for n, insn in enumerate(insns(known, op, INSNS, source))
        ]
    return found


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("key", _TABLES, ids=str)
def test_readings_agree(key: tuple[int, ByteOrder], part: int) -> None:
    known = table(*key)
    for run in _runs(known, part):
        run.body(ADDRESS)
        places = BASE + 0x1000 * np.arange(LANES)
        run.base = places.astype(f"u{known.width // 8}")
        run.aim()
        ones = [_concrete(run, lane) for lane in range(LANES)]
        _check_batched(run, ones)
        _check_symbolic(run, ones)
        _check_written(run, ones)


@pytest.mark.parametrize("unit", ["b", "h", "w", "d", "q"])
def test_reservations_are_seen(unit: str) -> None:
    """What nothing may change between: of every width, those of two registers too."""
    rows = table(64, "big")
    assert LOCK in rows.effects(rows.find(f"l{unit}arx")).events
    assert RELEASE in rows.effects(rows.find(f"st{unit}cx.")).events
