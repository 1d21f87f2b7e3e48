"""What a kept result may say: a hostile one says nothing of a function that no run would.

Whether code does the same is the verifier's business; here is what it does not ask: types, ranges,
and whether what is listed is what changed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import passes
from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Grade
from rewriter.elf.manifest.checked import check_edits, check_skip
from rewriter.road.outcome import Done, Stage


@dataclass(frozen=True)
class Checks:
    """What may be kept of the functions of a file."""

    program: Program

    def check(self, done: Done) -> None:
        """ValueError or BadInput where no run makes this of the function."""
        function, stages = done.function, done.stages
        check_edits(done.edits)
        for edit in done.edits:
            _must(self._is_of(edit, function), "an edit of something else")
        for skip in done.skips:
            check_skip(skip)
            _must(skip.technique in self._names, "pass of a skip")
        _must(bool(stages) and not stages[0].last, "stages")
        _must(self._names.issuperset(stage.last for stage in stages[1:]), "pass of a stage")
        changes = [self._changes(stage, function) for stage in stages]
        _must(changes[-1] == bool(done.edits), "edits and bytes")
        _must(bool(done.edits) or not any(stage.changed for stage in stages), "bytes of no edit")

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(passes.names())

    def _is_of(self, edit: Edit, function: Function) -> bool:
        """Whether an edit is one of a function, by a pass that there is, and proved."""
        named = edit.id.startswith(f"{edit.technique}:{function.name}+")
        known = edit.technique in self._names and edit.evidence.grade is Grade.PROVED
        return named and known and edit.routine == function.name and edit.address in function

    def _changes(self, stage: Stage, function: Function) -> bool:
        """Whether bytes of the function changed; ValueError where another's did, or none that
        there is."""
        within, image = False, self.program.image
        start = image.offset_of(function.start)
        ends = [(at, at + len(new)) for at, new in stage.changed]
        _must(all(end <= at for (_, end), (at, _) in pairwise(ends)), "order of changes")
        for at, end in ends:
            _must(0 <= at < end <= len(image.data), "place of a change")
            own = start <= at and end <= start + function.size
            _must(own or not self._in_code(at, end), "a change of another function")
            within |= own
        for old, there in stage.places:
            _must(old in function and there in function, "place of an instruction")
        return within

    def _in_code(self, at: int, end: int) -> bool:
        """Whether some bytes of the file are of a function."""
        starts, ends = self._code
        number = bisect_right(starts, end - 1)
        return number > 0 and ends[number - 1] > at

    @cached_property
    def _code(self) -> tuple[Sequence[int], Sequence[int]]:
        """Where functions start in the file, ascending, and where they end."""
        image = self.program.image
        found = sorted((image.offset_of(f.start), f.size) for f in self.program.functions)
        return [at for at, _ in found], [at + size for at, size in found]


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
