"""What a computed jump goes by is followed past labels that data names, where nobody else goes
there, and past calls that never come back.

A register that is set once serves all jumps of glibc's `vfprintf`, whose default label is a word of
a table of addresses.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.core.assumptions import EVERY, TABLES
from tests.verification.tables.test_ppc_rows import assembled

SOURCE = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
0:  addis 2, 12, .TOC.-0b@ha
    addi 2, 2, .TOC.-0b@l
    mflr 0
    std 0, 16(1)
    stdu 1, -64(1)
    {frame}
    cmpwi 4, 0
    beq .Lgone
    addis 9, 2, .Lword@toc@ha
    ld 30, .Lword@toc@l(9)
    addis 31, 2, .Ltable@toc@ha
    addi 31, 31, .Ltable@toc@l
.Lnext:
    lbz 5, 0(3)
    cmplwi 5, 2
    bgt .Lout
    sldi 5, 5, 2
    lwax 5, 31, 5
    add 5, 5, 30
    mtctr 5
    bctr
.Lodd:
    {label}
    addi 3, 3, 1
    b .Lnext
.La:
    addi 3, 3, 2
    b .Lnext
.Lgone:
    li 30, 0
    bl other
    {behind}
.Lout:
    addi 1, 1, 64
    {back}
    ld 0, 16(1)
    mtlr 0
    blr
    .cfi_endproc
    .size run, .-run
    .type other, @function
other:
    .cfi_startproc
    {other}
    .cfi_endproc
    .size other, .-other
    .section .data.rel.ro, "aw"
    .balign 8
.Lword:
    .quad .Lodd
    .section .rodata
    .balign 4
.Ltable:
    .long .Lodd-.Lodd, .La-.Lodd, .Lout-.Lodd
"""

PLAIN = {
    "frame": ".cfi_def_cfa_offset 64",
    "label": "nop",
    "behind": "b .Lout",
    "back": ".cfi_def_cfa_offset 0",
    "other": "blr",
}


def jump(folder: Path, **parts: str) -> tuple[Program, bool]:
    """The program, and whether its computed jump is understood."""
    program = assembled(SOURCE.format(**PLAIN | parts), folder, "powerpc64le")
    (function,) = (f for f in program.functions if f.name == "run")
    return program, not program.not_understood(function)


def test_a_label_that_data_names_is_passed(tmp_path: Path) -> None:
    """The way from it to the jump brings nothing new, and the table has its bound."""
    program, understood = jump(tmp_path)
    assert understood
    (table,) = (table for table in program.references.tables if table.address)
    assert table.exact and len(table.targets) == 3


def test_without_the_assumption_it_is_not(tmp_path: Path) -> None:
    """That no other function jumps to it is assumed with what is assumed of tables."""
    program, _ = jump(tmp_path)
    again = analyse(program.image, program.target, EVERY - {TABLES})
    assert any(again.not_understood(function) for function in again.functions)


@pytest.mark.parametrize(
    "parts",
    [
        {"frame": "nop", "back": "nop"},
        {"label": ".globl inner\ninner: nop"},
        {"label": ".globl inner\n.type inner, @function\ninner: nop"},
        {"other": "b .Lodd"},
        {"other": "mflr 0\nbl .Lodd\nmtlr 0\nblr"},
        {"label": "mr 30, 4"},
        {"label": "bl other\nld 30, 0(9)"},
    ],
    ids=("no frame", "symbol", "function", "branch", "call", "written", "loaded"),
)
def test_where_others_come_from_it_is_not(parts: dict[str, str], tmp_path: Path) -> None:
    """Or where the way from it does bring something else."""
    assert not jump(tmp_path, **parts)[1]


@pytest.mark.parametrize(
    ("other", "understood"),
    [
        ("blr", True),
        ("std 31, -8(1)\nli 31, 0\nld 31, -8(1)\nblr", True),
        ("li 29, 0\nblr", True),
        ("li 31, 0\nblr", False),
        ("cmpdi 3, 0\nbeqlr\nli 30, 0\nblr", False),
        ("b 1f\n1: li 31, 0\nblr", False),
    ],
)
def test_what_it_goes_by_outlives_calls_that_keep_it(
    other: str, understood: bool, tmp_path: Path
) -> None:
    """The calling standard has callees keep it; code that only its neighbours call need not."""
    assert jump(tmp_path, label="bl other", other=other)[1] is understood


ENDLESS = ("1: b 1b", "trap\n1: nop\nb 1b", "mflr 0\n1: bl run\nb 1b")
COMING_BACK = (
    "1: beqlr\nb 1b",
    "1: b .Lout",
    "mflr 0\nmtctr 0\nbctr",
    "1: bl 2f\nb 1b\n2: mtlr 5\nblr",
    "rfid",
    "nop",
)


@pytest.mark.parametrize("other", ENDLESS)
def test_a_call_that_never_comes_back_is_no_way(other: str, tmp_path: Path) -> None:
    """What stands in the register behind it matters to nobody."""
    assert jump(tmp_path, behind="b .Lnext", other=other)[1]


@pytest.mark.parametrize("other", COMING_BACK)
def test_a_call_that_may_come_back_is_a_way(other: str, tmp_path: Path) -> None:
    """By a return, by another function or by where nobody knows."""
    assert not jump(tmp_path, behind="b .Lnext", other=other)[1]
