"""Conditional branches with the opposite test (Power ISA 3.1B, Book I, section 2.4).

BO says what is asked for: a bit of the condition register that is set or not (8 apart), or whether
the count is zero or not (2 apart).  A branch that asks for both has no opposite.  Behind it are
hints: `a` that there is one, `t` that the branch is taken; without `a` a `t` reverses what chips
before POWER4 guess from the direction, which is another one now.
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow, Insn, Op
from targets.ppc.isa import control

_TESTS = {"bo_f": "bo_t", "bo_t": "bo_f", "bo_nz": "bo_z", "bo_z": "bo_nz"}
_TOGGLED = {"bo_f": 8, "bo_t": 8, "bo_nz": 2, "bo_z": 2}
_HINTED = {"bo_f": 2, "bo_t": 2, "bo_nz": 8, "bo_z": 8}
_TAKEN = 1


def _asks(op: Op) -> str:
    return op.format.operands[0].name


_BRANCHES = {
    (op.name, _asks(op)): op
    for op in control.ROWS
    if op.flow is Flow.BRANCH and op.format.target is not None
}
(_JUMP,) = (op for op in control.ROWS if op.name == "b")


def opposite(insn: Insn) -> Insn | None:
    """The branch as far that is taken where this one is not; None where there is none."""
    asks = _asks(insn.op) if insn.op.format.operands else ""
    op = _BRANCHES.get((insn.name, _TESTS.get(asks, "")))
    if op is None:
        return None
    bo, *rest = insn.operands
    kept = bo ^ _TAKEN if bo & _HINTED[asks] else bo & ~_TAKEN
    return Insn(op, (kept ^ _TOGGLED[asks], *rest))


def jump(distance: int) -> Insn:
    """A jump that leaves nothing in a register."""
    return Insn(_JUMP, (distance,))
