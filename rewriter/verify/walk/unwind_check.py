"""Whether changed unwind rows still say the right thing at the right instruction.

A row describes the frame from its address on, so between two rows stands the instruction that
changes the frame.  Code keeps its order when it moves: each row must follow the same instructions
that it goes by (`frames`) or that transfer control as before, and directly so if it did; if it did
not, what stood between may have gone.  A row may have gone with all that it was said of, where the
next one stands right behind what it stood behind.  Behind the last row, where blocks may change
places, what it finds the frame by is written as often as before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.program import Program
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.elf.unwind import entries
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.verify.walk.courses import rows
from rewriter.verify.walk.detours.choices import More
from rewriter.verify.walk.frames import Framed, Mark, Told, bases_of, told
from rewriter.verify.walk.frames import Rows as RowsOf
from rewriter.verify.walk.insn_classes import IDLE, Kinds


class _Place(NamedTuple):
    """How many instructions that all rows go by stand before a row, and what it alone goes by.

    `last` is the address of the last such instruction, `direct` whether there is none behind it.
    """

    marked: int
    own: tuple[Mark, ...]
    last: int
    direct: bool

    def same(self, other: _Place) -> bool:
        """Whether another follows the same, or does so where nothing else was left in between."""
        gone = other.direct and self.last == other.last
        return self[:2] == other[:2] and (self.direct == other.direct or gone)


class _Places(NamedTuple):
    """The rows of an entry behind the first, and the instructions that all go by, in order."""

    marks: list[Mark]
    rows: list[_Place]

    def same(self, other: _Places) -> bool:
        """Whether each row of another entry stands where the same one of this does."""
        alike = all(row.same(its) for row, its in zip(self.rows, other.rows, strict=True))
        return alike and self.marks == other.marks


def frame_owners(
    frames: Iterable[entries.Fde], offsets: NDArray[np.int64]
) -> tuple[list[entries.Fde], NDArray[np.int64]]:
    """The unwind entries with one of some file offsets among their instructions; those offsets."""
    ordered = sorted(frames, key=lambda frame: frame.instructions)
    if not ordered:
        return [], offsets[:0]
    spans = np.array([frame.instructions for frame in ordered], dtype=np.int64)
    at = spans[:, 0].searchsorted(offsets, side="right") - 1
    inside = (at >= 0) & (offsets < spans[at, 1])
    return [ordered[n] for n in np.unique(at[inside]).tolist()], offsets[inside]


class Rows:
    """The unwind entries of some functions in two files."""

    def __init__(
        self,
        program: Program,
        new: Mapping[int, entries.Fde],
        listing: Listing,
        functions: Iterable[Function],
        kinds: Kinds,
        others: Collection[int],
        more: More,
    ) -> None:
        """`new` are the entries of the new file by where they start, `listing` is its text.

        `others` are addresses there at which pieces of other functions stand, `more` has what some
        instructions are read as besides.
        """
        starts = (function.start for function in functions)
        self.old = {start: program.frames[start] for start in starts if start in program.frames}
        self.new = new
        self.listings, self.kinds, self.more = (program.listing, listing), kinds, more
        self.before = partial(_places, program.listing, kinds, {})
        self.after = partial(_places, listing, kinds, more)
        self.behind_before = partial(_behind, program.listing, kinds, {}, ())
        self.behind_after = partial(_behind, listing, kinds, more, others)

    def problem(
        self,
        function: Function,
        passed: Sequence[rows.Passed] = (),
        jumps: Collection[tuple[int, int]] = (),
    ) -> str:
        """What is wrong with the unwind entry of a function, or nothing.

        `passed` are the ways on which control goes, and `jumps` the new file's that are no part of
        them.  Ways that begin at other places than before need not follow the order of addresses,
        even where code and rows stand as they did: a changed jump table leads to other rows.
        """
        old, new = self.old.get(function.start), self.new.get(function.start)
        if old is None:
            return ""
        if new is None or (new.end, new.lsda) != (old.end, old.lsda):
            return "its unwind entry covers something else"
        agree, in_order = True, not jumps and _in_order(passed)
        moved = any(before[0] != after[0] for before, after in passed)
        if not in_order or (moved and unwind_rows.unchanged(old, new)):
            both = (old, self.listings[0]), (new, self.listings[1])
            agree = rows.agree(*both, self.kinds, passed, jumps, self.more)
        if in_order:
            agree = agree and self._agree(old, new)
        return "" if agree else "its unwind rows do not follow its instructions"

    def _agree(self, old: entries.Fde, new: entries.Fde) -> bool:
        before = unwind_rows.rows(old)
        after = before if unwind_rows.unchanged(old, new) else unwind_rows.rows(new)
        rules = [rules for _, rules in before]
        kept = _kept(rules, [rules for _, rules in after])
        if kept is None:
            return False
        behind = self.behind_before(before, old.end), self.behind_after(after, new.end)
        if behind[0] != behind[1]:
            return False
        if len(before) == 1:
            return True  # from the start on
        said = told([rules[n] for n in kept], self.kinds.target)
        left = self.before(said, [before[n] for n in kept])
        places = left if len(kept) == len(before) else self._closed_up(before, kept, left)
        return places is not None and places.same(self.after(said, after))

    def _closed_up(self, table: RowsOf, kept: Sequence[int], left: _Places) -> _Places | None:
        """Where the rows that are `left`, those of some numbers, should stand; None where others
        were said of more than what stood between an instruction that they go by and the next row.
        """
        every = self.before(told([rules for _, rules in table], self.kinds.target), table).rows
        rows = list(left.rows)
        for at, (row, behind) in enumerate(pairwise(kept)):
            gone = every[row : behind - 1]  # the first of them is of the second row
            if gone:
                if not gone[0].direct or {one.last for one in (*gone, rows[at])} != {gone[0].last}:
                    return None
                rows[at] = rows[at]._replace(direct=True)
        return left._replace(rows=rows)


def _kept(old: Sequence[unwind_rows.Rules], new: Sequence[unwind_rows.Rules]) -> list[int] | None:
    """The numbers of the rows that another entry has, too; None where it has others, or lacks the
    first or the last one."""
    found = list[int]()
    for number, rules in enumerate(old):
        if len(found) < len(new) and rules == new[len(found)]:
            found.append(number)
    if len(found) < len(new) or found[0] != 0 or found[-1] != len(old) - 1:
        return None
    return found


def _in_order(passed: Iterable[rows.Passed]) -> bool:
    """Whether ways stand in both files in one order of addresses.

    A way that ends before another one begins does so in the new file, too.
    """
    ways = sorted({(old[0], new[0], old[-1], new[-1]) for old, new in passed})
    return all(
        new <= next_new and (end >= next_old or new_end < next_new)
        for (_, new, end, new_end), (next_old, next_new, _, _) in pairwise(ways)
    )


def _behind(
    listing: Listing,
    kinds: Kinds,
    more: More,
    others: Collection[int],
    table: RowsOf,
    end: int,
) -> Counter[int]:
    """Writes, by what they write, of what the last row finds the frame or registers by; no nops."""
    at = table[-1][0]
    found_by = bases_of(table[-1][1], kinds.target)
    first, last = listing.span(at, end)
    kind = np.frombuffer(kinds.of(listing, first, last), np.uint8)
    kept = first + np.flatnonzero(kind & IDLE == 0)
    addresses, defs = listing.addresses[kept].tolist(), listing.table.defs
    places = [*zip(addresses, listing.defs.numbers(kept), strict=True)]
    places += [(at, defs(insn)) for at in addresses if at in more for insn in more[at]]
    written = ((place, defs & found_by) for place, defs in places if defs & found_by)
    return Counter(mask for place, mask in written if place not in others)


def _places(listing: Listing, kinds: Kinds, more: More, rules: Told, table: RowsOf) -> _Places:
    """Where each row of an entry stands among the instructions that rows go by."""
    said = rules.at([at for at, _ in table])
    framed = Framed(listing, kinds, table[0][0], table[-1][0], said, more)
    marks, places = framed.marks, list[_Place]()
    marked = list(marks)
    for change in said.changes:
        at = bisect_left(framed.addresses, change.address)
        own = framed.changing(change)
        before = bisect_left(marked, at)
        last = max((*marked[max(before - 1, 0) : before], *dict(own)), default=-1)
        address = framed.addresses[last] if last >= 0 else table[0][0]
        direct = last == at - 1
        places.append(_Place(before, tuple(mark for _, mark in own), address, direct))
    return _Places(list(marks.values()), places)
