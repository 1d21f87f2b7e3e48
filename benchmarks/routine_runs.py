"""Runs a routine on cases of its contract, checks it, and times what it did."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.contracts.contract import Case, Contract
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import System
from rewriter.timing import simulate
from rewriter.timing.engine import Chip
from rewriter.timing.model import chip
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.steps import Stepper, Stores
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.trial_program import AlphaTrials

_FAR = (1 << 30) + (1 << 21)  # bytes to other data: not in the same sets of a board cache
_BEFORE = 3  # calls before a cold one: loops are long enough for predictors to learn from few


class Runner:
    """One routine that is run on cases of one contract."""

    def __init__(self, code: Code, contract: Contract, stores: Stores, cpu: str) -> None:
        trials = AlphaTrials()
        program = trials.program(contract.linkage)
        self.code, self.cpu = code, CPUS[cpu]
        self._stepper = Stepper(code, contract, program, TABLE, trials.write_hints, stores)
        self.arena = program.arena
        self._text = _text(code)

    def trace(self, case: Case) -> list[Step]:
        """What it does; raises `Wrong` when that is not what the contract says."""
        problem = self._stepper.problem(case)
        if problem:
            raise Wrong(problem)
        return self._stepper.trace(case)

    def time(self, steps: list[Step], system: System, warm: bool) -> int:
        """The cycles of a trace, what it does not execute of its fetch blocks included.

        Cold is a call that has often been made, with data that is in no cache.
        """
        if warm:
            return simulate(steps, self.cpu, system, True, self._text).cycles
        one = self.stream(system)
        for _ in range(_BEFORE):
            one.run(steps)
        return one.run([_elsewhere(step) for step in steps]).cycles

    def stream(self, system: System) -> Chip:
        """A chip for one call after another."""
        return chip(self.cpu, system, self._text)


def _elsewhere(step: Step) -> Step:
    if step.access is None:
        return step
    return Step(
        *(step.address, step.insn, step.access + _FAR), *(step.size, step.store, step.target)
    )


class Wrong(Exception):
    """A routine does not do what its contract says."""


def _text(code: Code) -> Mapping[int, Insn]:
    """Everything that could be an instruction: fetch blocks are slotted as a whole."""
    found = {}
    for start, data in code.parts:
        for at in range(0, len(data) & -4, 4):
            insn = TABLE.decode(int.from_bytes(data[at : at + 4], "little"))
            if insn is not None:
                found[start + at] = insn
    return found
