"""What timing asks of a PowerPC instruction, read off its row of the table.

A result is named where it may come at another time than the instruction's other ones: `base` is
the register that an update form moves, `cr` a field of the condition register.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.run.kept import alike, by
from rewriter.core.target.cpu import Traits
from targets.ppc.cpus.classes import refined
from targets.ppc.isa import table
from targets.ppc.registers import CR, CTR, LR

_TABLE = table(64, "big")  # what rows read and write is the same in all of them
_JUMPS = 1 << LR | 1 << CTR
_FIELDS = range(CR, CR + 8)
_STATUS = ("so", "fpscr", "vscr", "time", "tm")
"""Registers that nobody waits for: flags that only add up, rounding modes, clocks."""
_TIMED = sum(1 << n for n, name in enumerate(_TABLE.register_names) if not name.startswith(_STATUS))


def _traits(insn: Insn) -> Traits:
    uses, defs = _TABLE.uses(insn), _TABLE.defs(insn)
    if insn.name == "ori" and not any(insn.operands):
        uses = defs = 0
    named = {
        int(value): operand.name
        for value, operand in zip(insn.operands, insn.op.format.operands, strict=True)
        if operand.kind is Kind.REGISTER
    }
    reads, writes = _bits(uses & _TIMED), _bits(defs & _TIMED)
    moves = insn.op.sched.endswith(("-u", "-ux"))
    return Traits(
        sched=refined(insn, bool(defs & _JUMPS)),
        flow=insn.op.flow,
        reads=reads,
        roles=tuple(named.get(register, "") for register in reads),
        writes=writes,
        results=tuple(_result(register, named, moves) for register in writes),
    )


def _result(register: int, named: dict[int, str], moves: bool) -> str:
    """What a written register is; `moves`: the instruction updates its base."""
    if register in _FIELDS:
        return "cr"
    return "base" if moves and named.get(register, "").startswith("ra") else ""


def _bits(mask: int) -> tuple[int, ...]:
    """The registers of a mask."""
    return tuple(n for n in range(mask.bit_length()) if mask >> n & 1)


def _seen(op: Op) -> Iterable[int]:
    """What the traits of a row depend on: a nop is one by its number, a move of a bit by both."""
    every = op.name == "ori" or op.sched == "cr_logical"
    return range(len(op.format.operands)) if every else _TABLE.naming(op)


plain = alike(_traits, by(_seen))
"""The traits of an instruction; a nop waits for nothing."""
