"""Accesses that may reach a device: which changes a kernel does not stand, in small pairs."""

from __future__ import annotations

import pytest

import targets
from rewriter.core.code.dataflow import Run, run
from rewriter.core.isa.instruction import Insn
from rewriter.core.terms.term import Terms
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.devices import accessed, same_devices
from rewriter.verify.walk.equivalence import Comparison, Different
from targets.alpha.assembler import assemble
from targets.alpha.isa.rows import TABLE

TARGET = targets.named("alpha")


def _run(terms: Terms, text: str) -> tuple[Run, list[Insn]]:
    code = assemble(text.replace(";", "\n")).code
    words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4)]
    insns = [insn for insn in map(TABLE.decode, words) if insn is not None]
    places = [4 * n for n in range(len(insns))]
    return run(TABLE, terms, insns, places, [len(insns) - 1]), insns


def _compare(old: str, new: str) -> None:
    terms = Terms(64)
    (before, insns), (after, others) = _run(terms, old), _run(terms, new)
    comparison = Comparison(Prover(64, 8), terms, TABLE.register_names)
    sides = (accessed(before, insns, TARGET, {}), accessed(after, others, TARGET, {}))
    same_devices(comparison, TARGET, *sides)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ldl t0,0(a0); addl t0,1,t0", "ldl t0,0(a0); addl t0,1,t0"),
        ("ldq_u t0,0(a0); extbl t0,a0,t0", "ldbu t0,0(a0)"),
        ("ldq_u t1,0(a0); mskbl t1,a0,t1; stq_u t1,0(a0)", "stb zero,0(a0)"),
        ("ldl t0,0(a0); ldq_u t1,8(a0); extbl t1,a0,t1", "ldl t0,0(a0); ldbu t1,8(a0)"),
        ("mov a0,t1; ldl t0,4(t1)", "ldl t0,4(a0)"),
        ("ldq_u t0,0(a0)", "unop"),
        ("ldl t0,8(sp); and t0,255,t0", "ldbu t0,8(sp)"),
        ("lda sp,-16(sp); mov sp,t1; ldl t0,8(t1)", "ldbu t0,-8(sp); lda sp,-16(sp)"),
        ("stq a1,8(sp); ldl t0,0(a0)", "ldl t0,0(a0); stq a1,8(sp)"),
    ],
)
def test_what_stays_or_is_of_memory_may_be(old: str, new: str) -> None:
    _compare(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ldl t0,0(a0); and t0,255,t0", "ldbu t0,0(a0)"),
        ("ldq t0,0(a0); and t0,255,t0", "ldbu t0,0(a0)"),
        ("ldl t0,0(a0); and t0,255,t0", "ldl t1,0(a0); ldbu t0,0(a0)"),
        ("ldl t0,0(a0)", "unop"),
        ("ldl t0,0(a0); ldl t1,0(a0)", "ldl t0,0(a0); mov t0,t1"),
        ("ldl t0,0(a0); ldl t1,8(a0)", "ldl t1,8(a0); ldl t0,0(a0)"),
        ("stl a1,0(a0); ldl t0,8(a0)", "ldl t0,8(a0); stl a1,0(a0)"),
        ("stl a1,0(a0)", "stb a1,0(a0)"),
        ("addq sp,a0,t1; ldl t0,8(t1)", "addq sp,a0,t1; ldbu t0,8(t1)"),
        ("ldq sp,0(a0); ldl t0,8(sp)", "ldq sp,0(a0); ldbu t0,8(sp)"),
        ("ldl t0,8(sp)", "ldl t0,8(a0)"),
        ("ldq_u t0,0(a0); extbl t0,a0,t0", "ldl t1,0(a0); ldbu t0,0(a1)"),
    ],
)
def test_width_order_and_number_may_not_change(old: str, new: str) -> None:
    with pytest.raises(Different):
        _compare(old, new)
