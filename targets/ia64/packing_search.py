"""The search for texts of bundles, one bundle at a time.

Each shape is filled with what may stand there, the most urgent first, in the group as it is or
behind a stop.  Two groups may share a bundle where a template has a stop inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from targets.ia64.bundles import SLOTS
from targets.ia64.fields import Unit
from targets.ia64.packing_nodes import SHAPE, STOP, Layout, Ports, Problem, Shape


class Text:
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
    issued: int  # what issues in it, as ports have it
    due: dict[int, int]  # nodes whose operands are not there in the next cycle
    before: Text | None
    bundle: tuple[int, tuple[int, ...], bool]  # the template, the nodes, a stop before it

    def copy(self) -> Text:
        """The same, as a text of its own."""
        made = Text.__new__(Text)
        made.placed, made.group = self.placed, self.group
        made.avail, made.later = self.avail, self.later
        made.cycle, made.window, made.parts = self.cycle, self.window, self.parts
        made.issued, made.due, made.live = self.issued, self.due, self.live
        return made


class Search:
    """The search for one problem."""

    def __init__(self, problem: Problem, ports: Ports) -> None:
        self.problem, self.ports = problem, ports

    def start(self) -> Text:
        """The empty text."""
        problem = self.problem
        text = Text.__new__(Text)
        roots = sum(1 << n for n, before in enumerate(problem.before) if not before)
        text.placed = text.group = text.window = 0
        text.avail, text.later = roots & problem.joins, roots & ~problem.joins
        if problem.joins != problem.every:
            text.group = -1  # what came before the text
        text.cycle, text.parts, text.live = 0, 0, 0
        text.issued, text.due, text.before = 0, {}, None
        return text

    def _next_cycle(self, text: Text, parts: int) -> None:
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
        text.parts, text.issued = parts, 0

    def _stop(self, text: Text, parts: int) -> None:
        """Ends the group."""
        text.avail |= text.later
        text.later = text.group = 0
        if text.window:
            self._next_cycle(text, parts)

    def _place(self, text: Text, number: int) -> None:
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

    def _slot(self, text: Text, unit: Unit, cand: int, patient: bool) -> int:
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

    def _put(self, text: Text, unit: Unit, number: int) -> None:
        """Issues a node, or a nop, as soon as a port is free."""
        kind = self.problem.kind[number] if number >= 0 else self.ports.nops[unit]
        issued = self.ports.take(text.issued, kind, unit)
        if issued < 0 or (number >= 0 and self.problem.splits[number] & text.window):
            self._next_cycle(text, 1)
            issued = self.ports.take(0, kind, unit)
        text.issued = issued
        if number >= 0:
            self._place(text, number)

    def _relieving(self, text: Text, cand: int) -> int:
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
    def _ready(text: Text, cand: int, patient: bool) -> int:
        """Of the candidates the most urgent one whose operands are there, or at all."""
        first, due, cycle = (cand & -cand).bit_length() - 1, text.due, text.cycle
        while cand:
            low = cand & -cand
            number = low.bit_length() - 1
            if due.get(number, 0) <= cycle:
                return number
            cand ^= low
        return -1 if patient and text.window else first

    def _begin(self, text: Text, stop: bool) -> None:
        """Begins a bundle, behind a stop or not."""
        if stop:
            self._stop(text, 0)
        if text.parts == 2:
            self._next_cycle(text, 0)
        text.parts += 1

    def _filled(self, source: Text, shape: Shape, stop: bool, patient: bool) -> Text | None:
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

    def after(self, text: Text) -> Iterator[Text]:
        """The texts with one more bundle."""
        must = text.group > 0 and text.group & self.problem.last
        if text.avail and not must:
            yield from self._behind(text, False, text.avail)
        if text.before is None:  # there is no bundle for a stop
            return
        if must or (text.group and (text.later or text.avail & self.problem.first)):
            yield from self._behind(text, True, text.avail | text.later)

    def _behind(self, text: Text, stop: bool, avail: int) -> Iterator[Text]:
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
        """Cycles of a text in which the nodes stand already."""
        rank = {number: at for at, number in enumerate(self.problem.order)}
        text = self.start()
        text.avail, text.later, text.group = self.problem.every, 0, 0
        stop = False
        for code, numbers in bundles:
            self._begin(text, stop)
            for (unit, _, ends), number in zip(SHAPE[code & ~STOP].steps, numbers, strict=True):
                self._put(text, unit, rank[number] if number >= 0 else -1)
                if ends:
                    self._stop(text, 1)
            stop = bool(code & STOP)
        return text.cycle + 1

    def cycles(self, text: Text) -> int:
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
