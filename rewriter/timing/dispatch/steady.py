"""Loops on a pipeline of dispatch groups, once they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice, pairwise

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.dispatched_cpu import Dispatched, Grouping
from rewriter.timing import causes
from rewriter.timing.dispatch.core import Core, Loaded, Stages
from rewriter.timing.dispatch.group import Group
from rewriter.timing.dispatch.items import Item, Items
from rewriter.timing.path import BEGINNING, Event
from rewriter.timing.steady import Line, Steady, Stepper, Times, ends
from rewriter.timing.steady_node import Placed, Where

_FEW = 4
"""Passes that are run at least before they are measured, and while they are."""

_MOST = 128
"""Instructions in flight that are waited for: a chip that holds more of a loop is never full."""


_Step = tuple[int, Item, Where | None, bool]
"""An instruction with its address, and where it accesses memory if that is known; if it stores."""


class _Near:
    """An aligned access that hits; `stored` is when each known place was stored to in this pass."""

    more = 0

    def __init__(self, stored: dict[Where, Event], where: Where, store: bool, after: int) -> None:
        self._stored, self._where, self._store, self._after = stored, where, store, after

    def held(self, least: Event) -> Event:
        """Nothing holds it."""
        return least

    def issued(self, event: Event, usual: int) -> Loaded:
        """A load of what was just stored waits for it."""
        if self._store:
            self._stored[self._where] = event
            return Loaded(usual, "")
        stored = self._stored.get(self._where)
        there = stored.time + self._after if stored is not None else 0
        return Loaded(max(usual, there - event.time), causes.STORE)

    def completed(self, event: Event) -> None:
        """Nothing waits for that."""


class _Stepping(Stepper):
    """A run that is given its instructions one at a time, without their fetch."""

    def __init__(self, core: Core, steps: Sequence[_Step]) -> None:
        self._core, self._steps = core, steps

    def loop(self) -> None:
        """Runs one pass of a loop."""
        for number in range(len(self._steps)):
            self.put(number, number)

    def start(self, place: int, number: int) -> int:
        """When an instruction would issue if it were the next and its pipe were free."""
        return self._core.foreseen(self._steps[number][1])

    def put(self, place: int, number: int) -> int:
        """Issues an instruction; returns its cycle."""
        return self._core.put(self._steps[number][1], BEGINNING).issued.time


class _DispatchedLine(Line):
    """Straight code that runs once."""

    def __init__(self, pipeline: Dispatched, block: int, steps: Sequence[_Step]) -> None:
        self._pipeline, self._block, self._steps = pipeline, block, steps
        self._after_store = pipeline.memory.after_store.value

    def times(self, order: Sequence[int]) -> list[Times]:
        """When what stands at each place issues, and has its results."""
        steps = list[_Step]()
        for place, number in enumerate(order):
            _, item, where, stores = self._steps[number]
            steps.append((self._steps[place][0], item, where, stores))
        stages = _ran(Core(self._pipeline, self._block), steps, self._after_store)
        return [(one.issued.time, one.done) for one in stages]

    def stepper(self) -> Stepper:
        """A pipeline that has not run yet: what can be dispatched and issue first goes first."""
        return _Stepping(Core(self._pipeline, self._block), self._steps)

    def spread(self) -> int:
        """Cycles from the first issue to the last, if every group were full."""
        grouping = self._pipeline.grouping
        taken = _places(grouping, [item for _, item, _, _ in self._steps])
        return -(-taken // grouping.places.value) - 1

    def latency(self, made: int, used: int, register: int) -> int:
        """Cycles from the first issue of one to that of another that reads its result there."""
        return _between(self._steps[made][1], self._steps[used][1], register)


class SteadyDispatched(Steady):
    """The steady state of loops on such a CPU."""

    def __init__(self, cpu: Cpu, pipeline: Dispatched, table: Table, items: Items) -> None:
        super().__init__(cpu, pipeline, table)
        self._pipeline, self._items = pipeline, items
        self._after_store = pipeline.memory.after_store.value
        flight, places = pipeline.flight, pipeline.grouping.places.value
        self._room = flight.instructions.value if flight.instructions else 0
        self._room = max(self._room, flight.groups.value * places if flight.groups else 0)

    def cycles(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass, the mean of a period once the chip is full of passes."""
        core, steps, flow = Core(self._pipeline, self.block), self._steps(code), code[-1][1].op.flow
        full = _FEW + -(-min(self._room, _MOST) // len(code))

        def run() -> int:
            last = _ran(core, steps, self._after_store)[-1]
            core.front.taken(flow)
            return last.completed.time

        found = list(islice(ends(run, core.state), 3 * full))
        return _period([after - before for before, after in pairwise(found[full:])])

    def least(self, code: Sequence[Placed]) -> int:
        """A pass is fetched anew, and fills so many groups; the last may be shared with the next
        pass, unless the branch ends it."""
        grouping, items = self._pipeline.grouping, [self._items.of(insn) for _, insn, _ in code]
        width, places = grouping.places.value, _places(grouping, items)
        groups = -(-places // width) if items[-1].last else places // width
        return max(groups, 1 + self._pipeline.fetch.taken.value)

    def line(self, code: Sequence[Placed]) -> Line:
        """Straight code that runs once."""
        return _DispatchedLine(self._pipeline, self.block, self._steps(code))

    def latency(self, producer: Insn, consumer: Insn, register: int) -> int:
        """Cycles from the first issue of one to that of another that reads its result there."""
        return _between(self._items.of(producer), self._items.of(consumer), register)

    def groups(self, code: Sequence[Insn]) -> list[list[Insn]]:
        """The groups that straight code is dispatched in when nothing else holds it up."""
        group, found = Group(self._pipeline.grouping), list[list[Insn]]()
        for insn in code:
            item = self._items.of(insn)
            if not found or not group.fits(item):
                group.clear()
                found.append([])
            group.take(item)
            found[-1].append(insn)
        return found

    def straight(self, code: Sequence[Insn]) -> int:
        """Cycles from the first issue to the last of straight code, run once by itself."""
        core, issued = Core(self._pipeline, self.block), list[int]()
        for number, insn in enumerate(code):
            item = self._items.of(insn)
            fetched, _ = core.front.fetch(number * insn.size)
            issued.append(core.put(item, fetched).issued.time)
        return max(issued) - min(issued) + 1 if issued else 0

    def item(self, insn: Insn) -> Item:
        """The instruction as the pipeline sees it."""
        return self._items.of(insn)

    def _steps(self, code: Sequence[Placed]) -> list[_Step]:
        """Straight code as it is run."""
        found = list[_Step]()
        for address, insn, where in code:
            effects = self.table.effects(insn.op)
            reached = where if effects.loads or effects.stores else None
            found.append((address, self._items.of(insn), reached, effects.stores))
        return found


def _ran(core: Core, steps: Sequence[_Step], after_store: int) -> list[Stages]:
    """Runs straight code, in which a load of what was stored waits so many cycles."""
    stored: dict[Where, Event] = {}
    found = list[Stages]()
    for address, item, where, stores in steps:
        fetched, _ = core.front.fetch(address)
        access = None if where is None else _Near(stored, where, stores, after_store)
        found.append(core.put(item, fetched, access))
    return found


def _places(grouping: Grouping, items: Sequence[Item]) -> int:
    """Places in groups that code takes; where branches have their own they take none."""
    held = grouping.branches.value
    return sum([0 if i.folded or (i.control and held) else i.places for i in items])


def _between(made: Item, used: Item, register: int) -> int:
    """Cycles from the first issue of one to that of another that reads its result there."""
    base, result = dict(made.bases).get(register), dict(made.writes).get(register, made.latency)
    for late, reads in ((0, used.reads), (used.after, used.late)):
        for read, special in reads:
            if read == register:
                took = special.get(made.name, result)
                return max(0, (made.after + took if base is None else base) - late)
    return 0


def _period(took: Sequence[int]) -> Fraction:
    """The mean of what repeats itself, or of all if nothing does."""
    for length in range(1, len(took) // 2 + 1):
        if took[length:] == took[:-length]:
            return Fraction(sum(took[:length]), length)
    return Fraction(sum(took), len(took))
