"""A function of two files, walked in both at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa import Flow, Insn, Kind, Op
from rewriter.core.listing import FLOW_CODE, UNKNOWN, Listing
from rewriter.core.program import Function
from rewriter.core.symbolic import Symbolic
from rewriter.core.term import Term, Terms
from rewriter.core.trace import Facts, Run, inputs, registers_of, run, written
from rewriter.elf.image import Image
from rewriter.identify.program import Program
from rewriter.verify import hints
from rewriter.verify.equivalence import Comparison, Different, agreeing
from rewriter.verify.prove import Prover

_WORD = 2  # bytes
_NEXT = FLOW_CODE[Flow.NEXT]
_LONGEST = 4096  # instructions in a segment; a walk beyond that has lost its way


@dataclass(frozen=True, slots=True)
class Pair:
    """Places in the old and the new file at which the same must hold.

    `linked` says that control comes back from a call here: the link register holds the place.
    """

    old: int
    new: int
    linked: bool = False


@dataclass(frozen=True)
class Segment:
    """Straight code from an address to a transfer of control or the function's end.

    `first` and `last` are positions of its listing; `exits` are the slots after which control may
    leave, the last one included.
    """

    listing: Listing
    first: int
    last: int
    exits: tuple[int, ...]

    @property
    def falls_out(self) -> bool:
        """Whether it ends at the end of the function, without a transfer of control."""
        return bool(self.listing.flows[self.last - 1] == _NEXT)

    @cached_property
    def insns(self) -> tuple[Insn, ...]:
        """The instructions."""
        found = (self.listing.insn(at) for at in range(self.first, self.last))
        return tuple(insn for insn in found if insn is not None)

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        """Where they are."""
        return tuple(self.listing.addresses[self.first : self.last].tolist())

    @cached_property
    def placeless(self) -> bytes:
        """The words without how far their branches go."""
        return self.listing.placeless[self.first : self.last].tobytes()

    def same_words(self, other: Segment) -> bool:
        """Whether the words are the same."""
        words, others = self.listing.words, other.listing.words
        return np.array_equal(words[self.first : self.last], others[other.first : other.last])

    def transfer(self, slot: int) -> Insn:
        """The instruction at an exit."""
        insn = self.listing.insn(self.first + slot)
        assert insn is not None
        return insn


class Lost(Exception):
    """Code that cannot be followed."""


@dataclass
class Walk:
    """Walks one function; `findings` say what was not shown, `evidence` what was.

    `image` is the new file and `new` its listing; `tables` are the addresses of jump table bytes
    that were compared by where they lead.
    """

    program: Program
    image: Image
    new: Listing
    function: Function
    prover: Prover
    locked: frozenset[int]
    findings: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    visited: set[int] = field(default_factory=set)
    tables: set[int] = field(default_factory=set)

    def run(self) -> None:
        """Walks from every entry until nothing new follows, then looks at what was not walked."""
        self.target = self.program.target
        self.span = self.program.listing.span(self.function.start, self.function.end)
        inside = self.program.listing.addresses[slice(*self.span)].tolist()
        self.locked_here = not self.locked.isdisjoint(inside)
        queue = [Pair(entry, entry) for entry in self._entries()]
        seen: set[Pair] = set()
        while queue:
            pair = queue.pop()
            if pair in seen:
                continue
            seen.add(pair)
            try:
                queue += self._segments(pair)
            except (Lost, Different) as problem:
                self.findings.append(f"{self.function.name} at {pair.old:#x}: {problem}")
        self._unvisited()
        self._new_writes()

    def _new_writes(self) -> None:
        """A caller may keep a value in a register because nothing in the function writes it."""
        table, old = self.target.table, self.program.listing
        insns = old.insns(self.function.start, self.function.end)
        new = (self.new.insn(self.new.index(address)) for address in self.visited)
        if written(table, new) & ~written(table, insns):
            self.findings.append(f"{self.function.name}: a register is written that was not before")

    def _entries(self) -> list[int]:
        graph, addresses = self.program.graph, self.program.listing.addresses
        return [
            int(addresses[graph.first[block]])
            for block in graph.blocks_of(self.function)
            if graph.entered[block]
        ]

    # One pair of segments -----------------------------------------------------------------

    def _segments(self, pair: Pair) -> list[Pair]:
        old = self._old_segment(pair.old)
        new = self._new_segment(pair.new, len(old.exits))
        self.visited.update(new.addresses)
        new = self._without_hints(old, new)
        self._unlocked(old, new)
        if old.falls_out != new.falls_out:
            raise Different("control falls out of the function otherwise")
        for slot, other in zip(old.exits, new.exits, strict=True):
            _same_transfer(old.transfer(slot), new.transfer(other))
        if not self._plainly_same(pair, old, new):
            self.evidence.append(self._compare(pair, old, new))
        else:
            self.evidence.append(Evidence(Grade.PROVED))
        return list(self._successors(old, new))

    def _without_hints(self, old: Segment, new: Segment) -> Segment:
        """The new segment without loads that do nothing but ask for a line."""
        gone = set(hints.added(old.insns, new.insns, self.target))
        if not gone:
            return new
        for slot in gone:
            stretch = bisect_left(new.exits, slot)
            first = old.exits[stretch - 1] + 1 if stretch else 0
            hints.allow(self.program, old.addresses[first : old.exits[stretch] + 1])
        kept = [slot for slot in range(len(new.insns)) if slot not in gone]
        return Segment(
            tuple(new.insns[slot] for slot in kept),
            tuple(new.addresses[slot] for slot in kept),
            tuple(kept.index(slot) for slot in new.exits),
        )

    def _plainly_same(self, pair: Pair, old: Segment, new: Segment) -> bool:
        """Whether the instructions are the same but for fillers and how far branches go."""
        if pair.old == pair.new and old.same_words(new):
            return True
        if pair.linked and pair.old != pair.new:
            return False
        jumps = self.program.listing.flows[old.first : old.last] == FLOW_CODE[Flow.JUMP]
        if (jumps & self.program.listing.defs[old.first : old.last].any(axis=1)).any():
            return False  # it reads its own address
        return old.placeless == new.placeless or self._bare(old) == self._bare(new)

    def _bare(self, segment: Segment) -> list[tuple[Op, tuple[int, ...]]]:
        found = []
        for insn in segment.insns:
            if not self.target.is_filler(insn):
                kept = zip(insn.op.format.operands, insn.operands, strict=True)
                found.append((insn.op, tuple(v for o, v in kept if o.kind is not Kind.TARGET)))
        return found

    def _old_segment(self, start: int) -> Segment:
        """From a block's start through blocks that only it leads to, or that follow."""
        graph, listing = self.program.graph, self.program.listing
        try:
            block = graph.block_at(start)
        except KeyError:
            raise Lost(f"no block starts at {start:#x}") from None
        first = last = int(graph.first[block])
        _, end = self.span
        exits: list[int] = []
        while last - first < _LONGEST:
            last = int(graph.last[block])
            flow = listing.flows[last - 1]
            if flow != _NEXT or last >= end:
                exits.append(last - 1 - first)
            if last >= end or not (
                flow == _NEXT or (flow == FLOW_CODE[Flow.BRANCH] and graph.continues[block + 1])
            ):
                break
            block += 1
        _all_decoded(listing, first, last)
        if not exits or exits[-1] != last - 1 - first:
            raise Lost(f"the code from {start:#x} has no end")
        return Segment(listing, first, last, tuple(exits))

    def _new_segment(self, start: int, transfers: int) -> Segment:
        """From an address to its n-th transfer of control, or the function's end."""
        if not self.new.has(start):
            raise Lost(f"no instruction at {start:#x} in the new file")
        first = self.new.index(start)
        leaving = self.new.transfers
        n = int(np.searchsorted(leaving, first))
        _, end = self.span
        inside = end if first < end else len(self.new)
        exits = [at for at in leaving[n : n + transfers].tolist() if at < inside]
        if len(exits) < transfers and inside - 1 not in exits:
            exits.append(inside - 1)  # out of the function's end
        if len(exits) != transfers or exits[-1] - first >= _LONGEST:
            raise Lost(f"the new code from {start:#x} ends otherwise")
        _all_decoded(self.new, first, exits[-1] + 1)
        return Segment(self.new, first, exits[-1] + 1, tuple(at - first for at in exits))

    def _unlocked(self, old: Segment, new: Segment) -> None:
        """Nothing changed between a load-locked and its store-conditional."""
        changed = self.locked_here and [
            address
            for address, insn in zip(old.addresses, old.insns, strict=True)
            if address in self.locked and insn != self._at(new, address)
        ]
        if changed:
            raise Different(
                f"changed between load-locked and store-conditional, at {changed[0]:#x}"
            )

    def _at(self, segment: Segment, address: int) -> Insn | None:
        try:
            return segment.insns[segment.addresses.index(address)]
        except ValueError:
            return None

    def _compare(self, pair: Pair, old: Segment, new: Segment) -> Evidence:
        if self._inputs(new) & ~self._inputs(old):
            raise Different("a register is read that nothing keeps")
        try:
            return self._compare_given(pair, old, new, {})
        except Different:
            facts = self.program.facts(self.function).get(pair.old)
            if not facts:
                raise
            return self._compare_given(pair, old, new, facts)

    def _inputs(self, segment: Segment) -> int:
        insns = (insn for insn in segment.insns if not self.target.is_filler(insn))
        return inputs(self.target.table, insns)

    def _compare_given(self, pair: Pair, old: Segment, new: Segment, facts: Facts) -> Evidence:
        terms = Terms(self.target.granule * 8)
        before = self._run(terms, old, pair.old, pair, facts)
        after = self._run(terms, new, pair.new, pair, facts)
        comparison = Comparison(self.prover, terms, self.target.table.register_names)
        comparison.follow(before.state, after, agreeing(before.value.values(), terms.width))
        comparison.aligned = self._aligned(comparison, before, after, old)
        for slot, other in zip(old.exits, new.exits, strict=True):
            live = self._live_after(old, slot)
            self._link(before.exits[slot], after.exits[other], old, new, slot, other)
            comparison.check(before.exits[slot], after.exits[other], live)
        return comparison.evidence()

    def _run(self, terms: Terms, segment: Segment, start: int, pair: Pair, facts: Facts) -> Run:
        table, granule = self.target.table, self.target.granule
        link = {self.target.link: start} if pair.linked else {}
        return run(
            table, terms, granule, segment.insns, segment.addresses, segment.exits, link, facts
        )

    def _link(
        self, before: Symbolic, after: Symbolic, old: Segment, new: Segment, slot: int, other: int
    ) -> None:
        """What a call leaves in its link register is each file's own return address."""
        insn = old.insns[slot]
        if insn.op.flow in (Flow.CALL, Flow.INDIRECT_CALL):
            for state, segment, at in ((before, old, slot), (after, new, other)):
                register = insn.operand("ra")
                returns = segment.addresses[at] + insn.size
                if state.registers.get(register) is state.code(returns):
                    state.registers[register] = state.terms.var("return address")

    def _aligned(
        self, comparison: Comparison, before: Run, after: Run, old: Segment
    ) -> tuple[tuple[Term, int], ...]:
        """New word accesses, where the old code handles a word at the address as an aligned one."""
        terms = comparison.terms
        crossing = {
            terms.linear(value)[0]
            for slot, insn in enumerate(old.insns)
            if insn.name in self.target.spelling.CROSSING
            for value in before.operand.get(slot, ())
        }
        words = self._words(terms, before, old)
        wider = {address for address, size in before.state.narrow if size > _WORD}
        accesses = ((comparison.through(a), size) for a, size in after.narrow.values())
        return tuple(
            (address, size)
            for address, size in accesses
            if size == _WORD
            and terms.linear(address)[0] not in crossing
            and (self._granular(terms, address) in words or address in wider)
        )

    def _words(self, terms: Terms, before: Run, old: Segment) -> set[tuple[Term, int]]:
        """Where the old code handles a word: an address' root and the byte in its granule."""
        spelling = self.target.spelling
        kept = {
            value
            for slot, insn in enumerate(old.insns)
            if spelling.keeps_top_word(insn)
            for value in before.operand[slot]
        }
        found = set()
        for slot, insn in enumerate(old.insns):
            position = spelling.word_position(insn)
            if position is None or (
                spelling.needs_top_word(insn) and before.value.get(slot) not in kept
            ):
                continue
            register, distance = position
            reads = registers_of(self.target.table.uses(insn))
            if register in reads:
                at = before.operand[slot][reads.index(register)]
                found.add(self._granular(terms, terms.add(at, terms.const(distance))))
        return found

    def _granular(self, terms: Terms, address: Term) -> tuple[Term, int]:
        root, distance = terms.linear(address)
        return root, distance % self.target.granule

    def _live_after(self, old: Segment, slot: int) -> int:
        """Registers that may be read after an exit of the old code."""
        graph = self.program.graph
        insn, address = old.insns[slot], old.addresses[slot]
        if insn.op.flow is Flow.BRANCH and slot != old.exits[-1]:
            target = insn.target(address)
            assert target is not None
            return self.program.live_into(target)
        block = graph.block_holding(address)
        return self.program.live.out_of(block)

    # What follows -------------------------------------------------------------------------

    def _successors(self, old: Segment, new: Segment) -> Iterator[Pair]:
        for slot, other in zip(old.exits, new.exits, strict=True):
            insn, address, there = old.insns[slot], old.addresses[slot], new.addresses[other]
            flow = insn.op.flow
            if flow in (Flow.BRANCH, Flow.JUMP, Flow.CALL):
                yield from self._targets(insn.target(address), new.insns[other].target(there))
            following = Pair(address + insn.size, there + insn.size)
            if flow in (Flow.CALL, Flow.INDIRECT_CALL):
                yield from self._following(replace(following, linked=self._links(insn)))
            elif flow is Flow.TRAP or (flow is Flow.BRANCH and slot == old.exits[-1]):
                yield from self._following(following)
            elif flow is Flow.INDIRECT:
                yield from self._table_targets(address)

    def _links(self, insn: Insn) -> bool:
        return insn.operand("ra") == self.target.link

    def _following(self, pair: Pair) -> Iterator[Pair]:
        """What comes after an instruction; past the function's end only the same place will do."""
        if pair.old < self.function.end:
            yield pair

    def _targets(self, old: int | None, new: int | None) -> Iterator[Pair]:
        assert old is not None and new is not None
        if old in self.function:
            yield Pair(old, new)
        elif old != new:
            raise Different(f"a branch to {old:#x} became one to {new:#x}")

    def _table_targets(self, jump: int) -> Iterator[Pair]:
        for table in self.program.tables_of(self.function):
            if table.jump == jump and table.exact:
                size, order = table.size, self.image.byteorder
                for n, old in enumerate(table.targets):
                    raw = self.image.read(table.address + size * n, size)
                    new = table.base + int.from_bytes(raw, order, signed=True)
                    yield from self._targets(old, new)
                    self.tables.update(
                        range(table.address, table.address + size * len(table.targets))
                    )
            elif table.jump == jump:
                yield from (Pair(t, t) for t in table.targets if t in self.function)

    def _unvisited(self) -> None:
        """What the new file has in the function beside what was walked."""
        listing = self.program.listing
        first, last = listing.span(self.function.start, self.function.end)
        fillers = {self.target.encode(i) for i in self.target.fillers(listing.insn(first).size)}  # type: ignore[union-attr]
        for at in range(first, last):
            if listing.words[at] == self.new.words[at]:
                continue
            address = int(listing.addresses[at])
            insn = self.new.insn(at)
            if insn is None:
                self.findings.append(
                    f"{self.function.name}: no instruction at {address:#x} any more"
                )
            elif self.target.is_filler(insn):
                if self.target.encode(insn) not in fillers:
                    self.findings.append(f"{self.function.name}: an odd filler at {address:#x}")
            elif address not in self.visited:
                self.findings.append(f"{self.function.name}: unreachable change at {address:#x}")


def _all_decoded(listing: Listing, first: int, last: int) -> None:
    unknown = np.flatnonzero(listing.rows[first:last] == UNKNOWN)
    if unknown.size:
        raise Lost(f"no instruction at {int(listing.addresses[first + unknown[0]]):#x}")


def _same_transfer(old: Insn, new: Insn) -> None:
    """A transfer of control stays what it is, but for how far it goes."""
    if old.op.flow is Flow.NEXT:
        return
    if old.op is not new.op:
        raise Different(f"a transfer of control changed from {old.name} to {new.name}")
    for name in ("ra", "rb", "hint", "function"):
        if old.has(name) and old.operand(name) != new.operand(name):
            raise Different(f"operand {name} of {old.name} changed")
