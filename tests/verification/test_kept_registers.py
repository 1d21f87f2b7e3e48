"""What is known of a register before a call holds behind it only where the callee keeps it.

The calling standard has it keep r14 to r31.  Code that is written by hand, and called by its
neighbours alone, need not, and OCaml's functions do not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

SOURCE = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
    mflr 0
    std 0, 16(1)
    stdu 1, -64(1)
    .cfi_def_cfa_offset 64
    std 14, 32(1)
    std 15, 40(1)
    {made}
    bl helper
    {use}
    add 3, 3, 15
    add 3, 3, 14
    ld 14, 32(1)
    ld 15, 40(1)
    addi 1, 1, 64
    .cfi_def_cfa_offset 0
    ld 0, 16(1)
    mtlr 0
    blr
    .cfi_endproc
    .size run, .-run
    .type helper, @function
helper:
    .cfi_startproc
    {helper}
    .cfi_endproc
    .size helper, .-helper
    .type behind, @function
behind:
    .cfi_startproc
    mtlr 16
    li 14, 0
    blr
    .cfi_endproc
    .size behind, .-behind
    .type ever, @function
ever:
    .cfi_startproc
    b ever
    .cfi_endproc
    .size ever, .-ever
    .type kept, @function
kept:
    .cfi_startproc
    blr
    .cfi_endproc
    .size kept, .-kept
    .type inner, @function
inner:
    .cfi_startproc
    addi 14, 14, 64
    blr
    .cfi_endproc
    .size inner, .-inner
    .type further, @function
further:
    .cfi_startproc
    std 14, -8(1)
    li 14, 0
    ld 14, -8(1)
    b inner
    .cfi_endproc
    .size further, .-further
    .type cold, @function
cold:
    .cfi_startproc
    .cfi_def_cfa_offset 64
    li 14, 0
    ld 14, 40(1)
    addi 1, 1, 64
    .cfi_def_cfa_offset 0
    blr
    .cfi_endproc
    .size cold, .-cold
    .type onward, @function
onward:
    .cfi_startproc
    bl thrown
    li 14, 0
    mtlr 16
    blr
    .cfi_endproc
    .size onward, .-onward
    .type thrown, @function
thrown:
    .cfi_startproc
    .cfi_lsda 0x1b, table
1:  bl ever
2:  b kept              # a landing pad: all that comes back does so from there
    .cfi_endproc
    .size thrown, .-thrown
    .section .gcc_except_table, "a", @progbits
table:
    .byte 0xff, 0xff, 1
    .uleb128 8
    .uleb128 1b - thrown, 2b - 1b, 2b - thrown, 0
    .uleb128 0, 0, 0, 0
    .text
"""


MADE, USES = "mr 15, 3\naddi 14, 15, 8", ("ld 3, 0(14)", "ld 3, 8(15)")
"""What is known before the call, and how it is used behind it."""


def said(folder: Path, helper: str, made: str = MADE, uses: tuple[str, str] = USES) -> str:
    """What the verifier says where one register is used for another behind the call."""
    pair = []
    for name, use in zip(("old", "new"), uses, strict=True):
        (folder / name).mkdir()
        source = SOURCE.format(made=made, use=use, helper=helper)
        pair.append(assembled(source, folder / name, "powerpc64le"))
    return said_of(pair[0], changed_text(*pair))


@pytest.mark.parametrize(
    "helper",
    [
        "blr",
        "addi 16, 16, 1\nblr",
        "std 14, -8(1)\nli 14, 0\nld 14, -8(1)\nblr",
        "std 14, -8(1)\nmflr 16\nbl inner\nmtlr 16\nld 14, -8(1)\nblr",
        "std 14, -8(1)\nmflr 16\nbl onward\nld 14, -8(1)\nmtlr 16\nblr",
        "stdu 1, -64(1)\nstd 14, 40(1)\ncmpdi 3, 0\nbeq cold\nld 14, 40(1)\naddi 1, 1, 64\nblr",
        "cmpdi 3, 0\nbeq 1f\nblr\n1: trap",
        "cmpdi 3, 0\nbeq 1f\nblr\n1: bl ever",
    ],
    ids=(
        "nothing",
        "another",
        "stored",
        "stored before a call",
        "stored before a call that throws",
        "cold part in its frame",
        "trap before another function",
        "call that never comes back before another function",
    ),
)
def test_a_callee_that_keeps_it(helper: str, tmp_path: Path) -> None:
    assert not said(tmp_path, helper)


@pytest.mark.parametrize(
    "helper",
    [
        "li 14, 0\nblr",
        "cmpdi 3, 0\nbeqlr\nli 15, 0\nblr",
        "cmpdi 3, 0\nbeq 1f\nstd 14, -8(1)\n1: li 14, 0\nblr",
        "std 14, 0(3)\nli 14, 0\nblr",
        "std 1, 0(14)\nli 14, 0\nblr",
        "li 5, -8\nstdx 5, 1, 14\nli 14, 0\nblr",
        "stw 14, -8(1)\nli 14, 0\nlwz 14, -8(1)\nblr",
        "mflr 16\nbl inner\nmtlr 16\nblr",
        "mflr 16\nbl onward\nmtlr 16\nblr",
        "b inner",
        "std 14, -8(1)\nli 14, 0\nld 14, -8(1)\nb inner",
        "stdu 1, -64(1)\nstd 14, 40(1)\nli 14, 0\nld 14, 40(1)\naddi 1, 1, 64\nb further",
        "sc\nli 14, 0\nblr",
        "tdeqi 3, 0\nli 14, 0\nblr",
        "mflr 16\nbl kept",
        "0: addis 2, 12, .TOC.-0b@ha\naddi 2, 2, .TOC.-0b@l\n"
        "addis 12, 2, inner@toc@ha\naddi 12, 12, inner@toc@l\nmtctr 12\nbctr",
    ],
    ids=(
        "written",
        "one way",
        "stored on one",
        "elsewhere",
        "by its address",
        "by its distance",
        "in part",
        "by a call",
        "behind a landing pad of a call that never comes back",
        "in tail",
        "in tail when restored",
        "in tail of a tail",
        "behind a system call",
        "behind a trap that may not be one",
        "in what a call at the end comes back to",
        "made",
    ),
)
def test_a_callee_that_does_not(helper: str, tmp_path: Path) -> None:
    assert "register r3 differs" in said(tmp_path, helper)


def test_the_thread_may_be_on_another_processor(tmp_path: Path) -> None:
    """The kernel's r13 leads to what belongs to the processor, and no instruction changes it."""
    uses = "ld 3, 0(13)", "ld 3, 0(15)"
    assert "register r3 differs" in said(tmp_path, "blr", "mr 15, 13", uses)
