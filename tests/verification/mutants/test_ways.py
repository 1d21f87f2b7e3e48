"""What holds on every way to a block: which cell was loaded, and how long a value is.

The block replaces one byte of the cell; the new code stores the byte, and the ways stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import analyse
from rewriter.core.code.dataflow import Facts
from rewriter.core.isa.registers import Reg
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.verify.check import verify
from tests.support.depth import DEEP
from tests.support.mutants.random_runs import Code, Start, World, literals_of
from tests.support.sample_code import Room, sample_room
from tests.verification.tables.test_rows import analysed

ALPHA = targets.named("alpha")
WAYS = "beq a0,other; {0}; br zero,join; other: {1}; join: {2}; ret"
ONE, OTHER = "and a1,255,t0; ldq_u t1,3(a2)", "ldbu t0,0(a3); ldq_u t1,3(a2)"
MERGED = "lda t3,3(a2); mskbl t1,t3,t1; insql t0,t3,t2; bis t1,t2,t1; stq_u t1,3(a2)"
STORED = "unop; unop; unop; unop; stb t0,3(a2)"


@pytest.fixture(scope="module")
def room() -> Room:
    """A function of the sample with room for code of our own."""
    return sample_room()


def _findings(room: Room, one: str, new: str = STORED, other: str = OTHER) -> str:
    """What verify says of the new block behind these two ways."""
    return _changed(room, *(WAYS.format(one, other, end) for end in (MERGED, new)))


def _changed(room: Room, old: str, new: str) -> str:
    """What verify says of new code."""
    program = analyse(room.holding(ALPHA, old), ALPHA)
    assert not program.not_understood(room.place)
    changed = room.holding(ALPHA, new)
    verdict = verify(program, changed, lambda stage, done, total: None, cpu=ALPHA.cpus["ev67"])
    return "; ".join(verdict.findings)


@pytest.mark.parametrize(
    "one",
    [
        ONE,
        "ldq_u t1,3(a2); and a1,255,t0",
        "and a1,127,t0; ldq_u t1,3(a2)",
        "stq a1,0(a3); and a1,255,t0; ldq_u t1,3(a2)",
        "and a1,255,t4; mov t4,t0; mov a2,t5; ldq_u t1,3(t5)",
        "and a1,255,t0; lda t1,3(a2); ldq_u t1,0(t1)",
        "and a1,255,t0; mov a3,a2; ldq_u t1,3(a3)",
    ],
)
def test_a_byte_of_a_cell_that_every_way_loads(room: Room, one: str) -> None:
    assert not _findings(room, one)


@pytest.mark.parametrize(
    "one",
    [
        "and a1,255,t0; ldq_u t1,11(a2)",
        "and a1,255,t0; ldq_u t1,4(a2)",
        "and a1,255,t0; ldq t1,0(a3)",
        "mov a1,t0; ldq_u t1,3(a2)",
        "zapnot a1,3,t0; ldq_u t1,3(a2)",
        f"{ONE}; addq t0,1,t0",
        f"{ONE}; addq t1,1,t1",
        f"{ONE}; stq a1,0(a3)",
        f"{ONE}; stb a1,0(a3)",
        f"{ONE}; stq_c a1,0(a3)",
        f"{ONE}; ldq_l a1,0(a3)",
        f"{ONE}; wh64 (a3)",
        f"{ONE}; stt $f1,0(a3)",
        f"{ONE}; mb",
        f"{ONE}; call_pal 0x83",
        f"{ONE}; lda a2,8(a2)",
        f"{ONE}; addq a2,a3,a2",
        "and a1,255,t0; lda t1,3(a2); addq t1,8,t1",
        "and a1,255,t0; ldq_u a2,3(a2); mov a2,t1",
    ],
)
def test_one_way_that_does_otherwise(room: Room, one: str) -> None:
    assert "memory: " in _findings(room, one)
    assert "memory: " in _findings(room, OTHER, other=one)


@pytest.mark.parametrize(("call", "found"), [("", ""), ("; jsr ra,(a4)", "memory: ")])
def test_a_call_may_store(room: Room, call: str, found: str) -> None:
    """In registers that outlive it."""
    one, other = f"and a1,255,s0; ldq_u s1,3(s2){call}", "ldbu s0,0(a3); ldq_u s1,3(s2)"
    merged = "lda t3,3(s2); mskbl s1,t3,t4; insql s0,t3,t2; bis t4,t2,t4; stq_u t4,3(s2)"
    stored = "unop; unop; unop; unop; stb s0,3(s2)"
    findings = _changed(room, *(WAYS.format(one, other, end) for end in (merged, stored)))
    assert found in findings and bool(found) == bool(findings)


@pytest.mark.parametrize("new", ["stb t0,4(a2)", "stb t1,3(a2)", "stw t0,3(a2)", "stq t1,3(a2)"])
def test_another_store(room: Room, new: str) -> None:
    assert "memory: " in _findings(room, ONE, f"unop; unop; unop; unop; {new}")


@pytest.mark.parametrize(("back", "found"), [("and a5,127,t4", ""), ("mov a5,t4", "memory: ")])
def test_a_way_back_on_which_a_value_may_be_longer(room: Room, back: str, found: str) -> None:
    """Two registers are four apart on each way; whether one is a byte, another thing."""
    ways = (
        "and a1,255,t4; lda t0,-4(t4); again: mov a4,t0; bne a0,on; bne a4,on; ret; on: {0}; {1}; "
        "lda t0,-4(t4); subq a3,1,a3; bgt a3,again; ret"
    )
    merged = f"ldq_u t1,3(a2); {MERGED.replace('t0', 't4')}"
    stored = f"unop; {STORED.replace('t0', 't4')}"
    findings = _changed(room, *(ways.format(end, back) for end in (merged, stored)))
    assert found in findings and bool(found) == bool(findings)


def test_the_byte_is_stored(room: Room) -> None:
    image = room.holding(ALPHA, WAYS.format(ONE, OTHER, MERGED))
    options = Options(("bytes",), funcs=(room.place.name,))
    cpu = ALPHA.cpus["ev67"]
    done = tune(image, ALPHA, cpu, options, lambda *_: None)
    (edit,) = (edit for edit in done.edits if edit.kind == "byte store")
    assert edit.new.endswith("stb t0,3(a2)")
    assert not verify(
        analyse(image, ALPHA), replace(image, data=done.data), lambda *_: None, cpu=cpu
    ).findings


def test_what_is_known_holds_when_code_runs() -> None:
    """From each block of some functions, on numbers that fit what is known of registers there."""
    program = analysed(inputs.require("alpha-libc" if DEEP else "alpha-sample"))
    said = Counter[str]()
    for function in program.functions:
        facts, literals = program.facts(function), literals_of(program, function)
        code = Code(program, function, program.image.data)
        for start in (function.start, *facts):
            for seed in range(3 if facts else 0):
                world = World(Start(seed, literals), dict(ALPHA.table.constants))
                for register, fact in facts.get(start, {}).items():
                    world.set(Reg(register), world.known(fact))
                said += _said(code, start, world, facts)
    assert min(said[kind] for kind in ("cell", "narrow", "distance")) > 200, said


def _said(code: Code, start: int, world: World, facts: Mapping[int, Facts]) -> Counter[str]:
    """Runs from a block; how much was said of registers on the way, all of which held."""
    said = Counter[str]()

    def visit(address: int) -> None:
        for register, fact in facts.get(address, {}).items():
            assert world.get(Reg(register)) == world.known(fact), (hex(address), register, fact)
            said["cell" if fact.cell else "distance" if fact.bits is None else "narrow"] += 1

    code.run(start, world, visit)
    return said
