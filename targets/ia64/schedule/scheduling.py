"""What a scheduler asks about IA-64 instructions: registers, places, accesses, what stays in order.

Two instructions that touch one register may share a group where `groups` knows an exception; the
later one then still stands behind the earlier one.  What changes the machine's state keeps its
order among its like, and among memory accesses where it may change what those do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from rewriter.core.code.scheduling import Access, Facts
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg, register_mask
from rewriter.core.run.kept import by, kept
from targets.ia64.isa.alike import names, those
from targets.ia64.isa.classes import KERNEL, RUNNING
from targets.ia64.isa.fields import SLOT, Unit
from targets.ia64.isa.formats import SlotFormat, SlotOp
from targets.ia64.isa.groups import clash
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import FR, GR, NUMBERS, PR
from targets.ia64.schedule import rows as rows
from targets.ia64.schedule.rows import ORDERED, Order
from targets.ia64.standard import STACK, THREAD

# As numbers, which are faster.
_NONE: frozenset[int] = frozenset()
_STORE, _COUNTED, _MACHINE = int(Order.STORE), int(Order.COUNTED), int(Order.SYSTEM)
_NUMBERED = int(Order.TRACKED | Order.WALL)
_POINTER, _WALL = int(Order.POINTER | Order.PLAIN), int(Order.WALL)
_STATE = int(Order.SYSTEM | Order.SWITCH | Order.ENGINE)
_ORDER = int(ORDERED | Order.WATCHED)
_REGISTERS = register_mask((*range(GR, GR + 128), *range(FR, FR + 128)))
_PREDICATES = register_mask(range(PR + 1, PR + 64))
_ALAT = 1 << NUMBERS["alat"]
_IP = 1 << NUMBERS["ip"]
_GATHERED = register_mask((NUMBERS["fpsr.flags"], NUMBERS["psr.mf"]))
FRAMED = register_mask(range(GR + 32, GR + 128))
REFRAMES = Order.RENAMES
_STACKED = register_mask(
    (*range(GR + 32, GR + 128), *range(FR + 32, FR + 128), *range(PR + 16, PR + 64))
)
_ENGINE = register_mask(NUMBERS[name] for name in ("ar.rsc", "ar.bsp", "ar.bspstore", "ar.rnat"))


def row(insn: Insn) -> SlotOp:
    """The instruction's row of the table."""
    assert isinstance(insn.op, SlotOp)
    return insn.op


def _facts(insn: Insn) -> Facts:
    op = row(insn)
    known = rows.of(op)
    uses, defs = TABLE.uses(insn), TABLE.defs(insn)
    order = _order(op, known, uses | defs, defs)
    touches_ip = uses & _IP
    uses, defs = uses & ~(_ALAT | _IP), defs & ~_ALAT
    if known.keeps:
        uses |= defs & _REGISTERS
    values = insn.operands
    predicate = PR if known.predicate is None else values[known.predicate]
    step = None
    if known.step and predicate == PR:
        first, second, distance = known.step
        step = values[first], values[second], values[distance]
    return Facts(
        uses=uses,
        defs=defs,
        gathers=_gathers(insn, known, defs),
        order=order,
        among=rows.among(order),
        predicate=0 if predicate == PR else predicate,
        either=_either(insn, known, predicate),
        access=None if known.base is None else Access(values[known.base], known.size),
        stores=bool(order & _STORE),
        step=step,
        is_nop=known.is_nop,
        is_fixed=bool(touches_ip) or known.is_fixed,
        is_system=bool(order & _STATE),
        is_free=not order & _ORDER,
    )


named = by(those(names))
"""The row and the operands that say more than a number does."""


def _summed(op: Op) -> Iterator[int]:
    """The operands that say more than a number does, and the number of a sum."""
    assert isinstance(op, SlotOp)
    step = rows.of(op).step
    yield from (n for n, o in enumerate(op.format.operands) if names(o) or (step and n == step[-1]))


facts = kept(_facts, by(_summed))
"""All that is asked of an instruction."""


@kept
def passable(insn: Insn) -> Facts:
    """What is known of a branch that instructions which are free of any order may pass, and reads
    of what interrupting code changes."""
    order, among = Order.EXIT | Order.STACKED | Order.PLAIN, ORDERED | Order.RENAMES | Order.WALL
    return replace(facts(insn), order=int(order), among=int(among), is_system=False)


def _order(op: SlotOp, known: rows.Row, touched: int, defs: int) -> int:
    """The kinds of an instruction that touches these registers and writes some of them."""
    order = known.order
    if defs >> STACK & 1 and not order & _WALL:
        order |= _POINTER
    if order & _COUNTED:
        if touched & RUNNING:
            order ^= _COUNTED | _MACHINE
        elif op.sched in ("TOAR_M", "FRAR_M") and touched & _ENGINE:
            order ^= _COUNTED | int(Order.ENGINE)
        elif op.sched == "FRAR_M" and touched & KERNEL:
            order ^= _COUNTED | int(Order.WATCHED)
    return order | int(Order.STACKED) if touched & _STACKED else order


def _gathers(insn: Insn, known: rows.Row, defs: int) -> tuple[int, int]:
    """What it only ever sets and clears: bits of status, or whole predicates."""
    if not known.gathers:
        return defs & _GATHERED, 0
    if known.gathers == "none":
        return 0, 0
    one, other = 1 << insn.operand("p1"), 1 << insn.operand("p2")
    if known.gathers == "or.andcm":
        return one, other
    return (one | other, 0) if known.gathers == "or" else (0, one | other)


def _either(insn: Insn, known: rows.Row, predicate: int) -> frozenset[int]:
    """The targets of a compare that writes one and its complement, or clears both."""
    if known.compares and (predicate == PR or known.compares == "unc"):
        return frozenset({insn.operand("p1"), insn.operand("p2")} - {PR})
    return _NONE


def needs_stop(earlier: Insn, later: Insn) -> bool:
    """Whether no exception lets both, which clash over a register, stand in one group."""
    mine, others = facts(earlier), facts(later)
    touched = mine.defs & (others.uses | others.defs)
    if touched & _REGISTERS and ".c." not in earlier.name:
        return True
    if mine.defs & others.uses & _PREDICATES and not others.order & Order.WALL:
        return True
    return clash(earlier, later)


def moved(insn: Insn, distance: int) -> Insn:
    """The instruction `distance` bytes further on, with the targets that it has here."""
    if not distance or insn.op.flow is Flow.NEXT:  # a prediction without a bundle says 0
        return insn
    operands = insn.op.format.operands
    targets = {o.name: insn.operand(o.name) - distance for o in operands if o.kind is Kind.TARGET}
    return insn.replace(**targets) if targets else insn


def on(insn: Insn, unit: Unit) -> Insn:
    """The instruction in a slot of `unit`."""
    if row(insn).unit != "A" or insn.operand(SLOT.name) == unit:
        return insn
    return _other(insn)


@kept
def _other(insn: Insn) -> Insn:
    """An A-type instruction in a slot of the other unit."""
    values, at = insn.operands, insn.op.format.positions[SLOT.name]
    return Insn(insn.op, (*values[:at], 1 - values[at], *values[at + 1 :]))


_BRANCHES = ("br.cond", "brl.cond")  # their predicate says nothing but whether they are taken
_KEPT = register_mask((STACK, THREAD))
BANKS = tuple(
    register_mask(range(first, end)) & ~_KEPT
    for first, end in ((GR + 2, FR), (FR + 2, FR + 32), (FR + 32, PR), (PR + 1, PR + 16))
)
"""Registers that can stand for each other, those of the frame where they are shown to be there.

Predicates from p16 on rotate.
"""

SPARE = (
    register_mask((*range(GR + 2, GR + 32), *range(FR + 6, FR + 16), *range(PR + 6, PR + 16)))
    & ~_KEPT
)
"""Registers that are there whatever the frame is, and need no enabling."""


@cache
def _registers(op: SlotOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where its operands are that name registers, and those that it increments."""
    layout = op.format
    assert isinstance(layout, SlotFormat)
    named, updates = layout.read | layout.written, layout.updates
    return tuple(map(layout.index, named)), tuple(map(layout.index, updates))


def _renamable(insn: Insn) -> tuple[int, int]:
    # The ALAT knows registers by number: advanced loads and their checks keep theirs.
    known = facts(insn)
    if known.is_fixed or known.order & _NUMBERED:
        return (1 << known.predicate, 0) if insn.name.startswith(_BRANCHES) else (0, 0)
    named, updates = _registers(row(insn))
    values = insn.operands
    gathered = (known.gathers[0] | known.gathers[1]) & _PREDICATES
    free = register_mask([values[n] for n in named]) & ~gathered
    return free, register_mask([values[n] for n in updates]) | gathered


renamable = kept(_renamable, named)
"""Registers that an instruction can name otherwise, and those that it increments or gathers in:
what they hold goes on.  Of a branch that is its predicate."""


@cache
def _named(op: SlotOp) -> tuple[tuple[Operand, bool], ...]:
    """The operands that name registers, and whether each is written."""
    layout = op.format
    assert isinstance(layout, SlotFormat)
    written = layout.written
    kinds = (o for o in layout.operands if o.kind is Kind.REGISTER)
    return tuple((operand, operand.name in written) for operand in kinds)


def renamed(insn: Insn, reads: Mapping[int, int], writes: Mapping[int, int]) -> Insn:
    """The instruction with other registers; ValueError where it cannot name one."""
    values = {}
    for operand, is_written in _named(row(insn)):
        mapped = writes if is_written else reads
        register = insn.operand(operand.name)
        if register in mapped:
            values[operand.name] = Reg(mapped[register])
            operand.insert(mapped[register])
    return insn.replace(**values)
