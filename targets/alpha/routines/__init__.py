"""Our own tuned routines: assembly text, one file each, assembled by our own encoder.

`ev6/NAME.s` needs no more than a 21264 has, `ev67/NAME.s` is better where a 21264A's counts of
bits are there; `shared/` holds bodies that several routines include, and
`shared/ev6/`, `shared/ev67/` parts that differ.  The entry is the label with
the routine's name.  In routines that answer faults, a label `EXn$resume` (n any number) stands in
front of an instruction that may fault: control then goes on at the label `resume`, registers as
they were; these are the entries of an exception table.

A routine stands anywhere on a 64-byte boundary: it does not depend on its address.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rewriter.core.isa import Insn
from targets.alpha.assembler import assemble
from targets.alpha.isa import TABLE
from targets.assembly import included

_FOLDER = Path(__file__).parent
_BEST_FIRST = ("ev67", "ev6")
_MAY_FAULT = re.compile(r"EX\d+\$(\w+)")
_WORD = 4


@dataclass(frozen=True, slots=True)
class Routine:
    """Assembled: offsets are from the first byte of `code`.

    `resumes` maps each instruction that may fault to where control goes on; `needs` are the
    features of a CPU that its instructions need.
    """

    name: str
    folder: str
    text: str
    code: bytes
    entry: int
    resumes: tuple[tuple[int, int], ...]
    needs: frozenset[str]

    def insns(self) -> list[Insn]:
        """Its instructions in order."""
        return decoded(self.code)


def decoded(code: bytes) -> list[Insn]:
    """Code as instructions; a word that is none is an error of the routine."""
    words = [int.from_bytes(code[at : at + _WORD], "little") for at in range(0, len(code), _WORD)]
    insns = [insn for word in words if (insn := TABLE.decode(word)) is not None]
    assert len(insns) == len(words), "a word of the routine is no instruction"
    return insns


def names() -> tuple[str, ...]:
    """All routines there are."""
    return tuple(sorted({path.stem for name in _BEST_FIRST for path in _files(name)}))


def variants(name: str) -> tuple[Routine, ...]:
    """Every routine of that name, the best first."""
    folders = [f for f in _BEST_FIRST if (_FOLDER / f / f"{name}.s").is_file()]
    return tuple(_read(folder, name) for folder in folders)


def best(name: str, features: Collection[str]) -> Routine | None:
    """The best routine that a CPU with these features can run; None if there is none."""
    return next((r for r in variants(name) if r.needs <= set(features)), None)


def _files(folder: str) -> list[Path]:
    return sorted((_FOLDER / folder).glob("*.s"))


@cache
def _read(folder: str, name: str) -> Routine:
    shared = _FOLDER / "shared"
    own = (_FOLDER / folder / f"{name}.s").read_text(encoding="utf-8")
    text = included(own, shared / folder, shared)
    result = assemble(text)
    resumes = tuple(
        (address, result.labels[match[1]])
        for label, address in result.labels.items()
        if (match := _MAY_FAULT.fullmatch(label))
    )
    needs = frozenset(insn.op.needs for insn in decoded(result.code)) - {""}
    return Routine(name, folder, text, result.code, result.labels[name], resumes, needs)
