"""Floating-point instructions on whole registers (SDM vol. 3, fma to fsetc)."""

from __future__ import annotations

from collections.abc import Iterator

from targets.ia64.machine.state import NATVAL, State
from targets.ia64.meanings.binding import Meaning, named
from targets.ia64.meanings.floating import environment as status
from targets.ia64.meanings.floating.approximations import reciprocal, root_reciprocal
from targets.ia64.meanings.floating.arithmetic import (
    Outcome,
    chosen,
    compared,
    input_flags,
    is_denormal,
    is_signalling,
    is_unsupported,
    multiply_add,
    negated,
)
from targets.ia64.meanings.floating.environment import environment, raise_flags
from targets.ia64.meanings.floating.real import (
    SIGNIFICAND,
    integer_to_register,
    is_infinity,
    is_nan,
    is_zero,
    sign_of,
)
from targets.ia64.meanings.floating.rounding import Flag, Mode, exact, to_integer
from targets.ia64.meanings.floating.significands import any_nat
from targets.ia64.registers import FR


def _put(m: State, f1: int, sf: int, outcome: Outcome) -> None:
    result, flags = outcome
    raise_flags(m, sf, flags)
    m.put_floating(f1, result)


# Signs of the product and of what is added.
_SIGNS = {"fma": (0, 0), "fms": (0, 1), "fnma": (1, 0)}


def fused(name: str, f3: int, f4: int, f2: int | None, env: status.Environment) -> Outcome:
    """f3 * f4 + f2 with the signs of fma, fms or fnma."""
    product_sign, added_sign = _SIGNS[name]
    if product_sign:
        f3 = negated(f3)
    if added_sign and f2 is not None:
        f2 = negated(f2)
    return multiply_add(f3, f4, f2, env)


def _fused(name: str, completer: str) -> Meaning:
    def does(m: State, sf: int, f1: int, f3: int, f4: int, f2: int) -> None:
        if any_nat(m, f2, f3, f4):
            m.put_floating(f1, NATVAL)
            return
        added = None if f2 == FR else m.r[f2]
        env = environment(m, sf, completer)
        _put(m, f1, sf, fused(name, m.r[f3], m.r[f4], added, env))

    return named(does)


def _compare(relation: str) -> Meaning:
    def does(m: State, sf: int, p1: int, p2: int, f2: int, f3: int) -> None:
        nat = any_nat(m, f2, f3)
        holds = False
        if not nat:
            holds, flags = compared(relation, m.r[f2], m.r[f3])
            raise_flags(m, sf, flags)
        m.put_predicate(p1, holds)
        m.put_predicate(p2, not holds and not nat)

    return named(does)


# Bits of fclass's mask.
_POSITIVE, _NEGATIVE, _ZERO, _UNNORMAL, _NORMAL, _INFINITE = 1, 2, 4, 8, 16, 32
_SIGNALLING, _QUIET, _NAT = 64, 128, 256


def _class(value: int) -> int:
    """The bit of a number's class."""
    if is_infinity(value):
        return _INFINITE
    if is_zero(value):
        return _ZERO
    return _UNNORMAL if is_denormal(value) else _NORMAL


def is_member(value: int, mask: int) -> bool:
    """Whether a register belongs to one of the classes of `mask`."""
    if value == NATVAL:
        return bool(mask & _NAT)
    if is_unsupported(value):
        return False
    if is_nan(value):
        return bool(mask & (_SIGNALLING if is_signalling(value) else _QUIET))
    return bool(mask & (_NEGATIVE if sign_of(value) else _POSITIVE) and mask & _class(value))


def _classify(m: State, p1: int, p2: int, f2: int, fclass9: int) -> None:
    value = m.r[f2]
    unknown = value == NATVAL and not fclass9 & _NAT
    member = is_member(value, fclass9)
    m.put_predicate(p1, member)
    m.put_predicate(p2, not member and not unknown)


def _reciprocal(m: State, sf: int, f1: int, p2: int, f2: int, f3: int) -> None:
    if any_nat(m, f2, f3):
        m.put_floating(f1, NATVAL)
        m.put_predicate(p2, 0)
        return
    result, flags, useful = reciprocal(m.r[f2], m.r[f3], environment(m, sf, ""))
    _put(m, f1, sf, (result, flags))
    m.put_predicate(p2, useful)


def _root_reciprocal(m: State, sf: int, f1: int, p2: int, f3: int) -> None:
    if any_nat(m, f3):
        m.put_floating(f1, NATVAL)
        m.put_predicate(p2, 0)
        return
    result, flags, useful = root_reciprocal(m.r[f3], environment(m, sf, ""))
    _put(m, f1, sf, (result, flags))
    m.put_predicate(p2, useful)


def useless(m: State, p2: int) -> None:
    """An approximation whose qualifying predicate is false."""
    m.put_predicate(p2, 0)


OFF = named(useless)


def _choose(name: str) -> Meaning:
    def does(m: State, sf: int, f1: int, f2: int, f3: int) -> None:
        if any_nat(m, f2, f3):
            m.put_floating(f1, NATVAL)
        else:
            _put(m, f1, sf, chosen(name, m.r[f2], m.r[f3]))

    return named(does)


def converted(value: int, bits: int, is_signed: bool, mode: Mode) -> Outcome:
    """The integer of `bits` bits in a register; what does not fit is the indefinite one."""
    indefinite = 1 << bits - 1
    if is_nan(value) or is_infinity(value) or is_unsupported(value):
        return indefinite, Flag.INVALID
    number, inexact = to_integer(exact(value), mode)
    low, high = (-indefinite, indefinite - 1) if is_signed else (0, (1 << bits) - 1)
    if not low <= number <= high:
        return indefinite, Flag.INVALID
    flags = input_flags(value)
    return number & (1 << bits) - 1, flags | Flag.INEXACT if inexact else flags


def _to_integer(is_signed: bool, truncates: bool) -> Meaning:
    def does(m: State, sf: int, f1: int, f2: int) -> None:
        if any_nat(m, f2):
            m.put_floating(f1, NATVAL)
            return
        mode = Mode.ZERO if truncates else environment(m, sf, "").mode
        bits, flags = converted(m.r[f2], SIGNIFICAND, is_signed, mode)
        _put(m, f1, sf, (integer_to_register(bits), flags))

    return named(does)


def _set_controls(m: State, sf: int, amask7: int, omask7: int) -> None:
    status.set_controls(m, sf, status.controls(m, 0) & amask7 | omask7)


def _clear_flags(m: State, sf: int) -> None:
    status.clear_flags(m, sf)


def _check_flags(m: State, sf: int, target25: int) -> None:
    found = status.flags(m, sf)
    if found & ~status.traps(m) or found & ~status.flags(m, 0):
        m.target = target25


_OTHERS: dict[str, Meaning] = {
    "fsetc": named(_set_controls),
    "fclrf": named(_clear_flags),
    "fchkf": named(_check_flags),
    "fclass.m": named(_classify),
    "fclass.m.unc": named(_classify),
    "frcpa": named(_reciprocal),
    "frsqrta": named(_root_reciprocal),
}


def _meanings() -> Iterator[tuple[str, Meaning]]:
    for name in _SIGNS:
        for completer in ("", "s", "d"):
            yield f"{name}.{completer}".rstrip("."), _fused(name, completer)
    for relation in ("eq", "lt", "le", "unord"):
        for unconditional in ("", ".unc"):
            yield f"fcmp.{relation}{unconditional}", _compare(relation)
    for name in ("min", "max", "amin", "amax"):
        yield f"f{name}", _choose(name)
    for letters, is_signed in (("fx", True), ("fxu", False)):
        yield f"fcvt.{letters}", _to_integer(is_signed, truncates=False)
        yield f"fcvt.{letters}.trunc", _to_integer(is_signed, truncates=True)


MEANINGS: dict[str, Meaning] = {**_OTHERS, **dict(_meanings())}
