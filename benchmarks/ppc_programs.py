"""Whole programs on PowerPC libraries retuned for each CPU, beside the original libraries.

    python benchmarks/ppc_programs.py [--cpu NAME ...] [--jobs 2] [PROGRAM...]

For 750, 7450 (32-bit), 970 (32-bit and 64-bit big-endian), POWER9 and POWER10 (little-endian) the
libc, and then libc, libm, libstdc++ and libgcc_s together, are retuned with all passes, and the
programs of `fixtures.programs` run on them under the CPU's emulator.  The table says how many
end and print the same, byte by byte, and between what bounds their executed instructions are to
those of the run on the original (a program that does not execute the same number twice on the
original, as threads do, is not in these).  Last, the same files on a CPU without some of the
instructions: how many programs die of an illegal instruction there; none may print something else.

qemu-ppc runs no 970: the 32-bit libraries for it run on a 7450, which has all they use.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.whole_programs import retuned
from fixtures import programs
from fixtures.inputs import Missing, find
from fixtures.programs import Completed, counted, of, run

Original: TypeAlias = tuple[Completed, set[int | None]]
"""What a program does on the original libraries, and how many instructions two runs execute."""

TIME = 600.0  # seconds for a run
LIBC, ALL = ("libc",), ("libc", "libm", "libstdc++", "libgcc_s")
HEAD = (
    "CPU", "ABI", "run on", "retuned", "programs", "same", "different", "instructions", "varying",
    "killed",
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """Files of an ABI retuned for a CPU, where they run, and where not all of them can."""

    cpu: str
    abi: str
    runs: str
    lacks: str = ""


SETTINGS = (
    Setting("750", "ppc", "750"),
    Setting("7450", "ppc", "7450", "750"),
    Setting("970", "ppc", "7450", "750"),
    Setting("970", "ppc64", "970"),
    Setting("power9", "ppc64el", "power9", "power8"),
    Setting("power10", "ppc64el", "power10", "power9"),
)


@dataclass
class Found:
    """What came of the programs on some retuned libraries."""

    ratios: dict[str, float] = field(default_factory=dict)
    varying: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    killed: int = 0
    different_elsewhere: list[str] = field(default_factory=list)

    @property
    def same(self) -> int:
        """How many print and end as on the original."""
        return len(self.ratios) + len(self.varying)


class Runs:
    """Runs of programs, those on original libraries made once."""

    def __init__(self, names: Sequence[str], jobs: int) -> None:
        self.names, self._pool = names, ThreadPoolExecutor(jobs)
        self._known: dict[tuple[str, str], list[Original]] = {}

    def original(self, abi: str, cpu: str) -> list[Original]:
        """What each program does on the original libraries."""
        if (abi, cpu) not in self._known:
            once, again = (self._on([find(f"{abi}-libc")], cpu) for _ in range(2))
            pairs = zip(once, again, strict=True)
            self._known[abi, cpu] = [(done, {one, two}) for (done, one), (_, two) in pairs]
        return self._known[abi, cpu]

    def _on(self, libraries: Sequence[Path], cpu: str) -> list[tuple[Completed, int | None]]:
        return list(self._pool.map(lambda name: counted(name, libraries, cpu), self.names))

    def compared(self, setting: Setting, libraries: Sequence[str]) -> Found:
        """All programs on retuned libraries."""
        paths = [find(f"{setting.abi}-{name}") for name in libraries]
        new = list(self._pool.map(lambda path: retuned(path, setting.cpu), paths))
        originals, made = self.original(setting.abi, setting.runs), self._on(new, setting.runs)
        found = Found()
        for name, (before, counts), (after, count) in zip(self.names, originals, made, strict=True):
            if before.returncode != of(name).returncode:
                raise RuntimeError(f"{name} on the original ended with {before.returncode}")
            (first, *others) = counts
            if after != before:
                found.different.append(name)
            elif first and count and not others:
                found.ratios[name] = count / first
            else:
                found.varying.append(name)
        if setting.lacks:
            self._elsewhere(setting, new, found)
        return found

    def _elsewhere(self, setting: Setting, libraries: Sequence[Path], found: Found) -> None:
        """The same files where instructions are missing."""
        originals = self.original(setting.abi, setting.lacks)
        others = self._pool.map(
            lambda name: run(name, libraries[0], setting.lacks, TIME, libraries[1:]), self.names
        )
        for name, (before, _), after in zip(self.names, originals, others, strict=True):
            if after.returncode == -signal.SIGILL:
                found.killed += 1
            elif after != before:
                found.different_elsewhere.append(name)


def row(setting: Setting, libraries: Sequence[str], found: Found, total: int) -> str:
    """One of the table."""
    ratios = sorted(found.ratios.values())
    bounds = f"{ratios[0]:.4f} to {ratios[-1]:.4f}" if ratios else "-"
    killed = f"{found.killed} on {setting.lacks}" if setting.lacks else "-"
    cells = (
        setting.cpu, setting.abi, setting.runs, ", ".join(libraries), total, found.same,
        len(found.different), bounds, len(found.varying), killed,
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def remarks(setting: Setting, libraries: Sequence[str], found: Found) -> Iterator[str]:
    """What should not be."""
    where = f"{setting.cpu}, {setting.abi}, {', '.join(libraries)}"
    for name in found.different:
        yield f"{where}: {name} is different"
    for name in found.different_elsewhere:
        yield f"{where}: {name} is different on {setting.lacks}"
    for name, ratio in found.ratios.items():
        if ratio > 1:
            yield f"{where}: {name} executes {ratio:.6f} of the instructions"


def main() -> int:
    """Exit status 0 when all programs are the same and none executes more instructions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", action="append", help="these CPUs only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("programs", nargs="*", default=[*programs.PROGRAMS, *programs.OTHERS])
    options = parser.parse_args()
    runs, wrong = Runs(options.programs, options.jobs), list[str]()
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    try:
        for setting in SETTINGS:
            for libraries in (LIBC, ALL) if setting.cpu in (options.cpu or setting.cpu) else ():
                found = runs.compared(setting, libraries)
                print(row(setting, libraries, found, len(options.programs)), flush=True)
                wrong += remarks(setting, libraries, found)
    except Missing as missing:
        print(f"not run: {missing}", file=sys.stderr)
        return 1
    print("", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
