"""What became of one function, and the way back from it, step by step."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from passes.substitute import Substitution
from rewriter.core.code.program import Function, Refusal
from rewriter.core.edit import Edit, Skip
from rewriter.core.run.portable import Portable
from rewriter.elf.emit import Patch
from rewriter.elf.image import Image

Bytes = tuple[tuple[int, bytes], ...]
"""(File offset, new bytes), where something differs from the original."""


@dataclass(frozen=True, slots=True)
class Stage(Portable):
    """A whole function after some of its passes.

    `last` is the pass that made it from the stage before; "" for all that change instructions
    where they stand.  `crowded` are the ids of the edits that stand in the room it made.  `places`
    are the old and the new address of each instruction, where line tables are to follow.
    """

    last: str
    changed: Bytes
    crowded: frozenset[str] = frozenset()
    places: tuple[tuple[int, int], ...] = ()


_LATER = ("edits", "skips")


@dataclass
class Done:
    """What was done to a function and left alone in it; `stages` lead to what it is."""

    function: Function
    edits: list[Edit] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    refusal: Refusal | None = None
    stages: list[Stage] = field(default_factory=list)
    substitution: Substitution | None = None
    _packed: bytes = b""
    _count: int = 0

    @property
    def count(self) -> int:
        """How many edits there are."""
        return self._count if self._packed else len(self.edits)

    def packed(self) -> Done:
        """The same, with what only a report asks for as bytes, until somebody does."""
        if not self._packed and (self.edits or self.skips):
            self._count = len(self.edits)
            self._packed = pickle.dumps((self.edits, self.skips))
            del self.edits, self.skips
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in _LATER or not self._packed:
            raise AttributeError(name)
        self.edits, self.skips = pickle.loads(self._packed)
        self._packed = b""
        return getattr(self, name)

    @property
    def moved(self) -> bool:
        """Whether its instructions are in other places, or those of another routine."""
        return self.substitution is not None or bool(self.stages and self.stages[-1].last)

    def take_back(self, gone: Collection[Edit], reason: str) -> None:
        """Edits that were made and are left alone after all."""
        self.edits = [edit for edit in self.edits if edit not in gone]
        self.skips += [Skip(e.technique, e.kind, e.routine, e.address, reason) for e in gone]


def changed(image: Image, words: Mapping[int, bytes], patches: Sequence[Patch] = ()) -> Bytes:
    """What differs from the image, in few pieces: new words by address, and patches."""
    found = [(patch.offset, patch.new) for patch in patches]
    found += [(image.offset_of(address), word) for address, word in words.items()]
    runs: list[tuple[int, bytearray]] = []
    for offset, new in sorted(found):
        if image.data[offset : offset + len(new)] == new:
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == offset:
            runs[-1][1].extend(new)
        else:
            runs.append((offset, bytearray(new)))
    return tuple((offset, bytes(run)) for offset, run in runs)
