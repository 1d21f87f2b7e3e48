"""Restartable sequences: code that the kernel aborts where it was interrupted in its middle.

Linux (include/uapi/linux/rseq.h) is told of one by a descriptor while it runs: version and flags,
then where it starts, how long it is, and where control goes instead of on, behind a signature.
Whoever writes such code in assembly keeps the descriptors in `__rseq_cs`, or their addresses in
`__rseq_cs_ptr_array`, for debuggers (librseq, tcmalloc).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.core.errors import BadInput
from rewriter.elf.image import Image

DESCRIPTORS, POINTERS = "__rseq_cs", "__rseq_cs_ptr_array"
_SIZE, _FIELDS, _FIELD = 32, 8, 8
_SIGNATURE = 4  # bytes in front of the place where control goes on


@dataclass(frozen=True, slots=True)
class Sequence:
    """The code from `start` to before `end`, and where control goes on when it was interrupted."""

    start: int
    end: int
    abort: int

    @property
    def ranges(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """All that stays as it is: the code, and the signature with the instruction behind it."""
        return (self.start, self.end), (self.abort - _SIGNATURE, self.abort + 1)


def sequences(image: Image, words: Mapping[int, int]) -> tuple[Sequence, ...]:
    """A file's sequences, where the loader makes of words of data what `words` has.

    BadInput for a descriptor of what is not in the file's code.
    """
    own, named = image.table(DESCRIPTORS), image.table(POINTERS)
    places = set(range(own.start, own.stop - _SIZE + 1, _SIZE))
    pointers = range(named.start, named.stop - _FIELD + 1, _FIELD)
    places |= {_field(image, words, place) for place in pointers} - {0}
    return tuple(filter(None, (_sequence(image, words, place) for place in sorted(places))))


def _sequence(image: Image, words: Mapping[int, int], place: int) -> Sequence | None:
    """What a descriptor says; nothing where it is empty."""
    first = place + _FIELDS
    fields = range(first, first + 3 * _FIELD, _FIELD)
    start, length, abort = (_field(image, words, field) for field in fields)
    if not (start or length or abort):
        return None
    if not all(
        _is_code(image, *bounds) for bounds in Sequence(start, start + length, abort).ranges
    ):
        raise BadInput(f"{image.name}: the sequence described at {place:#x} is not in its code")
    return Sequence(start, start + length, abort)


def _is_code(image: Image, start: int, end: int) -> bool:
    return any(low <= start and end <= high for low, high in image.executable_ranges())


def _field(image: Image, words: Mapping[int, int], place: int) -> int:
    """A field of 64 bits; an address of fewer bits is in its low part."""
    low = place + (_FIELD - image.bits // 8 if image.byteorder == "big" else 0)
    known = words.get(low)
    return int.from_bytes(image.read(place, _FIELD), image.byteorder) if known is None else known
