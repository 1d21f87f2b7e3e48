"""What each instruction is to a proof of reordering: its function, its sums, how it writes.

Taken from the table's rows: classes, effects and names.  All else about an instruction is an
unknown function of its name, its immediates and what it reads (SDM vol. 3, chapter 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from rewriter.core.isa import Flow, Insn, Kind, Op, Operand
from rewriter.core.transfer import Exit, How, Order, Result, Sum, Transfer
from targets.ia64.fields import QP
from targets.ia64.formats import FIRST, LAST, SLOT2, SlotFormat, SlotOp
from targets.ia64.groups import read as touched
from targets.ia64.isa import TABLE
from targets.ia64.proving_orders import exit_of, moved_order, order_of, size_of
from targets.ia64.registers import (
    AR,
    FR,
    GR,
    NAMES,
    NUMBERS,
    PR,
    READ_TO_WRITE,
    READ_WITH,
    WRITTEN_WITH,
)
from targets.ia64.standard import STACK

STACKED = tuple(range(GR + 32, GR + 128))
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
_ALAT, _IP = NUMBERS["alat"], NUMBERS["ip"]
ANY_ORDER = 1 << _ALAT  # within a group its uses are in the order of the slots
_FLAGS, _MODIFIED, _UNAT = NUMBERS["fpsr.flags"], NUMBERS["psr.mf"], NUMBERS["ar.unat"]

_TESTS = ("ICMP", "TBIT", "FCMP", "FCLASS")
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_ON_PREDICATE = ("br.wtop", "br.wexit")  # their predicate says whether to go on, not whether to act
# Operands that say nothing about what is done: predictions of a branch target, bits without use.
SILENT = frozenset(("tag13", "slot", "ignored"))
MASK = "mask17"  # the operand that says which predicates are written


@dataclass(frozen=True, slots=True)
class _Total:
    """A sum in a row: indices of the target, the addends and the constant."""

    target: int
    addends: tuple[int, ...]
    immediate: int | None = None
    constant: int = 0

    def of(self, values: tuple[int, ...]) -> Sum:
        constant = self.constant if self.immediate is None else values[self.immediate]
        return Sum(values[self.target], tuple(values[n] for n in self.addends), constant)


@dataclass(frozen=True, slots=True)
class Making:
    """A row made ready for its instructions.

    `guard`, `reads`, `immediates`, `tagged` and `distance` index operands: the predicate, what the
    function reads, what it depends on, registers whose number it depends on, the way to the target;
    `mask` one that says which predicates are written, `numbered` those that name registers of the
    system.  `spelling` is what tells the function from those of other rows; `results` has those of
    `writes` by the register that an operand names.
    """

    op: Op
    guard: int | None
    totals: tuple[_Total, ...]
    is_silent: bool
    reads: tuple[int, ...]
    fixed_reads: tuple[int, ...]
    writes: tuple[tuple[int, int, How], ...]
    fixed_writes: tuple[Result, ...]
    immediates: tuple[int, ...]
    tagged: tuple[int, ...]
    order: Order
    size: int
    exit: Exit | None
    distance: int | None
    is_test: bool
    is_placed: bool
    is_ruled: bool
    mask: int | None
    numbered: tuple[int, ...]
    is_floating: bool
    spelling: tuple[str, ...]
    results: tuple[tuple[int, tuple[Result, ...]], ...]

    def transfer(self, insn: Insn, wrong: str) -> Transfer:
        """What the instruction of this row is; `wrong` is why the processor refuses it."""
        values = insn.operands
        guard = None if self.guard is None or values[self.guard] == PR else values[self.guard]
        sums = tuple([total.of(values) for total in self.totals])
        uses, defs = touched(insn) & ~ANY_ORDER, TABLE.defs(insn) & ~ANY_ORDER
        if self.is_silent and not defs >> STACK & 1:
            asks = insn.operand("r3") if self.op.sched == "LFETCH" else None
            return Transfer(insn.name, uses, defs, guard=guard, sums=sums, wrong=wrong, asks=asks)
        read = tuple([values[n] for n in self.reads])
        written = tuple([by_register[values[n]] for n, by_register in self.results])
        named = (*read, *[each.register for each in written])
        is_alloc = insn.name == "alloc"
        return Transfer(
            insn.name,
            uses,
            defs,
            self._function(values),
            guard,
            (*read, *self.fixed_reads, *(_besides(read, written) if self.numbered else ())),
            (*self._selected(insn, written), *(_modified(written) if self.is_floating else ())),
            sums,
            moved_order(self.op.sched, self.order, named, defs),
            self.size,
            self.exit_of(values),
            self.is_test,
            self.is_placed,
            is_alloc,
            STACKED if is_alloc else (),
            wrong,
            self.is_ruled,
        )

    def _function(self, values: tuple[int, ...]) -> tuple[object, ...]:
        """A system register is more than a place for a value: its number counts."""
        told = (*self.immediates, *self.numbered, *self.tagged)
        return *self.spelling, *[values[n] for n in told]

    def _selected(self, insn: Insn, written: tuple[Result, ...]) -> Iterator[Result]:
        """The results without those that a mask leaves out, with those that come along."""
        if self.mask is None:
            yield from self.fixed_writes
        else:
            mask = insn.operands[self.mask]
            for result in self.fixed_writes:
                number = result.register - PR
                if not 0 <= number < 64 or mask >> number & 1:
                    yield result
        for result in written:
            yield result
            for register in WRITTEN_WITH.get(result.register, ()):
                yield Result(register, _part(register))

    def exit_of(self, values: tuple[int, ...]) -> Exit | None:
        """How control may leave at an instruction with these operands."""
        if self.exit is None or self.distance is None:
            return self.exit
        leaves = self.exit
        return Exit(values[self.distance], leaves.certain, leaves.links, leaves.rotates)


def making(op: Op) -> Making:
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
    return Making(
        op,
        None if is_input else guard,
        totals,
        _is_silent(op),
        (*reads, *(n for n, _, _ in writes if ".c." in op.name)),
        (*sorted(effects.fixed_reads - {_ALAT, _IP}), *exchanged),
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
    )


def _spelling(op: Op) -> tuple[str, ...]:
    """What tells the function from others; where an address goes afterwards is not part of it."""
    effects = TABLE.effects(op)
    if effects.loads or effects.stores or op.sched == "LFETCH":
        return (op.name,)
    if op.sched in ("CHK_M", "CHK_I"):  # of an M or an I slot
        return (op.name.removesuffix(".m").removesuffix(".i"),)
    return op.name, op.format.syntax


def _is_silent(op: Op) -> bool:
    """Whether there is nothing but sums: nops, predictions and prefetches that cannot fault."""
    if op.name in ("adds", "addl", "add", "movl", "lfetch", "lfetch.excl", "lfetch.count"):
        return True
    return op.sched == "BRP" or op.name.startswith("nop.")


def _totals(op: Op, layout: SlotFormat, names: list[str]) -> Iterator[_Total]:
    if op.name in ("adds", "addl"):
        immediate = next(n for n, name in enumerate(names) if name.startswith("imm"))
        yield _Total(names.index("r1"), (names.index("r3"),), immediate)
    elif op.name == "add":
        addends = names.index("r2"), names.index("r3")
        yield _Total(names.index("r1"), addends, None, layout.syntax.endswith(",1"))
    elif op.name == "movl":
        yield _Total(names.index("r1"), (), names.index("imm64"))
    for name in layout.updates:
        yield _increment(names.index(name), layout.syntax.rpartition(",")[2], names)


def _increment(base: int, by: str, names: list[str]) -> _Total:
    """What is added to an address, as the syntax has it after the last comma."""
    if by == "{r2}":
        return _Total(base, (base, names.index("r2")))
    if by.startswith("{"):
        return _Total(base, (base,), names.index(by[1:-1]))
    return _Total(base, (base,), None, int(by))


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
    is_always = op.name.endswith(".unc") or op.sched in ("FMISC", "SFMISC")
    return How.ALWAYS if is_always else How.SET


def _part(register: int) -> int:
    """The part of a result that no operand names: behind the two that operands name."""
    return 2 + register


def _fixed(op: Op, layout: SlotFormat, registers: list[int]) -> Iterator[Result]:
    """The results that no operand names; what writes floating-point registers is in `_modified`."""
    has_field = any(operand.name == "sf" for operand in layout.operands)
    if layout.written & {"f1", "f2"}:
        registers = [register for register in registers if register != _MODIFIED]
    for register in registers:
        gathers = (register == _FLAGS and has_field and op.name != "fclrf") or (
            register == _UNAT and op.name == "st8.spill"
        )
        yield Result(register, _part(register), How.GATHERS if gathers else How.SET)


def _modified(written: tuple[Result, ...]) -> Iterator[Result]:
    """The bits that say that a low or a high floating-point register was written."""
    halves = {result.register >= FR + 32 for result in written if FR <= result.register < PR}
    for is_high in sorted(halves):
        yield Result(_MODIFIED, _part(_MODIFIED), How.GATHERS, "mfh" if is_high else "mfl")


def _besides(read: tuple[int, ...], written: tuple[Result, ...]) -> Iterator[int]:
    """What a move from or to an application register reads besides."""
    for register in read:
        if register >= AR:
            yield from READ_WITH.get(register, ())
    for result in written:
        yield from READ_TO_WRITE.get(result.register, ())


@cache
def _results(part: int, how: How) -> tuple[Result, ...]:
    """A part of a result by the register that it is in: few, and asked for again and again."""
    return tuple(Result(register, part, how) for register in range(len(NAMES)))


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
