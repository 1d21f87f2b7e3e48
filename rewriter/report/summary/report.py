"""The figures of a run, for programs and for people who want every reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rewriter.core.code.program import Refusal
from rewriter.core.edit import Edit, Skip
from rewriter.core.errors import NothingToDo
from rewriter.core.plural import counted
from rewriter.core.target.cpu import Cpu
from rewriter.elf.emit import Patch
from rewriter.elf.headers import printable
from rewriter.identify.profiles import Heat
from rewriter.report.edits import edit_grid, edit_json, edit_lines, rounded
from rewriter.report.grid import Grid, in_order, joined
from rewriter.report.hot import Hot
from rewriter.report.summary import brief
from rewriter.report.summary.expected import Expected
from rewriter.report.summary.tallies import Tally, tallied
from rewriter.report.summary.timings import Timings


class Outcome(Protocol):
    """What a report asks of the pipeline's result."""

    @property
    def cpu(self) -> Cpu: ...
    @property
    def edits(self) -> Sequence[Edit]: ...
    @property
    def skips(self) -> Sequence[Skip]: ...
    @property
    def refusals(self) -> Sequence[Refusal]: ...
    @property
    def patches(self) -> Sequence[Patch]: ...
    @property
    def functions(self) -> int: ...
    @property
    def instructions(self) -> int: ...
    @property
    def proofs(self) -> Mapping[str, int]: ...
    @property
    def heat(self) -> Heat | None: ...
    @property
    def room(self) -> Mapping[str, tuple[int, int]]: ...
    @property
    def debug(self) -> Sequence[str]: ...
    @property
    def expected(self) -> Expected | None: ...


@dataclass(frozen=True)
class Report:
    """The figures of one run; `kept` is why its edits were not written, empty where they were."""

    cpu: str
    functions: int = 0
    instructions: int = 0
    tallies: tuple[Tally, ...] = ()
    refusals: Mapping[str, int] = field(default_factory=dict)
    proofs: Mapping[str, int] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    skips: tuple[Skip, ...] = ()
    refused: tuple[Refusal, ...] = ()
    changed_bytes: int = 0
    hot: Hot | None = None
    room: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    debug: tuple[str, ...] = ()
    timings: Timings | None = None
    expected: Expected | None = None
    kept: str = ""

    @classmethod
    def of(cls, outcome: Outcome) -> Report:
        """The report on what the pipeline gave."""
        heat = outcome.heat
        old, new = (
            np.frombuffer(b"".join(parts), np.uint8)
            for parts in ((p.old for p in outcome.patches), (p.new for p in outcome.patches))
        )
        return cls(
            cpu=outcome.cpu.name,
            functions=outcome.functions,
            instructions=outcome.instructions,
            tallies=tuple(tallied(outcome.edits, outcome.skips)),
            refusals=in_order(Counter(refusal.reason for refusal in outcome.refusals)),
            proofs=dict(outcome.proofs),
            edits=tuple(outcome.edits),
            skips=tuple(outcome.skips),
            refused=tuple(outcome.refusals),
            changed_bytes=int(np.count_nonzero(old != new)),
            hot=Hot.of(heat, outcome.edits, outcome.refusals) if heat is not None else None,
            room=dict(outcome.room),
            debug=tuple(outcome.debug),
            expected=outcome.expected,
        )

    @property
    def return_code(self) -> int:
        """The exit status.

        | status | meaning |
        |---|---|
        | 0 | edits were made |
        | 4 | nothing to do, or less than was wanted: the output is an identical copy |

        Everything else (1 verification failed, 2 bad usage, 3 bad input) is an error that is
        raised, and then there is no report.
        """
        return 0 if self.edits and not self.kept else NothingToDo.exit_code

    @property
    def saved(self) -> int:
        """Instructions fewer in the text."""
        return sum(edit.gain for edit in self.edits)

    @property
    def grades(self) -> dict[str, int]:
        """Edits by grade of their evidence."""
        return in_order(Counter(edit.evidence.grade.value for edit in self.edits))

    @property
    def preconditions(self) -> dict[str, int]:
        """Edits by what their evidence assumes."""
        return in_order(Counter(p for edit in self.edits for p in edit.evidence.preconditions))

    @property
    def _assuming(self) -> int:
        """Edits whose evidence assumes something."""
        return sum(bool(edit.evidence.preconditions) for edit in self.edits)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "cpu": self.cpu,
            "return_code": self.return_code,
            "functions": self.functions,
            "instructions": self.instructions,
            "changed_bytes": self.changed_bytes,
            "saved": self.saved,
            "sites": [
                {
                    "pass": t.technique, "kind": t.kind, "sites": t.sites,
                    "rewritten": t.rewritten, "saved": t.saved, "left": dict(t.left),
                    "cycles": None if t.cycles is None else float(t.cycles), "timed": t.timed,
                }
                for t in self.tallies
            ],
            "refusals": dict(self.refusals),
            "grades": self.grades,
            "preconditions": self.preconditions,
            "proofs": dict(self.proofs),
            "room": {kind: {"found": f, "used": u} for kind, (f, u) in self.room.items()},
            "debug": list(self.debug),
            "edits": [edit_json(edit) for edit in self.edits],
            "skips": [_skip_json(skip) for skip in self.skips],
            "expected": None if self.expected is None else self.expected.as_json(),
            "kept": self.kept,
            "profile": self.hot.as_json() if self.hot is not None else None,
            **({"timings": self.timings.as_json()} if self.timings is not None else {}),
        }  # fmt: skip

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """A few lines; with a verbosity of 1 every figure, behind each edit; 2 adds what was left.

        Long lists come first, so that the figures are what is seen last.
        """
        timings = () if self.timings is None else self.timings.lines()
        if verbosity < 1:
            yield from (*timings, *self._brief())
            return
        yield from edit_lines(self.edits)
        if verbosity > 1:
            yield from (
                f"left alone {_place(skip)}: {skip.kind}: {printable(skip.reason)}"
                for skip in self.skips
            )
            yield from (
                f"left alone {printable(one.function.name)}: {printable(one.reason)}"
                for one in self.refused
            )
        for tally in self.tallies:
            yield from tally.lines()
        if self.hot is not None:
            yield from self.hot.lines()
        yield from (*timings, *self._closing())

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The report as tables; a few lines need none."""
        timings = () if self.timings is None else self.timings.grids()
        if verbosity < 1:
            yield from (*timings, *self._brief())
            return
        if self.edits:
            yield edit_grid(self.edits)
        if verbosity > 1 and self.skips:
            rows = tuple((_place(s), s.kind, printable(s.reason)) for s in self.skips)
            yield Grid("each site left alone", ("place", "kind", "reason"), rows)
        if verbosity > 1 and self.refused:
            names = ((printable(r.function.name), printable(r.reason)) for r in self.refused)
            yield Grid("each function left alone", ("function", "reason"), tuple(names))
        if self.tallies:
            yield self._sites()
        if any(t.left for t in self.tallies):
            yield self._left()
        if self.hot is not None:
            yield from self.hot.grids()
        yield from (*timings, *self._closing())

    def _brief(self) -> Iterator[str]:
        """What was done, and what it rests on, in `brief.LINES` lines at most."""
        rest = [
            *brief.left_alone(self.tallies, self.refusals),
            *brief.errors(self.tallies, self.refusals),
            *([self.hot.first()] if self.hot is not None else []),
            *([self._read()] if self.functions else []),
            *self.debug[: brief.DEBUG],
            *([f"evidence: {joined(self.grades)}"] if self.edits else []),
            *brief.assumed(self._assuming, self.preconditions),
            *self._expected(),
            self._done(),
        ]
        yield from brief.passes(brief.by_pass(self.tallies), brief.LINES - len(rest))
        yield from rest

    def _sites(self) -> Grid:
        numbers = ("sites", "rewritten", "saved", "cycles")
        rows = tuple(
            (
                t.technique, t.kind, *map(str, (t.sites, t.rewritten, t.saved)),
                "" if t.cycles is None else rounded(t.cycles),
            )
            for t in self.tallies
        )  # fmt: skip
        return Grid(f"sites, for {self.cpu}", ("pass", "kind", *numbers), rows, frozenset(numbers))

    def _left(self) -> Grid:
        left: Counter[tuple[str, str]] = Counter()
        for t in self.tallies:
            for reason, number in t.left.items():
                left[t.technique, reason] += number
        rows = tuple((t, printable(r), str(n)) for (t, r), n in sorted(left.items()))
        return Grid("sites left alone", ("pass", "reason", "sites"), rows, frozenset({"sites"}))

    def _closing(self) -> Iterator[str]:
        if self.functions:
            yield self._read()
        for reason, number in self.refusals.items():
            yield f"left alone: {counted(number, 'function')}: {printable(reason)}"
        if self.room:
            kinds = (
                f"{counted(size, 'byte')} {kind}, {used} used"
                for kind, (size, used) in self.room.items()
            )
            yield f"room for routines: {'; '.join(kinds)}"
        yield from self.debug
        if any(self.proofs.values()):
            yield f"proofs: {', '.join(_told(name, n) for name, n in self.proofs.items())}"
        if self.edits:
            yield f"evidence: {joined(self.grades)}"
        for precondition, number in self.preconditions.items():
            yield f"assumed by {counted(number, 'edit')}: {printable(precondition)}"
        yield from self._expected()
        yield self._done()

    def _expected(self) -> Iterator[str]:
        if self.edits and self.expected is not None and not self.kept:
            yield f"expected: {self.expected}"

    def _read(self) -> str:
        instructions = counted(self.instructions, "instruction")
        return f"read: {counted(self.functions, 'function')}, {instructions}"

    def _done(self) -> str:
        if not self.edits:
            return "nothing to do"
        if self.kept:
            return f"kept as it was: {self.kept}"
        changed, saved = counted(self.changed_bytes, "byte"), counted(self.saved, "instruction")
        return f"{counted(len(self.edits), 'edit')}, {changed} changed, {saved} saved"


def _skip_json(skip: Skip) -> dict[str, Any]:
    return {
        "pass": skip.technique, "kind": skip.kind, "function": skip.routine,
        "address": skip.address, "reason": skip.reason,
    }  # fmt: skip


def _place(skip: Skip) -> str:
    return f"{skip.technique}:{printable(skip.routine)} at {skip.address:#x}"


def _told(name: str, number: int) -> str:
    """`1 pattern`, `2 patterns`, `5 asked`: nouns have a plural, grades and participles do not."""
    return counted(number, name[:-1]) if name.endswith("s") else f"{number} {name}"
