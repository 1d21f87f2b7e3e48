"""Branch predictors.  All learn at once: a trace has no wrong paths to unlearn."""

from __future__ import annotations

from rewriter.core.isa.instruction import To
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Counters, Selected, Tournament, Traits

_WORD_SHIFT = 2  # instructions are words: the lowest bits of an address say nothing


class Transfer:
    """An executed transfer of control, as what foresees it is asked about it again and again.

    `goal` is where control went: where it was not `taken`, to the `following` instruction.
    """

    __slots__ = (
        "address",
        "calls",
        "computed",
        "conditional",
        "following",
        "goal",
        "returns",
        "step",
        "taken",
    )

    def __init__(self, step: Step) -> None:
        flow = step.insn.op.flow
        self.step = step
        self.address = step.address
        self.following = step.address + step.insn.size
        self.taken = step.target is not None
        self.goal = self.following if step.target is None else step.target
        self.calls = flow.calls
        self.conditional = flow.conditional
        self.returns = flow.to is To.CALLER
        self.computed = flow.to is To.REGISTER


class TwoLevel:
    """Local and global histories, and a choice between them (21264)."""

    def __init__(self, figures: Tournament) -> None:
        self._local_mask = figures.local_entries.value - 1
        self._history_mask = (1 << figures.local_history_bits.value) - 1
        self._local_top = (1 << figures.local_counter_bits.value) - 1
        self._path_mask = (1 << figures.global_history_bits.value) - 1
        self._global_top = (1 << figures.global_counter_bits.value) - 1
        self._choice_top = (1 << figures.choice_counter_bits.value) - 1
        self._histories = [0] * figures.local_entries.value
        self._local = [self._local_top // 2] * (self._history_mask + 1)
        self._global = [self._global_top // 2] * (self._path_mask + 1)
        self._choice = [self._choice_top // 2] * (self._path_mask + 1)
        self._path = 0

    def right(self, address: int, taken: bool) -> bool:
        """Whether the branch was predicted; learns from it."""
        index = address >> _WORD_SHIFT & self._local_mask
        history, path = self._histories[index], self._path
        local = self._local[history] > self._local_top // 2
        whole = self._global[path] > self._global_top // 2
        guess = whole if self._choice[path] > self._choice_top // 2 else local
        if local != whole:
            self._choice[path] = _moved(self._choice[path], whole == taken, self._choice_top)
        self._local[history] = _moved(self._local[history], taken, self._local_top)
        self._global[path] = _moved(self._global[path], taken, self._global_top)
        self._histories[index] = (history << 1 | taken) & self._history_mask
        self._path = (path << 1 | taken) & self._path_mask
        return guess == taken


class Saturating:
    """One counter an instruction, found by its address (21064, 21164)."""

    def __init__(self, figures: Counters) -> None:
        self._mask = figures.entries.value - 1
        self._top = (1 << figures.bits.value) - 1
        self._counters = [self._top // 2] * figures.entries.value

    def right(self, address: int, taken: bool) -> bool:
        """Whether the branch was predicted; learns from it."""
        index = address >> _WORD_SHIFT & self._mask
        counter = self._counters[index]
        self._counters[index] = _moved(counter, taken, self._top)
        return (counter > self._top // 2) == taken


class Choosing:
    """Counters by address, counters by address and history, and a choice of one (POWER4)."""

    def __init__(self, figures: Selected) -> None:
        self._mask = figures.entries.value - 1
        self._top = (1 << figures.bits.value) - 1
        self._history_mask = (1 << figures.history.value) - 1
        self._local, self._global, self._choice = (
            [self._top // 2] * figures.entries.value for _ in range(3)
        )
        self._history = 0

    def right(self, address: int, taken: bool) -> bool:
        """Whether the branch was predicted; learns from it."""
        index = address >> _WORD_SHIFT & self._mask
        mixed, half = index ^ self._history, self._top // 2
        local, whole = self._local[index] > half, self._global[mixed] > half
        guess = whole if self._choice[mixed] > half else local
        if local != whole:
            self._choice[mixed] = _moved(self._choice[mixed], whole == taken, self._top)
        self._local[index] = _moved(self._local[index], taken, self._top)
        self._global[mixed] = _moved(self._global[mixed], taken, self._top)
        self._history = (self._history << 1 | taken) & self._history_mask
        return guess == taken


def _moved(counter: int, up: bool, top: int) -> int:
    if up:
        return counter + 1 if counter < top else top
    return counter - 1 if counter > 0 else 0


class ReturnStack:
    """Where calls will return to; the oldest is lost when it is full."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._stack: list[int] = []

    def push(self, address: int) -> None:
        """A call."""
        self._stack.append(address)
        del self._stack[: -self._entries]

    def right(self, target: int) -> bool:
        """Whether a return was predicted."""
        return bool(self._stack) and self._stack.pop() == target


def hinted(traits: Traits, following: int, target: int) -> bool:
    """Whether a computed jump's hint names its target; `following` is the next instruction."""
    if traits.hint is None:
        return False
    return (following + traits.hint - target) % traits.hint_span == 0
