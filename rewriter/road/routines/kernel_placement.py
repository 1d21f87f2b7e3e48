"""Known routines of a kernel become tuned ones, in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from passes.substitute import Chosen, Substitution
from passes.substitution.pieces import Space, Spaces
from rewriter.contracts.calls import counted
from rewriter.core.code.program import Function
from rewriter.core.run.guard import guarded
from rewriter.road.outcome import Done
from rewriter.road.routines.function_ends import spaces
from rewriter.road.routines.routine import Routines
from rewriter.road.work import edit_id
from rewriter.verify.routines.replaceable import Named

_FIRST = tuple(counted().executed)
"""What a kernel executes most, counted in a boot: these get room before others."""

_TEXT, _ENDS, _OLD = "behind the text", "at the ends of functions", "in place of routines"


@dataclass
class Scatter:
    """Substitutes in a kernel, in pieces, when all else is done: in the room that this left.

    `found` is the room that there was at first.
    """

    routines: Routines
    found: tuple[Space, ...] | None = None

    def again(self, functions: Sequence[Function]) -> set[Function]:
        """Finds other places for routines whose room went back; the functions that changed."""
        for function in functions:
            self.routines.work.homeless(function)
        self.run(functions)
        placed = [self.routines.work.done[function].substitution for function in functions]
        hosts = [one.scattered.hosts for one in placed if one is not None and one.scattered]
        return {*functions}.union(*hosts)

    def run(self, functions: Sequence[Function]) -> None:
        """Places the routines in functions.

        What fits makes room for others with what it leaves of its own, so after each the first
        that did not fit are tried again.
        """
        work, found = self.routines.work, {function: Done(function) for function in functions}
        waiting = sorted(self._chosen(found), key=_order)
        free = tuple(spaces(work)) if waiting or self.found is None else ()
        self.found = free if self.found is None else self.found
        room = Spaces(list(free))
        reasons: dict[Function, str] = {}
        at = 0
        while at < len(waiting):
            chosen = waiting[at]
            one = guarded("substitute", partial(self._scattered, chosen, room), str)
            if isinstance(one, str):
                reasons[chosen.function], at = one, at + 1
                continue
            found[chosen.function].substitution, at = one, 0
            found[chosen.function].edits, found[chosen.function].skips = work.taken()
            waiting.remove(chosen)
        for chosen in waiting:
            self.routines.left(chosen.function, chosen.named, reasons[chosen.function])
            found[chosen.function].skips += work.taken()[1]
        for done in found.values():
            work.add(done)
        work.room = _account(self.found, work.done.values())

    def _best(self, function: Function, named: Named) -> Chosen:
        """The tuned routine for a named one; raises CannotMove."""
        self.routines.described(function)
        return self.routines.choices.best(named)

    def _scattered(self, chosen: Chosen, room: Spaces) -> Substitution:
        """A routine in pieces, recorded."""
        work = self.routines.work
        one = self.routines.substitute.scatter(work.known, chosen, work.cpu, room)
        self.routines.edited(self._edit(chosen), one)
        return one

    def _chosen(self, found: dict[Function, Done]) -> Iterator[Chosen]:
        """A tuned routine for each function that may have one and that the user wants."""
        work, count = self.routines.work, 0
        for function, done in found.items():
            for named in work.known.within(function):
                edit = edit_id(self.routines.substitute.name, function, named.address)
                if not work.wants(edit, count):
                    continue
                chosen = guarded("substitute", partial(self._best, function, named), str)
                if isinstance(chosen, str):
                    self.routines.left(function, named, chosen)
                    done.skips += work.taken()[1]
                    continue
                yield chosen
                count += 1
                break

    def _edit(self, chosen: Chosen) -> str:
        name = self.routines.substitute.name
        return edit_id(name, chosen.function, chosen.named.address)


def _account(before: Sequence[Space], done: Iterable[Done]) -> dict[str, tuple[int, int]]:
    """Bytes of room that were found and that pieces took, by whose they were."""
    scattered = [
        (one.function, one.scattered)
        for one in (each.substitution for each in done)
        if one is not None and one.scattered is not None
    ]
    places = [range(function.start, function.start + one.given_up) for function, one in scattered]
    found = Counter({_TEXT: 0, _ENDS: 0, _OLD: 0})
    found.update({_OLD: sum(one.given_up for _, one in scattered)})
    for space in before:
        found[_TEXT if space.host is None else _ENDS] += space.size
    used = Counter[str]()
    gap = [space for space in before if space.host is None]
    for _, one in scattered:
        for at, word in one.code.items():
            old = any(at in place for place in places)
            text = any(space.start <= at < space.end for space in gap)
            used[_OLD if old else _TEXT if text else _ENDS] += len(word)
    return {kind: (size, used[kind]) for kind, size in found.items()}


def _order(chosen: Chosen) -> tuple[int, int]:
    """What a kernel runs most, then what needs least more than it has."""
    more = len(chosen.routine.code) - (chosen.function.end - chosen.named.address)
    ranks = (_FIRST.index(name) for name in chosen.named.contracts if name in _FIRST)
    return min(ranks, default=len(_FIRST)), more
