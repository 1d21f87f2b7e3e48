"""Numbers of things, as reports and reasons say them."""

from __future__ import annotations

from fractions import Fraction


def counted(number: int | Fraction | str, what: str, many: str = "") -> str:
    """`1 edit`, `2 edits`, `1.5 edits`; `many` is what several are called, if not with an s."""
    return f"{number} {what}" if str(number) == "1" else f"{number} {many or what + 's'}"
