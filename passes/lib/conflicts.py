"""Loads of what a narrower store has just written: an out-of-order CPU cannot forward it.

A load whose bytes are all in one older store gets them from the store queue.  One that needs some
of its bytes from there and the others from the cache is replayed until the store is in the cache
(21264 Hardware Reference Manual, 2.11 and 5: replay traps, wrong size).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from passes.lib.changes import Accepted, Refused, Rewritten
from passes.lib.insert import Setting, cycles
from passes.lib.technique import Site
from passes.scheduling.dependence import accesses, bonding
from rewriter.core.addresses import compact
from rewriter.core.code.listing import Listing
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.timing.engines import engine_of

Key = tuple[str, int]
"""A technique's name and the address of a site."""

_SEEN_THROUGH = (Flow.NEXT, Flow.BRANCH)


@dataclass(frozen=True)
class Conflict:
    """Slots of a store and of the load that needs it and more; `distance` is load less store.

    `sure` says that they meet whatever the addresses are, and that the load is aligned as its
    place says; else they meet more often than not.
    """

    store: int
    load: int
    distance: int
    sure: bool


def window_of(cpu: Cpu, size: int) -> int:
    """How many instructions of `size` bytes a replayed load may be behind the store; 0 for none."""
    return 0 if cpu.pipeline is None else engine_of(cpu).replayed_within(size)


class Suspects:
    """Where a whole text may have a store of less than a cell that some load needs more than.

    That is where a wider load follows one before control goes away: an aligned load that is not
    wider needs all that it meets or nothing.
    """

    def __init__(self, listing: Listing, target: Sequential) -> None:
        rows, effects = listing.table.rows, target.table.effects
        loads = [effects(op).loads * effects(op).size for op in rows]
        stores = [narrow(op, target) * effects(op).size for op in rows]
        seen = [*(op.flow in _SEEN_THROUGH for op in rows), False, False]
        ends = np.flatnonzero(~np.array(seen)[listing.rows])
        read, stored = (np.array([*sizes, 0, 0])[listing.rows] for sizes in (loads, stores))
        self._stores = np.flatnonzero(stored)
        end = _following(ends, self._stores, len(listing))
        found = np.full(len(self._stores), len(listing))
        for size in np.unique(stored[self._stores]):
            mine = stored[self._stores] == size
            found[mine] = _following(np.flatnonzero(read > size), self._stores[mine], len(listing))
        may = found < end
        self._narrow = compact(self._stores)
        self._first = compact(self._stores[may])
        self._load = compact(found[may])

    def narrow(self, first: int, last: int) -> bool:
        """Whether any such store is at positions [first, last)."""
        at = bisect_left(self._narrow, first)
        return at < len(self._narrow) and self._narrow[at] < last

    def within(self, first: int, last: int) -> bool:
        """Whether the store and the load may be at positions [first, last)."""
        begin, end = bisect_left(self._first, first), bisect_left(self._first, last)
        return any(load < last for load in self._load[begin:end])


def _following(
    ascending: NDArray[np.int64], positions: NDArray[np.int64], none: int
) -> NDArray[np.int64]:
    """For each position the next among some that ascend."""
    return np.append(ascending, none)[np.searchsorted(ascending, positions, side="right")]


def narrow(op: Op, target: Sequential) -> bool:
    """Whether an instruction stores less than a cell."""
    effects = target.table.effects(op)
    return effects.stores and effects.size < target.table.cell


def conflicts(slots: Sequence[Insn | None], target: Sequential, reach: int) -> Iterator[Conflict]:
    """Loads within `reach` instructions behind such a store, in straight code."""
    kept = [n for n, i in enumerate(slots) if i is not None and not target.is_nop(i)]
    insns = [insn for insn in slots if insn is not None and not target.is_nop(insn)]
    places = accesses(map(bonding(target), insns))
    begin = 0
    for at, insn in enumerate(insns):
        if insn.op.flow not in _SEEN_THROUGH:
            begin = at + 1
        if places[at] is None or not _plain_load(insn, target):
            continue
        for before in range(at - 1, max(begin, at - reach) - 1, -1):
            found = _meet(insns, places, before, at, target)
            if found is None:
                continue
            distance, whole, sure = found
            if not whole:
                yield Conflict(kept[before], kept[at], distance, sure)
            break


def untrapped(
    tuned: Rewritten, again: Callable[[frozenset[Key]], Rewritten], setting: Setting
) -> Rewritten:
    """The superblock without rewrites whose store makes a load behind it be replayed.

    A wide load had an equally wide store whole; where a rewrite makes the store narrow and the
    load stays, the chip replays it.  `again` tunes the superblock without some sites, by technique
    and address.  That is taken if it is faster in the model of the CPU.
    """
    addresses = tuned.superblock.addresses()
    avoided: dict[Key, Refused] = {}
    other = tuned
    while caused := _caused(other, setting):
        for one in caused:
            site = Site(one.rewrite.site, one.rewrite.kind, ())
            key = one.technique, addresses[site.slot]
            avoided[key] = Refused(one.technique, site, "a wider load would be replayed")
        other = again(frozenset(avoided))
    if other is tuned or _cycles(other, setting) >= _cycles(tuned, setting):
        return tuned
    other.refused += avoided.values()
    return other


def _caused(tuned: Rewritten, setting: Setting) -> list[Accepted]:
    """The rewrites that made such a store."""
    target, reach = setting.target, window_of(setting.cpu, tuned.superblock.insns[0].size)
    made = (insn for a in tuned.accepted for _, insn in a.rewrite.changes if insn is not None)
    if not any(target.table.effects(insn.op).stores for insn in made):
        return []
    after = [(c.store, c.load) for c in conflicts(tuned.slots, target, reach)]
    if not after:
        return []
    before = {(c.store, c.load) for c in conflicts(tuned.superblock.insns, target, reach)}
    stores = {store for store, load in after if (store, load) not in before}
    return [a for a in tuned.accepted if stores & {slot for slot, _ in a.rewrite.changes}]


def _cycles(tuned: Rewritten, setting: Setting) -> int:
    return cycles([insn for insn in tuned.slots if insn is not None], setting)


def _plain_load(insn: Insn, target: Sequential) -> bool:
    effects = target.table.effects(insn.op)
    return effects.loads and not effects.events and bool(target.table.defs(insn))


def _meet(
    insns: Sequence[Insn], places: Sequence[tuple[object, int] | None], store: int, load: int,
    target: Sequential,
) -> tuple[int, bool, bool] | None:  # fmt: skip
    """How far a load is from a store that it meets, whether that has all of it, and for sure."""
    there, here = places[store], places[load]
    effects = target.table.effects(insns[store].op)
    if not effects.stores or there is None or here is None or there[0] != here[0]:
        return None
    distance, wide = here[1] - there[1], target.table.effects(insns[load].op).size
    rounds = [insns[n].name in target.spelling.CELL_ACCESSES for n in (store, load)]
    if any(rounds):
        if effects.size == target.table.cell and not rounds[0] and distance < 0:
            return None
        # Both are in one cell surely, or in (cell - distance) of cell cases.
        sure = distance == 0 or (not rounds[0] and 0 <= distance < effects.size)
        if not sure and 2 * abs(distance) >= target.table.cell:
            return None
        return distance, effects.size == target.table.cell, sure
    if distance >= effects.size or -distance >= wide:
        return None
    return distance, distance >= 0 and distance + wide <= effects.size, True
