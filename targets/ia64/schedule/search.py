"""The search for texts of bundles, one bundle at a time.

Each shape is filled with what may stand there, the most urgent first, in the group as it is or
behind a stop.  Two groups may share a bundle where a template has a stop inside.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import Unit
from targets.ia64.schedule.nodes import WIDE, Layout, Problem
from targets.ia64.schedule.ports import Ports
from targets.ia64.schedule.shapes import SHAPE, STOP, Branching, without

_NOTHING = (-1,)
_PAIR = 2  # bundles that issue in one cycle, at most
_WIDE = 1 << WIDE
_NOT_WIDE = sum(1 << unit for unit in Unit) & ~(_WIDE | 1 << Unit.M)

State = tuple[int, int, int, int, int, int, int, int, int, dict[int, int]]
"""What a text has, as far as it is made, and the cycle that it is in, as a plain tuple since
millions are made:

- `placed`: the nodes that have their place
- `group`: those of them in the open group; -1 is what came before the text
- `avail`: nodes that may stand in it, too
- `later`: nodes that need a stop first
- `cycle`: of the issue that is being filled
- `window`: the nodes that issue in it
- `parts`: the bundles that issue in it
- `issued`: what issues in it, as ports have it
- `live`: values that are made and have readers left
- `due`: nodes whose operands are not there in the next cycle, and when they are
"""

Bundle = tuple[int, tuple[int, ...]]
"""A bundle: its template without the stop at its end, and its nodes, -1 for a nop."""


class Text(NamedTuple):
    """A text that is being made, by its last bundle; `stop` says that there is one before it."""

    state: State
    before: Text | None = None
    bundle: Bundle = (0, ())
    stop: bool = False


class Search:
    """The search for one problem."""

    def __init__(self, problem: Problem, ports: Ports) -> None:
        self.problem, self.ports = problem, ports
        self._nodes, self._next = problem.nodes, ports.next
        # Of the bundle that is being filled: what it gave so far, and the nodes before it.
        self._made: list[tuple[State, Bundle]] = []
        self._bare = 0
        # What came of states before, and the cycles that there were for it: a wide search comes
        # to most states of the narrow one before it again.
        self._filled: dict[Hashable, tuple[int, list[tuple[State, Bundle]]]] = {}

    def start(self) -> Text:
        """The empty text."""
        problem = self.problem
        roots = sum(1 << n for n, before in enumerate(problem.before) if not before)
        group = 0 if problem.joins == problem.every else -1
        avail, later = roots & problem.joins, roots & ~problem.joins
        return Text((0, group, avail, later, 0, 0, 0, 0, 0, {}))

    def after(self, text: Text, room: int) -> Iterator[tuple[bool, list[tuple[State, Bundle]]]]:
        """What one more bundle gives, behind a stop or not, of the texts that may take no more
        than `room` cycles."""
        _, group, avail, later, *_ = text.state
        must = group > 0 and group & self.problem.last
        if avail and not must:
            yield False, self._behind(text, False, room)
        if text.before is not None and (  # else there is no bundle for a stop
            must or (group and (later or avail & self.problem.first))
        ):
            yield True, self._behind(text, True, room)

    def _behind(self, text: Text, stop: bool, room: int) -> list[tuple[State, Bundle]]:
        state = self._begun(text.state, stop)
        if self.cycles(state) > room:
            return []
        is_short = self._keeps_long(state, text.bundle[0])
        key = is_short, *state[:9], *state[9].items()
        known = self._filled.get(key)
        if known is not None and room <= known[0]:
            return [made for made in known[1] if made[0][4] < room]
        self._made, self._bare = [], state[0]
        far = self._far(state)
        if is_short:
            if not far & _WIDE:
                self._fill(self._waited(state), without(_NOT_WIDE), (), room)
            far |= _WIDE
        self._fill(state, without(far), (), room)
        self._filled[key] = room, self._made
        return self._made

    def _begun(self, state: State, stop: bool) -> State:
        """Begins a bundle, behind a stop or not."""
        if stop:
            state = self._stopped(state, 0)
        if state[6] == _PAIR:
            return self._waited(state)
        return *state[:6], state[6] + 1, *state[7:]

    def _keeps_long(self, state: State, before: int) -> bool:
        """Whether a bundle that begins in the cycle of the one before it may not be long."""
        return state[6] == _PAIR and before in self.ports.closing.before_long

    def _waited(self, state: State) -> State:
        """Begins a bundle in the next cycle."""
        placed, group, avail, later, cycle, window, _, _, live, due = state
        due = self._waiting(window, cycle, due)
        return placed, group, avail, later, cycle + 1, 0, 1, 0, live, due

    def _stopped(self, state: State, parts: int) -> State:
        """Ends the group."""
        placed, _, avail, later, cycle, window, old, issued, live, due = state
        if not window:
            return placed, 0, avail | later, 0, cycle, 0, old, issued, live, due
        due = self._waiting(window, cycle, due)
        return placed, 0, avail | later, 0, cycle + 1, 0, parts, 0, live, due

    def _waiting(self, window: int, cycle: int, due: dict[int, int]) -> dict[int, int]:
        """What waits for the nodes of a cycle that ends knows now when it may issue."""
        slow = window & self.problem.slow
        if slow:
            due = {number: at for number, at in due.items() if at > cycle + 1}
            while slow:
                low = slow & -slow
                slow ^= low
                for number, cycles in self.problem.late[low.bit_length() - 1]:
                    if cycle + cycles > due.get(number, 0):
                        due[number] = cycle + cycles
        return due

    def _issued(self, state: State, number: int, unit: int) -> State:
        """Issues a node as soon as its operands are there and a port is free; a nop where the
        number is -1."""
        placed, group, avail, later, cycle, window, parts, issued, live, due = state
        if number < 0:
            key, splits = self.ports.nops[unit], 0
        else:
            kind, splits, bit, follow = self._nodes[number]
            key = kind | unit
        taken = self._next[issued].get(key)
        if taken is None:
            taken = self.ports.take(issued, key)
        if taken < 0 or splits & window:
            due = self._waiting(window, cycle, due)
            cycle, window, parts = cycle + 1, 0, 1
            taken = self.ports.take(0, key)
        if number < 0:
            return placed, group, avail, later, cycle, window, parts, taken, live, due
        if due and due.get(number, 0) > cycle:
            cycle = due[number]
        group |= bit
        placed |= bit
        avail ^= bit
        if self.problem.is_limited:
            live += self._made_live(number, placed)
        for before, apart, mask in follow:
            if before & placed == before:
                if apart & group or (group < 0 and not self.problem.joins & mask):
                    later |= mask
                else:
                    avail |= mask
        return placed, group, avail, later, cycle, window | bit, parts, taken, live, due

    def _made_live(self, number: int, placed: int) -> int:
        """How many values more there are behind a node, which is among those placed."""
        problem = self.problem
        more = problem.opens[number]
        for members in problem.closes[number]:
            more -= not members & ~placed
        return more

    def _fill(
        self, state: State, places: Sequence[Branching], numbers: tuple[int, ...], room: int
    ) -> None:
        """Makes all that the next slots of a bundle, in which `numbers` stand already, give: no
        text that takes more than `room` cycles, nor a bundle with nothing in it."""
        problem, avail, waiting = self.problem, state[2], 0
        if due := state[9]:
            cycle = state[4]
            for number, at in due.items():
                if at > cycle:
                    waiting |= 1 << number
        begins = problem.inside if state[1] else problem.begins
        is_empty, is_crowded = state[0] == self._bare, state[8] >= problem.most
        for unit, allowed, ends, units, code, then in places:
            if is_empty and not problem.on[units] & avail:
                continue
            cand = avail & begins[allowed]
            if cand and is_crowded:
                cand = self._relieving(state, cand)
            if not then:  # nothing is left for others to stand in
                best = cand & ~waiting or cand
                number = (best & -best).bit_length() - 1
                if best or not is_empty:
                    made = self._issued(state, number, unit)
                    if made[4] < room:
                        made = self._closed(made, code, number)
                        self._made.append((made, (code, (*numbers, number))))
                continue
            for number in self._choices(cand, waiting, bool(state[5])) if cand else _NOTHING:
                made = self._issued(state, number, unit)
                if made[4] >= room:
                    continue
                if ends:
                    if not made[5]:
                        continue
                    made = self._stopped(made, 1)
                self._fill(made, then, (*numbers, number), room)

    def _closed(self, state: State, code: int, number: int) -> State:
        """Ends a bundle with a node, or a nop, in its last slot: no other may issue behind it."""
        closing = self.ports.closing
        if code not in (closing.always if number < 0 else closing.busy):
            return state
        return *state[:6], _PAIR, *state[7:]

    def _choices(self, cand: int, waiting: int, busy: bool) -> list[int]:
        """What may stand in a slot, of some candidates: not all of them, but the most urgent one
        whose operands are there, a more urgent one that waits, and the most urgent one of those on
        other units.

        Where all of them wait, a nop (-1) if the cycle is `busy` with something already.
        """
        first, ready = (cand & -cand).bit_length() - 1, cand & ~waiting
        if not ready:
            return [first, -1] if busy else [first]
        number = (ready & -ready).bit_length() - 1
        found = [number] if number == first else [number, first]
        rest = ready & ~self.problem.alike[number]
        if rest:
            found.append((rest & -rest).bit_length() - 1)
        return found

    def _relieving(self, state: State, cand: int) -> int:
        """Of the candidates those that leave no more values than there are, if any node does."""
        problem, placed, avail, later, window = (self.problem, state[0], *state[2:4], state[5])
        left = relieving = avail | later
        while left:
            bit = left & -left
            left ^= bit
            number = bit.bit_length() - 1
            rest = ~(placed | bit)
            if problem.opens[number] > sum(not mask & rest for mask in problem.closes[number]):
                relieving ^= bit
        return cand & relieving if relieving or window else cand

    def _far(self, state: State) -> int:
        """The units, as bits, of which no node may stand in the next bundle."""
        problem, far = self.problem, self.problem.missing
        left, avail = problem.every & ~state[0], state[2]
        for unit, nodes in problem.rare:
            nodes &= left
            if nodes & avail:
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
        state = (0, 0, self.problem.every, *self.start().state[3:])
        stop, before = False, -1
        for template, numbers in bundles:
            code = template & ~STOP
            state = self._begun(state, stop)
            if SHAPE[code].steps[-1][0] is WIDE and self._keeps_long(state, before):
                state = self._waited(state)
            for (unit, _, ends), number in zip(SHAPE[code].steps, numbers, strict=True):
                state = self._issued(state, rank[number] if number >= 0 else -1, unit)
                if ends:
                    state = self._stopped(state, 1)
            state = self._closed(state, code, numbers[-1])
            stop, before = bool(template & STOP), code
        return state[4] + 1

    def cycles(self, state: State) -> int:
        """Cycles that the whole will take at least."""
        _, _, avail, later, cycle, window, _, _, _, due = state
        height = self.problem.height
        least = 1
        # The most urgent node has the greatest height.
        if avail:
            least = height[(avail & -avail).bit_length() - 1]
        if later:
            behind = height[(later & -later).bit_length() - 1]
            if window:  # nops alone hold nobody up
                behind += 1
            if behind > least:
                least = behind
        least += cycle
        if due:
            left = avail | later
            for number, at in due.items():
                if at + height[number] > least and left >> number & 1:
                    least = at + height[number]
        return least
