"""Instructions of two words, in code that stays where it is from here on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from passes.combining.prefix import KIND, Placed, Prefix, Prefixed, Prefixer
from passes.lib.insert import Declined
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
from rewriter.road.source_lines import DESCRIBED
from rewriter.road.work import Work, edit_id


@dataclass(frozen=True)
class Prefixes:
    """Makes them in one function after another, as all other steps left it."""

    work: Work
    prefixer: Prefixer

    def run(self, function: Function) -> None:
        """All of a function."""
        work = self.work
        if work.program.is_kernel or not self._has_first(function):
            return
        moved = work.moved.get(function)
        if moved is not None and moved.order is not None:
            return  # what stands before what is another matter there

        def wanted(start: int) -> bool:
            return work.wants(edit_id(Prefix.name, function, start))

        is_described = work.described.names(function)
        for found in self.prefixer.sites(function, list(self._standing(function)), wanted):
            if isinstance(found, Declined):
                work.leave(Prefix.name, KIND, function, found.address, found.reason)
            elif is_described:
                work.leave(Prefix.name, KIND, function, found.start, DESCRIBED)
            else:
                work.prefixed.setdefault(function, []).append(found)
                work.edits.append(self._edit(function, found))

    @cached_property
    def _first(self) -> frozenset[int]:
        """The rows of the first of two that may become one."""
        rows = self.work.program.listing.table.rows
        return frozenset(n for n, op in enumerate(rows) if op.name == self.prefixer.known.FIRST)

    def _has_first(self, function: Function) -> bool:
        """Whether a function has the first of two that may become one."""
        listing = self.work.program.listing
        first, last = listing.span(function.start, function.end)
        return not self._first.isdisjoint(listing.rows[first:last].tolist())

    def _standing(self, function: Function) -> Iterator[Placed]:
        """All that stands there now, nops between the others too."""
        items = self.work.standing(function)
        stood = {now: was for was, now, _ in items}
        code, came = {now: insn for _, now, insn in items}, dict(stood)
        for loop in self.work.reordered.get(function, ()):
            code.update(loop.words)
            came.update({there: stood[before] for before, there in loop.went if before in stood})
        nop = next(iter(self.work.program.target.nops(self.work.program.listing.table.size)))
        place = items[0][1] if items else 0
        for _, now, _ in items:
            for gap in range(place, now, nop.size):
                if function in self.work.moved or self._is_known(gap):
                    yield Placed(gap, code.get(gap, nop), came.get(gap), None)
            yield Placed(now, code[now], came.get(now), stood[now])
            place = now + code[now].size

    def _is_known(self, address: int) -> bool:
        """Whether an instruction of the original is at an address, and no data."""
        listing = self.work.program.listing
        return listing.has(address) and listing.insn(listing.index(address)) is not None

    def _edit(self, function: Function, found: Prefixed) -> Edit:
        text = self.work.program.target.table.text
        return Edit(
            id=edit_id(Prefix.name, function, found.start),
            technique=Prefix.name,
            kind=KIND,
            routine=function.name,
            address=found.start,
            old="; ".join(map(text, found.old)),
            new="; ".join(map(text, found.new)),
            evidence=found.evidence,
            gain=1,
        )
