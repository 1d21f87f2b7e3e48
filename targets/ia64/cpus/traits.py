"""What timing asks of an IA-64 instruction, read off its row of the table.

The names of kinds are those of the sources: `mov ar.rsc=`, `mov =ar.bsp`, `srlz.d`; beside them
stand the groups that the tables of pairs name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.masks import bits
from rewriter.core.run.kept import by, kept
from rewriter.core.target.bundled_cpu import ANY, BundledTraits, Role
from targets.ia64.isa.alike import those
from targets.ia64.isa.b_unit import BWH
from targets.ia64.isa.fields import QP, SLOT, Unit
from targets.ia64.isa.formats import SlotFormat, SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import NAMES, NUMBERS, PR

_MOVES = ("TOAR_M", "TOAR_I", "TOCR", "FRAR_M", "FRAR_I", "FRCR")
_NAMED = ("SYST_M", "SYST_M0", "SYST_M2", "RSE_M", "BR_B2")
# Classes whose r3 is the address of an access.
_ACCESSES = frozenset(["LD", "CLD", "ST", "SEM", "FLD", "FLDP", "FCLD", "STF", "LFETCH"])
_ROTATING = ("br.ctop", "br.cexit", "br.wtop", "br.wexit")
_TAKEN = (".sptk", ".dptk")
_STORES = frozenset({"ST", "STF"})
_BACKING = frozenset({"ar.rsc", "ar.bspstore", "ar.bsp", "ar.rnat"})
# What no value is waited for; the tables of pairs have the register stack engine's registers.
_STATE = frozenset({*range(NUMBERS["ip"], len(NAMES)), *map(NUMBERS.__getitem__, _BACKING)})
_INDEX = re.compile(r"\[.*?\]|\{.*?\}|,.*")


@dataclass(frozen=True, slots=True)
class _Row:
    """What does not depend on the operands: roles by index, the bases that are incremented.

    `sched` and `kinds` are for all instructions of the row unless one of its `moved` operands
    names a register that they depend on.  The operand at `hint` expects it taken with a value of
    `taken`.
    """

    reads: tuple[tuple[int, str], ...]
    bases: tuple[int, ...]
    sched: str
    kinds: frozenset[str]
    moved: bool
    hint: int
    taken: frozenset[int]


@cache
def _row(op: Op) -> _Row:
    layout = op.format
    assert isinstance(layout, SlotFormat)
    names = [operand.name for operand in layout.operands]
    read = layout.read
    hint, taken = _hint(op)
    return _Row(
        reads=tuple((n, _role(op.sched, name)) for n, name in enumerate(names) if name in read),
        bases=tuple(map(names.index, layout.updates)),
        sched=_class_of(op),
        kinds=frozenset(_kinds(op)),
        moved=not {"ar3", "cr3"}.isdisjoint(names),
        hint=hint,
        taken=taken,
    )


def _traits(insn: Insn) -> BundledTraits:
    op, row = insn.op, _row(insn.op)
    assert isinstance(op, SlotOp)
    uses, defs = TABLE.uses(insn), TABLE.defs(insn)
    bases = {insn.operands[n] for n in row.bases}
    return BundledTraits(
        unit=Unit(insn.operand(SLOT.name)).name if op.unit == "A" else op.unit,
        sched=_class_of(op, insn.operands) if row.moved else row.sched,
        kinds=frozenset(_kinds(op, insn.operands)) if row.moved else row.kinds,
        reads=tuple(_read(uses, row, insn.operands)),
        writes=tuple(_written(defs, bases)),
        uses=uses,
        defs=defs,
        flow=TABLE.flow(insn),
        is_predicated=insn.has(QP.name) and insn.operand(QP.name) != PR,
        rotates=op.name in _ROTATING,
        frame=insn.operand("sor") if op.name == "alloc" else None,
        hinted=insn.operands[row.hint] in row.taken,
    )


_SEEN = (SLOT.name, "sor", BWH.name)
_key = by(those(lambda operand: operand.kind is Kind.REGISTER or operand.name in _SEEN))
"""The row and the operands that the traits depend on: most numbers are none of them."""

traits = kept(_traits, _key)
"""Everything that the model of an Itanium 2 looks at in an instruction."""


def _hint(op: Op) -> tuple[int, frozenset[int]]:
    """Where the completer that says taken or not is, and the values that say taken.

    Without one nothing is expected to be: a check.
    """
    for number, operand in enumerate(op.format.operands):
        if operand.name == BWH.name:
            return number, frozenset(n for n, name in enumerate(operand.names) if name in _TAKEN)
    return 0, frozenset()


def spelled(op: Op, operands: tuple[int, ...] = ()) -> str:
    """A move as the sources write it, the general register left out: `mov ar.rsc=`, `mov =psr`."""
    text = op.format.syntax
    for operand, value in zip(op.format.operands, operands, strict=False):
        if operand.name in ("ar3", "cr3"):
            text = text.replace(f"{{{operand.name}}}", NAMES[value])
    left, _, right = (_INDEX.sub("", side).strip() for side in text.partition("="))
    return f"mov {left}={right}"


def _class_of(op: Op, operands: tuple[int, ...] = ()) -> str:
    """The table's class, refined where the model's figures depend on more than it says."""
    sched = op.sched
    if sched in _MOVES:
        return f"{sched} {spelled(op, operands)}"
    if sched in _NAMED:
        return f"{sched} {spelled(op) if op.name == 'mov' else op.name}"
    if sched in ("FLD", "FLDP") and op.name.endswith((".a", ".sa")):
        return f"{sched} advanced"
    if sched == "FLDP" and ".c." in op.name:
        return f"{sched} check"
    return f"{sched} {op.name}" if sched == "BR" else sched


def _kinds(op: Op, operands: tuple[int, ...] = ()) -> Iterator[str]:
    yield from (ANY, op.sched, op.name)
    if op.name.startswith("mov"):
        name = spelled(op, operands)
        yield name
        if name.endswith("="):
            yield f"{name}{'imm' if any(o.name == 'imm8' for o in op.format.operands) else 'reg'}"
        if _BACKING & set(re.split("[ =]", name)):
            yield "RSE_AR"
    if op.name in ("srlz.d", "srlz.i"):
        yield "srlz"
    if isinstance(op, SlotOp) and op.unit in ("M", "B", "F") and not op.name.startswith("nop"):
        yield f"{op.unit} unit"


def _role(sched: str, operand: str) -> str:
    if operand == QP.name:
        return QP.name
    if operand == "r3" and sched in _ACCESSES:
        return "address"
    return "data" if sched in _STORES else "value"


def _read(mask: int, row: _Row, operands: tuple[int, ...]) -> Iterator[Role]:
    """The roles of what the mask names; what no operand names is a value or a state."""
    named: set[int] = set()
    for n, name in row.reads:
        register = operands[n]
        if mask >> register & 1 and register not in _STATE:
            named.add(register)
            yield _named(register, name)
    for register in bits(mask):
        if register not in named:
            yield _named(register, "state" if register in _STATE else "value")


def _written(mask: int, bases: set[int]) -> Iterator[Role]:
    for register in bits(mask):
        state = "state" if register in _STATE else "result"
        yield _named(register, "base" if register in bases else state)


_named = cache(Role)
