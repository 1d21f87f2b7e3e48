"""The retuned libc against the original and against glibc rebuilt from source for the same CPU.

    python benchmarks/whole_programs.py [--cpu ev67] [--jobs 2] [PROGRAM...]
    python benchmarks/whole_programs.py --cpu 7450 [PROGRAM...]

Instructions that whole programs execute in the libc, then modelled cycles of those with less work
to do.  Timed is what runs inside the library, with the calls and returns at its border, on the
model of the CPU in its usual machine: once from empty caches, and once again as it then is.
Building glibc for the comparison takes some ten minutes, once (`python -m fixtures.rebuilt`).  For
a PowerPC only executed instructions are counted, and nothing is rebuilt.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import MappingProxyType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import traced
from fixtures import programs
from fixtures.inputs import Missing, cache_dir, find, write_aside
from fixtures.rebuilt import rebuilt_libc
from fixtures.trace import record
from rewriter.core.errors import NothingToDo
from targets.alpha.systems import UP1000, USUAL

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = MappingProxyType(
    {"bench-string": "5", "bench-stdio": "60", "bench-sort": "100", "bench-number": "20"}
)
"""The argument of each program that is timed: some hundred thousand instructions in the library."""

LIBRARIES = MappingProxyType(
    {
        **dict.fromkeys(("750", "7400", "7450"), "ppc-libc"),
        **dict.fromkeys(("970", "power7", "power8"), "ppc64-libc"),
        **dict.fromkeys(("power9", "power10"), "ppc64el-libc"),
    }
)
"""The libc that is retuned for a CPU; for one that is not here, Alpha's."""

_SHOWN = 0.005  # of the cycles: a cause below this is added to the others


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--jobs", type=int, default=2, help="processes that simulate")
    parser.add_argument("programs", nargs="*", default=(*programs.BENCH, *programs.WORK))
    options = parser.parse_args(arguments)
    try:
        original = find(LIBRARIES.get(options.cpu, "alpha-libc"))
        libraries = {"original": original, "retuned": retuned(original, options.cpu)}
        lines = counted(libraries, options.cpu, options.programs)
        if options.cpu not in LIBRARIES:
            libraries["rebuilt"] = rebuilt_libc(options.cpu)
            lines = report(libraries, options.cpu, options.programs, options.jobs)
        for line in lines:
            print(line, flush=True)
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    return 0


def retuned(original: Path, cpu: str) -> Path:
    """The library, under its name, with all passes on: made once for each state of the product."""
    digest = hashlib.sha256(original.read_bytes())
    for folder in ("rewriter", "passes", "targets"):
        for source in sorted((ROOT / folder).rglob("*.*")):
            if source.suffix in (".py", ".json", ".s"):
                digest.update(source.read_bytes())
    path = cache_dir("retuned") / f"{cpu}-{digest.hexdigest()[:16]}" / original.name
    path.parent.mkdir(exist_ok=True)
    if not path.is_file():
        write_aside(path, lambda aside: _patch(original, cpu, aside))
    return path


def _patch(original: Path, cpu: str, out: Path) -> None:
    command = (Path(sys.executable).with_name("retune"), "patch", original, "--cpu", cpu, "-o", out)
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if done.returncode != NothingToDo.exit_code:
        done.check_returncode()


def report(
    libraries: Mapping[str, Path], cpu: str, names: Sequence[str], jobs: int
) -> Iterator[str]:
    """The tables, as lines of Markdown."""
    yield from counted(libraries, cpu, names)
    names = [name for name in names if name in ROUNDS]
    timed = _timed(libraries, cpu, names, jobs)
    for again, what in enumerate(("from empty caches", "once again")):
        yield ""
        yield from _head(f"modelled cycles, {what}", libraries)
        for name in names:
            yield _row(name, {label: timed[name, label][again].cycles for label in libraries})
    for name in names:
        yield ""
        yield from _head(f"{name}, once again: where the cycles go", libraries)
        yield from _causes({label: timed[name, label][1] for label in libraries})


def counted(libraries: Mapping[str, Path], cpu: str, names: Sequence[str]) -> Iterator[str]:
    """The table of executed instructions, and where the retuned libc executes most."""
    yield from _head("executed instructions of the libc", libraries)
    more = []
    for name in names:
        here = {
            label: executed(name, path, cpu, libraries["original"])
            for label, path in libraries.items()
        }
        yield _row(name, here)
        if "rebuilt" in here and here["retuned"] > here["rebuilt"]:
            more.append(name)
    if "rebuilt" in libraries:
        yield ""
        yield f"the retuned libc executes more than the rebuilt one on: {', '.join(more) or 'none'}"


def executed(program: str, library: Path, cpu: str, original: Path) -> int:
    """The instructions that one run executes in the libc.

    RuntimeError when it prints something else than it should.
    """
    if programs.run(program, library, cpu) != programs.run(program, original, cpu):
        raise RuntimeError(f"{program} prints something else on {library}")
    return programs.count(program, library, cpu).libc


def timing(program: str, library: Path, cpu: str) -> list[traced.Spent]:
    """The modelled cycles of one program on one library: from empty caches, and once again."""
    recording = record(program, library, cpu, (ROUNDS[program],))
    return traced.time(recording, library, cpu, USUAL.get(cpu, UP1000), 2)


def _timed(
    libraries: Mapping[str, Path], cpu: str, names: Sequence[str], jobs: int
) -> dict[tuple[str, str], list[traced.Spent]]:
    # An engine makes many small objects and no cycles of references: collecting costs a fifth.
    with ProcessPoolExecutor(jobs, initializer=gc.disable) as pool:
        waiting = {
            (name, label): pool.submit(timing, name, path, cpu)
            for name in names
            for label, path in libraries.items()
        }
        return {key: future.result() for key, future in waiting.items()}


def _causes(spent: Mapping[str, traced.Spent]) -> Iterator[str]:
    """A row for each cause that counts in one of the libraries, and one for the rest."""
    totals = {label: one.cycles for label, one in spent.items()}
    rest = dict(totals)
    widest = max(spent.values(), key=lambda one: one.cycles)
    for cause, _ in widest.causes.most_common():
        cycles = {label: one.causes[cause] for label, one in spent.items()}
        if max(cycles[label] / totals[label] for label in spent) >= _SHOWN:
            yield _row(cause, cycles)
            rest = {label: left - cycles[label] for label, left in rest.items()}
    yield _row("all others", rest)
    yield _row("together", totals)


def _head(what: str, libraries: Mapping[str, Path]) -> Iterator[str]:
    labels = [*libraries, *(f"retuned / {label}" for label in libraries if label != "retuned")]
    yield f"| {what} | {' | '.join(labels)} |"
    yield "|---|" + "---:|" * len(labels)


def _row(name: str, values: Mapping[str, int]) -> str:
    shown = [f"{value:,}" for value in values.values()]
    for value in (value for label, value in values.items() if label != "retuned"):
        shown.append(f"{values['retuned'] / value:.3f}" if value else "-")
    return f"| {name} | {' | '.join(shown)} |"


if __name__ == "__main__":
    sys.exit(main())
