"""The group that is being put together: what still fits into it."""

from __future__ import annotations

from rewriter.core.target.dispatched_cpu import Grouping
from rewriter.timing.dispatch.items import Item, Ports
from rewriter.timing.steady import State


class Group:
    """Places taken so far, in program order; a full or ended one takes nothing more."""

    def __init__(self, grouping: Grouping) -> None:
        self._places, self._branches = grouping.places.value, grouping.branches.value
        self._apart = grouping.apart
        self._lanes = grouping.lanes
        self.clear()

    def clear(self) -> None:
        """The next group begins."""
        self._taken = self._controls = 0
        self._ended = False
        self._names: set[str] = set()

    def state(self) -> State:
        """What is in it."""
        return self._taken, self._controls, self._ended, frozenset(self._names)

    def fits(self, item: Item) -> bool:
        """Whether an instruction may be in the group, behind what is there."""
        if item.folded or not self._names:
            return True
        if self._ended or item.alone or item.first:
            return False
        for earlier, later in self._apart:
            if item.name in later and self._names & earlier:
                return False
        if item.control and self._branches:
            return self._controls < self._branches
        return self._taken + item.places <= self._places

    def take(self, item: Item) -> Ports:
        """The instruction is in the group; the ports that it may issue to from its place."""
        if item.folded:
            return ()
        at, lanes = self._taken, self._lanes
        ports = item.ports
        if lanes:
            ports = tuple(p for p in ports if all(at in lanes.get(pipe, (at,)) for pipe in p))
        self._names.add(item.name)
        if item.control and self._branches:
            self._controls += 1
        else:
            self._taken += item.places
        self._ended = item.alone or item.last
        return ports or item.ports
