"""Rewrites inside superblocks, each proved there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from passes.lib.changes import Accepted, Refused, Rewritten
from passes.lib.conflicts import Key, untrapped
from passes.lib.insert import Setting, Slots
from passes.lib.technique import Technique
from passes.lib.tune import Tuner
from rewriter.analysis.program import Program
from rewriter.core.addresses import compact
from rewriter.core.code.dataflow import Facts
from rewriter.core.code.groups import Slot
from rewriter.core.code.listing import Listing, among
from rewriter.core.code.program import Function
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Edit
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.target.protocol import Trigger
from rewriter.road.work import Work, edit_id
from rewriter.timing.saved import packed


@dataclass(frozen=True)
class Superblocks:
    """Applies techniques to the superblocks of functions.

    `triggers` say which code the techniques ask to see.
    """

    work: Work
    techniques: tuple[Technique, ...]
    setting: Setting
    triggers: Sequence[Triggered]

    def run(self, function: Function) -> None:
        """Goes through every superblock that has a trigger."""
        program = self.work.program
        here = program.listing.span(function.start, function.end)
        if triggers := [trigger for trigger in self.triggers if trigger.within(*here)]:
            for superblock in program.superblocks(function, partial(_clued, triggers)):
                self._superblock(function, superblock)

    def clean(self, function: Function) -> None:
        """Goes through what control falls out of into code that was changed, as it is by now."""
        work = self.work
        changed = sorted(work.slots.get(function, ()))
        if not changed or work.program.fixups_of(function):
            return
        for superblock, end in work.program.falling(function):
            at = bisect_left(changed, end)
            if at < len(changed) and changed[at] < superblock.end:
                standing = self._standing(superblock, work.slots[function])
                self._cleaned(function, standing, end)

    def _standing(self, superblock: Superblock, slots: Slots) -> Superblock:
        """A superblock as it is by now, with a nop where something went."""
        nops = self.work.program.target.nops
        now = []
        for slot in superblock.slots:
            insn = slots.get(slot.address, slot.insn) or next(iter(nops(slot.insn.size)))
            now.append(Slot(slot.address, insn, slot.stop))
        return replace(superblock, slots=tuple(now))

    def _cleaned(self, function: Function, superblock: Superblock, end: int) -> None:
        """A superblock up to an address; others come to what is behind."""
        tuner = self._tuner(superblock, {})

        def chosen(technique: str, address: int, made: int) -> bool:
            return address < end and self.work.wants(edit_id(technique, function, address), made)

        with tuner.trace.terms:
            self._record(function, superblock, tuner.tune(chosen))

    def _superblock(self, function: Function, superblock: Superblock) -> None:
        self._record(function, superblock, self._tuned(function, superblock, {}))

    def _tuned(self, function: Function, superblock: Superblock, facts: Facts) -> Rewritten:
        """The superblock; where more of the registers at its start may help, with what is known."""
        tuner = self._tuner(superblock, facts)

        def tuned(avoided: frozenset[Key]) -> Rewritten:
            def chosen(technique: str, address: int, made: int) -> bool:
                wanted = self.work.wants(edit_id(technique, function, address), made)
                return wanted and (technique, address) not in avoided

            return tuner.tune(chosen)

        with tuner.trace.terms:
            known = {} if facts or not tuner.unrelated else self._facts(function, superblock)
            if not known:
                found = tuned(frozenset())
                return untrapped(found, tuned, self.setting) if found.accepted else found
        return self._tuned(function, superblock, known)

    def _facts(self, function: Function, superblock: Superblock) -> Facts:
        return self.work.program.facts(function).get(superblock.address, {})

    def _tuner(self, superblock: Superblock, facts: Facts) -> Tuner:
        program, work = self.work.program, self.work
        return Tuner(
            *(superblock, self.techniques, program.target, work.cpu, work.prover),
            *(program.locked_addresses, facts, program.why_kept),
            devices=program.is_kernel,
            fixups=program.fixups,
            assume=program.assume,
        )

    def _record(self, function: Function, superblock: Superblock, tuned: Rewritten) -> None:
        work, addresses = self.work, superblock.addresses()
        work.edits += [self._edit(function, addresses, a) for a in tuned.accepted]
        for refused in tuned.refused:
            self._refused(function, addresses, refused)
        changed = zip(addresses, tuned.superblock.insns, tuned.slots, strict=True)
        slots = {address: new for address, old, new in changed if new is not old}
        if slots:
            work.slots.setdefault(function, {}).update(slots)
            work.carried.setdefault(function, {}).update(tuned.carried)

    def _refused(self, function: Function, addresses: Sequence[int], refused: Refused) -> None:
        at = addresses[refused.site.slot]
        self.work.leave(refused.technique, refused.site.kind, function, at, refused.reason)

    def _edit(self, function: Function, addresses: Sequence[int], accepted: Accepted) -> Edit:
        text = self.work.program.target.table.text
        both = enumerate(zip(accepted.before, accepted.after, strict=True))
        changed = [n for n, (a, b) in both if a is not b]
        address, start = addresses[accepted.rewrite.site], addresses[0]

        def lines(slots: Iterable[Insn | None]) -> str:
            return "; ".join(text(insn) for insn in slots if insn is not None)

        return Edit(
            id=edit_id(accepted.technique, function, address),
            technique=accepted.technique,
            kind=accepted.rewrite.kind,
            routine=function.name,
            address=address,
            old=lines(accepted.before[n] for n in changed),
            new=lines(accepted.after[n] for n in changed),
            evidence=accepted.evidence,
            gain=accepted.gain,
            cycles=self.work.saved(packed(start, accepted.before), packed(start, accepted.after)),
        )


@dataclass(frozen=True)
class Triggered:
    """Where a trigger is, by position, ascending; a superblock needs at least so many."""

    positions: Sequence[int]
    least: int

    def within(self, first: int, last: int) -> bool:
        """Whether [first, last) has enough of them."""
        enough = bisect_left(self.positions, first) + self.least - 1
        return enough < len(self.positions) and self.positions[enough] < last


def _clued(triggers: Sequence[Triggered], first: int, last: int) -> bool:
    return any(trigger.within(first, last) for trigger in triggers)


def triggered(program: Program, triggers: Iterable[Trigger]) -> list[Triggered]:
    """Where code has what some technique asks to see; no instruction of the target may be that."""
    rows, found = program.listing.table.rows, []
    for trigger in triggers:
        numbers = (number for number, op in enumerate(rows) if op.name in trigger.names)
        places = [_places(program.listing, number, trigger.literals) for number in numbers]
        if trigger.readers:
            places = [_read(program.listing, at, trigger.readers) for at in places]
        if trigger.accesses:
            places = [_bases(program, at, trigger.accesses) for at in places]
        if places:
            ascending = compact(np.sort(np.concatenate(places)))
            found.append(Triggered(ascending, trigger.least))
    return found


_SOON = 12
"""Instructions behind one in which what reads its result is looked for."""


def _read(listing: Listing, at: NDArray[np.int64], readers: frozenset[str]) -> NDArray[np.int64]:
    """Those of some positions whose result an instruction of these rows reads soon behind."""
    numbers = [number for number, op in enumerate(listing.table.rows) if op.name in readers]
    found, results = np.zeros(len(at), dtype=bool), listing.defs[at]
    for behind in range(1, _SOON):
        there = np.minimum(at + behind, len(listing) - 1)
        reads = (listing.uses[there] & results).any(axis=1)
        found |= reads & np.isin(listing.rows[there], numbers)
    return at[found]


def _bases(program: Program, at: NDArray[np.int64], names: frozenset[str]) -> NDArray[np.int64]:
    """Those of some positions whose result is the base of an access soon behind, one of these rows,
    and of no other use.

    Others that read it are seen as far as control only falls through; those behind a block that
    control leaves otherwise by what is live there.
    """
    listing, graph = program.listing, program.graph
    numbers = [number for number, op in enumerate(listing.table.rows) if op.name in names]
    falls = among(listing.flows, (Flow.NEXT, Flow.BRANCH))
    ends = np.zeros(len(listing) + 1, dtype=bool)
    ends[graph.last] = True
    reader, spoiled = np.zeros(len(at), dtype=np.int64), np.zeros(len(at), dtype=bool)
    held = np.arange(len(at))
    for behind in range(1, _SOON):
        there = np.minimum(at[held] + behind, len(listing) - 1)
        results = listing.defs[at[held]]
        reads = (listing.uses[there] & results).any(axis=1)
        spoiled[held] |= reads & ((reader[held] > 0) | ~np.isin(listing.rows[there], numbers))
        reader[held[reads]] = there[reads]
        kept = ~(listing.defs[there] & results).any(axis=1) & ~spoiled[held]
        left = kept & (reader[held] > 0) & ends[there + 1]
        blocks = np.searchsorted(graph.first, there[left], side="right") - 1
        spoiled[held[left]] |= (program.live.live_out[blocks] & results[left]).any(axis=1)
        held = held[kept & falls[there]]
    found = np.flatnonzero((reader > 0) & ~spoiled)
    made = listing.defs.numbers(at[found])
    based = [_base(program, n) & mask for n, mask in zip(reader[found].tolist(), made, strict=True)]
    return np.asarray(at[found[np.array(based, dtype=bool)]])


def _base(program: Program, at: int) -> int:
    """The register that an access goes by, as a mask; none where it has an index."""
    insn = program.listing.insn(at)
    place = program.target.spelling.address(insn) if insn is not None else None
    return 0 if place is None else 1 << place[0]


def _places(listing: Listing, number: int, literals: frozenset[int]) -> NDArray[np.int64]:
    """Where the instruction of a row stands, with such a literal if it has one; no nops."""
    table, op = listing.table, listing.table.rows[number]
    at = np.flatnonzero(listing.rows == number)
    if not table.effects(op).stores:
        at = at[listing.defs[at].any(axis=1)]
    literal = next((o for o in op.format.operands if o.kind is Kind.IMMEDIATE), None)
    if literals:
        found = table.extract(listing.words[at], literal) if literal else np.zeros_like(at) - 1
        at = at[np.isin(found, sorted(literals))]
    return at
