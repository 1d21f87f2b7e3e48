"""Rewrites, evidence and edits: what a pass proposes, why it is right, what is written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from rewriter.core.isa.instruction import Insn
from rewriter.core.run.portable import Portable


class Grade(Enum):
    """How strong the evidence is; never one word for all."""

    PROVED = "PROVED"
    BOUNDED = "BOUNDED"
    TESTED = "TESTED"
    REFUTED = "REFUTED"
    TIMEOUT = "TIMEOUT"
    NO_SPEC = "NO-SPEC"


@dataclass(frozen=True, slots=True)
class Evidence(Portable):
    """What was shown.

    `preconditions` are assumed, named in the manual's terms; `patterns` are the keys of the
    normalised obligations that a prover discharged; `cases` counts trials or iterations.
    """

    grade: Grade
    preconditions: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    cases: int = 0
    detail: str = ""

    def __str__(self) -> str:
        cases = f"({self.cases})" if self.grade in (Grade.BOUNDED, Grade.TESTED) else ""
        given = f" given {', '.join(self.preconditions)}" if self.preconditions else ""
        return f"{self.grade.value}{cases}{given}"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A proposal for one block: slot number to its new instruction, or None for nothing there.

    `site` is the slot that names it; `kind` says which idiom; `feeders` are slots that may be
    dropped if nothing reads their results any more; `aligned` are slots whose access the idiom
    shows to be naturally aligned; `conditional` says that it may be right only under what is known
    where control comes to it.
    """

    site: int
    kind: str
    changes: tuple[tuple[int, Insn | None], ...]
    feeders: frozenset[int] = frozenset()
    aligned: frozenset[int] = frozenset()
    conditional: bool = False

    @property
    def result(self) -> int:
        """The slot whose new instruction gives what `site` gave; itself where none is left."""
        return max((slot for slot, insn in self.changes if insn is not None), default=self.site)


@dataclass(frozen=True, slots=True)
class Edit(Portable):
    """An accepted rewrite.

    `id` is stable: pass, routine and the offset of its site in the original.  `gain` counts
    instructions fewer in the routine: those that do something, or for a new layout the nops
    that control passes through.  (Where a routine keeps its layout a nop takes each place.)
    `cycles` are modelled cycles fewer, each time that the site runs; None where nothing was timed.
    """

    id: str
    technique: str
    kind: str
    routine: str
    address: int
    old: str
    new: str
    evidence: Evidence
    gain: int
    cycles: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Skip(Portable):
    """A site that was found and left alone, with the reason."""

    technique: str
    kind: str
    routine: str
    address: int
    reason: str
