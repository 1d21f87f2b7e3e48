"""Caches behind a pipeline of bundles: how much later than usual a load's value comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rewriter.core.target.bundled_cpu import Hierarchy
from rewriter.timing.bundled.result import Wait
from rewriter.timing.caches import Tags

_KEPT = 64  # stores that a load may still meet


@dataclass(frozen=True, slots=True)
class Access:
    """One access of an instruction of class `sched`: where and how many bytes."""

    sched: str
    address: int
    size: int

    def meets(self, other: Access) -> bool:
        """Whether they have a byte in common."""
        return (
            self.address < other.address + other.size and other.address < self.address + self.size
        )


@dataclass
class Memory:
    """Tags of every level, lines on their way, and what was stored lately."""

    figures: Hierarchy
    _tags: list[Tags] = field(init=False)
    _coming: dict[int, int] = field(default_factory=dict)
    _stored: list[tuple[int, Access]] = field(default_factory=list)
    _banks: tuple[int, set[int]] = (-1, set())

    def __post_init__(self) -> None:
        self._tags = [Tags(level) for level in self.figures.levels]

    def restart(self) -> None:
        """Time starts again at zero; what the caches hold stays."""
        self._coming, self._stored, self._banks = {}, [], (-1, set())

    def waits(self, access: Access, now: int) -> Iterator[Wait]:
        """What keeps the access from being issued in a cycle from `now` on."""
        figures = self.figures
        if access.sched in figures.loads and access.sched not in figures.around:
            for cycle, stored in self._stored:
                if access.meets(stored):
                    yield Wait(cycle + figures.after_store.value, figures.forwarding)
        underway = sorted(end for end in self._coming.values() if end > now)
        if len(underway) >= figures.misses.value and not self._is_near(access):
            yield Wait(underway[-figures.misses.value], figures.queue)

    def issue(self, access: Access, cycle: int) -> int:
        """The access goes out in a cycle; how much later than usual its value comes."""
        figures = self.figures
        if access.sched in figures.stores:
            self._stored = [*self._stored[-_KEPT:], (cycle, access)]
        first = 1 if access.sched in figures.around or access.sched in figures.stores else 0
        late = self._late(access, cycle, first)
        if first and self._conflicts(access, cycle) and access.sched in figures.loads:
            late += figures.conflict.value
        return late if access.sched in figures.loads else 0

    def _is_near(self, access: Access) -> bool:
        return any(tags.find(access.address) is not None for tags in self._tags[:2])

    def _late(self, access: Access, cycle: int, first: int) -> int:
        """Cycles beyond the latency of the level that such an access reads when it hits."""
        usual = self.figures.levels[first].latency.value
        found = self._found(access.address, first)
        line = access.address >> self._tags[-1].shift
        cost = self._cost(found) - usual
        if cycle < self._coming.get(line, 0):
            return max(self._coming[line] - cycle - usual, cost, 0)
        if found > 1:
            self._coming[line] = cycle + self._cost(found)
        if access.sched in self.figures.stores and not found:
            return 0
        for number in range(first, found):
            self._tags[number].insert(access.address)
        return cost

    def _found(self, address: int, first: int) -> int:
        """The first level from `first` that holds the line; the number of levels if none does."""
        for number in range(first, len(self._tags)):
            if self._tags[number].find(address) is not None:
                return number
        return len(self._tags)

    def _cost(self, level: int) -> int:
        levels = self.figures.levels
        figure = levels[level].latency if level < len(levels) else self.figures.memory
        return figure.value

    def _conflicts(self, access: Access, cycle: int) -> bool:
        """Whether another access of the cycle took the bank."""
        figures = self.figures
        bank = access.address // figures.bank_bytes.value % figures.banks.value
        if self._banks[0] != cycle:
            self._banks = (cycle, set())
        taken = bank in self._banks[1]
        self._banks[1].add(bank)
        return taken
