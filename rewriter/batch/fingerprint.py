"""Which retune this is: two with the same fingerprint give the same bytes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import passes
import rewriter
import targets
from rewriter.core.plugins import CPUS, PASSES, offered

_LIBRARIES = ("lief", "numpy", "ortools", "z3-solver")
"""What decides with us: another version may prove or schedule otherwise."""

_SUFFIXES = frozenset({".py", ".s", ".json", ".txt"})
"""Of code, routines, signatures, and profiles of known files."""


@cache
def fingerprint() -> str:
    """SHA-256, in hexadecimal, of the product's files and the versions of what decides with it.

    Plug-ins are told by their version alone.
    """
    digest = hashlib.sha256(repr(tuple(_versions())).encode())
    for package in (rewriter, passes, targets):
        top = Path(str(package.__file__)).parent
        for path in sorted(p for p in top.rglob("*") if p.suffix in _SUFFIXES):
            name = f"{package.__name__}/{path.relative_to(top).as_posix()}"
            digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _versions() -> Iterator[str]:
    yield ".".join(map(str, sys.version_info[:2]))
    for name in _LIBRARIES:
        yield importlib.metadata.version(name)
    for group in (CPUS, PASSES):
        for entry in offered(group):
            version = entry.dist.version if entry.dist is not None else ""
            yield f"{group} {entry.name} = {entry.value} {version}"
