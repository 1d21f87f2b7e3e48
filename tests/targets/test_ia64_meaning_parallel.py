"""Two singles in a register: twice what the scalar instruction does, and halves moved around."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from ia64_single import F_TO, loaded, run, single
from test_ia64_meaning_floating import COMPARED

from targets.ia64.meanings.real import SINGLE

BITS = (1 << 64) - 1
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


def halves(high: int, low: int) -> int:
    return 0x1003E << 64 | high << 32 | low


def packed(value: float) -> int:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    assert isinstance(bits, int)
    return bits


SCALAR = {"fpma": "fma.s", "fpms": "fms.s", "fpnma": "fnma.s", "fpmin": "fmin", "fpamax": "famax"}


@settings(max_examples=60, deadline=None)
@given(values=st.lists(singles, min_size=6, max_size=6))
def test_parallel_is_twice_single(values: list[float]) -> None:
    high, low = values[:3], values[3:]
    both = [halves(packed(h), packed(x)) for h, x in zip(high, low, strict=True)]
    for name, scalar in SCALAR.items():
        found = run(loaded(*both), name).r[F_TO]
        parts = [
            SINGLE.from_register(run(loaded(*map(single, half)), scalar).r[F_TO])
            for half in (high, low)
        ]
        assert found == halves(*parts), name
    for relation, holds in COMPARED.items():
        found = run(loaded(*both), f"fpcmp.{relation}").r[F_TO]
        parts = [0xFFFF_FFFF * holds(half[0], half[1]) for half in (high, low)]
        assert found == halves(*parts), relation


# The manual's figures: A and a are the halves of f2, B and b those of f3; ! is the other sign, s
# the sign of a half all over it.
MOVES = {
    "fswap": ("b", "A"),
    "fswap.nl": ("!b", "A"),
    "fswap.nr": ("b", "!A"),
    "fmix.l": ("A", "B"),
    "fmix.r": ("a", "b"),
    "fmix.lr": ("A", "b"),
    "fsxt.l": ("sA", "B"),
    "fsxt.r": ("sa", "b"),
}


@settings(max_examples=40, deadline=None)
@given(a=st.integers(0, BITS), b=st.integers(0, BITS))
def test_halves_are_moved(a: int, b: int) -> None:
    values = {"A": a >> 32, "a": a & BITS >> 32, "B": b >> 32, "b": b & BITS >> 32}
    state = loaded(0x1003E << 64 | a, 0x1003E << 64 | b)
    for name, parts in MOVES.items():
        expected = []
        for part in parts:
            half = values[part[-1]]
            if part[0] == "!":
                half ^= 1 << 31
            elif part[0] == "s":
                half = (BITS >> 32) * (half >> 31)
            expected.append(half)
        assert run(state, name).r[F_TO] == halves(*expected), name
