"""Conditional moves of Alpha and branches: with the same tests, and with opposite ones."""

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
_FLOATING = {test: TABLE.find(f"fb{test}") for test in ("eq", "ne", "lt", "ge", "le", "gt")}
_INVERTED = {op: ops[_OPPOSITE[test]] for ops in (_BRANCHES, _FLOATING) for test, op in ops.items()}
_JUMP = TABLE.find("br")
_ORDERS = {"cmplt": "cmple", "cmpult": "cmpule"}
_NOT_SO = _ORDERS | {other: name for name, other in _ORDERS.items()}
_EQUALS = "cmpeq"
_DIFFERENCE = TABLE.find("subq", "operate")
_BY_ZERO = {"eq": True, "ne": False, "lbc": True, "lbs": False}

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


def opposite(insn: Insn) -> Insn | None:
    """The branch as far that is taken where this one is not; None where there is none."""
    op = _INVERTED.get(insn.op)
    return None if op is None else Insn(op, insn.operands)


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


def is_one(insn: Insn) -> bool:
    """Whether a conditional move puts one in its register, by whether a value is zero."""
    test, form = _OF_MOVE.get(insn.op, ("", ""))
    return test in _BY_ZERO and form == "operate literal" and insn.operands[1] == 1


def saying(insn: Insn, compare: Insn) -> Insn | None:
    """The comparison, to the same register, that is one where a conditional move moves.

    x <= y is not so where y < x.  None where there is no such comparison.
    """
    test, _ = _OF_MOVE[insn.op]
    if compare.name not in {*_NOT_SO, _EQUALS}:
        return None
    if not _BY_ZERO[test]:
        return compare
    if compare.name not in _NOT_SO or compare.op.format.name != "operate":
        return None
    first, second, target = compare.operands
    return Insn(TABLE.find(_NOT_SO[compare.name], "operate"), (second, first, target))


def negated(insn: Insn) -> int | None:
    """The register of which an instruction takes the negative, if it does that."""
    takes = insn.name in {"subq", "subl"} and insn.op.format.name == "operate"
    return insn.operands[1] if takes and insn.operands[0] == ZERO else None


def difference(insn: Insn, register: int) -> Insn:
    """What a conditional move tests, less a register, in the place of the conditional move."""
    return Insn(_DIFFERENCE, (insn.operands[0], register, insn.operands[2]))
