"""Where a jump through a table or a pointer leads: to labels wherever data holds them; and how far a
bound on an index reaches."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import analyse
from rewriter.elf.image import load
from tests.verification.tables.test_ppc_rows import assembled

BOUND = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
0:  addis 2, 12, .TOC.-0b@ha
    addi 2, 2, .TOC.-0b@l
    addis 9, 2, .Ltable@toc@ha
    addi 9, 9, .Ltable@toc@l
    {cut}
    cmplwi 6, 2
    bgt .Lout
    {scaled}
    lwax 5, 9, 5
    add 5, 5, 9
    mtctr 5
    bctr
.La:
    li 3, 1
    blr
.Lb:
    li 3, 2
    blr
.Lout:
    li 3, 3
    blr
    .cfi_endproc
    .size run, .-run
    .section .rodata
    .balign 4
.Ltable:
    .long .La-.Ltable, .Lb-.Ltable, .La-.Ltable{more}
"""


@pytest.mark.parametrize(
    ("cut", "scaled", "is_bound"),
    [
        ("clrlwi 6, 3, 24", "sldi 5, 3, 2", False),
        ("clrlwi 6, 3, 24", "rldic 5, 3, 2, 53", False),
        ("clrlwi 6, 3, 24", "rldic 5, 3, 2, 54", True),
        ("clrlwi 6, 3, 24", "rlwinm 5, 3, 2, 22, 29", True),
        ("clrlwi 6, 3, 24", "clrlwi 5, 3, 25\nsldi 5, 5, 2", True),
        ("clrldi 6, 3, 32", "sldi 5, 3, 2", True),
        ("mr 6, 3", "sldi 5, 6, 2", True),
    ],
)
def test_a_bound_on_some_bits_bounds_no_others(
    cut: str, scaled: str, is_bound: bool, tmp_path: Path
) -> None:
    """A table is as long as a comparison says only if it looks at all that the entry is found by;
    a table of more than 32 bits' entries there is not."""
    program = assembled(BOUND.format(cut=cut, scaled=scaled, more=""), tmp_path, "powerpc64le")
    assert any(table.exact for table in program.references.tables) is is_bound


@pytest.mark.parametrize("more", [", .Lb-.Ltable, .Lout+4-.Ltable", ", .Lb-.Ltable, .Lout-.Ltable"])
def test_entries_behind_the_bound(more: str, tmp_path: Path) -> None:
    """One that leads to code which nothing else leads to is an entry, and the bound is none."""
    only = "+4" in more
    source = BOUND.format(cut="mr 6, 3", scaled="sldi 5, 6, 2", more=more)
    source = source.replace(".Lout:\n", ".Lout:\n    blr\n") if only else source
    program = assembled(source, tmp_path, "powerpc64le")
    assert any(table.exact for table in program.references.tables) is not only


WORDS = """
    .globl _start
    .type _start, @function
_start:
    bl run
    trap
    .size _start, .-_start
    .type run, @function
run:
    li 5, 1
    ld 12, 0(3)
    mtctr 12
    bctr
inner:
    mr 3, 5
    blr
    .size run, .-run
    .data
    {before}
    .quad inner
"""


def placed(source: str, folder: Path) -> Path:
    """A program of fixed addresses."""
    (folder / "f.s").write_text(source)
    gcc = inputs.require_tool("powerpc64le-linux-gnu-gcc")
    command = (gcc, "-nostdlib", "-static", "-no-pie", "f.s", "-o", "f")
    subprocess.run(command, cwd=folder, check=True)
    return folder / "f"


def labels(path: Path) -> set[int]:
    """Where jumps through pointers lead."""
    image = load(path)
    program = analyse(image, targets.of(image))
    return {place for table in program.references.tables for place in table.targets}


@pytest.mark.parametrize("before", [".balign 8", ".balign 8\n.byte 1", ".balign 8\n.long 1"])
def test_labels_in_packed_data(before: str, tmp_path: Path) -> None:
    path = placed(WORDS.format(before=before), tmp_path)
    inner = next(s.st_value for s in load(path).symbols if s.name == "inner")
    assert labels(path) == {inner}


def test_labels_of_a_file_without_sections(tmp_path: Path) -> None:
    """What is loaded is data and code."""
    path = placed(WORDS.format(before=".balign 8"), tmp_path)
    known, data = labels(path), bytearray(path.read_bytes())
    data[0x28:0x30], data[0x3C:0x40] = bytes(8), bytes(4)  # e_shoff; e_shnum, e_shstrndx
    path.write_bytes(data)
    assert not load(path).sections
    assert known and known <= labels(path)
