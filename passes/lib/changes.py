"""What techniques made of a superblock, and what they left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from passes.lib.technique import Site
from rewriter.core.code.dataflow import Facts
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Evidence, Rewrite
from rewriter.core.isa.instruction import Insn


@dataclass(frozen=True)
class Accepted:
    """A rewrite that was proved; `before` and `after` are the slots."""

    technique: str
    rewrite: Rewrite
    evidence: Evidence
    before: tuple[Insn | None, ...]
    after: tuple[Insn | None, ...]

    @property
    def gain(self) -> int:
        """How many instructions fewer the superblock has."""
        return count(self.before) - count(self.after)


@dataclass(frozen=True)
class Refused:
    """A site that was left alone."""

    technique: str
    site: Site
    reason: str


@dataclass
class Rewritten:
    """A superblock's slots after all that was accepted; an empty slot is None.

    `facts` are what was known of registers at the start.  `carried` says, of accesses that had an
    exception entry and went, at which address the access is that has the entry now; None where
    another entry serves that one.
    """

    superblock: Superblock
    slots: tuple[Insn | None, ...]
    facts: Facts = field(default_factory=dict)
    accepted: list[Accepted] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    carried: dict[int, int | None] = field(default_factory=dict)


def count(slots: Sequence[Any]) -> int:
    """How many slots have an instruction."""
    return sum(insn is not None for insn in slots)
