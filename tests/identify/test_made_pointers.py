"""Computed jumps whose address code makes as a sum: to functions of other units, in tail position.

OCaml leaves so, also from code that the function itself calls (to have memory collected), beside
labels that data holds: where its calls return to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.analysis.program import Program
from rewriter.core.code.program import JumpTable
from targets.ppc.image import pointers
from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

SOURCE = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
0:  addis 2, 12, .TOC.-0b@ha
    addi 2, 2, .TOC.-0b@l
    addi 1, 1, -32
    .cfi_def_cfa_offset 32
    mflr 0
    std 0, 48(1)
    cmpldi 3, 0
    beql .Lcollect
.Lback:
    ld 11, 48(1)
    mtlr 11
    addi 1, 1, 32
    blr
.Lcollect:
    {before}
    std 2, 24(1)
    {pointer}
    mtctr 12
    bctr
    .cfi_endproc
    .size run, .-run
    .type collect, @function
collect:
    .cfi_startproc
    mr 4, 11
    blr
    .cfi_endproc
    .size collect, .-collect
    .type other, @function
other:
    .cfi_startproc
    blr
    .cfi_endproc
    .size other, .-other
    .section .data.rel.ro, "aw"
    .balign 8
.Lword:
    .quad .Lback
"""

MADE = "addis 12, 2, {0}@toc@ha\naddi 12, 12, {0}@toc@l"
COLLECT = MADE.format("collect")


def library(folder: Path, pointer: str = COLLECT, before: str = "nop") -> Program:
    """The program, with what makes the pointer and what stands before it."""
    folder.mkdir(exist_ok=True)
    return assembled(SOURCE.format(pointer=pointer, before=before), folder, "powerpc64le")


def understood(program: Program) -> bool:
    """Whether the function with the jump is."""
    (function,) = (f for f in program.functions if f.name == "run")
    return not program.not_understood(function)


def table(program: Program) -> JumpTable:
    """What is known of its jump."""
    (found,) = (t for t in program.references.tables if t.jump in program.references.made)
    return found


def starts(program: Program, *names: str) -> tuple[int, ...]:
    """Where some functions start, ascending."""
    return tuple(f.start for f in program.functions if f.name in names)


def test_the_jump_goes_where_the_sum_says(tmp_path: Path) -> None:
    program = library(tmp_path)
    assert understood(program)
    assert table(program).targets == starts(program, "collect")


def test_two_ways_make_two_places(tmp_path: Path) -> None:
    pointer = f"{COLLECT}\nbeq 0, 1f\n{MADE.format('other')}\n1:"
    program = library(tmp_path, pointer)
    assert understood(program)
    assert table(program).targets == starts(program, "collect", "other")


@pytest.mark.parametrize(
    "pointer",
    [
        "mr 12, 4",
        "addis 12, 4, 1\naddi 12, 12, 8",
        f"{COLLECT}\nbeq 0, 1f\nld 12, 0(4)\n1:",
        f"{COLLECT}\nbeq 0, 1f\naddi 12, 4, 8\n1:",
        f"{COLLECT}\nbl other\nnop",
        MADE.format(".Lword"),
        f"{COLLECT}\nadd 12, 12, 4",
    ],
    ids=("given", "off what is given", "loaded", "added", "over a call", "data", "indexed"),
)
def test_what_is_not_made_on_all_ways_may_go_elsewhere(pointer: str, tmp_path: Path) -> None:
    """It is not understood, or may leave for anywhere where it comes from memory or a caller."""
    program = library(tmp_path, pointer)
    assert not program.references.made
    assert not understood(program) or program.references.leaving


def test_text_with_too_many_sums_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What nothing describes may be a whole program: where functions start it may know."""
    monkeypatch.setattr(pointers, "_TOO_MANY", 0)
    program = library(tmp_path)
    assert not understood(program)
    assert {*starts(program, "collect")} == program.references.labels


def test_what_is_read_there_stays(tmp_path: Path) -> None:
    """`collect` reads r11, which no callee of the calling standard does."""
    program = library(tmp_path / "old", before="li 11, 5")
    new = library(tmp_path / "new", before="nop")
    assert "run" in said_of(program, changed_text(program, new))
    program = library(tmp_path / "old", before="li 0, 5")
    assert not said_of(program, changed_text(program, new))


def test_another_place_is_not_accepted(tmp_path: Path) -> None:
    program = library(tmp_path / "old")
    new = library(tmp_path / "new", MADE.format("other"))
    assert "run" in said_of(program, changed_text(program, new))
