"""Real files tuned by this checkout, kept until its sources change."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import targets
from fixtures import inputs
from fixtures.fuzz.counts import random_counts
from fixtures.places import CHECKOUT, cache_dir
from passes import ORDER, lacking
from passes.lib.steps import OwnPass
from passes.substitute import Substitute
from rewriter.analysis.program import analyse
from rewriter.core.target.protocol import Target
from rewriter.elf.image import load

OPTIONS = {"itanium2": ("--passes", "align,prefetch,schedule")}
"""Of grouped code: a routine that another stands for is compared with that byte for byte."""
_SOURCES = ("rewriter", "passes", "targets")
_SEED = 17


def tuned(name: str, cpu: str) -> Path:
    """An input tuned for a CPU; made once for each state of the product's sources."""
    original = inputs.find(name)
    path = cache_dir("mutants", state()) / f"{name}-{cpu}"
    if not path.is_file():
        inputs.write_aside(path, lambda aside: _patch(original, cpu, aside))
    return path


def ordered(name: str, cpu: str, share: float = 0.2) -> Path:
    """An input tuned by a profile of a share of its functions, which nobody counted.

    Blocks change places, also in code that other passes change; no routine takes another's place.
    """
    original = inputs.find(name)
    folder = cache_dir("mutants", state())
    path = folder / f"{name}-{cpu}-ordered-{share}"
    profile = path.with_suffix(".txt")
    if not path.is_file():
        image = load(original)
        target = targets.of(image)
        assert target.sequential is not None
        counts = random_counts(analyse(image, target.sequential), _SEED, share)
        profile.write_text(counts.written(), encoding="ascii")
        passes = [one.name for one in ORDER if _changes_code(one, target, cpu)]
        options = "--passes", ",".join(passes), "--profile", str(profile)
        inputs.write_aside(path, lambda aside: _patch(original, cpu, aside, *options))
    return path


def _changes_code(one: OwnPass, target: Target, cpu: str) -> bool:
    """Whether a pass does anything for a CPU but put routines into the place of others."""
    assert target.sequential is not None
    lacks = lacking(one, target, target.sequential.cpus[cpu])
    return one.name != Substitute.name and one.offered(target) and not lacks


def _patch(original: Path, cpu: str, out: Path, *options: str) -> None:
    command = str(Path(sys.executable).with_name("retune"))
    options = options or OPTIONS.get(cpu, ())
    arguments = ("patch", str(original), "-o", str(out), "--cpu", cpu, *options)
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
