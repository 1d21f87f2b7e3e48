"""Values of which nothing is known, for readings that ask only what is read and written."""

from __future__ import annotations

from typing import Any


class Unknown:
    """Every operation gives another such value."""

    def _other(self, *_: Any) -> Unknown:
        return UNKNOWN

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _other
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = _other


UNKNOWN, NEXT = Unknown(), Unknown()
"""Any value, and the address behind the current instruction."""
