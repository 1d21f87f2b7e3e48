"""From two files and a command to the edits that make it fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import targets
from rewriter.api.progress import quiet
from rewriter.bisect import units as parts
from rewriter.bisect.readers import BundledReader, PlainReader, Reader
from rewriter.bisect.remade import remade
from rewriter.bisect.search import Outcome, Search, Units
from rewriter.bisect.state import State, key
from rewriter.bisect.units import Changes, Unit
from rewriter.core.errors import BadInput, NothingToDo, RetuneError
from rewriter.core.target.capability import either
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image
from rewriter.elf.manifest import Manifest
from rewriter.report.listing import Explanation

Judge = Callable[[bytes], Outcome]
"""Runs the command with a candidate file."""
Progress = Callable[[str, int, int], None]


class Stuck(RetuneError):
    """The search cannot go on."""


@dataclass(frozen=True)
class Culprit:
    """Units that fail together, what was done in them, and how many runs of the command it took.

    `runs` are those of this search, `known` outcomes came from its state; `units` is how many there
    were to choose from, `edits` how many edits.
    """

    old: str
    cpu: str
    units: tuple[Unit, ...]
    explained: tuple[Explanation, ...]
    runs: int
    known: int
    choices: int
    edits: int


@dataclass
class _Tester:
    """Asks the command about candidates, each once."""

    judge: Judge
    state: State
    progress: Progress
    runs: int = 0
    known: int = 0

    def outcome(self, candidate: bytes) -> Outcome:
        name = key(candidate)
        if name in self.state.outcomes:
            self.known += 1
        else:
            self.runs += 1
            self.progress("search", self.runs, max(self.runs + 1, 20))
            self.state.add(name, self.judge(candidate))
        return self.state.outcomes[name]


def culprit(
    old: Image, new: bytes, record: Manifest, judge: Judge, state: State, progress: Progress
) -> Culprit:
    """The smallest set of changes with which the command fails.

    `new` is the patched file without its note.  Raises BadInput where the original fails, or
    nothing does.
    """
    tester = _Tester(judge, state, progress)
    _ends(old, new, tester)
    new = with_old_identity(old, new)
    target = targets.of(old)
    progress("analyse", 0, 1)
    reader: Reader = either(
        target,
        "bisect",
        old.name,
        bundled=partial(BundledReader, old, new, record),
        sequential=partial(PlainReader, old, new, record),
    )
    changes, needs = reader.changes, reader.needs()
    progress("analyse", 1, 1)
    if not changes.units:
        raise Stuck(f"{old.name}: nothing that changed belongs to a function")
    if changes.shared and tester.outcome(changes.candidate(())) is Outcome.BAD:
        raise Stuck(
            f"{old.name}: the command fails already with what no function owns",
            hint="headers, or room for new code, are to blame, or code found through them",
        )
    found = _search(changes, needs, tester).run()
    units = tuple(changes.units[n] for n in sorted(found))
    chosen: Sequence[Unit] = units
    if len(found) == 1:
        chosen = _finer(reader, changes, next(iter(found)), record, tester)
    return Culprit(
        old.name,
        record.cpu,
        tuple(chosen),
        tuple(reader.explained(units, chosen)),
        tester.runs,
        tester.known,
        len(changes.units),
        len(record.edits),
    )


def _ends(old: Image, new: bytes, tester: _Tester) -> None:
    """The original must be good and the patched file bad."""
    for data, wanted, name in ((old.data, Outcome.GOOD, "OLD"), (new, Outcome.BAD, "NEW")):
        outcome = tester.outcome(data)
        if outcome is Outcome.SKIP:
            raise BadInput(f"the command cannot test {name} (status 125)")
        if outcome is not wanted and wanted is Outcome.GOOD:
            raise BadInput(f"{old.name}: the command fails with the original already")
        if outcome is not wanted:
            raise NothingToDo("the command does not fail with NEW: there is nothing to find")


def _finer(
    reader: Reader, changes: Changes, number: int, record: Manifest, tester: _Tester
) -> Sequence[Unit]:
    """What of one function fails: superblocks where its code stayed in place, else single edits."""
    unit = changes.units[number]
    ranges = reader.superblocks(unit, changes.of_unit(number))
    if len(ranges) > 1:
        inner = parts.within(changes, number, ranges, reader.old)
        found = _search(inner, {}, tester).run()
        return tuple(inner.units[n] for n in sorted(found))
    ids = [edit.id for edit in unit.edits]
    asked = reader.old, record, unit.function, quiet, reader.program
    maker = remade(*asked) if len(ids) > 1 else None
    if maker is None or not maker.makes(ids, changes, number):
        return (unit,)
    if tester.outcome(maker.data(ids)) is not Outcome.BAD:
        return (unit,)  # it takes what is in every candidate, too

    def test(chosen: Units) -> Outcome:
        return tester.outcome(maker.data(ids[n] for n in chosen))

    found = Search(len(ids), test, known=_ends_of(len(ids))).run()
    edits = tuple(unit.edits[n] for n in sorted(found))
    return (Unit(unit.name, unit.function, edits),)


def _search(changes: Changes, needs: Mapping[int, frozenset[int]], tester: _Tester) -> Search:
    """A search in which nothing is known to be good, and all together to be bad."""
    count = len(changes.units)
    return Search(
        count, lambda units: tester.outcome(changes.candidate(units)), needs, _ends_of(count)
    )  # fmt: skip


def _ends_of(count: int) -> dict[Units, Outcome]:
    return {frozenset(): Outcome.GOOD, frozenset(range(count)): Outcome.BAD}
