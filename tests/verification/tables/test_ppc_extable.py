"""Exception entries of PowerPC kernels on what is no load or store: traps, barriers, cache
instructions and nops.

Each resumes as it did, with what may be read there, and the handler of machine checks finds around
it what it looks for.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf.image import load
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.verify.check import verify
from tests.verification.tables.test_ppc_rows import said_of

TABLES = """
    .section __ex_table, "a"
    .globl __start___ex_table, __stop___ex_table
__start___ex_table:
__stop___ex_table:
    .section __jump_table, "a"
    .globl __start___jump_table, __stop___jump_table
__start___jump_table:
__stop___jump_table:
    .section mcount_loc, "a"
    .globl __start_mcount_loc, __stop_mcount_loc
__start_mcount_loc:
__stop_mcount_loc:
    .data
    .long 0
"""
"""What a kernel's other tables are found by."""

MACHINES = {
    32: ("powerpc", "elf32ppclinux", 0xC0001000, ()),
    64: ("powerpc64le", "elf64lppc", 0xC000000000010000, ("-mpower9",)),
}


def kernel(body: str, entries: str, folder: Path, bits: int = 32) -> Program:
    """A kernel of a function; `entries` are pairs of labels, an exception entry a line."""
    pairs = (line.split() for line in entries.splitlines() if line.strip())
    table = "\n".join(f"    .long {access} - ., {resume} - ." for access, resume in pairs)
    return linked(body, f'    .section __ex_table, "a"\n{table}\n{TABLES}', folder, bits)


def linked(body: str, tables: str, folder: Path, bits: int) -> Program:
    """A kernel of a function, which ends at `.Lend` or else with all of it, and its tables."""
    machine, emulation, start, options = MACHINES[bits]
    tools = (f"{machine}-linux-gnu-{name}" for name in ("as", "ld"))
    assembler, linker = map(inputs.require_tool, tools)
    source = (
        f"    .text\n    .globl f\n    .type f, @function\nf:\n{body}\n"
        f"    .ifndef .Lend\n.Lend:\n    .endif\n    .size f, .Lend - f\n{tables}"
    )
    folder.mkdir()
    (folder / "k.s").write_text(source)
    subprocess.run((assembler, *options, "k.s", "-o", "k.o"), check=True, cwd=folder)
    link = (linker, "-m", emulation, f"-Ttext={start:#x}", "-e", "f", "--build-id=none")
    subprocess.run((*link, "k.o", "-o", "k"), check=True, cwd=folder)
    image = load(str(folder / "k"))
    return analyse(image, targets.of(image))


def said(old: str, new: str, entries: str, folder: Path, bits: int = 32) -> str:
    """What the verifier finds in one body of the function for another."""
    before, after = (
        kernel(body, entries, folder / name, bits) for name, body in (("old", old), ("new", new))
    )
    assert before.target.is_kernel(before.image)
    return said_of(before, after.image)


WARNING = """
    {first}
    {second}
1:  twnei 3, 0
    cmpwi 4, 0
    beq {near}
    cmpwi 4, 7
    beq {far}
    li 3, 0
    add 3, 3, 6
    add 3, 3, 7
    blr
.Lwarn:
.Lone:
    li 3, {one}
    {add} 3, 3, 6
    add 3, 3, 7
    blr
.Ltwo:
    li 3, {two}
    {other} 3, 3, 6
    add 3, 3, 7
    blr
"""
"""A trap that warns and goes on elsewhere, at one of two blocks to which branches lead, too."""

PLAIN = {"first": "add 6, 4, 5", "second": "add 7, 4, 4"}
SWAPPED = {"first": "add 7, 4, 4", "second": "add 6, 4, 5"}
ONE = {"near": ".Lone", "far": ".Ltwo", "one": "1", "add": "add", "two": "2", "other": "subf"}
TWO = {"near": ".Ltwo", "far": ".Lone", "one": "2", "add": "subf", "two": "1", "other": "add"}


@pytest.mark.parametrize(("blocks", "wrong"), [(ONE, ""), (TWO, "register r3 differs")])
def test_a_trap_goes_on_where_it_did(tmp_path: Path, blocks: dict[str, str], wrong: str) -> None:
    """Two blocks change places with what leads to them, but for the entry of the trap."""
    old, new = WARNING.format(**PLAIN, **ONE), WARNING.format(**SWAPPED, **blocks)
    found = said(old, new, "1b .Lwarn", tmp_path)
    assert wrong in found and bool(found) is bool(wrong)


STRANGE = """
    li 12, 5
    stbx 5, 0, 6
    {first}
1:  {faulting}
    {second}
    li 3, 0
    add 3, 3, 12
    blr
.Llater:
    mr 3, {handled}
    blr
"""


@pytest.mark.parametrize("faulting", ["dcbf 0, 4", "dcbst 0, 4", "dcbz 0, 4"])
@pytest.mark.parametrize(("handled", "wrong"), [(12, "register r12 differs"), (5, "")])
def test_what_is_read_after_a_fault(
    tmp_path: Path, faulting: str, handled: int, wrong: str
) -> None:
    """An addition comes before what may fault, and its handler returns the sum or does not."""
    old, new = (
        STRANGE.format(faulting=faulting, handled=handled, first=first, second=second)
        for first, second in (("nop", "add 12, 12, 8"), ("add 12, 8, 12", "nop"))
    )
    found = said(old, new, "1b .Llater", tmp_path)
    assert wrong in found and bool(found) is bool(wrong)


PORT = """
    {before}
    sync
1:  lbz 9, 0(3)
2:  twi 0, 9, 0
3:  {third}
4:  {fourth}
    {fifth}
.Lback:
    add 3, 4, 9
    blr
.Lbad:
    li 9, -1
    b .Lback
"""
"""How a kernel reads a port that may not be there."""

ENTRIES = "\n".join(f"{number}b .Lbad" for number in range(1, 5))


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("add 4, 5, 4", "isync", "nop", "nop"), False),
        (("add 4, 4, 5", "isync", "mr 9, 9", "nop"), True),
        (("add 4, 4, 5", "mr 9, 9", "isync", "nop"), True),
        (("add 4, 4, 5", "isync", "nop", "mr 9, 9"), False),
    ],
)
def test_a_read_of_a_port_is_known_by_its_words(
    tmp_path: Path, words: tuple[str, ...], wrong: bool
) -> None:
    names = ("before", "third", "fourth", "fifth")
    old, new = (
        PORT.format(**dict(zip(names, each, strict=True)))
        for each in (("add 4, 4, 5", "isync", "nop", "nop"), words)
    )
    assert bool(said(old, new, ENTRIES, tmp_path)) is wrong


def test_what_stands_before_a_barrier(tmp_path: Path) -> None:
    """The handler names the access before it in a message: an addition must not come between."""
    places = (("nop", "add 12, 12, 8"), ("add 12, 8, 12", "nop"))
    old, new = (
        STRANGE.format(faulting="sync", handled=5, first=first, second=second)
        for first, second in places
    )
    assert "stands before the sync" in said(old, new, "1b .Llater", tmp_path)


LOOP = """
    mr 10, 3
    li 11, 0
    li 8, 16
    mtctr 8
.Lloop:
    sync
1:  lbz 9, 0(10)
2:  twi 0, 9, 0
3:  isync
4:  nop
.Lback:
    slwi 7, 9, 3
    add 7, 7, 9
    lwz 6, 0(4)
    xor 6, 6, 7
    lwz 5, 4(4)
    add 5, 5, 6
    mullw 5, 5, 5
    add 11, 11, 5
    addi 12, 11, 3
    addi 4, 4, 8
    andi. 0, 9, 1
    bne .Lmore
    stw 11, 8(4)
    bdnz .Lloop
    mr 3, 11
    blr
.Lmore:
    add 11, 11, 9
    mr 7, 11
    b .Lfar
    nop
    nop
    nop
.Lfar:
    slwi 6, 7, 2
    lwz 5, 12(4)
    add 5, 5, 6
    lwz 8, 16(4)
    add 8, 8, 5
    mullw 8, 8, 6
    xor 11, 11, 8
    bdnz .Lloop
    mr 3, 11
    blr
.Lbad:
    li 9, -1
    b .Lback
"""
"""A loop that is faster in another layout, and reads a port."""


def test_a_function_that_reads_a_port_is_tuned(tmp_path: Path) -> None:
    """Its nop with an entry keeps its place, and nothing is taken back."""
    program = kernel(LOOP, ENTRIES, tmp_path / "old")
    options, cpu = Options(passes=("layout", "schedule")), program.target.cpus["750"]
    tuned = tune(program.image, program.target, cpu, options, _quiet, program=program)
    assert tuned.edits and not any("not verified" in skip.reason for skip in tuned.skips)
    assert verify(program, replace(program.image, data=tuned.data), _quiet).ok


def _quiet(stage: str, done: int, total: int | None) -> None:
    """Nobody looks."""
