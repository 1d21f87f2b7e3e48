"""Straight regions of code, and what the proof knows of each of their instructions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.transfer import Provable, Transfer


@dataclass(frozen=True, slots=True)
class Straight:
    """Straight code: whole bundles, entered at the first slot only.

    `before` are the slots that share the first group with it, `after` those that share the last.
    If only nops share the first they are `idle` instead: they matter to what must be the first of
    its group, and to nothing else.
    `seen` are the addresses of slots before which every register may be read, because something
    outside (an exception table) names them.
    """

    slots: tuple[Slot, ...]
    before: tuple[Slot, ...] = ()
    after: tuple[Slot, ...] = ()
    seen: frozenset[int] = frozenset()
    idle: tuple[Slot, ...] = ()


class Step(NamedTuple):
    """A slot and what its instruction is."""

    slot: Slot
    transfer: Transfer


Group = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A region ready to run: its groups, and those slots outside that share one with it."""

    region: Straight
    groups: tuple[Group, ...]
    before: Group
    after: Group

    @property
    def whole_groups(self) -> list[Group]:
        """The groups, the first and the last with their slots outside of the region."""
        whole = list(self.groups)
        whole[0] = self.before + whole[0]
        if not whole[-1][-1].slot.stop:
            whole[-1] += self.after
        return whole


class Reader:
    """Makes regions ready."""

    def __init__(self, target: Provable) -> None:
        self._transfer = target.transfer

    def read(self, region: Straight) -> Code:
        """The region with what its instructions are."""
        return Code(
            region,
            tuple(map(self._steps, groups(region.slots))),
            self._steps(region.before),
            self._steps(region.after),
        )

    def _steps(self, slots: Iterable[Slot]) -> Group:
        return tuple(Step(slot, self._transfer(slot.insn)) for slot in slots)
