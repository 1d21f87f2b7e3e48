"""The tables that the unwinder reads, as their search table leads to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.elf.dwarf import Mapped
from rewriter.elf.unwind.entries import Fde, frames_address
from rewriter.elf.unwind.lsda import area


def tables(image: Mapped, frames: Sequence[Fde]) -> Iterator[range]:
    """Where `.eh_frame` stands and what it says of landing pads; BadInput where it is damaged."""
    first = frames_address(image)
    if not frames or not first:
        return
    bias = first - image.offset_of(first)
    yield range(first, bias + max(frame.instructions[1] for frame in frames))
    yield from (area(image, frame) for frame in frames if frame.lsda is not None)
