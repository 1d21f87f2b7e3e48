"""Rotates, masks and shifts (Power ISA 3.1B, Book I, section 3.3.14).

Lengths and ends of masks are selectors, so that they are plain numbers here.  A mask of the manual
runs from bit `mb` to bit `me`, counted from the most significant, and wraps around where `me` is
the smaller one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings.operate import (
    PLAIN,
    WORD,
    Forms,
    finish,
    sign,
    signed_word,
    unsigned_word,
)
from targets.ppc.registers import CA

Mask: TypeAlias = int


def mask(mb: int, me: int, width: int) -> Mask:
    """Ones from bit `mb` to bit `me` of `width`, counted from the most significant."""
    ones = (1 << width) - 1
    from_first, to_last = ones >> mb, ones & ~(ones >> me + 1)
    return from_first & to_last if mb <= me else from_first | to_last


def _rotated(m: Machine, value: Value, by: int, kept: Mask) -> Value:
    """The bits of `value` rotated left that a mask keeps; of two parts one is often all masked."""
    if by == 0:
        return value & m.const(kept)
    low = (1 << by) - 1  # where the bits stand that went around
    left = m.shl(value, m.const(by)) if kept & ~low else m.const(0)
    right = m.lshr(value, m.const(m.width - by)) if kept & low else m.const(0)
    return (left | right) & m.const(kept)


def _rotated_word(m: Machine, value: Value, by: int, kept: Mask) -> Value:
    """The bits of a word rotated left; a mask that wraps around sees it in both halves of 64."""
    if m.width == WORD:
        return _rotated(m, value, by, kept)
    word, low = unsigned_word(m, value), (1 << by) - 1
    if kept >> WORD:
        turned = m.shl(word, m.const(by)) | m.lshr(word, m.const(WORD - by))
        twice = unsigned_word(m, turned) | m.shl(turned, m.const(WORD))
        return twice & m.const(kept)
    left = m.shl(word, m.const(by)) if kept & ~low else m.const(0)
    right = m.lshr(word, m.const(WORD - by)) if kept & low else m.const(0)
    return (left | right) & m.const(kept)


def _word_mask(m: Machine, mb: int, me: int) -> Mask:
    return mask(mb + m.width - WORD, me + m.width - WORD, m.width)


def rotate_word(forms: Forms) -> Does:
    """rlwinm."""

    def does(m: Machine, ra: Reg, rs: Reg, sh: int, mb: int, me: int) -> None:
        kept = _word_mask(m, mb, me)
        finish(m, forms, ra, _rotated_word(m, m.get(rs), sh, kept), m.const(0))

    return does


def insert_word(forms: Forms) -> Does:
    """rlwimi."""

    def does(m: Machine, ra: Reg, rs: Reg, sh: int, mb: int, me: int) -> None:
        kept = _word_mask(m, mb, me)
        result = _rotated_word(m, m.get(rs), sh, kept) | m.get(ra) & m.const(~kept)
        finish(m, forms, ra, result, m.const(0))

    return does


def rotate_word_by(forms: Forms) -> Does:
    """rlwnm: by the low bits of rb."""

    def does(m: Machine, ra: Reg, rs: Reg, rb: Reg, mb: int, me: int) -> None:
        value, by = m.get(rs), m.get(rb) & m.const(WORD - 1)
        kept = _word_mask(m, mb, me)
        if m.width == WORD:
            turned = _turned(m, value, by)
        else:
            word = unsigned_word(m, value)
            twice = word | m.shl(word, m.const(WORD))
            turned = m.lshr(m.shl(twice, by), m.const(WORD))
            if kept >> WORD:
                turned = turned | m.shl(turned, m.const(WORD))
        finish(m, forms, ra, turned & m.const(kept), m.const(0))

    return does


def _turned(m: Machine, value: Value, by: Value) -> Value:
    """Rotated left by what is in a register."""
    back = (m.const(0) - by) & m.const(m.width - 1)
    return m.shl(value, by) | m.lshr(value, back)


Ends: TypeAlias = Callable[[int, int], tuple[int, int]]
"""The ends of a mask, from the length of the shift and the end that is encoded."""


def clear_left(sh: int, mb: int) -> tuple[int, int]:
    """rldicl, rldcl."""
    return mb, 63


def clear_right(sh: int, me: int) -> tuple[int, int]:
    """rldicr, rldcr."""
    return 0, me


def clear_both(sh: int, mb: int) -> tuple[int, int]:
    """rldic, rldimi."""
    return mb, 63 - sh


def rotate(ends: Ends, forms: Forms) -> Does:
    """rldicl, rldicr, rldic."""

    def does(m: Machine, ra: Reg, rs: Reg, sh: int, end: int) -> None:
        kept = mask(*ends(sh, end), 64)
        finish(m, forms, ra, _rotated(m, m.get(rs), sh, kept), m.const(0))

    return does


def insert(forms: Forms) -> Does:
    """rldimi."""

    def does(m: Machine, ra: Reg, rs: Reg, sh: int, mb: int) -> None:
        kept = mask(*clear_both(sh, mb), 64)
        result = _rotated(m, m.get(rs), sh, kept) | m.get(ra) & m.const(~kept)
        finish(m, forms, ra, result, m.const(0))

    return does


def rotate_by(ends: Ends, forms: Forms) -> Does:
    """rldcl, rldcr: by the low bits of rb."""

    def does(m: Machine, ra: Reg, rs: Reg, rb: Reg, end: int) -> None:
        turned = _turned(m, m.get(rs), m.get(rb) & m.const(63))
        finish(m, forms, ra, turned & m.const(mask(*ends(0, end), 64)), m.const(0))

    return does


# Shifts ------------------------------------------------------------------------------------


def _length(m: Machine, rb: Reg, bits: int) -> tuple[Value, Value]:
    """The length of a shift of so many bits, one more than the machine shifts by, and whether
    all is shifted out."""
    by = m.get(rb)
    over = m.eq(by & m.const(bits), m.const(bits))
    return by & m.const(bits - 1), over


def shift_left(bits: int, forms: Forms) -> Does:
    """slw, sld."""
    return _logical(bits, forms, lambda m, value, by: m.shl(value, by))


def shift_right(bits: int, forms: Forms) -> Does:
    """srw, srd."""
    return _logical(bits, forms, lambda m, value, by: m.lshr(value, by))


def _logical(bits: int, forms: Forms, shift: Callable[[Machine, Value, Value], Value]) -> Does:
    def does(m: Machine, ra: Reg, rs: Reg, rb: Reg) -> None:
        value = m.get(rs)
        if bits < m.width:  # what is shifted out of the word is beyond its register
            by = m.get(rb) & m.const(2 * bits - 1)
            result = unsigned_word(m, shift(m, unsigned_word(m, value), by))
        else:
            by, over = _length(m, rb, bits)
            result = m.ite(over, m.const(0), shift(m, value, by))
        finish(m, forms, ra, result, m.const(0))

    return does


def shift_signed(bits: int, forms: Forms) -> Does:
    """sraw, srad: CA says that ones of a negative number were shifted out."""

    def does(m: Machine, ra: Reg, rs: Reg, rb: Reg) -> None:
        value = m.get(rs) if bits == m.width else signed_word(m, m.get(rs))
        if bits < m.width:
            by = m.get(rb) & m.const(2 * bits - 1)
            result = m.ashr(value, by)
            lost = m.negate(m.eq(m.shl(result, by), value))
        else:
            by, over = _length(m, rb, bits)
            filled = m.ashr(value, m.const(bits - 1))
            result = m.ite(over, filled, m.ashr(value, by))
            all_lost = m.eq(m.shl(m.ashr(value, by), by), value)
            lost = m.negate(m.both(m.negate(over), all_lost))
        _carry(m, value, lost)
        finish(m, forms, ra, result, m.const(0))

    return does


def shift_signed_by(bits: int, forms: Forms) -> Does:
    """srawi, sradi."""

    def does(m: Machine, ra: Reg, rs: Reg, sh: int) -> None:
        value = m.get(rs) if bits == m.width else signed_word(m, m.get(rs))
        below = value & m.const((1 << sh) - 1)
        _carry(m, value, m.negate(m.eq(below, m.const(0))))
        finish(m, forms, ra, m.ashr(value, m.const(sh)), m.const(0))

    return does


def _carry(m: Machine, value: Value, lost: Value) -> None:
    m.set(CA, sign(m, value) & m.bit(lost))


def extend_and_shift(forms: Forms = PLAIN) -> Does:
    """extswsli."""

    def does(m: Machine, ra: Reg, rs: Reg, sh: int) -> None:
        result = m.shl(signed_word(m, m.get(rs)), m.const(sh))
        finish(m, forms, ra, result, m.const(0))

    return does
