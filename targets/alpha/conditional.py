"""Conditional moves of Alpha and the branches that do the same: each has the other's test."""

from __future__ import annotations

from rewriter.core.isa.instruction import Insn
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import ZERO

_OPPOSITE = {"eq": "ne", "lt": "ge", "le": "gt", "lbs": "lbc"}
_OPPOSITE |= {other: test for test, other in _OPPOSITE.items()}
_FORMS = ("operate", "operate literal")
_MOVES = {form: TABLE.find("bis", form) for form in _FORMS}
_TESTS = {test: f"b{test}" for test in _OPPOSITE}
_CONDITIONAL = {(test, form): TABLE.find(f"cmov{test}", form) for test in _TESTS for form in _FORMS}
_BRANCHES = {test: TABLE.find(name) for test, name in _TESTS.items()}
_OF_MOVE = {op: key for key, op in _CONDITIONAL.items()}
_OF_BRANCH = {op: test for test, op in _BRANCHES.items()}
_JUMP = TABLE.find("br")

MOVES = frozenset(op.name for op in _OF_MOVE)
JUMP = _JUMP.name
NOTHING = 0x04000000
"""A word of an opcode that is reserved (PAL's OPC01), which is no instruction."""


def is_conditional(insn: Insn) -> bool:
    """Whether it is a conditional move."""
    return insn.op in _OF_MOVE


def branch(insn: Insn, distance: int, opposite: bool = False) -> Insn:
    """The branch with a conditional move's test, or the opposite one."""
    test, _ = _OF_MOVE[insn.op]
    return Insn(_BRANCHES[_OPPOSITE[test] if opposite else test], (insn.operands[0], distance))


def moving(insn: Insn) -> Insn:
    """The plain move of what a conditional move may move."""
    _, form = _OF_MOVE[insn.op]
    return Insn(_MOVES[form], (ZERO, *insn.operands[1:]))


def jump(distance: int) -> Insn:
    """A jump that leaves nothing in a register."""
    return Insn(_JUMP, (ZERO, distance))


def is_jump(insn: Insn) -> bool:
    """Whether it is one that `jump` gives."""
    return insn.op is _JUMP and insn.operands[0] == ZERO


def conditional(test: Insn, move: Insn, opposite: bool) -> Insn | None:
    """The conditional move that a branch and a plain move are: what it does if it is taken.

    With `opposite`, if it is not.  None where they are something else.
    """
    found = _OF_BRANCH.get(test.op)
    form = move.op.format.name
    if found is None or _MOVES.get(form) is not move.op or move.operands[0] != ZERO:
        return None
    op = _CONDITIONAL[_OPPOSITE[found] if opposite else found, form]
    return Insn(op, (test.operands[0], *move.operands[1:]))
