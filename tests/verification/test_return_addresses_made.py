"""Return addresses that code makes itself: what stands there is read where others return to it."""

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
    mflr 10
    {first}
    {leave}
    .p2align 4
.Llabel:
    fadd 1, 1, {read}
    mtlr 10
    blr
    {end}
    .cfi_endproc
    .size _start, .-_start
    .p2align 4
    .type g, @function
g:  .cfi_startproc
    {inside}
    cmpwi 3, 0
    blr
    .cfi_endproc
    .size g, .-g
"""
FRAMED = SOURCE.replace("mflr 10", "mflr 0\n stw 0, -8(1)").replace(
    "mtlr 10", "lwz 0, -8(1)\n mtlr 0"
)
"""The same with the caller's address in the frame."""
LABEL = "lis 9, .Llabel@ha\n addi 9, 9, .Llabel@l"
HERE = "bl .Lhere\n.Lhere: mflr 9\n addi 9, 9, .Llabel-.Lhere"
LEAVING = {
    "a jump": f"{LABEL}\n mtlr 9\n b g",
    "a branch": f"{LABEL}\n mtlr 9\n cmpwi 3, 1\n beq g\n mtlr 10\n blr",
    "through a pointer": f"{LABEL}\n mtlr 9\n mtctr 6\n bctr",
    "a return": f"{LABEL}\n mtlr 9\n blr",
    "by its place": f"{HERE}\n mtlr 9\n b g",
    "copied": f"{LABEL}\n mr 8, 9\n cmpwi 3, 1\n beq 1f\n nop\n1: mtlr 8\n b g",
    "out of a table": f"{LABEL}\n stw 9, 0(4)\n lwz 8, 0(4)\n mtlr 8\n b g",
    "behind a question": "bcl 20, 31, .Lhere\n.Lhere: cmpwi 3, 1\n blt .Llabel\n b g",
}
SAVED = {
    "not touched": "b g",
    "in a register": "mtlr 10\n b g",
    "in the frame": "stw 10, -8(1)\n cmpwi 3, 1\n beq 1f\n nop\n1: lwz 0, -8(1)\n mtlr 0\n b g",
    "in the frame, by a pointer": (
        "stw 10, -8(1)\n addi 11, 1, -16\n cmpwi 3, 1\n beq 1f\n nop\n"
        "1: lwz 0, 8(11)\n mtlr 0\n b g"
    ),
}


def program(folder: Path, machine: str, **parts: str) -> Program:
    """A program that is where its file says."""
    texts = {"first": "fneg 0, 1", "inside": "nop", "read": "0", "end": "", **parts}
    source = texts.pop("source", SOURCE).format(**texts)
    if "64" in machine:
        source = source.replace("stw", "std").replace("lwz", "ld")
    folder.mkdir()
    (folder / "f.s").write_text(source)
    gcc = inputs.require_tool(f"{machine}-linux-gnu-gcc")
    command = (gcc, "-nostdlib", "-static", "-no-pie", "f.s", "-o", "f")
    subprocess.run(command, cwd=folder, check=True)
    image = load(str(folder / "f"))
    target = targets.of(image).sequential
    assert target is not None
    return analyse(image, target)


def said(folder: Path, machine: str, leave: str, old: dict[str, str], new: dict[str, str]) -> str:
    """What the verifier says of other parts."""
    before = program(folder / "old", machine, leave=leave, **old)
    after = program(folder / "new", machine, leave=leave, **new)
    return said_of(before, changed_text(before, after))


@pytest.mark.parametrize("machine", ("powerpc", "powerpc64le"))
@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
def test_what_is_come_back_to_reads(leave: str, machine: str, tmp_path: Path) -> None:
    """What the function has put there."""
    assert said(tmp_path, machine, leave, {"first": "fneg 0, 1"}, {"first": "fabs 0, 1"})


@pytest.mark.parametrize("machine", ("powerpc", "powerpc64le"))
@pytest.mark.parametrize("end", ("b g", "blr", "mflr 8\n mtlr 8\n b g"))
def test_where_code_asked_for_its_place_is_come_back_to(
    end: str, machine: str, tmp_path: Path
) -> None:
    """Though all else that is put into the link register is the caller's address."""
    asked = "bcl 20, 31, .Lhere\n.Lhere: cmpwi 3, 1\n blt .Llabel"
    one, other = (
        program(tmp_path / name, machine, leave=f"{asked}\n {name} 0, 1\n {end}", source=FRAMED)
        for name in ("fneg", "fabs")
    )
    assert said_of(one, changed_text(one, other))


@pytest.mark.parametrize("machine", ("powerpc", "powerpc64le"))
@pytest.mark.parametrize("last", ("", "bne 0, .Lend"), ids=("falling", "past a branch"))
def test_a_function_that_runs_into_another_is_come_back_to(
    last: str, machine: str, tmp_path: Path
) -> None:
    """With what it has put into the link register."""
    leave = f"{LABEL}\n cmpwi 3, 1\n beq .Lend\n mtlr 10\n blr"
    parts = ({"first": f"{one} 0, 1", "end": f".Lend: mtlr 9\n {last}"} for one in ("fneg", "fabs"))
    assert said(tmp_path, machine, leave, *parts)


@pytest.mark.parametrize("machine", ("powerpc", "powerpc64le"))
def test_what_is_come_back_to_reads_what_another_left(machine: str, tmp_path: Path) -> None:
    """That is no result by the standard."""
    parts = ({"read": "5", "inside": "fneg 5, 1"}, {"read": "5", "inside": "fabs 5, 1"})
    assert said(tmp_path, machine, LEAVING["a jump"], *parts)


@pytest.mark.parametrize("machine", ("powerpc", "powerpc64le"))
@pytest.mark.parametrize("leave", SAVED.values(), ids=SAVED)
def test_a_saved_address_is_the_callers(leave: str, machine: str, tmp_path: Path) -> None:
    """What nobody reads may be another value, though there is a label."""
    assert not said(tmp_path, machine, leave, {"first": "fneg 0, 1"}, {"first": "fabs 0, 1"})


SWITCH = """bcl 20, 31, .Lhere
.Lhere: mflr 9
    addis 9, 9, .Ltable-.Lhere@ha
    addi 9, 9, .Ltable-.Lhere@l
    cmplwi 3, 1
    bgt .Lout
    slwi 8, 3, 2
    lwzx 8, 9, 8
    add 8, 8, 9
    mtctr 8
    bctr
.Lone: addi 3, 3, 1
.Lother: addi 3, 3, 2
.Lout: mtlr 10
    b g
    .section .rodata
.Ltable: .long .Lone-.Ltable, .Lother-.Ltable
    .text"""


def test_a_switch_goes_nowhere_else(tmp_path: Path) -> None:
    """Its own place is still in the link register there."""
    old, new = {"first": "fneg 0, 1"}, {"first": "fabs 0, 1"}
    assert not said(tmp_path, "powerpc", SWITCH, old, new)


ALPHA = """
    .set noreorder
    .set noat
    .text
    .globl _start
    .ent _start
_start:
    .frame $30, 0, $26, 0
    .prologue 0
    bis $31, $26, $9
    br $27, 1f
1:  ldgp $29, 0($27)
    {first}
    {leave}
    .align 4
$label:
    addt $f1, $f10, $f0
    bis $31, $9, $26
    ret $31, ($26), 1
    .end _start
    .align 4
    .ent g
g:  .frame $30, 0, $26, 0
    .prologue 0
    addq $16, 1, $0
    ret $31, ($26), 1
    .end g
"""
ALPHA_LABEL = "ldah $1, $label($29) !gprelhigh\n lda $26, $label($1) !gprellow"


@pytest.mark.parametrize(
    ("leave", "may"),
    [
        (f"{ALPHA_LABEL}\n br $31, g", False),
        (f"{ALPHA_LABEL}\n ret $31, ($26), 1", False),
        (f"{ALPHA_LABEL}\n bis $31, $9, $26\n br $31, g", True),
        (f"{ALPHA_LABEL}\n ldq $26, 0($30)\n br $31, g", True),
    ],
    ids=["a jump", "a return", "copied back", "loaded back"],
)
def test_an_address_that_alpha_code_makes(leave: str, may: bool, tmp_path: Path) -> None:
    programs = list[Program]()
    for name, first in (("old", "cpysn $f1, $f1, $f10"), ("new", "cpys $f31, $f1, $f10")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.s").write_text(ALPHA.format(first=first, leave=leave))
        gcc = inputs.require_tool("alpha-linux-gnu-gcc")
        command = (gcc, "-nostdlib", "-static", "f.s", "-o", "f")
        subprocess.run(command, cwd=tmp_path / name, check=True)
        image = load(str(tmp_path / name / "f"))
        target = targets.of(image).sequential
        assert target is not None
        programs.append(analyse(image, target))
    assert bool(said_of(programs[0], changed_text(*programs))) is not may
