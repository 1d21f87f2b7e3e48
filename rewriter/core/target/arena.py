"""Where trials and models put code and data that lie nowhere by themselves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arena:
    """Addresses that a target's registers can hold, far enough apart for what is put there.

    `code` is for straight code on a model, `data` for what it accesses; `old` for the lowest
    segment of a file whose routines are timed, `new` for a tuned routine beside it; `image` for a
    file of which a trial may choose the place, away from the data of cases; `outside` for data of
    other files that it uses; `step` is how far apart trials look for room.
    """

    code: int
    data: int
    old: int
    new: int
    image: int
    outside: int
    step: int


WIDE = Arena(
    code=1 << 16,
    data=1 << 32,
    old=0x1_0000_0000,
    new=0x1_8000_0000,
    image=0x3_0000_0000,
    outside=0x2_8000_0000,
    step=1 << 32,
)
"""For registers of 64 bits: above 4 GiB, so that an address cut to 32 bits shows."""

NARROW = Arena(
    code=1 << 16,
    data=1 << 29,
    old=0x4000_0000,
    new=0x6000_0000,
    image=0x7000_0000,
    outside=0xF000_0000,
    step=1 << 27,
)
"""For registers of 32 bits."""
