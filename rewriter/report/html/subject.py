"""What a page is about: a run of the road, or two files and what the manifest says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rewriter.core.code.program import Refusal
from rewriter.core.edit import Edit, Skip
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target
from rewriter.elf.emit import Patch
from rewriter.elf.image import Image
from rewriter.elf.manifest import Manifest, cause, version
from rewriter.identify.profiles import Heat
from rewriter.report.summary.report import Outcome

Left = tuple[str, str]
"""A pass, and why it left sites alone."""


@dataclass(frozen=True)
class Subject:
    """A file before and after, what was done and what was left alone.

    `left` counts sites; `sites` are those that are known one by one, of which a manifest keeps
    none.  `refusals` are the functions that are left alone as a whole.
    """

    before: Image
    after: Image
    target: Target
    cpu: Cpu
    retune: str
    edits: Sequence[Edit]
    left: Mapping[Left, int]
    refusals: Sequence[Refusal] = ()
    patches: Sequence[Patch] = ()
    sites: Sequence[Skip] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    heat: Heat | None = None
    remarks: Sequence[str] = ()

    @property
    def saved(self) -> int:
        """Instructions fewer in the text."""
        return sum(edit.gain for edit in self.edits)

    @property
    def changed_bytes(self) -> int:
        """Bytes of the original that are others."""
        old, new = (
            np.frombuffer(b"".join(sides), np.uint8)
            for sides in ((p.old for p in self.patches), (p.new for p in self.patches))
        )
        return int(np.count_nonzero(old != new))

    @property
    def grades(self) -> Counter[str]:
        """Edits by grade of their evidence."""
        return Counter(edit.evidence.grade.value for edit in self.edits)


def of_run(
    before: Image,
    after: Image,
    target: Target,
    outcome: Outcome,
    options: Mapping[str, Any],
) -> Subject:
    """What the road gave; `after` is the file that it made."""
    causes = Counter((skip.technique, cause(skip.reason)) for skip in outcome.skips)
    return Subject(
        before=before,
        after=after,
        target=target,
        cpu=outcome.cpu,
        retune=version(),
        edits=outcome.edits,
        left=causes,
        refusals=outcome.refusals,
        patches=outcome.patches,
        sites=outcome.skips,
        options=options,
        heat=outcome.heat,
        remarks=outcome.debug,
    )


def of_files(
    before: Image,
    after: Image,
    target: Target,
    cpu: Cpu,
    record: Manifest,
) -> Subject:
    """Two files, and the manifest that leads from the new one to the old one.

    A manifest knows nothing of functions left alone and of profiles.
    """
    left = Counter[Left]()
    for reason, number in record.skips.items():
        technique, _, why = reason.partition(": ")
        left[technique, why] += number
    return Subject(
        before=before,
        after=after,
        target=target,
        cpu=cpu,
        retune=record.retune,
        edits=record.edits,
        left=left,
        patches=record.patches,
        options=record.options,
    )
