"""The search for texts of bundles, one bundle at a time.

Each shape is filled with what may stand there, the most urgent first, in the group as it is or
behind a stop.  Two groups may share a bundle where a template has a stop inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from targets.ia64.bundles import SLOTS
from targets.ia64.packing_nodes import SHAPE, STOP, Fitted, Layout, Ports, Problem


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
        "rushed",
        "stop",
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
    rushed: bool  # in the last bundle a node stands for which its cycle had to end
    before: Text | None
    bundle: tuple[int, tuple[int, ...]]  # the template, the nodes
    stop: bool  # before that bundle

    def copy(self) -> Text:
        """The same, as a text of its own."""
        made = Text.__new__(Text)
        made.placed, made.group = self.placed, self.group
        made.avail, made.later = self.avail, self.later
        made.cycle, made.window, made.parts = self.cycle, self.window, self.parts
        made.issued, made.due, made.live = self.issued, self.due, self.live
        made.rushed = False
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
        text.rushed = False
        return text

    def _next_cycle(self, text: Text, parts: int) -> None:
        """What waits for the nodes of this cycle knows now when it may issue."""
        slow, cycle = text.window & self.problem.slow, text.cycle
        if slow:
            due = {number: at for number, at in text.due.items() if at > cycle + 1}
            while slow:
                low = slow & -slow
                slow ^= low
                for number, cycles in self.problem.late[low.bit_length() - 1]:
                    if cycle + cycles > due.get(number, 0):
                        due[number] = cycle + cycles
            text.due = due
        text.window = 0
        text.cycle = cycle + 1
        text.parts, text.issued = parts, 0

    def _stop(self, text: Text, parts: int) -> None:
        """Ends the group."""
        text.avail |= text.later
        text.later = text.group = 0
        if text.window:
            self._next_cycle(text, parts)

    def _place(self, text: Text, number: int, unit: int) -> None:
        """Issues a node as soon as its operands are there and a port is free."""
        problem, bit = self.problem, 1 << number
        key = problem.kind[number] << 3 | unit
        issued = self.ports.take(text.issued, key)
        if issued < 0 or problem.splits[number] & text.window:
            self._next_cycle(text, 1)
            issued = self.ports.take(0, key)
        text.issued = issued
        due = text.due
        if due and due.get(number, 0) > text.cycle:
            text.cycle = due[number]
        text.window |= bit
        text.group |= bit
        placed = text.placed = text.placed | bit
        if problem.is_limited:
            text.live += problem.opens[number]
            for members in problem.closes[number]:
                text.live -= not members & ~placed
        group, left = text.group, ~placed
        avail = text.avail ^ bit
        for before, apart, mask in problem.after[number]:
            if not before & left:
                if apart & group or (group < 0 and not problem.joins & mask):
                    text.later |= mask
                else:
                    avail |= mask
        text.avail = avail

    def _idle(self, text: Text, unit: int) -> None:
        """Issues a nop as soon as a port is free."""
        key = self.ports.nops[unit]
        issued = self.ports.take(text.issued, key)
        if issued < 0:
            self._next_cycle(text, 1)
            issued = self.ports.take(0, key)
        text.issued = issued

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
        if not text.window:
            return first
        text.rushed = not patient
        return -1 if patient else first

    def _begin(self, text: Text, stop: bool) -> None:
        """Begins a bundle, behind a stop or not."""
        if stop:
            self._stop(text, 0)
        if text.parts == 2:
            self._next_cycle(text, 0)
        text.parts += 1

    def _filled(self, begun: Text, shape: Fitted, patient: bool) -> Text | None:
        """The text with the bundle that has begun; None if that would have nothing in it."""
        text, numbers = begun.copy(), []
        for unit, begins, inside, ends in shape.steps:
            cand = text.avail & (inside if text.group else begins)
            number = self._chosen(text, cand, patient) if cand else -1
            if number < 0:
                self._idle(text, unit)
            else:
                self._place(text, number, unit)
            numbers.append(number)
            if ends:
                if not text.window:
                    return None
                self._stop(text, 1)
        if text.placed == begun.placed:
            return None
        text.bundle = shape.code, tuple(numbers)
        return text

    def _chosen(self, text: Text, cand: int, patient: bool) -> int:
        """The most urgent candidate; -1 where a nop is better."""
        if text.live >= self.problem.most:
            cand = self._relieving(text, cand)
        return self._ready(text, cand, patient) if text.due else (cand & -cand).bit_length() - 1

    def after(self, text: Text, room: int) -> Iterator[Text]:
        """The texts with one more bundle, of those that may take no more than `room` cycles."""
        must = text.group > 0 and text.group & self.problem.last
        if text.avail and not must:
            yield from self._behind(text, False, room)
        if text.before is None:  # there is no bundle for a stop
            return
        if must or (text.group and (text.later or text.avail & self.problem.first)):
            yield from self._behind(text, True, room)

    def _behind(self, text: Text, stop: bool, room: int) -> Iterator[Text]:
        begun = text.copy()
        self._begin(begun, stop)
        if self.cycles(begun) > room:
            return
        far = self._far(begun)
        for shape in self.problem.shapes:
            if shape.special & far or not shape.takes & begun.avail:
                continue
            made = self._filled(begun, shape, False)
            if made is None:
                continue
            made.before, made.stop = text, stop
            yield made
            if made.rushed:  # where nothing was, patience changes nothing
                made = self._filled(begun, shape, True)
                if made is not None:
                    made.before, made.stop = text, stop
                    yield made

    def _far(self, text: Text) -> int:
        """The units, as bits, of which no node may stand in the next bundle."""
        problem, far = self.problem, 0
        left = problem.every & ~text.placed
        for unit, nodes in problem.rare:
            nodes &= left
            if nodes & text.avail:
                continue
            while nodes:
                low = nodes & -nodes
                if (problem.before[low.bit_length() - 1] & left).bit_count() < SLOTS:
                    break
                nodes ^= low
            else:
                far |= 1 << unit
        return far

    def replay(self, bundles: Layout) -> int:
        """Cycles of a text in which the nodes stand already."""
        rank = {number: at for at, number in enumerate(self.problem.order)}
        text = self.start()
        text.avail, text.later, text.group = self.problem.every, 0, 0
        stop = False
        for code, numbers in bundles:
            self._begin(text, stop)
            for (unit, _, ends), number in zip(SHAPE[code & ~STOP].steps, numbers, strict=True):
                if number < 0:
                    self._idle(text, unit)
                else:
                    self._place(text, rank[number], unit)
                if ends:
                    self._stop(text, 1)
            stop = bool(code & STOP)
        return text.cycle + 1

    def cycles(self, text: Text) -> int:
        """Cycles that the whole will take at least."""
        height, cycle, avail, later = self.problem.height, text.cycle, text.avail, text.later
        least = cycle + 1
        # The most urgent node has the greatest height.
        if avail:
            least = max(least, cycle + height[(avail & -avail).bit_length() - 1])
        if later:
            behind = cycle + 1 if text.window else cycle  # nops alone hold nobody up
            least = max(least, behind + height[(later & -later).bit_length() - 1])
        if text.due:
            left = avail | later
            for number, at in text.due.items():
                if left >> number & 1:
                    least = max(least, at + height[number])
        return least
