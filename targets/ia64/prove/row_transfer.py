"""An instruction as a proof of reordering sees it, made from its row and its operands."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from rewriter.core.code.transfer import Exit, How, Order, Result, Sum, Transfer
from rewriter.core.isa.instruction import Insn, Op
from targets.ia64.isa.groups import read as touched
from targets.ia64.isa.rows import TABLE
from targets.ia64.prove.orders import moved_order
from targets.ia64.registers import AR, FR, GR, NUMBERS, PR, READ_TO_WRITE, READ_WITH, WRITTEN_WITH
from targets.ia64.standard import STACK

STACKED = tuple(range(GR + 32, GR + 128))
MODIFIED = NUMBERS["psr.mf"]
_BITS = 512  # bytes: spills so far apart are to the same bit of UNAT (bits 3 to 8 of an address)
ANY_ORDER = 1 << NUMBERS["alat"]  # within a group its uses are in the order of the slots


@dataclass(frozen=True, slots=True)
class Total:
    """A sum in a row: indices of the target, the addends and the constant."""

    target: int
    addends: tuple[int, ...]
    immediate: int | None = None
    constant: int = 0

    def of(self, values: tuple[int, ...]) -> Sum:
        """The sum of an instruction with these operands."""
        constant = self.constant if self.immediate is None else values[self.immediate]
        return Sum(values[self.target], tuple(values[n] for n in self.addends), constant)


@dataclass(frozen=True, slots=True)
class RowTransfer:
    """A row made ready for its instructions.

    `guard`, `reads`, `immediates`, `tagged` and `distance` index operands: the predicate, what the
    function reads, what it depends on, registers whose number it depends on, the way to the target;
    `mask` one that says which predicates are written, `numbered` those that name registers of the
    system.  `spelling` is what tells the function from those of other rows; `results` has those of
    `writes` by the register that an operand names; `renamed` registers get new values, which the
    rest of the group sees.
    """

    op: Op
    guard: int | None
    totals: tuple[Total, ...]
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
    spelling: tuple[Hashable, ...]
    results: tuple[tuple[int, tuple[Result, ...]], ...]
    renamed: tuple[int, ...]

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
        results = (
            *self._selected(insn, written),
            *(_modified(written) if self.is_floating else ()),
        )
        order = moved_order(self.op.sched, self.order, named, defs)
        return Transfer(
            insn.name,
            uses,
            defs,
            self._function(values),
            guard,
            (*read, *self.fixed_reads, *(_besides(read, written) if self.numbered else ())),
            results,
            sums,
            order,
            self.size,
            self.exit_of(values),
            self.is_test,
            self.is_placed,
            bool(self.renamed),
            self.renamed,
            wrong,
            self.is_ruled,
            period=_BITS if results and order is Order.STORE else 0,
        )

    def _function(self, values: tuple[int, ...]) -> tuple[Hashable, ...]:
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
                yield Result(register, part_of(register))

    def exit_of(self, values: tuple[int, ...]) -> Exit | None:
        """How control may leave at an instruction with these operands."""
        if self.exit is None or self.distance is None:
            return self.exit
        leaves = self.exit
        return Exit(values[self.distance], leaves.certain, leaves.links, leaves.rotates)


def _modified(written: tuple[Result, ...]) -> Iterator[Result]:
    """The bits that say that a low or a high floating-point register was written."""
    halves = {result.register >= FR + 32 for result in written if FR <= result.register < PR}
    for is_high in sorted(halves):
        yield Result(MODIFIED, part_of(MODIFIED), How.GATHERS, "mfh" if is_high else "mfl")


def _besides(read: tuple[int, ...], written: tuple[Result, ...]) -> Iterator[int]:
    """What a move from or to an application register reads besides."""
    for register in read:
        if register >= AR:
            yield from READ_WITH.get(register, ())
    for result in written:
        yield from READ_TO_WRITE.get(result.register, ())


def part_of(register: int) -> int:
    """The part of a result that no operand names: behind the two that operands name."""
    return 2 + register
