"""Where a jump through a table or a pointer leads: how far a bound on an index reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

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
