"""What unwind information says of a function of IA-64: mutants of descriptors and of code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures.ia64 import linked
from rewriter.elf.image import Image, load
from rewriter.verify.regions.check import compare
from targets.ia64.image import facts, unwind

PROLOGUE = {
    "named": """.prologue
        .save ar.pfs, r36
        { .mii; alloc r36 = ar.pfs, 3, 4, 1, 0
        .save rp, r35
        mov r35 = b0; nop.i 0 ;; }
        .body""",
    "at its end": """.prologue 12, 35
        { .mii; alloc r36 = ar.pfs, 3, 4, 1, 0; mov r35 = b0; nop.i 0 ;; }
        .body""",
    "in the body": """.prologue
        .save ar.pfs, r36
        { .mii; alloc r36 = ar.pfs, 3, 4, 1, 0; nop.i 0; nop.i 0 ;; }
        .body
        .spillreg r4, r38""",
}
"""By where something is said to be saved."""
BODY = """
        { .mii; mov r38 = r4; mov r39 = r32; nop.i 0 ;; }
        { .mii; ld8 r8 = [r32]; mov r4 = r33; nop.i 0 ;; }
        { .mii; ld8 r8 = [r32]; mov r4 = r38; nop.i 0 ;; }
        { .mib; nop.m 0; nop.i 0; br.ret.sptk.many b0 ;; }
"""


def library(text: str, folder: Path, name: str = "old") -> Image:
    """One function of this text."""
    source = folder / f"{name}.s"
    source.write_text(f"\t.text\n\t.explicit\n\t.global f\n\t.proc f\nf:\n{text}\n\t.endp f\n")
    return load(linked(source, folder, "-shared"))


def findings(old: Image, new: Image) -> tuple[str, ...]:
    target = targets.of(old).bundling
    assert target is not None
    return compare(old, new, target, lambda *progress: None).findings


def prolonged(image: Image) -> Image:
    """The prologue said to end a bundle later."""
    (entry,) = facts.unwind_entries(image)
    found = unwind.unwinding(image, entry)
    raw = bytearray(found.raw)
    for part, more in zip(found.parts[:2], (3, -3), strict=True):
        part.length.written(part.length.value + more, raw)
    data = bytearray(image.data)
    at = image.offset_of(entry.info + unwind.HEADER)
    data[at : at + len(raw)] = raw
    return replace(image, data=bytes(data))


@pytest.mark.parametrize("saved", PROLOGUE)
def test_the_end_of_a_prologue_moves_where_nothing_is_counted_from_it(
    saved: str, tmp_path: Path
) -> None:
    """What is saved at no named time is at the end; the body's own times count from there."""
    old = library(PROLOGUE[saved] + BODY, tmp_path)
    found = findings(old, prolonged(old))
    assert ["ends within code that changed" in each for each in found] == [True] * (
        saved != "named"
    )


FRAME = """.prologue
        .save ar.pfs, r36
        {{ .mii; alloc r36 = ar.pfs, 3, 5, 1, 0
        .fframe 32
        adds r12 = -32, r12; mov r35 = b0 ;; }}
        {{ .mii; adds r37 = 16, r12; mov r38 = ar.lc; adds r39 = 24, r12 ;; }}
        {{ .mmi
        {rp}
        st8 [r37] = r35
        {lc}
        st8 [r39] = r38; nop.i 0 ;; }}
        .body
        {{ .mib; nop.m 0; mov r40 = r32; br.call.sptk.many b0 = f ;; }}
        {{ .mmi; ld8 r14 = [r37]; ld8 r15 = [r39]; nop.i 0 ;; }}
"""
RESTORE = "{ .mii; nop.m 0; mov b0 = r14; mov ar.lc = r15 ;; }\n"
FREE = ".restore sp\n{ .mii; adds r12 = 32, r12; nop.i 0; nop.i 0 ;; }\n"
RETURN = "{ .mib; ld8 r8 = [r8]; nop.i 0; br.ret.sptk.many b0 ;; }\n"


@pytest.mark.parametrize(("rp", "lc", "is_refused"), [
    (".savesp rp, 16", ".savesp ar.lc, 24", True),
    (".savesp rp, 16", "", True),
    ("", ".savesp ar.lc, 24", True),
    (".save rp, r35", ".save ar.lc, r38", False),
])  # fmt: skip
def test_what_is_saved_on_the_stack_is_restored_before_that_is_freed(
    rp: str, lc: str, is_refused: bool, tmp_path: Path
) -> None:
    """Unwinders look for it there up to the instruction that `.restore sp` names; where it is
    saved in registers they look there, in front of that and behind."""
    frame = FRAME.format(rp=rp, lc=lc)
    old = library(frame + RESTORE + FREE + RETURN, tmp_path)
    new = library(frame + FREE + RESTORE + RETURN, tmp_path, "new")
    assert any("frees the stack" in each for each in findings(old, new)) == is_refused
    assert not any("frees the stack" in each for each in findings(new, old))
