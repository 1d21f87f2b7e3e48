"""A prover of regions that also runs what it shows equal: both sides, from random states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rewriter.core.code.groups import Slot
from rewriter.core.code.transfer import Provable
from rewriter.verify.regions.proof import Regions, Straight, Verdict
from tests.support.ia64_straight import Trial


@dataclass
class Tried:
    """What the trials said: `silent` regions fault on every state, or need the system."""

    regions: int = 0
    silent: int = 0
    states: int = 0
    differences: list[str] = field(default_factory=list)


class TrialRegions(Regions):
    """Tries every pair of regions that it proves, from `count` states, and keeps the pairs."""

    def __init__(self, target: Provable, count: int) -> None:
        super().__init__(target)
        self.count = count
        self.tried = Tried()
        self.pairs: list[tuple[tuple[Slot, ...], tuple[Slot, ...], Trial]] = []

    def compare(
        self,
        old: Straight,
        new: Straight,
        live: int,
        place: Callable[[int], int] = int,
        at: Mapping[int, int] = MappingProxyType({}),
        hints: bool = False,
        left: Mapping[int, int] = MappingProxyType({}),
    ) -> Verdict:
        """The proof's verdict."""
        verdict = super().compare(old, new, live, place, at, hints, left)
        if verdict.is_equal:
            trial = Trial.of(old.slots, self.count)
            seen = self.target.observed
            read = [{where: mask | seen for where, mask in one.items()} for one in (at, left)]
            found = trial.differences(new.slots, live | seen, place, *read)
            self.tried.differences += [f"{old.slots[0].address:#x}: {what}" for what in found]
            self.tried.regions += 1
            self.tried.silent += not trial.told
            self.tried.states += len(trial.told)
            self.pairs.append((old.slots, new.slots, trial))
        return verdict
