"""What may stand for known routines: tried and weighed before places are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from passes.substitute import Chosen, Seen, Substitute
from passes.substitution.weighing import Weighing
from rewriter.core.code.program import Function
from rewriter.core.run.guard import guarded
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.caves.room import Caves
from rewriter.road.work import Work, edit_id
from rewriter.verify.routines.replaceable import Named


@dataclass
class Choices:
    """The routines that may stand for an old one, the best first.

    `first` has by address the best one, or why there is none, as far as somebody looked.  Places
    are given by one process and in order; what may have one depends on the file alone, so all
    processes look, and tell the others (`workers.Learning`).
    """

    work: Work
    substitute: Substitute
    first: dict[int, Seen | str] = field(default_factory=dict)
    _told: int = 0

    def suited(self, address: int) -> int:
        """How many tuned routines are for the known one at an address."""
        return self.substitute.suited(self.work.known, address, self.work.cpu)

    def best(self, named: Named) -> Chosen:
        """The best routine for an old one, without a place; CannotMove if it stays."""
        work, first = self.work, self.first.get(named.address)
        if isinstance(first, str):
            raise CannotMove(first)
        if first is None:
            return self.substitute.chosen(work.known, named, work.cpu)
        return self.substitute.remade(work.known, named, work.cpu, first)

    def of(self, named: Named, caves: Caves) -> Iterator[Chosen]:
        """The best, and behind it those for which there is room; CannotMove if it stays."""
        work, best = self.work, self.best(named)
        yield best
        weighing = Weighing(work.known, named, best.function, work.cpu)
        for number in self.substitute.behind(weighing, best, caves):
            chosen = self._another(weighing, number)
            if chosen is not None:
                yield chosen

    def behind(self, asked: tuple[Named, Caves]) -> Seen | str:
        """What is known of an old routine when one behind the best was looked for, for some room.

        What goes wrong here goes wrong again when its turn comes.
        """
        named, caves = asked
        guarded(self.substitute.name, lambda: [*islice(self.of(named, caves), 2)], lambda _: [])
        return self.first[named.address]

    def _another(self, weighing: Weighing, number: int) -> Chosen | None:
        """The routine of a number behind the best, if it may stand for the old one, too."""
        named, known = weighing.named, weighing.known
        seen = self.first.get(named.address)
        if not isinstance(seen, Seen):
            return self.substitute.another(weighing, number)
        known_behind = dict(seen.behind)
        if number in known_behind:
            assumed = known_behind[number]
            if assumed is None:
                return None
            told = replace(seen, number=number, assumed=assumed)
            return self.substitute.remade(known, named, weighing.cpu, told)
        chosen = self.substitute.another(weighing, number)
        found = (number, None if chosen is None else chosen.assumed)
        self.first[named.address] = replace(seen, behind=(*seen.behind, found))
        return chosen

    def look(self, function: Function) -> None:
        """Finds the best for the routines of a function that may be asked for in its turn.

        What goes wrong here goes wrong again when its turn comes.
        """
        guarded(self.substitute.name, partial(self._look, function), str)

    def _look(self, function: Function) -> None:
        work, name = self.work, self.substitute.name
        if work.program.not_understood(function) or work.described.replaces(function):
            return
        for named in work.known.within(function):
            if not work.wants(edit_id(name, function, named.address)):
                continue
            if isinstance(self.first.get(named.address), Seen):
                return
            try:
                best = self.best(named)
                self.first[named.address] = self.substitute.seen(work.known, best, work.cpu)
                return
            except CannotMove as reason:
                self.first[named.address] = str(reason)

    def news(self) -> Mapping[int, Seen | str]:
        """What was found here since the last time."""
        new = dict(islice(self.first.items(), self._told, None))
        self._told = len(self.first)
        return new

    def learn(self, news: Mapping[int, Seen | str]) -> None:
        """What others found."""
        self.first.update(news)
        self._told = len(self.first)
