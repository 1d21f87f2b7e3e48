"""udiv_qrnnd: 128 bits divided by 64, as GNU MP's longlong.h defines it; unsigned.

The divisor is greater than the high half of the dividend, so that the quotient fits; its top bit
need not be set.  Quotient and remainder are undefined otherwise.
"""

from __future__ import annotations

from rewriter.contracts.contract import MASK64, Arena, Case, Contract, Kind, Plan, Result, View
from rewriter.contracts.divide import values
from rewriter.contracts.place import END, address, noise, piece, scatter

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
_KINDS = (Kind.TO, Kind.QUAD, Kind.QUAD, Kind.QUAD)
CONTRACTS = (Contract("udiv_qrnnd", _KINDS, Result.QUAD, udiv_qrnnd, _build, _PLANS),)
