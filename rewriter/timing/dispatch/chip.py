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
from rewriter.timing.result import Delay, Moment, Result


class Chip:
    """What it remembers from one run to the next: caches and predictors."""

    def __init__(self, cpu: Cpu, pipeline: Dispatched, system: System) -> None:
        figures = pipeline.memory
        self._pipeline, self._block = pipeline, cpu.fetch_block.value
        self._penalty = pipeline.fetch.mispredicted.value
        self._indirect = pipeline.fetch.indirect.value
        self._items = Items(cpu, pipeline)
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

    def learn(self, transfers: Sequence[Step]) -> None:
        """What a run of transfers of control leaves."""
        for step in transfers:
            self._foretold.fault(step)

    def _fetched(self, core: Core, step: Step) -> Event:
        """Through the instruction cache."""
        event, begins = core.front.fetch(step.address)
        if begins and self._instructions.find(step.address) is None:
            line = step.address >> self._instructions.shift
            ready, _ = self._below.fill(step.address, ~line, event.time)
            self._instructions.insert(step.address)
            event = core.front.late(later(event, ready, causes.ICACHE))
        return event

    def _follow(self, core: Core, step: Step, item: Item, stages: Stages) -> None:
        """Where fetch goes after this instruction, and what that costs."""
        wrong = self._foretold.fault(step) if item.control else ""
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
    cause, _ = max(waits, key=_cycles)
    waited = sum(cycles for _, cycles in waits)
    return Moment(
        *(step.address, stages.fetched.time, stages.issued.time, stages.done),
        *(stages.completed.time, stages.pipe, cause if waited else "", waited),
    )


def _cycles(delay: Delay) -> int:
    return delay[1]
