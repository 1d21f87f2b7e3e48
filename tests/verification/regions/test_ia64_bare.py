"""IA-64 files without section headers: unwind table, shared data and words as with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.ia64 import linked
from rewriter.analysis.functions import find_functions
from rewriter.elf.image import load
from targets.ia64 import Ia64
from tests.verification.test_bare_files import bare

LABELS = """
    .text
    .explicit
    .global f
    .proc f
f:  .prologue
    .save rp, r33
    { .mii; alloc r32 = ar.pfs, 0, 2, 0, 0; mov r33 = b0; nop.i 0 ;; }
    .body
    { .mmi; nop.m 0; nop.m 0; nop.i 0 ;; }
inner:
    { .mmi; nop.m 0; nop.m 0; nop.i 0 ;; }
    { .mib; nop.m 0; nop.i 0; br.ret.sptk.many b0 ;; }
    .endp f
    .section .rodata, "a"
    .balign 8
words:
"""


@pytest.mark.parametrize(
    ("word", "options"), [("inner - words", ("-shared",)), ("inner", ("-e", "f"))]
)
def test_data_of_ia64_names_labels(word: str, options: tuple[str, ...], tmp_path: Path) -> None:
    """A distance where a library is loaded anywhere, an address in a program."""
    (tmp_path / "labels.s").write_text(LABELS + f"    data8 {word}\n")
    one = load(linked(tmp_path / "labels.s", tmp_path, *options))
    target = Ia64()
    for image in (one, bare(one)):
        code = target.code(image, find_functions(image, target.described(image)))
        (start,) = code.described
        assert code.labelled[code.text.index(start + 0x20)]
        assert not code.labelled[code.text.index(start + 0x10)]
        assert code.gp == target.code(one, ()).gp
