"""Which half of the 21264's integer unit each instruction of a fetch block goes to.

21264 Hardware Reference Manual, section "Ebox Slotting".  The manual has a table of all 81
patterns; these rules give the same (tests/timing/test_slotting.py compares them).
"""

from __future__ import annotations

UPPER, LOWER, EITHER = "U", "L", "E"
_OTHER = {UPPER: LOWER, LOWER: UPPER}


def slot(pattern: str) -> str:
    """The letters of a block's instructions, EITHER replaced.

    Written as in the manual, the highest address first.  The whole block counts, also what is
    jumped over.
    """
    high, low = pattern[:2], pattern[2:]
    # A pair that needs one half alone leaves the other half to the other pair.
    forced_high, forced_low = _forced_by(low, high), _forced_by(high, low)
    high = _pair(forced_high, UPPER + LOWER)
    return high + _pair(forced_low, high)


def _forced_by(pair: str, other: str) -> str:
    if pair[0] == pair[1] != EITHER:
        return other.replace(EITHER, _OTHER[pair[0]])
    return other


def _pair(pair: str, free: str) -> str:
    """An EITHER takes what its mate does not; two take `free`."""
    first, second = pair[0], pair[1]
    if first == second == EITHER:
        return free
    if first == EITHER:
        first = _OTHER[second]
    if second == EITHER:
        second = _OTHER[first]
    return first + second
