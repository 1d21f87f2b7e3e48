"""An in-order pipeline: groups of instructions that issue together, and never stall afterwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewriter.core.isa.instruction import To
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, InOrder, Sched, System, Traits
from rewriter.timing import causes
from rewriter.timing.caches import Below, Tags
from rewriter.timing.described import CONTROL, sched_of, traits_of
from rewriter.timing.inorder.ahead import Ahead, Stores
from rewriter.timing.predictors import ReturnStack, Saturating, hinted
from rewriter.timing.result import Account, Delay, Moment, Result

_CELL_SHIFT = 3  # a load is compared with stores by aligned 8-byte cells


@dataclass(slots=True)
class _Place:
    """One instruction at one address."""

    traits: Traits
    sched: Sched
    name: str


@dataclass(slots=True)
class _Value:
    """A register's newest value; `cause` is set if it comes later than usual."""

    name: str
    issue: int
    latency: int
    cause: str


@dataclass(slots=True)
class _Issued:
    """A member of the group that is being put together."""

    address: int
    place: _Place
    latency: int
    cause: str
    waited: int


class Chip:
    """What a chip remembers from one run to the next: caches and predictors."""

    def __init__(self, cpu: Cpu, pipeline: InOrder, system: System) -> None:
        self.cpu, self.pipeline = cpu, pipeline
        self.below = Below(pipeline.inner, system, pipeline.misses.value)
        self.branches = Saturating(pipeline.predictor)
        self.returns = ReturnStack(pipeline.return_stack.value)
        self.instructions, self.data = Tags(pipeline.icache), Tags(pipeline.dcache)
        self.places: dict[int, _Place] = {}
        self.special = {
            (producer, consumer, bypass.operand): bypass.latency.value
            for bypass in pipeline.bypasses
            for producer in bypass.producers
            for consumer in bypass.consumers
        }

    def place(self, step: Step) -> _Place:
        """The place of a step."""
        place = self.places.get(step.address)
        if place is None:
            traits = traits_of(self.cpu, step.insn)
            place = _Place(traits, sched_of(self.cpu, traits), traits.sched)
            self.places[step.address] = place
        return place

    def run(self, steps: Sequence[Step]) -> Result:
        """Runs a trace from time zero."""
        self.below.restart()
        return _Run(self).all(steps)

    def learn(self, steps: Sequence[Step]) -> bool:
        """What a run of the steps leaves: it is run."""
        self.run(steps)
        return True

    def foresee(self, transfers: Sequence[Step], times: int) -> None:
        """Learns so often."""
        for _ in range(times):
            self.learn(transfers)


class _Run:
    """One run."""

    def __init__(self, chip: Chip) -> None:
        self._chip, self._pipeline = chip, chip.pipeline
        self._mask = -chip.cpu.fetch_block.value
        self._width = chip.pipeline.width.value
        self._account = Account()
        self._values: dict[int, _Value] = {}
        self._units: dict[str, int] = {}
        self._group: list[_Issued] = []
        self._cycle = -1
        self._moments: list[Moment] = []
        self._block: int | None = None
        self._ahead = Ahead(chip.pipeline.ahead.value)
        self._behind = causes.FETCH  # why the next block may come late
        self._finished = 0
        self._stored: dict[int, int] = {}
        self._stores = Stores([figure.value for figure in chip.pipeline.barred])
        self._buffer: deque[tuple[int, int]] = deque()

    def all(self, steps: Sequence[Step]) -> Result:
        """The whole trace."""
        for step in steps:
            place = self._chip.place(step)
            cycle, delays = self._cycle, []
            for cause, bound in (*self._fetched(step), *self._ready(step, place)):
                if bound > cycle:
                    delays.append((cause, bound - cycle))
                    cycle = bound
            cycle = self._after_store(step, cycle, delays)
            cycle = self._placed(step, place, cycle, delays)
            self._account.charge(cycle - self._cycle, delays, causes.START)
            self._issue(step, place, cycle, delays)
            self._follow(step, place, cycle)
        self._close()
        cycles = max(self._cycle + 1, self._finished)
        # The first group issues in cycle 0, one cycle after "-1": the cycles add up to the last.
        self._account.charge(cycles - self._cycle - 1, (), causes.DRAIN)
        return Result(cycles if steps else 0, self._account.spent, tuple(self._moments))

    # Bounds -------------------------------------------------------------------------------

    def _fetched(self, step: Step) -> Iterator[tuple[str, int]]:
        """A new block starts a new group; it may come late."""
        block = step.address & self._mask
        if block == self._block:
            return
        self._block = block
        free = self._cycle + 1
        yield causes.FETCH, free
        at = self._ahead.enter(free)
        yield self._behind, at
        self._behind = causes.FETCH
        if self._chip.instructions.find(block) is None:
            ready, _ = self._chip.below.fill(block, ~block, at)
            self._chip.instructions.insert(block)
            self._ahead.late(ready)
            yield causes.ICACHE, ready

    def _ready(self, step: Step, place: _Place) -> Iterator[tuple[str, int]]:
        """Operands, units, and what memory says."""
        for register, role in zip(place.traits.reads, place.traits.roles, strict=True):
            value = self._values.get(register)
            if value is not None:
                yield (
                    value.cause or causes.OPERANDS,
                    value.issue + self._latency(value, place.name, role),
                )
        if place.sched.unit in self._units:
            yield causes.UNIT, self._units[place.sched.unit]
        if place.name in self._pipeline.waiting:
            yield causes.BARRIER, self._finished
        if step.access is not None and step.store:
            yield causes.STORES, self._buffer_free(step.access)

    def _latency(self, value: _Value, consumer: str, role: str) -> int:
        if value.cause:
            return value.latency
        special = self._chip.special
        for operand in (role, ""):
            key = (value.name, consumer, operand)
            if key in special:
                return special[key]
        return value.latency

    def _after_store(self, step: Step, cycle: int, delays: list[Delay]) -> int:
        """A load at a barred distance from a store, or soon after one to its cell, is put off."""
        if step.access is None or step.store or not step.size:
            return cycle
        clear = cycle
        stored = self._stored.get(step.access >> _CELL_SHIFT)
        if stored is not None:
            soon = max(cycle, stored + 1)  # never together
            extra = self._pipeline.after_store.get(soon - stored)
            clear = cycle if extra is None else soon + extra.value
        clear = self._stores.clear(clear)
        if clear > cycle:
            delays.append((causes.STORE, clear - cycle))
        return clear

    def _buffer_free(self, access: int) -> int:
        """When the write buffer has room: entries of a line merge while they wait."""
        line = access >> self._chip.data.shift
        while self._buffer and self._buffer[0][1] <= self._cycle:
            self._buffer.popleft()
        if len(self._buffer) < self._pipeline.write_buffer.value:
            return 0
        return 0 if self._buffer[-1][0] == line else self._buffer[0][1]

    # Issue --------------------------------------------------------------------------------

    def _placed(self, step: Step, place: _Place, cycle: int, delays: list[Delay]) -> int:
        """The first cycle, from this one, in which the group has room for the instruction; the
        next one may be at a barred distance from a store."""
        if cycle > self._cycle:
            self._close()
            return cycle
        if self._fits(place):
            return cycle
        self._close()
        delays.append((causes.PIPES, 1))
        return self._after_store(step, cycle + 1, delays)

    def _fits(self, place: _Place) -> bool:
        if len(self._group) == self._width:
            return False
        for one, other in self._pipeline.exclusions:
            for first, second in ((one, other), (other, one)):
                if place.name in first and any(m.place.name in second for m in self._group):
                    return False
        wanted = [m.place.sched.pipes for m in self._group]
        return assign([*wanted, place.sched.pipes]) is not None

    def _issue(self, step: Step, place: _Place, cycle: int, delays: list[Delay]) -> None:
        self._cycle = cycle
        if place.sched.unit:
            busy = place.sched.busy
            self._units[place.sched.unit] = cycle + (busy.value if busy else 1)
        latency, cause = self._access(step, place, cycle)
        for register in place.traits.writes:
            self._values[register] = _Value(place.name, cycle, latency, cause)
        if not place.traits.writes:
            latency = place.sched.latency.value  # nobody waits for a prefetch
        self._finished = max(self._finished, cycle + latency)
        waited = [d for d in delays if d[0] != causes.FETCH]
        longest = max(waited, key=lambda d: d[1], default=("", 0))
        total = sum(cycles for _, cycles in waited)
        self._group.append(_Issued(step.address, place, latency, longest[0], total))

    def _access(self, step: Step, place: _Place, cycle: int) -> tuple[int, str]:
        """Latency of a load, and its cause if it missed; a store goes to the write buffer."""
        latency = place.sched.latency.value
        if step.access is None:
            return latency, ""
        if step.store:
            self._store(step.access, cycle)
            return latency, ""
        line = step.access >> self._chip.data.shift
        fill = self._chip.below.pending(line, cycle + latency)
        if fill is None and self._chip.data.find(step.access) is None:
            fill = self._chip.below.fill(step.access, line, cycle)
            self._chip.data.insert(step.access)
        return (latency, "") if fill is None else (max(latency, fill[0] - cycle), fill[1])

    def _store(self, access: int, cycle: int) -> None:
        """Write-through: the line below is written, the first-level cache only if it has it."""
        self._stored[access >> _CELL_SHIFT] = cycle
        self._stores.issue(cycle)
        line = access >> self._chip.data.shift
        if not (self._buffer and self._buffer[-1][0] == line and self._buffer[-1][1] > cycle):
            start = max(cycle, self._buffer[-1][1] if self._buffer else 0)
            self._buffer.append((line, self._chip.below.absorb(access, start)))

    def _follow(self, step: Step, place: _Place, cycle: int) -> None:
        """Where fetch goes after this instruction, and what that costs."""
        if place.traits.flow not in CONTROL:
            if step.target is not None:
                self._block = None
            return
        wrong = self._wrong(step, place.traits)
        if not wrong and step.target is None:
            return
        self._block = None
        self._behind = wrong or causes.TAKEN
        if wrong:
            self._ahead.wrong(cycle + 1 + self._pipeline.mispredicted.value)
        else:
            self._ahead.taken(self._pipeline.taken.value)

    def _wrong(self, step: Step, traits: Traits) -> str:
        """The cause of a misprediction, empty if there is none."""
        following = step.address + step.insn.size
        target = following if step.target is None else step.target
        returns = self._chip.returns
        flow, taken = traits.flow, step.target is not None
        if flow.calls and (taken or not flow.conditional):
            returns.push(following)
        if flow.conditional and not self._chip.branches.right(step.address, taken):
            return causes.BRANCH
        if flow.conditional and not taken:
            return ""
        if flow.to is To.CALLER:
            return "" if returns.right(target) else causes.JUMP
        if flow.to is To.REGISTER:
            return "" if hinted(traits, following, target) else causes.JUMP
        return ""

    def _close(self) -> None:
        """The group is complete: its pipes are known."""
        pipes = assign([m.place.sched.pipes for m in self._group])
        assert pipes is not None
        for member, pipe in zip(self._group, pipes, strict=True):
            done = self._cycle + member.latency
            self._moments.append(
                Moment(
                    address=member.address,
                    fetch=self._cycle,
                    issue=self._cycle,
                    complete=done,
                    retire=done,
                    pipe=pipe,
                    cause=member.cause,
                    waited=member.waited,
                )
            )
        self._group = []


def assign(wanted: Sequence[tuple[str, ...]]) -> list[str] | None:
    """A different pipe for each member of a group, each from what it can use; None if none fits."""
    if not wanted:
        return []
    head, *rest = wanted
    for pipe in head:
        left = [tuple(p for p in pipes if p != pipe) for pipes in rest]
        found = assign(left)
        if found is not None:
            return [pipe, *found]
    return None
