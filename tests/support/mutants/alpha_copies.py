"""Whether two Alpha registers hold the same wherever control comes from, by copies alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from rewriter.core.isa.instruction import AWAY, Flow, Insn
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import SP, ZERO
from tests.support.mutants.alpha_ways import Ways
from tests.support.mutants.plain_base import WORD

_CALLS = (Flow.CALL, Flow.INDIRECT_CALL, Flow.TRAP)
_KEPT = frozenset((*range(9, 16), SP))
_FAR = 400


def copied(insn: Insn) -> tuple[int, int] | None:
    """(source, result) of a move."""
    if insn.name != "bis" or insn.op.format.name != "operate":
        return None
    a, b, result = insn.operands
    return (b if a == ZERO else a, result) if a == b or ZERO in (a, b) else None


class Copies:
    """Answers for one file."""

    def __init__(self, ways: Ways) -> None:
        self.ways, self.base = ways, ways.base

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
                if frozenset(copied(insn) or ()) == pair:
                    continue
                called = insn.op.flow in _CALLS and not pair <= _KEPT
                if called or any(TABLE.defs(insn) >> register & 1 for register in pair):
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
        encoded = np.array([op.format.target is not None for op in TABLE.rows] + [False, False])
        for n in np.flatnonzero(encoded[listing.rows]).tolist():
            found.setdefault(int(listing.targets[n]), []).append(int(listing.addresses[n]))
        return found
