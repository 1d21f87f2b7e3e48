"""Loads one by one: none of the new code reads again what the old code read once.

Memory may change between two loads, and what was checked is then not what is used; and a value in
two parts may be half of what was there before.  Where a load may not go or come earlier either, all
accesses are compared, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rewriter.core.code.dataflow import Run
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Sequential, whole
from rewriter.core.terms.term import Term
from rewriter.verify.walk.devices import based
from rewriter.verify.walk.equivalence import Comparison, Different, agreeing
from rewriter.verify.walk.stack import address_of, operands_of

Side = tuple[Run, Sequence[Insn | None]]
"""A run, with the instructions that it is of; None is one that nobody asks for."""

ONCE_MORE = "memory is read once more than it was, or a value in parts"


class Portion(NamedTuple):
    """What an access touches: bytes from a value and a distance on; `cell` is the aligned cell of
    memory that they are in, where no access crosses one."""

    root: Term
    distance: int
    size: int
    cell: Term | None
    is_whole: bool

    def covers(self, other: Portion) -> bool:
        """Whether all that another access touches is a part of this."""
        if self.is_whole and other.cell is self.cell:
            return True
        return self.root is other.root and 0 <= self._before(other) <= self.size - other.size

    def meets(self, other: Portion) -> bool:
        """Whether two accesses from one value have a byte in common."""
        return self.root is other.root and -other.size < self._before(other) < self.size

    def _before(self, other: Portion) -> int:
        """How far this begins before another one, from one value; addresses go around."""
        half = 1 << self.root.store.width - 1
        return (other.distance - self.distance + half) % (2 * half) - half


@dataclass
class Single:
    """Finds for each load of a new run another load of the old one, which read all of it.

    A part of it may be read alone, but no other part of it besides, and not where the old run had
    stored another part just before: both in registers would be of two moments.  Such a load of the
    old run, of which a part was stored, does not go either, or what was read before would be put
    together with what was stored.  Nobody else stores on the stack, and whoever reads a cell
    whatever the low bits of an address asks for parts.
    """

    comparison: Comparison
    target: Sequential
    old: Side
    new: Side
    stack: Term
    _loaded: list[Portion] = field(default_factory=list)
    _stored: list[Portion] = field(default_factory=list)
    _torn: list[tuple[Portion, int]] = field(default_factory=list)
    _again: list[tuple[Portion, int]] = field(default_factory=list)
    _taken: dict[int, Portion] = field(default_factory=dict)
    _done: int = 0
    _met: int = 0
    _written: int = 0

    def reach(self, slot: int, other: int) -> None:
        """Goes on to an exit of the old run and the same of the new; raises Different."""
        old, new = range(self._done, slot + 1), range(self._met, other + 1)
        self._done, self._met = old.stop, new.stop
        for is_store, access in self._accesses(self.old, old):
            (self._stored if is_store else self._loaded).append(access)
            if not is_store and self._is_torn(access):
                self._torn.append((access, len(self._stored)))
        for is_store, access in self._accesses(self.new, new):
            self._written += is_store
            if not is_store:
                load = self._spelled(access)
                if not self._take(load, set()):
                    raise Different(ONCE_MORE)
                self._again.append((load, self._written))
        if any(self._is_divided(old, self._taken[number]) for number, old in self._narrowed()):
            raise Different(ONCE_MORE)

    def finish(self) -> None:
        """At the end of both runs: what was stored in parts is still read whole; raises Different.

        By a load of its own, behind as many stores as before.
        """
        left = list(self._again)
        for old, stored in self._torn:
            found = (one for one in left if one[1] >= stored and self._holds(old, one[0]))
            own = next(found, None)
            if own is None:
                raise Different("memory of which a part was stored is read no more")
            left.remove(own)

    def _is_torn(self, load: Portion) -> bool:
        """Whether the last old store that a load meets, off the stack, is of a part of it."""
        met = (store for store in reversed(self._stored) if store.meets(load))
        last = next(met, load)
        return not last.covers(load) and load.root not in (self.stack, load.cell)

    def _take(self, load: Portion, asked: set[int]) -> bool:
        """Whether an old load is left for a new one, if others of them change for it."""
        loaded = enumerate(self._loaded)
        for number, old in sorted(loaded, key=lambda item: self._narrows(item[1], load)):
            if number not in asked and self._holds(old, load):
                asked.add(number)
                if number not in self._taken or self._take(self._taken[number], asked):
                    self._taken[number] = load
                    return True
        return False

    def _narrowed(self) -> Iterator[tuple[int, Portion]]:
        """The old loads, by number, of which new ones read a part that may change meanwhile."""
        for number, load in self._taken.items():
            if self._narrows(self._loaded[number], load):
                yield number, self._loaded[number]

    def _narrows(self, old: Portion, new: Portion) -> bool:
        """Whether a new load reads but a part of an old one, which may change meanwhile."""
        return new.size != old.size and old.root not in (self.stack, old.cell)

    def _is_divided(self, old: Portion, part: Portion) -> bool:
        """Whether the new run reads another part of an old load besides a part of it, but for what
        the old run read as a part of a cell."""
        there = (part.distance, part.size)
        return any(
            old.meets(load) and not load.covers(old) and (load.distance, load.size) != there
            for number, load in self._taken.items()
            if self._loaded[number].root != self._loaded[number].cell
        )

    def _holds(self, old: Portion, new: Portion) -> bool:
        """Whether all that a new load reads is what an old one read, at once."""
        if not old.covers(new):
            return False
        if old.size == new.size or old.root in (self.stack, old.cell):
            return True
        return all(store.meets(new) for store in self._stored if store.meets(old))

    def _accesses(self, side: Side, slots: range) -> Iterator[tuple[bool, Portion]]:
        """The stores of a run in order, and the loads that give a value."""
        (run, insns), table = side, self.target.table
        for slot in slots:
            insn = insns[slot]
            size = 0 if insn is None else table.accessed(insn)
            if insn is None or not size:
                continue
            effects = table.effects(insn.op)
            if effects.stores or (effects.loads and table.defs(insn)):
                held, displacement = based(run, slot, insn, self.target)
                address = self.comparison.through(held + run.state.terms.const(displacement))
                yield effects.stores, self._place(address, insn, size)

    def _place(self, address: Term, insn: Insn, size: int) -> Portion:
        terms, table = self.comparison.terms, self.target.table
        if not table.aligned:
            return Portion(*terms.linear(address), size, None, is_whole=False)
        cell = terms.and_(address, terms.const(-table.cell))
        if whole(insn, self.target):
            return Portion(cell, 0, size, cell, is_whole=True)
        return Portion(*terms.linear(address), size, cell, is_whole=size == table.cell)

    def _spelled(self, load: Portion) -> Portion:
        """A new load as the old one that begins at the same place spells it, if it has to be shown
        that it does."""
        if any(old.covers(load) for old in self._loaded):
            return load
        terms, loaded = self.comparison.terms, self._loaded
        starts = {terms.add(old.root, terms.const(old.distance)): old for old in loaded}
        start = terms.add(load.root, terms.const(load.distance))
        for likely in agreeing(starts, self.comparison)(0, start):
            if self.comparison.suggest(likely, start):
                return starts[likely]._replace(size=load.size)
        return load


def same_accesses(
    comparison: Comparison,
    target: Sequential,
    old: tuple[Run, Sequence[Insn]],
    new: tuple[Run, Sequence[Insn]],
) -> None:
    """That both runs load and store at the same places, in the same order; raises Different."""
    before, after = (_accesses(run, insns, target) for run, insns in (old, new))
    if [stores for stores, _ in before] != [stores for stores, _ in after]:
        raise Different("a load or store went or came, which --assume does not allow")
    for (_, places), (_, others) in zip(before, after, strict=True):
        comparison.same_places(places, others)


def _accesses(
    run: Run, insns: Sequence[Insn], target: Sequential
) -> list[tuple[bool, tuple[Term, ...]]]:
    """Whether each access stores, and what it touches where its base is no constant."""
    found, state, table = [], run.state, target.table
    for slot, insn in enumerate(insns):
        if table.accesses(insn):
            operands = operands_of(run, slot, insn, target)
            address = address_of(operands, insn, run.addresses[slot], target, state.terms)
            places = () if address is None else state.places(address, table.accessed(insn))
            found.append((table.effects(insn.op).stores, places))
    return found
