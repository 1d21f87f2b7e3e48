"""Law 2: a file with our note survives the tools that distributions run over it, and still runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.core.errors import BadInput
from rewriter.elf import note
from rewriter.elf.headers import PT_LOAD, read_headers
from rewriter.elf.image import load, parse

LIBC = "alpha-libc"
PAYLOAD = b"manifest" * 100
SYSROOT = "/usr/alpha-linux-gnu"

HELLO = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
    int v[] = {3, 1, 2};
    char text[64];
    qsort(v, 3, sizeof *v, by_value);
    snprintf(text, sizeof text, "hello %d %g", v[0], strtod("2.5", NULL));
    puts(text);
    return strlen(text) != 11;
}
"""

# name: the command with FILE in place, and whether it keeps sections that are not loaded
TOOLS = {
    "strip": (["alpha-linux-gnu-strip", "FILE"], True),
    "strip -g": (["alpha-linux-gnu-strip", "-g", "FILE"], True),
    "objcopy": (["alpha-linux-gnu-objcopy", "FILE"], True),
    "eu-strip": (["eu-strip", "FILE"], True),
    # llvm-strip without options removes every section that is not loaded (--strip-all).
    "llvm-strip": (["llvm-strip", "FILE"], False),
    "llvm-strip -g": (["llvm-strip", "-g", "FILE"], True),
}


def processed(data: bytes, tool: str, path: Path) -> bytes:
    """Return `data` after a tool of TOOLS, run on a copy at `path`."""
    command, _ = TOOLS[tool]
    program = inputs.require_tool(command[0])
    path.write_bytes(data)
    arguments = [str(path) if word == "FILE" else word for word in command[1:]]
    subprocess.run([program, *arguments], check=True, capture_output=True, timeout=60)
    return path.read_bytes()


def loaded(data: bytes) -> list[bytes]:
    """Return what PT_LOAD brings into memory, less where the headers of sections are.

    The first segment holds the ELF header, whose e_shoff, e_shnum and e_shstrndx no loader reads.
    """
    headers = read_headers(data, "file")
    row = list(headers.layout.ehdr.unpack_from(data, 16))
    row[5] = row[11] = row[12] = 0
    data = data[:16] + headers.layout.ehdr.pack(*row) + data[16 + headers.layout.ehdr.size :]
    loads = [s for s in headers.segments if s.p_type == PT_LOAD]
    return [data[s.p_offset : s.p_offset + s.p_filesz] for s in loads]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dynamically linked Alpha program."""
    compiler = inputs.require_tool("alpha-linux-gnu-gcc")
    folder = tmp_path_factory.mktemp("hello")
    (folder / "hello.c").write_text(HELLO)
    command = [compiler, "-O1", "-o", str(folder / "hello"), str(folder / "hello.c")]
    subprocess.run(command, check=True, timeout=60)
    return folder / "hello"


def run(program: Path, libraries: Path) -> subprocess.CompletedProcess[str]:
    """Run with the libc.so.6.1 of the folder `libraries`."""
    qemu = inputs.require_tool("qemu-alpha")
    command = [qemu, "-L", SYSROOT, "-E", f"LD_LIBRARY_PATH={libraries}", str(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_noted_libc_survives(tool: str, tmp_path: Path, program: Path) -> None:
    original = inputs.require(LIBC).read_bytes()
    noted = processed(note.attach(original, payload=PAYLOAD), tool, tmp_path / "libc.so.6.1")
    plain = processed(original, tool, tmp_path / "plain")
    assert loaded(noted) == loaded(plain)
    image = load(tmp_path / "libc.so.6.1")
    assert image.relocations == parse(plain, "plain").relocations
    assert note.find(noted) == (PAYLOAD if TOOLS[tool][1] else None)
    with pytest.raises(BadInput, match=r"layout changed|has no section"):
        note.detach(noted)
    result = run(program, tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "hello 1 2.5\n", "")


def test_the_program_runs_with_the_noted_libc_itself(tmp_path: Path, program: Path) -> None:
    original = inputs.require(LIBC).read_bytes()
    noted = note.attach(original, payload=PAYLOAD)
    assert loaded(noted) == loaded(original)
    (tmp_path / "libc.so.6.1").write_bytes(noted)
    result = run(program, tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "hello 1 2.5\n", "")


def test_the_library_in_the_folder_is_the_one_that_runs(tmp_path: Path, program: Path) -> None:
    """Without this control, every test above would pass with the system's libc."""
    target = tmp_path / "libc.so.6.1"
    shutil.copy(inputs.require(LIBC), target)
    data = bytearray(target.read_bytes())
    at = load(target).offset_of(next(s.st_value for s in load(target).symbols if s.name == "qsort"))
    data[at : at + 4] = bytes(4)  # call_pal halt, not for user mode
    target.write_bytes(data)
    assert run(program, tmp_path).returncode != 0


@pytest.mark.parametrize("tool", ["eu-strip", "llvm-strip", "llvm-strip -g"])
def test_a_big_endian_32_bit_library_too(tool: str, tmp_path: Path) -> None:
    original = inputs.require("ppc-libc").read_bytes()
    noted = processed(note.attach(original, payload=PAYLOAD), tool, tmp_path / "noted")
    assert loaded(noted) == loaded(processed(original, tool, tmp_path / "plain"))
    assert note.find(noted) == (PAYLOAD if TOOLS[tool][1] else None)
