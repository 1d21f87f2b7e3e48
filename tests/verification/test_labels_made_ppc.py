"""Labels whose address PowerPC code makes and keeps in memory, where its jump finds it again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf.image import load
from tests.verification.tables.test_ppc_rows import changed_text, said_of

SOURCE = """
    .text
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    {first}
    cmpwi 0, 5, 0
    beq 0, .Lmake
    {load} 10, 0(3)
    mtctr 10
    bctr
.Lmake:
    {make}
    {store} 9, 0(3)
    lfd 0, 8(4)
.Llabel:
    fadd 1, 1, 0
    blr
    .cfi_endproc
    .size _start, .-_start
"""

CALLED = """mflr 10
    {call}
    mflr 9
    mtlr 10
    addi 9, 9, .Llabel-.Lhere"""

WIDE = """lis 9, .Llabel@highest
    ori 9, 9, .Llabel@higher
    sldi 9, 9, 32
    oris 9, 9, .Llabel@h
    ori 9, 9, .Llabel@l"""

MADE = (
    ("powerpc", CALLED.format(call="bl .Lhere\n.Lhere:")),
    ("powerpc", CALLED.format(call="bcl 20, 31, .Lhere\n.Lhere:")),
    ("powerpc", CALLED.format(call="bcl 20, 31, .Lover\n.Lhere: nop\n.Lover:")),
    ("powerpc64le", WIDE),
    ("powerpc64le", WIDE.replace("ori 9, 9, .Llabel@l", "addi 9, 9, .Llabel@l")),
)
IDS = ("call", "here", "call over", "five", "five, added")


def program(folder: Path, machine: str, make: str, first: str) -> Program:
    """A program that is where its file says."""
    load_, store = ("ld", "std") if "64" in machine else ("lwz", "stw")
    source = SOURCE.format(make=make, first=first, load=load_, store=store)
    folder.mkdir()
    (folder / "f.s").write_text(source)
    gcc = inputs.require_tool(f"{machine}-linux-gnu-gcc")
    command = (gcc, "-nostdlib", "-static", "-no-pie", "f.s", "-o", "f")
    subprocess.run(command, cwd=folder, check=True)
    image = load(str(folder / "f"))
    target = targets.of(image).sequential
    assert target is not None
    return analyse(image, target)


@pytest.mark.parametrize(("machine", "make"), MADE, ids=IDS)
def test_what_a_label_reads_is_read_behind_the_jump(
    machine: str, make: str, tmp_path: Path
) -> None:
    old = program(tmp_path / "old", machine, make, "fneg 0, 1")
    new = program(tmp_path / "new", machine, make, "fabs 0, 1")
    assert said_of(old, changed_text(old, new))


@pytest.mark.parametrize("machine", ("powerpc", "powerpc64le"))
def test_a_jump_without_labels_is_a_call(machine: str, tmp_path: Path) -> None:
    """What no callee is given may be another value."""
    old = program(tmp_path / "old", machine, "li 9, 0", "fneg 0, 1")
    new = program(tmp_path / "new", machine, "li 9, 0", "fabs 0, 1")
    assert not said_of(old, changed_text(old, new))
