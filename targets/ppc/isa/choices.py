"""A move that a branch leads over, and `isel`, which is both (Power ISA 3.1B, Book I, 3.3.18)."""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow, Insn
from targets.ppc.isa import control, integer
from targets.ppc.isa.formats import WORD
from targets.ppc.registers import GPR, ZERO

(_CHOICE,) = (op for op in integer.ROWS if op.name == "isel")
_MOVE = next(op for op in integer.ROWS if op.name == "or")
_SET = next(op for op in integer.ROWS if op.name == "addi")
_BRANCHES = {
    op.format.operands[0].name: op
    for op in control.ROWS
    if op.name == "bc" and op.flow is Flow.BRANCH
}
_IF_SET, _IF_NOT = "bo_t", "bo_f"  # without a count
_HINTLESS = {_IF_SET: 12, _IF_NOT: 4}

NAMES = frozenset({_CHOICE.name})
BARRIERS = frozenset(("isync",))


def chosen(branch: Insn, move: Insn) -> Insn | None:
    """What does what a move does that a branch leads over; None where nothing does."""
    asks = branch.op.format.operands[0].name if branch.name == "bc" else ""
    found = _moved(move)
    if asks not in _HINTLESS or found is None:
        return None
    (target, source), condition = found, (branch.operand("bi"), branch.operand("bi_bit"))
    if asks == _IF_SET:  # where the bit is set the target stays
        fits, ways = target != GPR and source != ZERO, (target, source)
    else:
        fits, ways = source != GPR, (source, target)
    return Insn(_CHOICE, (target, *ways, *condition)) if fits and target != source else None


def as_branch(insn: Insn) -> tuple[Insn, Insn] | None:
    """The branch over the place of a move, and the move; None where it is no such choice."""
    if insn.op is not _CHOICE:
        return None
    target, first, second, *condition = insn.operands
    if first == second or target not in (first, second):
        return None
    asks, source = (_IF_SET, second) if first == target else (_IF_NOT, first)
    move = (_SET, (target, ZERO, 0)) if source == ZERO else (_MOVE, (target, source, source))
    branch = Insn(_BRANCHES[asks], (_HINTLESS[asks], *condition, WORD))
    return branch, Insn(*move)


def _moved(insn: Insn) -> tuple[int, int] | None:
    """The register that gets another one's value, or zero, and that other."""
    if insn.op is _MOVE and insn.operands[1] == insn.operands[2]:
        return insn.operands[0], insn.operands[1]
    if insn.op is _SET and insn.operands[1:] == (ZERO, 0):
        return insn.operands[0], ZERO
    return None
