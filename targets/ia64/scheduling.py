"""What a scheduler asks about IA-64 instructions: registers, places, accesses, what stays in order.

Two instructions that touch one register may share a group where `groups` knows an exception; the
later one then still stands behind the earlier one.  What changes the machine's state keeps its
order among its like, and among memory accesses where it may change what those do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import IntFlag

from rewriter.core.isa import Flow, Insn, Kind, Reg, register_mask
from rewriter.core.kept import Kept
from rewriter.core.regions import Access, Facts
from targets.ia64.classes import FREE, RUNNING, changes_state
from targets.ia64.fields import QP, SLOT, Unit
from targets.ia64.formats import SlotFormat, SlotOp
from targets.ia64.groups import violations
from targets.ia64.isa import TABLE
from targets.ia64.proving_orders import size_of
from targets.ia64.registers import FR, GR, NUMBERS, PR


class Order(IntFlag):
    """Why an instruction keeps its place among some others."""

    LOAD = 1
    STORE = 2
    TRACKED = 4  # enters the ALAT or asks it: among stores
    COUNTED = 8  # may fault, or works with the state: stays on its side of fences
    FENCE = 16  # acquire, release, semaphore: among all that has an order
    SYSTEM = 32  # a fence that may need a stop behind it
    ENGINE = 64  # moves from and to the register stack engine: among their like and fences
    STACKED = 128  # names registers of the frame, which may be renamed
    RENAMES = 256  # changes what those names stand for
    PLAIN = 512  # every instruction is of this kind, too
    WALL = 1024  # control may leave here: nothing crosses it


_FENCES = Order.FENCE | Order.SYSTEM
_ORDERED = Order.LOAD | Order.STORE | Order.TRACKED | Order.COUNTED | Order.ENGINE | _FENCES
# What an instruction of each kind may not change places with.  Loads and stores are not here where
# the addresses decide.
_AMONG = {
    Order.LOAD: _FENCES,
    Order.STORE: _FENCES | Order.TRACKED,
    Order.TRACKED: _FENCES | Order.TRACKED | Order.STORE,
    Order.COUNTED: _FENCES,
    Order.ENGINE: _FENCES | Order.ENGINE,
    Order.FENCE: _ORDERED,
    Order.SYSTEM: _ORDERED,
    Order.STACKED: Order.RENAMES,
    Order.RENAMES: Order.RENAMES | Order.STACKED,
}
_EVERYTHING = 2 * Order.WALL - 1
_REGISTERS = register_mask((*range(GR, GR + 128), *range(FR, FR + 128)))
_PREDICATES = register_mask(range(PR + 1, PR + 64))
_ALAT = 1 << NUMBERS["alat"]
_IP = 1 << NUMBERS["ip"]
_GATHERED = register_mask((NUMBERS["fpsr.flags"], NUMBERS["psr.mf"]))
_EXITS = ("chk.", "fchkf", "br", "rfi")
_FIXED = ("break", "brp")
_FRAMES = ("alloc", "cover", "clrrrb")
FRAMED = register_mask(range(GR + 32, GR + 128))
_STACKED = register_mask(
    (*range(GR + 32, GR + 128), *range(FR + 32, FR + 128), *range(PR + 16, PR + 64))
)
_ENGINE = register_mask(NUMBERS[name] for name in ("ar.rsc", "ar.bsp", "ar.bspstore", "ar.rnat"))


def row(insn: Insn) -> SlotOp:
    """The instruction's row of the table."""
    assert isinstance(insn.op, SlotOp)
    return insn.op


@Kept
def facts(insn: Insn) -> Facts:
    """All that is asked of an instruction."""
    op = row(insn)
    uses, defs = TABLE.uses(insn) & ~_ALAT, TABLE.defs(insn) & ~_ALAT
    if op.name.startswith("bsw."):
        uses |= defs & _REGISTERS  # of the bank that goes, for when it comes back
    predicate = insn.operand(QP.name) if insn.has(QP.name) else PR
    order = _order(insn, op) | (
        Order.STACKED | Order.PLAIN if (uses | defs) & _STACKED else Order.PLAIN
    )
    return Facts(
        uses=uses & ~_IP,
        defs=defs,
        gathers=_gathers(insn, defs),
        order=int(order),
        among=_among(order),
        predicate=0 if predicate == PR else predicate,
        either=_either(insn),
        access=_access(insn),
        stores=bool(order & Order.STORE),
        step=_step(insn) if predicate == PR else None,
        is_nop=op.name.startswith("nop."),
        is_fixed=bool(TABLE.uses(insn) & _IP) or op.name.startswith(_FIXED),
        is_system=bool(order & (Order.SYSTEM | Order.ENGINE)),
        is_free=not order & _ORDERED,
    )


@Kept
def passable(insn: Insn) -> Facts:
    """What is known of a branch that instructions which are free of any order may pass."""
    order, among = Order.SYSTEM | Order.STACKED | Order.PLAIN, _ORDERED | Order.RENAMES | Order.WALL
    return replace(facts(insn), order=int(order), among=int(among), is_system=False)


def _order(insn: Insn, op: SlotOp) -> Order:
    if op.name.startswith(_EXITS) or op.flow is not Flow.NEXT:
        return Order.WALL | Order.SYSTEM
    if op.sched in FREE or op.name.startswith("nop."):
        return Order(0)
    effects = TABLE.effects(op)
    if effects.loads or effects.stores:
        return _access_order(op, effects.stores)
    order = Order.RENAMES if op.name.startswith(_FRAMES) else Order(0)
    uses, defs = TABLE.uses(insn), TABLE.defs(insn)
    if changes_state(op) or (uses | defs) & RUNNING:
        return order | Order.SYSTEM
    if op.sched in ("TOAR_M", "FRAR_M") and (uses | defs) & _ENGINE:
        return order | Order.ENGINE
    return order | Order.COUNTED


def _access_order(op: SlotOp, stores: bool) -> Order:
    order = Order.STORE if stores else Order.LOAD
    if op.sched == "SEM" or {"acq", "rel"} & set(op.name.split(".")):
        order |= Order.FENCE
    if {"a", "sa", "s", "c"} & set(op.name.split(".")):
        order |= Order.TRACKED
    return order


def _among(order: Order) -> int:
    if order & Order.WALL:
        return int(_EVERYTHING)
    among = Order.WALL
    for kind, others in _AMONG.items():
        if order & kind:
            among |= others
    return int(among)


def _gathers(insn: Insn, defs: int) -> tuple[int, int]:
    """What it only ever sets and clears: bits of status, or whole predicates."""
    name = insn.name
    if name.endswith(".or.andcm"):
        return 1 << insn.operand("p1"), 1 << insn.operand("p2")
    if name.endswith((".and", ".or")) and insn.has("p1"):
        both = 1 << insn.operand("p1") | 1 << insn.operand("p2")
        return (both, 0) if name.endswith(".or") else (0, both)
    if insn.op.sched == "FOTHER" or name.startswith("mov"):
        return 0, 0
    return defs & _GATHERED, 0


_COMPARES = ("cmp", "cmp4", "tbit", "tnat", "tf", "fcmp", "fclass")


def _either(insn: Insn) -> frozenset[int]:
    """The targets of a compare that writes one and its complement, or clears both."""
    name, _, completers = insn.name.partition(".")
    if name not in _COMPARES or {"and", "or", "andcm"} & set(completers.split(".")):
        return frozenset()
    if insn.operand(QP.name) != PR and not insn.name.endswith(".unc"):
        return frozenset()
    return frozenset({insn.operand("p1"), insn.operand("p2")} - {PR})


def _access(insn: Insn) -> Access | None:
    if not (TABLE.effects(insn.op).loads or TABLE.effects(insn.op).stores):
        return None
    return Access(insn.operand("r3"), size_of(insn.name))


def _step(insn: Insn) -> tuple[int, int, int] | None:
    op = insn.op
    if op.name in ("adds", "addl"):
        imm = "imm14" if op.name == "adds" else "imm22"
        return insn.operand("r1"), insn.operand("r3"), insn.operand(imm)
    layout = op.format
    assert isinstance(layout, SlotFormat)
    if "r3" in layout.updates and insn.has("imm9"):
        return insn.operand("r3"), insn.operand("r3"), insn.operand("imm9")
    return None


def shares(earlier: Insn, later: Insn) -> bool:
    """Whether the later one may stand in the group of the earlier one, whose register it needs."""
    return not any(True for _ in violations((earlier, later)))


def needs_stop(earlier: Insn, later: Insn) -> bool:
    """Whether no exception lets both, which clash over a register, stand in one group."""
    mine, others = facts(earlier), facts(later)
    touched = mine.defs & (others.uses | others.defs)
    if touched & _REGISTERS and ".c." not in earlier.name:
        return True
    if mine.defs & others.uses & _PREDICATES and not others.order & Order.WALL:
        return True
    return not shares(earlier, later)


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


@Kept
def _other(insn: Insn) -> Insn:
    """An A-type instruction in a slot of the other unit."""
    return insn.replace(**{SLOT.name: 1 - insn.operand(SLOT.name)})


_KEPT = register_mask((GR + 12, GR + 13))  # a handler of interrupts has its frame and thread there
BANKS = tuple(
    register_mask(range(first, end)) & ~_KEPT
    for first, end in ((GR + 2, GR + 32), (GR + 32, FR), (FR + 2, FR + 32), (FR + 32, PR))
)
"""Registers that can stand for each other; those of the frame are not there before it is."""

SPARE = register_mask((*range(GR + 2, GR + 32), *range(FR + 6, FR + 16))) & ~_KEPT
"""Registers that are there whatever the frame is, and need no enabling."""


@Kept
def renamable(insn: Insn) -> tuple[int, int]:
    """Registers that it can name otherwise, and those that it increments.

    The ALAT knows registers by number: advanced loads and their checks keep theirs.
    """
    layout = insn.op.format
    assert isinstance(layout, SlotFormat)
    if facts(insn).order & (Order.TRACKED | Order.WALL) or facts(insn).is_fixed:
        return 0, 0
    named = register_mask(insn.operand(name) for name in layout.read | layout.written)
    return named, register_mask(insn.operand(name) for name in layout.updates)


def renamed(insn: Insn, reads: Mapping[int, int], writes: Mapping[int, int]) -> Insn:
    """The instruction with other registers; ValueError where it cannot name one."""
    layout = insn.op.format
    assert isinstance(layout, SlotFormat)
    values = {}
    for operand in layout.operands:
        if operand.kind is Kind.REGISTER and operand.name != QP.name:
            mapped = writes if operand.name in layout.written else reads
            register = insn.operand(operand.name)
            if register in mapped:
                values[operand.name] = Reg(mapped[register])
                operand.insert(mapped[register])
    return insn.replace(**values)
