"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


def quiet(stage: str, done: int, total: int) -> None:
    """Progress that nobody wants to see."""
