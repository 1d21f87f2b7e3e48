"""What packing works on: nodes and what orders them, shapes of bundles, ports, a problem.

A shape is a template without the stop at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from targets.ia64.bundles import SLOTS, TEMPLATES
from targets.ia64.fields import Unit

FIRST, LAST, SLOT2 = 1, 2, 4
"""Rules of a node, as bits: first or last in its group, only in the last slot of a bundle."""

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


@dataclass(frozen=True, slots=True)
class Shape:
    """A template without the stop at its end: units, and whether a stop follows each."""

    code: int
    steps: tuple[tuple[Unit, int, bool], ...]  # the unit, rules that may stand there, a stop behind
    special: int  # units that few nodes have, as bits


class Fitted(NamedTuple):
    """A shape with the nodes of a problem.

    Of each slot the number of its unit, the nodes that may stand there when they begin their group,
    those that may when they do not, and whether a stop follows; `special` are units that few nodes
    have, as bits; `takes` are nodes of which one must be there for it to hold any, all where a stop
    inside may bring others.
    """

    code: int
    steps: tuple[tuple[int, int, int, bool], ...]
    special: int
    takes: int


def _shapes() -> Iterator[Shape]:
    for template in TEMPLATES.values():
        if SLOTS - 1 not in template.stops:
            units = (Unit.M, Unit.X) if template.is_long else template.units
            steps = tuple(
                (unit, _allowed(n, len(units), template.stops), n in template.stops)
                for n, unit in enumerate(units)
            )
            special = sum(1 << unit for unit in frozenset(units) & _SPECIAL)
            yield Shape(template.code, steps, special)


def _allowed(slot: int, count: int, stops: frozenset[int]) -> int:
    """The rules of which a node may stand in a slot, in a group that has nothing yet."""
    first = FIRST if not slot or slot - 1 in stops else 0
    return first | (LAST if slot == count - 1 or slot in stops else 0) | SLOT2 * (slot == count - 1)


_SPECIAL = frozenset({Unit.F, Unit.B, Unit.X})
# Of several that hold the same, the one with fewer I slots is left more ports.
SHAPES = tuple(sorted(_shapes(), key=lambda shape: sum(u is Unit.I for u, _, _ in shape.steps)))
_PLACES = {(unit, rules) for shape in SHAPES for unit, rules, _ in shape.steps}
SHAPE = {shape.code: shape for shape in SHAPES}
STOP = 1  # the bit of a template's code that says that it ends with a stop
WIDE = Unit.X  # takes two slots


Issued = tuple[tuple[int, Unit], ...]
"""What issues in one cycle, in order: the kind and the unit of its slot."""


class Ports:
    """Whether ports are left in a cycle; `fits` says so, and is asked once.

    What issues in a cycle has a number: 0 is nothing.  A key is a kind, shifted by three, and
    the number of a unit; `nops` has those of nops by unit.
    """

    def __init__(self, fits: Callable[[Issued], bool], nops: Mapping[Unit, int]) -> None:
        self._fits = fits
        self.nops = {int(unit): kind << 3 | unit for unit, kind in nops.items()}
        self._issued: list[Issued] = [()]
        self._numbers: dict[Issued, int] = {(): 0}
        self._next: list[dict[int, int]] = [{}]

    def take(self, issued: int, key: int) -> int:
        """What issues together with one more; -1 if there is no port left."""
        found = self._next[issued].get(key)
        return self._asked(issued, key) if found is None else found

    def _asked(self, issued: int, key: int) -> int:
        more = (*self._issued[issued], (key >> 3, _UNITS[key & 7]))
        number = -1
        if not issued or self._fits(more):
            number = self._numbers.setdefault(more, len(self._issued))
            if number == len(self._issued):
                self._issued.append(more)
                self._next.append({})
        self._next[issued][key] = number
        return number


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
        self.height = [height[n] for n in rank]
        self.every = (1 << len(nodes)) - 1
        self.fits = dict.fromkeys(_UNITS, 0)
        self.kind = [nodes[n].kind for n in rank]
        self.before = [0] * len(nodes)
        self.apart = [0] * len(nodes)
        self.splits = [0] * len(nodes)  # those that no cycle has together with it
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
                self.splits[at] |= (cycles > 0) << place[before]
                if right[number] >> before & 1:
                    behind[place[before]].append(at)
                if cycles > 1:
                    self.slow |= 1 << place[before]
                    self.late[place[before]].append((at, cycles))
        # Of each that stands right behind: what is before it, what in another group, its bit.
        self.after = [[(self.before[n], self.apart[n], 1 << n) for n in each] for each in behind]
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
        self.shapes = self._shapes(~sum([1 << unit for unit, _ in self.rare]))
        self._bundles: dict[int, int] = {}

    def _shapes(self, missing: int) -> list[Fitted]:
        """The shapes that have no special unit of those missing."""
        steps = {}
        for unit, rules in _PLACES:
            begins = self.fits[unit] & self.allowed[rules]
            inside = begins & ~self.first
            for ends in (False, True):
                steps[unit, rules, ends] = int(unit), begins, inside, ends
        fitted = []
        for shape in SHAPES:
            if not shape.special & missing:
                made = tuple([steps[step] for step in shape.steps])
                takes = 0
                for _, begins, _, ends in made:
                    takes |= -1 if ends else begins
                fitted.append(Fitted(shape.code, made, shape.special, takes))
        return fitted

    @property
    def fewest(self) -> tuple[int, int]:
        """Cycles and bundles that any text takes at least."""
        bundles = self.bundles(self.every)
        return max(*self.height, (bundles + 1) // 2), bundles

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
        memory, integer, floating, wide = self.only
        longs, floats = (left & wide).bit_count(), (left & floating).bit_count()
        # A long one leaves its bundle one M slot and no other; an F slot leaves one I slot.
        integers = max((left & integer).bit_count() - floats, 0)
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


def bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
