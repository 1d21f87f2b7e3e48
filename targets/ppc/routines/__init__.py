"""Our own tuned routines: assembly text, one file each, assembled by our own assembler.

A folder is named after the processor that its routines are made for: `750/NAME.s` needs no more
than a 750 has, `7450/NAME.s` also AltiVec, `power4/NAME.s` 64 bits and big-endian memory,
`power9/NAME.s` ISA 3.0 and little-endian memory.  `shared/FOLDER/` holds bodies that several
include.  What a 7450 does not do in another way it has from the 750, and a 970 from the POWER4: a
routine, or only its body.
The entry is the label with the routine's name; a routine stands anywhere on a 64-byte boundary,
calls nothing, and uses neither the stack nor registers that a caller keeps.

Comparisons give the difference of the first two bytes that differ.  What a contract leaves open
originals do in other ways, and `shared/KIND/` has the parts of routines that do it so: with `words`
a comparison gives what glibc's do on 32-bit machines that compare words, -1 and 1 (memcmp) or the
difference of two words (strcmp); with `signs` what glibc's strcmp for 64-bit machines does, -1 and
1 where both strings begin at a doubleword.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.asm.assembler import WORD, assemble
from targets.ppc.isa import table

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Folder:
    """Machines that routines of a folder are for: bits of a register, and order of bytes.

    What the folder lacks is taken from `base`, if it has one.
    """

    name: str
    width: int
    byteorder: ByteOrder
    base: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The folders that its routines come from, the best first."""
        return (self.name, self.base) if self.base else (self.name,)


FOLDERS: Mapping[str, Folder] = MappingProxyType(
    {
        folder.name: folder
        for folder in (
            Folder("750", 32, "big"),
            Folder("7450", 32, "big", base="750"),
            Folder("power4", 64, "big"),
            Folder("970", 64, "big", base="power4"),
            Folder("power8", 64, "little"),
            Folder("power9", 64, "little", base="power8"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Routine:
    """Assembled: addresses count from the first byte of `code`.

    `resumes` maps each instruction that may fault to where control goes on; none of ours does.
    `needs` are the features of a CPU that its instructions need.
    """

    name: str
    folder: str
    text: str
    code: bytes
    entry: int
    needs: frozenset[str]
    resumes: tuple[tuple[int, int], ...] = ()

    def insns(self) -> list[Insn]:
        """Its instructions in order."""
        machine = FOLDERS[self.folder]
        rows, order = table(machine.width, machine.byteorder), machine.byteorder
        words = (self.code[at : at + WORD] for at in range(0, len(self.code), WORD))
        found = [rows.decode(int.from_bytes(word, order)) for word in words]
        return [insn for insn in found if insn is not None]


def names(folder: str) -> tuple[str, ...]:
    """All routines of a folder."""
    found = (path.stem for part in FOLDERS[folder].paths for path in (_HERE / part).glob("*.s"))
    return tuple(sorted(set(found)))


def sources(folder: str, kind: str = "") -> tuple[Path, ...]:
    """Where the routines of a folder find what they include."""
    return tuple(_HERE / "shared" / part for part in (kind, *FOLDERS[folder].paths) if part)


@cache
def routine(folder: str, name: str, kind: str = "") -> Routine:
    """A folder's routine, the plain one or of a kind; FileNotFoundError when there is none,
    AssemblyError when it is none."""
    machine = FOLDERS[folder]
    paths = [_HERE / part / f"{name}.s" for part in machine.paths]
    path = next((path for path in paths if path.is_file()), paths[-1])
    text = path.read_text(encoding="utf-8")
    made = assemble(
        text,
        width=machine.width,
        byteorder=machine.byteorder,
        file=f"{path.parent.name}/{path.name}",
        folders=sources(folder, kind),
    )
    label = f"{name}-{kind}" if kind else name
    found = Routine(label, folder, text, made.code, made.labels[name], frozenset())
    return replace(found, needs=frozenset(insn.op.needs for insn in found.insns()) - {""})


_BEST_FIRST = ("7450", "750", "970", "power4", "power9", "power8")
_KINDS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys((("750", "memcmp"), ("750", "strcmp")), ("words",)),
        **dict.fromkeys((("7450", "memcmp"), ("7450", "strcmp")), ("words",)),
        **dict.fromkeys((("power4", "strcmp"), ("970", "strcmp")), ("signs",)),
        ("power9", "memcmp"): ("signs",),
    }
)
"""Kinds of a folder's routines beside the plain one."""


@cache
def variants(name: str, width: int, byteorder: ByteOrder) -> tuple[Routine, ...]:
    """Every routine for a contract that a machine's registers and memory suit: the best first, of
    each folder the plain one first.  What a folder has from another is that one's."""
    suiting = [
        folder
        for folder in _BEST_FIRST
        if (FOLDERS[folder].width, FOLDERS[folder].byteorder) == (width, byteorder)
    ]
    every = [
        routine(folder, name, kind)
        for folder in suiting
        if name in names(folder)
        for kind in ("", *_KINDS.get((folder, name), ()))
    ]
    codes = [one.code for one in every]
    return tuple(one for at, one in enumerate(every) if one.code not in codes[at + 1 :])
