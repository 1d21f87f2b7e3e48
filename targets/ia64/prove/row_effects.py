"""What instructions read and set, row by row, without making the transfers that say so.

Every instruction of a text is asked for this, and few are ever part of a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.core.code.transfer import Effect, Exit, How, Order, effect_of
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask
from targets.ia64.isa.groups import read
from targets.ia64.prove.row_transfer import ANY_ORDER, RowTransfer
from targets.ia64.registers import PR


@dataclass(frozen=True, slots=True)
class RowEffects:
    """A row made ready for its instructions; what one of them does follows from its operands.

    `reads`, `sets` and `always` index operands: what is read, what is set unless a predicate is
    false, and what is set even then; `fixed_reads` and `fixed_sets` are masks of what no operand
    names.  In a row that is not `plain` more than that decides: the transfer is asked.
    """

    made: RowTransfer
    plain: bool
    reads: tuple[int, ...]
    fixed_reads: int
    sets: tuple[int, ...]
    always: tuple[int, ...]
    fixed_sets: int

    @classmethod
    def of(cls, made: RowTransfer) -> RowEffects:
        """What all instructions of a row have in common."""
        ways = [] if made.is_silent else [(n, how) for n, _, how in made.writes]
        fixed = [] if made.is_silent else made.fixed_writes
        return cls(
            made=made,
            plain=made.mask is None and not made.numbered,
            reads=(
                *(() if made.is_silent else made.reads),
                *(n for total in made.totals for n in total.addends),
            ),
            fixed_reads=0 if made.is_silent else register_mask(made.fixed_reads),
            sets=(
                *(n for n, how in ways if how is How.SET),
                *(total.target for total in made.totals),
            ),
            always=tuple(n for n, how in ways if how is How.ALWAYS),
            fixed_sets=register_mask(each.register for each in fixed if each.how is How.SET),
        )

    def effect(self, insn: Insn) -> Effect:
        """What the instruction reads and sets, and how control may leave."""
        made, values = self.made, insn.operands
        if not self.plain:
            return effect_of(made.transfer(insn, ""))
        reads = read(insn) & ~ANY_ORDER | self.fixed_reads
        for n in self.reads:
            reads |= 1 << values[n]
        sets = 0
        for n in self.always:
            sets |= 1 << values[n]
        under = made.guard is not None and values[made.guard] != PR
        if not under:
            sets |= self.fixed_sets
            for n in self.sets:
                sets |= 1 << values[n]
        elif made.guard is not None:
            reads |= 1 << values[made.guard]
        leaves: Exit | None = made.exit_of(values)
        certain = leaves is not None and leaves.certain and not under
        return Effect(reads, sets, leaves, certain, made.order is Order.SEEN)
