"""Code that the loader or the program itself writes: what runs there is not what the file has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program, analyse
from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

LOADED = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
    {numbers}
    {pointer}
    add 3, 5, 6
    stw 3, 0(9)
    blr
    .cfi_endproc
    .size run, .-run
    .type other, @function
other:
    .cfi_startproc
    li 5, 7
    {entry}
    {sum}
    blr
    .cfi_endproc
    .size other, .-other
    .type through, @function
through:
    .cfi_startproc
    {branch}
    .cfi_endproc
    .size through, .-through
    .type caller, @function
caller:
    .cfi_startproc
    mflr 0
    stw 0, 4(1)
    stwu 1, -16(1)
    {given}
    bl through
    li 5, 3
    addi 1, 1, 16
    lwz 0, 4(1)
    mtlr 0
    blr
    .cfi_endproc
    .size caller, .-caller
    .section .rodata
    .balign 4
there:
    .long 5
"""
NUMBERS, OTHERWISE = "li 5, 1\nli 6, 2", "li 6, 2\nli 5, 1"
PLAIN = {
    "numbers": NUMBERS,
    "pointer": "mr 9, 4",
    "entry": "nop",
    "sum": "add 3, 4, 5",
    "branch": "blr",
    "given": "li 5, 1",
}


def _program(folder: Path, more: str = "", **parts: str) -> Program:
    folder.mkdir(exist_ok=True)
    return assembled(LOADED.format(**PLAIN | parts) + more, folder)


def _said(folder: Path, changed: dict[str, str], **parts: str) -> str:
    """What the verifier says where some parts of the code differ."""
    old, new = _program(folder / "old", **parts), _program(folder / "new", **parts | changed)
    return said_of(old, changed_text(old, new))


@pytest.mark.parametrize(
    "pointer", ["lis 9, there@ha\naddi 9, 9, there@l", "lis 9, unknown@ha\naddi 9, 9, unknown@l"]
)
def test_a_function_that_the_loader_writes_into_is_left_alone(pointer: str, tmp_path: Path) -> None:
    changed = {"numbers": OTHERWISE}
    assert not _said(tmp_path, changed)
    assert "the loader writes into it" in _said(tmp_path, changed, pointer=pointer)
    program = _program(tmp_path / "old", pointer=pointer)
    left = {f.name for f in program.functions if program.not_understood(f)}
    assert left == {"run"}


def test_what_the_loader_makes_in_code_is_named(tmp_path: Path) -> None:
    """A place in another function, which control may come to past what stands before it."""
    changed, pointer = {"sum": "addi 3, 4, 7"}, "lis 9, .Lin@ha\naddi 9, 9, .Lin@l"
    assert not _said(tmp_path, changed, entry=".Lin:")
    assert "other" in _said(tmp_path, changed, entry=".Lin:", pointer=pointer)
    assert "other" not in _said(tmp_path, changed, pointer=pointer.replace(".Lin", "there"))
    program = _program(tmp_path / "old", entry=".Lin:", pointer=pointer)
    (other,) = (f for f in program.functions if f.name == "other")
    reasons = [pin.reason for pin in program.pins if pin.address in other]
    assert any(reason.startswith("relocated code at") for reason in reasons)


def test_a_branch_that_the_loader_writes_leads_anywhere(tmp_path: Path) -> None:
    """The file has one to itself there, which reads nothing."""
    changed = {"given": "nop"}
    assert not _said(tmp_path, changed)
    assert _said(tmp_path, changed, branch="b unknown")


OWN = """
    .section .own, "{flags}", @progbits
    .globl own
    .type own, @function
own:
    .cfi_startproc
    {numbers}
    add 3, 5, 6
    blr
    .cfi_endproc
    .size own, .-own
"""


@pytest.mark.parametrize("is_sectioned", [True, False], ids=["sections", "segments"])
@pytest.mark.parametrize(("flags", "is_written"), [("awx", True), ("ax", False)])
def test_code_that_the_program_may_write_over_is_left_alone(
    flags: str, is_written: bool, is_sectioned: bool, tmp_path: Path
) -> None:
    """It is in a segment to be written and to run; code in another segment is not left alone."""
    old, new = (
        _program(tmp_path / str(n), OWN.format(flags=flags, numbers=numbers))
        for n, numbers in enumerate((NUMBERS, OTHERWISE))
    )
    known, after = old.image, changed_text(old, new)
    if not is_sectioned:
        known, after = (replace(image, sections=()) for image in (known, after))
    program = analyse(known, old.target)
    left = {f.name for f in program.functions if "may write over" in program.not_understood(f)}
    assert left == ({"own"} if is_written else set())
    assert ("the program may write over it" in said_of(program, after)) is is_written
