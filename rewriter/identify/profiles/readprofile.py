"""/proc/profile as readprofile(8) copies it: how often the timer found the kernel where.

4-byte words in the byte order of the machine: the step in bytes (a power of two), then one count
for each step of text from _stext on; the last one also counts all that was elsewhere. Kernels of
64 bits and big-endian since 5.11 write 0 for the step, which then follows from the file's length.
(Linux, kernel/profile.c; util-linux, sys-utils/readprofile.c.)
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from rewriter.core.errors import BadInput
from rewriter.identify.profiles.samples import Gathered, Profile

NAME = "readprofile"
WORD = 4
STEPS = tuple(1 << shift for shift in range(2, 21))
"""Bytes of a step: powers of two, of one instruction or more."""

Words = npt.NDArray[np.unsignedinteger[Any]]


def claims(data: bytes) -> bool:
    """Whether the bytes may be such a copy: words, and no text."""
    return len(data) > 2 * WORD and len(data) % WORD == 0 and b"\0" in data


def read(data: bytes, label: str, gathered: Gathered) -> Profile:
    """The counts by step of text; BadInput where length, step and text do not agree."""
    start, end = (gathered.symbol(name) for name in ("_stext", "_etext"))
    if start is None or end is None or end <= start:
        raise BadInput(
            f"{label}: a readprofile profile counts from _stext to _etext, which"
            f" {gathered.image.name} does not name",
            hint="give its System.map with --symbols",
        )
    step, counts = _step(data, label, end - start)
    # The last count is of everything outside text too.
    for number in np.flatnonzero(counts[:-1]).tolist():
        at = start + number * step
        gathered.at(at, int(counts[number]), min(at + step, end))
    gathered.outside += int(counts[-1])
    return gathered.profile(NAME, "samples", label)


def _step(data: bytes, label: str, size: int) -> tuple[int, Words]:
    """The step and the counts, in the byte order in which the step fits the text's size."""
    orders = [np.dtype(f"{order}u{WORD}") for order in _orders()]
    for order in orders:
        words = np.frombuffer(data, order)
        step = int(words[0])
        if step in STEPS and _covers(words, step, size):
            return step, words[1:]
    words = np.frombuffer(data, orders[0])
    fitting = [step for step in STEPS if size // step == len(words) - 1]
    if words[0] == 0 and fitting:
        return fitting[0], min((np.frombuffer(data, o)[1:] for o in orders), key=_high)
    said = " or ".join(str(int(np.frombuffer(data, o)[0])) for o in orders)
    raise BadInput(
        f"{label}: {len(words) - 1} counts and a step of {said} do not cover {size} bytes of text",
        hint="was it taken of another build, or is it no profile of readprofile?",
    )


def _orders() -> str:
    return "<>" if sys.byteorder == "little" else "><"


def _covers(words: Words, step: int, size: int) -> bool:
    return abs(size // step - (len(words) - 1)) <= 1


def _high(counts: Words) -> int:
    """How many counts are improbably high: those of the wrong byte order."""
    return int(np.count_nonzero(counts > 0xFFFF))
