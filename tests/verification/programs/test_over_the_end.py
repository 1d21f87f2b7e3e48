"""Where a call came back to, in a register that nothing reads but what control falls into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import analyse
from rewriter.elf.image import Image
from rewriter.verify.check import verify
from targets.alpha import Alpha
from tests.passes.layout.test_one_way import library

CODE = """
    lda $30,-16($30); stq $26,0($30); {before}; jsr $26,($27); {behind}; bne $0,1f
    ldq $26,0($30); {after}; lda $30,16($30); ret
1:  {last}; unop
"""
TRAP = "call_pal 0x81"


def made(folder: Path, **parts: str) -> Image:
    """A function, and one behind it that keeps where it was called from."""
    folder.mkdir()
    lines = CODE.format(**parts).replace(";", "\n").splitlines()
    codes: Mapping[str, Sequence[str]] = {"f": lines, "g": ["stq $26,0($16)", "ret"]}
    return library(folder, codes)


@pytest.mark.parametrize(
    ("last", "behind", "right"),
    [
        (TRAP, "unop", True),
        (f"unop; {TRAP}", "unop", True),
        (f"stq $26,0($16); {TRAP}", "unop", False),
        (f"bis $26,$26,$1; {TRAP}", "unop", False),
        ("jmp $31,($27)", "unop", False),
        (f"jsr $28,($27); {TRAP}", "unop", False),
        (TRAP, "bis $31,$31,$26", False),
    ],
)
def test_what_falls_over_the_end_may_find_another_place(
    last: str, behind: str, right: bool, tmp_path: Path
) -> None:
    """By a trap alone, and that place alone: the call moves by an instruction."""
    old = made(tmp_path / "old", before="", behind="unop", last=last, after="unop")
    new = made(tmp_path / "new", before="unop", behind=behind, last=last, after="")
    program = analyse(old, Alpha())
    assert verify(program, replace(old, data=new.data), lambda *_: None).ok is right
