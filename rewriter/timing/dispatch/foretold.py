"""What the front foretells of branches: their direction, and where those to registers go."""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow
from rewriter.core.readings.interpret import Step
from rewriter.core.target.dispatched_cpu import Fetching
from rewriter.timing import causes
from rewriter.timing.predictors import ReturnStack, Saturating

UNKNOWN = causes.OPERANDS
"""Nothing foretells where a branch goes: fetch waits for the register."""


class Foretold:
    """Counters or the direction for conditions, a stack for returns, last targets for the rest."""

    def __init__(self, figures: Fetching) -> None:
        self._branches = None if figures.predictor is None else Saturating(figures.predictor)
        stack = figures.return_stack.value
        self._returns = ReturnStack(stack) if stack else None
        self._entries = figures.targets.value
        self._targets: dict[int, int] = {}

    def fault(self, step: Step) -> str:
        """The cause if the branch was not foretold, empty if it was; learns from it."""
        flow, following = step.insn.op.flow, step.address + step.insn.size
        if flow in (Flow.CALL, Flow.INDIRECT_CALL) and self._returns is not None:
            self._returns.push(following)
        if flow is Flow.BRANCH and not self._right(step):
            return causes.BRANCH
        if step.target is None or step.insn.target(step.address) is not None:
            return ""
        # To a register.
        if flow is Flow.RETURN and self._returns is not None:
            return "" if self._returns.right(step.target) else causes.JUMP
        return self._remembered(step.address, step.target)

    def _right(self, step: Step) -> bool:
        """Whether the direction of a condition was foretold."""
        taken = step.target is not None
        if self._branches is not None:
            return self._branches.right(step.address, taken)
        goal = step.insn.target(step.address)
        return taken == (goal is not None and goal <= step.address)

    def _remembered(self, address: int, target: int) -> str:
        """Whether a branch goes where it went last."""
        if not self._entries:
            return UNKNOWN
        known = self._targets.pop(address, None)
        self._targets[address] = target
        if len(self._targets) > self._entries:
            del self._targets[next(iter(self._targets))]
        return "" if known == target else causes.JUMP
