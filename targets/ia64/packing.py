"""Packing: instructions with dependences into bundles, few of them and few cycles.

A bundle is made at a time.  Each shape (a template without the stop at its end) is filled with
what may stand there, the most urgent first, in the group as it is or behind a stop; the best few
of the texts so far are kept.  Two groups may share a bundle where a template has a stop inside.
`fewest` is exact and looks at bundles only: there a bundle may as well end with a stop, since that
never takes a place away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from targets.ia64.bundles import SLOTS, TEMPLATES
from targets.ia64.fields import Unit

FIRST, LAST, SLOT2 = 1, 2, 4
"""Rules of a node, as bits: first or last in its group, only in the last slot of a bundle."""

CYCLE, BUNDLE = 2, 1
"""What a cycle and a bundle weigh: a bundle takes half a cycle to fetch."""


@dataclass(frozen=True, slots=True)
class Node:
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
    special: frozenset[Unit]  # units that few nodes have


def _shapes() -> Iterator[Shape]:
    for template in TEMPLATES.values():
        if SLOTS - 1 not in template.stops:
            units = (Unit.M, Unit.X) if template.is_long else template.units
            steps = tuple(
                (unit, _allowed(n, len(units), template.stops), n in template.stops)
                for n, unit in enumerate(units)
            )
            yield Shape(template.code, steps, frozenset(units) & _SPECIAL)


def _allowed(slot: int, count: int, stops: frozenset[int]) -> int:
    """The rules of which a node may stand in a slot, in a group that has nothing yet."""
    first = FIRST if not slot or slot - 1 in stops else 0
    return first | (LAST if slot == count - 1 or slot in stops else 0) | SLOT2 * (slot == count - 1)


_SPECIAL = frozenset({Unit.F, Unit.B, Unit.X})
# Of several that hold the same, the one with fewer I slots is left more ports.
SHAPES = tuple(sorted(_shapes(), key=lambda shape: sum(u is Unit.I for u, _, _ in shape.steps)))
SHAPE = {shape.code: shape for shape in SHAPES}
_STOP = 1  # the bit of a template's code that says that it ends with a stop
_WIDE = Unit.X  # takes two slots


Issued = tuple[tuple[int, Unit], ...]
"""What issues in one cycle, in order: the kind and the unit of its slot."""


class Ports:
    """Whether ports are left in a cycle; `fits` says so, and is asked once."""

    def __init__(self, fits: Callable[[Issued], bool], nops: Mapping[Unit, int]) -> None:
        self._fits, self.nops = fits, nops
        self._next: dict[tuple[Issued, int, Unit], Issued | None] = {}

    def take(self, issued: Issued, kind: int, unit: Unit) -> Issued | None:
        """What issues together with one more; None if there is no port left."""
        key = issued, kind, unit
        if key not in self._next:
            more = (*issued, (kind, unit))
            self._next[key] = more if not issued or self._fits(more) else None
        return self._next[key]


class _Problem:
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
        self.fits = dict.fromkeys(Unit, 0)
        self.kind = [nodes[n].kind for n in rank]
        self.before = [0] * len(nodes)
        self.apart = [0] * len(nodes)
        self.after: list[list[tuple[int, int, int]]] = [[] for _ in nodes]
        for at, number in enumerate(rank):
            for unit in nodes[number].units:
                self.fits[unit] |= 1 << at
            for before, apart, cycles in nodes[number].before:
                self.before[at] |= 1 << place[before]
                self.apart[at] |= apart << place[before]
                self.after[place[before]].append((at, 1 << at, cycles))
        rules = [nodes[n].rules for n in rank]
        self.last = sum(1 << at for at, rule in enumerate(rules) if rule & LAST)
        self.first = sum(1 << at for at, rule in enumerate(rules) if rule & FIRST)
        self.allowed = [  # by the rules that a slot takes
            sum(1 << at for at, rule in enumerate(rules) if not rule & ~allowed)
            for allowed in range(2 * SLOT2)
        ]
        self.joins = sum(1 << place[n] for n in place if edges.joins >> n & 1)
        self.leaves = sum(1 << place[n] for n in place if edges.leaves >> n & 1)
        self.branches = self.fits[Unit.B]
        self.only = [
            sum(1 << at for at, n in enumerate(rank) if nodes[n].units == (unit,))
            for unit in (Unit.M, Unit.I, Unit.F)
        ]
        self.opens = [0] * len(nodes)
        self.closes: list[list[int]] = [[] for _ in nodes]
        for first, members in limit.values if limit else ():
            self.opens[place[first]] += 1
            mask = sum(1 << at for at, number in enumerate(rank) if members >> number & 1)
            for at in _bits(mask):
                self.closes[at].append(mask)
        self.most = limit.most if limit else len(nodes)
        self.shapes = [shape for shape in SHAPES if self._useful(shape)]

    def _useful(self, shape: Shape) -> bool:
        return all(self.fits[unit] for unit in shape.special)

    def bundles(self, left: int) -> int:
        """Bundles that the nodes of `left` take at least."""
        wide = (left & self.fits[_WIDE]).bit_count()
        memory, integer, floating = ((left & mask).bit_count() for mask in self.only)
        slots = left.bit_count() + wide
        return max(-(-slots // 3), -(-memory // 2), -(-integer // 2), floating, wide)


class _Text:
    """A text that is being made: what it has, and the cycle that it is in."""

    __slots__ = (
        "avail",
        "before",
        "bundle",
        "cycle",
        "due",
        "group",
        "issued",
        "later",
        "live",
        "parts",
        "placed",
        "window",
    )

    placed: int  # nodes that have their place
    group: int  # those of them in the open group
    avail: int  # nodes that may stand in it, too
    later: int  # nodes that need a stop first
    cycle: int  # of the issue that is being filled
    live: int  # values that are made and have readers left
    window: int  # nodes that issue in it
    parts: int  # bundles that issue in it
    issued: Issued
    due: dict[int, int]  # nodes whose operands are not there in the next cycle
    before: _Text | None
    bundle: tuple[int, tuple[int, ...], bool]  # the template, the nodes, a stop before it

    def copy(self) -> _Text:
        """The same, as a text of its own."""
        made = _Text.__new__(_Text)
        made.placed, made.group = self.placed, self.group
        made.avail, made.later = self.avail, self.later
        made.cycle, made.window, made.parts = self.cycle, self.window, self.parts
        made.issued, made.due, made.live = self.issued, self.due, self.live
        return made


class _Search:
    """The search for one problem."""

    def __init__(self, problem: _Problem, ports: Ports) -> None:
        self.problem, self.ports = problem, ports

    def start(self) -> _Text:
        """The empty text."""
        problem = self.problem
        text = _Text.__new__(_Text)
        roots = sum(1 << n for n, before in enumerate(problem.before) if not before)
        text.placed = text.group = text.window = 0
        text.avail, text.later = roots & problem.joins, roots & ~problem.joins
        if problem.joins != problem.every:
            text.group = -1  # what came before the text
        text.cycle, text.parts, text.live = 0, 0, 0
        text.issued, text.due, text.before = (), {}, None
        return text

    def _next_cycle(self, text: _Text, parts: int) -> None:
        """What waits for the nodes of this cycle knows now when it may issue."""
        window = text.window
        if window:
            due = None
            cycle, after = text.cycle, self.problem.after
            while window:
                low = window & -window
                window ^= low
                for number, _, cycles in after[low.bit_length() - 1]:
                    if cycles > 1:
                        if due is None:
                            due = text.due = dict(text.due)
                        due[number] = max(due.get(number, 0), cycle + cycles)
            text.window = 0
        text.cycle += 1
        text.parts, text.issued = parts, ()

    def _stop(self, text: _Text, parts: int) -> None:
        """Ends the group."""
        text.avail |= text.later
        text.later = text.group = 0
        if text.window:
            self._next_cycle(text, parts)

    def _place(self, text: _Text, number: int) -> None:
        """Gives the next slot to a node."""
        problem, bit = self.problem, 1 << number
        due = text.due.get(number, 0)
        if due > text.cycle:
            text.cycle = due
        text.window |= bit
        text.avail ^= bit
        text.group |= bit
        placed = text.placed = text.placed | bit
        text.live += problem.opens[number]
        for members in problem.closes[number]:
            text.live -= not members & ~placed
        group = text.group
        for later, mask, _ in problem.after[number]:
            if not problem.before[later] & ~placed:
                if problem.apart[later] & group or (group < 0 and not problem.joins & mask):
                    text.later |= mask
                else:
                    text.avail |= mask

    def _slot(self, text: _Text, unit: Unit, cand: int, patient: bool) -> int:
        """Fills a slot with the most urgent candidate; its number, -1 for a nop."""
        number, problem = -1, self.problem
        if text.live >= problem.most and cand:
            cand = self._relieving(text, cand)
        if cand and text.due:
            number = self._ready(text, cand, patient)
        elif cand:
            number = (cand & -cand).bit_length() - 1
        self._put(text, unit, number)
        return number

    def _put(self, text: _Text, unit: Unit, number: int) -> None:
        """Issues a node, or a nop, as soon as a port is free."""
        kind = self.problem.kind[number] if number >= 0 else self.ports.nops[unit]
        issued = self.ports.take(text.issued, kind, unit)
        if issued is None:
            self._next_cycle(text, 1)
            issued = ((kind, unit),)
        text.issued = issued
        if number >= 0:
            self._place(text, number)

    def _relieving(self, text: _Text, cand: int) -> int:
        """Of the candidates those that leave no more values than there are, if any node does."""
        problem = self.problem
        left = relieving = text.avail | text.later
        while left:
            bit = left & -left
            left ^= bit
            number = bit.bit_length() - 1
            rest = ~(text.placed | bit)
            if problem.opens[number] > sum(not mask & rest for mask in problem.closes[number]):
                relieving ^= bit
        return cand & relieving if relieving or text.window else cand

    @staticmethod
    def _ready(text: _Text, cand: int, patient: bool) -> int:
        """Of the candidates the most urgent one whose operands are there, or at all."""
        first, due, cycle = (cand & -cand).bit_length() - 1, text.due, text.cycle
        while cand:
            low = cand & -cand
            number = low.bit_length() - 1
            if due.get(number, 0) <= cycle:
                return number
            cand ^= low
        return -1 if patient and text.window else first

    def _begin(self, text: _Text, stop: bool) -> None:
        """Begins a bundle, behind a stop or not."""
        if stop:
            self._stop(text, 0)
        if text.parts == 2:
            self._next_cycle(text, 0)
        text.parts += 1

    def _filled(self, source: _Text, shape: Shape, stop: bool, patient: bool) -> _Text | None:
        """The text with one more bundle; None if that would have nothing in it."""
        problem = self.problem
        text = source.copy()
        self._begin(text, stop)
        fits, numbers = problem.fits, []
        for unit, rules, ends in shape.steps:
            cand = text.avail & fits[unit] & problem.allowed[rules]
            if text.group:
                cand &= ~problem.first
            numbers.append(self._slot(text, unit, cand, patient))
            if ends:
                if not text.window:
                    return None
                self._stop(text, 1)
        if text.placed == source.placed:
            return None
        text.before, text.bundle = source, (shape.code, tuple(numbers), stop)
        return text

    def after(self, text: _Text) -> Iterator[_Text]:
        """The texts with one more bundle."""
        must = text.group > 0 and text.group & self.problem.last
        if text.avail and not must:
            yield from self._behind(text, False, text.avail)
        if must or (text.group and (text.later or text.avail & self.problem.first)):
            yield from self._behind(text, True, text.avail | text.later)

    def _behind(self, text: _Text, stop: bool, avail: int) -> Iterator[_Text]:
        left = self.problem.every & ~text.placed
        for shape in self.problem.shapes:
            if shape.special and not all(self._near(unit, avail, left) for unit in shape.special):
                continue
            made = self._filled(text, shape, stop, False)
            if made is None:
                continue
            yield made
            if text.due:
                made = self._filled(text, shape, stop, True)
                if made is not None:
                    yield made

    def _near(self, unit: Unit, avail: int, left: int) -> bool:
        """Whether a node of the unit may stand in the next bundle."""
        nodes = self.problem.fits[unit] & left
        if nodes & avail:
            return True
        before = self.problem.before
        while nodes:
            low = nodes & -nodes
            if (before[low.bit_length() - 1] & left).bit_count() < SLOTS:
                return True
            nodes ^= low
        return False

    def replay(self, bundles: Layout) -> int:
        """Cycles of a text as it stands."""
        rank = {number: at for at, number in enumerate(self.problem.order)}
        text = self.start()
        text.avail = self.problem.every
        stop = False
        for code, numbers in bundles:
            self._begin(text, stop)
            for (unit, _, ends), number in zip(SHAPE[code & ~_STOP].steps, numbers, strict=True):
                self._put(text, unit, rank[number] if number >= 0 else -1)
                if ends:
                    self._stop(text, 1)
            stop = bool(code & _STOP)
        return text.cycle + 1

    def cycles(self, text: _Text) -> int:
        """Cycles that the whole will take at least."""
        problem, cycle, due = self.problem, text.cycle, text.due
        least = cycle + 1
        left = text.avail | text.later
        later = text.later
        while left:
            low = left & -left
            left ^= low
            number = low.bit_length() - 1
            at = cycle + (1 if low & later else 0)
            if due:
                at = max(at, due.get(number, 0))
            least = max(least, at + problem.height[number])
        return least


def pack(
    nodes: Sequence[Node],
    edges: Edges,
    ports: Ports,
    most: int,
    width: int,
    limit: Limit | None = None,
) -> Packed | None:
    """The best text of at most `most` bundles that a search of this width finds."""
    problem = _Problem(nodes, edges, limit)
    search = _Search(problem, ports)
    texts = [search.start()]
    best: tuple[int, int, _Text] | None = None
    for count in range(1, most + 1):
        found: dict[tuple[int, int, int, Issued], tuple[int, int, _Text]] = {}
        for text in texts:
            for made in search.after(text):
                cycles = search.cycles(made)
                rest = problem.every & ~made.placed
                bundles = count + problem.bundles(rest)
                if bundles > most:
                    continue
                least = max(cycles, made.cycle + (bundles - count + 1) // 2)
                value = CYCLE * least + BUNDLE * bundles
                key = made.placed, made.group, made.cycle, made.issued
                if key not in found or value < found[key][0]:
                    found[key] = (value, -made.placed.bit_count(), made)
        ranked = sorted(found.values(), key=lambda item: item[:2])
        texts = []
        for value, size, text in ranked:
            if best is not None and value >= best[0]:
                break
            if text.placed == problem.every:
                best = value, size, text
                break
            if len(texts) < width:
                texts.append(text)
        if not texts:
            break
    return None if best is None else _packed(problem, best[2])


def fewest(nodes: Sequence[Node]) -> int:
    """The bundles that the nodes need at least, whatever the cycles: exact, for short texts."""
    problem = _Problem(nodes, Edges((1 << len(nodes)) - 1, 0))
    reached, count = {0}, 0
    while problem.every not in reached:
        made = {after for text in reached for after in _fillings(problem, text)}
        reached = {text for text in made if not any(text & ~other == 0 for other in made - {text})}
        count += 1
    return count


def _fillings(problem: _Problem, text: int) -> Iterator[int]:
    """The nodes placed after one more bundle, which begins and ends a group."""
    for shape in problem.shapes:
        texts = {(text, 0)}
        for unit, rules, ends in shape.steps:
            allowed = problem.fits[unit] & problem.allowed[rules]
            texts = {
                (placed | bit, 0 if ends else group | bit)
                for placed, group in texts
                for bit in _choices(problem, allowed, placed, group)
            }
        yield from (placed for placed, _ in texts)


def _choices(problem: _Problem, allowed: int, placed: int, group: int) -> Iterator[int]:
    """Nodes that may be next, as bits; 0 if there is none: a nop never gains anything."""
    left = allowed & ~placed & ~(problem.first if group else 0)
    is_any = False
    while left:
        bit = left & -left
        left ^= bit
        number = bit.bit_length() - 1
        if not problem.before[number] & ~placed and not problem.apart[number] & group:
            is_any = True
            yield bit
    if not is_any:
        yield 0


def replayed(nodes: Sequence[Node], bundles: Layout, ports: Ports) -> Packed:
    """The text in which the nodes stand already."""
    search = _Search(_Problem(nodes, Edges((1 << len(nodes)) - 1, 0)), ports)
    return Packed(bundles, search.replay(bundles))


def _packed(problem: _Problem, text: _Text) -> Packed:
    cycles = text.cycle + 1
    bundles: list[tuple[int, tuple[int, ...]]] = []
    opens = problem.leaves and not text.group & (~problem.leaves | problem.last)
    stop = not opens
    current: _Text | None = text
    while current is not None and current.before is not None:
        code, numbers, stop_before = current.bundle
        named = tuple(problem.order[n] if n >= 0 else -1 for n in numbers)
        bundles.append((code | _STOP * stop, named))
        stop, current = stop_before, current.before
    return Packed(tuple(bundles[::-1]), cycles)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
