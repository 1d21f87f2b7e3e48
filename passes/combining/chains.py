"""What a chain of instructions computes from registers, by its value: fewer give the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations, product

from passes.combining.held import Held
from passes.combining.later import Later
from passes.lib.technique import Site, usable
from rewriter.core.code.dataflow import INPUT, Trace, machine, registers_of
from rewriter.core.edit import Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.core.plural import counted
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.idioms import Chain
from rewriter.core.terms.term import Term
from rewriter.verify.terms.samples import Signatures

_LONGEST = 16  # instructions of a chain
_SOURCES = 8  # values that it may start from
_REGISTERS = 2  # ways to choose registers at one place that are tried

READ = "a part of it is read elsewhere"


@dataclass(frozen=True)
class Match:
    """A chain that ends at a slot: its slots, and what its value is made of.

    It is what `chain.made` gives of `sources` and `number`, or, where not `certain`, that only
    under the chain's condition.
    """

    chain: Chain
    slot: int
    slots: frozenset[int]
    sources: tuple[Term, ...]
    number: int
    certain: bool = True


class Chains:
    """The chains of a block."""

    def __init__(self, trace: Trace, held: Held, later: Later, cpu: Cpu) -> None:
        self.trace, self.held, self.later, self.cpu = trace, held, later, cpu

    @cached_property
    def _signatures(self) -> Signatures:
        return Signatures(self.trace.table.width)

    def matches(self, chain: Chain, slot: int) -> Iterator[Match]:
        """The ways in which a chain ends at a slot."""
        value = self.trace.value[slot]
        if value is None or self.trace.insns[slot].name not in chain.ends:
            return
        slots = self._slots(chain, slot)
        names = {self.trace.insns[s].name for s in slots}
        if len(slots) < 2 or names.isdisjoint(chain.spent):
            return
        for sources in permutations(self._sources(chain, slots), chain.sources):
            for number in self._numbers(chain, slots):
                made = self._value(chain, slot, sources, number)
                in_part = chain.unless and self._in_part(value, made, chain.bits)
                if in_part or self._same(value, made, chain.bits):
                    used = self._slots(chain, slot, frozenset(sources))
                    if len(used) > 1:
                        yield Match(chain, slot, used, sources, number, not in_part)

    def site(self, match: Match) -> Site:
        """What may be done about a chain."""
        kind, free = match.chain.kind, self.free(match)
        if any(self._is_spent(match, slot) for slot in match.slots - free - {match.slot}):
            return Site(match.slot, kind, (), READ)
        late, found = 0, list[Rewrite]()
        for place, insns in self._placed(match, free):
            waits = (
                self.later.cycles(match.slot, insns[0], place[0], free) if len(insns) == 1 else 0
            )
            late = late or waits
            if waits <= 0:
                changes = dict[int, Insn | None]({match.slot: None})
                changes.update(zip(place, insns, strict=True))
                ordered = tuple(sorted(changes.items(), key=_first))
                conditional = not match.certain
                found.append(
                    Rewrite(match.slot, kind, ordered, match.slots, conditional=conditional)
                )
        if found:
            return Site(match.slot, kind, tuple(found), "" if match.certain else match.chain.unless)
        reason = f"the result would be there {counted(late, 'cycle')} later" if late > 0 else ""
        return Site(match.slot, kind, (), reason)

    def free(self, match: Match) -> set[int]:
        """The slots of a chain that nothing but its end needs."""
        return self.trace.only_for(match.slot, match.slots - {match.slot})

    def usable(self, match: Match) -> bool:
        """Whether the CPU has the new instructions."""
        held = registers_of(match.chain.reads)[: match.chain.sources]
        return usable(self.cpu, match.chain.made(self.target(match.slot), held, match.number))

    def target(self, slot: int) -> int:
        """The register that a slot writes."""
        return registers_of(self.trace.table.defs(self.trace.insns[slot]))[0]

    def _is_spent(self, match: Match, slot: int) -> bool:
        return self.trace.insns[slot].name in match.chain.spent

    def _placed(self, match: Match, free: set[int]) -> Iterator[tuple[list[int], tuple[Insn, ...]]]:
        """The new instructions with their slots: as late as it goes first."""
        chain, result = match.chain, self.target(match.slot)
        order = [*sorted(free), match.slot]
        read = {register for slot in order for register in self.trace.operand[slot]}
        for first in reversed(range(len(order))):
            held = (self.held.holders(source, order[first], free) for source in match.sources)
            options = [[r for r in found if chain.reads >> r & 1 and r in read] for found in held]
            for registers in islice(product(*options), _REGISTERS):
                insns = chain.made(result, registers, match.number)
                if first + len(insns) <= len(order):
                    yield order[first : first + len(insns)], insns

    def _slots(
        self, chain: Chain, slot: int, given: frozenset[Term] = frozenset()
    ) -> frozenset[int]:
        """The slots of a chain that ends at a slot; what makes a value that is given is not one."""
        found, queue = {slot}, [slot]
        while queue and len(found) <= _LONGEST:
            for source in self.trace.definition[queue.pop(0)].values():
                is_part = source != INPUT and self.trace.insns[source].name in chain.rows
                if is_part and source not in found and self.trace.value[source] not in given:
                    found.add(source)
                    queue.append(source)
        return frozenset(found)

    def _sources(self, chain: Chain, slots: frozenset[int]) -> Sequence[Term]:
        """What a chain reads: first what none of its slots made."""
        outer, inner = dict[Term, None](), dict[Term, None]()
        for slot in sorted(slots):
            for register, value in self.trace.operand[slot].items():
                if chain.reads >> register & 1:
                    made = self.trace.definition[slot][register] in slots
                    (inner if made else outer)[value] = None
        return list(dict.fromkeys((*outer, *inner)))[:_SOURCES]

    def _numbers(self, chain: Chain, slots: frozenset[int]) -> Sequence[int]:
        if chain.numbers is not None:
            return chain.numbers
        found = dict[int, None]()
        for slot in sorted(slots):
            insn = self.trace.insns[slot]
            for operand, number in zip(insn.op.format.operands, insn.operands, strict=True):
                if operand.kind in (Kind.IMMEDIATE, Kind.SELECTOR):
                    found[number] = None
        return list(found)

    def _value(self, chain: Chain, slot: int, sources: Sequence[Term], number: int) -> Term:
        """What the new instructions give of such sources."""
        held, target = registers_of(chain.reads)[: chain.sources], self.target(slot)
        state = machine(self.trace.table, self.trace.terms)
        state.registers.update(zip(held, sources, strict=True))
        for insn in chain.made(target, held, number):
            state.execute(insn, self.trace.addresses[slot])
        return state.get(Reg(target))

    def _same(self, value: Term, made: Term, bits: int) -> bool:
        """Whether two values agree, as far as trials say, in so many of their lowest bits."""
        terms = self.trace.terms
        mask = terms.const((1 << bits) - 1)
        one, other = terms.and_(value, mask), terms.and_(made, mask)
        if one is other:
            return True
        known = self._signatures
        return not known.apart(one, other) and known.of(one) == known.of(other)

    def _in_part(self, value: Term, made: Term, bits: int) -> bool:
        """Whether a value is what `made` is under its condition."""
        return made.kind == "ite" and any(
            self._same(value, arm, bits) or self._in_part(value, arm, bits) for arm in made.args[1:]
        )


def _first(change: tuple[int, Insn | None]) -> int:
    return change[0]
