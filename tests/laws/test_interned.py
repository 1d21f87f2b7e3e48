"""Masks that are kept once each say the same as an array of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rewriter.core.isa import interned
from rewriter.core.isa.interned import Interned, Interner
from rewriter.core.isa.registers import from_columns

COLUMNS, COUNT = 3, 500


def _masks(seed: int, count: int = COUNT) -> NDArray[np.uint64]:
    """Masks of which many are the same, and some are empty."""
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 1 << 63, (20, COLUMNS), dtype=np.uint64)
    kinds[0] = 0
    kinds[1, 1:] = 0
    return kinds[random.integers(0, len(kinds), count)]


def _interned(masks: NDArray[np.uint64], part: int) -> Interned:
    made = Interner(COLUMNS)
    for at in range(0, len(masks), part):
        made.add(masks[at : at + part])
    return made.all()


@pytest.mark.parametrize("part", [1, 7, COUNT])
def test_any_part_is_that_of_the_array(part: int) -> None:
    masks = _masks(1)
    found = _interned(masks, part)
    assert len(found) == COUNT and found.columns == COLUMNS and len(found.distinct) <= 21
    at = np.array([3, 3, 499, 0])
    for key in (slice(None), slice(5, 90), at, masks[:, 0] > 5, 17):
        assert np.array_equal(found[key], masks[key])
        assert np.array_equal(found[key, 1], masks[key, 1])
    assert np.array_equal(found.some(), masks.any(axis=1))
    assert found.numbers(slice(2, 9)) == from_columns(found[2:9]) == from_columns(masks[2:9])


def test_others_take_their_places() -> None:
    masks, others, at = _masks(1), _masks(2, 40), np.arange(100, 140)
    found = _interned(masks, COUNT).with_others(at, _interned(others, 9))
    masks[at] = others
    assert np.array_equal(found[:], masks) and np.array_equal(found.some(), masks.any(axis=1))


@pytest.mark.parametrize("mask", [0, 1, 1 << 130 | 1 << 64])
def test_one_mask_takes_places(mask: int) -> None:
    masks = _masks(3)
    before = _interned(masks, COUNT)
    found = before.with_mask(slice(10, 20), mask)
    assert from_columns(found[10:20]) == [mask] * 10
    assert np.array_equal(found[20:], masks[20:]) and np.array_equal(before[:], masks)
    assert found.some()[10:20].all() == bool(mask)


def test_masks_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interned, "_FACTOR", 0)
    masks = _masks(4)
    assert np.array_equal(_interned(masks, 100)[:], masks)


def test_nothing_is_no_mask() -> None:
    found = Interner(COLUMNS).all()
    assert len(found) == 0 and not found[:].size and not found.some().size
