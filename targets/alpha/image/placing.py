"""What new code on Alpha needs where it stands: a way to it, and what unwinding goes by."""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import CannotMove, FrameRow
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import RA, SP, ZERO

PAGE = 0x2000
"""Bytes: the only page size of every Alpha so far (Handbook v4, 3.1 leaves 8 to 64 KB open)."""

_WORD, _REACH = 4, 1 << 20
_State = tuple[int, int | None]
"""How far the stack pointer is below the caller's, and the register of the return address."""


def branch(at: int, to: int) -> bytes:
    """`br` to an address: no more than 4 MiB away."""
    steps, rest = divmod(to - at - _WORD, _WORD)
    if rest or not -_REACH <= steps < _REACH:
        raise CannotMove(f"{to:#x} is too far from {at:#x} for a branch")
    br = Insn(TABLE.find("br"), (ZERO, steps * _WORD))
    return TABLE.encode(br).to_bytes(_WORD, "little")


def frame_rows(code: bytes) -> tuple[FrameRow, ...]:
    """Follows every path from the start; CannotMove where two paths disagree."""
    insns = [
        TABLE.decode(int.from_bytes(code[at : at + _WORD], "little"))
        for at in range(0, len(code), _WORD)
    ]
    states: dict[int, _State] = {}
    queue: list[tuple[int, _State]] = [(0, (0, None))]
    while queue:
        at, state = queue.pop()
        if states.setdefault(at, state) != state:
            raise CannotMove(f"two ways to unwind at offset {at * _WORD:#x}")
        insn = insns[at] if 0 <= at < len(insns) else None
        if insn is None:
            raise CannotMove("control leaves the routine")
        following = [(n, s) for n, s in _after(at, insn, state) if states.get(n) != s]
        queue += following
    return _rows(len(insns), states)


def _after(at: int, insn: Insn, state: _State) -> list[tuple[int, _State]]:
    """Where control goes from an instruction, and how to unwind there."""
    flow, target = insn.op.flow, insn.target(at * _WORD)
    state = _changed(insn, state)
    if flow is Flow.RETURN:
        return []
    if target is None:
        if flow not in (Flow.NEXT, Flow.TRAP):
            raise CannotMove(f"{insn.name} in a routine")
        return [(at + 1, state)]
    there = target // _WORD
    if flow is Flow.JUMP:
        return [(there, state)]
    if flow is Flow.CALL:
        if state[1] is None:
            raise CannotMove("a call loses the return address")
        return [(there, (state[0], None)), (at + 1, state)]
    return [(there, state), (at + 1, state)]


def _changed(insn: Insn, state: _State) -> _State:
    depth, link = state
    if insn.name == "lda" and insn.operand("ra") == SP:
        if insn.operand("rb") != SP:
            raise CannotMove("the stack pointer is computed")
        return depth - insn.operand("disp"), link
    defs = TABLE.defs(insn)
    if defs >> SP & 1:
        raise CannotMove("the stack pointer is computed")
    if insn.name == "bis" and insn.has("rb") and insn.operand("ra") == ZERO:
        source, result = insn.operand("rb"), insn.operand("rc")
        if source == RA and link is None:
            return depth, result
        if result == RA and source == link:
            return depth, None
    if link is not None and defs >> link & 1:
        raise CannotMove("the return address is lost")
    if link is None and defs >> RA & 1:
        raise CannotMove("the return address is lost")
    return state


def _rows(count: int, states: dict[int, _State]) -> tuple[FrameRow, ...]:
    """What is not reached is unwound as what stands before it."""
    rows: list[FrameRow] = []
    current: _State = (0, None)
    for at in range(count):
        state = states.get(at, current)
        if state != current:
            rows.append(FrameRow(at * _WORD, *state))
        current = state
    return tuple(rows)
