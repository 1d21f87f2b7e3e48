"""The front of an out-of-order pipeline: one aligned block a cycle, if it was foreseen."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.target.cpu import Cpu, OutOfOrder
from rewriter.timing import causes
from rewriter.timing.caches import Below, Tags, Translations
from rewriter.timing.outoforder.places import Place
from rewriter.timing.path import BEGINNING, Event, later, latest
from rewriter.timing.predictors import ReturnStack, Transfer, TwoLevel, hinted


class Front:
    """Predictors and the instruction cache; survives a restart of the clock.

    `cause` is what the cycle of the last fetch itself goes to.
    """

    def __init__(self, cpu: Cpu, pipeline: OutOfOrder, below: Below) -> None:
        figures, memory = pipeline.fetch, pipeline.memory
        self._size = cpu.fetch_block.value
        self._line_bubble = figures.line_bubble.value
        self._way_bubble = figures.way_bubble.value
        self._itb_cost = figures.itb_miss.value + memory.walk.value
        self.penalty = {
            causes.BRANCH: figures.mispredicted.value,
            causes.JUMP: figures.jump_mispredicted.value,
        }
        self._branches = TwoLevel(figures.predictor)
        self._returns = ReturnStack(figures.return_stack.value)
        self._lines: dict[int, tuple[int, int]] = {}  # block: the next one, and its way
        self._itb = Translations(figures.itb_entries.value, figures.page.value)
        self._tags = Tags(memory.icache)
        self._below = below
        self.restart()

    def restart(self) -> None:
        """Time starts again at zero."""
        self._last: int | None = None  # the block fetched before
        self._event = BEGINNING
        self._controls = 0
        self._redirect: Event | None = None
        self.cause = causes.FETCH

    @property
    def full(self) -> bool:
        """Whether something that was fetched has had to give way."""
        return self._tags.full or self._itb.full

    def fetch(self, address: int, mapped: Event) -> Event:
        """The block that holds `address` is fetched.

        `mapped` is when the block before went through the mapper: fetch does not run ahead of it.
        """
        block = address & -self._size
        self.cause = causes.FETCH if address == block else causes.ENTRY
        event = Event(self._event.time + 1, self._event, self.cause)
        if self._controls > 1 and self._redirect is None:
            event = later(event, event.time + self._controls - 1, causes.BRANCHES)
        if mapped.time - 1 > event.time:
            event = Event(mapped.time - 1, mapped.parent, mapped.cause)
        event = self._arrived(block, event)
        self._last, self._event, self._controls = block, event, 0
        return event

    def _arrived(self, block: int, event: Event) -> Event:
        """Prediction of the block, and its way through translation and cache."""
        way = self._tags.find(block)
        if self._redirect is not None:
            event = latest(event, self._redirect)
            self._redirect = None
        elif self._last is not None:
            expected = self._lines.get(self._last, (self._last + self._size, 0))
            if expected[0] != block:
                event = later(event, event.time + self._line_bubble, causes.LINE)
            elif way is not None and way != expected[1]:
                event = later(event, event.time + self._way_bubble, causes.WAY)
        if not self._itb.hit(block):
            event = later(event, event.time + self._itb_cost, causes.ITB)
        if way is None:
            ready, _ = self._below.fill(block, ~block, event.time)
            event = later(event, ready, causes.ICACHE)
            way = self._tags.insert(block)
        if self._last is not None:
            self._lines[self._last] = (block, way)
        return event

    def again(self, event: Event) -> None:
        """A trap refetched from the block fetched last."""
        self._event = event

    def restarted(self, event: Event) -> None:
        """The next block is fetched only at this event."""
        self._redirect = event

    def learn(self, transfers: Sequence[tuple[Place, Transfer]], times: int) -> None:
        """Takes in transfers of control that ran, so often: caches know where they stand."""
        blocks = [transfer.address & -self._size for _, transfer in transfers]
        # A block comes from the same way of the cache each time.
        met = {block: (block, self._tags.find(block) or 0) for block in blocks}
        for _ in range(times):
            self.restart()
            behind: int | None = None
            for block, (place, transfer) in zip(blocks, transfers, strict=True):
                if block != behind:
                    if self._last is not None:
                        self._lines[self._last] = met[block]
                    self._last = behind = block
                if place.control and (self.foreseen(place, transfer) or transfer.taken):
                    behind = None

    def foreseen(self, place: Place, transfer: Transfer) -> str:
        """The cause of a misprediction by a control-flow instruction, empty if there is none."""
        self._controls += 1
        if transfer.calls and (transfer.taken or not transfer.conditional):
            self._returns.push(transfer.following)
        if transfer.conditional:
            if not self._branches.right(transfer.address, transfer.taken):
                return causes.BRANCH
            if not transfer.taken:
                return ""
        if transfer.returns:
            return "" if self._returns.right(transfer.goal) else causes.JUMP
        if transfer.computed:
            return "" if self._jump(place, transfer) else causes.JUMP
        return ""

    def _jump(self, place: Place, transfer: Transfer) -> bool:
        """A computed jump: the line predictor once it has seen one, else the hint."""
        if self._last in self._lines:
            return self._lines[self._last][0] == transfer.goal & -self._size
        return hinted(place.traits, transfer.following, transfer.goal)
