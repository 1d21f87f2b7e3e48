"""Mutants of an Alpha file: drawn, verified, and explained where they were accepted."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rewriter.elf import image
from rewriter.identify.program import analyse
from targets import for_machine
from tests.support.mutants.alpha_base import AlphaBase, Shared
from tests.support.mutants.alpha_decide import Decider
from tests.support.mutants.alpha_draw import AlphaDraw
from tests.support.mutants.changes import Outcome


@dataclass(frozen=True)
class AlphaMutants:
    """The mutants of one file, from both bases in turn."""

    file: str
    bases: tuple[AlphaBase, ...]
    draws: tuple[AlphaDraw, ...]
    deciders: tuple[Decider, ...]

    @classmethod
    def of(cls, file: str, original: str, tuned: str = "") -> AlphaMutants:
        """Of a file and, where there is one, its tuned successor."""
        loaded = image.load(original)
        shared = Shared.of(analyse(loaded, for_machine(loaded.machine, loaded.name)))
        bases = [AlphaBase.original(shared)]
        if tuned:
            bases.append(AlphaBase.tuned(shared, image.load(tuned)))
        return cls(file, tuple(bases), tuple(map(AlphaDraw, bases)), tuple(map(Decider, bases)))

    def outcome(self, seed: int, number: int) -> Outcome:
        """What becomes of a mutant, which its seed and number name."""
        which = number % len(self.bases)
        base = self.bases[which]
        change = self.draws[which].change(random.Random(f"{seed} {self.file} {number}"))
        function = base.program.function_at(change.address)
        name = function.name if function is not None else "outside"
        finding = base.finding(change)
        reason = "" if finding else self.deciders[which].reason(change)
        return Outcome(self.file, base.name, seed, number, change, name, finding, reason)
