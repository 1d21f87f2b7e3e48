"""How Alpha gives up a line that will be stored, and the tests and branches around that."""

from __future__ import annotations

from rewriter.core.isa.instruction import Insn
from targets.alpha import conditional
from targets.alpha.isa.rows import TABLE

LINE = 64
"""Bytes (Alpha Architecture Handbook v4, 4.11)."""

NOTHING = conditional.NOTHING
jump, is_jump = conditional.jump, conditional.is_jump

_GIVE_UP = frozenset({"wh64", "wh64en"})
_OPPOSITE = {"beq": "bne", "blt": "bge", "ble": "bgt", "blbs": "blbc"}
_OPPOSITE |= {other: test for test, other in _OPPOSITE.items()}
_LITERAL = "operate literal"
_STEPS = {"addq": (1, 64), "subq": (-1, 64), "addl": (1, 32), "subl": (-1, 32)}


def give_up(base: int) -> Insn:
    """What makes the line at an address ours, with any contents."""
    return Insn(TABLE.find("wh64"), (base,))


def given_up(insn: Insn) -> int | None:
    """The register with the address of the line that an instruction gives up."""
    return insn.operands[0] if insn.name in _GIVE_UP else None


def stepping(insn: Insn) -> tuple[int, int, int] | None:
    """(register, distance, bits) of what adds a number to a register, in so many bits."""
    if insn.name == "lda":
        target, step, source = insn.operands
        return (target, step, 64) if target == source else None
    if insn.name in _STEPS and insn.op.format.name == _LITERAL:
        source, step, target = insn.operands
        sign, bits = _STEPS[insn.name]
        return (target, sign * step, bits) if target == source else None
    return None


def displaced(insn: Insn, base: int, distance: int) -> Insn | None:
    """An access farther from its base; None where that is too far or it has another."""
    if insn.op.format.target is not None or insn.operand("rb") != base:
        return None
    displacement = insn.operand("disp") + distance
    return insn.replace(disp=displacement) if -0x8000 <= displacement < 0x8000 else None


def plus(source: int, distance: int, target: int) -> Insn | None:
    """target = source + distance; None where that is too far."""
    if not -0x8000 <= distance < 0x8000:
        return None
    return Insn(TABLE.find("lda"), (target, distance, source))


def low_bits(source: int, mask: int, target: int) -> Insn:
    """target = source & mask, of at most eight bits."""
    return Insn(TABLE.find("and", _LITERAL), (source, mask, target))


def difference(first: int, second: int, target: int, bits: int) -> Insn:
    """target = first - second, in so many bits."""
    return Insn(TABLE.find("subl" if bits == 32 else "subq", "operate"), (first, second, target))


def at_most(source: int, limit: int, target: int, signed: bool) -> Insn | None:
    """target = whether source is at most a number; None where that does not fit."""
    if not 0 <= limit < 256:
        return None
    return Insn(TABLE.find("cmple" if signed else "cmpule", _LITERAL), (source, limit, target))


def branch(test: str, register: int, distance: int) -> Insn:
    """A branch by how a register compares with zero: eq, ne, lt, le, gt or ge."""
    return Insn(TABLE.find(f"b{test}"), (register, distance))


def opposite(insn: Insn, distance: int) -> Insn | None:
    """The branch with the opposite test; None where there is none."""
    if insn.name not in _OPPOSITE or insn.op.format.target is None:
        return None
    return Insn(TABLE.find(_OPPOSITE[insn.name]), (insn.operands[0], distance))
