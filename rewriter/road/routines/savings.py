"""What a call of a tuned routine saves on the CPU's model."""

from __future__ import annotations

from fractions import Fraction

from passes.substitute import Substitution
from rewriter.contracts import CONTRACTS
from rewriter.road.work import Work
from rewriter.timing.described import NotDescribed
from rewriter.timing.model import simulate
from rewriter.verify.routines.trial import Untried
from rewriter.verify.trials.image import code_at

_CASES = 24  # of the contract, spread over its shapes


def saved(work: Work, found: Substitution) -> Fraction | None:
    """Modelled cycles fewer, the mean of some cases of the contract, each warm.

    None where nobody asked, or one of the two cannot be run or timed here.
    """
    if work.savings is None:
        return None
    named, trials = found.named, work.known.trials
    contract = CONTRACTS[named.contracts[0]]
    cpu, system = work.savings.cpu, work.savings.system
    try:
        old = trials.code_at(named.address, found.function.end - named.address, contract.name)
        sides = (old, code_at(found.routine, work.program.target.arena.new))
        before, after = (
            sum(simulate(steps, cpu, system).cycles for steps in traces)
            for traces in (trials.traces(code, contract, _CASES) for code in sides)
        )
    except (Untried, NotDescribed):
        return None
    return Fraction(before - after, _CASES)
