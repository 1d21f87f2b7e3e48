"""What the unwind table and the system's tables name in code: the same instructions in both files.

Both files are read anew, each with its own tables; nothing of what moved them is known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rewriter.core.code.groups import Slot
from rewriter.core.masks import bits
from rewriter.core.target.bundling import Bundling, Code, Routine, UnwindRegion
from rewriter.verify.regions.placement import Code as Bundles
from rewriter.verify.regions.placement import Placed, within


def unwound(
    target: Bundling,
    routine: Routine,
    placed: Sequence[Placed],
    old: tuple[Code, Bundles],
    new: tuple[Code, Bundles],
) -> Iterator[str]:
    """What is wrong with a function's unwind information."""
    before, after = (code.unwind_regions(routine.function) for code, _ in (old, new))
    if before is None and after is None:
        return
    if before is None or after is None or before.rest != after.rest:
        yield "its unwind information says something else"
        return
    compare = _Unwound(target, routine, placed, old[1], new[1], before.stacked)
    for mine, its in zip(before.regions, after.regions, strict=True):
        yield from compare.region(mine, its)


class _Unwound:
    """A function's unwind regions in both files."""

    def __init__(
        self,
        target: Bundling,
        routine: Routine,
        placed: Sequence[Placed],
        old: Bundles,
        new: Bundles,
        stacked: int,
    ) -> None:
        self.target, self.routine, self.placed = target, routine, placed
        self.old, self.new, self.stacked = old, new, stacked

    def region(self, mine: UnwindRegion, its: UnwindRegion) -> Iterator[str]:
        """One of them."""
        if mine.is_body != its.is_body or len(mine.named) != len(its.named):
            yield "its unwind regions are of other kinds"
            return
        for a, b in zip(mine.named, its.named, strict=True):
            yield from self._named(a, b, its)
        if (fault := self._end(mine, its)) is not None:
            yield fault

    def _named(self, a: int, b: int, its: UnwindRegion) -> Iterator[str]:
        one, other = _slot(self.old, a, self.target.bundle), _slot(self.new, b, self.target.bundle)
        home = next((p for p in self.placed if p.old.start <= a < p.old.end), None)
        if not its.start <= b < its.end:
            yield f"{a:#x}, which unwind information names, left its unwind region"
        elif home is None or not home.start <= b < home.end:
            yield f"unwind information names {b:#x} instead of {a:#x}, in another region"
        elif one is None and other is None and self._same(home):
            return  # the second half of a long instruction, where nothing changed
        elif one is None or other is None:
            yield f"unwind information names {b:#x}, where no instruction begins"
        elif self.target.place_free(one.insn) != self.target.place_free(other.insn):
            yield f"unwind information names another instruction at {b:#x} than at {a:#x}"
        elif its.is_body and self.stacked and self._restored(home, a, b):
            yield f"registers are restored behind {b:#x}, which frees the stack they are saved on"

    def _restored(self, home: Placed, a: int, b: int) -> Counter[int]:
        """What is restored before an instruction frees the stack, and was, but is not any more:
        how often each register that is saved there is written."""
        size = self.target.bundle
        old = within(self.old, home.old.start, home.old.end, size)
        new = within(self.new, home.start, home.end, size)
        return self._written(old, a) - self._written(new, b)

    def _written(self, slots: Sequence[Slot], end: int) -> Counter[int]:
        """How often slots before an address write each register that is saved on the stack."""
        before = (slot.insn for slot in slots if slot.address < end)
        written = (self.target.proving.transfer(insn).defs & self.stacked for insn in before)
        return Counter(register for mask in written for register in bits(mask))

    def _end(self, mine: UnwindRegion, its: UnwindRegion) -> str | None:
        a, b = mine.end, its.end
        if a == self.routine.function.end:
            reached = self.placed[-1].end <= b <= a
            return None if reached else "its unwind regions end before it does"
        home = next(p for p in self.placed if p.old.start <= a < p.old.end)
        if a == home.old.start:
            return None if b == home.start else f"the unwind region up to {a:#x} ends at {b:#x}"
        moved = home.start - home.old.start
        if b == a + moved and self._same(home):
            return None
        if mine.is_free and home.start <= b <= home.end:
            return None  # what it names is on its side of it: see `_named`
        return f"the unwind region up to {a:#x} ends within code that changed"

    def _same(self, home: Placed) -> bool:
        """Whether a region has the same instructions in the same slots."""
        size, free = self.target.bundle, self.target.place_free
        mine, its = (
            [(s.address - start, free(s.insn), s.stop) for s in within(code, start, end, size)]
            for code, start, end in (
                (self.old, home.old.start, home.old.end),
                (self.new, home.start, home.end),
            )
        )
        return mine == its


def _slot(bundles: Bundles, address: int, size: int) -> Slot | None:
    found = bundles.get(address - address % size, ())
    return next((slot for slot in found if slot.address == address), None)


def named_by_tables(old: Code, new: Code) -> Iterator[str]:
    """What is wrong with the places that the system's tables name."""
    before, after = old.landmarks(), new.landmarks()
    if len(before) != len(after):
        yield "the system's tables name another number of places"
        return
    for mine, its in zip(before, after, strict=True):
        if mine.table != its.table:
            yield f"{its.table} stands where {mine.table} was"
        elif mine.what is None or mine.what != its.what:
            yield f"{its.table} names another instruction at {its.address:#x}"
