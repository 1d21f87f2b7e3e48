"""Debug files of the files of a run: what they describe keeps its place, or the file is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rewriter.batch.find import Candidate
from rewriter.batch.policy import IGNORE, REFUSE
from rewriter.core.errors import BadInput
from rewriter.elf import debug_files
from rewriter.elf.debug_identity import link_of


@dataclass(frozen=True)
class DebugFiles:
    """Where debug files are looked for, beside the tree of each file, and what if there is none."""

    roots: tuple[Path, ...] = ()
    missing: str = IGNORE

    @classmethod
    def asked(cls, roots: Sequence[Path], missing: str | None) -> DebugFiles:
        """Who names folders with debug files wants every file to have its own."""
        return cls(tuple(roots), missing or (REFUSE if roots else IGNORE))

    def as_json(self) -> dict[str, Any]:
        """For journals."""
        return {"roots": list(map(str, self.roots)), "missing": self.missing}

    def lines(self, file: Candidate, data: bytes) -> bytes | None:
        """The line table of a file's debug file, None where it has none; BadInput says why not."""
        image = debug_files.bare(data, str(file.path))
        if debug_files.is_debug_file(image):
            raise BadInput(f"{image.name}: is a debug file: there is no code in it")
        inside = PurePosixPath(file.inside[0])
        roots = self.roots
        if not file.named:
            roots = (*roots, file.path.parents[len(inside.parts) - 1])
        found = debug_files.find(image, file.path, roots, str(inside.parent))
        if found is not None:
            return debug_files.read_lines(image, found)
        link = link_of(image)
        if link is not None and self.missing == REFUSE and not debug_files.has_lines(image):
            raise BadInput(
                f"{image.name}: its debug file {link.name} is not there, and would no longer fit",
                hint="name its folder with --debug-root, or ignore it with --debuginfo ignore",
            )
        return None
