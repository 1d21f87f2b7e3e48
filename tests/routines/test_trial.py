"""What a trial must see: one planted fault each, found, and shown by a small case."""

from __future__ import annotations

import re
from functools import cache

import pytest

from rewriter.contracts import CONTRACTS
from rewriter.core.edit import Evidence
from rewriter.verify.trials.engines.sweep import Code, Sweep
from rewriter.verify.trials.records import Chunk, chunks
from rewriter.verify.trials.trial import Counterexample, step, sweep
from targets.alpha.assembler import assemble
from targets.alpha.trial_program import AlphaTrials

BASE = 0x180000000
MEMCPY = """
        mov     a0,v0
        {first}
        br      test
loop:   ldbu    t0,0(a1)
        lda     a1,1(a1)
        stb     t0,0(a0)
        lda     a0,1(a0)
        lda     a2,-1(a2)
test:   bne     a2,loop
        {last}
        ret
"""


def _code(text: str) -> Code:
    return Code("planted", ((BASE, assemble(text, BASE).code),), BASE)


def _memcpy(first: str = "", last: str = "") -> Code:
    return _code(MEMCPY.format(first=first, last=last))


@cache
def _prepared(alpha: AlphaTrials) -> list[Chunk]:
    """The cases of memcpy, short ones: what is planted shows there."""
    contract, program = CONTRACTS["memcpy"], alpha.program("standard")
    points = [point for point in contract.points() if point[1]["count"] < 150]
    return list(chunks(contract, points, program.arena, program.capacity, program.byteorder))


def _swept(
    code: Code, alpha: AlphaTrials, microseconds: int = 2_000_000
) -> Evidence | Counterexample:
    with Sweep(alpha.program("standard")) as engine:
        return sweep(code, CONTRACTS["memcpy"], _prepared(alpha), engine, microseconds)


def test_a_plain_loop_passes(alpha: AlphaTrials) -> None:
    assert isinstance(_swept(_memcpy(), alpha), Evidence)
    assert isinstance(step(_memcpy(), CONTRACTS["memcpy"], alpha), Evidence)


@pytest.mark.parametrize(
    ("first", "last", "problem"),
    [
        ("lda v0,1(a0)", "", "the result is"),
        ("", "lda s3,1(s3)", "preserved registers"),
        ("", "lda sp,-16(sp)", "preserved registers"),
        ("", "clr gp", "preserved registers"),
        ("", "stb zero,0(a0)", "memory|SIGSEGV|store to"),
        ("", "stb zero,-1(v0)", "memory|SIGSEGV|store to"),
        ("", "lda t1,-300(a2)\n beq t1,.+8\n nop", ""),
    ],
)
def test_both_engines_see(first: str, last: str, problem: str, alpha: AlphaTrials) -> None:
    code, contract = _memcpy(first, last), CONTRACTS["memcpy"]
    for found in (_swept(code, alpha), step(code, contract, alpha)):
        if problem:
            assert isinstance(found, Counterexample)
            assert re.search(problem, found.problem), found.problem
            assert found.point["count"] <= 1
        else:
            assert isinstance(found, Evidence), str(found)


def test_the_sweep_finds_the_smallest_case_of_a_rare_fault(alpha: AlphaTrials) -> None:
    """Wrong from 37 bytes on, source at 3 and destination at 5 modulo 8."""
    text = """
        and a0,7,t1
        and a1,7,t2
        cmpeq t1,5,t1
        cmpeq t2,3,t2
        and t1,t2,t1
        cmpule a2,36,t2
        bic t1,t2,t1
        addq a2,t1,t1
        subq t1,a2,a3
    """
    found = _swept(_memcpy(text, "addq v0,a3,v0"), alpha)
    assert isinstance(found, Counterexample)
    assert (found.point["count"], found.point["to"], found.point["source"]) == (37, 5, 3)
    assert str(found).startswith("planted is no memcpy: the result is")


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        ("br .", "it runs too long"),
        ("ldq t0,0(zero)", "it dies of SIGSEGV"),
        ("call_pal 0", "it dies of SIGILL"),
    ],
)
def test_the_sweep_outlives_the_routine(last: str, problem: str, alpha: AlphaTrials) -> None:
    """Only for a count of 7, so that the case must be told from the others."""
    code = _memcpy("mov a2,a3", f"cmpeq a3,7,a3\n beq a3,out\n {last}\n out: nop")
    found = _swept(code, alpha, 300_000)
    assert isinstance(found, Counterexample)
    assert (found.problem, found.point["count"]) == (problem, 7)


@pytest.mark.parametrize(
    ("contract", "text", "problem"),
    [
        # An emulator loads and stores anywhere, reads what is mapped, and keeps lines.
        ("memcpy", "mov a0,v0\n ldq t0,0(a1)\n ret", "8-byte access at"),
        ("strlen", "l: ldq t0,8(a0)\n lda a0,8(a0)\n br l", "8-byte read of|8-byte access at"),
        ("memcpy", "ldq_u t0,0(a0)\n stq_u t0,0(a0)\n ret", "read of|store to"),
        ("bzero", "wh64 (a0)\n ret", "memory at"),
        ("bzero", "l: br l", "still running"),
        ("bzero", ".long 0x04000000", "is no instruction"),
    ],
)
def test_the_stepper_sees(contract: str, text: str, problem: str, alpha: AlphaTrials) -> None:
    found = step(_code(text), CONTRACTS[contract], alpha)
    assert isinstance(found, Counterexample)
    assert re.search(problem, found.problem), found.problem


CLEAR_USER = """
        addq    a0,a1,v0
        br      test
loop:
store:  stb     zero,0(a0)
        lda     a0,1(a0)
        lda     a1,-1(a1)
test:   bne     a1,loop
resume: subq    v0,a0,v0
        {more}
        ret
"""


@pytest.mark.parametrize(
    ("more", "good"), [("", True), ("addq v0,1,v0", False), ("cmpult zero,v0,v0", False)]
)
def test_a_user_copy_must_tell_what_is_left(more: str, good: bool, alpha: AlphaTrials) -> None:
    made = assemble(CLEAR_USER.format(more=more), BASE)
    resumes = ((made.labels["store"], made.labels["resume"]),)
    code = Code("planted", ((BASE, made.code),), BASE, resumes=resumes)
    found = step(code, CONTRACTS["__clear_user"], alpha)
    assert isinstance(found, Evidence if good else Counterexample), str(found)


def test_a_fault_that_no_one_answers_is_shown(alpha: AlphaTrials) -> None:
    code = _code(CLEAR_USER.format(more=""))
    found = step(code, CONTRACTS["__clear_user"], alpha)
    assert isinstance(found, Counterexample) and "1-byte store to" in found.problem
