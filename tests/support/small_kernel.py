"""A small file that stands where a kernel for Alpha does, made by Debian's tools."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fixtures import inputs
from rewriter.elf import image

_HEAD = r"""
        .set noat
        .macro func name
        .align 4
        .globl \name
        .type \name,@function
\name:  .cfi_startproc
        .endm
        .macro end name
        .cfi_endproc
        .size \name,.-\name
        .endm
        .macro call name
        jsr $26,\name
        ldgp $29,0($26)
        .endm
        .macro enter name
        func \name
        ldgp $29,0($27)
        lda $30,-16($30)
        .cfi_adjust_cfa_offset 16
        stq $26,0($30)
        .cfi_offset 26,-16
        .endm
        .macro leave name
        ldq $26,0($30)
        lda $30,16($30)
        .cfi_adjust_cfa_offset -16
        ret $31,($26),1
        end \name
        .endm
        .text
"""
_TABLE = """
        .section __ex_table,"a",@progbits
        .long 0, 0x23ff0000     # no access: lda $31,0($31)
"""
"""Every kernel has one, of accesses that may fault."""

START = 0xFFFFFC0000310000


def linked(folder: Path, code: str, name: str = "vmlinux") -> image.Image:
    """The code, between `func`, `enter` or the like and `end` or `leave`, as such a file."""
    assembler, linker = map(inputs.require_tool, ("alpha-linux-gnu-as", "alpha-linux-gnu-ld"))
    (folder / "k.s").write_text(_HEAD + code + _TABLE)
    link = (linker, "-N", "-static", "--no-relax", f"-Ttext={START:#x}", "k.o", "-o", name)
    for command in ((assembler, "k.s", "-o", "k.o"), link):
        subprocess.run(command, check=True, cwd=folder, stderr=subprocess.DEVNULL)
    return image.parse((folder / name).read_bytes(), name)
