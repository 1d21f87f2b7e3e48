"""PowerPC code that makes an address out of its own: it keeps its place, and so does the label."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.analysis.program import Program
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

CODE = """
    .machine power10
    .text
    .globl f
    .type f, @function
f:  .cfi_startproc
    {made}
    mtctr 6
    bctr
    .cfi_endproc
    .size f, .-f
    .globl g
    .type g, @function
g:  .cfi_startproc
    cmpdi 4, 0
    beqlr
    li 9, 0
    nop
    nop
    nop
    b 2f
    nop
    nop
    nop
    nop
1:  lbz 5, 0(3)
    add 9, 9, 5
    addi 3, 3, 1
2:  addi 4, 4, -1
    cmpdi 4, 0
    bge 1b
    b 4f
4:  {inside}
    add 3, 9, 6
    b .Lx
    nop
    nop
    nop
    nop
.Lx:
    cmpdi 3, 7
    beq 3f
    addi 3, 3, 1
3:  add 3, 3, 6
    blr
    .cfi_endproc
    .size g, .-g
"""
ELSEWHERE = "li 6, 0"
MADE = {
    "addpcis": "addpcis 6, 0\n addi 6, 6, .Lx - f - 4",
    "by way of another": "addpcis 7, 0\n addi 6, 7, .Lx - f - 4",
    "in one instruction": "paddi 6, 0, .Lx - f, 1",
}


def _tuned(code: str, folder: Path) -> tuple[Program, bytes]:
    """A library, and what becomes of its text for POWER9."""
    program = assembled(code, folder, "powerpc64le")
    target = program.target
    options = Options(("align",))
    done = tune(
        program.image, target, target.cpus["power9"], options, lambda *_: None, program=program
    )
    return program, done.data


def _words(program: Program, data: bytes, name: str) -> tuple[int, ...]:
    """The addresses in the old text, and in the new one, of what has a name there once."""
    first = program.image.offset_of(program.functions[0].start)
    return tuple(one.index(bytes.fromhex(name), first) for one in (program.image.data, data))


def test_what_reads_its_own_address_keeps_its_place(tmp_path: Path) -> None:
    code = CODE.format(made=ELSEWHERE, inside="addpcis 6, 1")
    program, data = _tuned(code, tmp_path)
    assert data != program.image.data
    old, new = _words(program, data, "0500c04c")
    assert old == new


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_label_made_so_keeps_its_place(made: str, tmp_path: Path) -> None:
    program, data = _tuned(CODE.format(made=made, inside="nop"), tmp_path)
    assert data != program.image.data
    old, new = _words(program, data, "0700232c")  # cmpdi 3, 7
    assert old == new


HERE = """
    .globl f
    .type f, @function
f:  {first}
    {second}
    blr
    .size f, .-f
"""


def test_it_is_refused_at_another_place(tmp_path: Path) -> None:
    """Though every instruction is there, in order."""
    programs = []
    for number, code in enumerate((("addpcis 3, 0", "nop"), ("nop", "addpcis 3, 0"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = HERE.format(first=code[0], second=code[1])
        programs.append(assembled(".machine power9\n" + text, folder, "powerpc64le"))
    assert "register r3 differs" in said_of(programs[0], changed_text(*programs))
