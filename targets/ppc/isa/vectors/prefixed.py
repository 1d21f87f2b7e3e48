"""Rows: floating-point and vector instructions with a prefix (Power ISA 3.1B, Book I, 1.6.3)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Does, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.isa.formats import d, prefix, row
from targets.ppc.meanings import floating as scalar
from targets.ppc.meanings import vector_memory as vector
from targets.ppc.meanings.unknown import pure

_8LS, _8RR, _MLS = 0, 1, 2  # types of prefixes
_LEVEL = "3.1"

# Name, register, type of the prefix, opcode of the suffix, meaning, scheduling class.
_MEMORY = (
    ("plfs", "frt", _MLS, d(48), scalar.loading(scalar.load_single), "fpload"),
    ("plfd", "frt", _MLS, d(50), scalar.loading(scalar.load_double), "fpload"),
    ("pstfs", "frs", _MLS, d(52), scalar.storing(scalar.store_single), "fpstore"),
    ("pstfd", "frs", _MLS, d(54), scalar.storing(scalar.store_double), "fpstore"),
    ("plxsd", "vrt", _8LS, d(42), scalar.loading(scalar.load_double), "fpload"),
    ("plxssp", "vrt", _8LS, d(43), scalar.loading(scalar.load_single), "fpload"),
    ("pstxsd", "vrs", _8LS, d(46), scalar.storing(scalar.store_double), "fpstore"),
    ("pstxssp", "vrs", _8LS, d(47), scalar.storing(scalar.store_single), "fpstore"),
    ("plxv", "xt26", _8LS, d(50), vector.loading(vector.load), "vecload"),
    ("pstxv", "xt26", _8LS, d(54), vector.storing(vector.store), "vecstore"),
    ("plxvp", "xtp", _8LS, d(58), vector.load_pair, "vecload"),
    ("pstxvp", "xtp", _8LS, d(62), vector.store_pair, "vecstore"),
)

# Name, text, what else is fixed in the suffix, shape.
_SPLATS = (
    ("xxsplti32dx", "xt16,ix,imm32", 0, "V=nn"),
    ("xxspltidp", "xt16,imm32", 2 << 17, "v=n"),
    ("xxspltiw", "xt16,imm32", 3 << 17, "v=n"),
)
_FOUR = "xt,xa,xb,xc"
# Name, text, suffix, shape.
_FOURS = (
    ("xxblendvb", _FOUR, d(33, 0 << 4), "v=vvv"),
    ("xxblendvh", _FOUR, d(33, 1 << 4), "v=vvv"),
    ("xxblendvw", _FOUR, d(33, 2 << 4), "v=vvv"),
    ("xxblendvd", _FOUR, d(33, 3 << 4), "v=vvv"),
    ("xxpermx", f"{_FOUR},uim3p", d(34, 0 << 4), "v=vvvn"),
    ("xxeval", f"{_FOUR},imm8p", d(34, 1 << 4), "v=vvvn"),
)


def _from_here(meaning: Does) -> Does:
    """An access whose displacement counts from the instruction."""

    def does(m: Machine, register: Reg, displacement: Value) -> None:
        meaning(m, register, displacement, m.code(m.following - 8))

    return does


def _memory() -> Iterator[Op]:
    for name, register, kind, suffix, meaning, sched in _MEMORY:
        near = meaning(name)
        bits = prefix(kind, 0, suffix), prefix(kind, 1, suffix)
        yield row(name, f"{register},d34(ra0),0", bits[0], near, sched, _LEVEL)
        yield row(name, f"{register},d34(0),1", bits[1], _from_here(near), sched, _LEVEL)


def _permutes() -> Iterator[Op]:
    for name, text, more, shape in _SPLATS:
        bits = prefix(_8RR, 0, d(32) | more)
        yield row(name, text, bits, pure(shape)(name), "vecperm", _LEVEL)
    for name, text, suffix, shape in _FOURS:
        yield row(name, text, prefix(_8RR, 0, suffix), pure(shape)(name), "vecperm", _LEVEL)


ROWS = (*_memory(), *_permutes())
