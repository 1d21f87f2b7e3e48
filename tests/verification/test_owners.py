"""Whose bytes changed, against a look at each byte."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.addresses import sides
from rewriter.core.errors import BadInput
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image, load
from rewriter.verify.owners import changed_offsets, owners

IMAGE = load(inputs.find("alpha-sample"))
LOADED = [s for s in IMAGE.segments if s.p_type == PT_LOAD]
PLACES = st.sampled_from(LOADED).flatmap(
    lambda s: st.integers(max(0, s.p_vaddr - 9), s.p_vaddr + s.p_filesz + 9)
)
RANGES = st.lists(st.tuples(PLACES, st.integers(0, 40)), max_size=9)


def near(places: list[tuple[int, int]]) -> list[int]:
    """File offsets in, before and behind some ranges."""
    found = {0, len(IMAGE.data) - 1}
    for start, size in places:
        for segment in LOADED:
            first = segment.p_offset + start - segment.p_vaddr
            found.update(range(first - 2, first + size + 2))
    return sorted(at for at in found if 0 <= at < len(IMAGE.data))


def address(image: Image, offset: int) -> int | None:
    """Where a byte is loaded, if it is."""
    try:
        return image.address_of(offset)
    except BadInput:
        return None


@settings(max_examples=300)
@given(RANGES, st.data())
def test_a_byte_belongs_to_the_ranges_that_hold_its_address(
    places: list[tuple[int, int]], data: st.DataObject
) -> None:
    offsets = near(places)
    kept = data.draw(st.sets(st.sampled_from(offsets)))
    changed = np.array(sorted(kept), dtype=np.int64)
    ranges = [(start, start + size) for start, size in places]
    touched, elsewhere = owners(IMAGE, sides(ranges), changed)
    holding = {
        offset: [n for n, (start, end) in enumerate(ranges) if at is not None and start <= at < end]
        for offset, at in ((offset, address(IMAGE, offset)) for offset in kept)
    }
    assert touched == sorted({n for numbers in holding.values() for n in numbers})
    assert elsewhere.tolist() == sorted(o for o, numbers in holding.items() if not numbers)


def test_changed_offsets() -> None:
    assert changed_offsets(b"abcd", b"abXY").tolist() == [2, 3]
