"""What new code on PowerPC needs where it stands: a way to it, and what unwinding goes by."""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow
from rewriter.core.target.protocol import CannotMove, FrameRow
from targets.ppc.image.data import WORD
from targets.ppc.isa.table import PpcTable
from targets.ppc.registers import LR, SP

PAGE = 0x10000
"""Bytes: the largest page of Linux for PowerPC, for which linkers lay files out."""

_BRANCH, _REACH = 18 << 26, 1 << 25


def branch(at: int, to: int) -> int:
    """The word of `b` to an address: no more than 32 MiB away."""
    distance = to - at
    if distance % WORD or not -_REACH <= distance < _REACH:
        raise CannotMove(f"{to:#x} is too far from {at:#x} for a branch")
    return _BRANCH | distance % (2 * _REACH)


def frame_rows(table: PpcTable, code: bytes) -> tuple[FrameRow, ...]:
    """How unwinding a leaf routine changes: not at all; CannotMove for any other routine."""
    for at in range(0, len(code), WORD):
        insn = table.decode(int.from_bytes(code[at : at + WORD], table.byteorder))
        if insn is None:
            raise CannotMove(f"no instruction at offset {at:#x}")
        if insn.op.flow.links or insn.op.flow is Flow.TRAP:
            raise CannotMove(f"{insn.name} in a routine")
        if table.defs(insn) >> SP & 1 or table.defs(insn) >> LR & 1:
            raise CannotMove("the stack pointer or the return address is computed")
    return ()
