"""Files without section headers: what is known to be data, and what data says of code."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.functions import find_functions
from rewriter.analysis.program import analyse
from rewriter.elf.headers import SHF_ALLOC, SHF_EXECINSTR
from rewriter.elf.image import Image, load, parse
from rewriter.verify.check import verify

LIBRARY = """
int outer(int *), printf(const char *, ...);
void leave(int *);
int f(int x) { __attribute__((cleanup(leave))) int n = x; return outer(&n) + printf("%d", n); }
int g(int *p) { return outer(p) + 1; }
"""
END = '.section .eh_frame, "a", @progbits\n.long 0\n'
"""What crtend.o has, which is not linked: the end of the unwind table."""
VERSIONS = "ONE { global: f; }; TWO { global: g; } ONE;"


def bare(image: Image) -> Image:
    """The same file without section headers."""
    data = bytearray(image.data)
    at, size, counts = (0x28, 8, 0x3C) if image.bits == 64 else (0x20, 4, 0x30)
    data[at : at + size], data[counts : counts + 4] = bytes(size), bytes(4)
    return parse(bytes(data), image.name)


def built(machine: str, source: str, folder: Path, *options: str) -> Image:
    """A file that gcc links from a source, whose name says its language."""
    gcc = inputs.require_tool(f"{machine}-linux-gnu-gcc")
    command = (gcc, "-nostdlib", source, *options, "-o", "file")
    subprocess.run(command, check=True, cwd=folder)
    return load(folder / "file")


@pytest.mark.parametrize("style", ["sysv", "gnu"])
@pytest.mark.parametrize("machine", ["alpha", "powerpc", "powerpc64", "powerpc64le"])
def test_what_the_loader_and_the_unwinder_read_is_no_code(
    machine: str, style: str, tmp_path: Path
) -> None:
    (tmp_path / "f.c").write_text(LIBRARY)
    (tmp_path / "f.map").write_text(VERSIONS)
    (tmp_path / "end.s").write_text(END)
    flags = ("-shared", "-fPIC", "-O1", "-fexceptions", f"-Wl,--hash-style={style}", "end.s")
    one = built(machine, "f.c", tmp_path, *flags, "-Wl,-z,noseparate-code,--version-script=f.map")
    ranges = bare(one).executable_ranges()
    seen = set[str]()
    for s in one.sections:
        last = s.sh_addr + s.sh_size - (4 if s.name == ".eh_frame" else 0)
        inside = any(a < last and s.sh_addr < end for a, end in ranges)
        if s.sh_flags & SHF_EXECINSTR:
            assert any(a <= s.sh_addr and s.sh_addr + s.sh_size <= end for a, end in ranges)
        elif s.sh_flags & SHF_ALLOC and s.sh_size and not s.name.startswith(".rodata"):
            assert not inside, s.name
            seen.add(s.name)
    assert not any(a <= one.segments[0].p_vaddr < end for a, end in ranges)
    assert {".eh_frame", ".gcc_except_table", ".dynsym", ".gnu.version_d", ".rela.dyn"} <= seen


def test_code_is_none_of_the_tables_that_are_said_to_be_there(tmp_path: Path) -> None:
    """A note that covers a function: what is exported as a function is code."""
    (tmp_path / "f.c").write_text(LIBRARY)
    one = built("powerpc", "f.c", tmp_path, "-shared", "-fPIC", "-O1", "-Wl,--build-id")
    code = next(s for s in one.symbols if s.name == "g")
    segments = tuple(
        replace(s, p_vaddr=code.st_value - 4, p_filesz=16) if s.p_type == 4 else s
        for s in bare(one).segments
    )
    ranges = replace(bare(one), segments=segments).executable_ranges()
    assert any(start <= code.st_value - 4 and code.st_value + 16 <= end for start, end in ranges)


SWITCH = """
    .globl _start, number
    .section .text
    .type _start, @function
_start:
    .cfi_startproc
    li 11, 1            # written again, and never read
    li 11, 2
    cmplwi 3, 2
    bgt 3f
{address}
    slwi 3, 3, 2
    lwzx 0, 9, 3
    add 9, 9, 0
    mtctr 9
    bctr
1:  li 3, 1
    blr
2:  li 3, 1
    blr
3:  li 3, 2
    blr
    .cfi_endproc
    .size _start, .-_start
    .section .rodata
    .balign 4
    .long 0x48000005    # reads like a call of what is behind
table:
    .long 1b - table, 2b - table, 3b - table
number:
    .long 0x38600001, 0x38600002, 0x4e800020
    .size number, .-number
"""
FIXED = SWITCH.format(address="    lis 9, table@ha\n    la 9, table@l(9)")


@pytest.mark.parametrize("sectioned", [True, False])
@pytest.mark.parametrize(("entry", "is_same"), [(1, True), (2, False)])
def test_a_jump_table_among_what_reads_like_code(
    sectioned: bool, entry: int, is_same: bool, tmp_path: Path
) -> None:
    """The first entry leads where another one does: the same is done there, or not."""
    (tmp_path / "f.s").write_text(FIXED)
    (tmp_path / "end.s").write_text(END)
    flags = ("-static", "-no-pie", "end.s", "-Wl,-z,noseparate-code,--eh-frame-hdr")
    one = built("powerpc", "f.s", tmp_path, *flags)
    old = one if sectioned else bare(one)
    program = analyse(old, targets.of(old))
    (table,) = program.references.tables
    data, at = bytearray(old.data), old.offset_of(table.address)
    data[at : at + 4] = data[at + 4 * entry : at + 4 * entry + 4]
    start = old.offset_of(program.functions[0].start)
    data[start + 3] = 5
    new = replace(old, data=bytes(data))
    assert (not verify(program, new, lambda *progress: None).findings) is is_same


def test_a_symbol_without_a_type_may_be_of_data(tmp_path: Path) -> None:
    (tmp_path / "f.s").write_text(SWITCH.format(address="mflr 9"))
    one = built("powerpc", "f.s", tmp_path, "-shared", "-Wl,-z,noseparate-code")
    named = {function.name for function in find_functions(bare(one), ())}
    assert "_start" in named and "number" not in named
    assert any(s.name == "number" and s.st_size for s in bare(one).symbols)
