"""Straight Alpha code run on unknowns, from its top to each place where control may leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import CONSTANTS, FP, FZERO
from tests.support.mutants.alpha_ways import Ways
from tests.support.mutants.plain_base import WORD
from tests.support.mutants.plain_run import Leaving, Run
from tests.support.mutants.z3_machine import Z3Machine

_LONGEST = 160
_TRAPPING = frozenset({"trapb", "excb"})
_ALONE = frozenset({"prefetch"})
"""Events that do nothing."""


class AlphaMachine(Z3Machine):
    """With barriers that wait for traps: a handler may read floating-point registers, memory."""

    def event(self, name: str, *values: Any) -> None:
        if name in _ALONE:
            return
        if name in _TRAPPING:
            values = (*(self.get(Reg(r)) for r in range(FP, FZERO)), self.memory)
        super().event(name, *values)


def run(ways: Ways, first: int, other: Mapping[int, Insn], last: int) -> Run | None:
    """Code from `first` at least to `last`, with some instructions replaced by others.

    Branches ahead are left on the way; the code ends before what else transfers control, or before
    a place where control may come from elsewhere.  None where `last` is not reached so.
    """
    machine, leaving, address = AlphaMachine(constants=dict(CONSTANTS)), list[Leaving](), first

    def leave(to: int, condition: Any) -> None:
        leaving.append(Leaving(to, ways.settled(to, other), condition, machine.copy()))

    for _ in range(_LONGEST):
        insn = other.get(address) or ways.base.insn(address)
        if insn is None or (address > last and address in ways.heads):
            break
        if not TABLE.defs(insn) and insn.op.flow in (Flow.JUMP, Flow.RETURN):
            leave(address, z3.BoolVal(True))
            return tuple(leaving)
        if insn.op.flow not in (Flow.NEXT, Flow.BRANCH, Flow.TRAP):
            break
        if address in ways.program.fixups:
            leave(ways.program.fixups[address].resume, z3.BoolVal(True))
        machine.execute(insn, address)
        if insn.op.flow is Flow.BRANCH:
            to = insn.target(address)
            assert to is not None
            leave(to, z3.simplify(machine.condition))
        address += WORD
    if address <= last:
        return None
    leave(address, z3.BoolVal(True))
    return tuple(leaving)
