"""What may be read beyond the calls and returns of a library of bundled code.

Two fixed points over the whole text, so that the callers of a function do not mix (Srivastava and
Wall, Link-time optimization of address calculation, 1994; Goodwin, Interprocedural dataflow
analysis in an executable optimizer, PLDI 1997): what a callee itself may read, with nothing read
behind its return; then what the code behind each call may read behind the callee's return.
Between functions of the file all of it is shown; where other files or pointers come between, the
calling standard says it (`core.target.calls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.analysis.bundled_liveness import NOTHING_KNOWN, Beyond, BundledLiveness, Slots, Ways
from rewriter.core.target.bundling import Code
from rewriter.core.target.calls import CallOrReturn, Calls


def beyond(code: Code, liveness: BundledLiveness, slots: Slots) -> Beyond:
    """By address of the slot of a call or return what may be read beyond it; that of a call is to
    be joined with what may be read behind it."""
    calls = code.calls
    if calls is None:
        return NOTHING_KNOWN
    nodes: dict[int, _Node] = {}
    for function in code.functions:
        routine = code.routine(function)
        if not routine.reason:
            ways = liveness.ways(routine, slots)
            seen = {~to for one in ways.made.values() for to, _ in one.ways if to < 0}
            sites = {at: each for at, each in calls.of(routine).items() if at in seen}
            behind = {at: liveness.target.following(at) for at in sites}
            nodes[function.start] = _Node(function.start, ways, sites, behind)
    return _CallGraph(calls, nodes).beyond()


@dataclass(frozen=True)
class _Node:
    """A function: its ways, its calls and returns by their slots, and where calls come back to."""

    start: int
    ways: Ways
    sites: Mapping[int, CallOrReturn]
    behind: Mapping[int, int]


class _CallGraph:
    """The calls between the functions that are followed."""

    def __init__(self, calls: Calls, nodes: dict[int, _Node]) -> None:
        self.calls, self.nodes = calls, nodes
        self.called = {start: found for start in nodes if (found := self._called(start))}
        self.callers: dict[int, list[int]] = {}
        for start, sites in self.called.items():
            for _, callee in sites:
                self.callers.setdefault(callee, []).append(start)

    def beyond(self) -> Beyond:
        """Both fixed points."""
        used, returned = self._used(), self._unseen()
        waiting = dict.fromkeys(self.called)
        while waiting:
            start, _ = waiting.popitem()
            node = self.nodes[start]
            live = node.ways.live(self._of(node, used, returned[start]))
            for at, callee in self.called[start]:
                read = live.get(node.behind[at], node.ways.everything)
                read &= self.calls.not_returned
                if read & ~returned[callee]:
                    returned[callee] |= read
                    if callee in self.called:
                        waiting[callee] = None
        found: dict[int, int] = {}
        for start, node in self.nodes.items():
            found |= self._of(node, used, returned[start])
        return found

    def _called(self, start: int) -> list[tuple[int, int]]:
        """The slots of a function's calls to others that are followed, and where those start."""
        sites = self.nodes[start].sites.items()
        found = ((at, site.callee) for at, site in sites if site.callee is not None)
        return [(at, callee) for at, callee in found if callee in self.nodes]

    def _used(self) -> dict[int, int]:
        """What each function reads before it sets it, though the standard does not pass it."""
        used = dict.fromkeys(self.nodes, 0)
        waiting = dict.fromkeys(reversed(self.nodes))
        while waiting:
            start, _ = waiting.popitem()
            node = self.nodes[start]
            live = node.ways.live(self._of(node, used, None))
            read = live[start] & self.calls.not_passed
            if read != used[start]:
                used[start] = read
                waiting |= dict.fromkeys(self.callers.get(start, ()))
        return used

    def _unseen(self) -> dict[int, int]:
        """What callers that are not followed may read behind a return against the standard."""
        seen = {at for node in self.nodes.values() for at in node.sites}
        unseen = {to for at, to in self.calls.direct if at not in seen}
        unseen |= self.calls.entered
        every = self.calls.not_returned
        return {start: every if start in unseen else 0 for start in self.nodes}

    def _of(self, node: _Node, used: Mapping[int, int], returned: int | None) -> dict[int, int]:
        """What may be read beyond a function's calls and returns; None if no return counts."""
        found = {}
        for at, site in node.sites.items():
            if site.is_return:
                found[at] = 0 if returned is None else site.reads | returned
            else:
                found[at] = site.reads
                if site.callee is not None:
                    found[at] |= used.get(site.callee, self.calls.not_passed)
        return found
