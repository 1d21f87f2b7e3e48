"""Floating-point registers: moves, loads, stores, the FPSCR (Power ISA 3.1B, Book I, chapter 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings import wide
from targets.ppc.meanings.unknown import Maker, Unknown, recorded
from targets.ppc.meanings.wide import DOUBLEWORD, Parts
from targets.ppc.registers import FPSCR_CONTROLS, FPSCR_FLAGS, FPSCR_RESULT

Sign: TypeAlias = Callable[[Machine, Value, Value], Value]
"""The first part of a result from that of the source and the bit of the sign."""

SAME: Sign = lambda m, top, sign: top  # noqa: E731
NEGATED: Sign = lambda m, top, sign: top ^ sign  # noqa: E731
NEGATIVE: Sign = lambda m, top, sign: top | sign  # noqa: E731
POSITIVE: Sign = lambda m, top, sign: top & ~sign  # noqa: E731

ALL = (FPSCR_CONTROLS, FPSCR_FLAGS, FPSCR_RESULT)


def _sign(m: Machine) -> Value:
    return m.const(1 << m.width - 1)


# Moves -------------------------------------------------------------------------------------


def copy(sign: Sign) -> Maker:
    """FMR and its like: frb, with another sign."""

    def make(name: str) -> Does:
        def does(m: Machine, frt: Reg, frb: Reg) -> None:
            top, *rest = wide.get(m, frb, DOUBLEWORD)
            wide.put_first(m, frt, [sign(m, top, _sign(m)), *rest], name)

        return recorded(name, does)

    return make


def copy_sign(name: str) -> Does:
    """FCPSGN: frb with the sign of fra."""

    def does(m: Machine, frt: Reg, fra: Reg, frb: Reg) -> None:
        top, *rest = wide.get(m, frb, DOUBLEWORD)
        sign = m.get(fra) & _sign(m)
        wide.put_first(m, frt, [sign | top & ~_sign(m), *rest], name)

    return recorded(name, does)


def merge(even: bool) -> Maker:
    """FMRGEW, FMRGOW: the even words (the first) of two doublewords, or the odd ones."""

    def make(name: str) -> Does:
        def does(m: Machine, frt: Reg, fra: Reg, frb: Reg) -> None:
            words = [words_of(m, wide.get(m, register, DOUBLEWORD)) for register in (fra, frb)]
            chosen = [pair[0 if even else 1] for pair in words]
            wide.put_first(m, frt, of_words(m, chosen), name)

        return does

    return make


def words_of(m: Machine, value: Parts) -> list[Value]:
    """The words of a value in parts, the most significant first."""
    if m.width == 32:
        return value
    return [word for part in value for word in (m.lshr(part, m.const(32)), m.zext(part, 32))]


def of_words(m: Machine, words: list[Value]) -> Parts:
    """The parts that words make."""
    if m.width == 32:
        return words
    pairs = zip(words[::2], words[1::2], strict=True)
    return [m.shl(high, m.const(32)) | m.zext(low, 32) for high, low in pairs]


# Memory ------------------------------------------------------------------------------------

Load: TypeAlias = Callable[[Machine, Value], Parts]
Store: TypeAlias = Callable[[Machine, Value, Parts], None]


def load_double(m: Machine, address: Value) -> Parts:
    """LFD: a doubleword."""
    return wide.load(m, address, DOUBLEWORD)


def load_single(m: Machine, address: Value) -> Parts:
    """LFS: a number of single precision, as one of double precision."""
    return wide.unknown(m, "single to double", DOUBLEWORD, m.load(address, 4))


def load_word(m: Machine, address: Value) -> Parts:
    """LFIWZX: a word, zero-extended."""
    return of_words(m, [m.const(0), m.load(address, 4)])


def load_signed_word(m: Machine, address: Value) -> Parts:
    """LFIWAX: a word, sign-extended."""
    word = m.load(address, 4)
    return of_words(m, [m.ashr(m.sext(word, 32), m.const(31)), word])


def store_double(m: Machine, address: Value, value: Parts) -> None:
    """STFD: a doubleword."""
    wide.store(m, address, value)


def store_single(m: Machine, address: Value, value: Parts) -> None:
    """STFS: a number of double precision, as one of single precision."""
    m.store(address, m.opaque("double to single", *value), 4)


def store_word(m: Machine, address: Value, value: Parts) -> None:
    """STFIWX: the low word."""
    m.store(address, words_of(m, value)[-1], 4)


def loading(load: Load, base: int | None = None) -> Maker:
    """A load from the sum of the operands after the first; the register of operand `base`, if
    any, then holds the address."""

    def make(name: str) -> Does:
        def does(m: Machine, *operands: Any) -> None:
            frt, *addends = operands
            address = m.get(addends[0]) + m.get(addends[1])
            wide.put_first(m, frt, load(m, address), name)
            if base is not None:
                m.set(operands[base], address)

        return does

    return make


def storing(store: Store, base: int | None = None) -> Maker:
    """A store to the sum of the operands after the first, with update as in `loading`."""

    def make(name: str) -> Does:
        def does(m: Machine, *operands: Any) -> None:
            frs, *addends = operands
            address = m.get(addends[0]) + m.get(addends[1])
            store(m, address, wide.get(m, frs, DOUBLEWORD))
            if base is not None:
                m.set(operands[base], address)

        return does

    return make


# The FPSCR ---------------------------------------------------------------------------------

_FIELDS = (
    *((FPSCR_FLAGS,),) * 3,
    (FPSCR_FLAGS, FPSCR_RESULT),
    (FPSCR_RESULT,),
    (FPSCR_FLAGS,),
    *((FPSCR_CONTROLS,),) * 2,
)
"""What has bits in each field of the lower word, four bits each (4.2.2)."""

_UPPER = (FPSCR_CONTROLS,)  # of the upper word: the decimal rounding mode


def reading(shape: str, *registers: Reg, sets: tuple[Reg, ...] = ()) -> Maker:
    """MFFS and its like: the FPSCR, or what some of it holds."""

    def make(name: str) -> Does:
        return recorded(name, Unknown(shape, reads=registers, sets=sets)(name.removesuffix(".")))

    return make


def _change(m: Machine, name: str, registers: set[Reg], whole: set[Reg], *values: Value) -> None:
    """Sets some of the FPSCR, which may raise an exception; of what is not set as a whole, the
    rest stays."""
    m.arithmetic(name, *values)
    for register in sorted(registers):
        old = () if register in whole else (m.get(register),)
        m.set(register, m.opaque(f"{name} {register:d}", *values, *old))


def set_fields(name: str) -> Does:
    """MTFSF: the fields that a mask chooses, of the lower word or (w) the upper; with l all."""

    def does(m: Machine, flm: int, frb: Reg, l25: int, w: int) -> None:
        values = [*wide.get(m, frb, DOUBLEWORD), m.const(flm << 2 | l25 << 1 | w)]
        chosen = [n for n in range(8) if flm >> 7 - n & 1]
        if l25:
            registers, whole = set(ALL), set(ALL)
        elif w:
            registers, whole = set(_UPPER) if chosen else set(), set()
        else:
            registers = {register for n in chosen for register in _FIELDS[n]}
            others = {r for n, field in enumerate(_FIELDS) if n not in chosen for r in field}
            whole = registers - others - set(_UPPER)
        _change(m, name.removesuffix("."), registers, whole, *values)

    return recorded(name, does)


def set_field(name: str) -> Does:
    """MTFSFI: one field, of the lower word or (w) the upper."""

    def does(m: Machine, bff: int, u: int, w: int) -> None:
        registers = set(_UPPER if w else _FIELDS[bff])
        _change(m, name.removesuffix("."), registers, set(), m.const(bff << 5 | u << 1 | w))

    return recorded(name, does)


def set_bit(name: str) -> Does:
    """MTFSB0, MTFSB1: one bit."""

    def does(m: Machine, btf: int) -> None:
        field = _FIELDS[btf >> 2]
        registers = {field[btf & 3 != 0] if len(field) > 1 else field[0]}
        _change(m, name.removesuffix("."), registers, set(), m.const(btf))

    return recorded(name, does)


def take_field(m: Machine, bf: Reg, field: int) -> None:
    """MCRFS: a field; its exceptions are cleared."""
    values = [m.const(field), *(m.get(register) for register in ALL)]
    m.set(bf, m.opaque("mcrfs", *values))
    if FPSCR_FLAGS in _FIELDS[field]:
        m.set(FPSCR_FLAGS, m.opaque("mcrfs clears", *values[:1], m.get(FPSCR_FLAGS)))
