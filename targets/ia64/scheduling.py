"""What a scheduler asks about IA-64 instructions: registers, places, accesses, what stays in order.

Two instructions that touch one register may share a group where `groups` knows an exception; the
later one then still stands behind the earlier one.  What changes the machine's state keeps its
order among its like, and among memory accesses where it may change what those do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag
from functools import cache

from rewriter.core.isa import Flow, Insn, Kind, Reg, register_mask
from rewriter.core.regions import Access, Facts
from targets.ia64.fields import QP, SLOT, Unit
from targets.ia64.formats import SlotFormat, SlotOp
from targets.ia64.groups import violations
from targets.ia64.isa import TABLE
from targets.ia64.registers import FR, GR, NUMBERS, PR


class Order(IntFlag):
    """Why an instruction keeps its place among some others."""

    LOAD = 1
    STORE = 2
    FENCED = 4  # acquire, release, semaphore: among all accesses
    TRACKED = 8  # enters the ALAT or asks it: among stores
    EVENT = 16  # seen from outside, or changes what accesses do: among those and accesses
    FRAME = 32  # of the register stack engine: among its like and events
    STATE = 64  # reads what events change
    PREFETCH = 128
    STACKED = 256  # names registers of the frame, which may be renamed
    RENAMES = 512  # changes what those names stand for
    WALL = 1024  # control may leave here: nothing crosses it


_ACCESS = Order.LOAD | Order.STORE
# What an instruction of each kind may not change places with.  Loads and stores are not here where
# the addresses decide.
_AMONG = {
    Order.LOAD: Order.FENCED | Order.EVENT,
    Order.STORE: Order.FENCED | Order.EVENT | Order.TRACKED,
    Order.FENCED: _ACCESS | Order.FENCED | Order.EVENT | Order.PREFETCH | Order.TRACKED,
    Order.TRACKED: Order.STORE | Order.TRACKED | Order.FENCED | Order.EVENT,
    Order.FRAME: Order.FRAME | Order.EVENT,
    Order.STATE: Order.EVENT,
    Order.PREFETCH: Order.PREFETCH | Order.EVENT | Order.FENCED,
    Order.STACKED: Order.RENAMES,
    Order.RENAMES: Order.RENAMES | Order.STACKED,
}
_EVERYTHING = 2 * int(Order.WALL) - 1
# An event keeps its place among all that has a kind, but for the registers that it names.
_AMONG[Order.EVENT] = Order(_EVERYTHING & ~(Order.WALL | Order.STACKED | Order.RENAMES))


_REGISTERS = register_mask((*range(GR, GR + 128), *range(FR, FR + 128)))
_PREDICATES = register_mask(range(PR + 1, PR + 64))
_ALAT = 1 << NUMBERS["alat"]
_IP = 1 << NUMBERS["ip"]
_GATHERED = register_mask((NUMBERS["fpsr.flags"], NUMBERS["psr.mf"]))
_EXITS = ("chk.", "fchkf", "br", "rfi")
_FIXED = ("break", "brp")
_FRAMES = ("alloc", "cover", "clrrrb")
_STACKED = register_mask(
    (*range(GR + 32, GR + 128), *range(FR + 32, FR + 128), *range(PR + 16, PR + 64))
)
_BACKING = register_mask(
    NUMBERS[name] for name in ("ar.rsc", "ar.bsp", "ar.bspstore", "ar.rnat", "rse")
)
_CLOCKS = register_mask((NUMBERS["ar.itc"], NUMBERS["ar.ruc"]))
_STATES = register_mask(
    range(NUMBERS["cr.dcr"], NUMBERS["ip"]),
) | register_mask(
    NUMBERS[name]
    for name in ("psr", "psr.um", "psr.cpl", "tlb", "rr", "dbr", "ibr", "pkr", "pmc", "pmd", "msr")
)
_READING = ("probe", "tpa", "tak", "thash", "ttag")
_SIZES = {"e": 16, "8": 8, "s": 4, "d": 8}


@cache
def facts(insn: Insn) -> Facts:
    """All that is asked of an instruction."""
    op = insn.op
    assert isinstance(op, SlotOp)
    uses, defs = TABLE.uses(insn) & ~_ALAT, TABLE.defs(insn) & ~_ALAT
    predicate = insn.operand(QP.name) if insn.has(QP.name) else PR
    order = _order(insn, op) | (Order.STACKED if (uses | defs) & _STACKED else Order(0))
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
        is_system=bool(order & (Order.EVENT | Order.FRAME | Order.STATE)),
    )


def _order(insn: Insn, op: SlotOp) -> Order:
    if op.name.startswith(_EXITS) or op.flow is not Flow.NEXT:
        return Order.WALL | Order.EVENT
    if op.sched == "LFETCH":
        return Order.EVENT if ".fault" in op.name else Order.PREFETCH
    effects = TABLE.effects(op)
    order = Order(0)
    if effects.loads:
        order |= Order.LOAD
    if effects.stores:
        order |= Order.STORE
    if order:
        if op.sched == "SEM" or ".acq" in op.name or ".rel" in op.name:
            order |= Order.FENCED
        if {"a", "sa", "s", "c"} & set(op.name.split(".")):
            order |= Order.TRACKED
        return order
    return _state(insn, op, bool(effects.events))


def _state(insn: Insn, op: SlotOp, is_event: bool) -> Order:
    """The order of what accesses no memory."""
    uses, defs = TABLE.uses(insn), TABLE.defs(insn)
    renames = Order.RENAMES if op.name.startswith(_FRAMES) else Order(0)
    if is_event or defs & _STATES or uses & _CLOCKS:
        return Order.EVENT | Order.FRAME | renames
    if (uses | defs) & _BACKING:
        return Order.FRAME | renames
    if uses & _STATES or op.name.startswith(_READING):
        return Order.STATE
    return renames


def _among(order: Order) -> int:
    if order & Order.WALL:
        return _EVERYTHING
    among = int(Order.WALL)
    for kind, others in _AMONG.items():
        if order & kind:
            among |= int(others) & _EVERYTHING
    return among


def _gathers(insn: Insn, defs: int) -> int:
    if insn.op.sched == "FOTHER" or insn.op.name.startswith("mov"):
        return 0
    return defs & _GATHERED


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
    return Access(insn.operand("r3"), _size(insn.name))


def _size(name: str) -> int:
    """Bytes that an access of this name takes, at most."""
    head = name.partition(".")[0]
    if head.startswith(("ldfp", "ldf", "stf")):
        if head in ("ldf", "stf"):  # fill, spill
            return 16
        size = _SIZES[head[-1]]
        return 2 * size if head.startswith("ldfp") else size
    digits = head.removeprefix("cmp8xchg").lstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits)


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
    if not distance:
        return insn
    operands = insn.op.format.operands
    targets = {o.name: insn.operand(o.name) - distance for o in operands if o.kind is Kind.TARGET}
    return insn.replace(**targets) if targets else insn


@cache
def on(insn: Insn, unit: Unit) -> Insn:
    """The instruction in a slot of `unit`."""
    if insn.op.unit != "A" or insn.operand(SLOT.name) == unit:
        return insn
    return insn.replace(**{SLOT.name: int(unit)})


BANKS = (register_mask(range(GR + 2, FR)), register_mask(range(FR + 2, PR)))
"""Registers that can stand for each other."""

SPARE = register_mask((*range(GR + 2, GR + 32), *range(FR + 6, FR + 16)))
"""Registers that are there whatever the frame is, and need no enabling."""


@cache
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
