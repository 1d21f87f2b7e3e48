"""Routines of a file of bundled code that may be replaced: named, and behaving like their names.

All of it comes from the original alone, so that a rewriter and a verifier may share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rewriter.analysis.bundled_calls import beyond
from rewriter.analysis.bundled_liveness import NOTHING_KNOWN, Beyond, BundledLiveness
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Result
from rewriter.core.assumptions import EVERY, FILES
from rewriter.core.code.groups import Slot
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.errors import BadInput
from rewriter.core.target.bundling import Bundling, Code, Region
from rewriter.core.target.protocol import CannotMove, Tuned
from rewriter.core.target.substitution import Harness, PlacedRoutine, Room
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image
from rewriter.identify.bundled_signatures import known as by_signature
from rewriter.identify.signatures import Database
from rewriter.identify.trusted import is_kernel
from rewriter.verify.regions.placement import leads_to
from rewriter.verify.routines.bundled_reached import Went, unreached
from rewriter.verify.routines.cases import Points, ordered, shown, spread, turns
from rewriter.verify.routines.known import Identification, Status
from rewriter.verify.routines.replaceable import CASES, Named, symbols_of

CASES_GROUPED = 40  # of each plan of a contract, where a case takes longer
_ANYWHERE = 0x4000_0000  # where a routine is tried that has no place yet
_DETAIL = "steps, by group"
CONVENTIONS = "callers keep nothing in scratch registers over a call"


@dataclass(frozen=True)
class Tried:
    """Trials of one file's routines where they stand, or of other code that stands alone."""

    image: Image
    target: Bundling
    code: Code
    alone: tuple[int, bytes] | None = None

    @cached_property
    def harness(self) -> Harness:
        """Runs them."""
        if self.alone is not None:
            return self.target.substituting.harness(self.code, [self.alone])
        parts = [
            (s.p_vaddr, self.image.read(s.p_vaddr, s.p_memsz))
            for s in self.image.segments
            if s.p_type == PT_LOAD and s.p_memsz
        ]
        return self.target.substituting.harness(self.code, parts)

    def behaviour(self, entry: int, name: str) -> Evidence | str:
        """A trial on cases of a contract: evidence, or what is wrong with the first that is."""
        points = spread(CONTRACTS[name], CASES)
        problem = self._problems(entry, name, points, [])
        return problem or self.evidence(len(points))

    def evidence(self, cases: int) -> Evidence:
        """What so many cases show."""
        return Evidence(Grade.TESTED, cases=cases, detail=_DETAIL)

    def observe(self, entry: int, name: str) -> Observed | str:
        """What a routine does in cases of a contract; more of them until all of it is reached."""
        self.harness.went.clear()
        results: list[int] = []
        for points in turns(*ordered(CONTRACTS[name], CASES_GROUPED)):
            problem = self._problems(entry, name, points, results)
            if problem:
                return problem
            if not self.unreached(entry, self.harness.went):
                break
        return Observed(tuple(results), frozenset(self.harness.went))

    def like(self, entry: int, name: str, original: Observed) -> str:
        """The first case in which a routine does not give what an original gave, or nothing."""
        first, rest = ordered(CONTRACTS[name], CASES_GROUPED)
        points = [*first, *rest][: len(original.results)]
        results: list[int] = []
        problem = self._problems(entry, name, points, results)
        if problem or CONTRACTS[name].result is Result.NOTHING:
            return problem
        for (plan, point), got, wanted in zip(points, results, original.results, strict=True):
            if got != wanted:
                where = f"{plan.name}: {shown(point)}"
                return f"the result is {got:#x}, the original's {wanted:#x} ({where})"
        return ""

    def unreached(self, entry: int, went: Went) -> str:
        """What of a routine no case came to, or nothing."""
        return unreached(self.image, self.target, self.code, entry, went)

    def _problems(self, entry: int, name: str, points: Points, results: list[int]) -> str:
        contract, arena = CONTRACTS[name], self.target.substituting.arena
        for plan, point in points:
            problem = self.harness.problem(entry, contract, contract.case(arena, point))
            if problem:
                return f"{problem} ({plan.name}: {shown(point)})"
            results.append(self.harness.result)
        return ""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a routine gave in the first so many cases of a contract, and the slots it came to."""

    results: tuple[int, ...]
    went: frozenset[tuple[int, bool]]


@dataclass(frozen=True)
class KnownBundled:
    """What is known of an original file."""

    image: Image
    target: Bundling
    code: Code
    assume: frozenset[str] = EVERY
    _outcomes: dict[int, Mapping[str, Observed] | str] = field(default_factory=dict)

    @cached_property
    def named(self) -> dict[int, Named]:
        """Named routines, by address: a symbol says so, or a signature where none does."""
        found = {named.address: named for named in symbols_of(self.image)}
        for match in by_signature(self.image, self.target, CONTRACTS):
            named = Named(match.address, (match.signature.routine,), "signature")
            found.setdefault(match.address, named)
        return found

    @cached_property
    def liveness(self) -> BundledLiveness:
        """What instructions read and set."""
        return BundledLiveness(self.target.proving, self.target.everything)

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
        """The tuned routines for its first name that such a file may run, the best first."""
        offered, in_kernel = self.target.substituting, is_kernel(self.image)
        for routine in offered.routines(named.contracts[0]):
            if not in_kernel or offered.may_be_kernels(routine):
                yield routine

    def outcome(self, named: Named) -> Mapping[str, Observed] | str:
        """How the original behaves, by contract, or what speaks against its names."""
        if named.address not in self._outcomes:
            self._outcomes[named.address] = self._observed(named)
        return self._outcomes[named.address]

    def _observed(self, named: Named) -> Mapping[str, Observed] | str:
        found: dict[str, Observed] = {}
        for name in named.contracts:
            seen = self.tried.observe(named.address, name)
            if isinstance(seen, str):
                return f"does not behave like {name}: {seen}"
            found[name] = seen
        went = frozenset[tuple[int, bool]]().union(*(one.went for one in found.values()))
        missing = self.tried.unreached(named.address, went)
        return f"not tried everywhere: {missing}" if missing else found

    def same(self, tried: Tried, entry: int, named: Named) -> Evidence | str:
        """Evidence that what is entered there, in some file, gives what the original gave."""
        originals = self.outcome(named)
        if isinstance(originals, str):
            return originals
        for name, original in originals.items():
            problem = tried.like(entry, name, original)
            if problem:
                return f"is not like {name}: {problem}"
        cases = sum(len(original.results) for original in originals.values())
        return Evidence(Grade.TESTED, (CONVENTIONS,), cases=cases, detail=_DETAIL)

    def unlike(self, named: Named, routine: Tuned) -> str:
        """In what a tuned routine does not do what a routine of the file did, or nothing."""
        tried = replace(self.tried, alone=(_ANYWHERE, routine.code))
        outcome = self.same(tried, _ANYWHERE + routine.entry, named)
        return outcome if isinstance(outcome, str) else ""

    def room(self, function: Function) -> Room:
        """The place of a function; CannotMove says why nothing else may stand there."""
        return self.target.substituting.room(self.code, function)


def stands_for(known: KnownBundled, image: Image, named: Named) -> PlacedRoutine | None:
    """The tuned routine that does a routine's work in a file with the same functions.

    It is entered where the old one was, or the first bundle there does nothing but go to it.
    """
    for entry in filter(None, (named.address, _goal(known.target, image, named.address))):
        for routine in known.tuned(named):
            start = entry - routine.entry
            if read(image, start, len(routine.code)) == routine.code:
                return PlacedRoutine(start, routine)
    return None


def read(image: Image, address: int, size: int) -> bytes:
    """The bytes there; none where nothing is."""
    try:
        return image.read(address, size)
    except BadInput:
        return b""


def _goal(target: Bundling, image: Image, address: int) -> int | None:
    """Where the bundle at an address goes, if it goes away for ever."""
    try:
        slots = list(target.straight(read(image, address, target.bundle), address))
    except ValueError:
        return None
    return next((leads_to(s, target.bundle) for s in slots if target.ends(s.insn)), None)


def identified(known: KnownBundled, database: Database | None = None) -> Iterator[Identification]:
    """Every place that a signature fits, by address, with what its behaviour says.

    `database` is used instead of the signatures that come with retune.
    """
    for match in by_signature(known.image, known.target, CONTRACTS, database):
        signature = match.signature
        size = signature.words * known.target.substituting.spelling.table.size
        place = signature.routine, match.address, size, signature
        outcome = known.tried.behaviour(match.address, signature.routine)
        if isinstance(outcome, Evidence):
            yield Identification(Status.KNOWN, *place, outcome, outcome.detail)
        else:
            yield Identification(Status.REFUSED, *place, None, outcome)


def filled(target: Bundling, room: Room, placed: Sequence[PlacedRoutine], entry: int) -> bytes:
    """The bytes of a room: the way to where its own function's work is done, and routines.

    `entry` is where that is; CannotMove where a branch does not reach it, or they do not fit.
    """
    offered = target.substituting
    parts = [(one.address, one.routine.code) for one in placed]
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
