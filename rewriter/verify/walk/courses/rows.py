"""Whether unwind rows say the same along each way of control in two files.

Where blocks change places, rows do not follow the same instructions by address.  They do along each
way that was compared: the rules that hold at its instructions come in the same order, between the
same instructions that they go by.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.code.listing import Listing
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.elf.unwind.entries import Fde
from rewriter.verify.walk.frames import Framed, Mark, account
from rewriter.verify.walk.frames import Rows as RowsOf
from rewriter.verify.walk.insn_classes import Kinds

Passed = tuple[Sequence[int], Sequence[int]]
"""The addresses of a way in the old and in the new file, without jumps that are no part of it."""


@dataclass(frozen=True)
class _Side:
    """One file's rows, and what its instructions are to them."""

    starts: Sequence[int]
    rows: RowsOf
    marks: Mapping[int, Mark | None]

    @classmethod
    def of(cls, frame: Fde, listing: Listing, kinds: Kinds) -> _Side:
        """Those of an entry."""
        rows = unwind_rows.rows(frame)
        framed = Framed(listing, kinds, frame.start, frame.end, account(rows, kinds.target))
        marks = {address: framed.marks.get(at) for at, address in enumerate(framed.addresses)}
        return cls([address for address, _ in rows], rows, marks)

    def rules(self, address: int) -> object:
        """What holds at an address."""
        return self.rows[bisect_right(self.starts, address) - 1][1]

    def events(self, addresses: Iterable[int]) -> Iterator[object]:
        """Along a way, nops apart: rules where they are others than before, and what they go by.

        Of rules with whether they come right behind an instruction that they go by.
        """
        before, is_direct = None, True
        for address in addresses:
            if address not in self.marks:
                continue
            rules, mark = self.rules(address), self.marks[address]
            if rules != before:
                yield is_direct, rules
            if mark is not None:
                yield mark
            before, is_direct = rules, mark is not None


def agree(
    old: tuple[Fde, Listing],
    new: tuple[Fde, Listing],
    kinds: Kinds,
    passed: Iterable[Passed],
    jumps: Iterable[tuple[int, int]],
) -> bool:
    """Whether the rows of two files' entries say the same along all ways that were `passed`.

    At each of the new file's `jumps` that are no part of them holds what does where it leads.
    """
    before, after = _Side.of(*old, kinds), _Side.of(*new, kinds)
    if any(after.rules(at) != after.rules(to) for at, to in jumps):
        return False
    return all(list(before.events(a)) == list(after.events(b)) for a, b in passed)
