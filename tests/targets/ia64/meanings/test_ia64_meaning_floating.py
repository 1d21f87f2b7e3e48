"""Floating point against fractions, Python's floats and struct: nothing of it rounds as we do."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from targets.ia64.machine.faults import FloatingFault
from targets.ia64.machine.state import FPSR, NATVAL
from targets.ia64.meanings.floating.real import DOUBLE, SINGLE
from targets.ia64.registers import FR
from tests.targets.ia64.meanings.ia64_single import (
    F_A,
    F_B,
    F_C,
    F_TO,
    INEXACT,
    INVALID,
    OVERFLOW,
    P1,
    P2,
    UNDERFLOW,
    as_double,
    control,
    double,
    flags,
    fraction,
    loaded,
    run,
)

BITS = (1 << 64) - 1
floats = st.floats()
finite = st.floats(allow_nan=False, allow_infinity=False)
near = st.floats(-(2.0**40), 2.0**40).filter(lambda value: abs(value) > 2.0**-40)
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


def nearest_double(value: Fraction) -> float:
    """Python's division of integers rounds once, to even."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def same(a: float, b: float) -> bool:
    return struct.pack("<d", a) == struct.pack("<d", b)


SIGNS = {"fma.d": (1, 1), "fms.d": (1, -1), "fnma.d": (-1, 1)}


@pytest.mark.parametrize("name", SIGNS)
@settings(max_examples=80)
@given(a=finite, b=finite, c=finite)
@example(a=1.0, b=-1.0, c=1.0)
@example(a=2.0**-1074, b=0.5, c=0.0)
@example(a=1 + 2.0**-52, b=1 + 2.0**-52, c=-1 - 2.0**-51)
@example(a=1.7976931348623157e308, b=1.0, c=2.0**969)
def test_multiply_add_rounds_once(name: str, a: float, b: float, c: float) -> None:
    product, added = SIGNS[name]
    state = run(loaded(double(c), double(a), double(b)), name)
    exact = product * Fraction(a) * Fraction(b) + added * Fraction(c)
    found, expected = as_double(state.r[F_TO]), nearest_double(exact)
    assert found == expected
    inexact = math.isinf(expected) or Fraction(expected) != exact
    assert bool(flags(state) & INEXACT) == inexact
    assert bool(flags(state) & OVERFLOW) == math.isinf(expected)


# Name, register arithmetic: precision and the least exponent of a normal number.
SHAPES = {"fma.s": (24, -126), "fma.d": (53, -1022), "fma": (64, -16382)}


def step_of(exact: Fraction, precision: int, least: int) -> Fraction:
    """The distance of neighbours around a number."""
    exponent = abs(exact).numerator.bit_length() - abs(exact).denominator.bit_length()
    while Fraction(2) ** exponent > abs(exact):
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= abs(exact):
        exponent += 1
    return Fraction(2) ** (max(exponent, least) - (precision - 1))


@pytest.mark.parametrize("mode", range(4), ids=("nearest", "down", "up", "zero"))
@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=60)
@given(a=near, b=near, c=near, tiny=st.integers(-3, 3))
def test_every_rounding(name: str, mode: int, a: float, b: float, c: float, tiny: int) -> None:
    """By the definition of each mode: a multiple of the step, on the right side, near enough."""
    precision, least = SHAPES[name]
    if tiny > 0 and name == "fma.s":  # results below the normal numbers
        a, b, c = a * 2.0**-70, b * 2.0**-70, c * 2.0**-140
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assume(exact)
    state = loaded(double(c), double(a), double(b))
    control(state, mode)
    found = fraction(run(state, name).r[F_TO])
    step = step_of(exact, precision, least)
    assert (found / step).denominator == 1
    error = found - exact
    outward = error if exact > 0 else -error
    assert [abs(error) <= step / 2, -step < error <= 0, 0 <= error < step, -step < outward <= 0][
        mode
    ]
    if mode == 0 and abs(error) == step / 2:
        assert (found / step).numerator % 2 == 0
    assert bool(flags(state) & INEXACT) == (found != exact)
    if abs(exact) < Fraction(2) ** least - step:
        assert bool(flags(state) & UNDERFLOW) == (found != exact)
    elif abs(exact) >= Fraction(2) ** least:
        assert not flags(state) & UNDERFLOW


SPECIAL = st.sampled_from((0.0, -0.0, math.inf, -math.inf, math.nan))


@settings(max_examples=80)
@given(st.tuples(SPECIAL, floats, floats).flatmap(st.permutations))
@example([math.inf, 0.0, 1.0])
@example([math.inf, 1.0, -math.inf])
@example([0.0, -1.0, 0.0])
@example([0.0, -1.0, -0.0])
def test_specials_are_ieees(numbers: Sequence[float]) -> None:
    """One of the three at least is zero, infinite or none."""
    a, b, c = numbers
    state = run(loaded(double(c), double(a), double(b)), "fma.d")
    found = as_double(state.r[F_TO])
    if all(map(math.isfinite, (a, b, c))):
        # With a factor of zero the rest is exact in Python, too.
        assert (
            same(found, a * b + c)
            if 0.0 in (a, b)
            else found == nearest_double(Fraction(a) * Fraction(b))
        )
        return
    invalid = math.isnan(a * b) or math.isnan(a * b + c)
    expected = a * b + c if not math.isfinite(a) or not math.isfinite(b) else c
    if math.isnan(expected):
        assert math.isnan(found)
        assert bool(flags(state) & INVALID) == (invalid and not any(map(math.isnan, (a, b, c))))
    else:
        assert found == expected


def test_a_product_alone_keeps_the_sign_of_zero() -> None:
    """With f0 as what is added nothing is added: -0 stays."""
    state = loaded(0, double(-1.0), double(0.0))
    assert as_double(run(state, "fma.d", f2=FR).r[F_TO]).hex() == "-0x0.0p+0"
    assert as_double(run(state, "fma.d").r[F_TO]).hex() == "0x0.0p+0"
    control(state, mode=1)
    state.put_floating(F_B, double(-1.0))
    state.put_floating(F_A, double(1.0))
    state.put_floating(F_C, double(1.0))
    assert as_double(run(state, "fma.d").r[F_TO]).hex() == "-0x0.0p+0"


def test_a_wide_range_holds_what_double_cannot() -> None:
    big = double(2.0**1023)
    state = loaded(0, big, big)
    assert as_double(run(state, "fma.d", f2=FR).r[F_TO]) == math.inf
    assert flags(state) == OVERFLOW | INEXACT
    control(state, wide=1)
    assert fraction(run(state, "fma.d", f2=FR).r[F_TO]) == Fraction(2) ** 2046


def test_an_exception_that_is_not_masked_faults() -> None:
    state = loaded(0, double(0.1), double(0.1))
    state.r[FPSR] &= ~INEXACT  # the trap bits come first in FPSR
    with pytest.raises(FloatingFault):
        run(state, "fma.d")
    assert state.r[F_TO] == 0


COMPARED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "unord": lambda a, b: math.isnan(a) or math.isnan(b),
    "neq": lambda a, b: a != b,
    "nlt": lambda a, b: not a < b,
    "nle": lambda a, b: not a <= b,
    "ord": lambda a, b: not (math.isnan(a) or math.isnan(b)),
}


@settings(max_examples=100)
@given(a=floats, b=floats, same_number=st.booleans())
@example(a=0.0, b=-0.0, same_number=False)
@example(a=-math.inf, b=math.inf, same_number=False)
def test_compares_are_pythons(a: float, b: float, same_number: bool) -> None:
    b = a if same_number else b
    for relation in ("eq", "lt", "le", "unord"):
        state = run(loaded(double(a), double(b)), f"fcmp.{relation}")
        holds = COMPARED[relation](a, b)
        assert (state.r[P1], state.r[P2]) == (holds, not holds)
        nans = [value for value in (a, b) if math.isnan(value)]
        if relation in ("eq", "unord"):
            nans = [value for value in nans if not double(value) >> 62 & 1]
        assert flags(state) & INVALID == bool(nans)


@settings(max_examples=60)
@given(a=floats, b=floats)
def test_the_smaller_and_the_larger(a: float, b: float) -> None:
    cases = {
        "fmin": a if a < b else b,
        "fmax": a if b < a else b,
        "famin": a if abs(a) < abs(b) else b,
        "famax": a if abs(b) < abs(a) else b,
    }
    for name, expected in cases.items():
        found = run(loaded(double(a), double(b)), name).r[F_TO]
        assert found == double(expected) or (math.isnan(expected) and math.isnan(as_double(found)))


ROUNDINGS: tuple[Callable[[Fraction], int], ...] = (round, math.floor, math.ceil, math.trunc)


@settings(max_examples=80)
@given(value=st.floats(-1e20, 1e20) | st.floats(-20, 20), mode=st.integers(0, 3))
@example(value=2.5, mode=0)
@example(value=-(2.0**63), mode=0)
@example(value=2.0**63, mode=3)
@example(value=2.0**64, mode=3)
@example(value=-0.5, mode=1)
def test_conversions_to_integers(value: float, mode: int) -> None:
    state = loaded(double(value))
    control(state, mode)
    for name, low, high in (
        ("fcvt.fx", -(1 << 63), (1 << 63) - 1),
        ("fcvt.fxu", 0, BITS),
    ):
        for suffix, used in (("", mode), (".trunc", 3)):
            number = ROUNDINGS[used](Fraction(value))
            expected = number & BITS if low <= number <= high else 1 << 63
            assert run(state, name + suffix).r[F_TO] == 0x1003E << 64 | expected


@settings(max_examples=60)
@given(a=st.integers(0, BITS), b=st.integers(0, BITS), c=st.integers(0, BITS))
def test_integers_in_significands(a: int, b: int, c: int) -> None:
    state = loaded(*(0x1003E << 64 | value for value in (c, a, b)))
    signed_a, signed_b, signed_c = (value - (value >> 63 << 64) for value in (a, b, c))
    for name, expected in {
        "xma.l": a * b + c,
        "xma.hu": (a * b + c) >> 64,
        "xma.h": (signed_a * signed_b + c) >> 64,
        "fselect": (a & c) | (b & ~c),
    }.items():
        assert run(state, name).r[F_TO] == 0x1003E << 64 | expected & BITS, name
    state = run(state, "fcvt.xf")
    assert fraction(state.r[F_TO]) == signed_c
    assert not signed_c or state.r[F_TO] >> 63 & 1


# Formats ------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(bits=st.integers(0, (1 << 32) - 1), wide=st.integers(0, BITS))
def test_formats_of_memory(bits: int, wide: int) -> None:
    """Every number of a format is that number in a register, and comes back as it was."""
    for form, size, code in ((SINGLE, 4, "f"), (DOUBLE, 8, "d")):
        data = (bits if size == 4 else wide).to_bytes(size, "little")
        (value,) = struct.unpack("<" + code, data)
        register = form.to_register(int.from_bytes(data, "little"))
        assert form.from_register(register).to_bytes(size, "little") == data
        if math.isfinite(value):
            assert fraction(register) == Fraction(value)
        else:
            assert register >> 64 & 0x1FFFF == 0x1FFFF


CLASSES = {
    "pos": (0x001 | 0x3C, lambda v: math.copysign(1, v) > 0 and not math.isnan(v)),
    "neg": (0x002 | 0x3C, lambda v: math.copysign(1, v) < 0 and not math.isnan(v)),
    "zero": (0x007, lambda v: v == 0),
    "unorm": (0x00B, lambda v: v != 0 and abs(v) < 2.0**-1022),
    "norm": (0x013, lambda v: math.isfinite(v) and abs(v) >= 2.0**-1022),
    "inf": (0x023, math.isinf),
    "qnan": (0x080, math.isnan),
}


@settings(max_examples=60)
@given(value=floats)
def test_classes(value: float) -> None:
    for mask, belongs in CLASSES.values():
        state = run(loaded(double(value)), "fclass.m", fclass9=mask)
        assert (state.r[P1], state.r[P2]) == (belongs(value), not belongs(value))


def test_a_nat_value_spreads() -> None:
    state = loaded(NATVAL, double(1.0), double(2.0))
    for name in ("fma", "fms.d", "xma.l", "fmin", "fcvt.fx", "fmerge.s", "fpma", "fselect", "fand"):
        state.r[F_TO] = 0
        assert run(state, name).r[F_TO] == NATVAL, name
    state = run(state, "fcmp.eq")
    assert (state.r[P1], state.r[P2]) == (0, 0)
    state = run(state, "fclass.m", fclass9=0x100)
    assert (state.r[P1], state.r[P2]) == (1, 0)
    state = run(state, "fclass.m", fclass9=0x1)
    assert (state.r[P1], state.r[P2]) == (0, 0)
    state = run(state, "getf.sig")
    assert state.nat[8] == 1
