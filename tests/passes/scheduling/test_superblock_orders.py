"""Superblocks in another order, of PowerPC and of Alpha: drawn ones run on numbers, real ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import targets
from fixtures import inputs
from passes.scheduling import dependence
from passes.scheduling.dependence import accesses, bonding
from passes.scheduling.shown import Shown, changed
from passes.scheduling.superblocks import Choice, Order, Problem, faster
from rewriter.cli import main
from rewriter.core.code.dataflow import registers_of
from rewriter.core.code.superblock import Superblock, straight
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Interpreter, Memory
from rewriter.core.run.guard import strict
from rewriter.core.target.ident import Ident
from rewriter.core.target.protocol import Sequential
from rewriter.elf import manifest
from rewriter.elf.image import load
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.timing.engines import engine_of
from rewriter.timing.steady import Steady
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Different
from targets.alpha import assembler as alpha
from targets.machines import ALPHA, EM_PPC, EM_PPC64
from targets.ppc.asm.assembler import assemble
from tests.verification.tables.test_ppc_rows import assembled

CODE, DATA, OUT, PAGE = 0x10000, 0x20000, 0x14000, 0x1000
CPUS = {
    "750": Ident(EM_PPC, 32, "big", 0),
    "7450": Ident(EM_PPC, 32, "big", 0),
    "970": Ident(EM_PPC64, 64, "big", 1),
    "power9": Ident(EM_PPC64, 64, "little", 2),
    "ev4": ALPHA,
    "ev5": ALPHA,
}
NUMBERS, POINTERS = (3, 4, 5, 6, 7), (16, 17, 18)
FIELDS = (32, 33, 40)  # two fields of the condition register, and the carry
BRANCHES = ("bc", "beq", "blt")


@cache
def target(cpu: str) -> Sequential:
    found = targets.of_ident(CPUS[cpu]).sequential
    assert found is not None
    return found


@cache
def model(cpu: str) -> Steady:
    return engine_of(target(cpu).cpus[cpu]).steady(target(cpu).table)


@cache
def shown(cpu: str) -> Shown:
    return Shown(target(cpu), Prover.of(target(cpu)))


@cache
def decoded(cpu: str, line: str, at: int) -> Insn:
    ident, symbols = CPUS[cpu], {"OUT": OUT}
    if ident is ALPHA:
        code = alpha.assemble(line.replace("OUT", f"{OUT:#x}"), at)
    else:
        order = ident.byteorder
        code = assemble(line, width=ident.bits, byteorder=order, base=at, symbols=symbols)
    insn = target(cpu).table.decode(int.from_bytes(code.code, ident.byteorder))
    assert insn is not None
    return insn


@dataclass(frozen=True)
class Tied:
    """Slots that keep their places, and those before which nothing passes."""

    kept: frozenset[int] = frozenset()
    cuts: frozenset[int] = frozenset()


def problem(
    cpu: str,
    lines: Sequence[str],
    live: int = -1,
    exits: int = -1,
    start: int = CODE,
    features: frozenset[str] = frozenset(),
) -> Problem:
    """Code as a superblock: at its end `live` may be read, and `exits` where a branch is taken."""
    insns = [decoded(cpu, line, start + 4 * n) for n, line in enumerate(lines)]
    ways = [(n, exits) for n, insn in enumerate(insns[:-1]) if insn.name in BRANCHES]
    block = straight(start, insns, [*ways, (len(insns) - 1, live)])
    every = [*map(bonding(target(cpu)), insns)]
    tied = dependence.straight(every, accesses(every), target(cpu).table.cell, False)
    return Problem(block, tied, Tied(), model(cpu), features)


@st.composite
def line_of_alpha(draw: st.DrawFn) -> str:
    """Arithmetic, a conditional move, a step of a pointer, an access, a branch out."""
    one, two, three = (draw(st.sampled_from(NUMBERS)) for _ in range(3))
    base, place = draw(st.sampled_from(POINTERS)), 8 * draw(st.integers(-1, 1))
    kinds = (
        f"addq ${one},${two},${three}", f"subl ${one},${two},${three}",
        f"cmovne ${one},${two},${three}", f"mulq ${one},${two},${three}",
        f"extbl ${one},${two},${three}", f"cmplt ${one},${two},${three}",
        f"ldq ${one},{place}(${base})", f"stq ${one},{place}(${base})",
        f"ldl ${one},{place + 4}(${base})", f"stl ${one},{place + 4}(${base})",
        f"lda ${base},{place}(${base})", f"beq ${one},OUT", f"blt ${one},OUT", "unop",
    )  # fmt: skip
    return draw(st.sampled_from(kinds))


@st.composite
def line(draw: st.DrawFn) -> str:
    """Arithmetic, also with carries and record bits; a compare, an access, a branch out."""
    one, two, three = (draw(st.sampled_from(NUMBERS)) for _ in range(3))
    base, field = draw(st.sampled_from(POINTERS)), draw(st.integers(0, 1))
    place = draw(st.sampled_from((-8, -4, -2, 0, 2, 4, 8)))
    kinds = (
        f"add r{one},r{two},r{three}", f"subf r{one},r{two},r{three}",
        f"and. r{one},r{two},r{three}",
        f"addic r{one},r{two},{place}", f"adde r{one},r{two},r{three}",
        f"rlwimi r{one},r{two},8,0,15", f"cmpwi cr{field},r{one},{place}",
        f"lwz r{one},{place}(r{base})", f"stw r{one},{place}(r{base})",
        f"lhz r{one},{place}(r{base})", f"stb r{one},{place}(r{base})",
        f"lwzu r{one},{place}(r{base})", f"stwu r{one},{place}(r{base})",
        f"addi r{base},r{base},{place}", f"beq cr{field},OUT", f"blt cr{field},OUT", "nop",
    )  # fmt: skip
    return draw(st.sampled_from(kinds))


@st.composite
def problems(draw: st.DrawFn) -> tuple[str, Problem]:
    cpu = draw(st.sampled_from(sorted(CPUS)))
    is_alpha = CPUS[cpu] is ALPHA
    kinds = line_of_alpha() if is_alpha else line()
    lines = draw(st.lists(kinds, min_size=3, max_size=16))
    known = (*NUMBERS, *POINTERS, *(() if is_alpha else FIELDS))
    numbers = st.lists(st.sampled_from(known), max_size=6)
    live, exits = (sum(1 << n for n in set(draw(numbers))) for _ in range(2))
    return cpu, problem(cpu, [*lines, "unop" if is_alpha else "nop"], live, exits)


@dataclass(frozen=True)
class End:
    """Where control left a run on numbers, and what was to be seen there."""

    left: int
    registers: dict[int, int]
    memory: bytes


def run(cpu: str, block: Superblock, insns: Sequence[Insn], seed: int) -> End:
    """Runs code from a random state with pointers that may meet."""
    draw, ident = random.Random(seed), CPUS[cpu]
    memory = Memory()
    code = b"".join(map(target(cpu).encode, insns))
    memory.map(CODE, code, write=False)
    memory.map(DATA, draw.randbytes(PAGE))
    registers = {n: draw.choice((0, 1, draw.getrandbits(ident.bits))) for n in NUMBERS}
    is_alpha = ident is ALPHA
    step = 8 if is_alpha else 4
    registers |= {n: DATA + PAGE // 2 + step * draw.randrange(-3, 4) for n in POINTERS}
    if not is_alpha:
        registers |= {n: draw.randrange(2) << draw.randrange(4) for n in FIELDS[:2]}
        registers |= {40: draw.randrange(2), 42: 0}
    machine = Interpreter(target(cpu).table, memory, registers)
    left, live = len(insns) - 1, block.live
    for step in machine.steps(CODE, CODE + len(code)):
        if step.target == OUT:
            left = (step.address - CODE) // 4
            live = dict(block.leaving)[left]
            break
    kept = {n: machine.registers.get(n, 0) for n in registers_of(live & ((1 << 64) - 1))}
    return End(left, kept, memory.read(DATA, PAGE))


def orders(one: Problem) -> Iterator[Order]:
    """All that the scheduler tries, and what it finds."""
    yield from Choice(one).orders()
    found = faster(one)
    if found is not None:
        yield found.order


@given(problems(), st.integers(0, 1 << 32))
@settings(max_examples=60)
def test_every_order_does_the_same(drawn: tuple[str, Problem], seed: int) -> None:
    """On numbers and by both proofs; what leaves the code stays where it is."""
    cpu, one = drawn
    before = run(cpu, one.block, one.insns, seed)
    for order in orders(one):
        assert sorted(order) == list(range(len(one.insns)))
        assert all(order[n] == n for n in Choice(one).fixed)
        insns = [one.insns[n] for n in order]
        assert run(cpu, one.block, insns, seed) == before
        new = straight(CODE, insns, one.block.leaving)
        shown(cpu).evidence(one.block, new)


@given(problems())
@settings(max_examples=40)
def test_what_is_found_is_faster(drawn: tuple[str, Problem]) -> None:
    _, one = drawn
    found = faster(one)
    if found is None:
        return
    old, new = one.times(range(len(one.insns))), one.times(found.order)
    assert (max(i for i, _ in old), max(i for i, _ in new)) == (found.before, found.after)
    assert found.after < found.before
    assert max(end for _, end in new) <= max(end for _, end in old)
    assert all(new[n][0] <= old[n][0] for n in Choice(one).ways)
    assert faster(one.ordered(found.order)) is None


def reordered(lines: Sequence[str], order: Order, live: int) -> tuple[Superblock, Superblock]:
    """Code for a 750 whose results of a mask may be read, and the same in another order."""
    one = problem("750", lines, live)
    return one.block, straight(CODE, [one.insns[n] for n in order], one.block.leaving)


def test_what_changed_places_is_compared_by_all_that_it_leaves() -> None:
    """Only what is read behind it tells the two apart, and at the end of all nothing does."""
    lines = ("mr r8,r9", "li r4,1", "li r4,2", "add r5,r4,r4", "mr r9,r5")
    for order, stands in (((0, 2, 1, 3, 4), False), ((0, 1, 2, 3, 4), True)):
        old, new = reordered(lines, order, 1 << 9)
        if stands:
            shown("750").evidence(old, new)
        else:
            with pytest.raises(Different):
                shown("750").evidence(old, new)


def test_what_stands_before_it_may_show_that_accesses_are_apart() -> None:
    lines = ("addi r9,r3,8", "stw r5,0(r3)", "lwz r6,0(r9)", "nop")
    old, new = reordered(lines, (0, 2, 1, 3), -1)
    with pytest.raises(Different):
        shown("750").for_any_meaning(*changed(old, new))
    shown("750").evidence(old, new)
    with pytest.raises(Different):  # where it does not
        shown("750").evidence(*reordered(("mr r9,r4", *lines[1:]), (0, 2, 1, 3), -1))


def test_what_changed_places_ends_behind_a_branch_that_was_passed() -> None:
    lines = ("nop", "li r4,1", "beq cr0,OUT", "li r6,1", "nop")
    old, new = reordered(lines, (0, 2, 1, 3, 4), -1)
    with pytest.raises(Different):  # it may be read where the branch leads
        shown("750").evidence(old, new)
    before, after = changed(old, new)
    assert [len(one.leaving) for one in (before, after)] == [2, 2]
    assert [insn.name for insn in before.insns] == ["addi", "bc", "addi"]


@given(problems())
@settings(max_examples=100)
def test_what_is_passed_over_has_one_order(drawn: tuple[str, Problem]) -> None:
    """Code whose instructions wait for one another is not looked at: there is nothing to find."""
    _, one = drawn
    if one.straight.is_chain:
        same = tuple(range(len(one.insns)))
        assert Choice(one).is_one and {*Choice(one).orders()} == {same}


def test_what_is_passed_over_is_a_chain_to_its_end() -> None:
    lines = ("addi r3,r3,1", "addi r3,r3,1", "cmpwi cr0,r3,0", "nop")
    assert problem("750", lines).straight.is_chain
    assert not problem("750", (*lines[:-1], "li r4,1", "nop")).straight.is_chain
    assert not problem("750", ("li r4,1", *lines)).straight.is_chain


MANUALS = {
    "750: two go at a time, and one that waits for a carry keeps the next from going": (
        "750", ("subfc r3,r6,r9", "subfe r5,r4,r8", "addi r10,r10,-1", "mr r9,r3", "b OUT"),
        (0, 2, 1)
    ),
    "7450: what a branch waits for goes first, where a fetch ends between the two": (
        "7450", ("li r10,0", "cmpwi cr0,r3,0", "beq cr0,OUT"), (1, 0, 2)
    ),
    "21164: a load's result comes two cycles later, so others go before what reads it": (
        "ev5",
        ("ldq $3,0($16)", "addq $3,$4,$5", "ldq $6,8($16)", "addq $6,$4,$7", "unop"),
        (0, 2),
    ),
    "970: of five that would begin two groups the longest chain goes first": (
        "970",
        ("li r10,0", "mr r4,r7", "mr r5,r6", "li r11,1", "ld r3,0(r9)", "cmpwi cr0,r3,0",
         "beq cr0,OUT"),
        (4,),
    ),
}  # fmt: skip
"""User's manuals of the 750 (6.4.1) and 7450 (6.4.1), of the 970 (dispatch groups of
four), and of the 21164 (2.2, latencies)."""


@pytest.mark.parametrize("case", MANUALS)
def test_what_manuals_say(case: str) -> None:
    cpu, lines, begins = MANUALS[case]
    start = CODE + (28 if "fetch ends" in case else 0)
    found = faster(problem(cpu, lines, start=start))
    assert found is not None
    assert found.order[: len(begins)] == begins


def test_a_branch_is_passed_where_nothing_reads_the_result() -> None:
    """A product is begun before the branch and a constant made behind it, where both may be."""
    lines = ("li r8,1", "addi r5,r5,1", "cmpwi cr0,r6,0", "beq cr0,OUT", "mullw r4,r5,r6",
             "add r7,r4,r5", "nop")  # fmt: skip
    for exits, passes in ((1 << 6, True), (1 << 4, False), (1 << 8, False)):
        one = problem("7450", lines, exits=exits)
        assert any(order.index(4) < 3 for order in Choice(one).orders()) == passes


def test_what_only_some_cpus_have_stays_behind_a_branch() -> None:
    """The branch may be there to leave it out where the CPU lacks it."""
    lines = ("li r8,1", "addi r5,r5,1", "cmpwi cr0,r6,0", "beq cr0,OUT", "vmuleub v4,v5,v6",
             "vaddubm v7,v4,v5", "nop")  # fmt: skip
    for features in (frozenset({"ALTIVEC"}), frozenset[str]()):
        one = problem("7450", lines, exits=1 << 6, features=features)
        assert any(order.index(4) < 3 for order in Choice(one).orders()) == bool(features)


# Real files --------------------------------------------------------------------------------


def test_orders_of_a_real_library_are_verified_and_wrong_ones_are_not(tmp_path: Path) -> None:
    """Two neighbours that depend on one another change places, in each function that has such."""
    source, out, wrong = inputs.require("ppc-libnss_compat"), tmp_path / "new", tmp_path / "wrong"
    call = CliRunner().invoke
    arguments = ["--cpu", "750", "--passes", "schedule"]
    done = call(main, ["patch", str(source), "-o", str(out), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    record = manifest.read(out.read_bytes(), out.name)
    assert record is not None
    found = [edit for edit in record.edits if edit.kind == "straight code"]
    assert len(found) > 30
    assert all(sorted(edit.old.split("; ")) == sorted(edit.new.split("; ")) for edit in found)
    data, spoilt = bytearray(out.read_bytes()), set[str]()
    file, table = load(source), target("750").table
    for edit in found:
        first, code = file.offset_of(edit.address), edit.new.split("; ")
        insns = [
            table.decode(int.from_bytes(data[at : at + 4], "big"))
            for at in range(first, first + 4 * len(code), 4)
        ]
        for n, (one, two) in enumerate(pairwise(insns)):
            assert one is not None and two is not None
            if table.defs(one) & table.uses(two) and two.name not in ("bc", "b", "addi"):
                at = first + 4 * n
                data[at : at + 8] = data[at + 4 : at + 8] + data[at : at + 4]
                spoilt.add(edit.routine)
                break
    assert len(spoilt) > 9
    wrong.write_bytes(data)
    refused = call(main, ["verify", "-v", str(source), str(wrong)])
    assert refused.exit_code == 1
    assert not [name for name in spoilt if f"{name} at " not in refused.output]


INTO_DATA = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    lwz 5, 0(3)
    addi 7, 5, 1
    lwz 6, 4(3)
    addi 8, 6, 1
    stw 7, 0(3)
    stw 8, 4(3)
    .long 0, 0x1000000, 0x180
    .cfi_endproc
    .size f, .-f
"""


def test_code_that_goes_on_into_data_stays(tmp_path: Path) -> None:
    """A table for debuggers behind what never comes there, in jemalloc for PowerPC: no CPU says how
    long data takes."""
    program = assembled(INTO_DATA, tmp_path, "powerpc64le")
    target = program.target
    with strict():
        made = tune(
            program.image, target, target.cpus["power9"], Options(("schedule",)), lambda *_: None
        )
    assert not made.edits
