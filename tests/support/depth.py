"""How much is drawn: a share in `make test`, all in `make test-deep` (RETUNE_TESTS=deep)."""

from __future__ import annotations

import os

DEEP = os.environ.get("RETUNE_TESTS") == "deep"


def depth(few: int, many: int) -> int:
    """`few`, or `many` where somebody has the time."""
    return many if DEEP else few
