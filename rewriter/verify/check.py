"""The independent verifier: two files in, a verdict out; nothing that the rewriter said is used.

The changed bytes are found by comparison.  Every function with one is walked in both files at
once, from each of its entries, segment by segment: a segment is straight code up to a transfer
of control, and a pair of segments is shown to do the same (`equivalence`) for what may be read
afterwards.  Pairs of places that follow are walked next.  Whatever changed and was not walked is
a finding, unless it is the nop that stands for nothing.  A known routine that became a tuned
one is not walked but tried (`substituted`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

import numpy as np

from rewriter.analysis.program import Program, analyse, listed
from rewriter.core.assumptions import EVERY
from rewriter.core.code import extensions
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function, extents
from rewriter.core.edit import Evidence
from rewriter.core.errors import BadInput
from rewriter.core.run.garbage import seldom_collected
from rewriter.core.run.guard import guarded
from rewriter.core.run.workers import each
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image
from rewriter.elf.lines.file import without_grown
from rewriter.verify import prefixed
from rewriter.verify.exception_check import FixupTables
from rewriter.verify.line_check import LineCheck
from rewriter.verify.owners import Offsets, changed_offsets, owners
from rewriter.verify.prefixed import Read
from rewriter.verify.range_check import RangeTables
from rewriter.verify.routines.pieces_rules import Replaced
from rewriter.verify.routines.replaceable import Known
from rewriter.verify.routines.substituted import Substituted
from rewriter.verify.terms.exchange import Exchange
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.courses.opposites import Opposites
from rewriter.verify.walk.detours import reading
from rewriter.verify.walk.flushes import reading as flushes
from rewriter.verify.walk.function import Walk
from rewriter.verify.walk.insn_classes import Kinds
from rewriter.verify.walk.lines import reading as lines
from rewriter.verify.walk.pairs import Shown
from rewriter.verify.walk.unwind_check import Rows, frame_owners

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Verdict:
    """What was compared and what was found.

    `grades` counts segments by how they were shown equal; `preconditions` those that rest on one;
    `failed` are functions with a finding of their own, `followed` the addresses of bytes of jump
    tables, exception tables and exception ranges that were compared by where they lead; `tried` is
    how new routines behave, by the start of their function; `original` are all of the old file's.
    """

    findings: tuple[str, ...]
    functions: int
    blocks: int
    changed_bytes: int
    grades: dict[str, int]
    preconditions: dict[str, int]
    failed: tuple[Function, ...] = ()
    followed: frozenset[int] = frozenset()
    tried: Mapping[int, Evidence] = field(default_factory=dict)
    original: tuple[Function, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything that changed was shown to do the same."""
        return not self.findings


@seldom_collected()
def compare(
    old: Image,
    new: Image,
    target: Sequential,
    progress: Progress,
    jobs: int = 1,
    assume: frozenset[str] = EVERY,
    cpu: Cpu | None = None,
    made_for: Cpu | None = None,
) -> Verdict:
    """Compares a file with its tuned successor (without its note), in `jobs` processes.

    With a `cpu`, what is shown is that both do the same on this one; else on those that have what
    the CPU has that the new file is `made_for`, or on all.
    """
    if old.data == new.data:
        return Verdict((), 0, 0, 0, {}, {})
    progress("analyse", 0, 1)
    program = analyse(old, target, assume, jobs)
    progress("analyse", 1, 1)
    return verify(program, new, progress, jobs=jobs, cpu=cpu, made_for=made_for)


def verify(
    program: Program,
    new: Image,
    progress: Progress,
    only: Collection[Function] | None = None,
    followed: frozenset[int] = frozenset(),
    prover: Prover | None = None,
    known: Known | None = None,
    jobs: int = 1,
    cpu: Cpu | None = None,
    like: Listing | None = None,
    made_for: Cpu | None = None,
) -> Verdict:
    """Compares an analysed file with a new one, which may be longer by what new code needs.

    The work is shared by `jobs` processes; the verdict is the same for any number.

    With `only`, other functions are known to be as they were when they were last compared, and
    `followed` are the addresses of table bytes that were compared then.  A `prover` may know
    patterns already: what it says of one depends on the pattern alone.  `known` says what routines
    the analysed file has.  Words of the listing that the new file is `like` are decoded already.
    With a `cpu` both must do the same on it, elsewhere perhaps not: of that, caches are asked, and
    which instructions it has.  For these the new file may be `made_for` a CPU and later ones.
    """
    new = replace(new, data=with_old_identity(program.image, new.data))
    lines = LineCheck.of(program.image, new.data)
    new = replace(new, data=without_grown(new.data, program.image))
    substituted = Substituted(program, known or Known(program), new.data)
    baseline = substituted.baseline()
    if baseline is None:
        return _refused(
            program,
            f"the size changed from {len(program.image.data)} to {len(new.data)} bytes,"
            " and not by what new code needs",
        )
    changed = changed_offsets(baseline, new.data)
    del baseline
    prover = prover or Prover.of(program.target)
    view = replace(program.image, data=new.data)
    listing = listed(view, program.target, like or program.listing)
    read = prefixed.read(program.listing, listing, program.target)
    features = extensions.certain(program.target, cpu or made_for)
    more = features, only, set(followed), cpu
    check = _Check(program, view, read, prover, substituted, lines, *more)
    del listing, read  # the check reads other texts from it
    count, found = len(changed), check.owners(changed)
    del changed  # it is as large as all that changed
    check.run(*found, progress, jobs)
    return Verdict(
        findings=tuple(check.findings),
        functions=check.functions,
        blocks=sum(check.grades.values()),
        changed_bytes=count,
        grades=dict(check.grades),
        preconditions=dict(check.preconditions),
        failed=tuple(check.failed),
        followed=frozenset(check.tables),
        tried=dict(check.tried),
        original=program.functions,
    )


def _refused(program: Program, reason: str) -> Verdict:
    return Verdict((reason,), 0, 0, 0, {}, {}, original=program.functions)


@dataclass
class _Checked:
    """What was found of one function; the fields are those of the verdict."""

    function: Function
    findings: list[str] = field(default_factory=list)
    grades: Counter[str] = field(default_factory=Counter)
    preconditions: Counter[str] = field(default_factory=Counter)
    failed: bool = False
    tables: set[int] = field(default_factory=set)
    tried: Evidence | None = None

    def count(self, evidence: Evidence) -> None:
        """One more segment or routine that was shown to do the same."""
        self.grades[evidence.grade.value] += 1
        self.preconditions.update(evidence.preconditions)


@dataclass
class _Check:
    """One comparison as it goes on."""

    program: Program
    new: Image
    read: Read
    prover: Prover
    substituted: Substituted
    lines: LineCheck
    features: frozenset[str]
    only: Collection[Function] | None = None
    tables: set[int] = field(default_factory=set)
    cpu: Cpu | None = None
    findings: list[str] = field(default_factory=list)
    grades: Counter[str] = field(default_factory=Counter)
    preconditions: Counter[str] = field(default_factory=Counter)
    functions: int = 0
    failed: list[Function] = field(default_factory=list)
    replaced: dict[Function, Replaced] = field(default_factory=dict)
    tried: dict[int, Evidence] = field(default_factory=dict)

    def run(
        self,
        functions: list[Function],
        elsewhere: Offsets,
        progress: Progress,
        jobs: int,
    ) -> None:
        """Goes through all that changed, in these functions and at these offsets."""
        target = self.program.target
        self.locked = self.program.locked_addresses
        functions = functions + self._frames(elsewhere)
        self.ranges = RangeTables(self.program, self.new, self.substituted.frames, elsewhere)
        functions += self.ranges.functions()
        found = ((function, self._substitute(function)) for function in dict.fromkeys(functions))
        self.replaced = {function: one for function, one in found if one is not None}
        self.owned = self.substituted.scattered.owned(self.replaced.values())
        accesses = self.substituted.scattered.accesses(self.replaced.values())
        self.entries = FixupTables(self.program, self.new, accesses)
        listing = self.read.listing
        self.findings += self.entries.problems(listing)
        functions = list(dict.fromkeys([*functions, *self.entries.functions()]))
        self.findings += self.lines.elsewhere(functions)
        if self.only is not None:
            functions = [function for function in functions if function in self.only]
        left = [function for function in functions if function not in self.replaced]
        frames = self.substituted.frames
        known = self.prover, self.features
        flushing = self.prover, self.cpu, self.features
        self.flushes = flushes.read(self.program, listing, frames, left, *flushing)
        listing = self.flushes.listing
        self.versions = lines.read(self.program, listing, frames, left, *known)
        listing, ways = self.versions.listing, self.ranges.ways
        self.detours = reading.read(self.program, listing, frames, ways, left, *known)
        listing = self.detours.listing
        # Nobody asks for the texts on the way any more.
        self.read = replace(self.read, listing=listing)
        self.flushes = replace(self.flushes, listing=listing)
        self.versions = replace(self.versions, listing=listing)
        self.kinds = Kinds(target, self.program.held_addresses, self.program.keeps_nop)
        self.opposites = Opposites(target, self.prover)
        self.shown: Shown = {}
        more = self.detours.more
        self.rows = Rows(self.program, frames, listing, left, self.kinds, self.owned, more)
        for one in (self.program.listing, listing):
            one.prepare()
        exchange = Exchange(self.prover)
        compared = each(self._function, functions, jobs, exchange, attrgetter("size"))
        for done, checked in enumerate(compared):
            if done % 20 == 0:
                progress("compare", done, len(functions))
            self._add(checked)
        progress("compare", len(functions), len(functions))
        self.functions = len(functions)
        self._elsewhere(elsewhere)
        self.findings += self.substituted.whole(self.replaced.values())

    def _substitute(self, function: Function) -> Replaced | None:
        """The tuned routine that a function became; where that cannot be said it is walked."""
        found = partial(self.substituted.of, function)
        return guarded("comparison", found, lambda reason: None)

    def _frames(self, offsets: Offsets) -> list[Function]:
        """The functions whose unwind rows changed."""
        frames, self.in_frames = frame_owners(self.program.frames.values(), offsets)
        found = (self.program.function_at(frame.start) for frame in frames)
        return [function for function in found if function is not None]

    def _elsewhere(self, offsets: Offsets) -> None:
        """Changed bytes outside functions: jump tables that were followed, rows that agree."""
        known = self.substituted.accounted(self.replaced.values())
        spans = tuple(self.lines.accounted())
        left = [
            offset
            for offset in np.setdiff1d(offsets, self.in_frames, assume_unique=True).tolist()
            if offset not in known
            and self._address(offset) not in self.tables
            and not any(offset in span for span in spans)
        ]
        for offset in left[:_SHOWN]:
            self.findings.append(f"a byte changed outside all functions: {self._place(offset)}")

    def _address(self, offset: int) -> int | None:
        try:
            return self.program.image.address_of(offset)
        except BadInput:
            return None

    def owners(self, changed: Offsets) -> tuple[list[Function], Offsets]:
        """The functions with changed bytes, and the changed offsets that are in none.

        What may be data is no function: jump tables of others may be in it.
        """
        functions = self.program.certain
        found, elsewhere = owners(self.program.image, extents(functions), changed)
        return [functions[n] for n in found], elsewhere

    def _place(self, offset: int) -> str:
        for section in self.program.image.sections:
            if section.sh_offset <= offset < section.file_end:
                return f"offset {offset:#x}, in {section.name or 'an unnamed section'}"
        return f"offset {offset:#x}, in no section"

    def _add(self, checked: _Checked) -> None:
        self.findings += checked.findings
        self.grades += checked.grades
        self.preconditions += checked.preconditions
        self.tables |= checked.tables
        if checked.failed:
            self.failed.append(checked.function)
        if checked.tried is not None:
            self.tried[checked.function.start] = checked.tried

    def _function(self, function: Function) -> _Checked:
        """One function, in which an error of our own is a finding."""
        compared = partial(self._compared, function)
        return guarded("comparison", compared, partial(_not_compared, function))

    def _compared(self, function: Function) -> _Checked:
        checked = _Checked(function)
        reason = self.program.not_understood(function)
        if function in self.replaced and not reason:
            self._substitution(self.replaced[function], checked)
            return checked
        if self.substituted.strange(function):
            reason = "what stands for it is no tuned routine of this version"
            checked.findings.append(f"{function.name}: {reason}")
            checked.failed = True
            return checked
        if reason:
            checked.findings.append(f"{function.name} changed, but cannot be followed: {reason}")
            checked.failed = True
            return checked
        walk = self._walk(function, checked)
        if reason := self.rows.problem(function, walk.passed, walk.jumps):
            checked.findings.append(f"{function.name}: {reason}")
            checked.failed = True
        return checked

    def _walk(self, function: Function, checked: _Checked) -> Walk:
        walk = Walk(
            self.program,
            self.new,
            self.detours.listing,
            function,
            self.prover,
            self.locked,
            self.kinds,
            fixups=self.entries.new,
            others=self.owned,
            detours=self.detours,
            versions=self.versions,
            alone=self.flushes.heads,
            ways=self.ranges.ways if self.ranges.has_changed(function) else None,
            led=self.ranges.pads(function),
            opposites=self.opposites,
            shown=self.shown,
            features=self.features,
            inside=self.read.inside,
            matched=[] if self.lines.describes(function) else None,
        )
        walk.run()
        walk.evidence += self.flushes.shown.get(function.start, ())
        if (reason := self.flushes.wrong.get(function.start)) and walk.findings:
            walk.findings.insert(0, f"{function.name}: {reason}")
        if reason := self.lines.problem(function, walk.matched or ()):
            walk.findings.append(f"{function.name}: {reason}")
        shown, wrong = self.entries.compare(function, walk.resumed)
        if reason := self.ranges.problem(function):
            wrong.append(f"{function.name}: {reason}")
        checked.findings += walk.findings + wrong
        checked.tables = walk.tables | shown | self.ranges.accounted(function)
        checked.failed = bool(checked.findings)
        for evidence in walk.evidence:
            checked.count(evidence)
        return walk

    def _substitution(self, one: Replaced, checked: _Checked) -> None:
        """A routine that another stands for: compared by what it does, not by how."""
        problems = list(self.substituted.problems(one))
        if self.lines.describes(one.function):
            problems.append("debug information describes another routine")
        if more := one.routine.needs - self.features:
            lacked = ", ".join(sorted(more))
            problems.append(f"the CPU may lack {lacked} of the new routine; --cpu names the CPU")
        if one.placement is not None:
            pieces = self.substituted.scattered
            problems += pieces.odd_words(one.named, one.function, self.owned)
        checked.tables, wrong = self.entries.given_up(one.function)
        checked.findings += wrong
        checked.failed = bool(wrong)
        outcome = self.substituted.trial(one) if not problems else ""
        if isinstance(outcome, Evidence):
            checked.tried = outcome
            checked.count(outcome)
            return
        checked.findings += [f"{one.function.name}: {p}" for p in (*problems, outcome) if p]
        checked.failed = True


def _not_compared(function: Function, reason: str) -> _Checked:
    checked = _Checked(function)
    checked.findings.append(f"{function.name}: {reason}")
    checked.failed = True
    return checked


_SHOWN = 20
