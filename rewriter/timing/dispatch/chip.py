"""A chip with dispatch groups runs a trace."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.dispatched_cpu import Dispatched
from rewriter.timing import causes
from rewriter.timing.caches import Below, Tags
from rewriter.timing.dispatch.core import Core, Stages
from rewriter.timing.dispatch.foretold import UNKNOWN, Foretold
from rewriter.timing.dispatch.items import Item, Items
from rewriter.timing.dispatch.memory import CachedAccess, Memory
from rewriter.timing.path import BEGINNING, Event, later, spent
from rewriter.timing.predictors import Transfer
from rewriter.timing.result import Delay, Moment, Result, longest


class Chip:
    """What it remembers from one run to the next: caches and predictors."""

    def __init__(self, cpu: Cpu, pipeline: Dispatched, system: System, items: Items) -> None:
        figures = pipeline.memory
        self._pipeline, self._block = pipeline, cpu.fetch_block.value
        self._penalty = pipeline.fetch.mispredicted.value
        self._indirect = pipeline.fetch.indirect.value
        self._items = items
        self._below = Below(figures.inner, system, figures.misses.value)
        self._memory = Memory(figures, self._below)
        self._instructions = Tags(figures.icache)
        self._foretold = Foretold(pipeline.fetch)

    def run(self, steps: Sequence[Step]) -> Result:
        """Runs a trace from time zero."""
        self._below.restart()
        self._memory.restart()
        core, moments, last = Core(self._pipeline, self._block), list[Moment](), BEGINNING
        for step in steps:
            item = self._items.of(step.insn)
            access = None if step.access is None else CachedAccess(self._memory, step)
            stages = core.put(item, self._fetched(core, step), access)
            self._follow(core, step, item, stages)
            moments.append(_moment(step, stages))
            last = stages.completed
        return Result(last.time + 1, spent(last), tuple(moments))

    def learn(self, steps: Sequence[Step]) -> bool:
        """What a run of the steps leaves; its times say which lines give way, and whether a load
        gets what was just stored from the cache."""
        self._below.restart()
        self._memory.restart()
        sure, block = True, -1
        for step in steps:
            if block != step.address & -self._block:
                block = step.address & -self._block
                self._ask(step.address, 0)
            if step.access is not None:
                sure = self._memory.touch(step) and sure
            if self._items.of(step.insn).control:
                transfer = Transfer(step)
                wrong = self._foretold.fault(transfer)
                block = -1 if wrong or transfer.taken else block
        return sure and not self._full

    def foresee(self, transfers: Sequence[Step], times: int) -> None:
        """Learns so often; in between only what foretells has more to learn."""
        self.learn(transfers)
        control = [Transfer(step) for step in transfers if self._items.of(step.insn).control]
        for _ in range(times - 2):
            if self._full:
                self.learn(transfers)
                continue
            for transfer in control:
                self._foretold.fault(transfer)
        self.learn(transfers)

    @property
    def _full(self) -> bool:
        """Whether a line has had to give way."""
        return self._below.full or self._instructions.full or self._memory.full

    def _fetched(self, core: Core, step: Step) -> Event:
        """Through the instruction cache."""
        event, begins = core.front.fetch(step.address)
        ready = self._ask(step.address, event.time) if begins else event.time
        return event if ready <= event.time else core.front.late(later(event, ready, causes.ICACHE))

    def _ask(self, address: int, at: int) -> int:
        """When instructions come from the cache that it is asked for."""
        if self._instructions.find(address) is not None:
            return at
        ready, _ = self._below.fill(address, ~(address >> self._instructions.shift), at)
        self._instructions.insert(address)
        return ready

    def _follow(self, core: Core, step: Step, item: Item, stages: Stages) -> None:
        """Where fetch goes after this instruction, and what that costs."""
        wrong = self._foretold.fault(Transfer(step)) if item.control else ""
        if wrong:
            lost = 1 + self._indirect if wrong == UNKNOWN else self._penalty
            core.front.wrong(Event(stages.issued.time + lost, stages.issued, wrong))
        elif step.target is not None:
            core.front.taken(item.traits.flow)


def _moment(step: Step, stages: Stages) -> Moment:
    """What is told of the instruction: what held it up longest between dispatch and issue."""
    waits: list[Delay] = [
        (stages.dispatched.cause, stages.dispatched.time - stages.fetched.time - 1),
        (stages.ready.cause, stages.ready.time - stages.dispatched.time),
        (stages.issued.cause, stages.issued.time - stages.ready.time),
    ]
    cause, _ = longest(waits)
    waited = sum(cycles for _, cycles in waits)
    return Moment(
        address=step.address,
        fetch=stages.fetched.time,
        issue=stages.issued.time,
        complete=stages.done,
        retire=stages.completed.time,
        pipe=stages.pipe,
        cause=cause if waited else "",
        waited=waited,
    )
