"""What an instruction must keep its order with, how much it accesses, how control leaves at it.

From the classes of the table's rows (SDM vol. 3: the instructions' pages; what needs a
serialization is in chapter 5).
"""

from __future__ import annotations

import re

from rewriter.core.code.transfer import Exit, Order
from rewriter.core.isa.instruction import Flow, Op
from rewriter.core.isa.registers import register_mask
from targets.ia64.isa.classes import (
    FREE,
    KERNEL,
    RELOADING,
    RUNNING,
    SWITCHING,
    changes_state,
)
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import NUMBERS
from targets.ia64.standard import STACK

# A branch and a check are seen by where they go, the address of the code by its result.
_FREE = FREE | {"FRIP", "CHK_M", "CHK_I", "BR", "BR_B2"}
_LOADS = ("LD", "CLD", "FLD", "FCLD", "FLDP")
_ORDERING = ("mf", "mf.a")
# What all of these change is in registers that its readers name: no stop is needed for the rest.
_ENGINE = ("alloc", "flushrs")
_CERTAIN = ("br.cond", "brl.cond", "br.call", "brl.call", "br.ret", "br.ia", "rfi")
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_ROTATES = ("br.ctop", "br.cexit", "br.wtop", "br.wexit")

# Bytes of floating-point accesses, by what follows ldf or stf; an extended number has ten, of
# sixteen that are its own by alignment.
_FP_BYTES = {
    "e": 16, "8": 8, "s": 4, "d": 8, "p8": 16, "ps": 8, "pd": 16, ".fill": 16, ".spill": 16,
}  # fmt: skip
_INTEGER_SIZE = re.compile(r"(?:ld|st|xchg|cmpxchg|fetchadd)(\d+)")
_FP_SIZE = re.compile(r"(?:ld|st)f(p?[8sd]|e|\.fill|\.spill)")


def order_of(op: Op) -> Order:
    """The order of a row; moves from and to some registers have another (`moved_order`).

    What only some CPUs know faults on the others, so it is never free.
    """
    sched, name, effects = op.sched, op.name, TABLE.effects(op)
    if sched.startswith("BRK"):
        return Order.SEEN
    if sched in _LOADS or sched in ("ST", "STF", "SEM"):
        return _access_order(op)
    if sched == "CHK_ALAT" or name == RELOADING:
        return Order.CHECKED
    if name in SWITCHING:
        return Order.SWITCH
    if name in (*_ORDERING, *_ENGINE) or sched == "SYST_M" or sched.startswith("NOP"):
        return Order.FENCE
    if changes_state(op) or NUMBERS["pmd"] in effects.fixed_reads:
        return Order.SYSTEM
    return Order.FREE if sched in _FREE and not op.needs else Order.COUNTED


def moved_order(sched: str, order: Order, touched: tuple[int, ...], defs: int) -> Order:
    """The order of an instruction that touches these registers, if its row has `order`.

    All accesses stay on their side of a move of the stack's pointer, of the mask `defs`.
    """
    if sched in ("TOAR_M", "FRAR_M", "FRCR") and register_mask(touched) & RUNNING:
        return Order.SYSTEM
    if sched == "FRAR_M" and register_mask(touched) & KERNEL:
        return Order.WATCHED
    return Order.STACK if defs >> STACK & 1 and not order.is_fence else order


def _access_order(op: Op) -> Order:
    name = op.name
    if op.sched == "SEM" or name.endswith((".acq", ".rel")):
        return Order.FENCE
    if TABLE.effects(op).stores:
        return Order.STORE
    is_checked = ".c." in name or name.endswith((".a", ".sa"))
    return Order.CHECKED if is_checked else Order.LOAD


def size_of(name: str) -> int:
    """Bytes of an access, 0 for what is none."""
    if name.startswith("cmp8xchg16"):
        return 16
    if match := _INTEGER_SIZE.match(name):
        return int(match[1])
    match = _FP_SIZE.match(name)
    return _FP_BYTES[match[1]] if match else 0


def exit_of(op: Op) -> Exit | None:
    """How control may leave at an instruction of the row."""
    if op.flow in (Flow.NEXT, Flow.TRAP):
        return None
    certain = op.name.startswith(_CERTAIN)
    return Exit(None, certain, op.flow in _CALLS, op.name in _ROTATES)
