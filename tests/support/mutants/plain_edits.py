"""Random changes where a pass of the product has made an edit, and only there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.table import Table
from rewriter.report.listing import instructions
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import NEAR, WORD, PlainBase
from tests.support.mutants.plain_draw import PlainDraw, kind

Places = Sequence[int]
"""Positions in a listing."""


class EditDraw(PlainDraw):
    """Draws changes near the sites of one pass and near what came into their functions."""

    def __init__(self, base: PlainBase, edits: Sequence[Edit]) -> None:
        super().__init__(base)
        self.edits = edits

    def change(self, source: random.Random) -> Change:
        """One near a site, or two instructions go that make one register."""
        if source.random() < _PAIRS:
            pairs = _pairs(self, self._function(source.choice(self.edits)))
            if pairs:
                at = source.choice(pairs)
                nops = self.base.program.target.nops(2 * WORD)
                return self._change("both", at, [self.table.encode(nop) for nop in nops])
        change = None
        while change is None:  # not each kind is near each edit
            change = self._tried(kind(source), source)
        return change

    def _place(self, source: random.Random) -> int:
        edit = source.choice(self.edits)
        function = self._function(edit)
        sites, came = _sides(self, function)
        site = self.base.program.listing.index(edit.address)
        near = sites[site - self.base.program.listing.index(function.start)]
        at = source.choice(came if came and source.random() < _CAME else near)
        at += source.randrange(-NEAR, NEAR + 1)
        return min(max(at, 0), len(self.listing) - 1)

    def _function(self, edit: Edit) -> Function:
        function = self.base.program.function_at(edit.address)
        assert function is not None, edit.id
        return function


_CAME, _PAIRS = 0.5, 0.15
"""How often the place is one of what came, not the site; how often a pair goes."""


@lru_cache(maxsize=64)
def _sides(draw: EditDraw, function: Function) -> tuple[Sequence[Places], Places]:
    """Where each instruction of a function is now, or what stands for it; and what came new."""
    old, new = draw.base.program.listing, draw.listing
    start, idle = new.span(function.start, function.end)[0], draw.base.program.target.is_nop
    matcher = SequenceMatcher(None, _keys(old, function), _keys(new, function), autojunk=False)
    sites, came = list[Places](), list[int]()
    for tag, i, j, m, n in matcher.get_opcodes():
        if tag == "equal":
            sites += [[start + at] for at in range(m, n)]
            continue
        sites += [range(start + m, start + max(n, m + 1))] * (j - i)
        insns = ((at, new.insn(at)) for at in range(start + m, start + n))
        came += [at for at, insn in insns if insn is not None and not idle(insn)]
    return sites, came


def _keys(listing: Listing, function: Function) -> list[object]:
    return [key for key, _ in instructions(listing, function)]


@lru_cache(maxsize=64)
def _pairs(draw: EditDraw, function: Function) -> Places:
    """Where two instructions in a row make one register, and nothing else: an address, mostly."""
    first, last = draw.listing.span(function.start, function.end)
    made = [_made(draw.listing.insn(at), draw.table) for at in range(first, last)]
    return [first + at for at in range(len(made) - 1) if made[at] and made[at] == made[at + 1]]


def _made(insn: Insn | None, table: Table) -> tuple[Reg, ...]:
    return () if insn is None else table.computes(insn)
