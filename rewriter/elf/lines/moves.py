"""Rows of a line table that follow instructions to new places."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewriter.core.code.program import Function
from rewriter.elf.lines.table import Lines, Row

Places = Sequence[tuple[int, int]]
"""(Old address, new one) of each instruction of a function, nops apart."""


@dataclass(frozen=True)
class _Group:
    """The rows at one address."""

    address: int
    rows: tuple[Row, ...]

    def at(self, address: int) -> Iterator[Row]:
        """They at another address."""
        return (row._replace(address=address) for row in self.rows)

    def again(self, address: int) -> Row:
        """What holds behind them, for an instruction that stands apart from their first."""
        return self.rows[-1]._replace(address=address, is_stmt=False, marks=())


def moved(lines: Lines, functions: Sequence[tuple[Function, Places]]) -> Lines:
    """The rows when functions, by ascending address and whole in the sequence, have new places."""
    groups = _groups(lines.rows)
    starts = [group.address for group in groups]
    found: list[Row] = []
    done = 0
    for function, places in functions:
        first, end = (bisect_left(starts, at) for at in (function.start, function.end))
        found += (row for group in groups[done:first] for row in group.rows)
        last = _function(groups, starts, range(first, end), places, found)
        behind = function.end < lines.end and starts[end : end + 1] != [function.end]
        if behind and last != end - 1:
            found.append(groups[end - 1].again(function.end))
        done = end
    found += (row for group in groups[done:] for row in group.rows)
    return Lines(lines.end, tuple(found))


def _groups(rows: Sequence[Row]) -> list[_Group]:
    found: list[_Group] = []
    for row in rows:
        if found and found[-1].address == row.address:
            found[-1] = _Group(row.address, (*found[-1].rows, row))
        else:
            found.append(_Group(row.address, (row,)))
    return found


def _function(
    groups: Sequence[_Group],
    starts: Sequence[int],
    inside: range,
    places: Places,
    found: list[Row],
) -> int:
    """Adds the rows of a function; the number of the group that holds at its end.

    Rows go before the first instruction that they are of, and so do those of whose instructions
    none is left.  An instruction that stands among others' gets a row of its own.
    """
    leads: dict[int, list[int]] = {}
    olds = sorted(old for old, _ in places)
    for number in inside:
        at = bisect_left(olds, starts[number])
        if at < len(olds):
            leads.setdefault(olds[at], []).append(number)
    holds = inside.start - 1
    for old, new in sorted(places, key=lambda pair: pair[1]):
        number = bisect_right(starts, old) - 1
        if old in leads:
            found += (row for lead in leads[old] for row in groups[lead].at(new))
        elif number != holds:
            found.append(groups[number].again(new))
        holds = number
    return holds
