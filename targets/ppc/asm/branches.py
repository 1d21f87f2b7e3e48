"""Branches to labels: which they are, and how far each form reaches.

Keystone cuts a displacement that does not fit to its field and says nothing, so that the distance
is checked before it is asked, and the word's own displacement after it.
"""

from __future__ import annotations

import re

_FORM = re.compile(
    r"b(?:l|c|cl|(?:dn?z)?[tf]|dn?z|eq|ne|lt|gt|le|ge|so|ns|un|nu|nl|ng)?l?(?P<hint>[+-]?)"
)
_REACH = {18: 1 << 25, 16: 1 << 15}
"""By primary opcode (Power ISA 2.4: I-form, B-form): bytes that LI or BD spans either way."""


def is_branch(mnemonic: str) -> bool:
    """Whether a mnemonic takes a label; ValueError for a prediction hint.

    Processors before POWER4 read the hint's bits in another way than those after.
    """
    match = _FORM.fullmatch(mnemonic)
    if match and match["hint"]:
        raise ValueError("a hint means different things to different processors: leave it out")
    return match is not None


def displacement(word: int) -> int:
    """How many bytes from itself a branch goes."""
    span = 2 * _REACH[word >> 26]
    field = word & span - 4
    return field - span if field >= span // 2 else field


def check(word: int, distance: int) -> None:
    """ValueError unless the branch that was made goes `distance` bytes."""
    reach = _REACH[word >> 26]
    if not -reach <= distance < reach:
        raise ValueError(f"the target is {distance} bytes away, {reach} are reached")
    if displacement(word) != distance or word & 2:
        raise ValueError(f"Keystone made {word:#010x}, which does not go {distance} bytes")
