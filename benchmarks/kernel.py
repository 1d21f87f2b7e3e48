"""What a whole kernel costs: patch, verify and revert of a real vmlinux.

`.venv/bin/python benchmarks/kernel.py [--input NAME] [--cpu NAME] [--jobs N] [--keep OUT]` prints
processor time, wall time and peak memory of each command (of all its processes together), what
they said, and whether the kernel came back byte for byte.

The IA-64 kernel: `--input ia64-vmlinux --cpu itanium2`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.spending import spend
from fixtures.inputs import Missing, find

RETUNE = Path(sys.executable).with_name("retune")


def cost(arguments: Sequence[str | Path]) -> str:
    """Run a `retune` command, print its cost, return its output; RuntimeError when it fails."""
    spent = spend((RETUNE, *arguments))
    figures = f"{spent.processor:.0f} s of processor, {spent.seconds:.0f} s"
    print(f"{arguments[0]}: {figures}, {spent.peak / 1e6:.0f} MB", flush=True)
    return spent.text


def measure(kernel: Path, tuned: Path, cpu: str, jobs: Sequence[str]) -> bool:
    """Go there and back; whether the original came out."""
    print(cost(("patch", kernel, "-o", tuned, "--cpu", cpu, *jobs)))
    print(cost(("verify", kernel, tuned, *jobs)))
    with tempfile.TemporaryDirectory() as folder:
        back = Path(folder) / "back"
        cost(("revert", tuned, "-o", back))
        same = back.read_bytes() == kernel.read_bytes()
    print("reverted: the same" if same else "reverted: NOT the same")
    return same


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", default="alpha-vmlinux", help="a kernel by its fixture's name")
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--jobs", help="processes; as many as there are processors without it")
    parser.add_argument("--keep", type=Path, help="where the patched kernel stays")
    options = parser.parse_args()
    try:
        kernel = find(options.input)
        with tempfile.TemporaryDirectory() as folder:
            tuned = options.keep or Path(folder) / "tuned"
            jobs = ("-j", options.jobs) if options.jobs else ()
            return 0 if measure(kernel, tuned, options.cpu, jobs) else 1
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
