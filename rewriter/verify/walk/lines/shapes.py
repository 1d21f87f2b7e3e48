"""What may be a version of a loop for long counts, wherever it stands.

lead:  a pass of the loop          body:  a test whether a line is left
       a branch out of it                 a branch to the loop, if none is
       a test where a line begins         what gives up the line, and the passes that store it
       a branch to `lead`, if not         a jump to `body`
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.idioms import WholeLines
from rewriter.core.target.protocol import Sequential, is_hint

Part = tuple[Insn, ...]


class Version(NamedTuple):
    """A loop of one block, and the parts of its version; all but `body` end with their branch.

    `lead` is a pass and the branch out of the loop, `starts` asks where a line begins, `guards`
    whether enough is left, and `body` stores a line.
    """

    loop: Part
    lead: Part
    starts: Part
    guards: tuple[Part, ...]
    body: Part


class Found(NamedTuple):
    """A version with its place: positions of all that it is, and the address of the loop's head.

    `ways` are the positions of the branches that lead to it.
    """

    version: Version
    places: range
    head: int
    ways: tuple[int, ...]


def versions(
    listing: Listing, function: Function, target: Sequential, known: WholeLines
) -> Iterator[Found]:
    """What may be versions of loops in a function: as many as there are lines given up."""
    code = _Code(listing, function, target)
    for number, insn in enumerate(code.insns):
        if known.given_up(insn) is not None:
            found = _found(code, number, known)
            if found is not None:
                yield found


class _Code:
    """A function's instructions without nops and hints, by number.

    `cut` are the numbers of those right behind data.
    """

    def __init__(self, listing: Listing, function: Function, target: Sequential) -> None:
        first, last = listing.span(function.start, function.end)
        here = zip(range(first, last), listing.insns_at(first, last), strict=True)
        kept = [
            (at, insn)
            for at, insn in here
            if insn is not None and not target.is_nop(insn) and not is_hint(insn, target)
        ]
        listed = [at for at, insn in kept]
        data = np.flatnonzero(listing.rows[first:last] < 0) + first
        self.cut = {*np.searchsorted(listed, data).tolist()}
        self.positions = [at for at, _ in kept]
        self.insns = [insn for _, insn in kept]
        self.addresses: list[int] = listing.addresses[self.positions].tolist()
        self.function = function

    def goal(self, number: int) -> int | None:
        """The number of what a branch leads to, over nops; None out of the function."""
        target = self.insns[number].target(self.addresses[number])
        if target is None or target not in self.function:
            return None
        number = bisect_left(self.addresses, target)
        if number == len(self.addresses):
            return None
        return None if number in self.cut and self.addresses[number] != target else number

    def before(self, number: int) -> int:
        """The number of the last transfer of control before an instruction, or -1."""
        number -= 1
        while number >= 0 and self.insns[number].op.flow is Flow.NEXT:
            number -= 1
        return number

    def behind(self, number: int) -> int:
        """The number of the first transfer of control from an instruction on, or their count."""
        while number < len(self.insns) and self.insns[number].op.flow is Flow.NEXT:
            number += 1
        return number

    def is_branch(self, number: int) -> bool:
        """Whether it is a conditional branch."""
        return 0 <= number < len(self.insns) and self.insns[number].op.flow is Flow.BRANCH

    def part(self, first: int, last: int) -> Part:
        """Instructions from one to another, both included."""
        return tuple(self.insns[first : last + 1])


def _found(code: _Code, hint: int, known: WholeLines) -> Found | None:
    """The version around what gives up a line; None where it is something else."""
    end, at = code.behind(hint), code.before(hint)
    if end == len(code.insns) or not known.is_jump(code.insns[end]) or not code.is_branch(at):
        return None
    head = code.goal(at)
    guards: list[int] = []
    while code.is_branch(at) and code.goal(at) == head:
        guards.insert(0, at)
        at = code.before(at)
    starts, out = at, code.before(at)
    lead = code.goal(starts) if code.is_branch(starts) else None
    if head is None or lead is None or not guards or not code.is_branch(out):
        return None
    if not code.before(out) < lead <= out or code.goal(end) != starts + 1:
        return None
    latch = code.behind(head)
    if not code.is_branch(latch) or code.goal(latch) != head or code.goal(out) != latch + 1:
        return None
    straight = {*range(lead + 1, end + 1), *range(head + 1, latch + 2)}
    if not straight.isdisjoint(code.cut) or lead <= head <= end or lead <= latch <= end:
        return None
    firsts = (starts + 1, *(guard + 1 for guard in guards[:-1]))
    version = Version(
        code.part(head, latch),
        code.part(lead, out),
        code.part(out + 1, starts),
        tuple(code.part(*span) for span in zip(firsts, guards, strict=True)),
        code.part(guards[-1] + 1, end - 1),
    )
    ways = _ways(code, range(lead, end + 1), head)
    places = range(code.positions[lead], code.positions[end] + 1)
    address = code.insns[latch].target(code.addresses[latch])
    if ways is None or address is None:
        return None
    return Found(version, places, address, tuple(code.positions[n] for n in ways))


def _ways(code: _Code, inside: range, head: int) -> Sequence[int] | None:
    """Branches to the version, each right before the loop; None if one is something else."""
    found = []
    for number, insn in enumerate(code.insns):
        if number in inside or insn.op.flow is Flow.NEXT or code.goal(number) not in inside:
            continue
        into = code.goal(number) == inside.start and number + 1 == head
        if not code.is_branch(number) or not into or head in code.cut:
            return None
        found.append(number)
    return found
