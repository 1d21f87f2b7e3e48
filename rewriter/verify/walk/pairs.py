"""Two segments of a function, one of each file, that must do the same: plainly, or by proof."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

from rewriter.analysis.program import Program
from rewriter.core.assumptions import ALIGNMENT, LOADS
from rewriter.core.code.dataflow import Facts, Run, going_on, ranges, run
from rewriter.core.code.extensions import uncertain
from rewriter.core.code.program import Fixup, Function
from rewriter.core.code.shadows import unlike_twice
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.regions.derived import Orders
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk import faults
from rewriter.verify.walk.alignment import aligned
from rewriter.verify.walk.devices import accessed, same_devices, same_enabled, stack_of
from rewriter.verify.walk.equivalence import Comparison, Different, agreeing, unsplit_stores
from rewriter.verify.walk.insn_classes import NOP, WORD
from rewriter.verify.walk.landing_pads import Pads
from rewriter.verify.walk.links.made import same_but_for_place
from rewriter.verify.walk.links.over_the_end import Reading
from rewriter.verify.walk.loads import Single, same_accesses
from rewriter.verify.walk.segments import BlockCutter, Segment, differing, reads_place
from rewriter.verify.walk.stack import nothing_below, same_sides


class Pair(NamedTuple):
    """Places in the old and the new file at which the same must hold.

    Where control comes back from a call here, the register `link` holds the place.
    """

    old: int
    new: int
    link: int | None = None


Compared: TypeAlias = tuple[Evidence, list[tuple[Fixup, Fixup]]]
"""How a pair of segments was shown equal, and which exception entries do the same in them."""

PLAIN = Evidence(Grade.PROVED)
"""That of code which is the same as it stands."""

Shown: TypeAlias = dict[tuple[object, ...], Compared]
"""How segments were shown equal, by all that it depends on, which is said by `Pairs._terms_of`."""

_SHOWN = 1 << 14
"""Comparisons that are remembered."""

_MUCH = 0.8
"""Of two segments, where it is not much less to compare the parts in which they differ."""


def plainly(old: Segment, new: Segment) -> Compared:
    """What is said of segments that are plainly the same."""
    return PLAIN, list(zip(old.fixups.values(), new.fixups.values(), strict=True))


def _short(numbers: Sequence[int]) -> object:
    """Numbers to compare with others, as bytes where none has more than 64 bits."""
    try:
        return array("Q", numbers).tobytes()
    except OverflowError:
        return tuple(numbers)


@dataclass
class Pairs:
    """Compares segments of one function; `code` is its code in the old file.

    `shown` is for all functions of a program: code repeats itself in many.  `features` are those
    that every CPU has which runs the code.
    """

    program: Program
    function: Function
    prover: Prover
    code: BlockCutter
    pads: Pads
    shown: Shown = field(default_factory=dict)
    features: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.target = self.program.target
        self._narrowed = False  # whether less was compared than what may be read

    def compared(self, pair: Pair, old: Segment, new: Segment) -> Compared:
        """How two segments are shown to do the same from a pair of places; raises Different."""
        if self._plainly_same(pair, old, new):
            return plainly(old, new)
        return self._compare(pair, old, new)

    def _plainly_same(self, pair: Pair, old: Segment, new: Segment) -> bool:
        """Whether the instructions are the same but for nops and how far branches go."""
        faulting = old.fixups or new.fixups
        if faulting and list(self._faults(old)) != list(self._faults(new)):
            return False
        if not self.pads.same_ways(old, new):
            return False
        same = old.same_words(new)
        if same and old.addresses == new.addresses and old.insns == new.insns:
            return True
        if reads_place(old.flows[-1], old.defs[-1], old.kinds) or self._traced(old):
            return False
        if pair.link is not None and pair.old != pair.new:
            places = pair.link, (pair.old, pair.new)
            live = partial(self._read_after, pair, old, new.defs)
            return same_but_for_place(self.target, old, new, *places, live)
        return same or self._bare(old) == self._bare(new)

    def _faults(self, segment: Segment) -> Iterator[object]:
        return faults.numbered(segment.proper(), segment.fixups)

    def _bare(self, segment: Segment) -> list[int]:
        return [segment.placeless[slot] for slot in segment.proper()]

    def _compare(self, pair: Pair, old: Segment, new: Segment) -> Compared:
        if self._inputs(new) & ~self._inputs(old):
            raise Different("a register is read that nothing keeps")
        old, new = (one._replace(insns=list(one.insns)) for one in (old, new))
        if lacking := uncertain((old.insns, old.exits), (new.insns, new.exits), self.features):
            raise Different(lacking)
        reason = unlike_twice(old.insns, new.insns, self.target)
        alone = self._stands_alone(old, new)
        if alone and not reason and (found := self._compare_parts(pair, old, new)) is not None:
            return found
        self._reordered(old, new)
        if reason:
            raise Different(reason)
        try:
            if alone:
                return self._compare_alone(pair, old, new)
            return self._compare_given(pair, old, new, {})
        except Different:
            facts = self._facts(pair.old)
            if not facts:
                raise
            return self._compare_given(pair, old, new, facts)

    def _compare_parts(self, pair: Pair, old: Segment, new: Segment) -> Compared | None:
        """How the parts in which two segments differ are shown to do the same from any state.

        Then so do the segments, as all before and behind is the same.  None where they do not, or
        more must be seen: what holds before may be why the segments do the same.
        """
        parts = self._parts(pair, old, new)
        if parts is None:
            return None
        try:
            self._reordered(*parts[1:])
            return self._compare_alone(*parts)
        except Different:
            return None

    def _compare_alone(self, pair: Pair, old: Segment, new: Segment) -> Compared:
        """How two segments are shown to do the same that stand alone: once for the same ones."""
        key = self._terms_of(pair, old, new)
        found = self.shown.get(key)
        if found is None:
            self._narrowed = False
            found = self._compare_given(pair, old, new, {})
            if not self._narrowed:
                if len(self.shown) == _SHOWN:
                    self.shown.clear()
                self.shown[key] = found
        return found

    def _terms_of(self, pair: Pair, old: Segment, new: Segment) -> tuple[object, ...]:
        """All that a comparison of segments depends on that stand alone.

        Where they stand is no part of it, unless a register holds that.  How far branches go is
        none either: the walk goes there, and what may be read there is.
        """
        live = (self._live_after(old, slot) for slot in old.exits)
        return (
            pair if pair.link is not None else None,
            *(_short(segment.placeless) for segment in (old, new)),
            *(old.exits, new.exits, old.flows, old.behind),
            *live,
        )

    def _stands_alone(self, old: Segment, new: Segment) -> bool:
        """Whether nothing that is asked of segments depends on more than a part of them."""
        if old.fixups or new.fixups or self.pads.any or self._traced(old):
            return False
        if self.target.narrow_memory is not None and any(kind & WORD for kind in new.kinds):
            return False  # what shows that it is aligned may be anywhere
        return not any(reads_place(s.flows[-1], s.defs[-1], s.kinds) for s in (old, new))

    def _parts(
        self, pair: Pair, old: Segment, new: Segment
    ) -> tuple[Pair, Segment, Segment] | None:
        """The parts in which two segments differ, and what holds where they begin.

        If they are much less and do not move the stack pointer: what is below it depends on where
        it was.
        """
        slots = differing(old, new)
        if slots is None:
            return None
        here, there = slots
        if here.start and pair.link is not None and pair.old != pair.new:
            here, there = range(here.stop), range(there.stop)
        if len(here) + len(there) > _MUCH * (len(old.insns) + len(new.insns)):
            return None
        written = *old.defs[here.start : here.stop], *new.defs[there.start : there.stop]
        if any(mask >> self.target.stack & 1 for mask in written):
            return None
        behind = None if here.stop == len(old.insns) else self._read_from(old, here.stop)
        if here.start:
            pair = pair._replace(link=None)  # it holds the place at the segment's start
        return pair, old.part(here, behind), new.part(there, behind)

    def _read_from(self, old: Segment, first: int) -> int:
        """The mask of what old code reads from a slot on, and of what may be read behind exits."""
        found, exits = 0, frozenset(old.exits)
        for slot in reversed(range(first, len(old.insns))):
            if slot in exits:
                found |= self._live_after(old, slot)
            if not old.kinds[slot] & NOP:  # it may name registers
                found = found & ~old.defs[slot] | old.uses[slot]
        return found

    def _facts(self, address: int) -> Facts:
        """What is known of registers at a block, of those that the new code keeps for sure."""
        found = self.program.facts(self.function).get(address, {})
        if not found:
            return found
        kept = ~self.program.live_into(address) | self._needed_into(address)
        return {
            register: fact
            for register, fact in found.items()
            if kept >> register & kept >> fact.base & 1
        }

    def _inputs(self, segment: Segment) -> int:
        read = written = 0
        for slot in segment.proper():
            uses, defs = segment.uses[slot], segment.defs[slot]
            if uses != defs or not self.target.is_nop(segment.insns[slot]):  # it may name registers
                read |= uses & ~written
                written |= defs
        return read

    def _compare_given(self, pair: Pair, old: Segment, new: Segment, facts: Facts) -> Compared:
        with self.target.table.terms() as terms:
            return self._compare_in(terms, pair, old, new, facts)

    def _reordered(self, old: Segment, new: Segment) -> None:
        """Instructions that only change places do the same for any meaning; raises Different."""
        before, after = self._bare(old), self._bare(new)
        if before == after or sorted(before) != sorted(after):
            return
        code, other = (
            [(one.addresses[slot], one.insns[slot]) for slot in one.proper()] for one in (old, new)
        )
        faults, others = ({one.addresses[slot] for slot in one.fixups} for one in (old, new))
        exits = {old.addresses[slot]: self._live_after(old, slot) for slot in old.exits}
        end = exits[old.addresses[old.exits[-1]]]
        reason = self._orders.objection(code, other, end, exits, (faults, others))
        if reason:
            raise Different(f"another order: {reason}")

    @cached_property
    def _orders(self) -> Orders:
        return Orders(self.target, self.program.is_kernel)

    def _compare_in(
        self, terms: Terms, pair: Pair, old: Segment, new: Segment, facts: Facts
    ) -> Compared:
        faulting, throwing = bool(old.fixups or new.fixups), self.pads.slots(old, new)
        traced = self._traced(old)
        leaving = (
            (faulting, (*slots, *(one.exits[n] for n in traced)))
            for one, slots in zip((old, new), throwing, strict=True)
        )
        before, after = (
            self._run(terms, segment, place, pair.link, facts, ways)
            for segment, place, ways in zip((old, new), pair[:2], leaving, strict=True)
        )
        comparison = Comparison(self.prover, terms, self.target.table.register_names)
        sides = (before, old.insns), (after, new.insns)
        nothing_below(comparison, self.target, *sides, facts)
        if self.program.is_kernel:
            same_enabled(self.target, old.insns, new.insns)
        matching = self._matching(comparison, before, after, old, new)
        stages = _Stages(self, comparison, (before, old), (after, new), facts)
        single = Single(comparison, self.target, *sides, stack_of(terms, self.target, facts))
        waiting = [access for access in matching.old if access.fixup is not None]
        old_throwers = self.pads.throwers(before, old, throwing[0], False)
        throwers = self.pads.throwers(after, new, throwing[1], True)
        for n, (slot, other) in enumerate(zip(old.exits, new.exits, strict=True)):
            self.pads.same_call(old, new, slot, other)
            may_fault = bool(waiting) and waiting[0].slot <= slot
            if n in traced:
                stages.follow(other)
                self._seen(comparison, (before, old, slot), (after, new, other))
            if may_fault or (throwers and throwers[0].slot <= other):
                stages.follow(other)  # by what holds before: the way leaves before the exit
            while waiting and waiting[0].slot <= slot:
                self._resumes(matching, waiting.pop(0), before, after)
            while throwers and throwers[0].slot <= other:
                self.pads.meet(comparison, old_throwers, throwers.pop(0))
            stages.reach(slot, other)
            live = self._read_after(pair, old, new.defs[: other + 1], slot)
            self._link(before.exits[slot], after.exits[other], old, new, slot, other)
            _lead(old.insns[slot], before.exits[slot], after.exits[other])
            states = before.exits[slot], after.exits[other]
            try:
                comparison.check(*states, live)
            except Different:
                self._narrowed, needed = True, self._needed_after(old, slot)
                if needed == live:
                    raise
                comparison.check(*states, needed)
            single.reach(slot, other)
            if LOADS not in self.program.assume:
                ways = (before, old.insns[: slot + 1]), (after, new.insns[: other + 1])
                same_accesses(comparison, self.target, *ways)
            stages.leave(slot)
        single.finish()
        unsplit_stores(before, after)
        same_sides(comparison, self.target, *sides, facts)
        assumed = matching.finish()
        evidence = comparison.evidence()
        resumed = [(a.fixup, b.fixup) for a, b in matching.pairs if a.fixup and b.fixup]
        if assumed:
            evidence = replace(evidence, preconditions=(*evidence.preconditions, *assumed))
        return evidence, resumed

    def _matching(
        self, comparison: Comparison, before: Run, after: Run, old: Segment, new: Segment
    ) -> faults.Matching:
        if not old.fixups and not new.fixups:
            return faults.Matching(comparison, (), ())
        return faults.Matching(
            comparison,
            faults.accesses(before, old.insns, old.fixups, self.target),
            faults.accesses(after, new.insns, new.fixups, self.target),
        )

    def _traced(self, old: Segment) -> list[int]:
        """Which exits of the old code, by number, are calls that are traced or not made."""
        traced = self.program.traced  # of most files none
        if not traced:
            return []
        return [n for n, slot in enumerate(old.exits) if old.addresses[slot] in traced]

    def _seen(
        self, comparison: Comparison, old: tuple[Run, Segment, int], new: tuple[Run, Segment, int]
    ) -> None:
        """That a call stands where it did, and every register is the same before it."""
        (before, segment, slot), (after, other, there) = old, new
        if segment.addresses[slot] != other.addresses[there]:
            raise Different("a call that may be traced moved")
        states = before.exits[slot - 1].snapshot(), after.exits[there - 1].snapshot()
        for state in states:
            state.control = None  # a branch before it is an exit of its own
        comparison.check(*states, self.target.everything)

    def _resumes(
        self, matching: faults.Matching, access: faults.Access, before: Run, after: Run
    ) -> None:
        """That what may be read after a fault is the same before an access and its new one."""
        assert access.fixup is not None
        other = matching.match(access)
        live = self.program.live_after_fault(access.fixup)
        states = (before.exits[access.slot - 1], after.exits[other.slot - 1])
        old, new = (state.snapshot() for state in states)
        old.control = new.control = None  # a branch before it is an exit of its own
        matching.comparison.check(old, new, live)

    def _run(
        self,
        terms: Terms,
        segment: Segment,
        start: int,
        link: int | None,
        facts: Facts,
        leaving: tuple[bool, Iterable[int]],
    ) -> Run:
        """Runs a segment; where accesses may go on elsewhere, with the state before each access.

        `leaving` says whether they may fault, and the slots of what may throw.
        """
        table, (faulting, slots) = self.target.table, leaving
        links = {link: start} if link is not None else {}
        exits = {*segment.exits, *(slot - 1 for slot in slots)}
        if faulting:
            found = faults.access_slots(segment.insns, segment.fixups, self.target)
            exits.update(slot - 1 for slot in found)
        changing = self.target.tables.of_processor if self.program.is_kernel else None
        return run(table, terms, segment.insns, segment.addresses, exits, links, facts, changing)

    def _link(
        self, before: Symbolic, after: Symbolic, old: Segment, new: Segment, slot: int, other: int
    ) -> None:
        """What is left in a link register is each file's own place."""
        insn = old.insns[slot]
        link = self.target.table.link(insn) if insn.op.flow.links else None
        if link is not None:
            for state, segment, at in ((before, old, slot), (after, new, other)):
                if state.registers.get(link) is state.code(segment.addresses[at] + insn.size):
                    state.registers[link] = state.terms.var("return address")

    def _live_after(self, old: Segment, slot: int) -> int:
        """Registers that may be read after an exit of the old code."""
        if old.behind is not None and slot == old.exits[-1]:
            return old.behind
        insn, address = old.insns[slot], old.addresses[slot]
        if insn.op.flow is Flow.BRANCH and slot != old.exits[-1]:
            target = insn.target(address)
            assert target is not None
            return self.program.live_into(target)
        return self.program.live.out_of(self.code.block_holding(address))

    def _read_after(self, pair: Pair, old: Segment, written: Sequence[int], slot: int) -> int:
        """The same, but for where the call before it came back to, if nothing reads that but a
        function that control falls into: both files return to it behind that call.

        `written` are the registers that each instruction of the new code writes till then.
        """
        live, link = self._live_after(old, slot), pair.link
        if link is None or pair.old == pair.new or not live >> link & 1:
            return live
        if old.behind is not None and slot == old.exits[-1]:
            return live  # the rest of the segment may read it, too
        if any(mask >> link & 1 for mask in (*old.defs[: slot + 1], *written)):
            return live
        reading, insn = Reading(self.program, self.function, link), old.insns[slot]
        target = insn.target(old.addresses[slot])
        if insn.op.flow is Flow.BRANCH and slot != old.exits[-1] and target is not None:
            read = reading.at(target)
        else:
            read = reading.after(self.code.block_holding(old.addresses[slot]))
        return live if read else live & ~register_mask((link,))

    def _needed_after(self, old: Segment, slot: int) -> int:
        """Those of them from which anything may come that is seen.

        The others may be read, for values of which nothing comes: of registers that nobody knows
        of but code that reads them.
        """
        if old.behind is not None and slot == old.exits[-1]:
            return old.behind
        insn, address = old.insns[slot], old.addresses[slot]
        if insn.op.flow is Flow.BRANCH and slot != old.exits[-1]:
            target = insn.target(address)
            assert target is not None
            return self._needed_into(target)
        block = self.code.block_holding(address)
        return self._scarce(
            self.program.live.out_of(block), self.program.needed(self.function).after[block]
        )

    def _needed_into(self, address: int) -> int:
        """The same at an address."""
        live = self.program.live_into(address)
        if address not in self.function:
            return live
        block = self.program.graph.block_holding(address)
        if self.program.graph.first[block] != self.program.listing.index(address):
            return live
        return self._scarce(live, self.program.needed(self.function).into[block])

    def _scarce(self, live: int, needed: int) -> int:
        return live & (needed | ~self.target.spelling.SCRATCH)


@dataclass
class _Stages:
    """What is assumed of alignment grows from exit to exit, and values are followed by it.

    A way that leaves early has not done what comes later: nothing of that may be used for it.
    """

    pairs: Pairs
    comparison: Comparison
    old: tuple[Run, Segment]
    new: tuple[Run, Segment]
    facts: Facts

    def __post_init__(self) -> None:
        self._done, self._following = 0, True
        terms = self.comparison.terms
        self.comparison.known = tuple(ranges(self.pairs.target.table, terms, self.facts))
        self._likely = agreeing(self.old[0].values, self.comparison)

    def follow(self, last: int) -> None:
        """Follows values of the new run up to a slot, by what is assumed now."""
        if self._following:
            slots = range(self._done, last + 1)
            run = self.new[0]
            self._following = self.comparison.follow(self.old[0].state, run, self._likely, slots)

    def reach(self, slot: int, other: int) -> None:
        """Goes on to an exit of the old code and the same of the new."""
        comparison = self.comparison
        # What follows may rest on it; what is shown there may show more.
        comparison.aligned = self._aligned(slot, other)
        self.follow(other)
        self._done = other + 1
        if self.pairs.program.is_kernel:
            self._same_devices(slot, other)
        comparison.aligned = self._aligned(slot, other)

    def leave(self, slot: int) -> None:
        """Goes on behind an exit of the old code: what its transfer asks for did not hold.

        Not where accesses are looked at once more behind the end, as those before the exit are.
        """
        run, segment = self.old
        if self._once:
            self.comparison.known += (*going_on(segment.insns[slot], run.exits[slot]),)

    @cached_property
    def _once(self) -> bool:
        """Whether nothing is asked behind the end: no access may fault, and the stack stays."""
        segments, target = (self.old[1], self.new[1]), self.pairs.target
        defs = (mask for segment in segments for mask in segment.defs)
        return not any(s.fixups for s in segments) and not any(d >> target.stack & 1 for d in defs)

    def _aligned(self, slot: int, other: int) -> tuple[tuple[Term, int], ...]:
        if ALIGNMENT not in self.pairs.program.assume:
            return ()
        before, after = self.old[0], self.new[0]
        target = self.pairs.target
        return aligned(target, self.comparison, before, after, self.old[1], (slot, other))

    def _same_devices(self, slot: int, other: int) -> None:
        target = self.pairs.target
        lists = [
            list(accessed(run, segment.insns[: last + 1], target, self.facts))
            for (run, segment), last in ((self.old, slot), (self.new, other))
        ]
        same_devices(self.comparison, target, *lists)


def _lead(insn: Insn, *states: Symbolic) -> None:
    """Where a transfer goes whose target is encoded is not compared here: the walk goes there."""
    if insn.op.format.target is None:
        return
    for state in states:
        if state.control is not None:
            state.control = state.control[0], state.terms.const(0)
