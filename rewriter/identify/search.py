"""Finds the signatures of a database in text, at any position, in one pass over its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.operands import Words
from rewriter.core.target.substitution import Spelled
from rewriter.elf.image import Image
from rewriter.identify.signatures import LONGEST_START, Database, Signature, digest, starts

Range = tuple[int, Words]
"""The address of a stretch of text, and its words."""


@dataclass(frozen=True, slots=True)
class Match:
    """A routine's full length was found; `unique` when it is at no other place of the image."""

    address: int
    signature: Signature
    unique: bool


def search(ranges: Sequence[Range], target: Spelled, database: Database) -> tuple[Match, ...]:
    """All full-length matches, by address, then by routine."""
    size = target.table.size
    index: dict[int, dict[int, list[Signature]]] = {}
    for signature in database.signatures:
        length = min(signature.words, LONGEST_START)
        index.setdefault(length, {}).setdefault(signature.start, []).append(signature)
    found = [
        (start + at * size, signature)
        for start, words in ranges
        for at, signature in _in_range(words, target, index)
    ]
    places = Counter((signature.routine, signature.digest) for _, signature in found)
    matches = (Match(at, s, places[s.routine, s.digest] == 1) for at, s in found)
    return tuple(
        sorted(matches, key=lambda m: (m.address, m.signature.routine, -m.signature.words))
    )


def text_of(image: Image, target: Spelled) -> list[Range]:
    """The text of an image as words; what is left at the end of a range is dropped."""
    size = target.table.size
    return [
        (start, image.words(start, end - (end - start) % size, size).astype(f"u{size}"))
        for start, end in image.executable_ranges()
    ]


def _in_range(
    words: Words, target: Spelled, index: dict[int, dict[int, list[Signature]]]
) -> Iterator[tuple[int, Signature]]:
    digests: dict[tuple[int, int], str] = {}
    for length, hashes in starts(target.coarse(words)):
        known = index.get(length)
        for at in _hits(hashes, known).tolist() if known else ():
            assert known is not None
            for signature in known[int(hashes[at])]:
                key = at, signature.words
                if at + signature.words > len(words):
                    continue
                if key not in digests:
                    digests[key] = digest(target.normal(words[at : at + signature.words]))
                if digests[key] == signature.digest:
                    yield at, signature


def _hits(hashes: NDArray[np.uint64], known: dict[int, list[Signature]]) -> NDArray[np.int64]:
    """Positions whose hash is known; a table of the top bits goes over all of them."""
    keys = np.array(sorted(known), dtype=np.uint64)
    table = np.zeros(1 << 16, dtype=np.bool_)
    table[keys >> np.uint64(48)] = True
    likely = np.flatnonzero(table[hashes >> np.uint64(48)])
    return likely[np.isin(hashes[likely], keys)]
