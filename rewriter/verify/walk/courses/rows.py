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
from rewriter.verify.walk.detours.choices import More
from rewriter.verify.walk.frames import Framed, account
from rewriter.verify.walk.frames import Rows as RowsOf
from rewriter.verify.walk.insn_classes import Kinds

Passed = tuple[Sequence[int], Sequence[int]]
"""The addresses of a way in the old and in the new file, without jumps that are no part of it."""


@dataclass(frozen=True)
class _Side:
    """One file's rows, and its instructions, by their numbers in what these go by.

    `more` has what some instructions are read as besides, which a way then passes at their address.
    """

    starts: Sequence[int]
    rows: RowsOf
    framed: Framed
    numbers: Mapping[int, int]
    more: More

    @classmethod
    def of(cls, frame: Fde, listing: Listing, kinds: Kinds, more: More) -> _Side:
        """Those of an entry."""
        rows = unwind_rows.rows(frame)
        said = account(rows, kinds.target)
        framed = Framed(listing, kinds, frame.start, frame.end, said, more)
        numbers = {address: at for at, address in reversed([*enumerate(framed.addresses)])}
        return cls([address for address, _ in rows], rows, framed, numbers, more)

    def rules(self, address: int) -> unwind_rows.Rules:
        """What holds at an address."""
        return self.rows[bisect_right(self.starts, address) - 1][1]

    def events(self, addresses: Iterable[int]) -> Iterator[object]:
        """Along a way, nops apart: rules where they are others than before, and what they go by.

        Of rules with what they alone go by, and whether they come right behind an instruction that
        they go by.
        """
        before, is_direct, passed, first = None, True, list[int](), 0
        for address in addresses:
            at = self.numbers.get(address)
            if at is None:
                continue
            if passed and address in self.more and self.framed.addresses[passed[-1]] == address:
                at = passed[-1] + 1
            rules, mark = self.rules(address), self.framed.marks.get(at)
            if rules != before:
                own = self.framed.between(before or rules, rules, passed, first)
                is_direct = is_direct or any(at == passed[-1] for at, _ in own)
                yield is_direct, rules, [what for _, what in own]
                first = len(passed)
            if mark is not None:
                yield mark
            before, is_direct = rules, mark is not None
            passed.append(at)


def agree(
    old: tuple[Fde, Listing],
    new: tuple[Fde, Listing],
    kinds: Kinds,
    passed: Iterable[Passed],
    jumps: Iterable[tuple[int, int]],
    more: More,
) -> bool:
    """Whether the rows of two files' entries say the same along all ways that were `passed`.

    At each of the new file's `jumps` that are no part of them holds what does where it leads;
    `more` has what some of its instructions are read as besides.
    """
    before, after = _Side.of(*old, kinds, {}), _Side.of(*new, kinds, more)
    if any(after.rules(at) != after.rules(to) for at, to in jumps):
        return False
    return all(list(before.events(a)) == list(after.events(b)) for a, b in passed)
