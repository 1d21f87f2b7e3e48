"""Known routines of bundled code become tuned ones, in the places that they have together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from passes.substitute import Substitute
from passes.substitution.worth import Point, Run, Runs, Side, Worth, slower, worth
from rewriter.contracts import CONTRACTS, Contract
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Evidence, Skip
from rewriter.core.run.guard import guarded
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import CannotMove, Tuned
from rewriter.core.target.substitution import PlacedRoutine, Room, Step
from rewriter.road.bundled.placement import Item, Pool
from rewriter.road.options import Options
from rewriter.road.source_lines import Described
from rewriter.road.work import edit_id
from rewriter.timing.bundled.trace import trace
from rewriter.verify.routines.bundled_known import KnownBundled, Tried, filled, stands_for
from rewriter.verify.routines.bundled_substituted import suits
from rewriter.verify.routines.replaceable import Named

Measure = Callable[[Sequence[Step], bool], int]
"""What a run took, as if caches knew it or not."""

PASS = Substitute.name
NO_ROOM = "no room in the places of the routines that are replaced"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A routine that may be replaced, its place, and what would replace it.

    `may_leave`: no short call takes longer when a branch leads to the new code from that place.
    """

    named: Named
    function: Function
    room: Room
    routine: Tuned
    worth: Worth
    may_leave: bool

    @property
    def edit(self) -> str:
        """The edit's id."""
        return edit_id(PASS, self.function, self.named.address)


@dataclass(frozen=True, slots=True)
class Replacement:
    """One of them with the place of its new code."""

    candidate: Candidate
    placed: PlacedRoutine

    @property
    def at_home(self) -> bool:
        """Whether it stands where the old one stood."""
        return self.placed.entry == self.candidate.room.start


@dataclass(frozen=True)
class BundledRoutines:
    """Finds and places what replaces routines; `refused` are those that were not accepted."""

    known: KnownBundled
    cpu: Cpu
    options: Options
    described: Described
    refused: dict[Function, str] = field(default_factory=dict)

    def run(self) -> tuple[tuple[Replacement, ...], list[Skip]]:
        """What is replaced, by address, and what is left alone."""
        candidates: list[Candidate] = []
        skips: list[Skip] = []
        for named, function in self.known.within():
            edit = edit_id(PASS, function, named.address)
            wanted = self.options.wants_function(function.name)
            if not wanted or not self.options.wants_edit(edit, len(candidates)):
                continue
            found = guarded(PASS, partial(self._candidate, named, function), str)
            if isinstance(found, str):
                skips.append(self._skip(function, named.address, found))
            else:
                candidates.append(found)
        placed = self._placed(candidates)
        done = {one.candidate for one in placed}
        skips += [
            self._skip(c.function, c.named.address, NO_ROOM) for c in candidates if c not in done
        ]
        return placed, skips

    def tuned(self) -> set[Function]:
        """The functions that are, or lead to, tuned routines in the original."""
        known = self.known
        found = ((f, stands_for(known, known.image, named)) for named, f in known.within())
        return {function for function, placed in found if placed is not None}

    def _skip(self, function: Function, address: int, reason: str) -> Skip:
        return Skip(PASS, "routine", function.name, address, reason)

    def _candidate(self, named: Named, function: Function) -> Candidate:
        if function in self.refused:
            raise CannotMove(f"not verified: {self.refused[function]}")
        if reason := self.described.replaces(function):
            raise CannotMove(reason)
        routines = self._suited(named)
        if stands_for(self.known, self.known.image, named) is not None:
            raise CannotMove("a tuned routine already")
        if routines[0].resumes:
            raise CannotMove("the table of what resumes after a fault has no room")
        outcome = self.known.outcome(named)
        if isinstance(outcome, str):
            raise CannotMove(outcome)
        room = self.known.room(function)
        return Candidate(named, function, room, *self._better(named, routines))

    def _suited(self, named: Named) -> list[Tuned]:
        """The routines for the CPU that keep every contract, the best first."""
        cpus, found = self.known.target.cpus, []
        for routine in self.known.tuned(named):
            made_for = cpus[routine.folder].features | routine.needs <= self.cpu.features
            if made_for and suits(self.known, named, routine):
                found.append(routine)
        if not found:
            raise CannotMove(f"no tuned routine for {self.cpu.name}")
        return found

    def _better(self, named: Named, routines: Sequence[Tuned]) -> tuple[Tuned, Worth, bool]:
        """The best of some routines that does in every case what the old one does, and gains; and
        whether it may stand away from the old one's place."""
        reasons = []
        for routine in routines:
            if reason := self.known.unlike(named, routine):
                reasons.append(f"no tuned routine does the same: {reason}")
                continue
            gain, slow, may_leave = self._judged(named, routine)
            if not slow:
                return routine, gain, may_leave
            reasons.insert(0, slow)
        raise CannotMove(reasons[0])

    def _judged(self, named: Named, routine: Tuned) -> tuple[Worth, str, bool]:
        """What a tuned routine is worth, what speaks against it, and whether it may stand away."""
        contracts = [CONTRACTS[name] for name in named.contracts]
        old = self.original(named, self.modelled)
        new, away = (self.replacing(routine, self.modelled, way) for way in (False, True))
        gain = worth(contracts, lambda contract: (old(contract), new(contract)))
        if gain.objection:
            return gain, gain.objection, False
        slow, slow_away = slower(contracts, old, new, away)
        return gain, slow, not slow_away

    def modelled(self, steps: Sequence[Step], warm: bool) -> int:
        """Cycles of what ran, by the CPU's model."""
        if self.cpu.bundled is None:
            raise CannotMove(f"no model says that it gains on {self.cpu.name}")
        return trace(self.cpu.bundled, steps, warm).cycles

    def original(self, named: Named, measure: Measure) -> Side:
        """What calls of an old routine take."""
        return self._side(self.known.tried, named.address, measure)

    def replacing(self, routine: Tuned, measure: Measure, away: bool) -> Side:
        """What calls of a tuned routine take, entered where it stands or, away from the old one's
        place, by a branch."""
        target = self.known.target
        place, offered = target.arena.new, target.substituting
        start = place + offered.alignment if away else place
        way = offered.branch(place, start + routine.entry) if away else b""
        code = way + offered.idle(start - place - len(way)) + routine.code
        alone = replace(self.known.tried, alone=(place, code))
        return self._side(alone, place if away else start + routine.entry, measure)

    def _side(self, tried: Tried, entry: int, measure: Measure) -> Side:
        arena = self.known.target.substituting.arena

        def measured(contract: Contract) -> Runs:
            def run(point: Point, warm: bool) -> Run:
                case = contract.case(arena, point)
                return Run(0, lambda: measure(tried.harness.steps(entry, case), warm))

            return lambda points, warm: [run(point, warm) for point in points]

        return measured

    def _placed(self, candidates: Sequence[Candidate]) -> tuple[Replacement, ...]:
        codes = list(dict.fromkeys(c.routine.code for c in candidates))
        rooms = [c.room for c in candidates]
        items = [
            Item(len(code), tuple(n for n, c in enumerate(candidates) if c.routine.code == code))
            for code in codes
        ]

        def routine(item: int) -> Tuned:
            return candidates[items[item].homes[0]].routine

        def allows(place: int, layout: Mapping[int, int]) -> bool:
            one = candidates[place]
            placed = [PlacedRoutine(at, routine(n)) for n, at in layout.items()]
            at_home = any(p.routine.code == one.routine.code for p in placed)
            return (at_home or one.may_leave) and self._allows(one.room, placed)

        offered = self.known.target.substituting
        way = self.known.target.bundle
        places = [range(room.start, room.end) for room in rooms]
        pool = Pool(items, places, way, offered.alignment, allows)
        placed = {
            home: PlacedRoutine(at, routine(item))
            for item, (_, at) in pool.best().items()
            for home in items[item].homes
        }
        return tuple(Replacement(candidates[n], placed[n]) for n in sorted(placed))

    def _allows(self, room: Room, placed: Sequence[PlacedRoutine]) -> bool:
        """Whether these may stand there: aligned, and described in the bytes that there are."""
        offered = self.known.target.substituting
        if any(one.address % offered.alignment for one in placed):
            return False
        try:
            offered.described(self.known.code, room, sorted(placed, key=lambda s: s.address))
        except CannotMove:
            return False
        return True

    # What it makes ------------------------------------------------------------------------

    def written(self, replaced: Sequence[Replacement]) -> Iterator[tuple[int, bytes]]:
        """The bytes of the places and of what describes them, by address."""
        target, code = self.known.target, self.known.code
        every = [one.placed for one in replaced]
        for one in replaced:
            room = one.candidate.room
            inside = room.holds(every)
            yield room.start, filled(target, room, inside, one.placed.entry)
            yield from target.substituting.described(code, room, inside).items()

    def edit(self, one: Replacement, evidence: Evidence) -> Edit:
        """What is recorded of it, with what the trial of the new file showed."""
        candidate, routine = one.candidate, one.placed.routine
        named = candidate.named
        place = "at" if one.at_home else f"at {one.placed.entry:#x}, from"
        return Edit(
            id=candidate.edit,
            technique=PASS,
            kind="in place" if one.at_home else "in another's place",
            routine=candidate.function.name,
            address=named.address,
            old=f"{'/'.join(named.contracts)} (named by a {named.provenance})",
            new=f"{routine.folder}/{routine.name} {place} {named.address:#x}",
            evidence=evidence,
            gain=0,
            cycles=candidate.worth.saved if self.options.cycles else None,
        )
