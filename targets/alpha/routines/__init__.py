"""Our own tuned routines: assembly text, one file each, assembled by our own encoder.

`ev6/NAME.s` needs no more than a 21264 has, `ev67/NAME.s` is better where a 21264A's counts of
bits are there; `shared/` holds bodies that several routines include, and
`shared/ev6/`, `shared/ev67/` parts that differ.  The entry is the label with
the routine's name.  In routines that answer faults, a label `EXn$resume` (n any number) stands in
front of an instruction that may fault: control then goes on at the label `resume`, registers as
they were; these are the entries of an exception table.

Where a contract leaves something open, originals differ, and `shared/KIND/` has the parts of
routines that do it in another way than the plain ones: with `difference` a comparison gives the
difference of two bytes, where the plain one gives -1, 0 or 1; with `wide` a quotient of 32 bits
that does not fit is not cut.  No division raises SIGFPE: glibc's, which do, divide in floating
point, in fewer cycles than one bit of the quotient at a time unless the quotient is short.

A routine stands anywhere on a 64-byte boundary: it does not depend on its address.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rewriter.core.isa.instruction import Insn
from targets.alpha.assembler import assemble
from targets.alpha.isa.rows import TABLE
from targets.assembly import included

_FOLDER = Path(__file__).parent
_SHARED = _FOLDER / "shared"
_BEST_FIRST = ("ev67", "ev6")
_MAY_FAULT = re.compile(r"EX\d+\$(\w+)")
_WORD = 4
_KINDS = ("difference", "wide")


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
    """All contracts that there are routines for."""
    return tuple(sorted({path.stem for name in _BEST_FIRST for path in _files(name)}))


@cache
def variants(name: str) -> tuple[Routine, ...]:
    """Every routine for a contract: the best first, of each folder the plain one first."""
    return tuple(
        _assembled(folder, f"{name}-{kind}" if kind else name, text, name)
        for folder in _BEST_FIRST
        for kind in ("", *_KINDS)
        if (text := _text(folder, name, kind)) is not None
    )


def best(name: str, features: Collection[str]) -> Routine | None:
    """The best plain routine that a CPU with these features can run; None if there is none."""
    plain = (routine for routine in variants(name) if routine.name == name)
    return next((routine for routine in plain if routine.needs <= set(features)), None)


def _files(folder: str) -> list[Path]:
    return sorted((_FOLDER / folder).glob("*.s"), key=lambda path: path.stem)


def _text(folder: str, name: str, kind: str) -> str | None:
    """The text of a routine; None where there is none, or its kind is as good as the plain one.

    A part of a kind may be better in a folder that has not the whole routine.
    """
    if not kind:
        path = _FOLDER / folder / f"{name}.s"
        own = path.read_text(encoding="utf-8") if path.is_file() else None
        return own and included(own, _SHARED / folder, _SHARED)
    worse = _BEST_FIRST[_BEST_FIRST.index(folder) :]
    home = next((other for other in worse if (_FOLDER / other / f"{name}.s").is_file()), None)
    if home is None:
        return None
    own = (_FOLDER / home / f"{name}.s").read_text(encoding="utf-8")
    places = (_SHARED / kind / folder, _SHARED / kind, _SHARED / folder, _SHARED)
    text = included(own, *places)
    others = {_text(home, name, ""), _text(home, name, kind) if home != folder else None}
    return None if text in others else text


def _assembled(folder: str, name: str, text: str, contract: str) -> Routine:
    result = assemble(text)
    resumes = tuple(
        (address, result.labels[match[1]])
        for label, address in result.labels.items()
        if (match := _MAY_FAULT.fullmatch(label))
    )
    needs = frozenset(insn.op.needs for insn in decoded(result.code)) - {""}
    return Routine(name, folder, text, result.code, result.labels[contract], resumes, needs)
