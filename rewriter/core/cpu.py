"""A CPU as data."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """One number of a CPU description, with where it comes from."""

    value: int
    source: str


@dataclass(frozen=True)
class Cpu:
    """One CPU of a target.

    `features` are the names that rows of the table may need; `fetch_block` is the number of bytes
    that are fetched at once, aligned.
    """

    name: str
    description: str
    features: frozenset[str]
    fetch_block: Figure
    figures: dict[str, Figure] = field(default_factory=dict)
