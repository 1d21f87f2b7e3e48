"""Is a reordered region, straight code with exits, equal to the original?

Both are run on terms (`regions_run`): each instruction is an unknown function of what it reads, so
the proof holds for any meaning, and a register's name does not matter.  Equal are: where control
may leave and on what condition, the registers that may be read there, and the accesses and other
events with their order (`regions_events`).  The new groups must be legal (`regions_legal`).

What is taken for granted: that the original's own groups are legal, so that two instructions which
clash there are never both executed (counted in the verdict), and that the original is entered at
its first slot only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rewriter.core.assumptions import EVERY
from rewriter.core.code.transfer import Order, Provable
from rewriter.verify.regions.code import Code, Reader, Straight
from rewriter.verify.regions.events import Event
from rewriter.verify.regions.hints import unfounded
from rewriter.verify.regions.legality import Clashing, Fault, clashes, illegal, misplaced, outside
from rewriter.verify.regions.run import Leaving, Run, Unprovable
from rewriter.verify.regions.terms import Term, Terms

__all__ = ["Regions", "Straight", "Verdict"]

_KINDS = {Order.COUNTED: "an instruction", Order.STACK: "a move of the stack"}
"""What an event is called; all others are accesses."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the new region is shown equal; if not, why, and at which slot's address.

    `assumed` counts the pairs of predicates that the original's groups need to be exclusive.
    """

    is_equal: bool
    reason: str = ""
    at: int | None = None
    assumed: int = 0


def _same_place(address: int) -> int:
    return address


class Regions:
    """Compares regions of one target; `assume` is what a proof may rest on."""

    def __init__(self, target: Provable, assume: frozenset[str] = EVERY) -> None:
        self.target, self.assume = target, assume
        self._reader = Reader(target)

    def compare(
        self,
        old: Straight,
        new: Straight,
        live: int,
        place: Callable[[int], int] = _same_place,
        at: Mapping[int, int] = MappingProxyType({}),
        hints: bool = False,
        left: Mapping[int, int] = MappingProxyType({}),
    ) -> Verdict:
        """Whether `new` can stand for `old`.

        `live` is the mask of registers that may be read where control leaves, `at` has it by the
        old code address to which it goes, where that is another, and `left` by the old slot at
        which a call or return leaves; those that the target says are always observed are added.
        `place` gives the address in the old code that a code address of the new one stands for.
        `hints` says whether the code may see memory only, so that prefetches may be added.
        """
        if not old.slots or not new.slots:
            return Verdict(old.slots == new.slots, "a region without instructions")
        comparison = _Comparison(self.target, self.assume, live, place, at, hints, left)
        try:
            fault = next(comparison.faults(self._reader.read(old), self._reader.read(new)), None)
        except Unprovable as problem:
            fault = Fault(problem.at, problem.why)
        if fault is None:
            return Verdict(True, assumed=comparison.terms.assumed)
        return Verdict(False, fault.why, fault.at)


@dataclass
class _Comparison:
    target: Provable
    assume: frozenset[str]
    live: int
    place: Callable[[int], int]
    at: Mapping[int, int]
    hints: bool
    left: Mapping[int, int]

    def __post_init__(self) -> None:
        self.terms = Terms(self.target.width)

    def faults(self, old: Code, new: Code) -> Iterator[Fault]:
        """Why the new region is not shown equal: nothing if it is."""
        yield from misplaced(self.target, old, new)
        yield from outside(self.target, old, new)
        trusted = clashes(self.target, old)
        before, after = self._trusted(old, trusted), self._run()
        after.code(new)
        found = clashes(self.target, new)
        yield from illegal(self.target, trusted, found, self.terms, before.executed, after.executed)
        yield from self._leaving(before, after)
        yield from self._end(before, after, old, new)
        yield from unfounded(self.target, self.terms, before, after, self.hints)
        if not after.together <= before.together:
            at = new.region.slots[0].address
            yield Fault(at, "a stop behind a system instruction is missing")
        if not after.meeting <= before.meeting:
            at = new.region.slots[0].address
            yield Fault(at, "two spills to one bit, perhaps, within an instruction group")

    def _run(self) -> Run:
        return Run(self.terms, self.target, self.assume)

    def _trusted(self, old: Code, trusted: list[Clashing]) -> Run:
        """The original's run; what it assumes is known before the terms are made that stay."""
        assumed = -1
        while assumed < self.terms.assumed:
            assumed = self.terms.assumed
            run = self._run()
            run.code(old, trusted)
        return run

    def _leaving(self, old: Run, new: Run) -> Iterator[Fault]:
        """Places where control may leave: as many, and each the same."""
        for mine, its in zip(old.leaving, new.leaving, strict=False):
            yield from self._events(old.events.all[: mine.events], new.events.all[: its.events])
            if mine.guard != its.guard:
                yield Fault(its.at, f"{its.name} is under another condition")
            if mine.term != its.term:
                yield Fault(
                    its.at, f"{its.name} is another than {mine.name}, or what it reads differs"
                )
            for what, a, b in (("target", mine.target, its.target), ("link", mine.link, its.link)):
                if a is not None and b is not None and self.place(b) != a:
                    yield Fault(its.at, f"the {what} of {its.name} is {b:#x}, not {a:#x}")
            yield from self._state(old, new, mine, its)
        if len(old.leaving) != len(new.leaving):
            rest = (old.leaving + new.leaving)[min(len(old.leaving), len(new.leaving))]
            yield Fault(rest.at, f"{rest.name} is in one of the regions only")

    def _end(self, old: Run, new: Run, before: Code, after: Code) -> Iterator[Fault]:
        if old.ended != new.ended:
            yield Fault(
                after.region.slots[-1].address, "control reaches the end of one region only"
            )
        yield from self._events(old.events.all, new.events.all)
        if not old.ended:
            mine, its = (
                Leaving(
                    code.region.slots[-1].address, "the end", 0, self.terms.true,
                    self.target.following(code.region.slots[-1].address), None, run.state, 0,
                    True, run.renames,
                )
                for code, run in ((before, old), (after, new))
            )  # fmt: skip
            assert mine.target is not None and its.target is not None
            if self.place(its.target) != mine.target:
                yield Fault(its.at, "the regions do not end at the same place")
            yield from self._state(old, new, mine, its)

    def _state(self, old: Run, new: Run, mine: Leaving, its: Leaving) -> Iterator[Fault]:
        """Registers that differ where control leaves."""
        live = self._read(mine) | self.target.observed
        for register in sorted(mine.state.keys() | its.state.keys()):
            if live >> register & 1:
                a, b = mine.state.get(register), its.state.get(register)
                a = old.initial(register) if a is None else a
                b = new.initial(register) if b is None else b
                if a != b and self._given(a, mine.guard) != self._given(b, mine.guard):
                    name = self.target.register_names[register]
                    yield Fault(its.at, f"{name} differs at {its.name}")

    def _read(self, leaving: Leaving) -> int:
        """What may be read where the original's control goes."""
        if not leaving.is_exit or leaving.renames:
            return self.live
        if leaving.target is None or leaving.link is not None:
            return self.left.get(leaving.at, self.live)
        return self.at.get(leaving.target, self.live)

    def _given(self, term: Term, guard: Term) -> Term:
        return self.terms.given(term, guard)

    def _events(self, old: list[Event], new: list[Event]) -> Iterator[Fault]:
        """Events that only one of the runs has."""
        if [event.term for event in old] == [event.term for event in new]:
            return
        mine = Counter(event.term for event in old)
        its = Counter(event.term for event in new)
        for events, many, other, word in ((new, its, mine, "the new"), (old, mine, its, "the old")):
            for event in events:
                if many[event.term] > other[event.term]:
                    kind = _KINDS.get(event.order, "an access")
                    why = f"{event.name} is {kind} of {word} code only, or out of order"
                    yield Fault(event.at, why)
