"""What a region does beside writing registers: accesses and other events, and their order.

An event is a term of its function, its condition, the values it is given and the earlier events
that it must not change places with.  So two runs have equal events if and only if one is got from
the other by exchanging neighbours that may be exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.core.assumptions import EVERY, LOADS
from rewriter.core.code.transfer import Order, Transfer
from rewriter.verify.regions.terms import Term, Terms

_WHATEVER = Order.CHECKED, Order.STACK  # kept behind whatever the addresses are
# What an event of an order is kept behind, beside fences, if the two may overlap.
_BEHIND = {
    Order.COUNTED: (),
    Order.LOAD: (Order.STORE, Order.KEPT, Order.STACK),
    Order.STORE: (Order.LOAD, Order.STORE, Order.CHECKED, Order.STACK),
    Order.KEPT: (Order.LOAD, Order.STORE, Order.KEPT, Order.CHECKED, Order.STACK),
    Order.CHECKED: (Order.STORE, Order.CHECKED, Order.STACK),
    Order.STACK: (Order.LOAD, Order.STORE, Order.CHECKED, Order.STACK),
}


@dataclass(slots=True)
class Event:
    """An event of a run; `at` is the slot's address, `base` and `offset` the access's.

    Nobody changes one that has its term.
    """

    term: Term
    at: int
    name: str
    order: Order
    guard: Term
    base: Term | None
    offset: int
    size: int
    period: int


def _apart(a: Event, b: Event, ones: int) -> bool:
    """Whether two accesses are to different bytes: same base, and offsets that do not overlap.

    Addresses are numbers up to `ones`, and go on at zero.
    """
    if a.base != b.base or not a.size or not b.size:
        return False
    ahead, behind = (b.offset - a.offset) & ones, (a.offset - b.offset) & ones
    if ahead < a.size or behind < b.size:
        return False
    if not (a.period and b.period):
        return True
    return ahead % a.period >= a.size and behind % a.period >= b.size


class Events:
    """The events of a run, in its order; `assume` says whether a load may come earlier."""

    def __init__(self, terms: Terms, assume: frozenset[str] = EVERY) -> None:
        self.terms = terms
        self._is_each_in_order = LOADS not in assume
        self.all: list[Event] = []
        self._recent: list[Event] = []  # since the last fence, which is the first of them
        self.fence = terms.term("no fence")  # the last one that what is watched stays behind

    def add(self, at: int, transfer: Transfer, guard: Term, values: Sequence[Term]) -> Term:
        """Adds an event that happens if `guard` is true; its term."""
        base, offset = self.terms.offset(values[0]) if transfer.size else (None, 0)
        offset += transfer.displacement
        event = Event(
            -1,
            at,
            transfer.name,
            transfer.order,
            guard,
            base,
            offset,
            transfer.size,
            transfer.period,
        )
        behind = sorted([other.term for other in self._recent if self._is_behind(event, other)])
        term = self.terms.term("event", transfer.function, guard, len(values), *values, *behind)
        event.term = term
        if transfer.order.is_fence:
            self._recent.clear()
            if transfer.order is not Order.SWITCH:
                self.fence = term
        self._recent.append(event)
        self.all.append(event)
        return term

    def _is_behind(self, event: Event, other: Event) -> bool:
        if other.order.is_fence or event.order.is_fence:
            return True
        if self._is_each_in_order and Order.COUNTED not in (event.order, other.order):
            return True
        if other.order not in _BEHIND[event.order]:
            return False
        if event.order in _WHATEVER or other.order in _WHATEVER:
            return True
        if event.order is other.order is Order.KEPT:
            return True
        return self.may_meet(event, other)

    def may_meet(self, event: Event, other: Event) -> bool:
        """Whether two accesses may both be made, to the same bytes or with the same bit."""
        is_apart = _apart(event, other, self.terms.ones)
        return not is_apart and not self.terms.exclusive(event.guard, other.guard)
