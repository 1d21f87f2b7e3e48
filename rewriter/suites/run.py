"""Runs the article's jobs: the routines of a file against the tuned ones of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from rewriter.contracts import CONTRACTS
from rewriter.core.errors import BadInput
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, BadInstruction, LimitReached, Unspecified
from rewriter.core.target.capability import trials_of
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.protocol import Sequential, suited
from rewriter.elf.image import Image
from rewriter.suites.article import Job
from rewriter.suites.measure import Laboratory
from rewriter.verify.routines.resolved import picked
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_at, code_of, function_named

STOPS = (
    AccessFault, BadInput, BadInstruction, LimitReached, Misaligned, Unspecified, ValueError,
)  # fmt: skip
"""What a run of a routine may end with."""

Clock = Callable[[Mapping[str, int], bool], int]
"""Modelled cycles of one call: the point of a contract, and whether caches know it."""
Left = tuple[str, str]
_NO_SYMBOL = "the file has no such symbol"


@dataclass(frozen=True)
class Clocked:
    """Modelled cycles of one job, as the routine is and retuned: when the caches know the call, and
    when they hold nothing."""

    job: Job
    warm: tuple[int, int]
    cold: tuple[int, int]


def run(
    clocks: SequentialClocks, jobs: Iterable[Job], progress: Callable[[str, int, int], None]
) -> tuple[list[Clocked], list[Left]]:
    """The jobs with their times, and the routines left out with the reason."""
    jobs, pairs = list(jobs), dict[str, tuple[Clock, Clock] | str]()
    timed: list[Clocked] = []
    left: dict[str, str] = {}
    for done, job in enumerate(jobs):
        progress("simulate", done, len(jobs))
        if job.routine not in pairs:
            pairs[job.routine] = clocks.pair(job.routine)
        pair = pairs[job.routine]
        if isinstance(pair, str):
            left[job.routine] = pair
            continue
        old, new = pair
        try:
            warm, cold = ((old(job.point, known), new(job.point, known)) for known in (True, False))
        except STOPS as stop:
            left[job.routine] = str(stop)
            continue
        timed.append(Clocked(job, warm, cold))
    progress("simulate", len(jobs), len(jobs))
    return timed, list(left.items())


@dataclass(frozen=True)
class SequentialClocks:
    """On the built-in interpreter, and the model of a CPU in a machine.

    Retuned routines are those of the file `retuned`, where there is one, else the tuned ones that
    come along.
    """

    image: Image
    target: Sequential
    cpu: Cpu
    system: System
    retuned: Image | None = None

    def pair(self, name: str) -> tuple[Clock, Clock] | str:
        """The file's routine and the retuned one, or why one of them is not there."""
        before = self.own(name)
        if isinstance(before, str):
            return before
        if self.retuned is not None:
            after = replace(self, image=self.retuned).own(name)
            return after if isinstance(after, str) else (before, after)
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
