"""Our own tuned routines: assembly text, one file each, assembled by our own assembler.

A folder is named after the processor that its routines are made for: `750/NAME.s` needs no more
than 32 bits of a 750, `7450/NAME.s` also AltiVec, `970/NAME.s` 64 bits and big-endian memory,
`power9/NAME.s` ISA 3.0 and little-endian memory.  `shared/FOLDER/` holds bodies that several
include.  The entry is the label with the routine's name; a routine stands anywhere on a 64-byte
boundary, calls nothing, and uses neither the stack nor registers that a caller keeps.

Comparisons give the difference of the first two bytes that differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from targets.ppc.asm.assembler import assemble

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Folder:
    """Machines that routines of a folder are for: bits of a register, and order of bytes."""

    name: str
    width: int
    byteorder: Literal["little", "big"]


FOLDERS: Mapping[str, Folder] = MappingProxyType(
    {
        folder.name: folder
        for folder in (
            Folder("750", 32, "big"),
            Folder("7450", 32, "big"),
            Folder("970", 64, "big"),
            Folder("power9", 64, "little"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Routine:
    """Assembled: addresses count from the first byte of `code`.

    `resumes` maps each instruction that may fault to where control goes on; none of ours does.
    """

    name: str
    folder: Folder
    text: str
    code: bytes
    entry: int
    resumes: tuple[tuple[int, int], ...] = ()


def names(folder: str) -> tuple[str, ...]:
    """All routines of a folder."""
    return tuple(sorted(path.stem for path in (_HERE / folder).glob("*.s")))


def sources(folder: str) -> tuple[Path, ...]:
    """Where the routines of a folder find what they include."""
    return (_HERE / "shared" / folder, _HERE / "shared")


@cache
def routine(folder: str, name: str) -> Routine:
    """A folder's routine; FileNotFoundError when there is none, AssemblyError when it is none."""
    path, machine = _HERE / folder / f"{name}.s", FOLDERS[folder]
    text = path.read_text(encoding="utf-8")
    made = assemble(
        text,
        width=machine.width,
        byteorder=machine.byteorder,
        file=f"{folder}/{path.name}",
        folders=sources(folder),
    )
    return Routine(name, machine, text, made.code, made.labels[name])
