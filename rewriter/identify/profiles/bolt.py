"""BOLT's pre-aggregated profiles (perf2bolt --pa): lines of a letter, addresses, counts.

    E event                                        what the lines below count
    S address count                                samples at an address
    B from to count mispredicted                   branches
    F, f, r start end count                        runs from an address up to a branch
    T, R branch start end count [mispredicted]     a branch and the run behind it

Addresses are hexadecimal, `[build id:]address`, X for a file that is not known. -1 in place of the
end is a branch whose run is not known, of -1, -2 and -3 as branch there is only the run. (LLVM,
bolt/docs/profiles.md; bolt/include/bolt/Profile/DataAggregator.h.)
"""

from __future__ import annotations

import re

from rewriter.elf.headers import ET_DYN, PT_LOAD
from rewriter.elf.image import Image
from rewriter.identify.profiles.samples import Gathered, Profile, bad_line, numbered

NAME = "BOLT"
FIRST = re.compile(r"(?:E \S|[SB] \S+ \S|[TRFfr] \S+ \S+ \S)")
ADDRESS = re.compile(r"(?:([0-9a-fA-F]+|X):)?(-[123]|[0-9a-fA-F]{1,16})")
COUNT = re.compile(r"[0-9]{1,18}")
INSTRUCTION = 4
"""Bytes of the branch that ends a run: what the targets have, but for the bundles of IA-64."""
UNKNOWN = (1 << 64) - 16
"""Addresses from here on are the markers -1, -2 and -3."""
FIELDS = {"S": (1, 1), "B": (2, 2), "F": (2, 1), "f": (2, 1), "r": (2, 1), "T": (3, 1), "R": (3, 1)}
"""How many addresses and how many counts a line has."""


def claims(text: str) -> bool:
    """Whether the first line is one of these."""
    return FIRST.match(text.lstrip()) is not None


def read(text: str, label: str, gathered: Gathered) -> Profile:
    """Bytes executed where there are runs; else samples, or branches by where they lead."""
    base = _base(gathered.image)
    lines = [_line(number, line, label) for number, line in numbered(text) if line.strip()]
    kinds = {kind for kind, _, _ in lines}
    runs = bool(kinds & set("TRFfr"))
    for kind, places, count in lines:
        addresses = [None if place is None else place + base for place in places]
        if kind == "S":
            _point(gathered, addresses[0], count)
        elif kind in "TRFfr":
            _run(gathered, addresses[-2], addresses[-1], count)
        elif kind == "B" and not runs:
            _point(gathered, addresses[1], count)
    unit = "executed bytes" if runs else "samples" if "S" in kinds else "branches"
    return gathered.profile(NAME, unit, label)


def _line(number: int, line: str, label: str) -> tuple[str, list[int | None], int]:
    """Letter, addresses (None: not of the image) and count of one line."""
    kind, *fields = line.split()
    if kind == "E" and fields:
        return kind, [], 0
    wanted = FIELDS.get(kind)
    if wanted is None:
        raise bad_line(label, number, line, "one of E, S, B, F, f, r, T, R")
    addresses, counts = fields[: wanted[0]], fields[wanted[0] :]
    # T and R may count mispredictions too, since 2025.
    enough = len(counts) == wanted[1] or (kind in "TR" and len(counts) == 2)
    found = [ADDRESS.fullmatch(address) for address in addresses]
    if not enough or not all(found) or not all(map(COUNT.fullmatch, counts)):
        raise bad_line(label, number, line, f"{kind} with its addresses and counts")
    return kind, [_address(match) for match in found if match], int(counts[0])


def _address(match: re.Match[str]) -> int | None:
    if match[1] is not None or match[2].startswith("-"):
        return None
    address = int(match[2], 16)
    return None if address >= UNKNOWN else address


def _point(gathered: Gathered, address: int | None, count: int) -> None:
    if address is None:
        gathered.outside += count
    else:
        gathered.at(address, count)


def _run(gathered: Gathered, start: int | None, end: int | None, count: int) -> None:
    """A run counts for the bytes that it executes; of a branch alone, the one where it leads."""
    if start is None:
        gathered.outside += count * INSTRUCTION
    elif end is None or end < start:
        gathered.at(start, count * INSTRUCTION, start + INSTRUCTION)
    else:
        stop = end + INSTRUCTION
        gathered.at(start, count * (stop - start), stop)


def _base(image: Image) -> int:
    """What is added to an address: a shared file's are from where it is loaded."""
    if image.e_type != ET_DYN:
        return 0
    return next((s.p_vaddr for s in image.segments if s.p_type == PT_LOAD), 0)
