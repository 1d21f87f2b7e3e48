"""Whether two registers hold the same wherever control comes from, by copies alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np

from rewriter.core.isa.instruction import AWAY, Flow, Insn
from tests.support.mutants.plain_base import WORD
from tests.support.mutants.plain_ways import PlainWays

Moved: TypeAlias = Callable[[Insn], tuple[int, int] | None]
"""Source and result of an instruction that only moves a register to another."""
_FAR = 400


class Copies:
    """Answers for one file; what is in registers that are `kept` is there again after a call."""

    def __init__(self, ways: PlainWays, moved: Moved, kept: frozenset[int]) -> None:
        self.ways, self.base = ways, ways.base
        self.moved, self._kept = moved, kept

    def hold(self, place: int, pair: frozenset[int]) -> bool:
        """Whether on every way to a place one register was copied to the other, and stayed."""
        todo, seen = [place], set[int]()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            if at in self.ways.entered or len(seen) > _FAR:
                return False
            for before in self._before(at):
                insn = self.base.insn(before)
                if insn is None:
                    return False
                if frozenset(self.moved(insn) or ()) == pair:
                    continue
                left = insn.op.flow.calls or insn.op.flow is Flow.TRAP
                written = self.ways.table.defs(insn)
                if (left and not pair <= self._kept) or any(written >> one & 1 for one in pair):
                    return False
                todo.append(before)
        return True

    def _before(self, at: int) -> Iterator[int]:
        """Where control comes from."""
        insn = self.base.insn(at - WORD)
        if insn is None or insn.op.flow not in AWAY:
            yield at - WORD
        yield from self._branches.get(at, ())

    @cached_property
    def _branches(self) -> dict[int, list[int]]:
        """By target, the branches and jumps that lead there."""
        listing, found = self.base.listing, dict[int, list[int]]()
        encoded = np.array(
            [op.format.target is not None for op in self.ways.table.rows] + [False, False]
        )
        for n in np.flatnonzero(encoded[listing.rows]).tolist():
            found.setdefault(int(listing.targets[n]), []).append(int(listing.addresses[n]))
        return found
