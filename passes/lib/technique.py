"""What a pass is: it looks at one block and proposes rewrites of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rewriter.core.code.dataflow import Trace, registers_of
from rewriter.core.code.extensions import lacking
from rewriter.core.edit import Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential, Trigger

UNRELATED = "address and position are not related in the block"
"""A reason that knowing more of the registers at the start may remove."""

LOADED_BEFORE = "what is kept of the cell was not loaded in the block"
"""Another such reason."""


@dataclass(frozen=True)
class Site:
    """A place where a pass has something to propose: the best proposal first.

    `slot` is where it is in the block; `reason` says why, when there is no proposal at all or
    what speaks against all of them.
    """

    slot: int
    kind: str
    proposals: tuple[Rewrite, ...]
    reason: str = ""


@runtime_checkable
class Technique(Protocol):
    """A pass over blocks."""

    name: str

    def sites(self, trace: Trace, target: Sequential, cpu: Cpu) -> Iterator[Site]:
        """The sites of a block, in slot order."""
        ...


@runtime_checkable
class ExternalPass(Technique, Protocol):
    """A pass of another package.

    No target knows it, so it brings its `triggers`: a block is shown to it that has one of them;
    and `needs`, features of which the CPU must have at least one for the pass to do anything.
    """

    needs: frozenset[str]
    triggers: tuple[Trigger, ...]


def usable(cpu: Cpu, insns: Sequence[Any]) -> bool:
    """Whether the CPU has every instruction of a proposal."""
    return not lacking(insns, cpu.features)


def idle(insn: Insn | None, target: Sequential) -> bool:
    """Whether a proposed instruction moves a register to itself: the value is there already."""
    if insn is None:
        return False
    written = registers_of(target.table.defs(insn))
    return len(written) == 1 and insn == target.spelling.move(written[0], written[0])
