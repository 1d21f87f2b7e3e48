"""Floating-point instructions on two single-precision numbers in one register
(SDM vol. 3, fpma to fpcmp)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from targets.ia64.machine.state import NATVAL, State
from targets.ia64.meanings.binding import Meaning, named
from targets.ia64.meanings.floating.approximations import (
    Approximation,
    single_reciprocal,
    single_root_reciprocal,
)
from targets.ia64.meanings.floating.arithmetic import (
    RELATIONS,
    Outcome,
    chosen,
    compared,
)
from targets.ia64.meanings.floating.environment import Environment, environment, raise_flags
from targets.ia64.meanings.floating.real import (
    SINGLE,
    integer_to_register,
    significand_of,
)
from targets.ia64.meanings.floating.rounding import Flag, Mode, shape
from targets.ia64.meanings.floating.whole import converted, fused
from targets.ia64.registers import FR

_BITS = 32
_ONES = (1 << _BITS) - 1
_SIGN = 1 << _BITS - 1
_FRACTION = (1 << SINGLE.fraction_bits) - 1

Halves = tuple[int, int]
Each = Callable[..., tuple[int, Flag]]


def halves(value: int) -> Halves:
    """The two numbers, as 32 bits each: the high one first."""
    significand = significand_of(value)
    return significand >> _BITS, significand & _ONES


def _joined(high: int, low: int) -> int:
    return integer_to_register((high & _ONES) << _BITS | low & _ONES)


def _environment(m: State, sf: int) -> Environment:
    """Parallel arithmetic is single precision, whatever FPSR says of the range."""
    env = environment(m, sf, "s")
    return Environment(shape(SINGLE.fraction_bits + 1, SINGLE.exponent_bits), env.mode, env.flush)


def _each(m: State, f1: int, sf: int, registers: tuple[int, ...], each: Each) -> None:
    """f1 = `each` of the high halves and of the low ones; flags of both are gathered."""
    values = [m.r[register] for register in registers]
    if NATVAL in values:
        m.put_floating(f1, NATVAL)
        return
    high, low = (each(*parts) for parts in zip(*map(halves, values), strict=True))
    raise_flags(m, sf, high[1] | low[1])
    m.put_floating(f1, _joined(high[0], low[0]))


def _of_singles(function: Callable[..., Outcome]) -> Each:
    """A function of registers as one of 32 bits each."""

    def each(*parts: int) -> Outcome:
        result, flags = function(*map(SINGLE.to_register, parts))
        return SINGLE.from_register(result), flags

    return each


def _fused(name: str) -> Meaning:
    def does(m: State, sf: int, f1: int, f3: int, f4: int, f2: int) -> None:
        env = _environment(m, sf)
        if f2 == FR:
            each = _of_singles(lambda a, b: fused(name, a, b, None, env))
            _each(m, f1, sf, (f3, f4), each)
        else:
            _each(m, f1, sf, (f3, f4, f2), _of_singles(lambda a, b, c: fused(name, a, b, c, env)))

    return named(does)


def _choose(name: str) -> Meaning:
    def does(m: State, sf: int, f1: int, f2: int, f3: int) -> None:
        _each(m, f1, sf, (f2, f3), _of_singles(lambda a, b: chosen(name, a, b)))

    return named(does)


def _compare(relation: str) -> Meaning:
    def each(a: int, b: int) -> Outcome:
        holds, flags = compared(relation, SINGLE.to_register(a), SINGLE.to_register(b))
        return -holds & _ONES, flags

    def does(m: State, sf: int, f1: int, f2: int, f3: int) -> None:
        _each(m, f1, sf, (f2, f3), each)

    return named(does)


def _to_integer(is_signed: bool, truncates: bool) -> Meaning:
    def does(m: State, sf: int, f1: int, f2: int) -> None:
        mode = Mode.ZERO if truncates else _environment(m, sf).mode

        def each(part: int) -> Outcome:
            return converted(SINGLE.to_register(part), _BITS, is_signed, mode)

        _each(m, f1, sf, (f2,), each)

    return named(does)


def _merge(function: Callable[[int, int], int]) -> Meaning:
    def does(m: State, f1: int, f2: int, f3: int) -> None:
        _each(m, f1, 0, (f2, f3), lambda a, b: (function(a, b), Flag(0)))

    return named(does)


def _approximate(approximation: Callable[..., Approximation]) -> Callable[..., None]:
    """f1 = the approximations of both halves; p2 says whether both may be refined."""

    def does(m: State, sf: int, f1: int, p2: int, *registers: int) -> None:
        useful: list[bool] = []
        env = _environment(m, sf)

        def approximate(*values: int) -> Outcome:
            result, flags, good = approximation(*values, env)
            useful.append(good)
            return result, flags

        _each(m, f1, sf, registers, _of_singles(approximate))
        m.put_predicate(p2, len(useful) == 2 and all(useful))

    return does


_quotient, _root = _approximate(single_reciprocal), _approximate(single_root_reciprocal)


def _reciprocal(m: State, sf: int, f1: int, p2: int, f2: int, f3: int) -> None:
    _quotient(m, sf, f1, p2, f2, f3)


def _root_reciprocal(m: State, sf: int, f1: int, p2: int, f3: int) -> None:
    _root(m, sf, f1, p2, f3)


def _meanings() -> Iterator[tuple[str, Meaning]]:
    for name in ("fma", "fms", "fnma"):
        yield name.replace("f", "fp", 1), _fused(name)
    for name in ("min", "max", "amin", "amax"):
        yield f"fp{name}", _choose(name)
    for relation in RELATIONS:
        yield f"fpcmp.{relation}", _compare(relation)
    for letters, is_signed in (("fx", True), ("fxu", False)):
        yield f"fpcvt.{letters}", _to_integer(is_signed, truncates=False)
        yield f"fpcvt.{letters}.trunc", _to_integer(is_signed, truncates=True)
    yield "fpmerge.s", _merge(lambda a, b: b & ~_SIGN | a & _SIGN)
    yield "fpmerge.ns", _merge(lambda a, b: b & ~_SIGN | ~a & _SIGN)
    yield "fpmerge.se", _merge(lambda a, b: a & ~_FRACTION | b & _FRACTION)
    yield "fprcpa", named(_reciprocal)
    yield "fprsqrta", named(_root_reciprocal)


MEANINGS: dict[str, Meaning] = dict(_meanings())
