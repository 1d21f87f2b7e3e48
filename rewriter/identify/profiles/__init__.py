"""Profiles that others took: which format a file is in, and which functions it says are hot.

bolt         BOLT's pre-aggregated profiles (perf2bolt --pa): lines of a letter, addresses, counts
directions   Which way conditional moves and branches went: what `retune profile` counts
opreport     `opreport -l`: samples by symbol
perf         `perf script`: one sample a line, or a line and its call chain below
readprofile  /proc/profile as readprofile(8) copies it: how often the timer found the kernel where
samples      What every profile becomes: places in the image, each with a weight
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput
from rewriter.elf.image import Image
from rewriter.identify.profiles import bolt, directions, opreport, perf, readprofile
from rewriter.identify.profiles.directions import BRANCH, MOVE
from rewriter.identify.profiles.samples import (
    NONE,
    Counts,
    Direction,
    Gathered,
    Heat,
    Place,
    Profile,
    shares,
)

__all__ = [
    "BRANCH",
    "MOVE",
    "NONE",
    "Counts",
    "Direction",
    "Heat",
    "Place",
    "Profile",
    "heat",
    "known",
    "of_kind",
    "parse",
]

KNOWN = Path(__file__).with_name("known")
"""Profiles of directions that come with retune, by the first digits of their text's hash."""

TEXTS: tuple[tuple[Callable[[str], bool], Callable[[str, str, Gathered], Profile]], ...] = (
    (directions.claims, directions.read),
    (bolt.claims, bolt.read),
    (opreport.claims, opreport.read),
    (perf.claims, perf.read),
)
"""In this order: a process of perf script may have any name."""


def parse(data: bytes, label: str, image: Image) -> Profile:
    """The profile that the bytes of a file are, of an image; BadInput in one line, by number."""
    gathered = Gathered(image)
    if not data:
        raise BadInput(f"{label}: is empty")
    if readprofile.claims(data):
        return readprofile.read(data, label, gathered)
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    for claims, read in TEXTS:
        if claims(text):
            return read(text, label, gathered)
    raise BadInput(
        f"{label}: not a profile that retune knows",
        hint="readprofile's binary, `perf script`, `opreport -l`, BOLT pre-aggregated,"
        " or of `retune profile`",
    )


def of_kind(counts: Counts, wanted: str) -> dict[int, Direction]:
    """The counts of conditional moves or of branches, by address."""
    return {at: one for (kind, at), one in counts.items() if kind == wanted}


def known(image: Image) -> Counts:
    """Which way the conditions of an image went, if retune has a profile of its text."""
    text = directions.text_hash(image)
    path = KNOWN / f"{text[:16]}.txt"
    if not path.is_file():
        return NONE
    found = directions.parse(path.read_text("ascii"), path.name)
    return found.counts if found.text == text else NONE


def heat(profile: Profile, functions: Iterable[Function]) -> Heat:
    """Each function's share of the profile; a place that several share is divided by bytes."""
    ordered = sorted(functions)
    starts, ends = [f.start for f in ordered], [f.end for f in ordered]
    weights: dict[str, float] = {}
    for number, weight in shares(profile.places, starts, ends):
        name = ordered[number].name
        weights[name] = weights.get(name, 0.0) + weight
    total = sum(place.weight for place in profile.places) + profile.outside
    hottest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    share = {name: weight / total for name, weight in hottest if total}
    return Heat(profile.format, profile.unit, total, sum(share.values()), share)
