"""Runs the article's jobs: the routines of a file against the tuned ones of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

from rewriter.analysis.functions import bundled_code
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Contract
from rewriter.core.errors import BadInput
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, BadInstruction, LimitReached, Unspecified
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.capability import trials_of
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.protocol import Sequential, suited
from rewriter.elf.image import Image
from rewriter.suites.article import Job
from rewriter.suites.measure import Laboratory
from rewriter.timing.bundled.trace import trace
from rewriter.verify.routines.bundled_known import Tried
from rewriter.verify.routines.resolved import picked
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_at, code_of, function_named

STOPS = (
    AccessFault, BadInput, BadInstruction, LimitReached, Misaligned, Unspecified, ValueError,
)  # fmt: skip
"""What a run of a routine may end with."""

Clock = Callable[[Mapping[str, int], bool], int]
"""Modelled cycles of one call: the point of a contract, and whether caches know it."""
Timed = tuple[Job, int, int]
Left = tuple[str, str]
_NO_SYMBOL = "the file has no such symbol"


class Clocks(Protocol):
    """Times the routines of a file, and the tuned ones."""

    def pair(self, name: str) -> tuple[Clock, Clock] | str:
        """The file's routine and the tuned one, or why one of them is not there."""
        ...


def run(
    clocks: Clocks, jobs: Iterable[Job], progress: Callable[[str, int, int], None]
) -> tuple[list[Timed], list[Left]]:
    """(job, cycles as it is, cycles retuned), and the routines left out with the reason."""
    jobs, pairs = list(jobs), dict[str, tuple[Clock, Clock] | str]()
    timed: list[Timed] = []
    left: dict[str, str] = {}
    for done, job in enumerate(jobs):
        progress("simulate", done, len(jobs))
        if job.routine not in pairs:
            pairs[job.routine] = clocks.pair(job.routine)
        pair = pairs[job.routine]
        if isinstance(pair, str):
            left[job.routine] = pair
            continue
        try:
            before, after = (clock(job.point, job.warm) for clock in pair)
        except STOPS as stop:
            left[job.routine] = str(stop)
            continue
        timed.append((job, before, after))
    progress("simulate", len(jobs), len(jobs))
    return timed, list(left.items())


@dataclass(frozen=True)
class SequentialClocks:
    """On the built-in interpreter, and the model of a CPU in a machine."""

    image: Image
    target: Sequential
    cpu: Cpu
    system: System

    def pair(self, name: str) -> tuple[Clock, Clock] | str:
        """The file's routine and the tuned one, or why one of them is not there."""
        before = self.own(name)
        if isinstance(before, str):
            return before
        tuned = next(suited(self.target, name, self.cpu), None)
        if tuned is None:
            return f"no tuned routine for {self.cpu.name}"
        return before, self._clock(name, code_at(tuned, self.target.arena.new))

    def own(self, name: str) -> Clock | str:
        """The file's routine, or that it is not there."""
        image, target = self.image, self.target
        found = function_named(image, name)
        address = found[0] if found else picked(image, target, name, self.cpu)
        if address is None:
            return _NO_SYMBOL
        lowest = min(segment.p_vaddr for segment in image.segments if segment.p_memsz)
        base, outside = target.arena.old - lowest, target.arena.outside
        return self._clock(
            name, code_of(image, name, address, base, target.relocated, outside=outside)
        )

    def _clock(self, name: str, code: Code) -> Clock:
        laboratory = Laboratory(self.cpu, self.system, trials_of(self.target))
        return laboratory.bench(code, CONTRACTS[name]).cycles


@dataclass(frozen=True)
class BundledClocks:
    """On the machine that runs whole groups, and the model of a CPU with its caches."""

    image: Image
    target: Bundling
    cpu: BundledCpu

    @cached_property
    def _tried(self) -> Tried:
        return Tried(self.image, self.target, bundled_code(self.image, self.target))

    def pair(self, name: str) -> tuple[Clock, Clock] | str:
        """The file's routine and the tuned one, or why one of them is not there."""
        found = function_named(self.image, name)
        if found is None:
            return _NO_SYMBOL
        tuned = next(iter(self.target.substituting.routines(name)), None)
        if tuned is None:
            return f"no tuned routine for {self.cpu.name}"
        place, contract = self.target.arena.new, CONTRACTS[name]
        alone = replace(self._tried, alone=(place, tuned.code))
        return (
            partial(self._cycles, self._tried, found[0], contract),
            partial(self._cycles, alone, place + tuned.entry, contract),
        )

    def _cycles(
        self, tried: Tried, entry: int, contract: Contract, point: Mapping[str, int], warm: bool
    ) -> int:
        case = contract.case(self.target.substituting.arena, point)
        return trace(self.cpu, tried.harness.steps(entry, case), warm).cycles
