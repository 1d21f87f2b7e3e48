"""Where a register's value comes from, along every way that control takes."""

from __future__ import annotations

from pathlib import Path

from rewriter.analysis.values.reaching import Reaching
from rewriter.core.code.program import Function
from tests.verification.tables.test_ppc_rows import assembled

PAD = """
    .text
    .type ever, @function
ever:
    .cfi_startproc
    b ever
    .cfi_endproc
    .size ever, .-ever
    .globl run
    .type run, @function
run:
    .cfi_startproc
    .cfi_lsda 0x1b, table
    mr 31, 3
1:  bl ever
2:  {pad}
    blr
    .cfi_endproc
    .size run, .-run
    .section .gcc_except_table, "a", @progbits
table:
    .byte 0xff, 0xff, 1
    .uleb128 8
    .uleb128 1b - run, 2b - 1b, {landing}, 0
    .uleb128 0, 0, 0, 0
    .text
"""
"""A call that never comes back but by a throw, and its landing pad behind it, if it has one."""


def made(folder: Path, landing: str) -> tuple[frozenset[int] | None, Function]:
    """What makes r31 behind the call, and the function."""
    program = assembled(PAD.format(pad="mr 3, 31", landing=landing), folder, "powerpc64le")
    run = next(f for f in program.functions if f.name == "run")
    reaching = Reaching(program.graph, program.target, lambda block: True)
    return reaching.definitions(31, run.start + 8), run


def test_a_landing_pad_stands_behind_the_call_that_leads_to_it(tmp_path: Path) -> None:
    found, run = made(tmp_path, "2b - run")
    assert found == {run.start}


def test_behind_a_call_that_never_comes_back_nothing_is_made(tmp_path: Path) -> None:
    found, _ = made(tmp_path, "0")
    assert found == frozenset()
