"""Larger functions of the kernel and the libc on the machine, against Python's libraries."""

from __future__ import annotations

import hashlib
import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.targets.ia64.machine.ia64_programs import ARENA, R8, Routines

A, B = ARENA.start(0), ARENA.start(1)
BITS = (1 << 64) - 1
FRACTION, BIAS = 112, 16383  # of a quadruple-precision number


@pytest.mark.parametrize("size", [0, 3, 55, 56, 64, 200])
def test_sha256(ia64_kernel: Routines, size: int) -> None:
    data = random.Random(size).randbytes(size)
    ia64_kernel.memory.write(A, data)
    ia64_kernel.run("sha256", A, size, B)
    assert ia64_kernel.memory.read(B, 32) == hashlib.sha256(data).digest()


def test_xxh64(ia64_kernel: Routines) -> None:
    """The algorithm's published values."""
    for text, expected in (
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
    ):
        ia64_kernel.memory.write(A, text)
        assert ia64_kernel.run("xxh64", A, len(text), 0)[0] == expected


@settings(max_examples=15)
@given(st.lists(st.binary(min_size=1, max_size=7).filter(lambda w: 0 not in w), max_size=20))
def test_sort_calls_back(ia64_kernel: Routines, words: list[bytes]) -> None:
    """Calls through a function descriptor, out of frames with locals."""
    ia64_kernel.memory.write(A, b"".join(word.ljust(8, b"\0") for word in words))
    compare = struct.pack("<QQ", ia64_kernel.program.symbols["strcmp"], ia64_kernel.program.gp)
    ia64_kernel.memory.write(B, compare)
    ia64_kernel.run("sort", A, len(words), 8, B, 0)
    found = ia64_kernel.memory.read(A, 8 * len(words))
    assert found == b"".join(word.ljust(8, b"\0") for word in sorted(words))


def quad(value: float) -> int:
    """A double as a quadruple-precision number."""
    if not value:
        return 0
    mantissa, exponent = math.frexp(value)
    bits = int(abs(mantissa) * 2**53) << FRACTION + 1 - 53
    sign = 1 if value < 0 else 0
    return sign << 127 | exponent - 1 + BIAS << FRACTION | bits & (1 << FRACTION) - 1


def number(bits: int) -> Fraction:
    """The value of a quadruple-precision number that is zero or normal."""
    exponent = bits >> FRACTION & 2 * BIAS + 1
    if not exponent:
        assert not bits & (1 << 127) - 1
        return Fraction(0)
    magnitude = Fraction((bits & (1 << FRACTION) - 1) + (1 << FRACTION))
    magnitude *= Fraction(2) ** (exponent - BIAS - FRACTION)
    return -magnitude if bits >> 127 else magnitude


QUAD: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "__addtf3": lambda a, b: a + b,
    "__subtf3": lambda a, b: a - b,
    "__multf3": lambda a, b: a * b,
    "__divtf3": lambda a, b: a / b,
}
floats = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)


@settings(max_examples=40)
@given(a=floats, b=floats.filter(bool), name=st.sampled_from(sorted(QUAD)))
def test_quadruple_precision(ia64_libc: Routines, a: float, b: float, name: str) -> None:
    """Whole arithmetic on 128 bits in general registers, correctly rounded."""
    halves = [part for value in (quad(a), quad(b)) for part in (value & BITS, value >> 64)]
    ia64_libc.run(name, *halves)
    state = ia64_libc.processor.state
    found = number(state.r[R8] | state.r[R8 + 1] << 64)
    exact = QUAD[name](Fraction(a), Fraction(b))
    assert abs(found - exact) <= abs(exact) * Fraction(1, 1 << FRACTION + 1)
