"""Real files tuned by this checkout, kept until its sources change."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from fixtures import inputs
from fixtures.places import CHECKOUT, cache_dir

OPTIONS = {"itanium2": ("--passes", "align,prefetch,schedule")}
"""Of grouped code: a routine that another stands for is compared with that byte for byte."""
_SOURCES = ("rewriter", "passes", "targets")


def tuned(name: str, cpu: str) -> Path:
    """An input tuned for a CPU; made once for each state of the product's sources."""
    original = inputs.find(name)
    path = cache_dir("mutants", state()) / f"{name}-{cpu}"
    if not path.is_file():
        inputs.write_aside(path, lambda aside: _patch(original, cpu, aside))
    return path


def _patch(original: Path, cpu: str, out: Path) -> None:
    command = str(Path(sys.executable).with_name("retune"))
    arguments = ("patch", str(original), "-o", str(out), "--cpu", cpu, *OPTIONS.get(cpu, ()))
    done = subprocess.run((command, *arguments), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"retune patch {original} ended with {done.returncode}: {done.stderr}")


def state() -> str:
    """A digest of the product's sources."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted((CHECKOUT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
