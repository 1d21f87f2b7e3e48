"""Code that is executed again: behind arithmetic that traps late, where software completes it.

A handler goes back from where the trap came to the instruction that caused it, computes its
result, and goes on right behind it.  So what stands between the two, up to a barrier for traps or
a transfer of control (its shadow), must do the same when it is done twice: nothing there writes a
register that was read or written before in it, nor memory from which something there loads.  And a
transfer of control ends the way back, so that the handler does not find the instruction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rewriter.core.code.listing import Listing
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.idioms import Completing
from rewriter.core.target.protocol import Sequential


def unlike_twice(old: Iterable[Insn | None], new: Iterable[Insn | None], target: Sequential) -> str:
    """What new code has in a shadow, and old code has not, that does something else when it is
    done twice; nothing where there is no such thing.  None stands for no instruction.
    """
    known = target.completing
    if known is None:
        return ""
    more = _unlike_twice(new, target, known)
    if not more:
        return ""
    more -= _unlike_twice(old, target, known)
    first = next(iter(more), None)
    return "" if first is None else f"{first.name} is executed twice where a trap comes late"


def _unlike_twice(
    insns: Iterable[Insn | None], target: Sequential, known: Completing
) -> Counter[Insn]:
    """What does something else when it is done twice; of loads those before a store in a shadow."""
    table, found = target.table, Counter[Insn]()
    is_open, touched, loads = False, 0, list[Insn]()
    for insn in insns:
        if insn is None:
            continue
        effects, used, written = table.effects(insn.op), table.uses(insn), table.defs(insn)
        if not is_open:
            is_open, touched, loads = known.is_completed(insn), used | written, []
        elif insn.op.flow is not Flow.NEXT or known.is_barrier(insn):
            is_open = False
        elif not target.is_nop(insn):
            touched |= used
            found[insn] += bool(written & touched)
            touched |= written
            found.update(loads if effects.stores else ())
            loads = [*(() if effects.stores else loads), *((insn,) if effects.loads else ())]
    return +found


def in_shadow(listing: Listing, at: int, first: int, target: Sequential) -> bool:
    """Whether what stands at a position is in a shadow, as code reads from position `first` on."""
    known = target.completing
    if known is None:
        return False
    for position in range(at - 1, first - 1, -1):
        insn = listing.insn(position)
        if insn is None or insn.op.flow is not Flow.NEXT or known.is_barrier(insn):
            return False
        if known.is_completed(insn):
            return True
    return False
