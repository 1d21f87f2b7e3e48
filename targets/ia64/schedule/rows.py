"""What each row of the table says about the order of its instructions, found once a row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from functools import cache

from rewriter.core.isa.instruction import Flow
from targets.ia64.isa.classes import FREE, RELOADING, SWITCHING, changes_state
from targets.ia64.isa.fields import QP
from targets.ia64.isa.formats import SlotFormat, SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.prove.orders import size_of


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
    POINTER = 2048  # moves the stack's pointer: among accesses
    WATCHED = 4096  # reads what interrupting code changes: among fences
    EXIT = 8192  # control may leave here: among all but the watched and what has no order
    SWITCH = 16384  # other registers by the same names: as SYSTEM, but among no watched


_FENCES = Order.FENCE | Order.SYSTEM
_STAYING = _FENCES | Order.SWITCH | Order.EXIT
_ACCESSES = Order.LOAD | Order.STORE | Order.TRACKED
ORDERED = _ACCESSES | Order.POINTER | Order.COUNTED | Order.ENGINE | _STAYING
# What an instruction of each kind may not change places with.  Loads and stores are not here where
# the addresses decide.
_AMONG = {
    Order.LOAD: _STAYING | Order.POINTER,
    Order.STORE: _STAYING | Order.POINTER | Order.TRACKED,
    Order.TRACKED: _STAYING | Order.POINTER | Order.TRACKED | Order.STORE,
    Order.POINTER: _STAYING | Order.POINTER | _ACCESSES,
    Order.COUNTED: _STAYING,
    Order.ENGINE: _STAYING | Order.ENGINE,
    Order.FENCE: ORDERED | Order.WATCHED,
    Order.SYSTEM: ORDERED | Order.WATCHED,
    Order.SWITCH: ORDERED,
    Order.WATCHED: _FENCES,
    Order.STACKED: Order.RENAMES,
    Order.RENAMES: Order.RENAMES | Order.STACKED,
}
_EVERYTHING = 2 * Order.SWITCH - 1
_EXITS = ("chk.", "fchkf", "br", "rfi")
_FIXED = ("break", "brp")
_FRAMES = ("alloc", "cover", "clrrrb")


@dataclass(frozen=True, slots=True)
class Row:
    """What the row alone says of its instructions.

    `keeps`: its targets may be read later as they were (another bank, a check load that finds).
    `gathers` is how it gathers predicates, `none` if it gathers nothing and empty if bits of
    status; `compares` says that it is a compare which writes predicates of which at most one is
    true, and is `unc` if also where it is predicated off.  `step` are the operands of a sum: what
    becomes what plus how much.
    """

    order: int
    base: int | None
    size: int
    is_nop: bool
    is_fixed: bool
    keeps: bool
    predicate: int | None
    gathers: str
    compares: str
    step: tuple[int, int, int] | None


@cache
def of(op: SlotOp) -> Row:
    """What a row says."""
    effects = TABLE.effects(op)
    is_access = effects.loads or effects.stores
    return Row(
        order=int(_order(op) | Order.PLAIN),
        base=op.format.positions["r3"] if is_access else None,
        size=size_of(op.name) if is_access else 0,
        is_nop=op.name.startswith("nop."),
        is_fixed=op.name.startswith(_FIXED),
        keeps=op.name.startswith(("bsw.", "rfi")) or ".c." in op.name,
        predicate=op.format.positions.get(QP.name),
        gathers=_gathers(op),
        compares=_compares(op),
        step=_step(op),
    )


def _order(op: SlotOp) -> Order:
    if op.name.startswith(_EXITS) or op.flow is not Flow.NEXT:
        return Order.WALL | Order.SYSTEM
    if (op.sched in FREE and not op.needs) or op.name.startswith("nop."):
        return Order(0)  # what only some CPUs know faults on the others
    effects = TABLE.effects(op)
    if effects.loads or effects.stores:
        return _access_order(op, effects.stores)
    order = Order.RENAMES if op.name.startswith(_FRAMES) else Order(0)
    if op.name in SWITCHING:
        return order | Order.SWITCH
    if op.name == RELOADING:  # it reads memory wherever the backing store is, as a load would
        return order | Order.TRACKED | Order.ENGINE
    if changes_state(op):
        return order | Order.SYSTEM
    return order | Order.COUNTED


def _access_order(op: SlotOp, stores: bool) -> Order:
    order = Order.STORE if stores else Order.LOAD
    if op.sched == "SEM" or {"acq", "rel"} & set(op.name.split(".")):
        order |= Order.FENCE
    if {"a", "sa", "s", "c"} & set(op.name.split(".")):
        order |= Order.TRACKED
    return order


@cache
def among(order: int) -> int:
    """The kinds among which an instruction of these kinds keeps its place."""
    if order & Order.WALL:
        return int(_EVERYTHING)
    found = Order.WALL
    for kind, others in _AMONG.items():
        if order & kind:
            found |= others
    return int(found)


def _gathers(op: SlotOp) -> str:
    """How it gathers predicates; nothing if it gathers bits of status."""
    name = op.name
    if name.endswith(".or.andcm"):
        return "or.andcm"
    if name.endswith((".and", ".or")) and "p1" in op.format.positions:
        return name.rpartition(".")[2]
    return "none" if op.sched == "FOTHER" or name.startswith("mov") else ""


_COMPARES = ("cmp", "cmp4", "tbit", "tnat", "tf", "fcmp", "fclass")


def _compares(op: SlotOp) -> str:
    """Whether it is such a compare: `unc` if also where it is predicated off, else nothing."""
    name, _, completers = op.name.partition(".")
    if name not in _COMPARES or {"and", "or", "andcm"} & set(completers.split(".")):
        return ""
    return "unc" if op.name.endswith(".unc") else "normal"


def _step(op: SlotOp) -> tuple[int, int, int] | None:
    """The operands of a sum: what becomes what plus how much."""
    layout = op.format
    assert isinstance(layout, SlotFormat)
    place = layout.positions
    if op.name in ("adds", "addl"):
        return place["r1"], place["r3"], place["imm14" if op.name == "adds" else "imm22"]
    increments = "r3" in layout.updates and "imm9" in place
    return (place["r3"], place["r3"], place["imm9"]) if increments else None
