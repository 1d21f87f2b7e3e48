"""Prefetches that new code has and old code has not.

One that cannot fault changes no register and no memory, so it could stand anywhere: what is wanted
here is that it is of use to what the original does and can touch nothing else.  It stands in a loop
of one region, under the condition of an access of the original, not far from it; and not in code
that may see more than memory.  A prefetch of the original may go: nothing depends on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rewriter.core.code.transfer import Order, Provable
from rewriter.verify.regions.events import Event
from rewriter.verify.regions.legality import Fault
from rewriter.verify.regions.run import Asked, Run
from rewriter.verify.regions.terms import Terms

REACH = 1 << 14
"""Bytes from an access of the original within which a line may be asked for."""


def unfounded(target: Provable, terms: Terms, old: Run, new: Run, may_add: bool) -> Iterator[Fault]:
    """What speaks against prefetches of the new run: nothing if the old one has as many."""
    known = Counter((each.guard, each.address) for each in old.asked)
    for each in new.asked:
        key = each.guard, each.address
        known[key] -= 1
        if known[key] >= 0:
            continue
        if not may_add:
            yield Fault(each.at, f"{each.name} is of the new code only, which may see a device")
        elif not _goes_back(target, old):
            yield Fault(each.at, f"{each.name} is of the new code only, which is no loop")
        elif not any(_is_near(terms, each, event) for event in old.events.all):
            yield Fault(each.at, f"{each.name} asks for nothing near what the old code accesses")


def _goes_back(target: Provable, run: Run) -> bool:
    """Whether control may go from a region to its own start."""
    start = target.base(min(run.executed))
    return any(leaving.target == start for leaving in run.leaving)


def _is_near(terms: Terms, asked: Asked, event: Event) -> bool:
    """Whether an event is an access not far from what is asked for, under the same condition."""
    if event.order not in (Order.LOAD, Order.STORE) or event.guard != asked.guard:
        return False
    base, offset = terms.offset(asked.address)
    ahead, behind = (offset - event.offset) & terms.ones, (event.offset - offset) & terms.ones
    return event.base == base and event.base is not None and min(ahead, behind) <= REACH
