"""Bundles for instruction groups whose text says no more than where each group ends.

The order of the instructions stays.  Among all ways to choose templates and nops the one is taken
that issues in the fewest cycles, two bundles in each, and then the one with the fewest bundles.
Ports of the I unit go to slots in order, so nothing else should stand in an I slot before an
instruction of the group that can go nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from targets.ia64.isa.bundles import SLOTS, TEMPLATES, Template
from targets.ia64.isa.fields import Unit

_ISSUE = 2  # bundles that issue in one cycle
_SPLITS = ("MBB", "BBB")  # templates behind which Itanium 2 splits issue
_NOPS = next(template for template in TEMPLATES.values() if template.name == "MFB")
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
    """The cheapest bundles from an item on.

    `cost` is half cycles, splits, bundles, then nops that take a port of the I unit.
    """

    cost: tuple[int, int, int, int]
    first: Filled | None = None
    rest: _Plan | None = None


def units_of(unit: str) -> tuple[Unit, ...]:
    """The slots that take an instruction of a table's unit."""
    return _ANY if unit == "A" else (Unit[unit],)


_Plans = dict[tuple[int, int, int], _Plan]
"""By the next item, by how many bundles its group already reaches into, and by how many bundles
are to come, modulo the alignment behind them."""


def packed(items: Sequence[Item], multiple: int = 1, bundles: int = 0) -> list[Filled]:
    """Bundles for straight code: a multiple of `multiple` and `bundles` more.

    ValueError where there are none.
    """
    plans: _Plans = {}
    for reached, rest in product(range(_REACH), range(multiple)):
        cost = 2 * -(-reached // _ISSUE) + rest, 0, rest, 0
        plans[len(items), reached, rest] = _Plan(cost, *_nops(rest))
    for start in reversed(range(len(items))):
        choices = list(_choices(items, start))
        for reached, rest in product(range(_REACH), range(multiple)):
            plan = _continued(choices, plans, reached, (rest - 1) % multiple)
            if plan is not None:
                plans[start, reached, rest] = plan
    found = plans.get((0, 0, bundles % multiple))
    if found is None:
        raise ValueError("these instructions fit no sequence of bundles")
    made = []
    while found.first is not None and found.rest is not None:
        made.append(found.first)
        found = found.rest
    return made


@dataclass(frozen=True, slots=True)
class _Choice:
    """A bundle that may come next, up to the item `following`, and its own cost.

    So many groups end in it; `is_open` says whether it ends within one.
    """

    filled: Filled
    following: int
    ended: int
    is_open: bool
    halves: int
    splits: int
    ports: int


def _choices(items: Sequence[Item], start: int) -> Iterator[_Choice]:
    """Every bundle that may hold the items from one on."""
    for filled in _fillings(items, start):
        placed = [number for number in filled.items if number is not None]
        yield _Choice(
            filled,
            placed[-1] + 1,
            sum(items[number].stop for number in placed),
            not items[placed[-1]].stop,
            _in_the_way(items, filled),
            int(filled.template.name in _SPLITS),
            _idle_ports(filled),
        )


def _continued(choices: Sequence[_Choice], plans: _Plans, reached: int, rest: int) -> _Plan | None:
    """The best bundle that may come next with the best of what may follow it."""
    best: tuple[tuple[int, int, int, int], _Choice, _Plan] | None = None
    first = 2 * -(-(reached + 1) // _ISSUE)  # half cycles of the group that is open, if it ends
    for one in choices:
        bundles = int(one.is_open) if one.ended else reached + 1
        after = plans.get((one.following, bundles, rest))
        if after is None:
            continue
        halves, splits, many, ports = after.cost
        # Each group but the first that ends here is in this bundle alone.
        halves += one.halves + (first + 2 * (one.ended - 1) if one.ended else 0)
        cost = halves, splits + one.splits, many + 1, ports + one.ports
        if best is None or cost < best[0]:
            best = cost, one, after
    return None if best is None else _Plan(best[0], best[1].filled, best[2])


def _nops(count: int) -> tuple[Filled, _Plan] | tuple[None, None]:
    """So many bundles of nops, as the first one and the rest."""
    if not count:
        return None, None
    return Filled(_NOPS, (None,) * SLOTS), _Plan((0, 0, 0, 0), *_nops(count - 1))


def _idle_ports(filled: Filled) -> int:
    """Nops in I slots."""
    units = zip(filled.template.holders, filled.items, strict=True)
    return sum(unit is Unit.I and number is None for unit, number in units)


def _in_the_way(items: Sequence[Item], filled: Filled) -> int:
    """I slots taken by what needs none, with an instruction behind them that does."""
    following = min(number for number in filled.items if number is not None)
    count = 0
    for unit, number in zip(filled.template.holders, filled.items, strict=True):
        if number is not None:
            following = number + 1
        idle = number is None or (items[number].units == _ANY and not items[number].stop)
        if unit is Unit.I and idle and _needs_i(items, following):
            count += 1
    return count


def _needs_i(items: Sequence[Item], start: int) -> bool:
    """Whether the group that `start` is in has an instruction from there on for I slots only."""
    for item in items[start:]:
        if item.units == (Unit.I,):
            return True
        if item.stop:
            return False
    return False


def _fillings(items: Sequence[Item], start: int) -> Iterator[Filled]:
    """Every bundle that takes at least one instruction."""
    for template in TEMPLATES.values():
        for filled in _filled(items, start, template):
            long_nop = template.is_long and filled[-1] is None
            if not long_nop and any(number is not None for number in filled):
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
