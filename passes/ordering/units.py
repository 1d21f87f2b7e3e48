"""What stands together in a function whose blocks change places, and the ways between."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from passes.align import Code
from passes.lib.weights import Counted
from rewriter.core.isa.instruction import AWAY, Flow, Insn
from rewriter.identify.profiles import Direction

_OPEN = frozenset({Flow.NEXT, Flow.BRANCH, Flow.RETURN_IF, Flow.INDIRECT_IF}) | AWAY
"""Flows behind which another block may come; behind all others their own place matters."""


_SHARE = 32
"""Of so many passes of a branch one is taken to go each way, whatever was counted."""

_UNSEEN = 8
"""Of so many calls one is taken to come to each branch that was counted, and to go either way."""

_CALLS = 2
"""No more passes in a loop than one for so many calls are taken to go another way than the counted
ones, where it is asked what a jump more costs."""

_JUMP = 6
"""So much as transfers costs a jump more that is executed."""


class Way(NamedTuple):
    """A way from a unit's end to the start of another, by number, and how often it is gone.

    It `falls` where that other is the next, and `saves` so many transfers where it falls through;
    a jump that is executed otherwise counts as one, and one that is new as several.
    """

    source: int
    goal: int
    often: int
    falls: bool
    saves: int


@dataclass(frozen=True)
class Units:
    """The units of a function's code in the order of its addresses.

    A unit is entered anywhere and left at its end only, but for calls: blocks that must stand
    behind one another are one.  `labels` say of each instruction what its place must keep: control
    may leave and enter a run of one label anywhere, but their sequence stays what it is, or that of
    `kept`, where there are such: labels that may be the same where these differ.  `joined` are
    addresses behind which nothing else may come.
    """

    code: Code
    labels: Sequence[Hashable]
    pads: Collection[int]
    joined: Collection[int] = frozenset()
    kept: Sequence[Hashable] | None = None

    @cached_property
    def weights(self) -> Counted:
        """How often control goes each way."""
        return Counted(self.code.items, self.code.branches).from_start()

    def expected(self) -> Units:
        """With counts of which a part is on each way of a branch: other inputs go other ways, and
        come to branches more often."""
        return self._with_share(None)

    def expected_by_calls(self) -> Units:
        """The same, but that no more goes another way in a loop than by how often it was called."""
        return self._with_share(_SHARE * self.weights.begun // _CALLS)

    def _with_share(self, most: int | None) -> Units:
        """With a part of each branch's passes on both its ways, in `_SHARE`ths at most so many."""
        unseen, counts = _SHARE * self.weights.begun // _UNSEEN, self.code.branches
        here = (address for address in self.code.places if address in counts)
        likely = {address: _softened(counts[address], unseen, most) for address in here}
        return replace(self, code=replace(self.code, branches=likely))

    @cached_property
    def heads(self) -> frozenset[int]:
        """The numbers of instructions that control comes to from elsewhere, and of what stays."""
        code = self.code
        return frozenset({*code.heads(code.targets), *code.heads(self.pads), *code.staying, 0})

    @cached_property
    def starts(self) -> list[int]:
        """The number of the first instruction of each."""
        items = self.code.items
        behind = {n for n in range(1, len(items)) if items[n - 1][1].op.flow is not Flow.NEXT}
        return sorted({0, *(n for n in self.heads | behind if n == 0 or self._may_part(n - 1))})

    def _may_part(self, last: int) -> bool:
        """Whether something else may come behind an instruction that ends a block."""
        flow = self.code.items[last][1].op.flow
        if self.code.places[last] in self.joined or flow not in _OPEN:
            return False
        return flow in AWAY or self.labels[last] == self.labels[last + 1]

    @cached_property
    def spans(self) -> list[range]:
        """The numbers of the instructions of each."""
        return [range(a, b) for a, b in pairwise([*self.starts, len(self.code.items)])]

    def last(self, unit: int) -> tuple[int, Insn]:
        """The last instruction of a unit with its original address."""
        return self.code.items[self.spans[unit][-1]]

    @cached_property
    def taken(self) -> list[int]:
        """How often each unit's last instruction leads elsewhere where it stands."""
        return [self.weights.leaving(span[-1])[0] for span in self.spans]

    @cached_property
    def _numbered(self) -> list[int]:
        """A number for each label whose sequence stays."""
        numbers, labels = dict[Hashable, int](), self.labels if self.kept is None else self.kept
        return [numbers.setdefault(label, len(numbers)) for label in labels]

    @cached_property
    def run_labels(self) -> list[int]:
        """The label of each run, by its number."""
        return [label for label, _ in groupby(self._numbered)]

    def labels_in(self, unit: int) -> list[int]:
        """The labels of the runs that a unit stands in, by their numbers."""
        return [label for label, _ in groupby(self._numbered[n] for n in self.spans[unit])]

    @cached_property
    def rooms(self) -> list[int]:
        """How many instructions fit from the function's start, and from each that stays, to the
        next one that stays."""
        code = self.code
        starts = [code.function.start, *(code.places[n] for n in sorted(code.staying - {0}))]
        return [(b - a) // code.size for a, b in pairwise([*starts, code.function.end])]

    @cached_property
    def _parts(self) -> dict[int, int]:
        """By the number of an instruction that stays, of which room it is the first."""
        return {n: part for part, n in enumerate(sorted({0, *self.code.staying}))}

    def filled(self, unit: int) -> list[tuple[int | None, int]]:
        """The rooms that a unit has instructions in, and how many.

        What comes before the first that stays is in the room of what stands before: None.
        """
        found, part = dict[int | None, int](), None
        for number in self.spans[unit]:
            part = self._parts.get(number, part)
            found[part] = found.get(part, 0) + 1
        return [*found.items()]

    @cached_property
    def held(self) -> frozenset[int]:
        """The units in which something stays."""
        staying = self.code.staying
        spans = enumerate(self.spans)
        return frozenset(unit for unit, span in spans if not staying.isdisjoint(span))

    @cached_property
    def held_last(self) -> bool:
        """Whether control may leave the function over its end."""
        return self.last(len(self.spans) - 1)[1].op.flow not in AWAY

    def goal(self, unit: int) -> int | None:
        """The unit that a unit's last instruction leads to, if it is the start of one."""
        address, insn = self.last(unit)
        target = insn.target(address)
        if insn.op.flow not in (Flow.BRANCH, Flow.JUMP) or target is None:
            return None
        if target not in self.code.function:
            return None
        number = self.code.numbers(target)
        found = bisect_right(self.starts, number) - 1
        return found if found >= 0 and self.starts[found] == number else None

    def place(self, unit: int) -> int:
        """The original address of a unit's start; of one that is passed, where that leads."""
        goal = self.goal(unit)
        there = unit if goal is None or not self.is_passed(unit) else goal
        return self.code.places[self.starts[there]]

    def is_passed(self, unit: int) -> bool:
        """Whether it is a jump alone, to which nothing leads but the code before it."""
        span = self.spans[unit]
        if len(span) > 1 or span[0] in self.heads or self.goal(unit) is None:
            return False
        alone = self.last(unit)[1].op.flow is Flow.JUMP
        return alone and self.last(unit - 1)[1].op.flow not in AWAY

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """All ways between units."""
        return tuple(self._ways())

    @cached_property
    def reached(self) -> frozenset[int]:
        """The units where control came."""
        return frozenset({0}.union(*(way[:2] for way in self.ways if way.often)))

    def _ways(self) -> Iterator[Way]:
        for unit, span in enumerate(self.spans):
            taken, falling = self.weights.leaving(span[-1])
            flow, goal = self.last(unit)[1].op.flow, self.goal(unit)
            less = min(taken, falling) if goal is not None else _JUMP * falling
            if flow not in AWAY and unit + 1 < len(self.spans):
                yield Way(unit, unit + 1, falling, True, falling + less)
            if goal is not None:
                yield Way(unit, goal, taken, False, taken + (taken if flow in AWAY else less))


def _softened(counted: Direction, unseen: int, most: int | None) -> Direction:
    passes, held = counted.executed, counted.held
    other = passes if most is None else min(passes, most)
    away = other - 2 * other * held // passes if passes else 0
    return Direction(_SHARE * passes + unseen, _SHARE * held + away + unseen // 2, 0)
