"""A known routine in two files, on every shape of its contract: results, memory, registers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import targets
from rewriter.analysis.functions import bundled_code, find_functions
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Contract
from rewriter.core.edit import Evidence
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.plural import counted
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.capability import either
from rewriter.core.target.protocol import Sequential
from rewriter.difftest.case import Case, Comparison, Verdict
from rewriter.elf.headers import printable
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries
from rewriter.identify.symbols import contract_of
from rewriter.verify.routines.bundled_known import Tried
from rewriter.verify.routines.resolved import Variant, behind, variants
from rewriter.verify.routines.trial import Observed, Trials, Untried

_ALL = 1 << 30  # more cases than any plan has


def place(image: Image, name: str) -> int:
    """The address of a routine: of the symbol of that name, or as 0x... says."""
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", name):
        address = int(name, 16)
        inside = any(start <= address < end for start, end in image.executable_ranges())
        if not inside:
            raise BadUsage(f"{name}: no code of {image.name} is there")
        return address
    for symbol in image.symbols:
        if symbol.name.partition("@")[0] == name and symbol.st_shndx and symbol.st_value:
            return image.code_address(symbol)
    raise BadUsage(
        f"{printable(name)}: no such symbol in {image.name}",
        hint="an address is written 0x...; `retune identify --known` finds routines without names",
    )


def contracts(image: Image, address: int, chosen: str | None) -> tuple[Contract, ...]:
    """The contract that the user names, or those that symbols at the address speak of."""
    if chosen is not None:
        if chosen not in CONTRACTS:
            known = ", ".join(sorted(CONTRACTS))
            raise BadUsage(f"--contract {chosen}: no such contract", hint=f"known: {known}")
        return (CONTRACTS[chosen],)
    here = (s.name for s in image.symbols if s.st_shndx and image.code_address(s) == address)
    names = {contract_of(name, CONTRACTS) for name in here} - {None}
    names |= {one.contract for one in _decided(image) if one.address == address}
    if not names:
        raise BadUsage(
            f"{address:#x}: no symbol there names a routine whose contract is known",
            hint="name one by --contract",
        )
    return tuple(CONTRACTS[str(name)] for name in sorted(map(str, names)))


def _decided(image: Image) -> tuple[Variant, ...]:
    """What resolvers pick, where the target says how they know the machine."""
    target = targets.of(image).sequential
    return () if target is None else variants(image, target)


def places(image: Image, name: str) -> dict[int, str]:
    """Where a routine is, with the CPUs that it is for: of a resolver's symbol every variant."""
    target = targets.of(image).sequential
    decided = () if target is None else behind(image, target, name)
    found = {one.address: f" for {', '.join(sorted(one.cpus))}" for one in decided}
    return found or {place(image, name): ""}


def compare(old: Image, new: Image, name: str, chosen: str | None) -> Comparison:
    """A routine of the old file against what stands at its address in the new one."""
    if old.machine != new.machine:
        raise BadInput(f"{new.name}: is for another architecture than {old.name}")
    found = places(old, name)
    cases: list[Case] = []
    for address, cpus in found.items():
        if address != place(new, f"{address:#x}"):
            raise BadInput(f"{new.name}: has another layout than {old.name}")
        where = f"{address:#x}{cpus}, " if len(found) > 1 else ""
        for contract in contracts(old, address, chosen):
            cases += _cases(old, new, address, contract, where)
    about = tuple(f"{name} at {address:#x}{cpus}" for address, cpus in found.items())
    return Comparison("routine", old.name, new.name, tuple(cases), about)


def _cases(old: Image, new: Image, address: int, contract: Contract, where: str) -> Iterator[Case]:
    """Every way to try a routine that the target has."""
    case = old, new, address, contract
    found = either(
        targets.of(old),
        "difftest routine",
        old.name,
        bundled=partial(_bundled, *case),
        sequential=partial(_plain, *case),
    )
    return (replace(one, name=f"{where}{one.name}") for one in found)


def _plain(
    old: Image, new: Image, address: int, contract: Contract, target: Sequential
) -> Iterator[Case]:
    """Step by step, where all that it reads and writes is seen; then all shapes, emulated."""
    functions = find_functions(old, entries.frames(old))
    owner = next((f for f in functions if address in f), None)
    size = owner.end - address if owner else target.table.size
    trials = [Trials(image, target, resumes=_resumes(image, target)) for image in (old, new)]

    def stepped() -> tuple[Evidence | str, Evidence | str]:
        seen = trials[0].observe(address, size, contract, _ALL, lambda _: False)
        if not isinstance(seen, Observed):
            return seen, ""
        return seen.evidence, trials[1].like(address, size, contract, _ALL, seen)

    def swept() -> tuple[Evidence | str, Evidence | str]:
        before = trials[0].sweep(address, size, contract)
        good = isinstance(before, Evidence)
        return before, trials[1].sweep(address, size, contract) if good else ""

    for how, run in (("in steps", stepped), ("in the emulator", swept)):
        started = time.monotonic()
        try:
            before, after = run()
        except Untried as reason:
            before, after = f"cannot be run: {reason}", ""
        yield _case(f"{contract.name}, {how}", before, after, time.monotonic() - started)


def _bundled(
    old: Image, new: Image, address: int, contract: Contract, target: Bundling
) -> Iterator[Case]:
    """By group, in as many cases as come to all of its code."""
    started = time.monotonic()
    tried = [Tried(image, target, bundled_code(image, target)) for image in (old, new)]
    seen = tried[0].observe(address, contract.name)
    before: Evidence | str
    after: Evidence | str = ""
    if isinstance(seen, str):
        before = seen
    else:
        before = tried[0].evidence(len(seen.results))
        after = tried[1].like(address, contract.name, seen) or before
    yield _case(f"{contract.name}, by group", before, after, time.monotonic() - started)


def _case(name: str, before: Evidence | str, after: Evidence | str, seconds: float) -> Case:
    if isinstance(before, str):
        why = before if before.startswith("cannot") else f"the original does not keep it: {before}"
        return Case(name, Verdict.UNUSABLE, printable(why), seconds=(seconds, 0.0))
    if isinstance(after, str):
        return Case(name, Verdict.DIFFERS, printable(after), seconds=(seconds, 0.0))
    return Case(name, Verdict.SAME, counted(before.cases, "case"), seconds=(seconds, 0.0))


def _resumes(image: Image, target: Sequential) -> Mapping[int, int]:
    """Where control goes on after an access that faults, by the file's exception table."""
    return {f.access: f.resume for f in target.tables.exceptions.read(image) if not f.sets}
