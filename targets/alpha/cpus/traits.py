"""What timing asks of an Alpha instruction, read off its row of the table."""

from __future__ import annotations

from collections.abc import Iterable

from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.run.kept import alike, by
from rewriter.core.target.cpu import Traits
from targets.alpha.image.pointers import is_nop
from targets.alpha.isa.rows import TABLE

NOP = "nop"  # the class of what the 21264 throws away before its queues
_HINT_SPAN = 1 << 16  # a jump's hint gives bits <15:2> of the target (Handbook v4, 4.3.3)
_WORD = 4


def _plain(insn: Insn) -> Traits:
    if is_nop(insn):
        return Traits(insn.op.sched, Flow.NEXT, (), (), ())
    return _of(insn)


def _discarding(insn: Insn) -> Traits:
    return Traits(NOP, Flow.NEXT, (), (), ()) if is_nop(insn) else _of(insn)


def _of(insn: Insn) -> Traits:
    effects = TABLE.effects(insn.op)
    named = [(insn.operands[i], insn.op.format.operands[i]) for i in effects.reads]
    reads = [(r, o.name) for r, o in named if o.kind is Kind.REGISTER and r not in TABLE.constants]
    reads += [(r, "") for r in sorted(effects.fixed_reads) if r not in TABLE.constants]
    writes = [insn.operands[i] for i in effects.writes] + sorted(effects.fixed_writes)
    has_hint = insn.has("hint") and insn.op.flow is not Flow.RETURN
    return Traits(
        sched=insn.op.sched,
        flow=insn.op.flow,
        reads=tuple(int(r) for r, _ in reads),
        roles=tuple(name for _, name in reads),
        writes=_variable(writes),
        hint=insn.operand("hint") * _WORD if has_hint else None,
        hint_span=_HINT_SPAN,
    )


def _variable(registers: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(r) for r in registers if r not in TABLE.constants)


def _seen(op: Op) -> Iterable[int]:
    hint = op.format.positions.get("hint")
    return TABLE.naming(op) if hint is None else (*TABLE.naming(op), hint)


_key = by(_seen)
"""The row and the operands that the traits depend on: most numbers are none of them."""

plain = alike(_plain, _key)
"""For a chip that issues nops like anything else; they wait for nothing."""

discarding = alike(_discarding, _key)
"""For a chip that throws nops away before they are queued."""
