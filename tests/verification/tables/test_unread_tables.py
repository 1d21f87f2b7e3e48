"""Tables of kernels in formats of other versions, or that nothing says where to find.

Such a kernel is left alone: where its tables are read otherwise than it reads them, an access is
taken away from its exception entry.  The formats are those of Linux 2.4, 2.6 and 6.1.
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
from tests.verification.tables.test_ppc_extable import TABLES, linked
from tests.verification.tables.test_ppc_rows import said_of

BODY = """
    mflr 0
1:  bl f
    add 9, 4, 5
2:  lwz 3, 0(4)
    addi 10, 4, 1
3:  twnei 4, 0
4:  nop
5:  isync
    add 3, 10, 9
6:  b 7f
8:  add 3, 3, 9
7:  blr
9:
"""
"""A function of all that a table may name; it ends at 9."""

FORMATS = {
    "exceptions": (32, "__ex_table", ".long 2b - ., 7b - .", True),
    "exceptions of 64 bits": (64, "__ex_table", ".long 2b - ., 7b - .", True),
    "exceptions and zeros": (32, "__ex_table", ".long 2b - ., 7b - ., 0", True),
    "exceptions and a half": (32, "__ex_table", ".long 2b - ., 7b - ., 2b - .", False),
    "exceptions by address": (32, "__ex_table", ".long 2b, 7b", False),
    "exceptions by address of 64 bits": (64, "__ex_table", ".quad 2b, 7b", False),
    "exceptions that go on in data": (32, "__ex_table", ".long 2b - ., . - .", False),
    "one exception of two": (32, "__ex_table", ".long 2b - ., 7b - ., 2b, 7b", False),
    "switches": (32, "__jump_table", ".long 4b - ., 7b - ., . - .", True),
    "switches of 64 bits": (64, "__jump_table", ".long 4b - ., 7b - .\n.quad . - .", True),
    "a switch that is a branch": (32, "__jump_table", ".long 6b - ., 7b - ., . - .", True),
    "a switch to elsewhere": (32, "__jump_table", ".long 6b - ., 8b - ., . - .", False),
    "a switch at a sum": (32, "__jump_table", ".long 8b - ., 7b - ., . - .", False),
    "switches by address": (32, "__jump_table", ".long 4b, 7b, 4b", False),
    "switches by address of 64 bits": (64, "__jump_table", ".quad 4b, 7b, 4b", False),
    "calls": (32, "mcount_loc", ".long 1b", True),
    "a place of a call": (32, "mcount_loc", ".long 4b", True),
    "calls of 64 bits": (64, "mcount_loc", ".quad 1b", True),
    "calls at a load": (32, "mcount_loc", ".long 2b", False),
    "calls, one of which is gone": (32, "mcount_loc", ".long 1b, 0", True),
    "calls that are relocated": (32, "mcount_loc", ".long 0, 0", False),
    "calls relative": (32, "mcount_loc", ".long 1b - .", False),
    "traps": (32, "__bug_table", ".long 3b - ., 0, 0", True),
    "traps at a sum": (32, "__bug_table", ".long 8b - ., 0, 0", False),
    "traps by address": (32, "__bug_table", ".long 3b, 0, 0", False),
    "traps without lines": (32, "__bug_table", ".long 3b - ., 1", False),
    "feature": (32, "__ftr_fixup", ".long 1, 1, 2b-0b, 3b-0b, 8b-0b, 7b-0b", True),
    "no alternative": (32, "__ftr_fixup", ".long 1, 1, 2b-0b, 3b-0b, 9b-0b, 9b-0b", True),
    "feature backwards": (32, "__ftr_fixup", ".long 1, 1, 3b-0b, 2b-0b, 8b-0b, 7b-0b", False),
    "feature without alternatives": (32, "__ftr_fixup", ".long 1, 1, 2b, 3b", False),
    "feature by address": (64, "__ftr_fixup", ".quad 1, 1, 2b, 3b, 8b, 7b", False),
    "isync": (64, "__lwsync_fixup", ".quad 5b - 0b", True),
    "lwsync at a nop": (64, "__lwsync_fixup", ".quad 4b - 0b", False),
    "barrier": (64, "__spec_barrier_fixup", ".quad 4b - 0b", True),
    "barrier at a load": (64, "__spec_barrier_fixup", ".quad 2b - 0b", False),
}  # fmt: skip
"""By what is in a table: bits, its name, its entries behind label 0, whether they are read."""


@pytest.mark.parametrize("what", FORMATS)
def test_a_table_is_read_in_the_format_that_is_known(tmp_path: Path, what: str) -> None:
    """Else its kernel is left alone, with the table as the reason."""
    bits, name, entries, is_read = FORMATS[what]
    table = f'    .section {name}, "a"\n    .balign 4\n0:  {entries}\n'
    program = linked(BODY, table + TABLES, tmp_path / "k", bits)
    (function,) = program.functions
    assert program.unread == ("" if is_read else f"{name}, a table whose format is not known")
    assert is_read or program.unread in program.not_understood(function)


SUMS = """
    add 9, {first}
1:  {second}
    {third}
    add 3, 3, 9
    add 3, 3, 10
    blr
2:  li 3, -14
    add 3, 3, 9
    blr
"""
LOAD, SUM = "lwz 3, 0(4)", "addi 10, 4, 1"
PLAIN = {"first": "4, 5", "second": LOAD, "third": SUM}
MOVED = {"first": "4, 5", "second": SUM, "third": LOAD}
BESIDE = {"first": "5, 4", "second": LOAD, "third": SUM}


@pytest.mark.parametrize(
    ("bits", "entry", "changed", "wrong"),
    [
        (32, ".long 1b - ., 2b - .", BESIDE, ""),
        (32, ".long 1b - ., 2b - .", MOVED, "another order"),
        (32, ".long 1b, 2b", BESIDE, "a table whose format is not known"),
        (32, ".long 1b, 2b", MOVED, "a table whose format is not known"),
        (64, ".quad 1b, 2b", MOVED, "a table whose format is not known"),
    ],
)
def test_an_access_stays_at_an_entry_of_another_format(
    tmp_path: Path, bits: int, entry: str, changed: dict[str, str], wrong: str
) -> None:
    table = f'    .section __ex_table, "a"\n    .balign 4\n    {entry}\n{TABLES}'
    old, new = (
        linked(SUMS.format(**words), table, tmp_path / str(n), bits)
        for n, words in enumerate((PLAIN, changed))
    )
    found = said_of(old, new.image)
    assert wrong in found and bool(found) is bool(wrong)


def test_a_kernel_has_an_exception_table(tmp_path: Path) -> None:
    """Where nothing shows it, the kernel is left alone; symbols may, or a section."""
    table = '    .section __ex_table, "a"\n    .balign 4\n    .long 1b - ., 2b - .\n'
    image = linked(SUMS.format(**PLAIN), table + TABLES, tmp_path / "k", 32).image
    named = tuple(s for s in image.symbols if not s.name.endswith("___ex_table"))
    cut = tuple(s for s in image.sections if s.name != "__ex_table")
    for symbols, sections, is_found in (
        (named, image.sections, True),
        (image.symbols, cut, True),
        (named, cut, False),
    ):
        less = replace(image, symbols=symbols, sections=sections)
        unread = analyse(less, targets.of(less)).unread
        assert ("neither a section nor symbols" in unread) is not is_found
        assert bool(unread) is not is_found


@pytest.mark.parametrize("bits", [32, 64])
def test_a_kernel_without_section_headers_is_left_alone(tmp_path: Path, bits: int) -> None:
    """Most tables are found by them alone; names of its functions do not help."""
    table = '    .section __ex_table, "a"\n    .balign 4\n    .long 1b - ., 2b - .\n'
    old, new = (
        linked(SUMS.format(**words), table + TABLES, tmp_path / str(n), bits)
        for n, words in enumerate((PLAIN, BESIDE))
    )
    assert not said_of(old, new.image)
    bare = analyse(replace(old.image, sections=()), old.target)
    assert "section headers" in said_of(bare, replace(new.image, sections=()))


ALPHA = """
    .set noat
    .set noreorder
    .text
    .globl f
    .ent f
f:  addq $16, 1, $1
1:  ldq $0, 0($17)
    addq $16, 3, $2
2:  addq $0, $1, $0
    addq $0, $2, $0
    ret
    .end f
    .section __ex_table, "a"
    .align 2
    {access}
    lda $31, {way}($31)
"""


def _alpha(access: str, way: str, folder: Path) -> Program:
    """A kernel for Alpha with an exception entry of an access and a way from there."""
    assembler, linker = (inputs.require_tool(f"alpha-linux-gnu-{name}") for name in ("as", "ld"))
    (folder / "k.s").write_text(ALPHA.format(access=access, way=way))
    subprocess.run((assembler, "k.s", "-o", "k.o"), check=True, cwd=folder)
    link = (linker, "-N", "-static", "--no-relax", "-Ttext=0xfffffc0000310000", "-e", "f")
    subprocess.run((*link, "k.o", "-o", "k"), check=True, cwd=folder)
    image = load(str(folder / "k"))
    return analyse(image, targets.of(image))


@pytest.mark.parametrize(
    ("access", "way", "is_read"),
    [
        (".long 1b - .", "4", True),
        (".long 0", "4", True),  # an entry for nothing
        (".gprel32 1b", "4", False),  # as Linux 2.4 has it
        (".long 2b - .", "4", False),
        (".long 1b - .", "64", False),
    ],
)
def test_an_exception_entry_of_alpha_names_an_access(
    tmp_path: Path, access: str, way: str, is_read: bool
) -> None:
    program = _alpha(access, way, tmp_path)
    assert program.target.is_kernel(program.image)
    assert program.unread == ("" if is_read else "__ex_table, a table whose format is not known")
    bare = analyse(replace(program.image, sections=()), program.target)
    (function,) = program.functions
    assert "section headers" in bare.not_understood(function)
