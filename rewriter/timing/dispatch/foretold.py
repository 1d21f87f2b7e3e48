"""What the front foretells of branches: their direction, and where those to registers go."""

from __future__ import annotations

from rewriter.core.target.cpu import Counters, Selected
from rewriter.core.target.dispatched_cpu import Fetching
from rewriter.timing import causes
from rewriter.timing.predictors import Choosing, ReturnStack, Saturating, Transfer

UNKNOWN = causes.OPERANDS
"""Nothing foretells where a branch goes: fetch waits for the register."""


def _predictor(figures: Counters | Selected | None) -> Saturating | Choosing | None:
    if isinstance(figures, Selected):
        return Choosing(figures)
    return None if figures is None else Saturating(figures)


class Foretold:
    """Counters or the direction for conditions, a stack for returns, last targets for the rest."""

    def __init__(self, figures: Fetching) -> None:
        self._branches = _predictor(figures.predictor)
        stack = figures.return_stack.value
        self._returns = ReturnStack(stack) if stack else None
        self._entries = figures.targets.value
        self._targets: dict[int, int] = {}

    def fault(self, transfer: Transfer) -> str:
        """The cause if the branch was not foretold, empty if it was; learns from it."""
        taken, goal = transfer.taken, transfer.goal
        if transfer.calls and taken and self._returns is not None:
            self._returns.push(transfer.following)
        if transfer.conditional and not self._right(transfer):
            return causes.BRANCH
        if not taken or not (transfer.computed or transfer.returns):
            return ""
        if transfer.returns and self._returns is not None:
            return "" if self._returns.right(goal) else causes.JUMP
        return self._remembered(transfer.address, goal)

    def _right(self, transfer: Transfer) -> bool:
        """Whether the direction of a condition was foretold."""
        if self._branches is not None:
            return self._branches.right(transfer.address, transfer.taken)
        goal = transfer.step.insn.target(transfer.address)
        return transfer.taken == (goal is not None and goal <= transfer.address)

    def _remembered(self, address: int, target: int) -> str:
        """Whether a branch goes where it went last."""
        if not self._entries:
            return UNKNOWN
        known = self._targets.pop(address, None)
        self._targets[address] = target
        if len(self._targets) > self._entries:
            del self._targets[next(iter(self._targets))]
        return "" if known == target else causes.JUMP
