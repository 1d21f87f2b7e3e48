"""Whose cycles are whose in a kernel's system time, and how operations are parted by marks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks import operations, system_time
from benchmarks.system_time import REST, Calls, Taken, compared
from fixtures import trace
from fixtures.trace import ENTERED, INSIDE, LEFT, MARKED, Recording
from rewriter.core.readings.interpret import Step
from targets.alpha.assembler import assemble
from targets.alpha.isa.rows import TABLE

ENTRY, CAVE, CALLER = 0x1000, 0x8000, 0x2000


def step(text: str, address: int) -> Step:
    """An instruction that is executed at an address."""
    insn = TABLE.decode(int.from_bytes(assemble(text).code[:4], "little"))
    assert insn is not None
    return Step(address, insn, None, 0, False, None)


def test_a_routine_is_what_runs_until_it_returns() -> None:
    """In its place, in a cave, and in what it calls; not behind it, nor in another's middle."""
    calls = Calls({ENTRY: "memcpy", CAVE + 8: "strlen"})
    run = [
        (step("jsr ra,(pv)", CALLER), REST),
        (step("br zero,.", ENTRY), "memcpy"),
        (step("addq t0,t1,t2", CAVE), "memcpy"),
        (step("jsr ra,(pv)", CAVE + 4), "memcpy"),
        (step("addq t0,t1,t2", CAVE + 8), "memcpy"),
        (step("ret zero,(ra),1", CAVE + 12), "memcpy"),
        (step("addq t0,t1,t2", CALLER + 4), REST),
        (step("jsr ra,(pv)", CALLER + 8), REST),
        (step("ret zero,(ra),1", CAVE + 8), "strlen"),
        (step("addq t0,t1,t2", CALLER + 12), REST),
    ]
    assert [calls.owner(one) for one, _ in run] == [owner for _, owner in run]


def test_a_routine_that_is_jumped_to_returns_to_its_callers_caller() -> None:
    calls = Calls({ENTRY: "memcpy"})
    assert calls.owner(step("jsr ra,(pv)", CALLER)) == REST
    assert calls.owner(step("br zero,.", CAVE)) == REST  # not known, jumps to one that is
    assert calls.owner(step("ret zero,(ra),1", ENTRY)) == "memcpy"
    assert calls.owner(step("addq t0,t1,t2", CALLER + 4)) == REST


def test_calls_of_the_original_are_what_is_compared() -> None:
    """10 calls of 100 cycles become 10 of 40, whatever the other boot came to; the rest as it is:
    2,000 cycles become 1,300."""
    none = Counter[str]()
    old = Taken(Counter({"memcpy": 1000, REST: 1000}), none, Counter({"memcpy": 10}))
    new = Taken(Counter({"memcpy": 1600, REST: 900}), none, Counter({"memcpy": 40}))
    *_, told = compared({"x": old}, {"x": new})
    assert told == f"x: it falls by {0.35:.1%}, old/new - 1 = {2000 / 1300 - 1:.1%}"


def test_operations_are_what_is_between_marks() -> None:
    """Each time that one was done is another recording; the median counts."""
    rows = [(1, MARKED), (0, ENTERED), (0, INSIDE), (4, INSIDE), (9, LEFT), (0, MARKED)]
    rows += [(0, INSIDE)]  # not asked for
    for n in (1, 3, 8):
        rows += [(2, MARKED), *[(4 * i, INSIDE) for i in range(n)], (0, MARKED)]
    records = np.zeros(len(rows), dtype=trace._RECORD)
    records["place"], records["kind"] = zip(*rows, strict=True)
    console = "operation 1 null 1\noperation 2 fault 2\n"
    null, fault = operations._parted(Recording(0, records), console)
    assert (null.name, null.instructions) == ("null", 2)
    assert [one.executed for one in fault.recordings] == [1, 3, 8]
    assert fault.instructions == pytest.approx(1.5)


def test_what_is_kept_is_read_back() -> None:
    for machine, taken in system_time.kept().items():
        assert machine in system_time.MACHINES
        assert min(taken.cycles.values()) > 0
        assert taken.instructions[REST] > sum(taken.instructions.values()) / 2
