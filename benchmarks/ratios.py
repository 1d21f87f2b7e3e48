"""What retune costs on six real files against `objdump -d` of the same file, in one run.

    .venv/bin/python benchmarks/ratios.py                  # all, with two processes
    .venv/bin/python benchmarks/ratios.py ppc-libc         # one of them
    .venv/bin/python benchmarks/ratios.py --jobs 1
    .venv/bin/python benchmarks/ratios.py ppc64el-vmlinux --cpu power10 --keep FOLDER

Of each file: objdump's time, that of patch, processor time, its ratio to objdump's, the peak of
memory; how many times the aim of 12 times `objdump -d` in wall time it takes, and what bounds
it: the steps that take most, what of the work is serial, and how long it would take on as many
processors as it could use.  Then processor time, ratio and peak of identify alone, of verify, and
of revert, which must give the original back.  `make bench` prints the same.  With `--keep` the
patched files stay, as NAME.CPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.spending import Spent, spend
from fixtures.inputs import Missing, find, tool

RETUNE = Path(sys.executable).with_name("retune")
AIM = 12
"""Times `objdump -d`, in wall time on two cores."""
MOST = 4  # steps that are named


@dataclass(frozen=True)
class Case:
    """A file, the disassembler for it, and the CPU that it is tuned to."""

    name: str
    objdump: str
    cpu: str


CASES = (
    Case("alpha-libc", "alpha-linux-gnu", "ev67"),
    Case("alpha-vmlinux", "alpha-linux-gnu", "ev67"),
    Case("ppc64el-libc", "powerpc64le-linux-gnu", "power9"),
    Case("ppc-libc", "powerpc-linux-gnu", "7450"),
    Case("ppc32-vmlinux", "powerpc-linux-gnu", "750"),
    Case("ppc64el-vmlinux", "powerpc64le-linux-gnu", "power9"),
)


@dataclass(frozen=True)
class Cost:
    """What a case took: identify, patch, verify and revert; `timings` are those of `--timings`."""

    case: Case
    size: int
    objdump: Spent
    identified: Spent
    spent: Spent
    verified: Spent
    reverted: Spent
    timings: dict[str, Any]

    @property
    def ratio(self) -> float:
        """Processor time in times of objdump's."""
        return self.spent.processor / self.objdump.processor

    @property
    def from_aim(self) -> float:
        """Wall time in times of the aim."""
        return self.spent.seconds / self.objdump.seconds / AIM

    @property
    def bound(self) -> str:
        """What takes the time."""
        whole = self.timings["processor"]
        steps = sorted(self.timings["steps"], key=lambda step: -float(step["processor"]))
        named = (f"{s['step']} {100 * s['processor'] / whole:.0f} %" for s in steps[:MOST])
        laid_out = ", ".join(f"{n}: {s:.1f} s" for n, s in self.timings["laid_out"].items())
        serial = 100 * self.timings["serial"] / whole
        return f"{', '.join(named)}; {serial:.0f} % serial; laid out on {laid_out}"


def measured(case: Case, jobs: int, keep: Path | None) -> Cost:
    """Runs objdump, and retune with files of its own to write; raises Missing, RuntimeError."""
    original, shared = find(case.name), ("-j", str(jobs))
    objdump = spend((tool(f"{case.objdump}-objdump"), "-d", original))
    identified = spend((RETUNE, "identify", original))
    with tempfile.TemporaryDirectory() as folder:
        out, back = (keep or Path(folder)) / f"{case.name}.{case.cpu}", Path(folder) / "back"
        options = ("--cpu", case.cpu, *shared, "--timings", "--json")
        spent = spend((RETUNE, "patch", original, "-o", out, *options))
        verified = spend((RETUNE, "verify", original, out, *shared))
        reverted = spend((RETUNE, "revert", out, "-o", back))
        if back.read_bytes() != original.read_bytes():
            raise RuntimeError("revert did not give the original back")
    timings = json.loads(spent.text)["timings"]
    size = original.stat().st_size
    return Cost(case, size, objdump, identified, spent, verified, reverted, timings)


def rows(cases: Sequence[Case], jobs: int, keep: Path | None = None) -> Iterator[tuple[str, ...]]:
    """A line for each case; what cannot be measured says why."""
    for case in cases:
        what = f"{case.name}, {case.cpu}"
        try:
            cost = measured(case, jobs, keep)
        except (Missing, RuntimeError) as reason:
            yield (what, f"not measured: {reason}")
            continue
        yield (
            *(what, f"{cost.objdump.seconds:.2f} s, {cost.objdump.processor:.2f} s"),
            f"{cost.spent.seconds:.1f} s",
            *(f"{cost.spent.processor:.1f} s", f"{cost.ratio:.0f}"),
            f"{cost.spent.peak / 1e6:.0f} MB of {(200e6 + 8 * cost.size) / 1e6:.0f}",
            *(f"{cost.from_aim:.1f}", cost.bound),
            *(_brief(one, cost.objdump) for one in (cost.identified, cost.verified, cost.reverted)),
        )


def _brief(spent: Spent, objdump: Spent) -> str:
    """Processor time, that in times of objdump's, and the peak."""
    ratio = spent.processor / objdump.processor
    return f"{spent.processor:.1f} s, {ratio:.0f}, {spent.peak / 1e6:.0f} MB"


COLUMNS = (
    *("file", "objdump -d, wall and processor", "wall", "processor", "processor / objdump"),
    *("peak, of 200 MB + 8 times the file", f"wall / {AIM} objdump", "bounded by"),
    *("identify", "verify", "revert"),
)


def main() -> int:
    """Exit status 1 when something could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(c.name for c in CASES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cpu", help="for all files, instead of their own")
    parser.add_argument("--keep", type=Path, help="the folder where the patched files stay")
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.names or case.name in options.names]
    cases = [replace(case, cpu=options.cpu or case.cpu) for case in chosen]
    print(*COLUMNS, sep="\t")
    complete = True
    for row in rows(cases, options.jobs, options.keep):
        print(*row, sep="\t", flush=True)
        complete &= len(row) == len(COLUMNS)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
