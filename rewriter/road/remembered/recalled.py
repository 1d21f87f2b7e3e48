"""One run's use of earlier results: what is recalled, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rewriter.core.code.program import Function
from rewriter.core.run.ledger import counted, spending
from rewriter.road.outcome import Done
from rewriter.road.remembered.checked import Checks
from rewriter.road.remembered.keys import Keys
from rewriter.road.remembered.results import Results
from rewriter.road.routines.choices import Choices
from rewriter.road.work import Work


@dataclass(frozen=True)
class Recalled:
    """Earlier results by the keys of one file, and those that this run adds."""

    results: Results
    keys: Keys

    @classmethod
    def of(cls, work: Work, results: Results) -> Recalled:
        """Those of what is done to a file."""
        salt = results.salt + work.cpu.name.encode()
        return cls(results, Keys(work.program, salt, work.directions, work.branched))

    def through(
        self,
        functions: Iterable[Function],
        waiting: Collection[Function],
        work: Callable[[Sequence[Function]], Iterator[Done]],
    ) -> Iterator[Done]:
        """What functions became, in their order: recalled, or by `work`; those waiting by that."""
        functions = tuple(functions)
        with spending("recall"):
            keys = {one: self.keys.function(one) for one in functions if one not in waiting}
            checks = Checks(self.keys.program)
            known = {one: self.results.done(key, one, checks) for one, key in keys.items()}
        counted("functions recalled", sum(done is not None for done in known.values()))
        made = work([one for one in functions if known.get(one) is None])
        for function in functions:
            done = known.get(function)
            if done is None:
                done = next(made)
                with spending("recall"):
                    if function in keys:
                        self.results.keep_done(keys[function], done)
            yield done
        yield from made  # none is left: it puts away what it began with

    def recall(self, choices: Choices, addresses: Iterable[int]) -> None:
        """What may stand for known routines at some addresses, as far as it is known."""
        seen = self.results.seen
        asked = ((at, partial(choices.suited, at)) for at in addresses)
        found = ((at, seen(self.keys.routine(at), count)) for at, count in asked)
        choices.learn({at: one for at, one in found if one is not None})

    def keep(self, choices: Choices) -> None:
        """What was found to stand for known routines."""
        for at, seen in choices.first.items():
            self.results.keep_seen(self.keys.routine(at), seen)
