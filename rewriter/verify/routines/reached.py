"""Whether trials of a routine have been everywhere that its code can go.

A few cases say nothing of code that none of them came to: a test for one length, a pointer that is
null.  So every instruction that control can come to from the routine's entries must have been
executed, in the routine and in what it calls or branches to, and where it goes on after a fault; a
jump by a table must have gone to each of its targets.  Where it comes to another known routine, the
trials of that one say so much of its code that nothing more is asked.  What no case came to of a
routine that a signature knows in every word can do no more than its contract: where that leaves no
result open it is not asked for.  What only traps is code like all else.  Not
asked is that an access faulted where both ways lead to code that some case came to, or one does
nothing but return.  Branches of the routine's own function must have gone both ways, those of
others need not: what a caller never asks of a function is part of it all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import AWAY, BRANCHING, Flow, Insn, To

Ways = Collection[tuple[int, int | None]]
"""Addresses of instructions that were executed, each with where control went; None: on."""


class Unreached(Exception):
    """What no case came to; or where control goes nobody knows."""


def unreached(
    program: Program,
    entries: Iterable[int],
    ways: Ways,
    own: Function | None = None,
    vouched: Collection[int] = frozenset(),
    tried: Callable[[int], bool] = lambda at: False,
) -> str:
    """What of a routine no case came to; nothing when they have been everywhere.

    `own` is its function, whose branches must have gone both ways; None where a signature vouches
    for every word of it.  `vouched` are, where besides its contract leaves nothing open, the places
    whose words the signature takes as they are: what no branch of it led to is not asked for there.
    `tried` says where a routine begins that its own trials vouch for.
    """
    done: dict[int, set[int | None]] = {}
    for at, to in ways:
        done.setdefault(at, set()).add(to)
    looking, seen = sorted(entries), set[int]()
    try:
        while looking:
            at = looking.pop()
            if at not in seen and not tried(at):
                seen.add(at)
                went = done.get(at, set())
                if not went and at in vouched:
                    continue
                if own is not None and at in own:
                    _both_ways(program, at, went)
                looking += _following(program, at, went)
    except Unreached as reason:
        return str(reason)
    return ""


def _both_ways(program: Program, at: int, went: Collection[int | None]) -> None:
    """Raises Unreached for a branch that every case that came to it went the same way."""
    insn = program.listing.insn(program.listing.index(at)) if program.listing.has(at) else None
    if insn is None or not insn.op.flow.conditional:
        return
    if len(went) == 1 and insn.target(at) != at + insn.size:
        raise Unreached(f"the branch at {at:#x} goes one way in every case")


def _following(program: Program, at: int, went: Collection[int | None]) -> Iterator[int]:
    """Where control may go from an address that was executed; else raises Unreached."""
    insn = program.listing.insn(program.listing.index(at)) if program.listing.has(at) else None
    if insn is None:
        raise Unreached(f"control comes to {at:#x}, where no instruction is")
    if not went:
        if _only_returns(program, at):
            return
        raise Unreached(f"no case comes to {at:#x}")
    fixup = program.fixups.get(at)
    if fixup is not None:
        yield fixup.resume
    yield from _gone(program, at, insn, went)


def _gone(program: Program, at: int, insn: Insn, went: Collection[int | None]) -> Iterator[int]:
    flow, after = insn.op.flow, at + insn.size
    if flow.to is To.REGISTER and not flow.links:
        yield from _table(program, at, {*went} - {None} if flow.conditional else went)
    elif flow.calls or flow in BRANCHING:
        target = insn.target(at)
        target = program.references.callees.get(at) if target is None else target
        if target is None:
            raise Unreached(f"where control goes at {at:#x} is not known")
        yield target
    elif flow is Flow.STOP:
        raise Unreached(f"where control goes at {at:#x} is not known")
    if flow not in AWAY:
        yield after


def _only_returns(program: Program, at: int) -> bool:
    """Whether nothing is done there but to return, as elsewhere: a way that a branch did not go."""
    listing, target = program.listing, program.target
    while listing.has(at):
        insn = listing.insn(listing.index(at))
        if insn is None or not target.is_nop(insn):
            return insn is not None and insn.op.flow is Flow.RETURN
        at += insn.size
    return False


def _table(program: Program, at: int, went: Collection[int | None]) -> Iterable[int]:
    """The targets of a jump by a table, and no others."""
    tables = (table for table in program.references.tables if table.jump == at)
    found = {target for table in tables for target in table.targets}
    if not found or found != set(went):
        raise Unreached(f"the computed jump at {at:#x} does not go everywhere")
    return found
