"""What explains a change to PowerPC code besides what explains one to any plain code."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.core.isa.instruction import Insn
from targets.ppc.registers import GPR, SP
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import PlainBase
from tests.support.mutants.plain_copies import Copies
from tests.support.mutants.plain_decide import PlainDecider
from tests.support.mutants.plain_run import Leaving, Run
from tests.support.mutants.ppc_run import run
from tests.support.mutants.ppc_ways import Ways

_EFFORT = 300_000
_KEPT = frozenset((SP, *range(GPR + 14, GPR + 32)))


def moved(insn: Insn) -> tuple[int, int] | None:
    """(source, result) of a move."""
    if insn.name != "or":
        return None
    result, one, other = insn.operands
    return (GPR + one, GPR + result) if one == other else None


class Decider(PlainDecider):
    """Decides for one base."""

    ways: Ways

    def __init__(self, base: PlainBase) -> None:
        ways = Ways(base)
        super().__init__(base, ways, Copies(ways, moved, _KEPT), _EFFORT)

    def run(self, first: int, other: Mapping[int, Insn], last: int) -> Run | None:
        """Up to where control may come from elsewhere."""
        return run(self.ways, first, other, last)

    def is_dead(self, leaving: Leaving, register: int) -> bool:
        """By the ways from where it goes to; by the calling standard where a register says that."""
        if leaving.to is not None:
            return not self.ways.may_read(leaving.to, register)
        unread = self.ways.lost if leaving.returns else self.ways.passed_by
        return bool(unread >> register & 1)

    def by_running(self, change: Change, first: int, other: Mapping[int, Insn], last: int) -> str:
        """With what follows besides, wherever control comes to that from."""
        found = super().by_running(change, first, other, last)
        if found:
            return found
        top = self.ways.straight_before(first)
        old, new = (run(self.ways, top, one, last, through=True) for one in ({}, other))
        return "equal in what follows" if self.same(old, new, dead=True) else ""
