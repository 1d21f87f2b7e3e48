"""What timing asks of an IA-64 instruction, read off its row of the table.

The names of kinds are those of the sources: `mov ar.rsc=`, `mov =ar.bsp`, `srlz.d`; beside them
stand the groups that the tables of pairs name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rewriter.core.bundled import ANY, BundledTraits, Role
from rewriter.core.isa import Insn, Op
from targets.ia64.fields import QP, SLOT, Unit
from targets.ia64.formats import SlotFormat, SlotOp
from targets.ia64.isa import TABLE
from targets.ia64.registers import NAMES, NUMBERS, PR

_MOVES = ("TOAR_M", "TOAR_I", "TOCR", "FRAR_M", "FRAR_I", "FRCR")
_NAMED = ("SYST_M", "SYST_M0", "SYST_M2", "RSE_M", "BR_B2")
# Classes whose r3 is the address of an access.
_ACCESSES = frozenset(["LD", "CLD", "ST", "SEM", "FLD", "FLDP", "FCLD", "STF", "LFETCH"])
_STORES = frozenset({"ST", "STF"})
_BACKING = frozenset({"ar.rsc", "ar.bspstore", "ar.bsp", "ar.rnat"})
# What no value is waited for; the tables of pairs have the register stack engine's registers.
_STATE = frozenset({*range(NUMBERS["ip"], len(NAMES)), *map(NUMBERS.__getitem__, _BACKING)})
_INDEX = re.compile(r"\[.*?\]|\{.*?\}|,.*")


@cache
def traits(insn: Insn) -> BundledTraits:
    """Everything that the model of an Itanium 2 looks at."""
    op = insn.op
    assert isinstance(op, SlotOp)
    uses, defs = TABLE.uses(insn), TABLE.defs(insn)
    named = _operand_roles(insn)
    return BundledTraits(
        unit=_unit(insn, op),
        sched=_class_of(insn),
        kinds=frozenset(_kinds(insn)),
        reads=tuple(_roles(uses, named)),
        writes=tuple(_written(insn, op, defs)),
        uses=uses,
        defs=defs,
        flow=TABLE.flow(insn),
        is_predicated=insn.has(QP.name) and insn.operand(QP.name) != PR,
    )


def _unit(insn: Insn, op: SlotOp) -> str:
    return Unit(insn.operand(SLOT.name)).name if op.unit == "A" else op.unit


def spelled(op: Op, operands: tuple[int, ...] = ()) -> str:
    """A move as the sources write it, the general register left out: `mov ar.rsc=`, `mov =psr`."""
    text = op.format.syntax
    for operand, value in zip(op.format.operands, operands, strict=False):
        if operand.name in ("ar3", "cr3"):
            text = text.replace(f"{{{operand.name}}}", NAMES[value])
    left, _, right = (_INDEX.sub("", side).strip() for side in text.partition("="))
    return f"mov {left}={right}"


def _class_of(insn: Insn) -> str:
    """The table's class, refined where the model's figures depend on more than it says."""
    op, sched = insn.op, insn.op.sched
    if sched in _MOVES:
        return f"{sched} {spelled(op, insn.operands)}"
    if sched in _NAMED:
        return f"{sched} {spelled(op) if op.name == 'mov' else op.name}"
    if sched in ("FLD", "FLDP") and op.name.endswith((".a", ".sa")):
        return f"{sched} advanced"
    if sched == "FLDP" and ".c." in op.name:
        return f"{sched} check"
    if sched == "BR":
        return f"{sched} {op.name}"
    return sched


def _kinds(insn: Insn) -> Iterator[str]:
    op = insn.op
    yield ANY
    yield op.sched
    yield op.name
    if op.name.startswith("mov"):
        name = spelled(op, insn.operands)
        yield name
        if name.endswith("="):
            yield f"{name}{'reg' if insn.has('r2') else 'imm'}"
        if _BACKING & set(re.split("[ =]", name)):
            yield "RSE_AR"
    if op.name in ("srlz.d", "srlz.i"):
        yield "srlz"
    if isinstance(op, SlotOp) and op.unit in ("M", "B", "F") and not op.name.startswith("nop"):
        yield f"{op.unit} unit"


def _operand_roles(insn: Insn) -> dict[int, set[str]]:
    """The roles of the registers that are read by name."""
    layout = insn.op.format
    assert isinstance(layout, SlotFormat)
    roles: dict[int, set[str]] = {}
    for operand, value in zip(layout.operands, insn.operands, strict=True):
        if operand.name in layout.read:
            roles.setdefault(value, set()).add(_role(insn.op.sched, operand.name))
    return roles


def _role(sched: str, operand: str) -> str:
    if operand == QP.name:
        return QP.name
    if operand == "r3" and sched in _ACCESSES:
        return "address"
    return "data" if sched in _STORES else "value"


def _roles(mask: int, named: dict[int, set[str]]) -> Iterator[Role]:
    for register in _bits(mask):
        if register in _STATE:
            yield Role(register, "state")
        else:
            yield from (Role(register, name) for name in sorted(named.get(register, {"value"})))


def _written(insn: Insn, op: SlotOp, mask: int) -> Iterator[Role]:
    layout = op.format
    assert isinstance(layout, SlotFormat)
    bases = {insn.operand(name) for name in layout.updates}
    for register in _bits(mask):
        state = "state" if register in _STATE else "result"
        yield Role(register, "base" if register in bases else state)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
