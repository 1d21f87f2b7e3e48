"""Whether the line table of a new file names the lines that the original's does.

The original says which line each instruction is of.  Where a walk saw an instruction in both files
it must be of the same line; one that another took the place of must be of a line of the code that
it was shown equal to.  All rows outside changed functions, and all tables of files and folders,
must be as they were.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput
from rewriter.elf.image import Image
from rewriter.elf.lines.file import LineTable, Part, tables_of, without_grown
from rewriter.elf.lines.table import NAME, Lines, Row, Unit

Match = tuple[tuple[int, ...], int]
"""Addresses in the original, one of which is that of what stands at an address now."""


@dataclass(frozen=True)
class LineCheck:
    """The lines of two files; `strange` says why they are not understood, if they are not.

    `grown` says that those of the new one stand behind all else.
    """

    old: LineTable | None
    new: LineTable | None
    strange: str = ""
    grown: bool = False

    @classmethod
    def of(cls, old: Image, data: bytes) -> LineCheck:
        """Those of a file and of the bytes of a new one."""
        grown = without_grown(data, old) is not data
        try:
            return cls(*tables_of(old, data), "", grown)
        except BadInput as strange:
            return cls(None, None, str(strange), grown)

    def describes(self, function: Function) -> bool:
        """Whether anything may be said of a function."""
        if self.strange:
            return True
        return self.old is not None and bool(self.old.touching(function.start, function.end))

    def problem(self, function: Function, matches: Iterable[Match]) -> str:
        """What is wrong with the lines of a function's instructions, or nothing."""
        if self.strange:
            moved = any(new not in olds for olds, new in matches)
            return f"its lines cannot be followed: {self.strange}" if moved else ""
        if self.old is None or self.new is None:
            return ""
        before, after = (
            table.touching(function.start, function.end) for table in (self.old, self.new)
        )
        for olds, new in matches:
            now = _lines(after, new)
            if all(now != _lines(before, old) for old in olds):
                return f"the instruction at {new:#x} is of another line"
        return ""

    def accounted(self) -> Iterator[range]:
        """The file offsets of bytes that are compared here."""
        if self.old is not None and self.new is not None and not self.old.unwritten:
            yield range(self.old.section.sh_offset, self.old.section.file_end)
            yield from (range(at, at + 4) for at, _ in self.old.named)

    def elsewhere(self, functions: Sequence[Function]) -> Iterator[str]:
        """What is wrong outside of changed functions."""
        old, new = self.old, self.new
        if self.strange and self.grown:
            yield f"{NAME} moved, and cannot be read: {self.strange}"
        if old is None and new is None:
            return
        if old is None or new is None or len(old.units) != len(new.units):
            yield f"{NAME} has other units"
            return
        if old.unwritten or new.unwritten:
            if old.content != new.content:
                yield f"{NAME} changed, and {old.unwritten or new.unwritten}"
            return
        starts = [unit.offset for unit in new.units]
        numbers = {unit.offset: number for number, unit in enumerate(old.units)}
        follow = [(at, starts[numbers[offset]]) for at, offset in old.named]
        if follow != list(new.named):
            yield f"debug information names other units of {NAME}"
        ranges = sorted((function.start, function.end) for function in functions)
        for before, after in zip(old.units, new.units, strict=True):
            if not _same(old, before, new, after, ranges):
                yield f"lines outside changed functions differ, in {NAME}+{before.offset:#x}"


def _same(
    old: LineTable, before: Unit, new: LineTable, after: Unit, ranges: Sequence[tuple[int, int]]
) -> bool:
    if _head(old, before) != _head(new, after) or len(before.parts) != len(after.parts):
        return False
    return all(
        one.end == other.end
        and list(_outside(one.rows, one, ranges)) == list(_outside(other.rows, one, ranges))
        for one, other in zip(before.parts, after.parts, strict=True)
    )


def _head(table: LineTable, unit: Unit) -> bytes:
    """A unit without its length and its opcodes."""
    return table.content[unit.offset + 4 : unit.program]


def _lines(parts: Sequence[tuple[Part, Lines]], address: int) -> set[tuple[Part, int, int]]:
    """File and line of an instruction, in each sequence that has it."""
    found = ((part, lines.at(address)) for part, lines in parts)
    return {(part, row.file, row.line) for part, row in found if row is not None}


def _outside(rows: Sequence[Row], old: Lines, ranges: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """Rows outside of ranges but for those that only say again, at an end, what holds there."""
    ends, starts = {end for _, end in ranges}, [start for start, _ in ranges]
    known = set(old.addresses)
    for row in rows:
        at = bisect_left(starts, row.address + 1) - 1
        if at >= 0 and row.address < ranges[at][1]:
            continue
        if row.address in ends and row.address not in known:
            held = old.at(row.address)
            if (
                held is not None
                and held._replace(address=row.address, is_stmt=False, marks=()) == row
            ):
                continue
        yield row


def matches(old: Sequence[tuple[int, int]], new: Sequence[tuple[int, int]]) -> Iterator[Match]:
    """Instructions of two segments that were shown equal: pairs of word and address.

    The same word is the same instruction, wherever it stands.  Another, or one of which there are
    more than there were, may be any of them.
    """
    places: dict[int, list[int]] = {}
    for word, address in old:
        places.setdefault(word, []).append(address)
    count = Counter(word for word, _ in new)
    every = tuple(address for _, address in old)
    for word, address in new:
        known = places.get(word, [])
        yield tuple(known) if 0 < count[word] <= len(known) else every, address
