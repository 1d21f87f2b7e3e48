"""A straight region executed on terms, instruction group by instruction group.

Within a group every read sees the value from before the group, but for what the target says is
forwarded.  Which reads and writes a group may have is another question (`regions_legal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, takewhile

from rewriter.core.assumptions import EVERY
from rewriter.core.code.transfer import Exit, How, Order, Provable, Result, Transfer
from rewriter.core.isa.instruction import Insn
from rewriter.verify.regions.code import Code, Group, Step
from rewriter.verify.regions.events import Event, Events
from rewriter.verify.regions.legality import Clashing, Executed
from rewriter.verify.regions.terms import Term, Terms

_KINDS = {How.CLEARS: "clear", How.SETS: "set", How.GATHERS: "gather"}


class Unprovable(Exception):
    """The region has something that the proof does not know; `at` is a slot's address."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at, self.why = at, why


@dataclass(frozen=True, slots=True)
class Leaving:
    """A place where control may leave, or where all registers may be read.

    `state` are the registers written until then, `events` the number of earlier events; `target`
    and `link` are code addresses.  Control leaves if `is_exit`; `renames`: the registers have other
    names behind it.
    """

    at: int
    name: str
    term: Term
    guard: Term
    target: int | None
    link: int | None
    state: Mapping[int, Term]
    events: int
    is_exit: bool
    renames: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A prefetch that cannot fault: where it stands, its condition, and the address."""

    at: int
    name: str
    guard: Term
    address: Term


@dataclass
class Run:
    """One region's run: `state` holds the registers written so far, `executed` is by slot.

    `together` are pairs of a system event and what is not free behind it in its group, `meeting`
    pairs of events that perhaps write one bit of a register in one group, `asked` the prefetches
    that cannot fault.
    """

    terms: Terms
    target: Provable
    assume: frozenset[str] = EVERY
    state: dict[int, Term] = field(default_factory=dict)
    leaving: list[Leaving] = field(default_factory=list)
    executed: dict[int, Executed] = field(default_factory=dict)
    together: set[tuple[Term, Term]] = field(default_factory=set)
    meeting: set[tuple[Term, Term]] = field(default_factory=set)
    asked: list[Asked] = field(default_factory=list)
    ended: bool = False

    def __post_init__(self) -> None:
        self.events = Events(self.terms, self.assume)
        self._initial: dict[int, Term] = {
            register: self.terms.const(value)
            for register, value in self.target.constants.items()
            if value in (0, 1)
        }
        self._pending: dict[int, Term] = {}
        self._writers: dict[int, Insn] = {}
        self._system: list[Term] = []
        self._around: list[Term] = []
        self._gathering: list[Event] = []
        self._rotated: int | None = None

    def code(self, code: Code, trusted: Iterable[Clashing] = ()) -> None:
        """Runs a region; predicates of pairs that clash for sure in trusted code are exclusive."""
        self._system = [
            self.terms.term("before", step.slot.insn)
            for step in code.before
            if step.transfer.order.is_system
        ]
        self._around = [
            self.terms.term("before", step.slot.insn)
            for step in code.before
            if step.transfer.period
        ]
        trusted = [each for each in trusted if each.is_exclusion and _is_certain(each, code)]
        for number, group in enumerate(code.groups):
            for each in trusted:
                if each.group == number and not self.leaving:
                    self._assume(each.first, each.second)
            self._group(group, code.region.seen)
            if self.ended:
                return
        for step in code.after:
            if step.transfer.order is not Order.FREE:
                self._share(self.terms.term("after", step.slot.insn))
            if step.transfer.period:
                after = self.terms.term("after", step.slot.insn)
                self.meeting.update((event.term, after) for event in self._gathering)

    def _group(self, group: Group, seen: frozenset[int]) -> None:
        for step in group:
            if step.slot.address in seen:
                self._see(step, "a read from outside")
            self._execute(step)
            if self.ended:
                return
        self.state.update(self._pending)
        self._pending.clear()
        self._writers.clear()
        if group[-1].slot.stop:
            self._system, self._around, self._gathering = [], [], []

    @property
    def renames(self) -> bool:
        """Whether registers got other names."""
        return self._rotated is not None

    def value(self, register: int) -> Term:
        """The value of a register after the groups that have run."""
        value = self.state.get(register)
        if value is None:
            value = self._initial.get(register)
        return self.initial(register) if value is None else value

    def initial(self, register: int) -> Term:
        """The value of a register at the entry."""
        value = self._initial.get(register)
        if value is None:
            value = self._initial[register] = self.terms.term("in", register)
        return value

    def _assume(self, first: Step, second: Step) -> None:
        """Takes two predicates for exclusive, as the code itself does."""
        a, b = (
            self.terms.true if guard is None else self.value(guard)
            for guard in (first.transfer.guard, second.transfer.guard)
        )
        if a != b and self.terms.true not in (a, b) and not self.terms.exclusive(a, b):
            self.terms.assume_exclusive(a, b)

    def _read(self, register: int, insn: Insn) -> Term:
        """What an instruction sees in a register."""
        pending = self._pending.get(register)
        if pending is not None:
            forwarded = self.target.forwarded(self._writers[register], insn)
            if forwarded >> register & 1:
                return pending
        return self.value(register)

    def _execute(self, step: Step) -> None:
        (slot, transfer), terms = step, self.terms
        insn = slot.insn
        guard = terms.true
        if transfer.guard is not None:
            guard = self._read(transfer.guard, insn)
        self.executed[slot.address] = Executed(guard, len(self.leaving))
        if self._rotated is not None and (transfer.function or transfer.sums):
            raise Unprovable(self._rotated, "a branch that renames registers is not the last")
        values = [self._read(register, insn) for register in transfer.reads]
        if guard != terms.true:
            values = [terms.given(value, guard) for value in values]
        if transfer.is_placed:
            values.append(terms.const(self.target.base(slot.address)))
        if transfer.asks is not None:
            address = terms.given(self._read(transfer.asks, insn), guard)
            self.asked.append(Asked(slot.address, transfer.name, guard, address))
        event = None
        if transfer.order is Order.WATCHED:
            values.append(self.events.fence)
            self._share(terms.term("watched", transfer.function, *values))
        if transfer.order.is_event and guard != terms.false:
            event = self._event(step, guard, values)
        if transfer.exit is not None and guard != terms.false:
            self._leave(step, transfer.exit, guard, values)
            if transfer.exit.certain:
                self.ended = guard == terms.true
                return
        self._write(insn, transfer, guard, values, event)

    def _event(self, step: Step, guard: Term, values: list[Term]) -> Term:
        slot, transfer = step
        if transfer.order is Order.SEEN:
            self._see(step, transfer.name)
        event = self.events.add(slot.address, transfer, guard, values)
        self._share(event)
        if transfer.order.is_system:
            self._system.append(event)
        if transfer.period:
            self._gather(self.events.all[-1])
        return event

    def _gather(self, event: Event) -> None:
        """Notes those before it in the group that perhaps set the same bit."""
        self.meeting.update((other, event.term) for other in self._around)
        for other in self._gathering:
            if self.events.may_meet(event, other):
                self.meeting.add((other.term, event.term))
        self._gathering.append(event)

    def _share(self, event: Term) -> None:
        self.together.update((system, event) for system in self._system)

    def _see(self, step: Step, why: str) -> None:
        term = self.terms.term("seen", step.transfer.function)
        self._note(step, why, term, self.terms.true, (None, None), False)

    def _leave(self, step: Step, leaves: Exit, guard: Term, values: list[Term]) -> None:
        slot, transfer = step
        base = self.target.base(slot.address)
        target = None if leaves.distance is None else (base + leaves.distance) & self.terms.ones
        link = self.target.following(slot.address) if leaves.links else None
        term = self.terms.term("leave", transfer.function, *values)
        self._share(term)
        if leaves.rotates:
            self._rotated = slot.address
        self._note(step, transfer.name, term, guard, (target, link), True)

    def _note(
        self,
        step: Step,
        name: str,
        term: Term,
        guard: Term,
        whereto: tuple[int | None, int | None],
        is_exit: bool,
    ) -> None:
        state = {**self.state, **self._pending}
        at, count, renames = step.slot.address, len(self.events.all), self.renames
        self.leaving.append(
            Leaving(at, name, term, guard, *whereto, state, count, is_exit, renames)
        )

    # Writing ----------------------------------------------------------------------------------

    def _write(
        self,
        insn: Insn,
        transfer: Transfer,
        guard: Term,
        values: list[Term],
        event: Term | None,
    ) -> None:
        """Makes the results; those of an early instruction are seen at once."""
        for register in transfer.renamed:
            old = self._under(register)
            self._set(insn, register, guard, self.terms.term("of", event, register, old))
        for result in transfer.results:
            self._result(insn, transfer, result, guard, values, event)
        for total in transfer.sums:
            addends = [self._read(register, insn) for register in total.addends]
            if guard != self.terms.true:
                addends = [self.terms.given(addend, guard) for addend in addends]
            value = self.terms.add(addends, total.constant)
            self._set(insn, total.register, guard, value)
        if transfer.is_early:
            self.state.update(self._pending)
            self._pending.clear()
            self._writers.clear()

    def _result(
        self,
        insn: Insn,
        transfer: Transfer,
        result: Result,
        guard: Term,
        values: list[Term],
        event: Term | None,
    ) -> None:
        terms = self.terms
        if transfer.is_test and result.part < 2:
            value = terms.term("test", result.part, transfer.function, *values)
        elif event is not None:
            value = terms.term("of", event, result.part)
        else:
            value = terms.term("fn", result.part, transfer.function, *values)
        if result.how is How.SET:
            self._set(insn, result.register, guard, value)
            return
        if result.how is How.ALWAYS:
            self._put(insn, result.register, terms.both(guard, value))
            return
        if result.constant is not None:
            value = terms.term("constant", result.constant)
        old = self._under(result.register)
        kind = _KINDS[result.how]
        self._put(insn, result.register, terms.gathered(kind, old, guard, value))

    def _under(self, register: int) -> Term:
        """The value that a write in this group changes."""
        pending = self._pending.get(register)
        return self.value(register) if pending is None else pending

    def _set(self, insn: Insn, register: int, guard: Term, value: Term) -> None:
        if guard != self.terms.true:
            value = self.terms.changed(self._under(register), guard, value)
        self._put(insn, register, value)

    def _put(self, insn: Insn, register: int, value: Term) -> None:
        if register not in self.target.constants:
            self._pending[register] = value
            self._writers[register] = insn


def _is_certain(each: Clashing, code: Code) -> bool:
    """Whether control that comes to the group within the region comes to both instructions.

    The predicate of a branch may be set in the same group.
    """
    inside = code.groups[each.group]
    if each.first not in inside or each.second.transfer.exit:
        return False
    until = takewhile(lambda step: step != each.second, chain(inside, code.after))
    return not any(step.transfer.exit or step.transfer.order is Order.SEEN for step in until)
