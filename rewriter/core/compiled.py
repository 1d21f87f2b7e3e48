"""Compiled modules: where they were built of the sources that are here, they are imported.

`rewriter/cli/install/compiling.py` builds them into `rewriter/compiled/`, with the digest of each
module's source.  One of them knows how objects of the others lie in memory, so that all are taken
or none: where any source has another digest, and where RETUNE_PURE is set, Python runs the sources.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "rewriter" / "compiled"
LIST = "sources.json"
"""In that folder: for which Python, and by module the digest of the source that was compiled."""

PURE = "RETUNE_PURE"

_OURS = ("rewriter", "passes", "targets")
_SHARED = "__mypyc"  # ends the name of a module that has the code of several


def python() -> str:
    """What a compiled module's file ends in: the Python that can load it."""
    return EXTENSION_SUFFIXES[0]


def source(module: str, root: Path = ROOT) -> Path:
    """Where a module's source is."""
    return root.joinpath(*module.split(".")).with_suffix(".py")


def digest(module: str, root: Path = ROOT) -> str:
    """Of a module's source."""
    from hashlib import sha256

    return sha256(source(module, root).read_bytes()).hexdigest()


class Compiled:
    """Finds compiled modules, as a finder of `sys.meta_path`."""

    def __init__(self, folder: Path = FOLDER, root: Path = ROOT) -> None:
        self.folder, self.root = folder, root

    @property
    def modules(self) -> Mapping[str, str]:
        """The compiled modules that are taken, each with the digest of its source."""
        return self._taken[0]

    @property
    def state(self) -> str:
        """How many they are, or why there are none."""
        return self._taken[1] or f"{len(self.modules)} compiled"

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A compiled module, or what all of them share."""
        shared = name.endswith(_SHARED)
        if not shared and (name.partition(".")[0] not in _OURS or name not in self.modules):
            return None
        file = self.folder.joinpath(*name.split("."))
        file = file.with_name(file.name + python())
        if shared and not (self.modules and file.is_file()):
            return None
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, str(file)))

    @cached_property
    def _taken(self) -> tuple[Mapping[str, str], str]:
        """The modules, and why there are none."""
        if os.environ.get(PURE):
            return {}, f"interpreted, as {PURE} says"
        if not (self.folder / LIST).is_file():
            return {}, "interpreted, as they were not compiled"
        import json

        built = json.loads((self.folder / LIST).read_bytes())
        if built["python"] != python():
            return {}, "interpreted, as they were compiled for another Python"
        sources: Mapping[str, str] = built["sources"]
        try:
            changed = any(digest(name, self.root) != was for name, was in sources.items())
        except OSError:
            changed = True
        return ({}, "interpreted, as sources changed since") if changed else (sources, "")


FINDER = Compiled()


def install() -> None:
    """Imports look for compiled modules first."""
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
