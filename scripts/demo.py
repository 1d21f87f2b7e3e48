"""`make demo`: retune the real Alpha libc for an EV67, verify it, run a program with it.

Where the libc's Debian package is not installed, the embedded sample takes its place.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fixtures import programs
from fixtures.inputs import Missing, find
from fixtures.places import CHECKOUT

CPU = "ev67"
SHOWN = "bench-string"


def main() -> int:
    """Exit status of the first step that fails, 0 when all is well."""
    try:
        original = find("alpha-libc")
    except Missing as missing:
        print(f"demo: {missing}")
        print("demo: using the embedded sample fixtures/sample/libsample.so instead", flush=True)
        original = find("alpha-sample")
    build = CHECKOUT / "build"
    build.mkdir(exist_ok=True)
    patched = build / original.name
    code = _retune("patch", str(original), "-o", str(patched), "--cpu", CPU)
    return code or shown(original, patched)


def shown(original: Path, patched: Path) -> int:
    """What a retuned file is worth: verified, and a program run on it; the exit status."""
    code = _retune("verify", str(original), str(patched))
    if code or original == find("alpha-sample"):
        return code
    return _run_program(original, patched)


def _retune(*arguments: str) -> int:
    print("$ retune", *arguments, flush=True)
    return subprocess.run((Path(sys.executable).with_name("retune"), *arguments)).returncode


def _run_program(original: Path, patched: Path) -> int:
    print(f"$ qemu-alpha -cpu {CPU} {SHOWN}: {programs.PROGRAMS[SHOWN].what}", flush=True)
    try:
        before = programs.run(SHOWN, original, CPU)
        after = programs.run(SHOWN, patched, CPU)
    except Missing as missing:
        print(f"demo: not run: {missing}")
        return 0
    if before != after:
        print(f"demo: output differs: {before} against {after}")
        return 1
    print(after.stdout.decode().strip(), "(same output as with the original libc)")
    try:
        old = programs.count_instructions(SHOWN, original, CPU)
        new = programs.count_instructions(SHOWN, patched, CPU)
    except Missing as missing:
        print(f"demo: instructions not counted: {missing}")
        return 0
    print(f"executed instructions: {old:,} before, {new:,} after ({new / old:.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
