"""PowerPC files as their tests need them: targets, programs, what binutils says."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fixtures import inputs, powerpc
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image, load
from targets import of

LIBCS = tuple(f"{abi}-libc" for abi in powerpc.ABIS)


@cache
def image(name: str) -> Image:
    """An input, or its test is skipped."""
    return load(inputs.require(name))


def target_of(file: Image) -> Sequential:
    """The target of a PowerPC file."""
    target = of(file).sequential
    assert target is not None
    return target


def tool(name: str, program: str) -> str:
    """A program of the binutils or of gcc for the file of a name."""
    return inputs.require_tool(f"{powerpc.ABIS[name.partition('-')[0]][0]}-{program}")


def words(name: str) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """The addresses and the words of a file's text."""
    file = image(name)
    parts = [(start, file.words(start, end // 4 * 4, 4)) for start, end in file.executable_ranges()]
    places = [start + 4 * np.arange(len(part), dtype=np.uint64) for start, part in parts]
    return np.concatenate(places), np.concatenate([part for _, part in parts])


_LINE = re.compile(r"^ *([0-9a-f]+):\t(.*)$", re.MULTILINE)


@cache
def disassembly(name: str) -> dict[int, str]:
    """The text that objdump has for each word of a file, by its address."""
    command = (tool(name, "objdump"), "-dz", "--no-show-raw-insn", "-Mpower10,any")
    found = subprocess.run(
        (*command, str(inputs.find(name))), capture_output=True, text=True, check=True
    )
    return {int(place, 16): text for place, text in _LINE.findall(found.stdout)}


def compiled(abi: str, source: str, folder: Path, *options: str) -> Image:
    """A shared library of C for one of the ABIs, without the C library."""
    text, library = folder / "made.c", folder / f"{abi}.so"
    text.write_text(source, encoding="utf-8")
    gcc = tool(f"{abi}-libc", "gcc")
    flags = ("-O2", "-fPIC", "-shared", "-nostdlib", *options)
    subprocess.run((gcc, *flags, str(text), "-o", str(library)), check=True)
    return load(library)
