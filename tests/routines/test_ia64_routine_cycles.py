"""Routines that glibc has not tuned, and strlen, take at most half of its cycles from 64 bytes on.

`benchmarks/ia64_routines.py` prints all of it.  One move of many words cannot: there are ports for
two stores a cycle, which glibc's moves of aligned words use already, and for one word that is put
together by shifts.  So the moves of one length count together, apart and to either side.
"""

from __future__ import annotations

import pytest

from benchmarks.ia64_routines import BY_A_LIMB, CALLS, NUMBERS, costs

LENGTHS, SKEWS = (64, 200, 512), (0, 3)
SEARCHES = ("memchr", "strcmp", "strlen", "strncmp")


@pytest.mark.parametrize("call", SEARCHES)
def test_half_at_every_point(call: str) -> None:
    for cost in costs(call, LENGTHS, SKEWS):
        assert cost.ratio <= 0.5, cost


def test_half_of_all_moves() -> None:
    moves = [c for call in CALLS if call.startswith("memmove") for c in costs(call, LENGTHS, SKEWS)]
    for length in LENGTHS:
        theirs, mine = (
            sum(getattr(c, who) for c in moves if c.length == length) for who in ("theirs", "ours")
        )
        assert 2 * mine <= theirs, (length, mine, theirs)


def test_no_move_is_slower() -> None:
    """But memcmp, which stays in glibc: it gives -1 or 1 for whole words, and ours differences."""
    for call in set(CALLS) - {"memcmp"}:
        for cost in costs(call, (64,), (0, 1)):
            assert cost.ratio < 1, (call, cost)


def test_fills_take_less_than_four_fifths() -> None:
    """From a few bytes to lengths at which one of zeros on a multiple of 16 once was."""
    for cost in costs("memset", (1, 7, 8, 31, 64, 96, 128, 256, 512, 1024), (0, 1, 8)):
        assert cost.ratio < 0.8, cost


def test_moves_of_two_blocks() -> None:
    """The last words of a misaligned move are stored beside its last bytes."""
    for length, part in ((64, 0.5), (128, 0.54), (256, 0.6)):
        for cost in costs("memmove, apart", (length,), (0, 1, 6)):
            assert cost.ratio <= part, cost


@pytest.mark.parametrize("name", NUMBERS)
def test_limbs_take_at_most_half(name: str) -> None:
    """From four limbs on; one does not take longer than glibc's."""
    short, *long = costs(name, (8, 32, 128, 512))
    assert short.ratio <= 1, short
    for cost in long:
        assert cost.ratio <= (0.5 if name in BY_A_LIMB or cost.length > 32 else 0.7), cost


@pytest.mark.parametrize(("name", "cycles"), [(n, 4 if n in BY_A_LIMB else 2) for n in NUMBERS])
def test_cycles_of_a_limb(name: str, cycles: int) -> None:
    """In the loop, on operands that all are in the first lines of the cache."""
    few, many = (cost.ours for cost in costs(name, (128, 256)))
    assert cycles * 16 <= many - few <= cycles * 16 * 1.1
