"""Cycles of a trace of bundles: loops, caches, branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.bundled_cpu import Bundled, BundledCpu, BundledTraits
from rewriter.core.target.substitution import Step
from rewriter.timing.bundled.dispersal import END, STOP, Cycle, Located, locate, next_cycle
from rewriter.timing.bundled.front_end import Fetch, Predictor
from rewriter.timing.bundled.memory import Access, Memory
from rewriter.timing.bundled.result import Account, Issued, Timing, Wait
from rewriter.timing.bundled.rotation import Rotation
from rewriter.timing.bundled.run import issued
from rewriter.timing.bundled.scoreboard import Scoreboard

FETCH = "fetch"  # the cycle ends because the next bundle is not there yet

_LEARNING = 8  # passes: a history has four outcomes, and then a counter must move
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_TO_REGISTER = (Flow.INDIRECT, Flow.INDIRECT_CALL)


def trace(cpu: BundledCpu, steps: Sequence[Step], warm: bool = True) -> Timing:
    """The time of a run.

    Warm means that the same run was there again and again: caches and predictors know it.
    Instructions whose predicate is false wait for nothing else and write nothing.
    """
    chip = Chip(cpu)
    if warm:
        chip.learn(steps)
    return chip.run(steps)


class Chip:
    """A CPU with its caches and predictors; what they learn stays from run to run."""

    def __init__(self, cpu: BundledCpu) -> None:
        self._issue = cpu.issue
        self._memory = Memory(cpu.issue.memory)
        self._predictor = Predictor(cpu.issue.front)
        self._pieces: dict[tuple[int, int], _Piece] = {}

    def learn(self, steps: Sequence[Step]) -> None:
        """The caches see a run once, the predictors until they have nothing more to learn."""
        self.run(steps)
        described = ((self._issue.traits(step.insn), step) for step in steps)
        branches = [(traits, step) for traits, step in described if traits.flow is not Flow.NEXT]
        for _ in range(_LEARNING):
            for traits, step in branches:
                self.foretold(traits, step)

    def foretold(self, traits: BundledTraits, step: Step) -> bool:
        """Whether a branch that may or may not be taken was predicted; learns from it."""
        if traits.flow is not Flow.BRANCH and not traits.is_predicated:
            return True
        return self._predictor.right(step.address, step.target is not None, traits.hinted)

    def run(self, steps: Sequence[Step]) -> Timing:
        """The time of one run, which begins with an empty pipeline."""
        self._memory.restart()
        run = _Run(self)
        for start, end in _pieces(steps):
            run.piece(steps[start:end])
        return run.account.timing(run.splits, run.timeline)

    def piece(self, steps: Sequence[Step]) -> _Piece:
        """Slots that control passed one after another, as the code has them."""
        key = (steps[0].address, len(steps))
        if key not in self._pieces:
            slots = [Slot(step.address, step.insn, step.stop) for step in steps]
            self._pieces[key] = _Piece(self._issue, list(locate(self._issue, slots)))
        return self._pieces[key]


@dataclass
class _Piece:
    """Straight code with the cycles that it can begin at each slot, by how many bundles it sees."""

    issue: Bundled
    slots: list[Located]
    _cycles: dict[tuple[int, int], Cycle] = field(default_factory=dict)

    def cycle(self, at: int, bundles: int) -> Cycle:
        """The slots that issue together from `at` on."""
        found = self._cycles.get((at, bundles))
        if found is None:
            found = next_cycle(self.issue, self.slots, at, bundles)
            self._cycles[at, bundles] = found
        return found


def _pieces(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """The stretches between taken branches."""
    start = 0
    for at, step in enumerate(steps):
        if step.target is not None or at == len(steps) - 1:
            yield start, at + 1
            start = at + 1


class _Run:
    """One run on a chip."""

    def __init__(self, chip: Chip) -> None:
        issue = chip._issue
        self._chip = chip
        self._issue = issue
        self._rotation = Rotation(issue.rotating)
        self._board = Scoreboard(issue, self._rotation.behind)
        self._fetch = Fetch(issue.front, issue.dispersal.bundle_bytes.value)
        self._flushed: Wait | None = None
        self._returns: list[int] = []
        self.account = Account(issue.priority)
        self.splits: Counter[str] = Counter()
        self.timeline: list[Issued] = []

    def piece(self, steps: Sequence[Step]) -> None:
        """Slots that control passed one after another, the last a taken branch."""
        piece = self._chip.piece(steps)
        at = 0
        while at < len(steps):
            at += self._cycle(piece, steps, at)

    def _cycle(self, piece: _Piece, steps: Sequence[Step], at: int) -> int:
        """Issues what goes together from `at` on; how many slots that is."""
        located = piece.slots
        start = self._fetch.ready(located[at].bundle)
        alone = piece.cycle(at, 1)
        waits = self._waits(alone, steps[at:], start)
        when = max([self.account.now + 1, *(w.until for each in waits for w in each)])
        cycle = alone
        following = at + len(alone.slots)
        if following < len(located) and alone.ended != STOP:
            wider = piece.cycle(at, self._issue.dispersal.bundles.value)
            if len(wider.slots) > len(alone.slots):
                if self._fetch.ready(located[following].bundle) <= when:
                    cycle, waits = wider, self._waits(wider, steps[at:], start)
                else:
                    self.splits[FETCH] += 1
        self._issued(cycle, steps[at : at + len(cycle.slots)], waits, located, at)
        return len(cycle.slots)

    def _waits(self, cycle: Cycle, steps: Sequence[Step], start: int) -> list[list[Wait]]:
        """What holds each slot; the first also waits for its bundle."""
        now = self.account.now + 1
        waits = []
        for traits, step in zip(cycle.traits, steps, strict=False):
            own = list(self._board.waits(traits, step.on))
            if (access := _access(traits, step)) is not None:
                own += self._chip._memory.waits(access, now)
            waits.append(own)
        waits[0].append(self._flushed or Wait(start, self._issue.front.starved))
        return waits

    def _issued(
        self,
        cycle: Cycle,
        steps: Sequence[Step],
        waits: list[list[Wait]],
        located: Sequence[Located],
        at: int,
    ) -> None:
        before = self.account.now + 1
        held = (wait for each in waits for wait in each)
        now = self.account.issue(held, self._board.blocked)
        self._flushed = None
        for traits, step in zip(cycle.traits, steps, strict=True):
            self._executed(traits, step, now)
        for number in range(at, at + len(steps)):
            if located[number].last or number == len(located) - 1:
                self._fetch.issued(now)
        for slot, port, own in zip(cycle.slots, cycle.ports, waits, strict=True):
            self.timeline.append(issued(slot, now, port, before, own))
        if cycle.ended not in (STOP, END):
            self.splits[cycle.ended] += 1

    def _executed(self, traits: BundledTraits, step: Step, now: int) -> None:
        if step.on:
            access = _access(traits, step)
            late = self._chip._memory.issue(access, now) if access is not None else 0
            self._board.issued(traits, step.address, now, late)
        if traits.flow is not Flow.NEXT:
            self._branch(traits, step, now)
        if step.on:
            self._rotation.after(traits)

    def _branch(self, traits: BundledTraits, step: Step, now: int) -> None:
        """A branch is foretold, or what was fetched behind it is thrown away."""
        taken = step.target is not None
        right = self._chip.foretold(traits, step)
        if taken and traits.flow in _TO_REGISTER:
            right = right and self._known(traits, now)
        if taken and traits.flow in _CALLS:
            following = self._fetch.following(step.address)
            self._returns = [*self._returns, following][-self._issue.front.return_stack.value :]
        if taken and traits.flow is Flow.RETURN and self._returns:
            right = self._returns.pop() == step.target and right
        if taken:
            self._flushed = self._fetch.redirect(right, now)
        elif not right:
            self._flushed = self._fetch.flush(now)

    def _known(self, traits: BundledTraits, now: int) -> bool:
        """Whether the register that is branched to was written long enough ago."""
        return now >= self._board.written(traits) + self._issue.front.known.value


def _access(traits: BundledTraits, step: Step) -> Access | None:
    if not step.on or step.access is None:
        return None
    return Access(traits.sched.partition(" ")[0], step.access, max(step.size, 1))
