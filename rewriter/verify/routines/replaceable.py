"""Routines of a file that may be replaced: each has a name and behaves like it.

Names come from symbols in the C library and in kernels (`identify.trusted`), and elsewhere from
signatures; behaviour, in both cases, from a trial of the routine where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rewriter.analysis.functions import function_symbols
from rewriter.analysis.program import Program
from rewriter.contracts import CONTRACTS, Contract
from rewriter.core.code.program import Function
from rewriter.core.target.protocol import Tuned
from rewriter.elf.image import Image
from rewriter.identify.search import search, text_of
from rewriter.identify.signatures import shipped
from rewriter.identify.symbols import contract_of
from rewriter.identify.trusted import trusts_names
from rewriter.verify.routines.calls import Calls
from rewriter.verify.routines.reached import Ways, unreached
from rewriter.verify.routines.resolved import Variant, variants
from rewriter.verify.routines.trial import Observed, Trials, Untried
from rewriter.verify.trials.image import code_at

_ANYWHERE = 0x10000  # where a routine is tried that has no place yet
CASES = 60  # of each plan of a contract, spread over its shapes


@dataclass(frozen=True, slots=True)
class Named:
    """A routine at an address, and who calls it that.

    `contracts` has several names where one routine has several (memcpy and memmove in one): what
    replaces it must keep them all.  `cpus` are those on which a resolver picks it; none where
    callers name it themselves.
    """

    address: int
    contracts: tuple[str, ...]
    provenance: str
    cpus: frozenset[str] = frozenset()


Identify = Callable[[Program, Sequence[Named]], tuple[Named, ...]]
"""Names routines of a program, given those that signatures know, without a word on how they
behave."""


def by_symbol(program: Program) -> tuple[Named, ...]:
    """Routines that a symbol names, and what the resolver of one picks, by address."""
    picked: dict[int, list[Variant]] = {}
    for variant in variants(program.image, program.target):
        picked.setdefault(variant.address, []).append(variant)
    found = {
        one.address: one
        for one in (behind_trace(program, one) for one in symbols_of(program.image))
        if one.address not in picked
    }
    for address, several in picked.items():
        names = tuple(sorted({one.contract for one in several}))
        cpus = frozenset[str]().union(*(one.cpus for one in several))
        found[address] = Named(address, names, "resolver", cpus)
    return tuple(one for _, one in sorted(found.items()))


def behind_trace(program: Program, named: Named) -> Named:
    """Where a routine begins with a call that may be traced, what is behind that call.

    Whoever is called keeps all registers, and the two instructions stay.
    """
    function = program.function_at(named.address) if program.traced else None
    if function is None or function.start != named.address:
        return named
    step = program.target.table.size
    entries = (named.address, *program.target.entries(program.listing, function))
    heads = [at for at in entries if at + step in program.traced]
    return replace(named, address=heads[0] + 2 * step) if heads else named


def symbols_of(image: Image) -> tuple[Named, ...]:
    """The routines of a file that a symbol names, by address; none where symbols may mean else."""
    if not trusts_names(image):
        return ()
    found: dict[int, set[str]] = {}
    for symbol in function_symbols(image):
        contract = contract_of(symbol.name, CONTRACTS)
        if contract is not None:
            found.setdefault(symbol.st_value, set()).add(contract)
    return tuple(Named(at, tuple(sorted(names)), "symbol") for at, names in sorted(found.items()))


def by_signature(program: Program) -> tuple[Named, ...]:
    """Routines whose every word a signature knows, at no other place of the file, by address."""
    target = program.target
    if not target.signatures.is_file():
        return ()
    found: dict[int, set[str]] = {}
    for match in search(text_of(program.image, target), target, shipped(target)):
        if match.unique and match.signature.routine in CONTRACTS:
            found.setdefault(match.address, set()).add(match.signature.routine)
    return tuple(
        Named(at, tuple(sorted(names)), "signature") for at, names in sorted(found.items())
    )


def by_either(program: Program, signed: Sequence[Named]) -> tuple[Named, ...]:
    """Symbols are believed first; a signature speaks for functions in which no symbol does.

    Of a routine that a resolver picks, variants that it picks on no CPU of the target stay.
    """
    named = by_symbol(program)
    owners = {program.function_at(one.address) for one in named}
    picked = {name for one in named if one.cpus for name in one.contracts}
    others = (
        one
        for one in signed
        if program.function_at(one.address) not in owners and picked.isdisjoint(one.contracts)
    )
    return tuple(sorted((*named, *others), key=lambda one: one.address))


@dataclass(frozen=True)
class Known:
    """What is known of one original file: names, behaviour, and what callers rely on.

    All of it comes from that file alone, so a rewriter and a verifier may share it.  `outcomes`
    are those of the trials so far, by address and contract.
    """

    program: Program
    identify: Identify = by_either
    calls: Calls = field(init=False)
    outcomes: dict[tuple[int, str], Observed | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", Calls(self.program))

    def prepare(self) -> None:
        """Finds what takes long to find, before processes that ask for it are copied."""
        _ = self._vouched
        if self.named:
            self.calls.prepare()

    @cached_property
    def named(self) -> dict[int, Named]:
        """Named routines by address."""
        return {named.address: named for named in self.identify(self.program, self._signed)}

    def within(self, function: Function) -> list[Named]:
        """The named routines that are entered in a function."""
        return self._entered.get(function.start, [])

    def calls_another(self, function: Function) -> bool:
        """Whether it may come to another function in which a named routine is entered."""
        return any(other != function and self.within(other) for other in self.calls.below(function))

    @cached_property
    def _entered(self) -> dict[int, list[Named]]:
        """The named routines by where the function starts in which they are entered."""
        found: dict[int, list[Named]] = {}
        for address in sorted(self.named):
            function = self.program.function_at(address)
            if function is not None:
                found.setdefault(function.start, []).append(self.named[address])
        return found

    def outcome(self, named: Named, contract: Contract) -> Observed | str:
        """How the original behaves, or what speaks against the name."""
        key = named.address, contract.name
        if key not in self.outcomes:
            self.outcomes[key] = self._observed(named, contract)
        return self.outcomes[key]

    def _observed(self, named: Named, contract: Contract) -> Observed | str:
        function = self.program.function_at(named.address)
        size = function.end - named.address if function else self.trials.word

        def everywhere(seen: Observed) -> bool:
            return not self._unreached(named, seen.ways)

        try:
            return self.trials.observe(named.address, size, contract, CASES, everywhere)
        except Untried as reason:
            return str(reason)

    def unreached(self, named: Named) -> str:
        """What of a routine the cases of all its contracts did not come to, or nothing."""
        seen = [self.outcome(named, CONTRACTS[name]) for name in named.contracts]
        tried = [one for one in seen if isinstance(one, Observed)]
        ways = frozenset[tuple[int, int | None]]().union(*(one.ways for one in tried))
        return self._unreached(named, ways)

    def _unreached(self, named: Named, ways: Ways) -> str:
        own = self.program.function_at(named.address)
        vouched = named.address in self._vouched
        settled = vouched and all(CONTRACTS[name].settles for name in named.contracts)
        entries = self.entries(named)

        def tried(at: int) -> bool:
            return at not in entries and at in self.named and self._tried(self.named[at], named)

        whole = self._fixed(own) if own is not None and settled else frozenset[int]()
        return unreached(self.program, entries, ways, None if vouched else own, whole, tried)

    def _tried(self, other: Named, asking: Named) -> bool:
        """Whether another routine, which this one comes to, keeps its contracts and was tried
        everywhere; not where that one may come back to this one."""
        there, here = (self.program.function_at(one.address) for one in (other, asking))
        if there is None or here is None or here in self.calls.below(there):
            return False
        outcomes = (self.outcome(other, CONTRACTS[name]) for name in other.contracts)
        behaves = all(isinstance(outcome, Observed) for outcome in outcomes)
        return behaves and not self.unreached(other)

    def _fixed(self, function: Function) -> frozenset[int]:
        """The addresses of a function's words that a signature takes as they are."""
        size = self.program.target.table.size
        words = self.program.image.words(function.start, function.end, size)
        same = self.program.target.normal(words) == words
        return frozenset(function.start + size * at for at in np.flatnonzero(same).tolist())

    @cached_property
    def _signed(self) -> tuple[Named, ...]:
        return by_signature(self.program)

    @cached_property
    def _vouched(self) -> frozenset[int]:
        """Where a signature knows every word."""
        return frozenset(one.address for one in self._signed)

    def unlike(self, named: Named, routine: Tuned) -> str:
        """In what a tuned routine does not do what a routine of the file did, or nothing."""
        code = code_at(routine, _ANYWHERE * self.program.target.alignment)
        for name in named.contracts:
            original = self.outcome(named, CONTRACTS[name])
            if isinstance(original, str):
                return original
            problem = self.trials.other(code, CONTRACTS[name], CASES, original)
            if problem:
                return problem
        return ""

    @cached_property
    def trials(self) -> Trials:
        """Runs routines of the file, which go on after faults where its table says so."""
        target = self.program.target
        resumes = {
            f.access: f.resume
            for f in target.tables.exceptions.read(self.program.image)
            if not f.sets
        }
        return Trials(self.program.image, target, resumes=resumes)

    def entries(self, named: Named) -> tuple[int, ...]:
        """Where the routine is entered: its start, and the one that skips what callers may skip."""
        function = self.program.function_at(named.address)
        if function is None:
            return (named.address,)
        at = Function(named.address, function.end, function.name, function.source)
        return (named.address, *self.program.target.entries(self.program.listing, at))

    def entered_inside(self, named: Named, function: Function) -> bool:
        """Whether anything enters the function elsewhere than the routine is entered."""
        graph, addresses = self.program.graph, self.program.listing.addresses
        allowed = self.entries(named)
        return any(
            graph.entered[block] and int(addresses[graph.first[block]]) not in allowed
            for block in graph.blocks_of(function)
        )

    def loops_to_entry(self, named: Named, function: Function) -> bool:
        """Whether the routine's own code branches to where it is entered."""
        insns = self.program.listing.insns(function.start, function.end)
        address = function.start
        for insn in insns:
            size = insn.size if insn is not None else self.trials.word
            target = insn.target(address) if insn is not None else None
            if target in self.entries(named) and insn and not insn.op.flow.calls:
                return True
            address += size
        return False
