"""Alpha with made-up instructions: transfers of control that it does not have and others do.

Each stands in a major opcode that the Alpha Architecture Handbook keeps free (OPC01 to OPC07).
`sense` tells the two conditions apart: 1 goes where `ra` is zero, 0 where it is not.
"""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.code.listing import Listing, decode_words
from rewriter.core.isa.instruction import Flow, Format, Insn
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from rewriter.core.target.protocol import Memory
from targets.alpha import Alpha, abi
from targets.alpha.isa.formats import BARE, BRANCH, row
from targets.alpha.isa.formats import RA as FIRST
from targets.alpha.isa.formats import RB as SECOND
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import RA

COUNTER = 1  # what `loop_call` counts down
SENSE = Operand("sense", Kind.IMMEDIATE, ((0, 1),))
CONDITIONAL = Format("made conditional", (FIRST, SECOND, SENSE), "{ra},({rb}),{sense}", 4)


def _holds(m: Machine, ra: Reg, sense: Value) -> Value:
    return m.eq(m.bit(m.eq(m.get(ra), m.const(0))), m.get(sense))


def _leave(m: Machine, ra: Reg, rb: Reg, sense: Value) -> None:
    m.branch(_holds(m, ra, sense), m.get(rb) & m.const(-4))


def _call(m: Machine, ra: Reg, rb: Reg, sense: Value) -> None:
    holds, target = _holds(m, ra, sense), m.get(rb) & m.const(-4)
    m.set(Reg(RA), m.next)
    m.branch(holds, target)


def _direct_call(m: Machine, ra: Reg, target: Value) -> None:
    holds = m.eq(m.get(ra), m.const(0))
    m.set(Reg(RA), m.next)
    m.branch(holds, target)


def _loop_call(m: Machine, ra: Reg, target: Value) -> None:
    left = m.get(Reg(COUNTER)) - m.const(1)
    m.set(Reg(COUNTER), left)
    m.set(Reg(RA), m.next)
    m.branch(m.negate(m.eq(left, m.const(0))), target)


def _here(m: Machine) -> None:
    m.set(Reg(RA), m.next)


ROWS = (
    row("ret_if", CONDITIONAL, 1 << 26, _leave, "jsr", flow=Flow.RETURN_IF),
    row("jmp_if", CONDITIONAL, 2 << 26, _leave, "jsr", flow=Flow.INDIRECT_IF),
    row("jsr_if", CONDITIONAL, 3 << 26, _call, "jsr", flow=Flow.INDIRECT_CALL_IF),
    row("bsr_if", BRANCH, 4 << 26, _direct_call, "br", flow=Flow.CALL_IF),
    row("loop_call", BRANCH, 5 << 26, _loop_call, "br", flow=Flow.CALL_IF),
    row("here", BARE, 6 << 26, _here, "br", flow=Flow.HERE),
)

MADE = replace(TABLE, name="alpha with made-up flows", rows=(*TABLE.rows, *ROWS))


def insn(name: str, *operands: int) -> Insn:
    """An instruction of the table."""
    return Insn(MADE.find(name), operands)


def made(name: str, *operands: int) -> str:
    """A made-up instruction as the assembler takes it."""
    return f".long {MADE.encode(insn(name, *operands)):#x}"


def _plain(insn: Insn) -> Insn:
    """What Alpha has in the place of an instruction."""
    names = {Flow.RETURN_IF: "ret", Flow.INDIRECT_IF: "jmp", Flow.INDIRECT_CALL_IF: "jsr"}
    name = names.get(insn.op.flow)
    link = RA if insn.op.flow.links else 31
    return insn if name is None else Insn(TABLE.find(name), (link, insn.operand("rb"), 0))


class Made(Alpha):
    """Alpha whose conditional transfers go by its calling standard, too."""

    table = MADE

    def listing(self, image: Memory, like: Listing | None = None) -> Listing:
        """Decodes all text."""
        parts = [(s, image.words(s, e, 4)) for s, e in image.executable_ranges()]
        return decode_words(MADE, parts, like=like)

    @staticmethod
    def live_after(insn: Insn) -> int:
        """As after the transfer that is always taken."""
        return abi.live_after(_plain(insn))

    @staticmethod
    def standard_call(insn: Insn) -> bool:
        """Through the standard link register, whether always or not."""
        return abi.standard_call(_plain(insn))

    @staticmethod
    def standard_return(insn: Insn) -> bool:
        """Through the standard link register, whether always or not."""
        return abi.standard_return(_plain(insn))
