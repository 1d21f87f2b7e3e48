"""The road, as one readable function: load, identify, lift, propose, prove, place, emit, check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rewriter.core.cpu import Cpu
from rewriter.core.edit import Edit, Skip
from rewriter.core.program import Refusal
from rewriter.elf.emit import Patch

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Options:
    """What a user chooses.

    `passes` are names, in any order; `funcs` and `skip_funcs` are regular expressions that match
    whole function names (all functions when `funcs` is empty); `only` and `skip` are edit ids;
    `max_edits` keeps the first so many edits in address order.
    """

    passes: tuple[str, ...]
    funcs: tuple[str, ...] = ()
    skip_funcs: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    max_edits: int | None = None


@dataclass(frozen=True)
class Tuned:
    """What the road gives: the new bytes (without a manifest) and what was done and left alone.

    `patches` are the changed bytes by file offset; `proofs` counts (asked, solved, by grade).
    """

    data: bytes
    cpu: Cpu
    options: Options
    edits: tuple[Edit, ...]
    skips: tuple[Skip, ...]
    refusals: tuple[Refusal, ...]
    patches: tuple[Patch, ...]
    functions: int
    instructions: int
    proofs: dict[str, int] = field(default_factory=dict)
