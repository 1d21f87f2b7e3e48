"""Runs the article's jobs: the routines of a file against the tuned ones of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rewriter.contracts import CONTRACTS
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, BadInstruction, LimitReached, Unspecified
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.protocol import Sequential, suited
from rewriter.elf.image import Image
from rewriter.suites.article import Job
from rewriter.suites.measure import Bench, Laboratory
from rewriter.verify.trials.image import code_at, code_of, function_named

_STOPS = (AccessFault, BadInstruction, LimitReached, Misaligned, Unspecified)

Timed = tuple[Job, int, int]
Left = tuple[str, str]


def run(
    image: Image,
    target: Sequential,
    cpu: Cpu,
    system: System,
    jobs: Iterable[Job],
    progress: Callable[[str, int, int], None],
) -> tuple[list[Timed], list[Left]]:
    """(job, cycles as it is, cycles retuned), and the routines left out with the reason."""
    trials = target.trials
    laboratory = Laboratory(cpu, system, trials.table, trials.write_hints)
    jobs, benches = list(jobs), dict[str, tuple[Bench, Bench] | str]()
    timed: list[Timed] = []
    left: dict[str, str] = {}
    for done, job in enumerate(jobs):
        progress("simulate", done, len(jobs))
        if job.routine not in benches:
            benches[job.routine] = _benches(image, target, laboratory, job.routine)
        pair = benches[job.routine]
        if isinstance(pair, str):
            left[job.routine] = pair
            continue
        try:
            before, after = (bench.run(job.point, job.warm).cycles for bench in pair)
        except _STOPS as stop:
            left[job.routine] = str(stop)
            continue
        timed.append((job, before, after))
    progress("simulate", len(jobs), len(jobs))
    return timed, list(left.items())


def _benches(
    image: Image, target: Sequential, laboratory: Laboratory, name: str
) -> tuple[Bench, Bench] | str:
    """The file's routine and the tuned one, or why one of them is not there."""
    found = function_named(image, name)
    if found is None:
        return "the file has no such symbol"
    tuned = next(suited(target, name, laboratory.cpu), None)
    if tuned is None:
        return f"no tuned routine for {laboratory.cpu.name}"
    contract = CONTRACTS[name]
    program = target.trials.program(contract.linkage)
    lowest = min(segment.p_vaddr for segment in image.segments if segment.p_memsz)
    old = code_of(image, name, found[0], target.arena.old - lowest, target.relocated)
    codes = old, code_at(tuned, target.arena.new)
    before, after = (laboratory.bench(code, contract, program) for code in codes)
    return before, after
