"""The code of a file before and after, as rows of one instruction each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rewriter.core.code.program import Function, Refusal


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction.

    `key` is the same for the same instruction in another place; `slot` is where it stands in what
    is fetched together, if it has a name.  With a model: the `pipe` or port, the cycle of its issue
    from the stretch's first, how many cycles it `waited` and for what.  Without: `cycle` is -1.
    """

    address: int
    key: Hashable
    text: str
    slot: str = ""
    pipe: str = ""
    cycle: int = -1
    waited: int = 0
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Straight code, of so many modelled cycles; -1 where it was not timed.

    `lost` are cycles by what they went to, where that is no start or end of a pipeline.
    """

    rows: tuple[Row, ...]
    cycles: int = -1
    lost: Mapping[str, int] = field(default_factory=dict)


class Text(Protocol):
    """Both files."""

    block: int
    """Bytes that are fetched together."""

    functions: Sequence[Function]
    instructions: int

    def refusals(self) -> Sequence[Refusal]:
        """The functions that are left alone, with the reasons."""
        ...

    def before(self, start: int, end: int, timed: bool) -> Sequence[Stretch]:
        """The code of a range as it was."""
        ...

    def after(self, start: int, end: int, timed: bool) -> Sequence[Stretch]:
        """The code of a range as it is."""
        ...
