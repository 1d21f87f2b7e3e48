"""Candidates in which one function has some of its edits: made again from the original.

Where code moved, bytes cannot be taken apart; the road that made the patched file can be gone
again with fewer edits.  That holds only where it still makes what the patched file has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from rewriter.analysis.program import Program
from rewriter.api.choose import Chosen, Wanted, resolve
from rewriter.bisect.units import Changes
from rewriter.core.code.program import Function
from rewriter.core.errors import RetuneError
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image
from rewriter.elf.manifest import Manifest
from rewriter.road.pipeline import Progress, tune


@dataclass(frozen=True)
class Remade:
    """Makes the original with nothing but edits of one function.

    `program` is the original analysed, where that is what its road starts from.
    """

    old: Image
    chosen: Chosen
    function: Function
    progress: Progress
    program: Program | None

    def data(self, ids: Iterable[str]) -> bytes:
        """The file with these edits; without their note."""
        wanted = frozenset(ids)
        if not wanted:
            return self.old.data
        options = replace(
            self.chosen.options, funcs=(re.escape(self.function.name),), only=wanted
        )  # fmt: skip
        target, cpu = self.chosen.target, self.chosen.cpu
        made = tune(self.old, target, cpu, options, self.progress, program=self.program)
        return with_old_identity(self.old, made.data)

    def makes(self, ids: Iterable[str], changes: Changes, unit: int) -> bool:
        """Whether these edits are just the changes of a unit."""
        made = np.frombuffer(self.data(ids), dtype=np.uint8)
        if len(made) != len(changes.old):
            return False
        before, after = (
            np.frombuffer(d, np.uint8)[: len(made)] for d in (changes.old, changes.new)
        )
        offsets = changes.of_unit(unit)
        there = np.flatnonzero(made != before)
        return np.array_equal(there, offsets) and np.array_equal(made[offsets], after[offsets])


def remade(
    old: Image,
    record: Manifest,
    function: Function,
    progress: Progress,
    program: Program | None,
) -> Remade | None:
    """What makes candidates for a manifest; None where it does not say all that is needed."""
    options = record.options
    try:
        wanted = Wanted(
            cpu=record.cpu,
            tune=options["tune"],
            passes=",".join(options["passes"]),
            debug=options["debug"],
            assume=",".join(options["assume"]) or "none",
        )
        chosen = resolve(old, wanted)
    except (KeyError, TypeError, RetuneError):
        return None
    return None if chosen is None else Remade(old, chosen, function, progress, program)
