"""What a whole kernel costs: patch, verify and revert of the real vmlinux.

`.venv/bin/python benchmarks/kernel.py [--cpu NAME] [--keep OUT]` prints processor time, wall time
and peak memory of each command, what `patch` said, and whether the kernel came back byte for byte.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from fixtures.inputs import Missing, find

RETUNE = Path(sys.executable).with_name("retune")


def spend(arguments: Sequence[str | Path]) -> str:
    """Run a `retune` command, print its cost, return its output; RuntimeError when it fails."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen((RETUNE, *arguments), stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode()
    if process.returncode:
        raise RuntimeError(f"retune {arguments[0]}: {text.strip()}")
    spent = usage.ru_utime + usage.ru_stime
    wall, peak = time.perf_counter() - start, usage.ru_maxrss / 1024
    print(f"{arguments[0]}: {spent:.0f} s of processor, {wall:.0f} s, {peak:.0f} MiB", flush=True)
    return text


def measure(kernel: Path, tuned: Path, cpu: str) -> bool:
    """Go there and back; whether the original came out."""
    print(spend(("patch", kernel, "-o", tuned, "--cpu", cpu)))
    print(spend(("verify", kernel, tuned)))
    with tempfile.TemporaryDirectory() as folder:
        back = Path(folder) / "back"
        spend(("revert", tuned, "-o", back))
        same = back.read_bytes() == kernel.read_bytes()
    print("reverted: the same" if same else "reverted: NOT the same")
    return same


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--keep", type=Path, help="where the patched kernel stays")
    options = parser.parse_args()
    try:
        kernel = find("alpha-vmlinux")
        with tempfile.TemporaryDirectory() as folder:
            tuned = options.keep or Path(folder) / "tuned"
            return 0 if measure(kernel, tuned, options.cpu) else 1
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
