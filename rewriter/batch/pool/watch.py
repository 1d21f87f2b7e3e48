"""Who looks on while files are worked on."""

from __future__ import annotations

from typing import Protocol

from rewriter.batch.summary import Line


class Watch(Protocol):
    """Who looks on."""

    def begin(self, files: int, size: int) -> None:
        """So many files are to be worked on, with so many bytes together."""
        ...

    def done(self, line: Line, size: int) -> None:
        """One file of so many bytes is done, or was known."""
        ...

    def warn(self, text: str) -> None:
        """Something that somebody should know, and that stops nothing."""
        ...


class Unwatched:
    """Nobody looks on."""

    def begin(self, files: int, size: int) -> None:
        """Nothing."""

    def done(self, line: Line, size: int) -> None:
        """Nothing."""

    def warn(self, text: str) -> None:
        """Nothing."""
