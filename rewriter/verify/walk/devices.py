"""Accesses that may reach a device: in a kernel each is made as before, in the same order.

What a device does depends on the width of an access, on its order, and on there being one.  Code
that takes a narrow value out of a whole cell, with the instructions that ignore the low bits of
an address, is about memory: no driver reaches a device so.  The stack is memory too.  All other
accesses stay as they are.

Registers may be off till the system turns them on with an event, too: what names such a one stays
between the events between which it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from rewriter.core.code.dataflow import Facts, Run, machine
from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.target.protocol import Sequential, names_enabled, whole
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.walk.equivalence import Comparison, Different, Likely, agreeing
from rewriter.verify.walk.stack import address_at, operands_of

Access = tuple[Insn, Term]
"""An instruction and the address that it accesses."""

CHANGED = "an access that may reach a device changes"


def accessed(
    run: Run, insns: Sequence[Insn | None], target: Sequential, facts: Facts
) -> Iterator[Access]:
    """The accesses of a run that may reach a device; `facts` were known of registers before it."""
    terms = run.state.terms
    stack, accesses = stack_of(terms, target, facts), target.table.accesses
    for slot, insn in enumerate(insns):
        if insn is not None and accesses(insn):
            held, displacement = based(run, slot, insn, target)
            if terms.linear(held)[0] is not stack:
                yield insn, held + terms.const(displacement)


def based(run: Run, slot: int, insn: Insn, target: Sequential) -> tuple[Term, int]:
    """What an access's base register holds in a run, and how far from there the access is.

    Where no one register is its base: the address.
    """
    spelled, terms = target.spelling.address(insn), run.state.terms
    operands = operands_of(run, slot, insn, target)
    if spelled is None:
        return address_at(operands.__getitem__, insn, run.addresses[slot], target, terms), 0
    base, displacement = spelled
    return operands.get(Reg(base), terms.const(0)), displacement


def stack_of(terms: Terms, target: Sequential, facts: Facts) -> Term:
    """What addresses on the stack are a constant away from: the stack pointer before a run."""
    state = machine(target.table, terms, facts)
    return terms.linear(state.get(Reg(target.stack)))[0]


def same_devices(
    comparison: Comparison, target: Sequential, old: Iterable[Access], new: Iterable[Access]
) -> None:
    """Shows that all accesses but those to cells are made as before, or raises Different."""
    before = list(old)
    waiting = [access for access in before if not whole(access[0], target)]
    cells = (address for insn, address in before if whole(insn, target))
    inside = _Cells(comparison, target, cells)
    for insn, address in new:
        if whole(insn, target):
            continue
        if waiting and waiting[0][0].op is insn.op and _same(comparison, waiting[0][1], address):
            waiting.pop(0)
        elif address not in inside:
            raise Different(CHANGED)
    if waiting:
        raise Different(CHANGED)


def same_enabled(target: Sequential, old: Iterable[Insn], new: Iterable[Insn]) -> None:
    """Shows that nothing names a register where it may be off, unless it did; or Different."""
    if not target.tables.enabled:
        return
    before, after = (Counter(_among_events(target, insns)) for insns in (old, new))
    for op, _ in after - before:
        raise Different(f"{op.name} passes an event, by which its registers may be turned on")


def _among_events(target: Sequential, insns: Iterable[Insn]) -> Iterator[tuple[Op, int]]:
    """What names a register that may be off, and how many events are before it."""
    events = 0
    for insn in insns:
        if names_enabled(insn, target):
            yield insn.op, events
        events += bool(target.table.effects(insn.op).events)


def _same(comparison: Comparison, old: Term, new: Term) -> bool:
    """Whether two addresses are one, where what is shown already says it."""
    return comparison.through(new) is old


class _Cells:
    """Cells that old instructions accessed as such."""

    def __init__(
        self, comparison: Comparison, target: Sequential, addresses: Iterable[Term]
    ) -> None:
        self.comparison, self.and_ = comparison, comparison.terms.and_
        self.low = comparison.terms.const(-target.table.cell)
        self.addresses = addresses

    @cached_property
    def places(self) -> dict[Term, None]:
        """The first bytes; often nobody asks."""
        return dict.fromkeys(self.and_(address, self.low) for address in self.addresses)

    @cached_property
    def likely(self) -> Likely:
        """A solver needs long to say no: it is asked where nothing else says yes or no."""
        return agreeing(self.places, self.comparison)

    def __contains__(self, address: Term) -> bool:
        """Whether a new address is in one of them."""
        place = self.and_(self.comparison.through(address), self.low)
        return place in self.places or any(
            self.comparison.suggest(old, place) for old in self.likely(0, place)
        )
