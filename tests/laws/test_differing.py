"""What is found in parts is what is found at once: runs that meet the ends of parts among it."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from rewriter.core import differing
from rewriter.elf.emit import apply, difference


@pytest.mark.parametrize("seed", range(40))
def test_differences_are_found_across_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a byte by byte comparison, in parts of 64 bytes."""
    monkeypatch.setattr(differing, "_AT_ONCE", 64)
    draw = random.Random(seed)
    size = draw.choice((0, 1, 63, 64, 65, 128, draw.randrange(300)))
    old, new = bytes(size), bytearray(size)
    for _ in range(draw.randrange(6)):
        start = draw.randrange(size + 1)
        end = min(size, start + draw.randrange(90))
        new[start:end] = b"\1" * (end - start)
    changed = [at for at in range(size) if new[at]]
    assert differing.offsets(old, bytes(new)).tolist() == changed
    whole = size - size % 4
    units = sorted({at - at % 4 for at in changed if at < whole})
    assert differing.offsets(old, bytes(new), 0, whole, 4).tolist() == units
    patches = difference(old, bytes(new))
    assert [at for one in patches for at in range(one.offset, one.end)] == changed
    assert all(one.end < after.offset for one, after in pairwise(patches))
    assert apply(old, patches) == new
