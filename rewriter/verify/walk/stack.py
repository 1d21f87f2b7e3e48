"""Accesses below the stack pointer: a signal may write there at any moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from rewriter.core.code.dataflow import Facts, Run, machine, reached, registers_of
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.walk.equivalence import Comparison, Different

Side = tuple[Run, Sequence[Insn]]
"""A run, with the instructions that it is of."""

Access = tuple[Term, Term]
"""The address of an access, and the stack pointer when it is made.

A store that moves the stack pointer is made with it, so that no signal comes between: the pointer
is that behind it.
"""


def nothing_below(
    comparison: Comparison, target: Sequential, old: Side, new: Side, facts: Facts
) -> None:
    """That no access is below the stack pointer unless the old code had it there too.

    Raises Different.  An access is below if its address and the stack pointer, as both are then,
    differ by a constant.
    """
    terms, through = comparison.terms, comparison.through
    before, after = (_below(_accesses(*side, target, facts), terms) for side in (old, new))
    fresh = {through(address) for address in after}
    if fresh and fresh - {through(address) for address in before}:
        raise Different("an access below the stack pointer, where a signal may write")


def same_sides(
    comparison: Comparison, target: Sequential, old: Side, new: Side, facts: Facts
) -> None:
    """That accesses which may be below the stack pointer pass no move of it; raises Different.

    Each is made while that is where it was in the old code, or lower; and so is each event, which
    may access memory of which its row does not say where.
    """
    if not any(target.table.defs(insn) >> target.stack & 1 for insn in (*old[1], *new[1])):
        return
    terms, through = comparison.terms, comparison.through
    before, after = (
        [
            (through(address), through(pointer))
            for address, pointer in _accesses(*side, target, facts)
        ]
        for side in (old, new)
    )
    wide = max(target.table.cell, *map(target.table.accessed, old[1]))
    pointers = {pointer for _, pointer in before}
    for access in after:
        if all(_not_above(access[1], pointer, terms) for pointer in pointers):
            continue
        if not any(_same_side(access, other, terms, wide) for other in before):
            raise Different("an access on the other side of a move of the stack pointer")
    for was, now in zip_longest(*(_at_events(*side, target, facts) for side in (old, new))):
        if was is None or now is None or not _not_above(through(now), through(was), terms):
            raise Different("an event on the other side of a move of the stack pointer")


def _below(accesses: Iterable[Access], terms: Terms) -> Iterator[Term]:
    """The addresses of those that are below the stack pointer when they are made."""
    for address, pointer in accesses:
        distance = _distance(address, pointer, terms)
        if distance is not None and distance < 0:
            yield address


def _same_side(new: Access, old: Access, terms: Terms, wide: int) -> bool:
    """Whether an access is certainly not below, or as high above the stack pointer as an old one.

    The two are less than so many bytes apart: a narrow access may stand for part of a wide one.
    """
    if _distance(*new, terms) is not None:
        return True  # whether it is below was looked at
    apart = _distance(new[0], old[0], terms)
    return apart is not None and abs(apart) < wide and _not_above(new[1], old[1], terms)


def _not_above(one: Term, other: Term, terms: Terms) -> bool:
    """Whether one value is another, or lower by a constant."""
    distance = _distance(one, other, terms)
    return distance is not None and distance <= 0


def _distance(one: Term, other: Term, terms: Terms) -> int | None:
    """How far one value is above another, if that is a constant."""
    (root, there), (base, here) = terms.linear(one), terms.linear(other)
    half = 1 << terms.width - 1
    return (there - here + half) % (2 * half) - half if root is base else None


def _accesses(
    run: Run, insns: Sequence[Insn], target: Sequential, facts: Facts
) -> Iterator[Access]:
    """The accesses of a run whose base is no constant."""
    table, terms = target.table, run.state.terms
    for slot, (before, behind) in enumerate(_pointers(run, insns, target, facts)):
        insn, operands = insns[slot], operands_of(run, slot, insns[slot], target)
        address = address_of(operands, insn, run.addresses[slot], target, terms)
        if address is not None:
            yield address, behind if table.effects(insn.op).stores else before


def _at_events(run: Run, insns: Sequence[Insn], target: Sequential, facts: Facts) -> Iterator[Term]:
    """The stack pointer at each event of a run."""
    for insn, (pointer, _) in zip(insns, _pointers(run, insns, target, facts), strict=True):
        if target.table.effects(insn.op).events:
            yield pointer


def _pointers(
    run: Run, insns: Sequence[Insn], target: Sequential, facts: Facts
) -> Iterator[tuple[Term, Term]]:
    """The stack pointer before each instruction of a run, and behind it."""
    register = Reg(target.stack)
    pointer = machine(target.table, run.state.terms, facts).get(register)
    for slot, insn in enumerate(insns):
        before = operands_of(run, slot, insn, target).get(register, pointer)
        moves = target.table.defs(insn) >> target.stack & 1
        pointer = run.made[slot][register] if moves else before
        yield before, pointer


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
