"""Whether a branch is taken exactly where another one is not."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewriter.core.code.dataflow import machine
from rewriter.core.edit import Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.target.protocol import Sequential
from rewriter.verify.terms.prover import Prover


@dataclass
class Opposites:
    """The opposites of branches, as the target names them and as terms show them."""

    target: Sequential
    prover: Prover
    _shown: dict[Insn, Insn | None] = field(default_factory=dict)

    def of(self, insn: Insn) -> Insn | None:
        """The branch with the opposite test, no way on; None where there is none."""
        if insn.op.flow is not Flow.BRANCH or self.target.inverting is None:
            return None
        here = _nowhere(insn)
        if here not in self._shown:
            other = self.target.inverting.opposite(here)
            shown = other is not None and opposite(self.target, self.prover, here, other)
            self._shown[here] = other if shown else None
        return self._shown[here]


def opposite(target: Sequential, prover: Prover, one: Insn, other: Insn) -> bool:
    """Whether two branches do the same but for their tests, of which always one holds."""
    if one.op.flow is not Flow.BRANCH or other.op.flow is not Flow.BRANCH:
        return False
    table = target.table
    with table.terms() as terms:
        states = machine(table, terms), machine(table, terms)
        for state, insn in zip(states, (one, other), strict=True):
            state.execute(insn, 0)
        first, second = states
        if first.control is None or second.control is None:
            return False
        if any(state.events or state.loaded or state.stored for state in states):
            return False
        pairs = [(first.get(r), second.get(r)) for r in map(Reg, range(len(table.register_names)))]
        pairs.append((terms.bnot(first.control[0]), second.control[0]))
        return all(a is b or prover.equal(a, b)[0] is Grade.PROVED for a, b in pairs)


def _nowhere(insn: Insn) -> Insn:
    """A branch without how far it goes."""
    form = insn.op.format
    return insn if form.target is None else insn.replace(**{form.operands[form.target].name: 0})
