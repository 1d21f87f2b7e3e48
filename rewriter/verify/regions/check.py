"""Two files of bundled code compared: nothing that the rewriter said is used.

The original says what its functions and regions are.  In the new file a function's regions stand
either where they were, or one right behind the other with nops for rest at its end; where they
begin follows from the transfers of control, which keep their order, and from where branches lead.
Each pair of regions is then shown to do the same, and what the unwind table and the system's
tables name must be the same instructions as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

from rewriter.analysis.functions import bundled_functions
from rewriter.core.addresses import sides
from rewriter.core.assumptions import EVERY
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence
from rewriter.core.run.garbage import seldom_collected
from rewriter.core.run.guard import guarded
from rewriter.core.run.workers import Apart, each
from rewriter.core.target.bundling import Bundling
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image
from rewriter.verify.line_check import LineCheck
from rewriter.verify.owners import Offsets, changed_offsets, owners
from rewriter.verify.regions.function import Compared, Comparison, Files, Finding
from rewriter.verify.regions.landmarks import named_by_tables
from rewriter.verify.regions.placement import bundles_of
from rewriter.verify.regions.proof import Regions
from rewriter.verify.routines.bundled_known import KnownBundled
from rewriter.verify.routines.bundled_substituted import BundledSubstituted

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Verdict:
    """What was compared and what was found.

    `shown` is the evidence by the start of each old region that changed and was shown equal,
    `original` are all functions of the old file.
    """

    findings: tuple[str, ...]
    functions: int = 0
    blocks: int = 0
    changed_bytes: int = 0
    grades: Mapping[str, int] = field(default_factory=dict)
    preconditions: Mapping[str, int] = field(default_factory=dict)
    shown: Mapping[int, Evidence] = field(default_factory=dict)
    wrong: tuple[Finding, ...] = ()
    original: tuple[Function, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything that changed was shown to do the same."""
        return not self.findings


@seldom_collected()
def compare(
    old: Image,
    new: Image,
    target: Bundling,
    progress: Progress,
    jobs: int = 1,
    assume: frozenset[str] = EVERY,
) -> Verdict:
    """Compares a file with its tuned successor (without its note)."""
    if old.data == new.data:
        return Verdict(())
    progress("analyse", 0, 1)
    functions = bundled_functions(old, target)
    code = target.code(old, functions)
    progress("analyse", 1, 1)
    return verify(KnownBundled(old, target, code, assume), new, progress, jobs=jobs)


def verify(
    known: KnownBundled,
    new: Image,
    progress: Progress,
    only: Collection[Function] | None = None,
    prover: Regions | None = None,
    jobs: int = 1,
) -> Verdict:
    """Compares a file, analysed as `known`, with a new one of the same size.

    With `only`, other functions are known to be as they were when they were last compared.
    """
    old = known.image
    if len(old.data) != len(new.data):
        sizes = f"from {len(old.data)} to {len(new.data)}"
        return Verdict((f"the size changed {sizes} bytes",), original=tuple(known.code.functions))
    view = replace(old, data=with_old_identity(old, new.data))
    check = _Check(known, view, prover or Regions(known.target.proving, known.assume))
    check.run(only, progress, jobs)
    wrong = check.wrong
    return Verdict(
        findings=(*check.elsewhere, *map(str, wrong)),
        functions=check.functions,
        blocks=len(check.shown),
        changed_bytes=check.changed_bytes,
        grades=dict(Counter(e.grade.value for e in check.shown.values())),
        preconditions=dict(Counter(p for e in check.shown.values() for p in e.preconditions)),
        shown=check.shown,
        wrong=tuple(wrong),
        original=tuple(known.code.functions),
    )


class _Check:
    """One comparison as it goes on."""

    def __init__(self, known: KnownBundled, new: Image, prover: Regions) -> None:
        self.old, self.new, self.target, self.code = known.image, new, known.target, known.code
        self.after = self.target.code(new, self.code.functions)
        self.prover = prover
        self.liveness, self.beyond = known.liveness, known.beyond
        self.substituted = BundledSubstituted(known, new, self.after)
        self.lines = LineCheck.of(known.image, new.data)
        self.elsewhere: list[str] = []
        self.wrong: list[Finding] = []
        self.shown: dict[int, Evidence] = {}
        self.functions = self.changed_bytes = 0

    def run(self, only: Collection[Function] | None, progress: Progress, jobs: int) -> None:
        """Goes through all that changed."""
        changed = changed_offsets(self.old.data, self.new.data)
        self.changed_bytes = len(changed)
        functions = self._owners(changed)
        functions = [f for f in functions if f not in self.substituted.functions]
        if only is not None:
            functions = [function for function in functions if function in only]
        else:
            self._substitutions()
        found = each(self._function, functions, jobs, Apart(), attrgetter("size"))
        for done, (wrong, shown) in enumerate(found):
            if done % 20 == 0:
                progress("compare", done, len(functions))
            self.wrong += wrong
            self.shown |= shown
        progress("compare", len(functions), len(functions))
        self.functions = len(functions) + len(self.substituted.functions)
        self.elsewhere += named_by_tables(self.code, self.after)

    def _substitutions(self) -> None:
        """The routines that others stand for: compared by what they do, not by how."""
        wrong = guarded("comparison", self._odd_routines, self._all_odd)
        self.wrong += wrong
        for one in self.substituted.taken if not wrong else ():
            outcome = guarded("trial", partial(self.substituted.trial, one), str)
            if isinstance(outcome, Evidence):
                self.shown[one.function.start] = outcome
            else:
                self.wrong.append(Finding(one.function, None, outcome))

    def _odd_routines(self) -> list[Finding]:
        described = [f for f in self.substituted.functions if self.lines.describes(f)]
        found = [(f, _DESCRIBED) for f in sorted(described)]
        return [Finding(f, None, why) for f, why in (*found, *self.substituted.problems())]

    def _all_odd(self, reason: str) -> list[Finding]:
        return [Finding(one.function, None, reason) for one in self.substituted.taken]

    def _owners(self, changed: Offsets) -> list[Function]:
        """The functions whose code or description changed; all other bytes are findings."""
        functions = self.code.functions
        described = [(self._described(f), f) for f in functions]
        ranges = [(f.start, f.end, f) for f in functions]
        ranges += [(r.start, r.stop, f) for r, f in described if len(r)]
        size = self.target.jump_word
        ranges += [(p, p + size, f) for f in functions for p, _ in self.code.routine(f).words]
        compared = [(taken.start, taken.stop) for taken in self.substituted.accounted()]
        _, left = owners(self.old, sides(compared), changed)
        found, elsewhere = owners(self.old, sides([(start, end) for start, end, _ in ranges]), left)
        for offset in elsewhere[:_SHOWN].tolist():
            self.elsewhere.append(f"a byte changed outside all functions: offset {offset:#x}")
        return sorted({ranges[n][2] for n in found})

    def _described(self, function: Function) -> range:
        described = partial(self.code.unwind_bytes, function)
        return guarded("comparison", described, lambda reason: range(0))

    def _function(self, function: Function) -> Compared:
        """One function, in which an error of our own is a finding; changes nothing here."""
        compared = partial(self._compared, function)
        return guarded("comparison", compared, lambda r: ([Finding(function, None, r)], {}))

    def _compared(self, function: Function) -> Compared:
        routine = self.code.routine(function)
        if routine.reason:
            reason = f"changed, but cannot be followed: {routine.reason}"
            return [Finding(function, None, reason)], {}
        if self.lines.describes(function):
            return [Finding(function, None, _DESCRIBED)], {}
        size = function.end - function.start
        try:
            old, new = (
                bundles_of(self.target, image.read(function.start, size), function.start)
                for image in (self.old, self.new)
            )
        except ValueError as error:
            return [Finding(function, None, str(error))], {}
        files = Files(
            self.target,
            self.old,
            self.new,
            self.code,
            self.after,
            self.prover,
            self.liveness,
            self.beyond,
        )
        return Comparison(files, routine, old, new).findings()


_SHOWN = 20
_DESCRIBED = "changed, but debug information describes what it was"
