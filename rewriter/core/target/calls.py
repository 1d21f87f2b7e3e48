"""Calls and returns of bundled code as its calling standard has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from rewriter.core.target.bundling import Routine


@dataclass(frozen=True, slots=True)
class CallOrReturn:
    """A call or a return through the standard linkage.

    `reads` is the mask of what the standard lets be read beyond it.  Beside that a `callee`, where
    a call leads to code of this file, may read what it likes, and so may the callers of a function
    behind its return; None where a call leads elsewhere, or goes through a pointer.
    """

    reads: int
    is_return: bool
    callee: int | None = None


class Calls(Protocol):
    """The calls and returns of a file whose code keeps to the standard where others see it."""

    @property
    def not_passed(self) -> int:
        """Registers in which the standard passes nothing to what is called."""
        ...

    @property
    def not_returned(self) -> int:
        """Registers that by the standard no caller of another file reads behind a call."""
        ...

    @property
    def entered(self) -> Set[int]:
        """Starts of functions that are entered by more than calls: their returns pass it all."""
        ...

    @property
    def direct(self) -> Sequence[tuple[int, int]]:
        """All direct calls: the address of the slot, and where it leads."""
        ...

    def of(self, routine: Routine) -> Mapping[int, CallOrReturn]:
        """Those of a function by the address of their slot; others may read everything."""
        ...
