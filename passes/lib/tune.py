"""Applies techniques to a superblock: propose, drop what died, prove, keep or try the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from passes.lib.changes import Accepted, Refused, Rewritten, count
from passes.lib.technique import LOADED_BEFORE, UNRELATED, Site, Technique, idle, usable
from rewriter.core.assumptions import ALIGNMENT, EVERY
from rewriter.core.code.dataflow import (
    INPUT,
    Facts,
    Run,
    Trace,
    drop_dead,
    going_on,
    inputs,
    ranges,
    registers_of,
    run,
    written,
)
from rewriter.core.code.program import Fixup
from rewriter.core.code.shadows import unlike_twice
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Evidence, Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.run.ledger import charged, spending
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.devices import Access, accessed, based, same_devices, stack_of
from rewriter.verify.walk.equivalence import Comparison, Different, Likely
from rewriter.verify.walk.loads import Single

Chosen = Callable[[str, int, int], bool]
"""Whether the user wants a technique's edit at an address, after so many in the superblock."""


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A site of a technique; its proposals are without feeders that must stay."""

    number: int
    technique: str
    site: Site
    proposals: tuple[Rewrite, ...]


@dataclass
class Tuner:
    """Tries every technique's sites of a superblock in order; each is proved against the original.

    `locked` are addresses between a load-locked and its store-conditional: nothing there changes.
    `facts` are known of registers at the start; `held` says why an instruction must stay what it
    is, or nothing; `devices` that accesses may reach a device; `fixups` are the accesses that a
    kernel lets fault; `assume` names what a proof may rest on.
    """

    superblock: Superblock
    techniques: Sequence[Technique]
    target: Sequential
    cpu: Cpu
    prover: Prover
    locked: frozenset[int]
    facts: Facts = field(default_factory=dict)
    held: Callable[[Insn], str] = lambda _: ""
    devices: bool = False
    fixups: Mapping[int, Fixup] = field(default_factory=dict)
    assume: frozenset[str] = EVERY

    def __post_init__(self) -> None:
        block, target = self.superblock, self.target
        code = block.insns, block.address, block.leaving
        self.trace = Trace(target.table, *code, self.facts)
        self._reasons: dict[int, str] = {}
        self._known: dict[tuple[_Name, ...], Tried | str] = {}
        found = (
            (technique.name, site)
            for technique in self.techniques
            for site in charged(technique.name, technique.sites(self.trace, target, self.cpu))
        )
        self._sites = [
            _Numbered(number, name, site, self._without_held(site.proposals))
            for number, (name, site) in enumerate(found)
        ]

    @property
    def unrelated(self) -> bool:
        """Whether there is a site that knowing more of the registers at the start may give."""
        return any(
            one.site.reason in (UNRELATED, LOADED_BEFORE)
            or any(proposal.conditional for proposal in one.proposals)
            for one in self._sites
        )

    def tune(self, chosen: Chosen) -> Rewritten:
        """The superblock with all that is chosen and can be shown."""
        self.tuned = Rewritten(self.superblock, self.superblock.insns, self.facts)
        self._made: tuple[_Name, ...] = ()
        self.feeders = self.aligned = frozenset[int]()
        self.conditional = False
        open_sites = self._sites
        while open_sites:
            # One rewrite may free the register that another needs: try the refused ones again.
            made, self.tuned.refused = self._made, []
            open_sites = [site for site in open_sites if not self._site(site, chosen)]
            if self._made == made:
                break
        return self.tuned

    def _site(self, one: _Numbered, chosen: Chosen) -> bool:
        """Whether the site is settled: rewritten, made needless by another, or not wanted."""
        site, tuned = one.site, self.tuned
        address = self.trace.addresses[site.slot]
        wanted = chosen(one.technique, address, len(tuned.accepted))
        if tuned.slots[site.slot] is None or not wanted:
            return True
        reason = site.reason or "no free register or place"
        for number, proposal in enumerate(one.proposals):
            made = (*self._made, (one.number, number))
            with spending(one.technique):
                result = self._tried(made, proposal)
            if isinstance(result, str):
                # The first proposal is the natural one: its failure says most.
                reason = result if number == 0 and not site.reason else reason
                continue
            slots, evidence, carried = result
            tuned.carried |= carried
            tuned.accepted.append(Accepted(one.technique, proposal, evidence, tuned.slots, slots))
            tuned.slots, self._made = slots, made
            self.feeders |= proposal.feeders
            self.aligned |= proposal.aligned
            self.conditional |= proposal.conditional
            return True
        tuned.refused.append(Refused(one.technique, site, reason))
        return False

    def _tried(self, made: tuple[_Name, ...], proposal: Rewrite) -> Tried | str:
        """As `_try`, once for each proposal after the same ones."""
        if made not in self._known:
            self._known[made] = self._try(proposal)
        return self._known[made]

    def _without_held(self, proposals: tuple[Rewrite, ...]) -> tuple[Rewrite, ...]:
        """The proposals with feeders only that may go."""
        feeders = {slot for one in proposals for slot in one.feeders}
        held = frozenset(slot for slot in feeders if self._held(slot))
        if not held:
            return proposals
        return tuple(replace(one, feeders=one.feeders - held) for one in proposals)

    def _try(self, proposal: Rewrite) -> Tried | str:
        """The new slots with their evidence and the exception entries that moved, or why not."""
        touched = {slot for slot, _ in proposal.changes} | proposal.feeders
        if any(self.trace.addresses[slot] in self.locked for slot in touched):
            return "between load-locked and store-conditional"
        for slot, _ in proposal.changes:
            if reason := self._held(slot):
                return reason
        new = [insn for _, insn in proposal.changes if insn is not None]
        if not usable(self.cpu, new):
            return f"{self.cpu.name} lacks the instruction"
        reasons = []
        for needed in self._needed(proposal):
            tried = self._without_others(proposal, needed)
            if not isinstance(tried, str):
                return tried
            reasons.append(tried)
        return reasons[0]

    def _without_others(self, proposal: Rewrite, needed: set[int]) -> Tried | str:
        """As `_try`; of the feeders those stay that are `needed`."""
        slots = list(self.tuned.slots)
        for slot in self._only_for(proposal, needed):
            slots[slot] = None
        for slot, insn in proposal.changes:
            slots[slot] = None if idle(insn, self.target) else insn
        feeders = self.feeders | proposal.feeders
        slots = drop_dead(self.target.table, slots, feeders, self.trace.exits)
        if count(slots) >= count(self.tuned.slots):
            return _NOTHING_SAVED
        try:
            carried = self._carried(slots, proposal)
            return tuple(slots), self._prove(slots, proposal), carried
        except Different as different:
            return different.what

    def _carried(self, slots: Sequence[Insn | None], proposal: Rewrite) -> dict[int, int | None]:
        """Which access each exception entry of a changed one is for; raises Different."""
        trace = self.trace
        touched = {slot for slot, _ in proposal.changes} | proposal.feeders
        entries = [slot for slot in sorted(touched) if trace.addresses[slot] in self.fixups]
        if not entries:
            return {}
        made = [
            s
            for s, insn in proposal.changes
            if insn is not None and self.target.table.accesses(insn)
        ]
        found = [self.fixups[trace.addresses[slot]] for slot in entries]
        same = len({(fixup.resume, fixup.sets) for fixup in found}) == 1
        gone = all(
            slots[slot] is not insn and self.tuned.slots[slot] is insn
            for slot, insn in ((slot, trace.insns[slot]) for slot in entries)
        )
        if len(made) != 1 or not same or not gone:
            raise Different("an exception entry names the access")
        if len(entries) > 1 and self.target.tables.exceptions.sorted:
            raise Different("each entry of an exception table that is in order stays")
        keeper = made[0] if made[0] in entries else entries[0]
        return {
            trace.addresses[slot]: trace.addresses[made[0]] if slot == keeper else None
            for slot in entries
        }

    def _only_for(self, proposal: Rewrite, needed: set[int]) -> set[int]:
        """The feeders whose results nothing but the site uses; none of the `needed` ones."""
        trace = self.trace
        found: set[int] = set()
        for feeder in sorted(proposal.feeders, reverse=True):
            users = {u for u in trace.users.get(feeder, ()) if self.tuned.slots[u] is not None}
            kept = feeder in needed or trace.escapes(feeder)
            if users <= found | {proposal.site} and not kept:
                found.add(feeder)
        return found

    def _needed(self, proposal: Rewrite) -> list[set[int]]:
        """The slots that the new instructions may get their operands from.

        A register's last writer is the plain answer; if that is a feeder which reads the same
        register (`sll r,56,r`), what it reads may be meant, and that is the second answer.  The
        third is what the register holds without any of the feeders.
        """
        plain, through, outside = set[int](), set[int](), set[int]()
        for register, slot in self._read(proposal):
            writers = self._writers(register, slot, proposal)
            plain |= self._with_sources(writers[:1])
            through |= self._with_sources(writers[-1:])
            outside |= self._with_sources([self._writer_outside(register, slot, proposal)])
        answers = [plain, through, outside]
        return [one for at, one in enumerate(answers) if one not in answers[:at]]

    def _read(self, proposal: Rewrite) -> Iterator[tuple[int, int]]:
        """The registers that new instructions read and none of them made, with their slots."""
        table = self.target.table
        made = {slot: table.defs(insn) for slot, insn in proposal.changes if insn is not None}
        for slot, insn in proposal.changes:
            for register in registers_of(table.uses(insn)) if insn is not None else ():
                if not any(s < slot and defs >> register & 1 for s, defs in made.items()):
                    yield register, slot

    def _writers(self, register: int, before: int, proposal: Rewrite) -> list[int]:
        """The last slot that writes a register, and those before it that it passes through."""
        trace, found = self.trace, []
        for slot in range(before - 1, -1, -1):
            if self.target.table.defs(trace.insns[slot]) >> register & 1:
                found.append(slot)
                if slot not in proposal.feeders or register not in trace.definition[slot]:
                    return found
        return [*found, INPUT]

    def _writer_outside(self, register: int, before: int, proposal: Rewrite) -> int:
        """The last slot that writes a register and is no feeder."""
        defs, insns = self.target.table.defs, self.trace.insns
        others = (s for s in range(before - 1, -1, -1) if s not in proposal.feeders)
        return next((s for s in others if defs(insns[s]) >> register & 1), INPUT)

    def _with_sources(self, slots: Sequence[int]) -> set[int]:
        return {s for slot in slots if slot != INPUT for s in {slot} | self.trace.slice(slot)}

    def _held(self, slot: int) -> str:
        """Why the instruction in a slot must stay what it is, or nothing."""
        if slot not in self._reasons:
            reason = self.held(self.trace.insns[slot])
            self._reasons[slot] = reason if reason and not self._on_stack(slot) else ""
        return self._reasons[slot]

    def _on_stack(self, slot: int) -> bool:
        """Whether an access is to the stack, which is memory."""
        held, _ = based(self._original, slot, self.trace.insns[slot], self.target)
        return self.trace.terms.linear(held)[0] is self._stack

    @cached_property
    def _stack(self) -> Term:
        return stack_of(self.trace.terms, self.target, self.trace.facts)

    @cached_property
    def _original(self) -> Run:
        """The run of the original code, as far as its accesses go by it."""
        operands = {slot: tuple(held.values()) for slot, held in enumerate(self.trace.operand)}
        return Run(self.trace.state, self.trace.addresses, operand=operands)

    @cached_property
    def _accessed(self) -> list[Access]:
        trace = self.trace
        return list(accessed(self._original, trace.insns, self.target, trace.facts))

    @cached_property
    def _conditions(self) -> tuple[tuple[int, Term], ...]:
        """What is known to hold in the original code: a slot, and a condition behind it."""
        trace = self.trace
        start = ranges(trace.table, trace.terms, trace.facts)
        passed = (
            (slot, condition)
            for slot, state in trace.states.items()
            for condition in going_on(trace.insns[slot], state)
        )
        return (*((INPUT, condition) for condition in start), *passed)

    def _prove(self, slots: Sequence[Insn | None], proposal: Rewrite) -> Evidence:
        trace, table = self.trace, self.target.table
        aligned = self.aligned | proposal.aligned
        if inputs(table, slots) & ~trace.inputs:
            raise Different("a register would be read that nothing keeps")
        if written(table, slots) & ~trace.written:
            raise Different("a register would be written that callers may keep")
        if reason := unlike_twice(trace.insns, slots, self.target):
            raise Different(reason)
        new = run(
            table,
            trace.terms,
            slots,
            trace.addresses,
            trace.states,
            facts=trace.facts,
        )
        shown = {slot: new.narrow[slot] for slot in sorted(aligned & new.narrow.keys())}
        shown = shown if ALIGNMENT in self.assume else {}
        known = self._conditions if self.conditional or proposal.conditional else ()
        comparison = Comparison(self.prover, trace.terms, table.register_names)
        done = (*(a.rewrite for a in self.tuned.accepted), proposal)
        sites = {rewrite.result: rewrite.site for rewrite in done}

        def likely(slot: int, _: Term) -> tuple[Term, ...]:
            value = trace.value[sites[slot]] if slot in sites else None
            return () if value is None else (value,)

        self._agree(comparison, new, shown, known, likely)
        self._read_once(comparison, new, slots)
        if self.devices:
            others = accessed(new, slots, self.target, trace.facts)
            same_devices(comparison, self.target, self._accessed, others)
        evidence = comparison.evidence()
        return evidence if proposal.aligned else replace(evidence, preconditions=())

    def _agree(
        self,
        comparison: Comparison,
        new: Run,
        shown: Mapping[int, tuple[Term, int]],
        known: Iterable[tuple[int, Term]],
        likely: Likely,
    ) -> None:
        """Shows that the states at all exits agree, or raises Different.

        `shown` are accesses that something shows to be aligned, by slot: so they are behind it;
        `known` are conditions, each behind a slot.
        """
        following, done = True, 0
        for slot, live in self.trace.exits:
            comparison.aligned = tuple(a for at, a in shown.items() if at <= slot)
            comparison.known = tuple(condition for at, condition in known if at < slot)
            if following:
                slots = range(done, slot + 1)
                following = comparison.follow(self.trace.state, new, likely, slots)
            done = slot + 1
            comparison.check(self.trace.states[slot], new.exits[slot], live)

    def _read_once(self, comparison: Comparison, new: Run, slots: Sequence[Insn | None]) -> None:
        """That changed instructions load no more than those did that they stand for, or Different.

        All others load what they did.
        """
        trace, effects = self.trace, self.target.table.effects
        changed = [now is not was for now, was in zip(slots, trace.insns, strict=True)]
        sides = [
            [insn if is_changed else None for insn, is_changed in zip(side, changed, strict=True)]
            for side in (trace.insns, slots)
        ]
        if not any(insn is not None and effects(insn.op).loads for insn in sides[1]):
            return
        runs = (self._original, sides[0]), (new, sides[1])
        single = Single(comparison, self.target, *runs, self._stack)
        for slot in trace.states:
            single.reach(slot, slot)


_NOTHING_SAVED = "no instruction saved"

Tried: TypeAlias = tuple[tuple[Insn | None, ...], Evidence, dict[int, int | None]]

_Name: TypeAlias = tuple[int, int]
"""Of a proposal: the number of its site, and its own there."""
