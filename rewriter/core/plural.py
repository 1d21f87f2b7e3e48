"""Numbers of things, as reports and reasons say them."""

from __future__ import annotations

from fractions import Fraction


def counted(number: int | Fraction | str, what: str) -> str:
    """`1 edit`, `2 edits`, `1.5 edits`."""
    return f"{number} {what}" if str(number) == "1" else f"{number} {what}s"
