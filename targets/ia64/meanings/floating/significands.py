"""Floating-point registers as integers and as bits: merges, logic, integer multiply
(SDM vol. 3, fmerge, fmix, fselect, fswap, fsxt, xma, fcvt.xf)."""

from __future__ import annotations

from collections.abc import Callable

from targets.ia64.machine.state import NATVAL, State
from targets.ia64.meanings.binding import Meaning, named
from targets.ia64.meanings.floating.real import (
    ONES,
    SIGN,
    SIGNIFICAND,
    SINGLE,
    integer_to_register,
    sign_of,
    significand_of,
)
from targets.ia64.meanings.floating.rounding import Mode, rounded, shape
from targets.ia64.meanings.integer import signed

_HALF = SIGNIFICAND // 2
_LOW = (1 << _HALF) - 1


def any_nat(m: State, *registers: int) -> bool:
    """Whether one of the registers is NaTVal."""
    return any(m.r[register] == NATVAL for register in registers)


_REGISTER = shape(SIGNIFICAND, 17)


def _from_integer(value: int) -> int:
    number = signed(significand_of(value))
    return rounded((int(number < 0), abs(number), 0), _REGISTER, Mode.NEAREST)[0]


def _bitwise(function: Callable[[int, int], int]) -> Meaning:
    """f1 = function of the whole registers f2 and f3."""

    def does(m: State, f1: int, f2: int, f3: int) -> None:
        nat = any_nat(m, f2, f3)
        m.put_floating(f1, NATVAL if nat else function(m.r[f2], m.r[f3]))

    return named(does)


def _of_significands(function: Callable[[int, int], int]) -> Meaning:
    """The same for significands; the result is an integer."""
    return _bitwise(lambda a, b: integer_to_register(function(a & ONES, b & ONES) & ONES))


def _from_halves(function: Callable[[int, int, int, int], tuple[int, int]]) -> Meaning:
    """The high and low half of a significand, of (f2 high, f2 low, f3 high, f3 low)."""

    def both(a: int, b: int) -> int:
        high, low = function(a >> _HALF, a & _LOW, b >> _HALF, b & _LOW)
        return (high & _LOW) << _HALF | low & _LOW

    return _of_significands(both)


def _all_signs(half: int) -> int:
    return -(half >> _HALF - 1)


_TOP = 1 << _HALF - 1
_FRACTION = (1 << SIGN) - 1


def _merged(a: int, b: int, flip: int) -> int:
    return b & _FRACTION | (sign_of(a) ^ flip) << SIGN


def _select(m: State, f1: int, f3: int, f4: int, f2: int) -> None:
    if any_nat(m, f2, f3, f4):
        m.put_floating(f1, NATVAL)
        return
    mask = m.r[f2]
    m.put_floating(f1, integer_to_register((m.r[f3] & mask | m.r[f4] & ~mask) & ONES))


def _integer_multiply(is_signed: bool, shift: int) -> Meaning:
    def does(m: State, f1: int, f3: int, f4: int, f2: int) -> None:
        if any_nat(m, f2, f3, f4):
            m.put_floating(f1, NATVAL)
            return
        a, b, added = (significand_of(m.r[register]) for register in (f3, f4, f2))
        if is_signed:
            a, b = signed(a), signed(b)
        m.put_floating(f1, integer_to_register(a * b + added >> shift & ONES))

    return named(does)


def _pack(a: int, b: int) -> int:
    return integer_to_register(SINGLE.from_register(a) << _HALF | SINGLE.from_register(b))


def _convert_exactly(m: State, f1: int, f2: int) -> None:
    m.put_floating(f1, NATVAL if any_nat(m, f2) else _from_integer(m.r[f2]))


MEANINGS: dict[str, Meaning] = {
    "fmerge.s": _bitwise(lambda a, b: _merged(a, b, 0)),
    "fmerge.ns": _bitwise(lambda a, b: _merged(a, b, 1)),
    "fmerge.se": _bitwise(lambda a, b: a & ~ONES | b & ONES),
    "fpack": _bitwise(_pack),
    "fand": _of_significands(lambda a, b: a & b),
    "fandcm": _of_significands(lambda a, b: a & ~b),
    "for": _of_significands(lambda a, b: a | b),
    "fxor": _of_significands(lambda a, b: a ^ b),
    "fswap": _from_halves(lambda ah, al, bh, bl: (bl, ah)),
    "fswap.nl": _from_halves(lambda ah, al, bh, bl: (bl ^ _TOP, ah)),
    "fswap.nr": _from_halves(lambda ah, al, bh, bl: (bl, ah ^ _TOP)),
    "fmix.lr": _from_halves(lambda ah, al, bh, bl: (ah, bl)),
    "fmix.r": _from_halves(lambda ah, al, bh, bl: (al, bl)),
    "fmix.l": _from_halves(lambda ah, al, bh, bl: (ah, bh)),
    "fsxt.r": _from_halves(lambda ah, al, bh, bl: (_all_signs(al), bl)),
    "fsxt.l": _from_halves(lambda ah, al, bh, bl: (_all_signs(ah), bh)),
    "fselect": named(_select),
    "xma.l": _integer_multiply(is_signed=False, shift=0),
    "xma.h": _integer_multiply(is_signed=True, shift=SIGNIFICAND),
    "xma.hu": _integer_multiply(is_signed=False, shift=SIGNIFICAND),
    "fcvt.xf": named(_convert_exactly),
}
