"""Numbers of any size in groups of seven bits, as unwind tables write them (DWARF 5, 7.6)."""

from __future__ import annotations


def uleb(value: int) -> bytes:
    """A number from 0 up."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def padded_uleb(value: int, size: int) -> bytes | None:
    """A number from 0 up in so many bytes; None where it needs more."""
    if value >> 7 * size:
        return None
    groups = [value >> 7 * n & 0x7F for n in range(size)]
    return bytes((*(group | 0x80 for group in groups[:-1]), groups[-1]))


def sleb(value: int) -> bytes:
    """A number with a sign."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value & 0x7F))
