"""A page that was written, to be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rewriter.elf.headers import printable
from rewriter.report.grid import Grid, counted


@dataclass(frozen=True)
class Written:
    """Where a page is, its bytes, and how many edits it shows."""

    page: str
    bytes: int
    edits: int

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return asdict(self)

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """One line."""
        yield f"{printable(self.page)}: {counted(self.edits, 'edit')}, {self.bytes} bytes"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same."""
        yield from self.lines(verbosity)
