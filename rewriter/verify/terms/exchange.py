"""What several processes tell each other: patterns that are decided, routines that were tried.

What is said of a pattern depends on the pattern alone, and of a routine on the original file, so
hearing it saves work and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from rewriter.verify.routines.replaceable import Known
from rewriter.verify.routines.trial import Observed
from rewriter.verify.terms.prover import Prover
from rewriter.verify.terms.remembered import Decided

News = tuple[int, Mapping[bytes, Decided]]
"""How many equalities were asked for, and patterns decided, since the last time."""


class Exchange:
    """One prover's part in it."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.asked, self.known = prover.asked, len(prover.decided)

    def news(self) -> News:
        """What this prover was asked and decided by itself since the last time."""
        decided = dict(islice(self.prover.decided.items(), self.known, None))
        asked = self.prover.asked - self.asked
        self.asked, self.known = self.prover.asked, len(self.prover.decided)
        return asked, decided

    def learn(self, news: News) -> None:
        """What another prover was asked and decided."""
        asked, decided = news
        self.prover.asked += asked
        self.asked = self.prover.asked
        for digest, found in decided.items():
            if digest not in self.prover.decided:
                self.prover.solved += 1
                self.prover.decided[digest] = found
        self.known = len(self.prover.decided)


class Outcomes:
    """What is known of one file's routines."""

    def __init__(self, known: Known) -> None:
        self.outcomes, self.told = known.outcomes, len(known.outcomes)

    def news(self) -> Mapping[tuple[int, str], Observed | str]:
        """How routines behaved that were tried here since the last time."""
        new = dict(islice(self.outcomes.items(), self.told, None))
        self.told = len(self.outcomes)
        return new

    def learn(self, news: Mapping[tuple[int, str], Observed | str]) -> None:
        """How others behaved."""
        self.outcomes.update(news)
        self.told = len(self.outcomes)
