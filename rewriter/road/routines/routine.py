"""A known routine becomes a tuned one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from passes.substitute import Seen, Substitute, Substitution
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.caves.room import Caves
from rewriter.road.routines.choices import Choices
from rewriter.road.work import Work, edit_id
from rewriter.verify.routines.replaceable import Named


@dataclass(frozen=True)
class Routines:
    """Substitutes in the room that there is."""

    work: Work
    choices: Choices
    caves: Caves

    @property
    def substitute(self) -> Substitute:
        """The pass."""
        return self.choices.substitute

    def crowded(self, functions: Iterable[Function]) -> list[tuple[Named, Caves]]:
        """The known routines whose best one finds no place where all the best ones are placed in
        order, each with the room that is left then."""
        found, caves = [], self.caves.copy()
        for function in functions:
            for named in self.work.known.within(function):
                if isinstance(self.choices.first.get(named.address), Seen):
                    try:
                        self.substitute.place(self.work.known, [self.choices.best(named)], caves)
                    except CannotMove:
                        found.append((named, caves.copy()))
        return found

    def run(self, function: Function) -> Substitution | None:
        """What a routine in a function became: nothing else is done to it then."""
        work = self.work
        for named in work.known.within(function):
            edit = edit_id(self.substitute.name, function, named.address)
            if not work.wants(edit):
                continue
            try:
                self.described(function)
                choices = self.choices.of(named, self.caves)
                found = self.substitute.place(work.known, choices, self.caves)
            except CannotMove as reason:
                self.left(function, named, str(reason))
                continue
            self.edited(edit, found)
            return found
        return None

    def described(self, function: Function) -> None:
        """Raises CannotMove where debug information would tell another routine's story."""
        if reason := self.work.described.replaces(function):
            raise CannotMove(reason)

    def left(self, function: Function, named: Named, reason: str) -> None:
        """A routine stays."""
        name = self.substitute.name
        self.work.leave(name, "routine", function, named.address, reason)

    def edited(self, edit: str, found: Substitution) -> None:
        """What a routine became is recorded."""
        made = found.edit(edit)
        saved = found.chosen.worth.saved if self.work.options.cycles else None
        self.work.edits.append(replace(made, cycles=saved))


def tried(work: Work, evidence: Mapping[int, Evidence]) -> None:
    """The evidence of a substitution is the trial of the output, by the function's address."""
    for done in work.done.values():
        one = done.substitution
        new = evidence.get(done.function.start) if one is not None else None
        if one is not None and new is not None:
            done.edits = [
                replace(e, evidence=new)
                if e.technique == Substitute.name and e.address == one.named.address
                else e
                for e in done.edits
            ]
