"""Two segments along one way, where blocks of the new code may be in another order.

Jumps inside the function that leave nothing in a register are no part of a way: it goes on where
they lead.  Where the new code has a branch that is taken exactly where the old one is not, it is
read as the old one, and the way goes on where it leads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rewriter.core.code.listing import FLOWS
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.verify.walk.courses.opposites import Opposites
from rewriter.verify.walk.segments import LONGEST, BlockCutter, Cutter, Decoded, Lost, Segment

_ROW = 16  # bits
_MOST = 64  # jumps on a way; one beyond that goes round


class Course(NamedTuple):
    """A way in both files.

    `exits` are positions of the old code after which control may leave, with what they lead to in
    the new one: `targets`, and the addresses `behind` which it goes on.  `covered` and `visited`
    are the addresses of all that was read of each, with jumps, and `jumps` those of the new code's
    jumps with where they lead.
    """

    old: Segment
    new: Segment
    exits: Sequence[int]
    targets: Sequence[int]
    behind: Sequence[int]
    covered: Sequence[int]
    visited: Sequence[int]
    jumps: Sequence[tuple[int, int]]


@dataclass
class _Way:
    """Positions of one file along a way; by slot, `others` stand for what is there, with rows."""

    code: Cutter
    slots: list[int] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    others: dict[int, tuple[Insn, int]] = field(default_factory=dict)

    def add(self, first: int, end: int) -> None:
        """All of [first, end)."""
        self.slots += range(first, end)
        if len(self.slots) > LONGEST:
            raise Lost(f"the way to {self.code.addresses[first]:#x} is too long")

    def addresses(self) -> list[int]:
        """All that it passes, jumps included."""
        return [self.code.addresses[at] for at in (*self.slots, *self.jumps)]

    def segment(self) -> Segment:
        """As one segment."""
        code, slots = self.code, self.slots
        if any(code.rows[at] < 0 for at in slots):
            raise Lost("data on the way")
        if not self.others and slots == [*range(slots[0], slots[0] + len(slots))]:
            return code.cut(slots[0], [slots[slot] for slot in self.exits])  # most stand together
        table = code.listing.table
        words = [code.words[at] for at in slots]
        placeless = [code.placeless[at] for at in slots]
        for slot, (insn, row) in self.others.items():
            words[slot] = table.encode(insn)
            placeless[slot] = words[slot] << _ROW | row
        at_slot = {at: slot for slot, at in enumerate(slots)}  # the last time that it is passed
        if len(at_slot) != len(slots) and any(at in code.fixups for at in slots):
            raise Lost("an access that may fault is passed twice")
        return Segment(
            exits=tuple(self.exits),
            flows=tuple(FLOWS[code.flows[slots[slot]]] for slot in self.exits),
            targets=tuple(code.targets[slots[slot]] for slot in self.exits),
            fixups={at_slot[at]: fixup for at, fixup in code.fixups.items() if at in at_slot},
            insns=Decoded(words, table.decode),
            addresses=[code.addresses[at] for at in slots],
            placeless=placeless,
            kinds=bytes(code.kinds[at] for at in slots),
            uses=[code.uses[at] for at in slots],
            defs=[code.defs[at] for at in slots],
        )


@dataclass(frozen=True)
class Courses:
    """Reads one function of both files along ways."""

    old: BlockCutter
    new: Cutter
    opposites: Opposites

    def of(self, old: int, new: int) -> Course:
        """The way from an address of each file; raises Lost."""
        before = self._old(old)
        after = _Way(self.new)
        ends = list(self._follow(before, after, new))
        exits = [before.slots[slot] for slot in before.exits]
        return Course(
            before.segment(),
            after.segment(),
            exits,
            [target for target, _ in ends],
            [behind for _, behind in ends],
            before.addresses(),
            after.addresses(),
            [(self.new.addresses[at], self.new.targets[at]) for at in after.jumps],
        )

    def through(self, old: int, new: int) -> Iterator[tuple[int, int]]:
        """The jumps of the new code that come before what an address of the old one stands for.

        Each with where it leads.
        """
        at, there, seen = self.old.at.get(old), self.new.at.get(new), set[int]()
        if at is None or self._is_jump(self.old, at):
            return
        while there is not None and there not in seen and self._is_jump(self.new, there):
            seen.add(there)
            yield self.new.addresses[there], self.new.targets[there]
            there = self.new.at.get(self.new.targets[there])

    def _is_jump(self, code: Cutter, at: int) -> bool:
        """Whether a jump that does nothing else leads to code of the function."""
        flow = FLOWS[code.flows[at]] if code.rows[at] >= 0 else Flow.NEXT
        return flow is Flow.JUMP and not code.defs[at] and code.targets[at] in code.at

    def _old(self, start: int) -> _Way:
        """The old code's way: through superblocks, up to the first that does not end in a jump.

        Where one is come to again it ends with that one's first exit that is no jump, or that of
        the next one that has such.
        """
        way, passed = _Way(self.old), Counter[int]()
        while True:
            first, exits = self.old.extent(start)
            passed[first] += 1
            last = exits[-1]
            if passed[first] > 1:
                last, exits = exits[0], exits[:1]
            jumps = self._is_jump(self.old, last)
            way.exits += [len(way.slots) + at - first for at in exits[: len(exits) - jumps]]
            way.add(first, last + (not jumps))
            if not jumps:
                return way
            way.jumps.append(last)
            if passed[first] > 2:
                raise Lost(f"the way from {start:#x} has no end")
            start = self.old.targets[last]

    def _follow(self, before: _Way, after: _Way, start: int) -> Iterator[tuple[int, int]]:
        """The new code's way from an address, with as many exits: each one's target, and what it
        goes on behind."""
        code, at = self.new, self.new.at.get(start)
        for slot in before.exits:
            if at is None:
                raise Lost("the new code goes on outside of the function")
            at = self._to_exit(after, at)
            insn = code.listing.table.decode(code.words[at])
            old = self.old.listing.table.decode(self.old.words[before.slots[slot]])
            if insn is None or old is None:
                raise Lost(f"no instruction at {code.addresses[at]:#x}")
            target, following = code.targets[at], code.addresses[at] + insn.size
            other = self.opposites.of(insn)
            if other is not None and other.op is old.op and insn.op is not old.op:
                row = self.old.rows[before.slots[slot]]
                after.others[len(after.slots) - 1] = other, row
                target, following = following, target
            yield target, following - insn.size
            at = code.at.get(following)

    def _to_exit(self, way: _Way, at: int) -> int:
        """The position of the next transfer that is no jump inside, all up to it being passed."""
        code = self.new
        while True:
            n = bisect_left(code.transfers, at)
            if n == len(code.transfers):
                raise Lost(f"the new code from {code.addresses[at]:#x} ends otherwise")
            last = code.transfers[n]
            if not self._is_jump(code, last):
                way.add(at, last + 1)
                way.exits.append(len(way.slots) - 1)
                return last
            way.add(at, last)
            way.jumps.append(last)
            if len(way.jumps) > _MOST:
                raise Lost(f"the new code goes round at {code.addresses[last]:#x}")
            at = code.at[code.targets[last]]
