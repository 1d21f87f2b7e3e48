"""A page that was written, to be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.report.grid import Grid


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
        edits, size = counted(self.edits, "edit"), counted(self.bytes, "byte")
        yield f"{printable(self.page)}: {edits}, {size}"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same."""
        yield from self.lines(verbosity)
