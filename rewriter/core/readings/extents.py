"""The bytes of memory that a number takes: how many, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from rewriter.core.readings.machine import ByteOrder


@dataclass(frozen=True, slots=True)
class Extent:
    """So many bytes in an order; `data` is how a term writes it, `mask` all bits of the number."""

    size: int
    order: ByteOrder
    data: str = field(init=False, repr=False, compare=False)
    mask: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", f"{self.size} {self.order}")
        object.__setattr__(self, "mask", (1 << 8 * self.size) - 1)

    @staticmethod
    @cache
    def of(data: int | str) -> Extent:
        """What a term has written."""
        size, order = str(data).split()
        return extent(int(size), "little" if order == "little" else "big")

    def significance(self, byte: int) -> int:
        """How many bits of the number are below those of a byte, counted from the first one."""
        return 8 * (byte if self.order == "little" else self.size - 1 - byte)


@cache
def extent(size: int, order: ByteOrder) -> Extent:
    """One object for each."""
    return Extent(size, order)
