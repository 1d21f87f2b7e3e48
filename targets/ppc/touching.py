"""Asking for lines ahead: the 32-bit chips see no streams themselves.

`dcbt` is a hint (PowerPC architecture, Book II, 3.2.2: it never faults, and does nothing where
memory is guarded or not cached).  It has no displacement, so that how far it asks is in a register
of its own.
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Insn
from targets.ppc.idioms import SCRATCH
from targets.ppc.isa import table
from targets.ppc.registers import GPR, ZERO

_FAR = 1 << 15
_UPDATES = frozenset(
    (
        *("lbzu", "lhzu", "lhau", "lwzu", "lfsu", "lfdu"),
        *("stbu", "sthu", "stwu", "stfsu", "stfdu"),
    )
)


class Touches:
    """The capability `hints`."""

    HINT_ALIGNMENT = 1
    SPARES = SCRATCH

    def __init__(self) -> None:
        rows = table(32, "big")
        self._touch, self._add = rows.find("dcbt"), rows.find("addi")

    def hint(
        self, write: bool, aligned: bool, base: int, displacement: int, spare: int
    ) -> tuple[Insn, ...] | None:
        """The distance in a register, and the hint, for what is read and what is written alike."""
        if not -_FAR <= displacement < _FAR or base in (GPR, ZERO):
            return None
        distance = Insn(self._add, (spare, ZERO, displacement))
        return distance, Insn(self._touch, (base, spare))

    def is_hint(self, insn: Insn) -> bool:
        """Whether it is dcbt of a block; with TH it says more."""
        return insn.op == self._touch

    def stepped(self, insn: Insn) -> tuple[int, int] | None:
        """The base that an access moves, and by how many bytes."""
        if insn.name not in _UPDATES or not insn.has("d"):
            return None
        return insn.operand("ran"), insn.operand("d")
