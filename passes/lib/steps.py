"""The place of a pass on the road: what its edits do, and which step it becomes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from passes.lib.insert import Inserter
from passes.lib.technique import ExternalPass, Technique
from rewriter.core.target.protocol import Target, Trigger


class Change(Enum):
    """What an edit of a pass does to code."""

    IN_PLACE = "instructions become others where they stand"
    ROOM = "instructions come in, for which there must be room"
    PLACES = "instructions go to other places"
    ROUTINE = "a routine becomes another one"


class Steps(Protocol):
    """The steps of the road of superblocks: a pass joins one by calling its method."""

    def rewrites(self, technique: Technique, triggers: Sequence[Trigger] | None = None) -> None:
        """Instructions become others, inside a superblock.

        It is shown superblocks with one of the triggers; without any, of those that the target
        names for it.
        """
        ...

    def cleans(self, technique: Technique) -> None:
        """What rewrites left before the labels of code that they changed goes."""
        ...

    def inserts(self, inserter: Inserter) -> None:
        """Instructions come in."""
        ...

    def lays_out(self) -> None:
        """Instructions go to other places, and keep their order."""
        ...

    def orders(self) -> None:
        """Blocks go to other places among those of their function, by a profile."""
        ...

    def reorders(self) -> None:
        """Instructions change places, where the layout has put them."""
        ...

    def prefixes(self) -> None:
        """Two instructions become one of two words, where the last order has put them."""
        ...

    def substitutes(self) -> None:
        """Known routines become others; nothing else is done to what becomes one."""
        ...


class Pass(Protocol):
    """One technique, whatever it works on."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    @property
    def change(self) -> Change:
        """What an edit does to code."""
        ...

    def needs(self, target: Target) -> frozenset[str]:
        """Features of which a CPU must have at least one for the pass to do anything."""
        ...

    def prepare(self, steps: Steps) -> None:
        """Joins the step that it is, with all that it asks about the whole file."""
        ...


class OwnPass(metaclass=ABCMeta):
    """One of ours: a target says which features it needs, and whether there is work for it."""

    name: str
    change: Change

    def needs(self, target: Target) -> frozenset[str]:
        """Features of which a CPU must have at least one for the pass to do anything."""
        return target.needs.get(self.name, frozenset())

    @abstractmethod
    def offered(self, target: Target) -> bool:
        """Whether a target offers what the pass works with."""

    @abstractmethod
    def prepare(self, steps: Steps) -> None:
        """Joins the step that it is, with all that it asks about the whole file."""


@dataclass(frozen=True)
class PluggedIn:
    """A pass of another package in its place among ours."""

    external: ExternalPass
    change = Change.IN_PLACE

    @property
    def name(self) -> str:
        """What users call it."""
        return self.external.name

    def needs(self, target: Target) -> frozenset[str]:
        """It brings its own."""
        return self.external.needs

    def prepare(self, steps: Steps) -> None:
        """It rewrites superblocks."""
        steps.rewrites(self.external, self.external.triggers)
