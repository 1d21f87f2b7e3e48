"""What a kernel executes for one system call, signal, page fault, process: LMBench's operations.

    python benchmarks/operations.py [--kernel NAME] [--retuned FILE] [--timed] [--machine up1000]
                                    [OPERATION...]

The kernel (alpha-vmlinux, ppc32-vmlinux or ppc64el-vmlinux) boots with an initial file system whose
/init does one thing at a time between marks that our plugin sees (`fixtures/operations.py`).
Printed are the kernel's instructions for each, other processes and what they wait for included: the
median of those that were marked, for interrupts come in between; with --retuned beside those of a
kernel that `patch` wrote.  With --timed also modelled cycles on an ev67 in the machine, everything
in the order of its execution, from empty caches on (Alpha).  `shell` is our own: a process that is
executed, and executes one.  A page fault is one of those that an area of memory has which is
mapped, touched and unmapped; the calls for that are spread over them.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import targets
from benchmarks import traced
from benchmarks.hinted import hinted
from fixtures import operations
from fixtures.guests import GUESTS
from fixtures.inputs import Missing, find
from fixtures.programs import plugin_path
from fixtures.trace import MARKED, Recording, parse
from rewriter.difftest.boot.kernel import kernel
from rewriter.difftest.boot.machine import Ending, Setup, boot
from rewriter.difftest.executed import Observer
from rewriter.elf.image import load
from rewriter.timing.engine import Chip
from rewriter.timing.model import chip
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import SYSTEMS

KERNELS: Mapping[str, str] = {
    "alpha-vmlinux": "alpha",
    "ppc32-vmlinux": "ppc",
    "ppc64el-vmlinux": "ppc64el",
}
"""Kernels, and the guests whose programs they run."""

_LIMIT = 900.0  # seconds of a boot
_CPU, _PART = "ev67", 50_000  # steps that are timed at once
_SAID = re.compile(r"operation (\d+) (\w+) (\d+)")


@dataclass(frozen=True)
class Operation:
    """What was recorded of one operation, each time that it was done; each time has `parts`."""

    name: str
    parts: int
    recordings: tuple[Recording, ...]

    @property
    def instructions(self) -> float:
        """The kernel's for one."""
        return median(one.executed for one in self.recordings) / self.parts


def recorded(path: Path, guest: str) -> list[Operation]:
    """All operations of a boot, in their order."""
    booted = kernel(path.read_bytes(), path.name)
    boots = targets.of(booted.image).boots
    assert boots is not None, path.name
    lowest = traced.linked(booted.image)
    initrd = operations.build(GUESTS[guest]).read_bytes()
    cpu = boots.cpus.get(_CPU)
    setup = Setup(boots.machine, boots.memory, boots.parameters, initrd, cpu)
    with tempfile.TemporaryDirectory() as name:
        out, library = Path(name) / "trace", plugin_path("trace")
        told = (
            f"{library},out={out},base={lowest:#x},user_end={boots.user_end:#x}"
            f",marks={operations.MARKS:#x}"
        )
        done = boot(booted, boots, setup, Observer(library, told), _LIMIT, Path(name))
        if done.ending is not Ending.OFF or "WRONG" in done.console:
            raise RuntimeError(f"{path.name} {done.account}")
        return _parted(parse(out.read_bytes()), done.console)


def _parted(whole: Recording, console: str) -> list[Operation]:
    """The operations that the console names, by their marks."""
    records = whole.records
    marks = np.flatnonzero(records["kind"] == MARKED)
    parts: dict[int, list[Recording]] = {}
    for at, end in zip(marks, [*marks[1:], len(records)], strict=True):
        each = replace(whole, records=records[at + 1 : end])
        parts.setdefault(int(records["place"][at]), []).append(each)
    return [
        Operation(name, int(within), tuple(parts[int(number)]))
        for number, name, within in _SAID.findall(console)
    ]


def cycles(path: Path, done: Sequence[Operation], machine: str) -> list[float]:
    """Modelled cycles of each, one time, with one state of the caches for all."""
    image = load(path)
    text = traced.Text(image, TABLE)
    one, size = chip(CPUS[_CPU], SYSTEMS[machine], text), traced.extent(image)
    return [
        median(_run(one, each, size, text.base) for each in operation.recordings) / operation.parts
        for operation in done
    ]


def _run(one: Chip, recording: Recording, size: int, base: int) -> int:
    steps = hinted(list(traced.steps(recording, size, TABLE, base)), TABLE)
    parts = (steps[at : at + _PART] for at in range(0, len(steps), _PART))
    return sum(one.run(part).cycles for part in parts)


def table(
    name: str, retuned: Path | None, machine: str | None, wanted: Sequence[str]
) -> Iterator[str]:
    """A row for each operation that is wanted, or for all."""
    paths = {"original": find(name), **({"retuned": retuned} if retuned is not None else {})}
    found = {
        label: [one for one in recorded(path, KERNELS[name]) if one.name in wanted or not wanted]
        for label, path in paths.items()
    }
    columns = [[each.instructions for each in done] for done in found.values()]
    heads = [f"instructions, {label}" for label in found]
    if machine is not None:
        columns += [cycles(paths[label], done, machine) for label, done in found.items()]
        heads += [f"cycles, {label}" for label in found]
    pairs = len(found) > 1
    yield f"| {name} | {' | '.join(_with_ratios(heads, pairs))} |"
    yield "|---|" + "---:|" * len(_with_ratios(heads, pairs))
    for operation, *numbers in zip(found["original"], *columns, strict=True):
        cells = [f"{number:,.0f}" for number in numbers]
        ratios = [f"{new / old:.3f}" for old, new in zip(numbers[::2], numbers[1::2], strict=False)]
        yield f"| {operation.name} | {' | '.join(_with_ratios(cells, pairs, ratios))} |"


def _with_ratios(cells: Sequence[str], pairs: bool, ratios: Sequence[str] = ()) -> list[str]:
    """Cells with a ratio behind each pair."""
    if not pairs:
        return list(cells)
    behind = ratios or ["ratio"] * (len(cells) // 2)
    return [
        cell
        for number, ratio in enumerate(behind)
        for cell in (*cells[2 * number : 2 * number + 2], ratio)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kernel", default="alpha-vmlinux", choices=KERNELS)
    parser.add_argument("--retuned", type=Path, help="a kernel that patch wrote")
    parser.add_argument("--timed", action="store_true", help="also modelled cycles (Alpha)")
    parser.add_argument("--machine", default="up1000", choices=sorted(SYSTEMS))
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="not all of them")
    options = parser.parse_args(arguments)
    if options.timed and KERNELS[options.kernel] != "alpha":
        parser.error("--timed: only Alpha's kernels are timed")
    machine = options.machine if options.timed else None
    try:
        for line in table(options.kernel, options.retuned, machine, options.operations):
            print(line, flush=True)
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
