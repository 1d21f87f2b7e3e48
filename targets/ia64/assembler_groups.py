"""Bundles for instruction groups whose text says no more than where each group ends.

The order of the instructions stays.  Among all ways to choose templates and nops the one is taken
that issues in the fewest cycles, two bundles in each, and then the one with the fewest bundles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from targets.ia64.bundles import TEMPLATES, Template
from targets.ia64.fields import Unit

_ISSUE = 2  # bundles that issue in one cycle
_SPLITS = ("MBB", "BBB")  # templates behind which Itanium 2 splits issue
_REACH = 9  # no group reaches into so many bundles
_ANY = (Unit.M, Unit.I)


@dataclass(frozen=True, slots=True)
class Item:
    """What the packing needs to know of an instruction: the units of slots that take it."""

    units: tuple[Unit, ...]
    stop: bool
    last: bool = False  # stands in its bundle's last slot


@dataclass(frozen=True, slots=True)
class Filled:
    """A bundle: its template, and for each instruction of it the number of the item, or None."""

    template: Template
    items: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The cheapest bundles from an item on; `cost` is cycles, splits, then bundles."""

    cost: tuple[int, int, int]
    first: Filled | None = None
    rest: _Plan | None = None


def units_of(unit: str) -> tuple[Unit, ...]:
    """The slots that take an instruction of a table's unit."""
    return _ANY if unit == "A" else (Unit[unit],)


def packed(items: Sequence[Item]) -> Iterator[Filled]:
    """Bundles for straight code; ValueError when an instruction fits none."""
    # Plans by the next item and by how many bundles its group already reaches into.
    plans = {(len(items), n): _Plan((-(-n // _ISSUE), 0, 0)) for n in range(_REACH)}
    for start in reversed(range(len(items))):
        found = list(_fillings(items, start))
        for reached in range(_REACH):
            following = list(_continued(items, found, reached, plans))
            if following:
                plans[start, reached] = min(following, key=lambda plan: plan.cost)
    plan = plans.get((0, 0))
    if plan is None:
        raise ValueError("these instructions fit no sequence of bundles")
    while plan.first is not None and plan.rest is not None:
        yield plan.first
        plan = plan.rest


def _continued(
    items: Sequence[Item],
    fillings: Sequence[Filled],
    reached: int,
    plans: dict[tuple[int, int], _Plan],
) -> Iterator[_Plan]:
    """Each bundle that may come next, with the best of what may follow it."""
    for filled in fillings:
        placed = [number for number in filled.items if number is not None]
        cycles, bundles = 0, reached + 1
        for number in placed:
            if items[number].stop:
                cycles += -(-bundles // _ISSUE)
                bundles = 0 if number == placed[-1] else 1
        rest = plans.get((placed[-1] + 1, bundles))
        if rest is not None:
            split = filled.template.name in _SPLITS
            cost = cycles + rest.cost[0], split + rest.cost[1], 1 + rest.cost[2]
            yield _Plan(cost, filled, rest)


def _fillings(items: Sequence[Item], start: int) -> Iterator[Filled]:
    """Every bundle that takes at least one instruction."""
    for template in TEMPLATES.values():
        for filled in _filled(items, start, template):
            if any(number is not None for number in filled):
                yield Filled(template, filled)


def _filled(
    items: Sequence[Item], start: int, template: Template
) -> Iterator[tuple[int | None, ...]]:
    units = template.holders

    def fill(slot: int, number: int, stopped: bool) -> Iterator[tuple[int | None, ...]]:
        """Fills from `slot` on; `stopped` says that a group must not go on, or has not begun."""
        if slot == len(units):
            if number == start or not items[number - 1].stop or stopped:
                yield ()
            return
        end = template.slot_of(slot)
        for choice in (number, None):
            after = number if choice is None else number + 1
            if choice is not None and not _fits(items, number, start, stopped, units, slot):
                continue
            closed = stopped if choice is None else False
            if end in template.stops:
                if after == start or not items[after - 1].stop or closed:
                    continue
                closed = True
            for rest in fill(slot + 1, after, closed):
                yield (choice, *rest)

    yield from fill(0, start, True)


def _fits(
    items: Sequence[Item],
    number: int,
    start: int,
    stopped: bool,
    units: tuple[Unit, ...],
    slot: int,
) -> bool:
    if number == len(items) or units[slot] not in items[number].units:
        return False
    if items[number].last and slot != len(units) - 1:
        return False
    return number == start or not items[number - 1].stop or stopped
