"""What of IA-64 code depends on where it was put and what it was linked with.

A linker fills the targets of branches, and the distances from gp of what `addl` makes.  Text is
taken as words of 64 bits, two to a bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.operands import Kind, Operand, Words
from targets.ia64.image.text import GP
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE, SLOT_BITS
from targets.ia64.isa.rows import TABLE

_HEAD = 5  # bits of the template, in front of the slots
_SLOT = np.uint64((1 << SLOT_BITS) - 1)


@dataclass(frozen=True, slots=True)
class Half:
    """The word of a text as signatures take it, in bytes: half a bundle."""

    size: int = BUNDLE // 2


@dataclass(frozen=True, slots=True)
class Spelling:
    """The words that signatures are made of, and what is left of them."""

    table: Half = Half()

    def coarse(self, words: Words) -> Words:
        """Words, the first of which is a bundle's first half, without what place or link fill."""
        halves = words[: len(words) // 2 * 2]
        kept = _kept(bundles.decode_text(halves.astype("<u8").tobytes(), 0))
        low = np.uint64((1 << _HEAD) - 1) | kept[0] << np.uint64(_HEAD)
        low |= kept[1] << np.uint64(_HEAD + SLOT_BITS)
        high = kept[1] >> np.uint64(64 - _HEAD - SLOT_BITS)
        high |= kept[2] << np.uint64(2 * SLOT_BITS + _HEAD - 64)
        out = words.astype(np.uint64)
        out[0 : len(halves) : 2] &= low
        out[1 : len(halves) : 2] &= high
        return out

    normal = coarse


def _kept(slots: bundles.Slots) -> NDArray[np.uint64]:
    """For each slot of a bundle the bits that are kept, bundle by bundle."""
    rows = TABLE.classify(slots.words)
    kept = np.full(len(slots.words), _SLOT, dtype=np.uint64)
    for number, mask in _filled():
        kept[rows == number] &= ~np.uint64(mask)
    by_gp = rows == _ADDL
    by_gp &= TABLE.extract(slots.words, _BASE) == GP
    kept[by_gp] &= ~np.uint64(_bits(_DISTANCE))
    return kept.reshape(-1, SLOTS).T


def _filled() -> Iterator[tuple[int, int]]:
    """Rows with a target, and the bits of it."""
    for number, op in enumerate(TABLE.rows):
        for operand in op.format.operands:
            if operand.kind is Kind.TARGET:
                yield number, _bits(operand)


def _bits(field: Operand) -> int:
    """The bits of a slot that a field has."""
    return field.mask & int(_SLOT)


def _operand(name: str) -> Operand:
    """An operand of `addl`."""
    return next(o for o in TABLE.find("addl").format.operands if o.name == name)


_ADDL = next(n for n, op in enumerate(TABLE.rows) if op.name == "addl")
_BASE, _DISTANCE = _operand("r3"), _operand("imm22")
