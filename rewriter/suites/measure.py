"""Modelled cycles of a routine on a case of its contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.contracts.contract import Contract
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.trials import Program
from rewriter.timing.model import simulate
from rewriter.timing.result import Result
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.steps import Stepper


@dataclass(frozen=True)
class Laboratory:
    """A CPU in a machine, and how its routines are run."""

    cpu: Cpu
    system: System
    table: Table
    write_hints: Mapping[str, int]

    def bench(self, code: Code, contract: Contract, program: Program) -> Bench:
        """One routine on this CPU."""
        return Bench(self, Stepper(code, contract, program, self.table, self.write_hints))


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
