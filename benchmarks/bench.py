"""`make bench`: what retune costs and what it gains, as ratios measured in one run.

Costs are compared with `objdump -d` of the same file on the same machine, so that the ratio means
something elsewhere; gains are executed guest instructions, which do not depend on the machine.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import gorton
from benchmarks.batch import chosen, copied, text_of
from benchmarks.spending import Spent, spend
from fixtures import programs
from fixtures.cross import SMALL
from fixtures.inputs import Missing, find, tool
from passes.writehint import WriteHint

RETUNE = Path(sys.executable).with_name("retune")
NOTHING_TO_DO = 4
_FILLED = re.compile(
    r"4096 bytes took (?P<memory>\d+) cycles out of memory and (?P<cache>\d+) in the cache,"
    r" and take (?P<new_memory>\d+) and (?P<new_cache>\d+);"
)
LIBC, KERNEL = "alpha-libc", "alpha-vmlinux"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result: what, its value, what it is compared with, their ratio."""

    what: str
    value: str
    against: str
    ratio: float | None


def median(command: Sequence[str | Path], runs: int, allowed: Iterable[int] = (0,)) -> Spent:
    """The median times and the largest peak of several runs."""
    every = [spend(command, allowed) for _ in range(runs)]
    return Spent(
        statistics.median(one.seconds for one in every),
        statistics.median(one.processor for one in every),
        max(one.peak for one in every),
        every[-1].text,
    )


def cost_rows(name: str, cpu: str, runs: int, output: Path) -> Iterator[Row]:
    """`name` patched into `output`: time against objdump, peak memory against file size."""
    original = find(name)
    objdump = _objdump(original, runs)
    patch = (RETUNE, "patch", original, "-o", output, "--cpu", cpu)
    patched = median(patch, runs, (0, NOTHING_TO_DO))
    yield _time(f"{name}: patch and prove / objdump -d", patched, objdump)
    yield _memory(f"{name}: peak memory / file size", patched, original)


def whole_rows(name: str, cpu: str, runs: int, output: Path) -> Iterator[Row]:
    """`name` patched once, verified and reverted: times against objdump, memory of each."""
    original = find(name)
    objdump = _objdump(original, runs)
    back = output.with_suffix(".back")
    for what, command in (
        ("patch and prove", ("patch", original, "-o", output, "--cpu", cpu)),
        ("verify", ("verify", original, output)),
        ("revert", ("revert", output, "-o", back)),
    ):
        spent = spend((RETUNE, *command))
        yield _time(f"{name}: {what} / objdump -d", spent, objdump)
        yield _memory(f"{name}: {what}, peak memory / file size", spent, original)
    if back.read_bytes() != original.read_bytes():
        raise RuntimeError("revert did not give the original back")


def _objdump(original: Path, runs: int) -> Spent:
    return median((tool("alpha-linux-gnu-objdump"), "-d", original), runs)


def _time(what: str, spent: Spent, objdump: Spent) -> Row:
    """Wall time; the processor time of all processes is said with it."""
    return Row(
        what,
        _seconds(spent),
        _seconds(objdump),
        spent.seconds / objdump.seconds,
    )


def _seconds(spent: Spent) -> str:
    return f"{spent.seconds:.2f} s ({spent.processor:.2f} s of processor)"


def _memory(what: str, spent: Spent, original: Path) -> Row:
    size = original.stat().st_size
    return Row(what, f"{spent.peak / 1e6:.1f} MB", f"{size / 1e6:.1f} MB", spent.peak / size)


def gain_rows(program: str, original: Path, patched: Path, cpu: str) -> Iterator[Row]:
    """Executed instructions of one program, patched libc against the original."""
    if programs.run(program, original, cpu) != programs.run(program, patched, cpu):
        raise RuntimeError(f"{program} prints something else on the patched libc")
    old = programs.count(program, original, cpu)
    new = programs.count(program, patched, cpu)
    what = f"{program}: instructions patched / original"
    yield Row(what, f"{new.total:,}", f"{old.total:,}", new.total / old.total)
    what = f"{program}: conditional moves patched / original"
    yield Row(what, f"{new.moves:,}", f"{old.moves:,}", new.moves / old.moves)


def point_rows(original: Path, patched: Path, cpu: str) -> Iterator[Row]:
    """What the article of 2001 asks of code, as often as programs execute it."""
    texts = {path: gorton.text_of_library(path) for path in (original, patched)}
    for program in programs.BENCH:
        old, new = (gorton.of_program(program, path, cpu, texts[path]) for path in texts)
        for what, count in gorton.COLUMNS.items():
            ratio = count(new) / count(old) if count(old) else None
            yield Row(f"{program}: {what}", f"{count(new):,}", f"{count(old):,}", ratio)


def hint_rows(patched: Path) -> Iterator[Row]:
    """Modelled cycles of filling 4 KB in the loops that `writehint` gave a version.

    The model is of the CPU that the file was tuned to; the figures are each edit's evidence.
    """
    edits = json.loads(spend((RETUNE, "edits", "--json", patched)).text)["edits"]
    details = [edit["detail"] for edit in edits if edit["pass"] == WriteHint.name]
    found = [_FILLED.match(detail) for detail in details]
    for where in ("memory", "cache"):
        pairs = [(int(one[f"new_{where}"]), int(one[where])) for one in found if one]
        if not pairs or len(pairs) != len(found):
            raise RuntimeError("no loop has a version, or its evidence says no cycles")
        new, old = (sum(side) for side in zip(*pairs, strict=True))
        what = f"writehint: cycles to fill 4 KB, {len(pairs)} loops, {where}: patched / original"
        yield Row(what, f"{new:,}", f"{old:,}", new / old)


def batch_rows(cpu: str, count: int) -> Iterator[Row]:
    """Some real libraries of all sizes in one batch: text a second and core, against objdump."""
    files = [path for path in chosen(SMALL, 2 * count) if _objdumped(path)][:count]
    with tempfile.TemporaryDirectory() as scratch:
        tree, journal = copied(files, Path(scratch) / "tree"), Path(scratch) / "journal"
        begun = time.perf_counter()
        for path in files:
            subprocess.run(
                (tool("alpha-linux-gnu-objdump"), "-d", path), check=True, stdout=subprocess.DEVNULL
            )
        objdump = time.perf_counter() - begun
        command = (RETUNE, "batch", tree, "--in-place", "--cpu", cpu, "--journal", journal, "-q")
        spent = spend(command, (0, 1))
        text = text_of(journal) / 1e6
    yield Row(
        f"batch of {len(files)} files: MB of text a second and core / objdump -d",
        f"{text / spent.processor:.3f} MB/s",
        f"{text / objdump:.3f} MB/s",
        objdump / spent.processor,
    )


def _objdumped(path: Path) -> bool:
    """Whether the file is of the machine that the disassembler is for."""
    return path.read_bytes()[18:20] == find(LIBC).read_bytes()[18:20]


def help_rows(runs: int) -> Iterator[Row]:
    """`retune --help` against an empty run of the same Python."""
    shown = median((RETUNE, "--help"), runs)
    empty = median((sys.executable, "-c", "pass"), runs)
    yield Row(
        "retune --help / python -c pass",
        f"{shown.seconds:.3f} s",
        f"{empty.seconds:.3f} s",
        shown.seconds / empty.seconds,
    )


def measure(cpu: str, runs: int) -> Iterable[Row]:
    """All rows, each as soon as it is known; what cannot be measured says why."""
    yield from _attempt("retune --help", functools.partial(help_rows, max(runs, 5)))
    yield from _attempt("batch", functools.partial(batch_rows, cpu, 30))
    with tempfile.TemporaryDirectory() as scratch:
        patched = Path(scratch) / LIBC
        yield from _attempt(LIBC, functools.partial(cost_rows, LIBC, cpu, runs, patched))
        kernel = Path(scratch) / KERNEL
        yield from _attempt(KERNEL, functools.partial(whole_rows, KERNEL, cpu, runs, kernel))
        if not patched.is_file():
            return
        yield from _attempt("writehint", functools.partial(hint_rows, patched))
        original = find(LIBC)
        yield from _attempt("points", functools.partial(point_rows, original, patched, cpu))
        for program in programs.BENCH:
            yield from _attempt(
                program, functools.partial(gain_rows, program, original, patched, cpu)
            )


def _attempt(what: str, rows: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    try:
        yield from rows()
    except (Missing, RuntimeError, OSError) as reason:
        yield Row(f"{what}: not measured: {reason}", "", "", None)


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
