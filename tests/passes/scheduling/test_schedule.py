"""The scheduler on loops that nobody wrote, and on some that a manual decides."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from passes.scheduling.exact import exact
from passes.scheduling.list_scheduler import Order, Pass, orders
from rewriter.core.isa.instruction import Insn
from rewriter.timing import NotDescribed
from tests.passes import loops
from tests.passes.loops import ALPHA, DATA, PAGE, Run

CPUS = ("ev4", "ev5", "ev56", "ev6", "ev67")
MODELS = {name: loops.steady(name) for name in CPUS}
CASES = sorted((Path(__file__).parents[3] / "fixtures" / "passes" / "schedule").glob("*.loop"))

# Registers: a few that hold pointers, a few that hold anything.
POINTERS, NUMBERS = (16, 17, 18), (1, 2, 3, 4, 5)
TABLE = ALPHA.table
OPERATES = ("addq", "subq", "bis", "xor", "cmpult", "s8addq", "sll", "extbl", "mskbl", "cmovne")


@st.composite
def instructions(draw: st.DrawFn) -> Insn:
    """Arithmetic, a step of a pointer, an access of eight or four bytes; a nop, which stays."""
    kinds = ("operate", "literal", "step", "load", "store", "load", "store", "nop")
    kind = draw(st.sampled_from(kinds))
    number = st.sampled_from(NUMBERS)
    if kind in ("operate", "literal"):
        form = "operate literal" if kind == "literal" else "operate"
        right = draw(st.integers(0, 63) if kind == "literal" else number)
        name = draw(st.sampled_from(OPERATES))
        return Insn(TABLE.find(name, form), (draw(number), right, draw(number)))
    base = draw(st.sampled_from(POINTERS))
    if kind == "nop":
        return Insn(TABLE.find("ldq_u"), (31, 0, draw(st.sampled_from((30, base)))))
    if kind == "step":
        return Insn(TABLE.find("lda"), (base, 8 * draw(st.integers(-2, 2)), base))
    names = ("ldq", "ldl", "ldq_u") if kind == "load" else ("stq", "stl", "stq_u")
    name = draw(st.sampled_from(names))
    step = {"ldq": 8, "stq": 8, "ldl": 4, "stl": 4}.get(name, 1)  # the last two align themselves
    displacement = step * draw(st.integers(-24 // step, 24 // step))
    return Insn(TABLE.find(name), (draw(number), displacement, base))


@st.composite
def passes(draw: st.DrawFn) -> Pass:
    """A loop of one block."""
    body = draw(st.lists(instructions(), min_size=2, max_size=18))
    back = Insn(TABLE.find("bne"), (draw(st.sampled_from(NUMBERS)), -4 * (len(body) + 1)))
    return loops.of((*body, back))


def runs(one: Pass, order: Order, seed: int, pages: tuple[int, ...] = (0, 1, 2)) -> Run:
    """The pass without its branch in an order, from a random state with pointers that may meet."""
    draw = random.Random(seed)
    registers = {n: draw.getrandbits(64) for n in NUMBERS}
    near = draw.choice((8, 64, PAGE))
    middle = DATA + PAGE + PAGE // 2
    registers |= {n: middle + 8 * draw.randrange(-near // 8, near // 8 + 1) for n in POINTERS}
    insns = [one.insns[n] for n in order if one.insns[n].name != "bne"]
    return Run(insns, registers, draw.randbytes(PAGE), pages)


def found_orders(one: Pass, cpu: str) -> Iterator[Order]:
    """All that any of the schedulers proposes."""
    model = MODELS[cpu]
    depends, cycles = loops.depends(one, model), one.cycles(one.same, model)
    yield from orders(one, depends, model, cycles)
    solved = exact(one, depends, model, one.same, cycles) if one.runs else None
    if solved is not None and solved.order is not None:
        yield solved.order


@given(passes(), st.sampled_from(CPUS), st.integers(0, 1 << 32))
@settings(max_examples=80)
def test_every_order_does_the_same(one: Pass, cpu: str, seed: int) -> None:
    """Registers and memory, on numbers, from a random state."""
    before = runs(one, one.same, seed)
    for order in found_orders(one, cpu):
        after = runs(one, order, seed)
        assert after.registers == before.registers
        assert after.memory == before.memory


@given(passes(), st.sampled_from(CPUS), st.integers(0, 1 << 32))
@settings(max_examples=80)
def test_a_fault_finds_no_store_done_early(one: Pass, cpu: str, seed: int) -> None:
    """Where pages are missing, the new order stores at most what the old one did, in its order."""
    before = runs(one, one.same, seed, (1,))
    for order in found_orders(one, cpu):
        after = runs(one, order, seed, (1,))
        assert (after.fault is None) == (before.fault is None)
        assert after.stores == before.stores[: len(after.stores)]


STORES_APART = """stq t0,0(a0)
 stq t0,0(a0)
 addq t0,t0,t0
 addq t0,t0,t0
 ldl t2,4(a0)
 lda a1,0(a1)
 bne t2,loop"""
"""A load that cannot issue beside the second store is at a barred distance from the first then."""

UNEVEN = """addq t0,t0,t0
 addq t0,t0,t0
 lda a0,0(a0)
 ldq_u zero,0(sp)
 addq t0,t0,t0
 addq t0,t0,t0
 addq t0,t0,t0
 addq t1,t1,t0
 bne t0,loop"""
"""Eight passes of another order of it are issued in 23 cycles, of which each must take three."""


@given(passes(), st.sampled_from(CPUS))
@example(loops.loop(STORES_APART), "ev5")
@example(loops.loop(UNEVEN), "ev6")
@settings(max_examples=30)
def test_what_is_found_is_better_or_the_same(one: Pass, cpu: str) -> None:
    """best <= list <= original in modelled cycles, no order below the bound, and all is placed."""
    model, cycles = MODELS[cpu], one.cycles(one.same, MODELS[cpu])
    found = loops.scheduled(one, model)
    listed = min(
        one.cycles(o, model) for o in orders(one, loops.depends(one, model), model, cycles)
    )
    assert found.least <= found.cycles <= min(listed, cycles)
    assert sorted(found.order) == list(one.same)
    assert one.cycles(found.order, model) == found.cycles
    assert found == loops.scheduled(one, model)  # the same again
    again = one.reordered(found.order)
    assert loops.scheduled(again, model).order == again.same  # nothing is left to do


# Each dependence is needed -----------------------------------------------------------------

NEEDED = {
    "a value is read": "addq t0,t1,t2\n addq t2,t1,t3",
    "a register is read, then written": "addq t0,t1,t2\n subq t1,t2,t0",
    "a register is written twice": "addq t0,t1,t2\n subq t0,t1,t2",
    "a conditional move keeps the old value": "addq t0,t1,t2\n cmovne t0,t1,t2",
    "stores to one place": "stq t0,0(a0)\n stq t1,0(a0)",
    "stores that may meet": "stq t0,0(a0)\n stq t1,0(a1)",
    "a load after a store that it may meet": "stq t0,0(a0)\n ldq t1,0(a1)",
    "a load after a store to a part of its cell": "stl t0,0(a0)\n ldq t1,0(a0)",
    "a load of the other half of a stored cell": "stl t0,4(a0)\n ldq t1,0(a0)",
    "a store after a load that it may meet": "ldq t1,0(a1)\n stq t0,0(a0)",
    "a pointer's step": "stq t0,8(a0)\n lda a0,8(a0)\n ldq t1,0(a0)",
}
FREE = {
    "loads": "ldq t0,0(a0)\n ldq t1,0(a1)",
    "a load before a store to another cell": "stq t0,8(a0)\n ldq t1,0(a0)",
    "a load before a store, seen through a step": "stq t0,0(a0)\n lda a0,8(a0)\n ldq t1,0(a0)",
    "arithmetic": "addq t0,t0,t1\n addq t0,t0,t2",
    "a nop, which is written as a load, after a store": "stq t0,0(a0)\n unop",
    "a store after a nop": "unop\n stq t0,0(a0)",
    "a nop that names a register": "lda a0,8(a0)\n ldq_u zero,0(a0)",
}


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_a_dependence_is_needed(text: str) -> None:
    """The first and the last instruction may not change places, and some state shows why."""
    one = loops.loop(text)
    last = len(one.insns) - 1
    before = loops.depends(one, MODELS["ev5"]).before
    below, queue = set[int](), [last]
    while queue:
        queue += before[(at := queue.pop())] - below
        below |= before[at]
    assert 0 in below
    swapped = (last, *range(1, last), 0)
    results = [(runs(one, one.same, seed), runs(one, swapped, seed)) for seed in range(200)]
    assert any((a.registers, a.memory) != (b.registers, b.memory) for a, b in results)


@pytest.mark.parametrize("text", FREE.values(), ids=FREE)
def test_no_dependence_where_none_is(text: str) -> None:
    one = loops.loop(text)
    assert 0 not in loops.depends(one, MODELS["ev5"]).before[-1]


FIXED = (
    "addt/su $f1,$f2,$f3", "divt $f1,$f2,$f3", "addl/v t0,t1,t2", "lda sp,-16(sp)", "stq ra,0(sp)",
    "ldq s0,8(sp)", "mb", "trapb", "rpcc t0", "ldl_l t0,0(a0)", "stl_c t0,0(a0)", "ldl zero,0(a0)",
    "wh64 (a0)", "call_pal 131", "ldah gp,1(ra)", "lda gp,1(gp)",
)  # fmt: skip


@pytest.mark.parametrize("text", FIXED)
def test_some_instructions_stay(text: str) -> None:
    """What traps late, frames, barriers, hints, locks, gp: nothing passes them."""
    one = loops.loop(f"addq t0,t1,t2\n addq t1,t2,t3\n {text}\n addq t0,t0,t4\n addq t1,t1,t5")
    assert one.runs == ((0, 1), (3, 4))


@pytest.mark.parametrize("devices", (False, True))
@pytest.mark.parametrize("cpu", CPUS)
def test_a_nop_between_stores(cpu: str, devices: bool) -> None:
    """It keeps its place, and what may change places does so around it."""
    store = "ldq t0,0(a0)\n addq t0,t1,t1\n stq t1,0(a0)\n lda a0,8(a0)"
    one = loops.loop(f"{store}\n unop\n {store}\n unop\n unop\n {store}\n bne a1,loop")
    one = replace(one, devices=devices)
    nops = {n for n, insn in enumerate(one.insns) if ALPHA.is_nop(insn)}
    assert len(one.runs) == 1
    assert len(nops) == 3
    found = loops.scheduled(one, MODELS[cpu])
    assert sorted(found.order) == list(one.same)
    assert all(found.order[n] == n for n in nops)


# Cases -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    """A loop, what becomes of it, and its cycles a pass: `CPU: before after limit`."""
    head, before, after = path.read_text().split("\n---\n")
    cpu, cycles = head.splitlines()[0].split(": ")
    one, wanted = loops.loop(before), loops.loop(after)
    found = loops.scheduled(one, MODELS[cpu])
    assert [one.insns[n] for n in found.order] == list(wanted.insns)
    was = one.cycles(one.same, MODELS[cpu])
    assert f"{was} {found.cycles} {found.limit}" == cycles


def test_data_beside_a_loop() -> None:
    """An out-of-order chip slots it with the loop, and nothing says how; in order it is nothing."""
    code = loops.loop("ldq t0,0(a0)\n addq t0,t1,t1\n bne a0,loop")
    one = replace(code, text={loops.CODE + 12: Insn(TABLE.data, (0x1234,))})
    assert one.cycles(one.same, MODELS["ev5"]) == code.cycles(code.same, MODELS["ev5"])
    with pytest.raises(NotDescribed, match="data stands beside the code of a fetch block"):
        one.cycles(one.same, MODELS["ev67"])


def test_there_are_cases() -> None:
    assert len(CASES) >= 4


def test_places_ascend() -> None:
    """A pass is laid out as its addresses say, whatever order it has."""
    one = loops.loop("ldq t0,0(a0)\n addq t0,t1,t1\n unop\n lda a0,8(a0)\n bne t0,loop")
    assert one.runs == ((0, 1, 3),)
    found = loops.scheduled(one, MODELS["ev5"])
    assert found.order[2] == 2
    assert found.order[4] == 4
    assert all(a < b for a, b in pairwise(at for at, _, _ in one.placed(found.order)))
