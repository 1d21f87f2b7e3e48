"""Calls of 0 to 16 bytes, and early differences: tuned IA-64 routines beside those of a file.

    .venv/bin/python benchmarks/ia64_short_calls.py [FILE...]

For each routine of the files (the IA-64 libc if none is named) that `substitute` replaces for the
Itanium 2, where it would stand: in each kind of call by which `substitute` refuses a routine
(`passes/substitution/worth.py`), the mean over how operands stand, the original's and ours, in
cycles of the model and in groups that the group-parallel machine went through; a `!` where ours
take more, two where they take more of both.  Ends with the numbers of these.  FILE is a path or the
name of an input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import targets
from fixtures.inputs import Missing, find
from passes import offered
from passes.substitution.worth import Call, Runs, short_calls
from rewriter.contracts import CONTRACTS
from rewriter.core.target.substitution import Step
from rewriter.elf.image import load
from rewriter.road.bundled.road import prepared
from rewriter.road.bundled.routines import BundledRoutines
from rewriter.road.options import Options

_ROW = "  {:30} {:>6} {:>6}   {:>6} {:>6} {}"


def groups(steps: Sequence[Step], warm: bool) -> int:
    """Groups of a run: a stop ends one, and so does a taken branch."""
    return sum(step.stop or step.target is not None for step in steps)


def mean(made: Sequence[Call], runs: Runs) -> float:
    """What a call takes, by weight."""
    took = runs([call.point for call in made], True)
    every = sum(call.weight for call in made)
    return sum(call.weight * run.cycles for call, run in zip(made, took, strict=True)) / every


def rows(routines: BundledRoutines) -> Iterator[tuple[str, bool, bool]]:
    """The lines of a file's routines, each with whether ours take more cycles, or more groups."""
    for one in routines.run()[0]:
        named, routine = one.candidate.named, one.placed.routine
        sides = [
            side
            for way in (routines.modelled, groups)
            for side in (
                routines.original(named, way),
                routines.replacing(routine, way, not one.at_home),
            )
        ]
        for contract in (CONTRACTS[name] for name in named.contracts):
            place = "in its place" if one.at_home else "in another's place"
            yield f"{one.candidate.function.name}, as {contract.name}, {place}:", False, False
            for kind, made in short_calls(contract).items():
                cells = [mean(made, side(contract)) for side in sides]
                slower, more = cells[1] > cells[0], cells[3] > cells[2]
                shown = (f"{cell:.1f}" for cell in cells)
                yield _ROW.format(kind, *shown, "!" * (slower + more)), slower, more


def main(names: Sequence[str]) -> int:
    """Prints the tables; whether no call takes longer."""
    slow = many = 0
    for name in names or ["ia64-libc"]:
        try:
            image = load(Path(name) if Path(name).is_file() else find(name))
        except Missing as problem:
            print(problem, file=sys.stderr)
            return 2
        target = targets.of(image).bundling
        assert target is not None, f"{name} is of another kind"
        cpu = target.cpus["itanium2"]
        routines = prepared(image, target, cpu, Options(passes=offered(target))).routines
        print(_ROW.format(name, "cycles", "ours", "groups", "ours", ""))
        for line, slower, more in rows(routines):
            print(line, flush=True)
            slow += slower
            many += more
    print(f"{slow} kinds of calls take more cycles, {many} more groups")
    return slow > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
