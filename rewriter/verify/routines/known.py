"""Known routines of a file: a signature says which bytes might be one, behaviour says they are.

Both are needed before a routine counts as known.  Where no signature fits, functions of a fitting
shape are tried as well; what behaves is reported as "behaves like" and stays that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rewriter.analysis.functions import find_functions, with_called
from rewriter.contracts.contract import Contract
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries
from rewriter.identify.search import Match, search, text_of
from rewriter.identify.shape import candidates
from rewriter.identify.signatures import Database, Signature
from rewriter.identify.symbols import contract_of
from rewriter.verify.routines.resolved import variants
from rewriter.verify.routines.trial import Trials, Untried

CASES = 40  # of each contract, spread over its shapes
GUESSES = 24  # cases for a function that only its shape speaks for
_GUESS_STEPS = 20_000  # instructions a case

Progress = Callable[[str, int, int], None]


class Status(Enum):
    """What is known of a place in text."""

    KNOWN = "known"  # signature and behaviour
    AMBIGUOUS = "ambiguous"  # several places match and behave
    REFUSED = "refused"  # the signature matches, the behaviour does not
    INSIDE = "inside"  # both, but where a function has begun already: its entry behind a set-up
    UNTRIED = "untried"  # the signature matches, the trial could not be run
    LIKE = "behaves like"  # no signature; never substituted


@dataclass(frozen=True, slots=True)
class Identification:
    """A routine found at an address; `size` in bytes; `routine` is the name of its contract.

    `signature` is what matched, None for a guess; `evidence` is the trial's; `detail` says why
    there is none, or what else there is to say.
    """

    status: Status
    routine: str
    address: int
    size: int
    signature: Signature | None
    evidence: Evidence | None
    detail: str

    @property
    def known(self) -> bool:
        """Whether the routine may be replaced by another that keeps the same contract."""
        return self.status is Status.KNOWN


def known_routines(
    image: Image,
    target: Sequential,
    database: Database,
    contracts: Mapping[str, Contract],
    cases: int = CASES,
    progress: Progress = lambda stage, done, total: None,
) -> tuple[Identification, ...]:
    """Every place that matches a signature or that a resolver of IFUNC symbols picks, by address,
    with what its behaviour says.

    `cases` of each contract are tried.  A place may carry several routines (memcpy and memmove
    in one): what replaces it must keep all their contracts.
    """
    matches = _longest(m for m in search(text_of(image, target), target, database))
    trials = Trials(image, target)
    found = []
    for done, match in enumerate(matches):
        progress("trials", done, len(matches))
        contract = contracts.get(match.signature.routine)
        if contract is not None:
            found.append(_confirmed(match, contract, trials, cases))
    progress("trials", len(matches), len(matches))

    def behaves(address: int, one: Identification) -> bool:
        size = one.address + one.size - address
        try:
            outcome = trials.run(address, size, contracts[one.routine], cases)
        except Untried:
            return False
        return isinstance(outcome, Evidence)

    outer = list(_at_starts(image, found, behaves))
    unique = _unique(outer, _named(image, contracts))
    picked = _picked(image, target, contracts, trials, cases)
    return tuple(_with_picked(unique, picked))


def _picked(
    image: Image,
    target: Sequential,
    contracts: Mapping[str, Contract],
    trials: Trials,
    cases: int,
) -> Iterator[Identification]:
    """What resolvers pick; `detail` says on which CPUs."""
    found = [one for one in variants(image, target) if one.contract in contracts]
    functions = find_functions(image, entries.frames(image)) if found else []
    starts = [function.start for function in functions]
    for one in found:
        at = bisect_right(starts, one.address) - 1
        inside = at >= 0 and one.address in functions[at]
        size = functions[at].end - one.address if inside else trials.word
        where, place = f"picked on {', '.join(sorted(one.cpus))}", (one.contract, one.address, size)
        try:
            outcome = trials.run(one.address, size, contracts[one.contract], cases)
        except Untried as reason:
            yield Identification(Status.UNTRIED, *place, None, None, f"{where}; {reason}")
            continue
        if isinstance(outcome, Evidence):
            yield Identification(Status.KNOWN, *place, None, outcome, where)
        else:
            yield Identification(Status.REFUSED, *place, None, None, f"{where}; {outcome}")


def _with_picked(
    found: Iterable[Identification], picked: Iterable[Identification]
) -> list[Identification]:
    """Both, by address; of a place that both know, which signature it has and who picks it."""
    known = {(one.address, one.routine): one for one in found}
    for one in picked:
        other = known.get((one.address, one.routine))
        signature = other.signature if other is not None else None
        known[one.address, one.routine] = replace(one, signature=signature)
    return [known[key] for key in sorted(known)]


def _at_starts(
    image: Image, found: Iterable[Identification], trial: Callable[[int, Identification], bool]
) -> Iterator[Identification]:
    """A routine begins where its function does.

    A function that is this routine from its start on was found by its second entry, behind the
    set-up.  One that is not has code of its own in front of the routine (Alpha's memset has).
    """
    functions = find_functions(image, entries.frames(image))
    starts = [function.start for function in functions]
    for one in found:
        at = bisect_right(starts, one.address) - 1
        start = starts[at] if at >= 0 and one.address in functions[at] else one.address
        if one.known and start != one.address and trial(start, one):
            place = f"{functions[at].name}+{one.address - start:#x}"
            yield replace(one, status=Status.INSIDE, detail=place)
        else:
            yield one


def _named(image: Image, contracts: Mapping[str, Contract]) -> set[tuple[str, int]]:
    """(routine, address) of what symbols name after a routine."""
    named = ((contract_of(s.name, contracts), s) for s in image.symbols if s.st_shndx)
    return {(contract, image.code_address(s)) for contract, s in named if contract is not None}


def _longest(matches: Iterable[Match]) -> list[Match]:
    """One match for each place and routine."""
    found: dict[tuple[int, str], Match] = {}
    for match in matches:
        key = match.address, match.signature.routine
        if key not in found or found[key].signature.words < match.signature.words:
            found[key] = match
    return list(found.values())


def _confirmed(match: Match, contract: Contract, trials: Trials, cases: int) -> Identification:
    signature = match.signature
    size = signature.words * trials.word
    place = contract.name, match.address, size, signature
    try:
        outcome = trials.run(match.address, size, contract, cases)
    except Untried as reason:
        return Identification(Status.UNTRIED, *place, None, str(reason))
    if isinstance(outcome, Evidence):
        return Identification(Status.KNOWN, *place, outcome, outcome.detail)
    return Identification(Status.REFUSED, *place, None, outcome)


def _unique(
    found: Sequence[Identification], named: set[tuple[str, int]]
) -> Iterator[Identification]:
    """The same code at several places is no identification, unless only one of them behaves.

    Code that does nothing but call has the same form whatever it calls.  Where all behave (Linux
    has memcmp and bcmp in the same words) a symbol may say which is meant.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for one in found:
        if one.known and one.signature is not None:
            key = one.routine, one.signature.digest
            places.setdefault(key, []).append(one.address)
    for one in found:
        assert one.signature is not None
        same = places.get((one.routine, one.signature.digest), [])
        if (one.routine, one.address) in named:
            yield one
        elif one.known and len(same) > 1:
            others = ", ".join(f"{at:#x}" for at in same if at != one.address)
            yield replace(one, status=Status.AMBIGUOUS, detail=f"also at {others}")
        else:
            yield one


def unknown_functions(
    image: Image, target: Sequential, known: Iterable[Identification]
) -> tuple[Function, ...]:
    """Functions in which nothing was identified, as symbols, unwind table and direct calls say."""
    functions = find_functions(image, entries.frames(image))
    if not target.is_kernel(image):
        functions = with_called(functions, target.listing(image))
    places = sorted(one.address for one in known if one.known)
    at = (bisect_left(places, function.start) for function in functions)
    return tuple(
        function
        for function, n in zip(functions, at, strict=True)
        if n == len(places) or places[n] not in function
    )


def like_routines(
    image: Image,
    target: Sequential,
    functions: Sequence[Function],
    contracts: Mapping[str, Contract],
    cases: int = GUESSES,
    progress: Progress = lambda stage, done, total: None,
) -> tuple[Identification, ...]:
    """Functions without a signature that behave like a routine, as far as a few cases show.

    Functions are those to look at: leave out what is known already.
    """
    trials = Trials(image, target, _GUESS_STEPS)
    guesses = list(candidates(text_of(image, target), target, functions, contracts))
    found = []
    for done, (function, names) in enumerate(guesses):
        progress("guesses", done, len(guesses))
        size = function.end - function.start
        for name in names:
            try:
                outcome = trials.step(function.start, size, contracts[name], cases)
            except Untried:
                continue
            if isinstance(outcome, Evidence):
                place = name, function.start, size, None
                found.append(Identification(Status.LIKE, *place, outcome, outcome.detail))
    return tuple(found)
