"""Switches of IA-64 code: the words of a table are distances from themselves, or it is not read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.ia64 import linked
from fixtures.inputs import require
from rewriter.elf.image import load
from targets.ia64.image import jumps, tables
from targets.ia64.image.text import read

SWITCH = """
    .text
    .explicit
    .global f
    .proc f
f:  {{ .mmi; addl r14 = @ltoff(table), r1;; ld8 r14 = [r14]; nop.i 0 ;; }}
    {{ .mii; shladd r15 = r32, 3, r14; nop.i 0; nop.i 0 ;; }}
    {{ .mmi; {load}; nop.m 0; nop.i 0 ;; }}
    {{ .mii; {last}; nop.i 0; nop.i 0 ;; }}
    {{ .mii; nop.m 0; add r17 = {total};; mov b6 = r17 ;; }}
    {{ .mib; nop.m 0; nop.i 0; br.cond.sptk.many b6 ;; }}
one:
    {{ .mib; nop.m 0; nop.i 0; br.ret.sptk.many b0 ;; }}
    .endp f
    .section .rodata, "a"
    .balign 8
table:
    data8 one - table, one - table
"""


@pytest.mark.parametrize(
    ("load_", "last", "total", "is_one"),
    [
        ("ld8 r16 = [r15]", "nop.m 0", "r16, r15", True),
        ("ld8 r16 = [r15]", "nop.m 0", "r15, r16", True),
        ("ld8 r16 = [r15]", "nop.m 0", "r16, r14", False),
        ("ld8 r16 = [r15], 8", "nop.m 0", "r16, r15", False),
        ("ld8 r16 = [r15]", "adds r15 = 8, r15", "r16, r15", False),
        ("ld8 r15 = [r15]", "nop.m 0", "r15, r14", False),
        ("ld4 r16 = [r15]", "nop.m 0", "r16, r15", False),
    ],
    ids=["itself", "turned", "the table", "moved on", "moved later", "over it", "half"],
)
def test_a_word_is_a_distance_from_itself(
    load_: str, last: str, total: str, is_one: bool, tmp_path: Path
) -> None:
    source = tmp_path / "switch.s"
    source.write_text(SWITCH.format(load=load_, last=last, total=total))
    text = read(load(linked(source, tmp_path, "-shared")))
    assert [jumps.reads_table(text, at, 0) for at in jumps.indirect(text)] == [is_one]


def test_a_kernel_may_spell_its_tables_with_one_dot_less() -> None:
    """Lists of what is written over when it boots, in kernels of before 2.6.36."""
    kernel = load(require("ia64-vmlinux"))
    older = [replace(one, name=one.name.replace("..patch", ".patch")) for one in kernel.sections]
    assert {one.name for one in older} & {*tables.PATCHED}
    known = list(tables.held(kernel))
    assert any("when it boots" in one.reason for one in known)
    assert list(tables.held(replace(kernel, sections=tuple(older)))) == known
