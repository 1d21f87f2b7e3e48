"""Modelled cycles of a routine on a case of its contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.contracts.contract import Contract
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.trials import Trials
from rewriter.timing.model import simulate
from rewriter.timing.result import Result
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.steps import Stepper


@dataclass(frozen=True)
class Laboratory:
    """A CPU in a machine, and how its routines are run."""

    cpu: Cpu
    system: System
    trials: Trials

    def bench(self, code: Code, contract: Contract) -> Bench:
        """One routine on this CPU."""
        trials = self.trials
        stepper = Stepper(
            code,
            contract,
            trials.program(contract.linkage),
            trials.table,
            trials.write_hints,
            arithmetic=trials.arithmetic,
            worlds=(trials.world(self.cpu),),
        )
        return Bench(self, stepper)


@dataclass(frozen=True)
class Bench:
    """One routine on one CPU."""

    laboratory: Laboratory
    stepper: Stepper

    def cycles(self, point: Mapping[str, int], warm: bool) -> int:
        """The cycles of one call; see `run`."""
        return self.run(point, warm).cycles

    def run(self, point: Mapping[str, int], warm: bool) -> Result:
        """The time of one call, from the entry to the return.

        Warm: caches and predictors have seen the same call once; otherwise nothing of it.
        """
        stepper = self.stepper
        steps = stepper.trace(stepper.contract.case(stepper.program.arena, point))
        return simulate(steps, self.laboratory.cpu, self.laboratory.system, warm)
