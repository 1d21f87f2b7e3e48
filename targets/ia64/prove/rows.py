"""What each instruction is to a proof of reordering: its function, its sums, how it writes.

Taken from the table's rows: classes, effects and names.  All else about an instruction is an
unknown function of its row, its immediates and what it reads (SDM vol. 3, chapter 2).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cache

from rewriter.core.code.transfer import How, Order, Result
from rewriter.core.isa.instruction import Flow, Op
from rewriter.core.isa.operands import Kind, Operand
from targets.ia64.isa.classes import clears
from targets.ia64.isa.fields import QP
from targets.ia64.isa.formats import FIRST, LAST, SLOT2, SlotFormat, SlotOp
from targets.ia64.isa.i_unit import MASK17
from targets.ia64.isa.rows import TABLE
from targets.ia64.prove.orders import exit_of, order_of, size_of
from targets.ia64.prove.row_transfer import MODIFIED, STACKED, RowTransfer, Total, part_of
from targets.ia64.registers import AR, CONSTANTS, FR, GR, NAMES, NUMBERS, PR

_BANKED = tuple(range(GR + 16, GR + 32))
_ROTATING_PREDICATES = tuple(range(PR + 16, PR + 64))
_ROTATING = (*STACKED, *range(FR + 32, FR + 128), *_ROTATING_PREDICATES)
# Registers that get new contents; what one gets may have been in any other.
_EXCHANGED = {
    "bsw.0": _BANKED,
    "bsw.1": _BANKED,
    "cover": STACKED,
    "clrrrb": _ROTATING,
    "clrrrb.pr": _ROTATING_PREDICATES,
}
_CHANGEABLE = tuple(register for register in range(len(NAMES)) if register not in CONSTANTS)
_ALAT, _IP = NUMBERS["alat"], NUMBERS["ip"]
_FLAGS, _UNAT = NUMBERS["fpsr.flags"], NUMBERS["ar.unat"]

_TESTS = ("ICMP", "TBIT", "FCMP", "FCLASS")
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_ON_PREDICATE = ("br.wtop", "br.wexit")  # their predicate says whether to go on, not whether to act
# Operands that say nothing about what is done: predictions of a branch target, bits without use.
SILENT = frozenset(("tag13", "slot", "ignored"))
MASK = MASK17.name  # which predicates are written


def row_transfer(op: Op) -> RowTransfer:
    """What all instructions of a row have in common."""
    layout, effects = op.format, TABLE.effects(op)
    assert isinstance(layout, SlotFormat)
    names = [operand.name for operand in layout.operands]
    guard = names.index(QP.name) if QP.name in names else None
    totals = tuple(_totals(op, layout, names))
    increments = {n for total in totals for n in (*total.addends, total.immediate)}
    summed = {total.target for total in totals}
    is_input = op.name in _ON_PREDICATE
    reads = [n for n in effects.reads if n != guard or is_input]
    if effects.loads or effects.stores or op.sched == "LFETCH":
        reads = _address_first(op, layout, names, reads)
    writes = tuple(_writes(op, [n for n in effects.writes if n not in summed], names))
    exchanged = _EXCHANGED.get(op.name, ())
    distance = next((n for n, o in enumerate(layout.operands) if _is_distance(o.name)), None)
    return RowTransfer(
        op,
        None if is_input else guard,
        totals,
        _is_silent(op),
        (*reads, *(n for n, _, _ in writes if ".c." in op.name)),
        (*sorted(effects.fixed_reads - {_ALAT, _IP}), *exchanged, *_changed_in_part(op)),
        writes,
        tuple(_fixed(op, layout, sorted(effects.fixed_writes.union(exchanged) - {_ALAT}))),
        tuple(n for n, o in enumerate(layout.operands) if _counts(o, n, increments)),
        tuple(n for n, name in enumerate(names) if _is_tagged(op, name)),
        order_of(op),
        size_of(op.name),
        exit_of(op),
        distance,
        op.sched in _TESTS and all(how in (How.SET, How.ALWAYS) for _, _, how in writes),
        _IP in effects.fixed_reads,
        isinstance(op, SlotOp) and not op.rules.isdisjoint((FIRST, LAST, SLOT2)),
        names.index(MASK) if MASK in names else None,
        tuple(n for n in (*reads, *(n for n, _, _ in writes)) if layout.operands[n].base >= AR),
        any(FR <= layout.operands[n].base < PR for n, _, _ in writes),
        _spelling(op),
        tuple((n, _results(part, how)) for n, part, how in writes),
        _renamed(op),
    )


def _renamed(op: Op) -> tuple[int, ...]:
    """The registers that get new values: a frame's, or all that a handler may change.

    A system call has results, and a debugger changes what it likes.
    """
    if op.name == "alloc":
        return STACKED
    return _CHANGEABLE if order_of(op) is Order.SEEN else ()


def _spelling(op: Op) -> tuple[Hashable, ...]:
    """What tells the function from others: the row, by the bits that are fixed in it.

    Where an address goes after an access is no part of it, nor is the slot of a check.
    """
    effects = TABLE.effects(op)
    if effects.loads or effects.stores or op.sched == "LFETCH":
        return (op.name,)
    if op.sched in ("CHK_M", "CHK_I"):  # of an M or an I slot
        return op.name.removesuffix(".m").removesuffix(".i"), op.format.syntax
    return op.match, op.mask


def _is_silent(op: Op) -> bool:
    """Whether there is nothing but sums: nops, predictions and prefetches that cannot fault.

    lfetch.count is none of these: only some CPUs know it.
    """
    if op.name in ("adds", "addl", "add", "movl", "lfetch", "lfetch.excl"):
        return True
    return op.sched == "BRP" or op.name.startswith("nop.")


def _totals(op: Op, layout: SlotFormat, names: list[str]) -> Iterator[Total]:
    if op.name in ("adds", "addl"):
        immediate = next(n for n, name in enumerate(names) if name.startswith("imm"))
        yield Total(names.index("r1"), (names.index("r3"),), immediate)
    elif op.name == "add":
        addends = names.index("r2"), names.index("r3")
        yield Total(names.index("r1"), addends, None, layout.syntax.endswith(",1"))
    elif op.name == "movl":
        yield Total(names.index("r1"), (), names.index("imm64"))
    for name in layout.updates:
        yield _increment(names.index(name), layout.syntax.rpartition(",")[2], names)


def _increment(base: int, by: str, names: list[str]) -> Total:
    """What is added to an address, as the syntax has it after the last comma."""
    if by == "{r2}":
        return Total(base, (base, names.index("r2")))
    if by.startswith("{"):
        return Total(base, (base,), names.index(by[1:-1]))
    return Total(base, (base,), None, int(by))


def _address_first(op: Op, layout: SlotFormat, names: list[str], reads: list[int]) -> list[int]:
    """What an access reads, the address first, without what is added to the address."""
    base = names.index("r3")
    added = names.index("r2") if layout.updates and layout.syntax.endswith("],{r2}") else None
    return [base, *(n for n in reads if n not in (base, added))]


def _writes(op: Op, indices: list[int], names: list[str]) -> Iterator[tuple[int, int, How]]:
    """Index, part and way of each operand that is written."""
    for part, index in enumerate(indices):
        how = _how(op, names[index])
        yield index, part if how in (How.SET, How.ALWAYS) else 0, how


def _how(op: Op, name: str) -> How:
    """A compare of a parallel type changes its targets in one direction only."""
    if name not in ("p1", "p2"):
        return How.SET
    if op.name.endswith(".or.andcm"):
        return How.SETS if name == "p1" else How.CLEARS
    if op.name.endswith(".or"):
        return How.SETS
    if op.name.endswith(".and"):
        return How.CLEARS
    return How.ALWAYS if clears(op) else How.SET


def _fixed(op: Op, layout: SlotFormat, registers: list[int]) -> Iterator[Result]:
    """The results that no operand names; what writes floating-point registers is in `_modified`."""
    has_field = any(operand.name == "sf" for operand in layout.operands)
    if layout.written & {"f1", "f2"}:
        registers = [register for register in registers if register != MODIFIED]
    for register in registers:
        gathers = (register == _FLAGS and has_field and op.name != "fclrf") or (
            register == _UNAT and op.name == "st8.spill"
        )
        yield Result(register, part_of(register), How.GATHERS if gathers else How.SET)


@cache
def _results(part: int, how: How) -> tuple[Result, ...]:
    """A part of a result by the register that it is in: few, and asked for again and again."""
    return tuple(Result(register, part, how) for register in range(len(NAMES)))


def _changed_in_part(op: Op) -> tuple[int, ...]:
    """What a row sets a part of: the rest stays as it was."""
    return (_FLAGS,) if op.name == "fclrf" else ()


def _is_distance(name: str) -> bool:
    return name.startswith("target")


def _counts(operand: Operand, index: int, increments: set[int | None]) -> bool:
    """Whether the function depends on the operand's value as such."""
    if operand.kind is not Kind.IMMEDIATE or operand.name in SILENT:
        return False
    return index not in increments and operand.name != MASK


def _is_tagged(op: Op, name: str) -> bool:
    """An entry of the ALAT has the number of its register; a call links in the register named."""
    effects = TABLE.effects(op)
    enters = _ALAT in effects.fixed_reads and not effects.stores
    return (enters and name in ("r1", "f1", "f2")) or (op.flow in _CALLS and name == "b1")
