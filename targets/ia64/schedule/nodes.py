"""What packing works on: nodes and what orders them, a problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rewriter.core.masks import bits
from targets.ia64.isa.fields import Unit
from targets.ia64.schedule.shapes import ALLOWED, FIRST, LAST, SLOT2, UNITS

CYCLE, BUNDLE = 2, 1
"""What a cycle and a bundle weigh: a bundle takes half a cycle to fetch."""


class Node(NamedTuple):
    """An instruction as packing sees it.

    `units` are those that it may stand on, `kind` says which ports take it and `choices` how many;
    `before` has, for each node that it stays behind, its number, whether a stop must be between,
    and the cycles until its operands are there.
    """

    units: tuple[Unit, ...]
    kind: int
    before: tuple[tuple[int, bool, int], ...]
    rules: int = 0
    choices: int = 0


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` values at a time: of each the first node that makes it and, as a mask, all
    that write or read it."""

    values: tuple[tuple[int, int], ...]
    most: int


@dataclass(frozen=True, slots=True)
class Edges:
    """How a text begins and ends.

    The nodes of `joins` may stand in the first group, which began before the text; all of them
    where it did not.  Those of `leaves` may stand in the last group if that stays open at the
    end; where there are none, it ends with a stop.
    """

    joins: int
    leaves: int


Layout = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """A text: of each bundle the code of its template and the numbers of its nodes, -1 for a nop.

    A long instruction counts as one; `cycles` are those of the search, which knows no caches.
    """

    bundles: Layout
    cycles: int

    @property
    def weight(self) -> int:
        """What cycles and bundles weigh together."""
        return CYCLE * self.cycles + BUNDLE * len(self.bundles)


_SPECIAL = frozenset({Unit.F, Unit.B, Unit.X})  # units that few nodes have
_A, _M, _I = (Unit.M, Unit.I), (Unit.M,), (Unit.I,)
_SHARED = frozenset(
    {(_A, _A), (_A, _M), (_A, _I), (_M, _A), (_M, _M), (_M, _I), (_I, _A), (_I, _I)}
)
"""The units of two nodes that may stand in one bundle before and behind its stop."""
WIDE = Unit.X  # takes two slots


_UNITS = tuple(Unit)


class Problem:
    """Nodes by urgency: of several that may stand in a slot, the lowest number comes first."""

    def __init__(self, nodes: Sequence[Node], edges: Edges, limit: Limit | None = None) -> None:
        height = [1] * len(nodes)
        for number in range(len(nodes) - 1, -1, -1):
            for before, apart, cycles in nodes[number].before:
                height[before] = max(height[before], height[number] + max(cycles, apart))
        rank = sorted(range(len(nodes)), key=lambda n: (-height[n], nodes[n].choices, n))
        place = {number: at for at, number in enumerate(rank)}
        self.order = rank
        ports = Counter((node.kind, node.choices or len(nodes)) for node in nodes)
        self.busy = max(-(-count // choices) for (_, choices), count in ports.items())
        self.height = [height[n] for n in rank]
        self.every = (1 << len(nodes)) - 1
        self.fits = dict.fromkeys(_UNITS, 0)
        self.before = [0] * len(nodes)
        self.apart = [0] * len(nodes)
        splits = [0] * len(nodes)  # those that no cycle has together with it
        self.slow = 0  # those for which others wait longer than a cycle
        self.late: list[list[tuple[int, int]]] = [[] for _ in nodes]
        behind: list[list[int]] = [[] for _ in nodes]
        right = _right_before(nodes)
        for at, number in enumerate(rank):
            for unit in nodes[number].units:
                self.fits[unit] |= 1 << at
            for before, apart, cycles in nodes[number].before:
                self.before[at] |= 1 << place[before]
                self.apart[at] |= apart << place[before]
                splits[at] |= (cycles > 0) << place[before]
                if right[number] >> before & 1:
                    behind[place[before]].append(at)
                if cycles > 1:
                    self.slow |= 1 << place[before]
                    self.late[place[before]].append((at, cycles))
        # Of each that stands right behind: what is before it, what in another group, its bit.
        after = [[(self.before[n], self.apart[n], 1 << n) for n in each] for each in behind]
        # A node's kind as a key of ports without the unit, what no cycle has with it, its bit.
        self.nodes = [
            (nodes[number].kind << 3, splits[at], 1 << at, after[at])
            for at, number in enumerate(rank)
        ]
        self.last = self.first = 0
        self.allowed = [self.every] * (2 * SLOT2)  # by the rules that a slot takes
        for at, number in enumerate(rank):
            if rule := nodes[number].rules:
                self.last |= bool(rule & LAST) << at
                self.first |= bool(rule & FIRST) << at
                for allowed in range(2 * SLOT2):
                    self.allowed[allowed] ^= bool(rule & ~allowed) << at
        self.joins = sum(1 << place[n] for n in place if edges.joins >> n & 1)
        self.leaves = sum(1 << place[n] for n in place if edges.leaves >> n & 1)
        self.branches = self.fits[Unit.B]
        fits = self.fits
        self.only = (
            fits[Unit.M] & ~fits[Unit.I], fits[Unit.I] & ~fits[Unit.M], fits[Unit.F], fits[WIDE]
        )  # fmt: skip
        either = fits[Unit.M] & fits[Unit.I]
        self.alike = [either if either >> n & 1 else ~either for n in range(len(nodes))]
        self.opens = [0] * len(nodes)
        self.closes: list[list[int]] = [[] for _ in nodes]
        for first, members in limit.values if limit else ():
            self.opens[place[first]] += 1
            mask = sum(1 << at for at, number in enumerate(rank) if members >> number & 1)
            for at in bits(mask):
                self.closes[at].append(mask)
        self.is_limited = limit is not None
        self.most = limit.most if limit else len(nodes) + 1
        self.rare = [(int(unit), self.fits[unit]) for unit in _SPECIAL if self.fits[unit]]
        self.missing = sum(1 << unit for unit in _SPECIAL if not fits[unit])
        self.begins = [fits[unit] & self.allowed[rules] for unit, rules in ALLOWED]
        self.inside = [nodes & ~self.first for nodes in self.begins]
        self.on = {units: self._on(units) for units in UNITS}
        self._chains = self._chained(nodes)
        self._bundles: dict[int, int] = {}

    def _chained(self, nodes: Sequence[Node]) -> list[tuple[int, int]]:
        """Bundles, the most first, and the nodes that begin a chain which takes as many at least.

        A bundle holds parts of two groups at most, and of one only beside an F, B or long slot.
        """
        # From a node's bundle on if it has no part of an earlier group, else behind its bundle.
        first, second = [1] * len(nodes), [0] * len(nodes)
        masks: dict[int, int] = {}
        place = {number: at for at, number in enumerate(self.order)}
        for number in range(len(nodes) - 1, -1, -1):
            units, before = nodes[number].units, nodes[number].before
            alone = first[number]
            if units[0] in _SPECIAL:
                second[number] = alone
            behind = second[number]
            masks[alone] = masks.get(alone, 0) | 1 << place[number]
            for other, apart, _ in before:
                if not apart:
                    least, rest = alone, behind
                else:
                    least = 1 + (behind if (nodes[other].units, units) in _SHARED else alone)
                    rest = alone
                if least > first[other]:
                    first[other] = least
                if rest > second[other]:
                    second[other] = rest
        found, every = [], 0
        for least in sorted(masks, reverse=True):
            every |= masks[least]
            found.append((least, every))
        return found

    def _on(self, units: int) -> int:
        """The nodes that may stand on one of these units."""
        nodes = 0
        for unit in _UNITS:
            if units >> unit & 1:
                nodes |= self.fits[unit]
        return nodes

    @property
    def fewest(self) -> tuple[int, int]:
        """Cycles and bundles that any text takes at least."""
        bundles = self.bundles(self.every)
        return max(*self.height, (bundles + 1) // 2, self.busy), bundles

    @property
    def least(self) -> int:
        """What any text weighs at least."""
        cycles, bundles = self.fewest
        return CYCLE * cycles + BUNDLE * bundles

    def bundles(self, left: int) -> int:
        """Bundles that the nodes of `left` take at least."""
        found = self._bundles.get(left)
        if found is None:
            found = self._bundles[left] = self._bundles_of(left)
        return found

    def _bundles_of(self, left: int) -> int:
        fewest = self._counted(left)
        for chained, nodes in self._chains:
            if chained <= fewest:
                break
            if left & nodes:
                fewest = chained
                break
        return fewest

    def _counted(self, left: int) -> int:
        """Bundles that as many nodes on such units take at least."""
        memory, integer, floating, wide = self.only
        longs, floats = (left & wide).bit_count(), (left & floating).bit_count()
        # A long one leaves its bundle one M slot and no other; an F slot leaves one I slot, and so
        # does a B slot, but that three of them fill a bundle.
        branches = (left & self.branches).bit_count()
        taken = (left & integer).bit_count() + branches - branches // 3
        integers = max(taken - floats, 0)
        return max(
            (left.bit_count() + longs + 2) // 3,
            ((left & memory).bit_count() + longs + 1) // 2,
            longs + floats + (integers + 1) // 2,
        )


def _right_before(nodes: Sequence[Node]) -> list[int]:
    """For each node those before it, as a mask, that are not before another one before it."""
    right: list[int] = []
    reached: list[int] = []
    for node in nodes:
        before = through = 0
        for number, _, _ in node.before:
            before |= 1 << number
            through |= reached[number]
        right.append(before & ~through)
        reached.append(before | through)
    return right
