"""`make bench`: what retune costs and what it gains, as ratios measured in one run.

Costs are compared with `objdump -d` of the same file on the same machine, so that the ratio means
something elsewhere; gains are executed guest instructions, which do not depend on the machine.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fixtures import programs
from fixtures.inputs import Missing, find, tool

RETUNE = Path(sys.executable).with_name("retune")
NOTHING_TO_DO = 4
LIBC = "alpha-libc"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result: what, its value, what it is compared with, their ratio."""

    what: str
    value: str
    against: str
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Spent:
    """Wall time in seconds and peak resident size in bytes of one process."""

    seconds: float
    peak: int


def spend(command: Sequence[str | Path], allowed: Iterable[int] = (0,)) -> Spent:
    """Run a command with empty caches and no output; RuntimeError when it fails."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile() as errors:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, env=environment
        )
        # wait4 gives this one child's peak; RUSAGE_CHILDREN would give the largest of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in allowed:
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {text}")
    return Spent(seconds, usage.ru_maxrss * 1024)


def median(command: Sequence[str | Path], runs: int, allowed: Iterable[int] = (0,)) -> Spent:
    """The median time and the largest peak of several runs."""
    all_spent = [spend(command, allowed) for _ in range(runs)]
    return Spent(statistics.median(s.seconds for s in all_spent), max(s.peak for s in all_spent))


def cost_rows(name: str, cpu: str, runs: int, output: Path) -> list[Row]:
    """Patching `name` into `output`: time against objdump, peak memory against file size."""
    original = find(name)
    objdump = median((tool("alpha-linux-gnu-objdump"), "-d", original), runs)
    patch = (RETUNE, "patch", original, "-o", output, "--cpu", cpu)
    patched = median(patch, runs, (0, NOTHING_TO_DO))
    size = original.stat().st_size
    return [
        Row(
            f"{name}: patch and prove / objdump -d",
            f"{patched.seconds:.2f} s",
            f"{objdump.seconds:.2f} s",
            patched.seconds / objdump.seconds,
        ),
        Row(
            f"{name}: peak memory / file size",
            f"{patched.peak / 1e6:.1f} MB",
            f"{size / 1e6:.1f} MB",
            patched.peak / size,
        ),
    ]


def gain_rows(program: str, original: Path, patched: Path, cpu: str) -> list[Row]:
    """Executed instructions of one program, patched libc against the original."""
    if programs.run(program, original, cpu) != programs.run(program, patched, cpu):
        raise RuntimeError(f"{program} prints something else on the patched libc")
    old = programs.count(program, original, cpu)
    new = programs.count(program, patched, cpu)
    return [
        Row(
            f"{program}: instructions patched / original",
            f"{new.total:,}",
            f"{old.total:,}",
            new.total / old.total,
        )
    ]


def help_rows(runs: int) -> list[Row]:
    """`retune --help` against an empty run of the same Python."""
    shown = median((RETUNE, "--help"), runs)
    empty = median((sys.executable, "-c", "pass"), runs)
    return [
        Row(
            "retune --help / python -c pass",
            f"{shown.seconds:.3f} s",
            f"{empty.seconds:.3f} s",
            shown.seconds / empty.seconds,
        )
    ]


def measure(cpu: str, runs: int) -> Iterable[Row]:
    """All rows, each as soon as it is known; what cannot be measured says why."""
    yield from _attempt("retune --help", functools.partial(help_rows, max(runs, 5)))
    with tempfile.TemporaryDirectory() as scratch:
        patched = Path(scratch) / LIBC
        yield from _attempt(LIBC, functools.partial(cost_rows, LIBC, cpu, runs, patched))
        if not patched.is_file():
            return
        original = find(LIBC)
        for program in programs.BENCH:
            yield from _attempt(
                program, functools.partial(gain_rows, program, original, patched, cpu)
            )


def _attempt(what: str, rows: Callable[[], list[Row]]) -> list[Row]:
    try:
        return rows()
    except (Missing, RuntimeError, OSError) as reason:
        return [Row(f"{what}: not measured: {reason}", "", "", None)]


def show(rows: Iterable[Row]) -> bool:
    """A table on a terminal, tab-separated lines in a pipe; True when every row has a ratio."""
    if not sys.stdout.isatty():
        complete = True
        for row in rows:
            print(row.what, row.value, row.against, _ratio(row), sep="\t", flush=True)
            complete &= row.ratio is not None
        return complete
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "value", "against", "ratio", title="retune, measured now")
    for column in table.columns[1:]:
        column.justify = "right"
    console = Console()
    with console.status("measuring"):
        measured = list(rows)
    for row in measured:
        table.add_row(row.what, row.value, row.against, _ratio(row))
    console.print(table)
    return all(row.ratio is not None for row in measured)


def _ratio(row: Row) -> str:
    return "" if row.ratio is None else f"{row.ratio:.3f}"


def main() -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--runs", type=int, default=3, help="runs per timing; the median counts")
    options = parser.parse_args()
    return 0 if show(measure(options.cpu, options.runs)) else 1


if __name__ == "__main__":
    sys.exit(main())
