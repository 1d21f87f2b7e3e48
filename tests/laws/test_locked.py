"""Nothing between a load-locked and its store-conditional changes, on the real libc."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rewriter.elf import note
from rewriter.elf.image import load, parse

LOCKS, RELEASES = (0x2A, 0x2B), (0x2E, 0x2F)  # ldl_l ldq_l, stl_c stq_c
FARTHEST = 64  # instructions in a straight line from a lock to its store


def test_locked_code_is_as_it_was(libc: Path, libc_ev67: Path) -> None:
    """Every straight line from a lock to the next conditional store is the same, in its place."""
    old = load(libc)
    new = parse(note.detach(libc_ev67.read_bytes()), "retuned")
    section = old.section(".text")
    assert section is not None
    start, end = section.sh_addr, section.sh_addr + section.sh_size
    before, after = old.words(start, end, 4), new.words(start, end, 4)
    opcodes = before >> np.uint32(26)
    locks = np.flatnonzero(np.isin(opcodes, LOCKS))
    releases = np.flatnonzero(np.isin(opcodes, RELEASES))
    assert len(locks) > 900
    compared = 0
    for lock in locks.tolist():
        following = releases[np.searchsorted(releases, lock) :]
        if len(following) and following[0] - lock <= FARTHEST:
            line = slice(lock, int(following[0]) + 1)
            assert np.array_equal(before[line], after[line]), hex(start + 4 * lock)
            compared += 1
    assert compared > 850
