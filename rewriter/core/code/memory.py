"""What is asked of a file's memory, as it is when the file is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray


class Memory(Protocol):
    """What a target asks of an image: what is loaded where."""

    def read(self, address: int, size: int) -> bytes:
        """Bytes as loaded, before relocation."""
        ...

    def is_mapped(self, address: int) -> bool:
        """Whether anything is loaded there."""
        ...

    def executable_ranges(self) -> Sequence[tuple[int, int]]:
        """The [start, end) of each range of text."""
        ...

    def words(self, start: int, end: int, size: int) -> NDArray[Any]:
        """A range as words of `size` bytes."""
        ...
