"""Two files of grouped code compared: nothing that the rewriter said is used.

The original says what its functions and regions are.  In the new file a function's regions stand
either where they were, or one right behind the other with nops for rest at its end; where they
begin follows from the transfers of control, which keep their order, and from where branches lead.
Each pair of regions is then shown to do the same, and what the unwind table and the system's
tables name must be the same instructions as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import addresses
from rewriter.core.edit import Evidence, Grade
from rewriter.core.errors import BadInput
from rewriter.core.grouped import Code, Grouped, Routine
from rewriter.core.groups import Slot
from rewriter.core.program import Function
from rewriter.core.target import CannotMove
from rewriter.elf.image import Image
from rewriter.identify.functions import find_functions
from rewriter.verify.landmarks import named_by_tables, unwound
from rewriter.verify.placed import Code as Bundles
from rewriter.verify.placed import (
    Lost,
    Placed,
    bundles_of,
    in_place,
    keeps_transfers,
    leads_to,
    one_behind_another,
    within,
)
from rewriter.verify.regions import Region as Straight
from rewriter.verify.regions import Regions

Progress = Callable[[str, int, int], None]
Edges = tuple[tuple[Slot, ...], tuple[Slot, ...]]
"""The slots of open groups, in the old file and in the new one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What speaks against a function; `region` is the start of the old one, None for the whole."""

    function: Function
    region: int | None
    reason: str

    def __str__(self) -> str:
        where = "" if self.region is None else f" at {self.region:#x}"
        return f"{self.function.name}{where}: {self.reason}"


@dataclass(frozen=True)
class Verdict:
    """What was compared and what was found.

    `shown` is the evidence by the start of each old region that changed and was shown equal.
    """

    findings: tuple[str, ...]
    functions: int = 0
    blocks: int = 0
    changed_bytes: int = 0
    grades: Mapping[str, int] = field(default_factory=dict)
    preconditions: Mapping[str, int] = field(default_factory=dict)
    shown: Mapping[int, Evidence] = field(default_factory=dict)
    wrong: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything that changed was shown to do the same."""
        return not self.findings


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
    check = _Check(old, view, target, code, prover or Regions(target.proving))
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
        except CannotMove:
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
        for one in reversed(placed):
            self._idle(one)
        wrong: list[Finding] = []
        shown: dict[int, Evidence] = {}
        before = self._flowing()
        for one in placed:
            old = within(self.old, one.old.start, one.old.end, self.size)
            new = within(self.new, one.start, one.end, self.size)
            joined = self._free(before[1])
            if not self._same(old, new, one) or (joined and joined != self._free(before[0])):
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

    def _idle(self, one: Placed) -> None:
        """Control that comes to the nops at a region's end comes to what follows."""
        end = one.end
        while end > one.start and end in self.heads:
            if not all(self.target.is_nop(slot.insn) for slot in self.new[end - self.size]):
                break
            self.heads.setdefault(end - self.size, self.heads[end])
            end -= self.size

    def _flowing(self) -> Edges:
        """The groups that are open where control comes to the function from before it."""
        return self._open_before(self.check.old), self._open_before(self.check.new)

    def _open_before(self, image: Image) -> tuple[Slot, ...]:
        start = self.routine.function.start - self.size
        try:
            slots = list(self.target.straight(image.read(start, self.size), start))
        except (BadInput, ValueError):
            return ()
        return open_at_end(self.target, slots)

    def _same(self, old: Sequence[Slot], new: Sequence[Slot], one: Placed) -> bool:
        """Whether a region is plainly what it was: the same slots lead to the same places."""
        if len(old) != len(new):
            return False
        moved = one.start - one.old.start
        for mine, its in zip(old, new, strict=True):
            if mine.insn == its.insn and not moved and mine.stop == its.stop:
                continue
            alike = (
                its.address - mine.address == moved
                and mine.stop == its.stop
                and self.target.place_free(mine.insn) == self.target.place_free(its.insn)
            )
            to = leads_to(its, self.size)
            if not alike or (to is not None and self._place(to) != leads_to(mine, self.size)):
                return False
        return True

    def _free(self, slots: Sequence[Slot]) -> list[Hashable]:
        return [self.target.place_free(slot.insn) for slot in slots]

    def _place(self, address: int) -> int:
        """The address in the old file that one in the new file stands for."""
        if address not in self.routine.function:
            return address
        return self.heads.get(address, address if address in self.heads.values() else _NOWHERE)

    def _compare(
        self, one: Placed, old: Sequence[Slot], new: Sequence[Slot], before: Edges
    ) -> Evidence | str:
        """The evidence that a region does the same, or why it is not shown."""
        if one.old.reason:
            return f"changed, although {one.old.reason}"
        left = self._free(open_at_end(self.target, new))
        if left and left != self._free(open_at_end(self.target, old)):
            return "the group at its end is open"
        verdict = self.check.prover.compare(
            Straight(tuple(old), before[0]),
            Straight(tuple(new), before[1]),
            self.target.everything,
            self._place,
        )
        if not verdict.is_equal:
            return f"not shown equal: {verdict.reason}"
        return Evidence(Grade.PROVED, (_EXCLUSIVE,) if verdict.assumed else ())

    def _end(self, placed: Sequence[Placed]) -> list[Finding]:
        """What stands behind the last region: nothing but nops."""
        end = self.routine.function.end
        rest = within(self.new, placed[-1].end, end, self.size) if placed else []
        if all(self.target.is_nop(slot.insn) for slot in rest):
            return []
        return [self._whole("what stands behind its last region is no nop")]


def open_at_end(target: Grouped, slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """The slots of the group that goes on behind straight code; none if nothing goes on."""
    stops = [n for n, slot in enumerate(slots) if slot.stop]
    tail = tuple(slots[stops[-1] + 1 if stops else 0 :])
    gone = any(target.ends(slot.insn) for slot in tail)
    return () if gone or all(target.is_nop(slot.insn) for slot in tail) else tail


_NOWHERE = -1
_SHOWN = 20
_EXCLUSIVE = "predicates that the original's groups need exclusive are never both true"
