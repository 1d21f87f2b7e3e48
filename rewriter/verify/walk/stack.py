"""Accesses below the stack pointer: a signal may write there at any moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rewriter.core.code.dataflow import Facts, Run, machine, reached, registers_of
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.walk.equivalence import Comparison, Different


def nothing_below(
    comparison: Comparison,
    target: Sequential,
    old: tuple[Run, Sequence[Insn]],
    new: tuple[Run, Sequence[Insn]],
    facts: Facts,
) -> None:
    """That no access is below the stack pointer unless the old code had it there too.

    Raises Different.  An access is below if its address and the stack pointer, as both are then,
    differ by a constant.
    """
    through = comparison.through
    fresh = {through(address) for address in below(*new, target, facts)}
    if fresh and fresh - {through(address) for address in below(*old, target, facts)}:
        raise Different("an access below the stack pointer, where a signal may write")


def below(run: Run, insns: Sequence[Insn], target: Sequential, facts: Facts) -> Iterator[Term]:
    """The addresses of a run's accesses that are below the stack pointer when they are made."""
    table, terms = target.table, run.state.terms
    pointer: Term | None = machine(table, terms, facts).get(Reg(target.stack))
    half = 1 << terms.width - 1
    for slot, insn in enumerate(insns):
        operands = operands_of(run, slot, insn, target)
        pointer = operands.get(Reg(target.stack), pointer)
        address = address_of(operands, insn, run.addresses[slot], target, terms)
        if address is not None and pointer is not None:
            (root, there), (other, top) = terms.linear(address), terms.linear(pointer)
            if root is other and (there - top) % (2 * half) >= half:
                yield address
        if table.defs(insn) >> target.stack & 1:
            pointer = run.made[slot][Reg(target.stack)]


def operands_of(run: Run, slot: int, insn: Insn, target: Sequential) -> dict[Reg, Term]:
    """The registers that an instruction of a run reads, with their values."""
    return dict(zip(registers_of(target.table.uses(insn)), run.operand[slot], strict=True))


def address_of(
    operands: Mapping[Reg, Term], insn: Insn, address: int, target: Sequential, terms: Terms
) -> Term | None:
    """What an instruction at an address accesses, if it does and its base is no constant."""
    if not target.table.accesses(insn):
        return None
    spelled = target.spelling.address(insn)
    if spelled is not None and Reg(spelled[0]) not in operands:
        return None
    return address_at(operands.__getitem__, insn, address, target, terms)


def address_at(
    get: Callable[[Reg], Term], insn: Insn, address: int, target: Sequential, terms: Terms
) -> Term:
    """What an access at an address goes to, given what registers hold before it."""
    spelled = target.spelling.address(insn)
    if spelled is not None:
        base, displacement = spelled
        return get(Reg(base)) + terms.const(displacement)
    reads = registers_of(target.table.uses(insn))
    operands: dict[int, Term] = {register: get(register) for register in reads}
    return reached(target.table, terms, insn, address, operands)
