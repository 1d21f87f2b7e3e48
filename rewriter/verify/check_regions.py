"""Two files of grouped code compared: nothing that the rewriter said is used.

The original says what its functions and regions are.  In the new file a function's regions stand
either where they were, or one right behind the other with nops for rest at its end; where they
begin follows from the transfers of control, which keep their order, and from where branches lead.
Each pair of regions is then shown to do the same, and what the unwind table and the system's
tables name must be the same instructions as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rewriter.core.edit import Evidence, Grade
from rewriter.core.grouped import Code, Grouped, Region, Routine
from rewriter.core.groups import Slot
from rewriter.core.isa import Flow
from rewriter.core.program import Function
from rewriter.elf.image import Image
from rewriter.identify.functions import find_functions
from rewriter.verify.regions import Regions
from rewriter.verify.regions import Region as Straight

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Verdict:
    """What was compared and what was found.

    `shown` are the starts of the old regions that changed and were shown equal, `wrong` the
    findings by the start of the function, and of the region where it is one region's.
    """

    findings: tuple[str, ...]
    functions: int = 0
    blocks: int = 0
    changed_bytes: int = 0
    grades: Mapping[str, int] = field(default_factory=dict)
    preconditions: Mapping[str, int] = field(default_factory=dict)
    shown: Mapping[int, Evidence] = field(default_factory=dict)
    wrong: Mapping[int, tuple["Finding", ...]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether everything that changed was shown to do the same."""
        return not self.findings


@dataclass(frozen=True, slots=True)
class Finding:
    """What speaks against a function; `region` is the start of the old one, None for the whole."""

    function: Function
    region: int | None
    reason: str

    def __str__(self) -> str:
        where = "" if self.region is None else f" at {self.region:#x}"
        return f"{self.function.name}{where}: {self.reason}"


def compare(old: Image, new: Image, target: Grouped, progress: Progress) -> Verdict:
    """Compares a file with its tuned successor (without its note)."""
    if old.data == new.data:
        return Verdict(())
    progress("analyse", 0, 1)
    functions = find_functions(old, target.described(old))
    code = target.code(old, functions)
    progress("analyse", 1, 1)
    return verify(old, new, target, code, progress)


def verify(
    old: Image,
    new: Image,
    target: Grouped,
    code: Code,
    progress: Progress,
    only: Collection[Function] | None = None,
    prover: Regions | None = None,
) -> Verdict:
    """Compares an analysed file with a new one of the same size.

    With `only`, other functions are known to be as they were when they were last compared.
    """
    if len(old.data) != len(new.data):
        sizes = f"from {len(old.data)} to {len(new.data)}"
        return Verdict((f"the size changed {sizes} bytes",))
    view = replace(old, data=new.data)
    check = _Check(old, view, target, code, prover or Regions(target))
    check.run(only, progress)
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
    )


class _Check:
    """One comparison as it goes on."""

    def __init__(
        self, old: Image, new: Image, target: Grouped, code: Code, prover: Regions
    ) -> None:
        self.old, self.new, self.target, self.code = old, new, target, code
        self.after = target.code(new, code.functions)
        self.prover = prover
        self.elsewhere: list[str] = []
        self.wrong: list[Finding] = []
        self.shown: dict[int, Evidence] = {}
        self.functions = self.changed_bytes = 0

    def run(self, only: Collection[Function] | None, progress: Progress) -> None:
        """Goes through all that changed."""
        changed = np.flatnonzero(
            np.frombuffer(self.old.data, np.uint8) != np.frombuffer(self.new.data, np.uint8)
        )
        self.changed_bytes = len(changed)
        functions = self._owners(changed)
        if only is not None:
            functions = [function for function in functions if function in only]
        for done, function in enumerate(functions):
            if done % 20 == 0:
                progress("compare", done, len(functions))
            self._function(function)
        progress("compare", len(functions), len(functions))
        self.functions = len(functions)
        self.elsewhere += named_by_tables(self.code, self.after)

    def _owners(self, changed: NDArray[np.int64]) -> list[Function]:
        """The functions whose code or description changed; all other bytes are findings."""
        functions = self.code.functions
        described = [(self._described(f), f) for f in functions]
        ranges = [(f.start, f.end, f) for f in functions]
        ranges += [(r.start, r.stop, f) for r, f in described if len(r)]
        ranges.sort(key=lambda item: item[0])
        places = self.old.addresses_of(changed)
        starts = addresses(start for start, _, _ in ranges)
        ends = addresses(end for _, end, _ in ranges)
        owner = np.searchsorted(starts, places, side="right") - 1
        inside = (owner >= 0) & (places < ends[np.maximum(owner, 0)])
        for offset in changed[~inside].tolist()[:_SHOWN]:
            self.elsewhere.append(f"a byte changed outside all functions: offset {offset:#x}")
        return sorted({ranges[n][2] for n in np.unique(owner[inside]).tolist()})

    def _described(self, function: Function) -> range:
        try:
            return self.code.unwind_bytes(function)
        except Unreadable:
            return range(0)

    def _function(self, function: Function) -> None:
        routine = self.code.routine(function)
        if routine.reason:
            self._against(function, None, f"changed, but cannot be followed: {routine.reason}")
            return
        size = function.end - function.start
        try:
            old, new = (
                bundles_of(self.target, image.read(function.start, size), function.start)
                for image in (self.old, self.new)
            )
        except ValueError as error:
            self._against(function, None, str(error))
            return
        comparison = _Function(self, routine, old, new)
        wrong, shown = comparison.findings()
        self.wrong += wrong
        self.shown |= shown

    def _against(self, function: Function, region: int | None, reason: str) -> None:
        self.wrong.append(Finding(function, region, reason))


class _Function:
    """One function in both files."""

    def __init__(self, check: _Check, routine: Routine, old: Bundles, new: Bundles) -> None:
        self.check, self.routine, self.old, self.new = check, routine, old, new
        self.target, self.size = check.target, check.target.bundle

    def findings(self) -> tuple[list[Finding], dict[int, Evidence]]:
        """What speaks against it, and the regions that were shown equal."""
        stays = keeps_transfers(self.target, self.routine, self.old, self.new)
        wrong, shown = self._with(in_place(self.routine)) if stays else ([], {})
        if stays and not wrong:
            return wrong, shown
        if self.routine.stays:
            return wrong or [self._whole(f"code moved, although {self.routine.stays}")], shown
        try:
            placed = one_behind_another(self.target, self.routine, self.old, self.new)
        except Lost as error:
            return [*wrong, self._whole(str(error))], shown
        others, moved = self._with(placed)
        return (wrong, shown) if wrong and len(wrong) <= len(others) else (others, moved)

    def _whole(self, reason: str) -> Finding:
        return Finding(self.routine.function, None, reason)

    def _with(self, placed: Sequence[Placed]) -> tuple[list[Finding], dict[int, Evidence]]:
        """The same when regions stand in these places."""
        self.heads = {one.start: one.old.start for one in reversed(placed)}
        self.heads[self.routine.function.end] = self.routine.function.end
        wrong: list[Finding] = []
        shown: dict[int, Evidence] = {}
        before: tuple[tuple[Slot, ...], tuple[Slot, ...]] = self._flowing()
        for one in placed:
            old = within(self.old, one.old.start, one.old.end, self.size)
            new = within(self.new, one.start, one.end, self.size)
            if not self._same(old, new, one) or before[0] != before[1]:
                outcome = self._compare(one, old, new, before)
                if isinstance(outcome, Evidence):
                    shown[one.old.start] = outcome
                else:
                    wrong.append(Finding(self.routine.function, one.old.start, outcome))
            before = open_at_end(self.target, old), open_at_end(self.target, new)
        wrong += self._end(placed)
        said = unwound(
            self.target,
            self.routine,
            placed,
            (self.check.code, self.old),
            (self.check.after, self.new),
        )
        return [*wrong, *map(self._whole, said)], shown
