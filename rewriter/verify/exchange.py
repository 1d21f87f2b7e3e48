"""What provers in several processes tell each other: patterns that are decided.

What is said of a pattern depends on the pattern alone, so hearing it saves work and changes
nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from rewriter.verify.prove import Decided, Prover

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
