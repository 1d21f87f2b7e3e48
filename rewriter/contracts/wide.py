"""Unsigned numbers wider than a register, as GNU MP defines what is done with them.

udiv_qrnnd (longlong.h) divides 128 bits by 64.  The divisor is greater than the high half of the
dividend, so that the quotient fits; its top bit need not be set.  Quotient and remainder are
undefined otherwise.

The mpn routines work on numbers of one or more limbs of 64 bits, the lowest limb first, and give
what goes beyond the highest limb of the result.  An operand may lie in the result's memory, or
begin in it and end behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rewriter.contracts.contract import MASK64, Arena, Case, Contract, Kind, Plan, Result, View
from rewriter.contracts.divide import values
from rewriter.contracts.place import END, MIDDLE, START, address, noise, piece, scatter

_RESTS = range(8)


def udiv_qrnnd(view: View, to: int, high: int, low: int, divisor: int) -> int:
    """Quotient; the remainder is stored."""
    result, rest = divmod(high << 64 | low, divisor)
    view.store(to, rest, 8)
    return result


def _rest(kind: int, divisor: int) -> int:
    """A remainder: at its ends, on either side of half the divisor, any."""
    half = divisor >> 1
    kinds = (0, divisor - 1, half, half + 1, half - 1, 1, divisor - 2, scatter(divisor, 1) << 31)
    return kinds[kind] % divisor


def _leading() -> list[int]:
    """Divisors with bit 63, 62, 34 and 7 on top, and all that can follow in the next seven."""
    tops = [top << 56 | scatter(top) << 24 | scatter(top, 1) >> 8 for top in range(128, 256)]
    return [number >> zeros for zeros in (0, 1, 29, 56) for number in tops]


_VALUES = [number & MASK64 for number in values(64)]
_DIVISORS = [number or 1 for number in _VALUES] + _leading()
_LISTED, _FOLLOWED = range(len(_VALUES)), range(len(_VALUES), len(_DIVISORS))
_LARGE = tuple(_VALUES.index(n & MASK64) for n in (-1, -2, (1 << 63) - 1))


def _build(arena: Arena, quotient: int, divisor: int, rest: int) -> Case:
    """Every dividend that is allowed is some quotient times the divisor and some remainder."""
    by = _DIVISORS[divisor]
    dividend = _VALUES[quotient] * by + _rest(rest, by)
    to = address(arena, 0, 8, 0, END)
    arguments = (to, dividend >> 64, dividend & MASK64, by)
    return Case(arguments, (piece(arena, to, noise(8, rest), rest),))


_PLANS = (
    Plan(
        "quotients and divisors",
        {"quotient": _LISTED, "divisor": _LISTED, "rest": _RESTS},
        {"quotient": _LISTED[::11], "divisor": _LISTED[::7], "rest": (1,)},
    ),
    Plan(
        "leading bits of the divisor",
        {"quotient": _LARGE, "divisor": _FOLLOWED, "rest": _RESTS},
        {"quotient": _LARGE[:1], "divisor": _FOLLOWED[::9], "rest": (0, 1, 2)},
    ),
)

LIMB = 8  # bytes


def mpn_mul_1(view: View, to: int, source: int, limbs: int, factor: int) -> int:
    """A number times a limb; gives the highest limb of the product."""
    return _kept(view, to, limbs, _number(view, source, limbs) * factor)


def mpn_addmul_1(view: View, to: int, source: int, limbs: int, factor: int) -> int:
    """Adds a number times a limb to the result's; gives the limb that is carried out."""
    product = _number(view, source, limbs) * factor
    return _kept(view, to, limbs, _number(view, to, limbs) + product)


def mpn_submul_1(view: View, to: int, source: int, limbs: int, factor: int) -> int:
    """Takes a number times a limb from the result's; gives the limb that is borrowed."""
    product = _number(view, source, limbs) * factor
    return -_kept(view, to, limbs, _number(view, to, limbs) - product)


def mpn_add_n(view: View, to: int, first: int, second: int, limbs: int) -> int:
    """The sum of two numbers; gives the carry."""
    return _kept(view, to, limbs, _number(view, first, limbs) + _number(view, second, limbs))


def mpn_sub_n(view: View, to: int, first: int, second: int, limbs: int) -> int:
    """The difference of two numbers; gives the borrow."""
    return -_kept(view, to, limbs, _number(view, first, limbs) - _number(view, second, limbs))


def _number(view: View, start: int, limbs: int) -> int:
    """The number in so many limbs."""
    places = range(limbs)
    data = [view.read(start + LIMB * at, LIMB) for at in places]
    return sum(int.from_bytes(data[at], view.byteorder) << 64 * at for at in places)


def _kept(view: View, to: int, limbs: int, value: int) -> int:
    """Writes the low limbs of a number; gives what is left of it."""
    for _ in range(limbs):
        value, limb = divmod(value, 1 << 64)
        view.store(to, limb, LIMB)
        to += LIMB
    return value


_FACTORS = (0xFEDCBA9876543211, MASK64, 0, 1, 10, 1 << 63, 0x9E3779B97F4A7C15, 2)
_AWKWARD = (0, MASK64, 1, 1 << 63, MASK64 - 1, (1 << 63) - 1)
_ANY, _ONES, _SOME, _THROUGH = range(4)
"""What a number is: any bytes; all ones; some limbs that make carries; or what makes one carry go
through all limbs."""


def _limbs(holds: int, limbs: int, seed: int) -> bytes:
    if holds == _ONES:
        return b"\xff" * (LIMB * limbs)
    if holds == _SOME:
        chosen = (_AWKWARD[scatter(seed, at) % len(_AWKWARD)] for at in range(limbs))
        return b"".join(limb.to_bytes(LIMB, "little") for limb in chosen)
    return noise(LIMB * limbs, seed)


Wrapping = Callable[[int], int]
"""The number with which another makes one carry or borrow go through all limbs."""


def _negative(value: int) -> int:
    """Added to the number it gives zero, and a carry."""
    return -value


def _one_less(value: int) -> int:
    """The number taken from it is all ones, and a borrow."""
    return value - 1


def _other(wraps: Wrapping, holds: int, limbs: int, value: int) -> bytes:
    """The limbs that meet a number."""
    if holds == _THROUGH:
        return (wraps(value) % (1 << 64 * limbs)).to_bytes(LIMB * limbs, "little")
    return _limbs(holds, limbs, limbs + 3)


def _by_a_limb(wraps: Wrapping, arena: Arena, **point: int) -> Case:
    """A number and a limb; the result is elsewhere, or `lower` limbs in front of the operand."""
    limbs, factor, holds = point["limbs"], _FACTORS[point["factor"]], point["holds"]
    data = _limbs(holds, limbs, limbs)
    apart = LIMB * point.get("lower", 0)
    size = len(data) + apart
    to = address(arena, 0, size, 0, point["place"])
    if "lower" in point:
        whole = noise(apart, 1) + data
        return Case((to, to + apart, limbs, factor), (piece(arena, to, whole),))
    source = address(arena, 1, size, 0, point["place"])
    old = _other(wraps, holds, limbs, int.from_bytes(data, "little") * factor)
    return Case((to, source, limbs, factor), (piece(arena, to, old), piece(arena, source, data)))


def _by_a_number(wraps: Wrapping, arena: Arena, **point: int) -> Case:
    """Two numbers; the result is elsewhere, or in the place of the first, or of the second."""
    limbs, holds, over = point["limbs"], point["holds"], point["over"]
    size, data = LIMB * limbs, _limbs(holds, limbs, limbs)
    other = _other(wraps, holds, limbs, int.from_bytes(data, "little"))
    if wraps is _one_less:  # the first is what another is taken from
        data, other = other, data
    first = address(arena, 0, size, 0, point["place"])
    second = address(arena, 1, size, 0, point["place"])
    to = (address(arena, 1, size, arena.room // 2, MIDDLE), first, second)[over]
    pieces = [piece(arena, first, data), piece(arena, second, other)]
    if not over:
        pieces.append(piece(arena, to, noise(size, 5)))
    return Case((to, first, second, limbs), tuple(pieces))


_LENGTHS = (*range(1, 20), 31, 32, 33, 64)
_FEW = (1, 2, 3, 4, 5, 6, 7, 9, 16, 33)
_HOLDS = range(4)
_APART: dict[str, tuple[int, ...]] = {"place": (MIDDLE, END, START)}
_PLANS_BY_A_LIMB = (
    Plan(
        "lengths and factors",
        {"limbs": _LENGTHS, "factor": range(len(_FACTORS)), "holds": _HOLDS, **_APART},
        {"limbs": _FEW, "factor": range(len(_FACTORS)), "holds": _HOLDS, "place": (END,)},
    ),
    Plan(
        "in front of the operand, or in its place",
        {"limbs": _LENGTHS, "factor": (0, 1), "holds": (0, 1, 2), **_APART, "lower": range(5)},
        {"limbs": _FEW, "factor": (0, 1), "holds": (2,), "place": (END,), "lower": (0, 1, 4)},
    ),
)
_PLANS_BY_A_NUMBER = (
    Plan(
        "lengths",
        {"limbs": _LENGTHS, "holds": _HOLDS, **_APART, "over": range(3)},
        {"limbs": _FEW, "holds": _HOLDS, "place": (END, START), "over": range(3)},
    ),
)
_BY_A_LIMB = (Kind.TO, Kind.FROM, Kind.QUAD, Kind.QUAD)
_BY_A_NUMBER = (Kind.TO, Kind.FROM, Kind.FROM, Kind.QUAD)
_KINDS = (Kind.TO, Kind.QUAD, Kind.QUAD, Kind.QUAD)


def _with_a_limb(name: str, model: Callable[..., int], wraps: Wrapping) -> Contract:
    build = partial(_by_a_limb, wraps)
    return Contract(name, _BY_A_LIMB, Result.QUAD, model, build, _PLANS_BY_A_LIMB)


def _with_a_number(name: str, model: Callable[..., int], wraps: Wrapping) -> Contract:
    build = partial(_by_a_number, wraps)
    return Contract(name, _BY_A_NUMBER, Result.QUAD, model, build, _PLANS_BY_A_NUMBER)


CONTRACTS = (
    Contract("udiv_qrnnd", _KINDS, Result.QUAD, udiv_qrnnd, _build, _PLANS),
    _with_a_limb("mpn_mul_1", mpn_mul_1, _negative),
    _with_a_limb("mpn_addmul_1", mpn_addmul_1, _negative),
    _with_a_limb("mpn_submul_1", mpn_submul_1, _one_less),
    _with_a_number("mpn_add_n", mpn_add_n, _negative),
    _with_a_number("mpn_sub_n", mpn_sub_n, _one_less),
)
