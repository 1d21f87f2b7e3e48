"""Two singles in a register: twice what the scalar instruction does, and halves moved around."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from targets.ia64.meanings.floating.real import SINGLE
from tests.targets.ia64.meanings.ia64_single import F_TO, control, double, loaded, run, single
from tests.targets.ia64.meanings.test_ia64_meaning_floating import COMPARED, ROUNDINGS

BITS = (1 << 64) - 1
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


def halves(high: int, low: int) -> int:
    return 0x1003E << 64 | high << 32 | low


def packed(value: float) -> int:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    assert isinstance(bits, int)
    return bits


SCALAR = {"fpma": "fma.s", "fpms": "fms.s", "fpnma": "fnma.s", "fpmin": "fmin", "fpamax": "famax"}


@settings(max_examples=60)
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


@settings(max_examples=40)
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


EXPONENT = 0xFF80_0000  # sign and exponent of a single


@settings(max_examples=60)
@given(values=st.lists(singles, min_size=4, max_size=4))
def test_signs_and_exponents_are_merged(values: list[float]) -> None:
    """As math.copysign; sign and exponent of one with the fraction of the other."""
    a, b = halves(*map(packed, values[:2])), halves(*map(packed, values[2:]))
    pairs = list(zip(values[:2], values[2:], strict=True))
    expected = {
        "fpmerge.s": [packed(math.copysign(y, x)) for x, y in pairs],
        "fpmerge.ns": [packed(math.copysign(y, -x)) for x, y in pairs],
        "fpmerge.se": [packed(x) & EXPONENT | packed(y) & ~EXPONENT for x, y in pairs],
    }
    for name, parts in expected.items():
        assert run(loaded(a, b), name).r[F_TO] == halves(*parts), name
    x, y = pairs[0]
    assert run(loaded(double(x), double(y)), "fmerge.s").r[F_TO] == double(math.copysign(y, x))
    assert run(loaded(double(x), double(y)), "fmerge.ns").r[F_TO] == double(math.copysign(y, -x))
    merged = run(loaded(double(x), double(y)), "fmerge.se").r[F_TO]
    assert (merged >> 64, merged & BITS) == (double(x) >> 64, double(y) & BITS)
    found = run(loaded(single(x), single(y)), "fpack").r[F_TO]
    assert found == halves(packed(x), packed(y))


@settings(max_examples=60)
@given(
    values=st.tuples(*[st.floats(-(2.0**33), 2.0**33, width=32) | st.floats(-9, 9, width=32)] * 2),
    mode=st.integers(0, 3),
)
def test_halves_become_integers(values: tuple[float, float], mode: int) -> None:
    state = loaded(halves(*map(packed, values)))
    control(state, mode)
    for name, low, high in (
        ("fpcvt.fx", -(1 << 31), (1 << 31) - 1),
        ("fpcvt.fxu", 0, (1 << 32) - 1),
    ):
        for suffix, used in (("", mode), (".trunc", 3)):
            numbers = [ROUNDINGS[used](Fraction(value)) for value in values]
            parts = [n % (1 << 32) if low <= n <= high else 1 << 31 for n in numbers]
            assert run(state, name + suffix).r[F_TO] == halves(*parts), name
