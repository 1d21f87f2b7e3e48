"""Pointers to shared data that a callee leaves: which are made no more, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.elf.debug_identity import with_old_identity
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.verify.check import verify
from targets.alpha import Alpha
from targets.alpha.cpus import CPUS
from targets.alpha.image.pointers import UNOP
from targets.alpha.registers import GP
from tests.support.small_kernel import linked

ALPHA = Alpha()

CODE = """
        enter _start
        call {}
        ldq $0,word
        leave _start
        func leaf
        addq $16,1,$0
        ret $31,($26),1
        end leaf
        func makes
        ldgp $29,0($27)
        ldq $0,word
        ret $31,($26),1
        end makes
        enter makes_behind
        call asks
        leave makes_behind
        enter calls
        jsr $26,leaf
        leave calls
        func goes_on
        ldgp $29,0($27)
        lda $27,makes
        jmp $31,($27)
        end goes_on
        func waits
        ldgp $29,0($27)
3:      ldl_l $1,0($16)
        addl $1,1,$1
        stl_c $1,0($16)
        beq $1,2f
        ret $31,($26),1
        end waits
        func other
        lda $29,64($29)
        ret $31,($26),1
        end other
        enter asks
        ldq $27,vector
        ldq $27,0($27)
        jsr $26,($27)
        leave asks
        enter through
        jsr $26,asks
        leave through
        func one_way
        ldgp $29,0($27)
        beq $16,1f
        lda $29,64($29)
1:      ret $31,($26),1
        end one_way
        enter switches
        call_pal 0x30
        leave switches
        func leads_on
        ldgp $29,0($27)
        ldq $27,vector
        ldq $27,0($27)
        jmp $31,($27)
        end leads_on
        unop
2:      br $31,3b
        unop
        .data
        .globl vector, word
vector: .quad leaf
word:   .quad 1
"""
"""`_start` calls one of the others, and reads shared data behind it."""

KEPT = ("leaf", "makes", "makes_behind", "calls", "goes_on")
LOST = ("other", "asks", "through", "one_way", "switches", "leads_on")


def _program(folder: Path, callee: str) -> Program:
    return analyse(linked(folder, CODE.format(callee)), ALPHA)


def _behind(program: Program) -> bool:
    """Whether what `_start` makes behind its call is there already."""
    start = next(f for f in program.functions if f.name == "_start")
    return any(behind in start for behind in program.made_again)


@pytest.mark.parametrize("callee", [*KEPT, "waits"])
def test_a_callee_that_comes_back_with_it(callee: str, tmp_path: Path) -> None:
    program = _program(tmp_path, callee)
    assert _behind(program)
    options = Options(passes=("reload",), funcs=("_start",))
    tuned = tune(program.image, ALPHA, CPUS["ev67"], options, lambda *_: None, program=program)
    (edit,) = tuned.edits
    assert (edit.technique, edit.gain) == ("reload", 2)
    assert not tuned.skips
    verdict = verify(program, replace(program.image, data=tuned.data), lambda *_: None)
    assert not verdict.findings


@pytest.mark.parametrize("callee", LOST)
def test_a_callee_that_may_not(callee: str, tmp_path: Path) -> None:
    """The verifier finds a file without what makes it again, too."""
    program = _program(tmp_path, callee)
    assert not _behind(program)
    assert "_start" in _without(program, (0, 1))


@pytest.mark.parametrize("halves", [(0,), (1,)])
def test_half_of_it_is_not_enough(halves: tuple[int, ...], tmp_path: Path) -> None:
    assert "_start" in _without(_program(tmp_path, "leaf"), halves)


def test_both_halves_may_go(tmp_path: Path) -> None:
    assert not _without(_program(tmp_path, "leaf"), (0, 1))


def _without(program: Program, halves: tuple[int, ...]) -> str:
    """What the verifier says of a file with nops for parts of what makes gp behind a call."""
    start = next(f for f in program.functions if f.name == "_start")
    table, data = ALPHA.table, bytearray(program.image.data)
    insns = program.listing.insns(start.start, start.end)
    makes = [n for n, insn in enumerate(insns) if insn is not None and table.defs(insn) >> GP & 1]
    for half in halves:
        offset = program.image.offset_of(start.start) + 4 * makes[2 + half]
        data[offset : offset + 4] = ALPHA.encode(UNOP)
    image = replace(program.image, data=bytes(with_old_identity(program.image, bytes(data))))
    return "; ".join(map(str, verify(program, image, lambda *_: None).findings))
