"""Routines of a file of grouped code that may be replaced: named, and behaving like their names.

All of it comes from the original alone, so that a rewriter and a verifier may share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rewriter.contracts import CONTRACTS
from rewriter.core.assumptions import EVERY, FILES
from rewriter.core.edit import Evidence, Grade
from rewriter.core.errors import BadInput
from rewriter.core.grouped import Code, Grouped, Region
from rewriter.core.groups import Slot
from rewriter.core.program import Function
from rewriter.core.substituting import Harness, Room, Standing
from rewriter.core.target import CannotMove, Tuned
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image
from rewriter.identify.grouped_calls import beyond
from rewriter.identify.grouped_liveness import NOTHING_KNOWN, Beyond, GroupedLiveness
from rewriter.identify.grouped_signatures import known as by_signature
from rewriter.verify.known import Identification, Status
from rewriter.verify.known_trial import shown, spread
from rewriter.verify.placed import leads_to
from rewriter.verify.substituted_known import CASES, Named, symbols_of

CONVENTIONS = "callers keep nothing in scratch registers over a call"


@dataclass(frozen=True)
class Tried:
    """Trials of one file's routines where they stand."""

    image: Image
    target: Grouped
    code: Code

    @cached_property
    def harness(self) -> Harness:
        """Runs them."""
        parts = [
            (s.p_vaddr, self.image.read(s.p_vaddr, s.p_memsz))
            for s in self.image.segments
            if s.p_type == PT_LOAD and s.p_memsz
        ]
        return self.target.substituting.harness(self.code, parts)

    def behaviour(self, entry: int, name: str) -> Evidence | str:
        """A trial on cases of a contract: evidence, or what is wrong with the first that is."""
        contract, arena = CONTRACTS[name], self.target.substituting.arena
        points = spread(contract, CASES)
        for plan, point in points:
            problem = self.harness.problem(entry, contract, contract.case(arena, point))
            if problem:
                return f"{problem} ({plan.name}: {shown(point)})"
        return Evidence(Grade.TESTED, cases=len(points), detail="steps, by group")


@dataclass(frozen=True)
class KnownGrouped:
    """What is known of an original file."""

    image: Image
    target: Grouped
    code: Code
    assume: frozenset[str] = EVERY
    _outcomes: dict[int, Evidence | str] = field(default_factory=dict)

    @cached_property
    def named(self) -> dict[int, Named]:
        """Named routines, by address: a symbol says so, or a signature where none does."""
        found = {named.address: named for named in symbols_of(self.image)}
        for match in by_signature(self.image, self.target, CONTRACTS):
            named = Named(match.address, (match.signature.routine,), "signature")
            found.setdefault(match.address, named)
        return found

    @cached_property
    def liveness(self) -> GroupedLiveness:
        """What instructions read and set."""
        return GroupedLiveness(self.target.proving, self.target.everything)

    @cached_property
    def beyond(self) -> Beyond:
        """What may be read beyond its calls and returns, by the calling standard."""
        if FILES not in self.assume:
            return NOTHING_KNOWN
        return beyond(self.code, self.liveness, self._slots)

    def _slots(self, region: Region) -> list[Slot]:
        code = self.image.read(region.start, region.end - region.start)
        return list(self.target.straight(code, region.start))

    @cached_property
    def functions(self) -> dict[int, Function]:
        """Functions by their start."""
        return {function.start: function for function in self.code.functions}

    @cached_property
    def tried(self) -> Tried:
        """Runs its routines."""
        return Tried(self.image, self.target, self.code)

    def within(self) -> Iterator[tuple[Named, Function]]:
        """The routines that have a function for themselves."""
        for address, named in self.named.items():
            if address in self.functions:
                yield named, self.functions[address]

    def tuned(self, named: Named) -> Iterator[Tuned]:
        """The tuned routines for its first name, the best first."""
        yield from self.target.substituting.routines(named.contracts[0])

    def outcome(self, named: Named) -> Evidence | str:
        """How the original behaves: evidence, or what speaks against its names."""
        if named.address not in self._outcomes:
            self._outcomes[named.address] = together(self.tried, named)
        return self._outcomes[named.address]

    def room(self, function: Function) -> Room:
        """The place of a function; CannotMove says why nothing else may stand there."""
        return self.target.substituting.room(self.code, function)


def stands_for(known: KnownGrouped, image: Image, named: Named) -> Standing | None:
    """The tuned routine that does a routine's work in a file with the same functions.

    It is entered where the old one was, or the first bundle there does nothing but go to it.
    """
    for entry in filter(None, (named.address, _goal(known.target, image, named.address))):
        for routine in known.tuned(named):
            start = entry - routine.entry
            if read(image, start, len(routine.code)) == routine.code:
                return Standing(start, routine)
    return None


def read(image: Image, address: int, size: int) -> bytes:
    """The bytes there; none where nothing is."""
    try:
        return image.read(address, size)
    except BadInput:
        return b""


def _goal(target: Grouped, image: Image, address: int) -> int | None:
    """Where the bundle at an address goes, if it goes away for ever."""
    try:
        slots = list(target.straight(read(image, address, target.bundle), address))
    except ValueError:
        return None
    return next((leads_to(s, target.bundle) for s in slots if target.ends(s.insn)), None)


def identified(known: KnownGrouped) -> Iterator[Identification]:
    """Every place that a signature fits, by address, with what its behaviour says."""
    for match in by_signature(known.image, known.target, CONTRACTS):
        signature = match.signature
        size = signature.words * known.target.substituting.spelling.table.word_bits // 8
        place = signature.routine, match.address, size, signature
        outcome = known.tried.behaviour(match.address, signature.routine)
        if isinstance(outcome, Evidence):
            yield Identification(Status.KNOWN, *place, outcome, outcome.detail)
        else:
            yield Identification(Status.REFUSED, *place, None, outcome)


def together(tried: Tried, named: Named) -> Evidence | str:
    """A trial of all contracts of a routine where it is entered."""
    cases, details = 0, set[str]()
    for name in named.contracts:
        outcome = tried.behaviour(named.address, name)
        if isinstance(outcome, str):
            return f"does not behave like {name}: {outcome}"
        cases, details = cases + outcome.cases, details | {outcome.detail}
    return Evidence(Grade.TESTED, (CONVENTIONS,), cases=cases, detail=", ".join(sorted(details)))


def filled(target: Grouped, room: Room, standing: Sequence[Standing], entry: int) -> bytes:
    """The bytes of a room: the way to where its own function's work is done, and routines.

    `entry` is where that is; CannotMove where a branch does not reach it, or they do not fit.
    """
    offered = target.substituting
    parts = [(one.address, one.routine.code) for one in standing]
    if entry != room.start:
        parts.append((room.start, offered.branch(room.start, entry)))
    out = bytearray()
    for address, code in sorted(parts):
        between = address - room.start - len(out)
        if between < 0:
            raise CannotMove("routines overlap")
        out += offered.idle(between) + code
    if len(out) > room.size:
        raise CannotMove("no room")
    return bytes(out) + offered.idle(room.size - len(out))
