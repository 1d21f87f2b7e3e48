"""An out-of-order pipeline, instruction by instruction in program order.

Each instruction is given the cycle of every stage at once.  What is not in a trace is not here:
wrong paths, interrupts, other processors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, OutOfOrder, System
from rewriter.timing import causes
from rewriter.timing.caches import Below
from rewriter.timing.outoforder.fetch import Front
from rewriter.timing.outoforder.issue import Issuer
from rewriter.timing.outoforder.mapper import Mapper
from rewriter.timing.outoforder.memory import Loaded, Mbox, Trap
from rewriter.timing.outoforder.places import Halves, Place, Places
from rewriter.timing.outoforder.retire import Retirement
from rewriter.timing.path import BEGINNING, Event, later, latest, spent
from rewriter.timing.predictors import Transfer
from rewriter.timing.result import Delay, Moment, Result, longest


class Chip:
    """What a chip remembers from one run to the next: caches, buffers, predictors."""

    def __init__(
        self,
        cpu: Cpu,
        pipeline: OutOfOrder,
        system: System,
        halves: Halves,
        text: Mapping[int, Insn],
    ) -> None:
        self.pipeline = pipeline
        self.below = Below((), system, pipeline.memory.misses.value)
        self.front = Front(cpu, pipeline, self.below)
        self.mbox = Mbox(pipeline, self.below)
        self.places = Places(halves, cpu.fetch_block.value, text)
        self.mask = -cpu.fetch_block.value

    def run(self, steps: Sequence[Step]) -> Result:
        """Runs a trace from time zero."""
        self._restart()
        return _Run(self).all(steps)

    def learn(self, steps: Sequence[Step]) -> bool:
        """What a run of the steps leaves; only which lines give way depends on its times."""
        self._restart()
        front, mask = self.front, self.mask
        block: int | None = None
        for step in steps:
            if block != step.address & mask:
                block = step.address & mask
                front.fetch(step.address, BEGINNING)
            place = self.places.at(step.address, step.insn)
            if step.access is not None:
                self.mbox.touch(step, place.write_hint)
            if place.control:
                transfer = Transfer(step)
                if front.foreseen(place, transfer) or transfer.taken:
                    block = None
        return not self._full

    def foresee(self, transfers: Sequence[Step], times: int) -> None:
        """Learns so often; in between only predictors have more to learn."""
        self.learn(transfers)
        if self._full:
            for _ in range(times - 2):
                self.learn(transfers)
        else:
            met = [(self.places.at(one.address, one.insn), Transfer(one)) for one in transfers]
            self.front.learn(met, times - 2)
        self.learn(transfers)

    @property
    def _full(self) -> bool:
        """Whether a line or a page has had to give way."""
        return self.below.full or self.front.full or self.mbox.full

    def _restart(self) -> None:
        """Time starts again at zero."""
        self.below.restart()
        self.front.restart()
        self.mbox.restart()


class _Issue:
    """The last issue of an instruction, and what it waited for before."""

    __slots__ = ("event", "pipe", "waits")

    def __init__(self, event: Event, pipe: str, waits: list[Delay]) -> None:
        self.event = event
        self.pipe = pipe
        self.waits = waits


class _Run:
    """One run: the pipeline's own state."""

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        pipeline = chip.pipeline
        self._front, self._mbox = chip.front, chip.mbox
        self._mapper = Mapper(pipeline.window)
        self._issuer = Issuer(pipeline)
        self._retirement = Retirement(pipeline.window)
        self._issue_stage = pipeline.window.issue_stage.value
        self._hit = pipeline.memory.dcache.latency.value
        self._barrier = BEGINNING
        self._fetched = BEGINNING
        self._depth = causes.START  # why the stages between fetch and issue were empty

    def all(self, steps: Sequence[Step]) -> Result:
        """The whole trace."""
        places, mask = self._chip.places, self._chip.mask
        moments: list[Moment] = []
        block: int | None = None
        for step in steps:
            place = places.at(step.address, step.insn)
            if block != step.address & mask:
                block = step.address & mask
                self._fetched = self._front.fetch(step.address, self._mapper.event)
                self._mapper.block(self._fetched, self._front.cause, self._depth)
            issue, moment = self._one(step, place)
            moments.append(moment)
            if place.control:
                wrong = self._front.foreseen(place, Transfer(step))
                if wrong:
                    redirect = self._refetch(issue.event, Trap(wrong, self._front.penalty[wrong]))
                    self._front.restarted(redirect)
                if wrong or step.target is not None:
                    block = None
        last = self._retirement.event
        return Result(last.time + 1, spent(last), tuple(moments))

    def _refetch(self, issued: Event, trap: Trap) -> Event:
        """The fetch that follows a trap or misprediction found by what issued then.

        The manual counts penalties from the cycle after the fetch of an instruction that did not
        wait before issue.
        """
        self._depth = trap.cause
        time = issued.time - self._issue_stage + 1 + trap.penalty
        return Event(time, issued, trap.cause)

    def _one(self, step: Step, place: Place) -> tuple[_Issue, Moment]:
        """One instruction, again for as long as it traps."""
        first = self._fetched.time
        traps: list[Delay] = []
        while True:
            issue = self._issued(step, place)
            trap = self._trap(step, place, issue.event.time) if step.access is not None else None
            if trap is None:
                break
            again = self._refetch(issue.event, trap)
            traps.append((trap.cause, again.time - self._fetched.time))
            self._fetched = again
            self._front.again(again)
            self._mapper.block(again, trap.cause, trap.cause)
        loaded = self._completed(step, place, issue)
        retired, late = self._retired(step, place, issue.event, loaded)
        held = longest([*traps, late, *issue.waits, *self._mapper.waits])
        time = issue.event.time
        waited = time + late[1] - self._issue_stage - first
        return issue, Moment(
            address=step.address,
            fetch=self._fetched.time,
            issue=time,
            complete=time + loaded.latency,
            retire=retired.time,
            pipe=issue.pipe,
            cause=held[0] if waited else "",
            waited=waited,
        )

    def _issued(self, step: Step, place: Place) -> _Issue:
        """Map and issue."""
        mapper, issuer = self._mapper, self._issuer
        queued = self._queued(mapper.enter(place))
        if not place.pipes:
            return _Issue(queued, "", [])
        least = self._held(step, place, queued)
        first = issuer.issue(place, place.pipes, place.reads, least)
        waits = _waits(queued, first.ready, first.event)
        if not place.then:
            mapper.issued(place, first.event, first.event)
            return _Issue(first.event, first.pipe, waits)
        least = Event(first.event.time + place.after, first.event, causes.OPERANDS)
        if place.split:
            queued = self._queued(mapper.split(place))
            least = latest(least, queued)
        second = issuer.issue(place, place.then, place.late, least)
        mapper.issued(place, first.event, second.event)
        waits += [(causes.OPERANDS, place.after)]
        waits += _waits(least, second.ready, second.event)
        return _Issue(second.event, f"{first.pipe}+{second.pipe}", waits)

    def _queued(self, mapped: Event) -> Event:
        """The first cycle in which what was mapped can issue."""
        return Event(mapped.time + 1, mapped, self._depth)

    def _held(self, step: Step, place: Place, queued: Event) -> Event:
        """What an access must wait for beside its operands."""
        if place.barrier:
            return later(queued, self._mbox.finished, causes.BARRIER)
        if step.access is None:
            return queued
        if self._barrier.time > queued.time:
            queued = self._barrier
        if step.size and not step.store:
            queued = latest(queued, self._mbox.floor(step))
        return queued

    def _trap(self, step: Step, place: Place, issue: int) -> Trap | None:
        if place.write_hint:
            return None
        if step.store:
            return self._mbox.store_trap(step, issue)
        if step.size == 0:
            return self._mbox.hint(step, issue)
        return self._mbox.load_trap(step, issue)

    def _completed(self, step: Step, place: Place, issue: _Issue) -> Loaded:
        """Latency of the result, and its cause if it is a load's."""
        event = issue.event
        if place.barrier:
            self._barrier = Event(event.time + 1, event, causes.BARRIER)
        latency, cause = place.latency, ""
        if step.access is not None and place.write_hint:
            self._mbox.allocate(step, event.time)
        elif step.access is not None and step.size and not step.store:
            loaded = self._mbox.load(step, event.time)
            latency, cause = loaded.latency + place.latency - self._hit, loaded.cause
        self._issuer.write(place, event, latency, issue.pipe.rpartition("+")[2], cause)
        return Loaded(latency, cause)

    def _retired(
        self, step: Step, place: Place, issued: Event, loaded: Loaded
    ) -> tuple[Event, Delay]:
        """Retirement, and how much later than usual the result was there."""
        usual = place.stage - self._issue_stage
        late = max(loaded.latency - usual, 0) if place.writes else 0
        cause = loaded.cause or causes.OPERANDS
        ready = later(issued, issued.time + late, cause)
        ready = Event(ready.time + usual, ready, causes.RETIRE)
        retired = self._retirement.retire(ready, place.conditional)
        self._mapper.retired(place, retired)
        if step.access is not None and step.size and not place.write_hint:
            if step.store:
                self._mbox.store(step, issued, retired.time)
            else:
                self._mbox.load_retired(retired.time, issued.time + loaded.latency)
        return retired, (cause, late)


def _waits(least: Event, ready: Event, issued: Event) -> list[Delay]:
    """What an issue waited for: operands, then a pipe."""
    return [
        (ready.cause, max(ready.time - least.time, 0)),
        (issued.cause, issued.time - ready.time),
    ]
