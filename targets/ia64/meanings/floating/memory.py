"""Loads and stores of floating-point registers, and moves from and to general ones
(SDM vol. 3, ldf, ldfp, stf, setf, getf)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn
from targets.ia64.machine.faults import IllegalOperation, NatConsumption
from targets.ia64.machine.state import NATVAL, POISON, State
from targets.ia64.meanings.binding import Meaning, Run, named
from targets.ia64.meanings.floating.real import (
    DOUBLE,
    INTEGER_BIT,
    SIGNIFICAND,
    SINGLE,
    extended_from_register,
    extended_to_register,
    integer_to_register,
    significand_of,
)
from targets.ia64.meanings.memory import ADVANCED, SPECULATIVE, Access, at_address, speculated
from targets.ia64.registers import NAMES


@dataclass(frozen=True, slots=True)
class _Form:
    """A format in memory: bytes, alignment, and the conversions from and to a register."""

    size: int
    step: int
    to_register: Callable[[int], int]
    from_register: Callable[[int], int]


_FORMS: Mapping[str, _Form] = {
    "s": _Form(4, 4, SINGLE.to_register, SINGLE.from_register),
    "d": _Form(8, 8, DOUBLE.to_register, DOUBLE.from_register),
    "8": _Form(8, 8, integer_to_register, significand_of),
    "e": _Form(10, 16, extended_to_register, extended_from_register),
}
_WHOLE = _Form(16, 16, lambda bits: bits & (1 << 82) - 1, lambda value: value)
_SIGN_AND_EXPONENT = (1 << 18) - 1


def _load(form: _Form, enter: bool) -> Callable[[Insn], Access]:
    def make(insn: Insn) -> Access:
        f1 = insn.operand("f1")

        def access(m: State, address: int) -> None:
            m.put_floating(f1, form.to_register(m.load(address, form.size, form.step)))
            if enter:
                m.alat.enter(m.physical(f1), address, form.size)

        return access

    return make


def _load_pair(form: _Form, enter: bool) -> Callable[[Insn], Access]:
    """Two numbers at once; the ALAT knows the pair by its first register."""

    def make(insn: Insn) -> Access:
        f1, f2 = insn.operand("f1"), insn.operand("f2")
        if f1 == f2:
            raise IllegalOperation(f"both numbers go to {NAMES[f1]}")
        bits = 8 * form.size

        def access(m: State, address: int) -> None:
            both = m.load(address, 2 * form.size)
            m.put_floating(f1, form.to_register(both & (1 << bits) - 1))
            m.put_floating(f2, form.to_register(both >> bits))
            if enter:
                m.alat.enter(m.physical(f1), address, 2 * form.size)

        return access

    return make


Load = Callable[[_Form, bool], Callable[[Insn], Access]]


def _checked(load: Load, form: _Form, clear: bool) -> Callable[[Insn], Access]:
    def make(insn: Insn) -> Access:
        f1, again = insn.operand("f1"), load(form, not clear)(insn)

        def access(m: State, address: int) -> None:
            if not m.alat.check(m.physical(f1), clear):
                again(m, address)

        return access

    return make


def _deferring(load: Load, form: _Form, enter: bool) -> Callable[[Insn], tuple[Access, Run]]:
    def make(insn: Insn) -> tuple[Access, Run]:
        targets = [insn.operand(name) for name in ("f1", "f2") if insn.has(name)]

        def defer(m: State) -> None:
            m.alat.entries.pop(m.physical(targets[0]), None)
            for register in targets:
                m.put_floating(register, NATVAL)

        return load(form, enter)(insn), defer

    return make


def _kinds(name: str, load: Load, form: _Form) -> Iterator[tuple[str, Meaning]]:
    for kind in ("", ".a"):
        yield f"{name}{kind}", at_address(load(form, kind in ADVANCED))
    for kind in SPECULATIVE:
        yield f"{name}{kind}", speculated(_deferring(load, form, kind in ADVANCED))
    for kind in (".c.clr", ".c.nc"):
        yield f"{name}{kind}", at_address(_checked(load, form, kind not in ADVANCED))


def _store(form: _Form, spills: bool) -> Callable[[Insn], Access]:
    def make(insn: Insn) -> Access:
        f2 = insn.operand("f2")

        def access(m: State, address: int) -> None:
            value = m.r[f2]
            if value == NATVAL and not spills:
                raise NatConsumption(f"{NAMES[f2]} is NaTVal")
            m.store(address, form.from_register(value), form.size, form.step)

        return access

    return make


def _set(convert: Callable[[int], int]) -> Meaning:
    def does(m: State, f1: int, r2: int) -> None:
        m.put_floating(f1, NATVAL if m.nat[r2] else convert(m.r[r2]))

    return named(does)


def _get(convert: Callable[[int], int]) -> Meaning:
    def does(m: State, r1: int, f2: int) -> None:
        if m.r[f2] == NATVAL:
            m.put(r1, POISON, 1)
        else:
            m.put(r1, convert(m.r[f2]))

    return named(does)


def _check_speculation(m: State, f2: int, target25: int) -> None:
    if m.r[f2] == NATVAL:
        m.target = target25


def _with_exponent(bits: int) -> int:
    return (bits & _SIGN_AND_EXPONENT) << SIGNIFICAND | INTEGER_BIT


def _meanings() -> Iterator[tuple[str, Meaning]]:
    for letter, form in _FORMS.items():
        yield from _kinds(f"ldf{letter}", _load, form)
        yield f"stf{letter}", at_address(_store(form, spills=False))
        if letter != "e":
            yield from _kinds(f"ldfp{letter}", _load_pair, form)
    yield "ldf.fill", at_address(_load(_WHOLE, False))
    yield "stf.spill", at_address(_store(_WHOLE, spills=True))
    yield "chk.s", named(_check_speculation)
    yield "setf.sig", _set(integer_to_register)
    yield "getf.sig", _get(significand_of)
    yield "setf.exp", _set(_with_exponent)
    yield "getf.exp", _get(lambda value: value >> SIGNIFICAND)
    yield "setf.s", _set(SINGLE.to_register)
    yield "getf.s", _get(SINGLE.from_register)
    yield "setf.d", _set(DOUBLE.to_register)
    yield "getf.d", _get(DOUBLE.from_register)


MEANINGS: dict[str, Meaning] = dict(_meanings())
