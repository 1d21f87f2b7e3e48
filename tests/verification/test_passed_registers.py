"""What a function leaves in registers may be read by whoever gets it, by whatever way control goes.

Hand-written code keeps to the calling standard as far as its neighbours know nothing better.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

RUNNING_ON = """
    .text
    .globl call
    .type call, @function
call:
    .cfi_startproc
    mflr 0
    std 0, 16(1)
    stdu 1, -32(1)
    bl first
    add 3, 3, {read}
    addi 1, 1, 32
    ld 0, 16(1)
    mtlr 0
    blr
    .cfi_endproc
    .size call, .-call
    .type ever, @function
ever:
    .cfi_startproc
    b ever
    .cfi_endproc
    .size ever, .-ever
    .type first, @function
first:
    .cfi_startproc
    addi 3, 3, 1
    {end}
    .cfi_endproc
    .size first, .-first
    {between}
    .type second, @function
second:
    .cfi_startproc
    {made}
    blr
    .cfi_endproc
    .size second, .-second
"""
"""A function that runs into another, which makes what the caller of the first may read."""


def said_of_running_on(folder: Path, end: str, between: str = "", read: int = 12) -> str:
    """What the verifier says where the second function makes nothing any more."""
    pair = []
    for name, made in (("old", "addi 12, 3, 5"), ("new", "nop")):
        (folder / name).mkdir()
        source = RUNNING_ON.format(end=end, between=between, made=made, read=read)
        pair.append(assembled(source, folder / name, "powerpc64le"))
    return said_of(pair[0], changed_text(*pair))


@pytest.mark.parametrize(
    ("end", "between"),
    [
        ("nop", ""),
        ("nop", "nop\nnop"),
        ("b second", ""),
        ("cmpdi 3, 0\nbeqlr", ""),
        ("cmpdi 3, 0\nbeq 1f\nb ever\n1: tdnei 3, 7", ""),
        ("add 9, 4, 5\nmtctr 9\nbctr\nli 4, 5", ""),
        ("add 9, 4, 5\nmtctr 9\nbctr\nnop", ""),
    ],
    ids=[
        "at once",
        "over nops",
        "by a branch",
        "on one way",
        "behind a trap",
        "from where nobody knows who comes",
        "from a nop there",
    ],
)
def test_a_function_runs_into_another(end: str, between: str, tmp_path: Path) -> None:
    assert "register r12 differs" in said_of_running_on(tmp_path, end, between)


@pytest.mark.parametrize(
    ("end", "between", "read"),
    [
        ("nop", "", 3),
        ("blr", "nop", 12),
        ("bl ever", "", 12),
        ("bl ever", "nop", 12),
        ("cmpdi 3, 0\nbeqlr\ntrap", "", 12),
        ("cmpdi 3, 0\nbeqlr\ntrap", "nop", 12),
        ("ld 12, 0(4)\nmtctr 12\nbctr\nnop", "", 12),
    ],
    ids=[
        "not read",
        "it returns",
        "behind a call that never comes back",
        "and over a nop",
        "behind a trap that nothing passes",
        "and over a nop there",
        "behind a jump that leaves",
    ],
)
def test_a_function_ends(end: str, between: str, read: int, tmp_path: Path) -> None:
    assert not said_of_running_on(tmp_path, end, between, read)


UNWINDER = """
    .set noat
    .set noreorder
    .text
    .globl resume
    .type resume, @function
    .ent resume
resume:
    .cfi_startproc
    lda $30, -32($30)
    .cfi_def_cfa_offset 32
    stq $16, 0($30)
    {row}
    ldq $9, 8($30)
    {restored}
    lda $30, 32($30)
    .cfi_def_cfa_offset 0
    ret $31, ($26), 1
    .cfi_endproc
    .end resume
    .size resume, .-resume
"""
"""What gives a landing pad its registers, as `__builtin_eh_return` does, saves them as others."""


@pytest.mark.parametrize("row", [".cfi_offset 16, -32", ""], ids=["by its rows", "not"])
def test_a_function_gives_back_what_it_saves(row: str, tmp_path: Path) -> None:
    pair = []
    for name, restored in (("old", "ldq $16, 0($30)"), ("new", "ldq_u $31, 0($30)")):
        (tmp_path / name).mkdir()
        source = UNWINDER.format(row=row, restored=restored)
        pair.append(assembled(source, tmp_path / name, "alpha"))
    said = said_of(pair[0], changed_text(*pair))
    assert "register a0 differs" in said if row else not said


NESTED = """
    .set noat
    .set noreorder
    .text
    .globl outer
    .type outer, @function
outer:
    .cfi_startproc
    ldah $29, 0($27) !gpdisp!1
    lda $29, 0($29) !gpdisp!1
    lda $30, -16($30)
    .cfi_def_cfa_offset 16
    stq $26, 0($30)
    {made}
    {call}
    ldq $26, 0($30)
    lda $30, 16($30)
    .cfi_def_cfa_offset 0
    ret $31, ($26), 1
    .cfi_endproc
    .size outer, .-outer
    .type inner, @function
inner:
    .cfi_startproc
    blt $16, 1f
    addq $16, {read}, $0
1:  ret $31, ($26), 1
    .cfi_endproc
    .size inner, .-inner
    .data
    .quad {named}
"""
"""A nested function finds its outer one's variables by the static chain, $1; so does a closure."""


DIRECT = "bsr $26, inner"
THROUGH_TABLE = "ldq $27, inner($29) !literal\njsr $26, ($27), inner"
BY_POINTER = "ldq $27, 8($17)\njsr $26, ($27)"


def said_of_nested(folder: Path, call: str, named: str, read: str) -> str:
    """What the verifier says where the outer function makes no chain any more."""
    pair = []
    for name, made in (("old", "lda $1, 8($17)"), ("new", "ldq_u $31, 0($30)")):
        (folder / name).mkdir()
        source = NESTED.format(made=made, call=call, named=named, read=read)
        pair.append(assembled(source, folder / name, "alpha"))
    return said_of(pair[0], changed_text(*pair))


@pytest.mark.parametrize(
    ("call", "named"),
    [(DIRECT, "0"), (THROUGH_TABLE, "0"), (BY_POINTER, "inner")],
    ids=["direct", "through the table", "a closure"],
)
@pytest.mark.parametrize("read", ["$1", "$2"], ids=["read", "not read"])
def test_a_nested_function_reads_its_chain_behind_a_branch(
    call: str, named: str, read: str, tmp_path: Path
) -> None:
    said = said_of_nested(tmp_path, call, named, read)
    assert "register t0 differs" in said if read == "$1" else not said


def test_a_trampoline_sets_the_chain_itself(tmp_path: Path) -> None:
    assert not said_of_nested(tmp_path, BY_POINTER, "0", "$1")


HELPED = """
    .set noat
    .set noreorder
    .text
    .globl outer
    .type outer, @function
outer:
    .cfi_startproc
    ldah $29, 0($27) !gpdisp!1
    lda $29, 0($29) !gpdisp!1
    lda $30, -16($30)
    .cfi_def_cfa_offset 16
    stq $26, 0($30)
    bsr $26, sum
    {between}
    ldq $27, compared($29) !literal
    jsr $26, ($27), compared
    ldq $26, 0($30)
    lda $30, 16($30)
    .cfi_def_cfa_offset 0
    ret $31, ($26), 1
    .cfi_endproc
    .size outer, .-outer
    .type sum, @function
sum:
    .cfi_startproc
    addq $17, $18, $0
    {made}
    ret $31, ($26), 1
    .cfi_endproc
    .size sum, .-sum
"""
"""A sum of 128 bits, which stays in $16 and $17 for a comparison in another file."""


@pytest.mark.parametrize(
    ("between", "differs"),
    [("ldq_u $31, 0($30)", True), ("bis $31, $0, $16", False)],
    ids=["read", "written"],
)
def test_a_helper_returns_in_arguments(between: str, differs: bool, tmp_path: Path) -> None:
    pair = []
    for name, made in (("old", "lda $16, 8($17)"), ("new", "ldq_u $31, 0($30)")):
        (tmp_path / name).mkdir()
        source = HELPED.format(between=between, made=made)
        pair.append(assembled(source, tmp_path / name, "alpha"))
    said = said_of(pair[0], changed_text(*pair))
    assert "register a0 differs" in said if differs else not said
