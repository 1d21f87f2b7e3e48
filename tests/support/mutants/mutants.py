"""Mutants of a file: drawn, verified, and explained where they were accepted."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import targets
from rewriter.analysis.program import analyse
from rewriter.core.code.program import Function
from rewriter.elf import image
from rewriter.elf.manifest import detach
from targets.ia64 import Ia64
from tests.support.mutants import (
    alpha_decide,
    alpha_lines,
    ia64_base,
    ia64_decide,
    ia64_draw,
    plain_base,
    plain_draw,
    plain_edits,
    plain_order,
    ppc_decide,
)
from tests.support.mutants.changes import Change, Outcome


class Base(Protocol):
    """A file that is accepted whole."""

    @property
    def name(self) -> str:
        """The original, or tuned."""
        ...

    def function_at(self, address: int) -> Function | None:
        """The function that an address is in."""
        ...

    def finding(self, change: Change) -> str:
        """Why the verifier refuses the file with a change; nothing where it accepts it."""
        ...


class Draw(Protocol):
    """Draws changes."""

    def change(self, source: random.Random) -> Change:
        """A change at random."""
        ...


class Decider(Protocol):
    """Explains changes."""

    def reason(self, change: Change) -> str:
        """The equivalence that holds; nothing where none is found."""
        ...


@dataclass(frozen=True)
class Mutants:
    """The mutants of one file, from its bases in turn."""

    file: str
    bases: Sequence[tuple[Base, Draw, Decider]]

    def outcome(self, seed: int, number: int) -> Outcome:
        """What becomes of a mutant, which its seed and number name."""
        base, draw, decider = self.bases[number % len(self.bases)]
        change = draw.change(random.Random(f"{seed} {self.file} {number}"))
        function = base.function_at(change.address)
        name = function.name if function is not None else "outside all functions"
        finding = base.finding(change)
        reason = "" if finding else decider.reason(change)
        return Outcome(self.file, base.name, seed, number, change, name, finding, reason)


def of(file: str, original: str, tuned: str = "") -> Mutants:
    """Of a file and, where there is one, of what became of it by tuning."""
    loaded = image.load(original)
    target = targets.of(loaded)
    grown = image.load(tuned) if tuned else None
    if isinstance(target, Ia64):
        return Mutants(file, list(map(_of_ia64, _ia64(loaded, grown))))
    decider = _DECIDERS[target.name]
    bases = [(base, plain_draw.PlainDraw(base), decider(base)) for base in _plain(loaded, grown)]
    return Mutants(file, bases)


def at_edits(file: str, original: str, tuned: str, passes: Sequence[str]) -> Mutants:
    """Of a tuned file, where edits of some passes are and only there, for each of them alike."""
    grown = image.load(tuned)
    base = _plain(image.load(original), grown)[1]
    made, bases = detach(grown.data)[1].edits, list[tuple[Base, Draw, Decider]]()
    decider = _AT_EDITS[base.program.target.name](base)
    for name in passes:
        edits = [edit for edit in made if edit.technique == name]
        if edits:
            named = replace(base, name=name)
            bases.append((named, plain_edits.EditDraw(named, edits), decider))
    return Mutants(file, bases)


def of_order(file: str, original: str, ordered: str) -> Mutants:
    """Of a file whose blocks stand in the order of a profile, and of that order alone."""
    shared = _shared(image.load(original))
    base = replace(plain_base.PlainBase.tuned(shared, image.load(ordered)), name="ordered")
    draw, decider = plain_order.OrderDraw(base), _DECIDERS[shared.program.target.name]
    return Mutants(file, [(base, draw, decider(base))])


def _ia64(loaded: image.Image, grown: image.Image | None) -> list[ia64_base.Ia64Base]:
    shared = ia64_base.Shared.of(loaded)
    tuned = [ia64_base.Ia64Base.tuned(shared, grown)] if grown else []
    return [ia64_base.Ia64Base.original(shared), *tuned]


def _of_ia64(base: ia64_base.Ia64Base) -> tuple[Base, Draw, Decider]:
    return base, ia64_draw.Ia64Draw(base), ia64_decide.Decider(base)


def _shared(loaded: image.Image) -> plain_base.Shared:
    target = targets.of(loaded).sequential
    assert target is not None
    return plain_base.Shared.of(analyse(loaded, target))


def _plain(loaded: image.Image, grown: image.Image | None) -> list[plain_base.PlainBase]:
    shared = _shared(loaded)
    tuned = [plain_base.PlainBase.tuned(shared, grown)] if grown else []
    return [plain_base.PlainBase.original(shared), *tuned]


_DECIDERS: Mapping[str, Callable[[plain_base.PlainBase], Decider]] = {
    "alpha": alpha_decide.Decider,
    "ppc": ppc_decide.Decider,
}
"""By a target's name."""
_AT_EDITS = {**_DECIDERS, "alpha": alpha_lines.Decider}
