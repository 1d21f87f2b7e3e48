"""What an old routine and those that may replace it take on a CPU's model; whether one gains."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from passes.substitution.worth import Point, Run, Runs, Worth, once, worth
from rewriter.contracts import CONTRACTS, Contract
from rewriter.core.code.program import Function
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.protocol import CannotMove, Tuned
from rewriter.timing.described import NotDescribed, sched_of, traits_of
from rewriter.timing.model import least, simulate
from rewriter.verify.routines.replaceable import Known, Named
from rewriter.verify.routines.trial import Untried
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_at


@dataclass(frozen=True, eq=False)
class Weighing:
    """The cycles of an old routine and of those that may replace it, which are timed when they are
    asked for: the old one's once for all of them."""

    known: Known
    named: Named
    function: Function
    cpu: Cpu
    _sides: dict[str, Runs] = field(default_factory=dict)

    def gain(self, routine: Tuned) -> Worth | str:
        """What a tuned routine is worth, or what speaks against it; CannotMove if nobody knows."""
        try:
            gain = self.worth(routine)
            return gain.objection or gain.lost or gain
        except (Untried, NotDescribed) as unknown:
            raise CannotMove(f"no model says that it gains: {unknown}") from unknown

    def worth(self, routine: Tuned) -> Worth:
        """What a tuned routine is worth, before anything was timed."""
        ours = code_at(routine, self.known.program.target.arena.new)
        model = self._model()

        def both(contract: Contract) -> tuple[Runs, Runs]:
            return self._old(contract), self._timed(ours, model, contract)

        return worth([CONTRACTS[name] for name in self.named.contracts], both)

    def _old(self, contract: Contract) -> Runs:
        if contract.name not in self._sides:
            address, trials = self.named.address, self.known.trials
            old = trials.code_at(address, self.function.end - address, contract.name)
            self._sides[contract.name] = once(self._timed(old, self._model(), contract))
        return self._sides[contract.name]

    def _model(self) -> _Model:
        """The model of one code's traces."""
        return _Model(self.cpu, self.known.program.target.system(self.cpu))

    def _timed(self, code: Code, model: _Model, contract: Contract) -> Runs:
        """Runs of a code; they do not hold what weighs them, so that their traces go with them."""
        return partial(_runs, partial(self.known.trials.traces, code, contract), model)


def _runs(
    traced: Callable[[Iterable[Point], Cpu], Iterable[Sequence[Step]]],
    model: _Model,
    points: Iterable[Point],
    warm: bool,
) -> Iterator[Run]:
    """Of a code at points, each timed when it is asked for."""
    cpu = model.cpu
    traces = list(traced(points, cpu))
    for insn in {step.insn for steps in traces for step in steps}:
        sched_of(cpu, traits_of(cpu, insn))  # before any is timed, as some are not
    for steps in traces:
        yield Run(least(steps, cpu), partial(model.cycles, steps, warm))


@dataclass(frozen=True, eq=False)
class _Model:
    """What traces of one code take, where an address always has the same instruction.

    Calls of several lengths may do the same with other bytes: none is modelled twice.
    """

    cpu: Cpu
    system: System
    _known: dict[Hashable, int] = field(default_factory=dict)

    def cycles(self, steps: Sequence[Step], warm: bool) -> int:
        """The cycles of a trace."""
        key = warm, tuple([(step.address, step.access, step.size, step.target) for step in steps])
        if key not in self._known:
            self._known[key] = simulate(steps, self.cpu, self.system, warm).cycles
        return self._known[key]
