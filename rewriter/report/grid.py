"""A table as plain data, so that no report knows how tables are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rewriter.elf.headers import printable


@dataclass(frozen=True)
class Grid:
    """A table: cells are text; `right` names the columns of numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()


class Reported(Protocol):
    """What can be shown: see the package's docstring."""

    def as_json(self) -> dict[str, Any]:
        """The report for programs; the same input gives the same document."""
        ...

    def lines(self, verbosity: int = 0) -> Iterable[str]:
        """The report as plain lines."""
        ...

    def grids(self, verbosity: int = 0) -> Iterable[Grid | str]:
        """The report as tables and, between them, lines."""
        ...


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts, the largest first, then by name: an order that does not depend on the run."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def joined(counts: Mapping[str, int]) -> str:
    """`12 PROVED, 3 TESTED`."""
    return ", ".join(f"{number} {printable(name)}" for name, number in in_order(counts).items())
