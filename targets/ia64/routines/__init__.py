"""Our own tuned routines: assembly text, one file each, assembled by our own encoder.

`itanium2/NAME.s` is made for an Itanium 2; `.include NAME` stands for the text of another, or of a
part in `shared/`.  The entry is the label with the routine's name; a routine stands anywhere on a
32-byte boundary: it does not depend on its address.

Comparisons give the difference of the first two bytes that differ, as glibc's do.

In a routine that answers faults, control goes on at the label `fault` after an access in front of
it has faulted, at `stopped` after one behind it: these are the entries of an exception table.  The
kernel changes r8, and r9 where an entry says so, and no other register.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rewriter.core.code.groups import Slot
from targets.assembly import Assembled, included
from targets.ia64.asm.assembler import assemble
from targets.ia64.isa import bundles

FOLDER = "itanium2"
ALIGNMENT = 32  # bytes: where a routine may stand; what is fetched in a cycle
_HERE = Path(__file__).parent
_FAULTING = ("LD", "ST", "STF", "FLD", "FLDP")  # classes of instructions that access memory


@dataclass(frozen=True, slots=True)
class Routine:
    """Assembled: addresses count from the first byte of `code`.

    `resumes` maps each slot that may fault (the bundle's address and the slot's number) to where
    control goes on.
    """

    name: str
    folder: str
    text: str
    code: bytes
    entry: int
    resumes: tuple[tuple[int, int], ...]
    needs: frozenset[str] = frozenset()

    def slots(self) -> list[Slot]:
        """Its instructions, as if it stood at address 0."""
        return list(bundles.straight(self.code, 0))


def names() -> tuple[str, ...]:
    """All routines there are."""
    return tuple(sorted(path.stem for path in (_HERE / FOLDER).glob("*.s")))


@cache
def routine(name: str) -> Routine:
    """The routine of that name; FileNotFoundError when there is none."""
    text = (_HERE / FOLDER / f"{name}.s").read_text(encoding="utf-8")
    return made(name, included(text, _HERE / FOLDER, _HERE / "shared"))


def made(name: str, text: str) -> Routine:
    """The routine that a text is; AssemblyError where it is none."""
    result = assemble(text)
    resumes = tuple(_resumes(result))
    return Routine(name, FOLDER, text, result.code, result.labels[name], resumes)


def _resumes(assembled: Assembled) -> Iterator[tuple[int, int]]:
    fault, stopped = (assembled.labels.get(name) for name in ("fault", "stopped"))
    if fault is None or stopped is None:
        return
    for slot in bundles.straight(assembled.code, 0):
        if slot.insn.op.sched in _FAULTING:
            yield slot.address, fault if slot.address < fault else stopped
