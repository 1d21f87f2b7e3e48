"""Comparisons of a register with a number, and branches that go by them alone.

A field of the condition register has one of three bits set behind them: less, greater, equal
(Power ISA 3.1B, Book I, 2.3.1, 3.3.10).  A record form compares all of its result with zero.
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.idioms import Compared
from targets.ppc.registers import CR

_SIGNED = {"cmpi": "si", "cmpli": "ui"}
_DOUBLEWORD = 1 << 21  # L: the whole register is compared
RECORDED = frozenset(
    (
        *("or.", "and.", "andi.", "andis.", "xor.", "nor.", "andc.", "add.", "addic.", "subf."),
        *("neg.", "extsb.", "extsh.", "extsw.", "rlwinm.", "rldicl.", "rldicr.", "rldic."),
        *("slw.", "srw.", "sld.", "srd.", "srawi.", "sradi."),
    )
)
"""Rows whose first operand is a result that they compare with zero."""
_ORDERS = {0: -1, 1: 1, 2: 0}
_ALL = frozenset(_ORDERS.values())


class Comparisons:
    """The capability `comparing` for machines of so many bits."""

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def compared(self, insn: Insn) -> Compared | None:
        """What cmpi, cmpli and record forms compare."""
        if insn.name in RECORDED:
            return Compared(CR, insn.operands[0], self._bits, True, 0)
        if insn.name not in _SIGNED:
            return None
        number = _SIGNED[insn.name]
        bits = self._bits if insn.op.match & _DOUBLEWORD else 32
        held = insn.operand("bf"), insn.operand("ra")
        return Compared(*held, bits, number == "si", insn.operand(number))

    def asked(self, insn: Insn) -> tuple[int, frozenset[int]] | None:
        """What bc and bclr ask for: a bit that is set or not, and no count."""
        sets, clears = insn.has("bo_t"), insn.has("bo_f")
        if insn.op.flow not in (Flow.BRANCH, Flow.RETURN_IF) or not (sets or clears):
            return None
        order = _ORDERS.get(insn.operand("bi_bit"))
        if order is None:
            return None
        return insn.operand("bi"), frozenset({order}) if sets else _ALL - {order}
