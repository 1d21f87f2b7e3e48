"""A library whose debug information is in a file of its own, made with the tools of dh_strip."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fixtures import inputs

SOURCES = Path(__file__).parents[2] / "fixtures"


@dataclass(frozen=True)
class Split:
    """A library with a debug link, the debug file that this names, and the library before that."""

    library: Path
    debug: Path
    whole: Path


def tool(name: str, *arguments: object, machine: str = "alpha") -> str:
    """What a program for a machine prints; it ends well."""
    command = (inputs.require_tool(f"{machine}-linux-gnu-{name}"), *map(str, arguments))
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def split(folder: Path, *flags: str, compress: bool = True, machine: str = "alpha") -> Split:
    """Built and taken apart."""
    run = partial(tool, machine=machine)
    library, debug, whole = (folder / name for name in ("lib.so", "lib.debug", "whole.so"))
    sources = (SOURCES / "corners" / "p01.c", SOURCES / "lines_other.c")
    run("gcc", "-g", "-O2", "-w", "-fPIC", "-shared", *flags, *sources, "-o", library)
    whole.write_bytes(library.read_bytes())
    packed = ("--compress-debug-sections",) if compress else ()
    run("objcopy", "--only-keep-debug", *packed, library, debug)
    run("strip", "--strip-unneeded", library)
    run("objcopy", f"--add-gnu-debuglink={debug}", library)
    return Split(library, debug, whole)
