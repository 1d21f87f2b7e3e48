"""Grids drawn by Rich, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rewriter.report.grid import Grid

if TYPE_CHECKING:
    from rich.table import Table


def render(parts: Iterable[Grid | str]) -> None:
    """Print tables and the lines between them on the standard output."""
    # Rich takes a tenth of a second to import: nothing that goes into a pipe shall pay for it.
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    for part in parts:
        if isinstance(part, Grid):
            console.print(table(part))
        else:
            console.print(part, markup=False)


def table(grid: Grid) -> Table:
    """Return the Rich table of a grid; cells are text, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(grid.title), box=box.SIMPLE_HEAD, title_justify="left")
    for column in grid.columns:
        right = column in grid.right
        # An id is there to be copied: never broken over two lines.
        drawn.add_column(
            column,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=column == "id",
        )
    for row in grid.rows:
        drawn.add_row(*(Text(cell, style=_style(cell)) for cell in row))
    return drawn


def _style(cell: str) -> str:
    """The marks of a listing in the colours of a diff."""
    return {"-": "red", "+": "green"}.get(cell, "")
