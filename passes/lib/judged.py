"""Whether a layout is better than the one that stands: by loops, boundaries and nops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from passes.align import Code, Layout
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, Placing
from rewriter.timing.engines import engine_of
from rewriter.timing.steady import Steady
from rewriter.timing.steady_node import Placed

_LONGEST = 16
"""Instructions of a loop whose passes are timed: where a longer one begins matters little."""
_PASSES = 8
"""So often a loop is gone through for each time that it is entered."""
_DEEPEST = 3
"""Loops around that count: more ways back than that are a switch's in one loop, and no nest."""
_INSIDE = (Flow.NEXT, Flow.BRANCH)
"""What a timed loop is made of; a branch in it falls through."""


@dataclass
class Judge:
    """Judges layouts for one CPU; `nop` is what stands where nothing else does."""

    cpu: Cpu
    table: Table
    nop: Insn
    _known: dict[tuple[object, ...], Fraction] = field(default_factory=dict)

    @cached_property
    def _steady(self) -> Steady:
        return engine_of(self.cpu).steady(self.table)

    def best(self, code: Code, layouts: Iterable[Layout], placing: Placing) -> Layout | None:
        """The layout that saves most; None if none is better than what stands.

        None makes a timed loop slower, takes the head of a loop off its boundary, or has more nops
        on any way.  One that saves no cycle has fewer nops on the way, and no fewer boundaries, or
        boundaries are lost that cost less than the nops.
        """
        judged = (self._judged(code, layout, placing) for layout in layouts)
        better = [layout for layout in judged if layout is not None]
        return max(better, key=lambda one: (one.saved, -one.executed, one.aligned), default=None)

    def spoiled(self, code: Code, layout: Layout, placing: Placing) -> frozenset[int]:
        """Where a layout is worse than what stands, by address: heads of loops that it takes off
        their boundary, and both sides of nops by which a way is longer; else, as they are
        timed for it, heads of loops that it makes slower.
        """
        old, new = code.places, [there for _, there, _ in layout.items]
        worse = _displaced(code, new, placing)
        worse = worse or {n for n, saved in self._timed(code, old, new) if saved < 0}
        return frozenset(old[n] for n in worse)

    def _judged(self, code: Code, layout: Layout, placing: Placing) -> Layout | None:
        old, new = code.places, [there for _, there, _ in layout.items]
        boundary, heads = placing.boundary.value, code.target_heads
        if _displaced(code, new, placing):
            return None
        saved = Fraction(0)
        for _, one in self._timed(code, old, new):
            if one < 0:
                return None
            saved += one
        aligned = sum(old[n] % boundary == 0 for n in heads)
        aligned_now = sum(new[n] % boundary == 0 for n in heads)
        fewer = layout.executed < code.nops_passed
        pays = aligned_now >= aligned or _lost(code, new, boundary) < _lost(code, old, boundary)
        if not saved and not (fewer and pays):
            return None
        return replace(layout, saved=saved, aligned=aligned_now)

    def _timed(
        self, code: Code, old: Sequence[int], new: Sequence[int]
    ) -> Iterator[tuple[int, Fraction]]:
        """The heads of short loops, and the cycles that a pass takes less."""
        for first, last in code.loops_around:
            if last - first < _LONGEST and self._is_straight(code, first, last):
                if self._stands_alike(old[first : last + 1], new[first : last + 1]):
                    yield first, Fraction(0)
                    continue
                before, after = (self._cycles(code, places, first, last) for places in (old, new))
                yield first, before - after

    def _stands_alike(self, old: Sequence[int], new: Sequence[int]) -> bool:
        """Whether a loop has its nops where it had them, and begins where it did in a block."""
        moved = new[0] - old[0]
        return moved % self._period == 0 and all(
            b - a == moved for a, b in zip(old, new, strict=True)
        )

    @cached_property
    def _period(self) -> int:
        """Bytes by which a loop may move without a difference."""
        return 2 * max(self.cpu.fetch_block.value, self.nop.size)

    def _is_straight(self, code: Code, first: int, last: int) -> bool:
        body = [insn for _, insn in code.items[first:last]]
        heads = range(first + 1, last + 1)
        nested = any(head in heads and end <= last for head, end in code.loops_around)
        return not nested and all(insn.op.flow in _INSIDE for insn in body)

    def _cycles(self, code: Code, places: Sequence[int], first: int, last: int) -> Fraction:
        """Cycles a pass where the loop stands; what is between its instructions are nops."""
        held = {places[n]: code.items[n][1] for n in range(first, last + 1)}
        start, end = places[first], places[last] + code.size
        body = [held.get(at, self.nop) for at in range(start, end, code.size)]
        phase = start % self._period
        key = phase, *((insn.op.name, insn.placeless) for insn in body)
        if key not in self._known:
            placed: list[Placed] = [(start + code.size * n, i, None) for n, i in enumerate(body)]
            self._known[key] = self._steady.cycles(placed, {at: i for at, i, _ in placed})
        return self._known[key]


def _displaced(code: Code, new: Sequence[int], placing: Placing) -> set[int]:
    """Numbers of heads of loops that lose their boundary, and of both sides of nops by which a way
    is longer."""
    old, boundary = code.places, placing.boundary.value
    off = {n for n in code.heads(code.loops) if old[n] % boundary == 0 and new[n] % boundary}
    longer = set(code.longer(new))
    return off | longer | {n - 1 for n in longer if n}


def _lost(code: Code, places: Sequence[int], boundary: int) -> int:
    """Slots that go to nops on the way, and to what is fetched before branch targets.

    Each counts by the loops that it is in.
    """
    nops = sum(count * _often(code, n, n - 1) for n, count in code.passed(places))
    fetched = (places[n] % boundary // code.size * _often(code, n, n) for n in code.target_heads)
    return nops + sum(fetched)


def _often(code: Code, number: int, before: int) -> int:
    """How often what stands at a number, and behind another, is executed, by the loops around."""
    heads = {first for first, last in code.loops_around if first <= before and number <= last}
    return int(_PASSES ** min(len(heads), _DEEPEST))
