"""Shapes of bundles: templates without the stop at their end, and all of them as one tree.

In the tree shapes have a place together as far as they are alike from the first slot on, so that
a search fills it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from targets.ia64.bundles import SLOTS, TEMPLATES
from targets.ia64.fields import Unit

FIRST, LAST, SLOT2 = 1, 2, 4
"""Rules of a node, as bits: first or last in its group, only in the last slot of a bundle."""

Step = tuple[Unit, int, bool]
"""A slot: its unit, the rules of which a node may stand there, and whether a stop follows."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A template without the stop at its end."""

    code: int
    steps: tuple[Step, ...]


class Branching(NamedTuple):
    """A slot of all shapes that are alike up to it.

    `allowed` numbers its unit and rules among `ALLOWED`; `units` has, as bits, those of it and of
    the slots behind it, and is -1 where a stop stands between.  `code` is the template's where the
    slot is the last of one, and `then` are the slots that may be next where it is not.
    """

    unit: int
    allowed: int
    ends: bool
    units: int
    code: int
    then: tuple[Branching, ...]


def _shapes() -> Iterator[Shape]:
    for template in TEMPLATES.values():
        if SLOTS - 1 not in template.stops:
            units = (Unit.M, Unit.X) if template.is_long else template.units
            steps = tuple(
                (unit, _allowed(n, len(units), template.stops), n in template.stops)
                for n, unit in enumerate(units)
            )
            yield Shape(template.code, steps)


def _allowed(slot: int, count: int, stops: frozenset[int]) -> int:
    """The rules of which a node may stand in a slot, in a group that has nothing yet."""
    first = FIRST if not slot or slot - 1 in stops else 0
    return first | (LAST if slot == count - 1 or slot in stops else 0) | SLOT2 * (slot == count - 1)


# Of several that hold the same, the one with fewer I slots is left more ports.
_SHAPES = tuple(sorted(_shapes(), key=lambda shape: sum(u is Unit.I for u, _, _ in shape.steps)))
SHAPE = {shape.code: shape for shape in _SHAPES}
ALLOWED = tuple(dict.fromkeys((u, rules) for shape in _SHAPES for u, rules, _ in shape.steps))
"""The units of slots, with the rules of which a node may stand there."""


def _places(shapes: Sequence[tuple[tuple[Step, ...], int]]) -> Iterator[Branching]:
    """The first slots of shapes, given by what is left of them and by their codes."""
    for step in dict.fromkeys(steps[0] for steps, _ in shapes):
        rest = [(steps[1:], code) for steps, code in shapes if steps[0] == step]
        unit, rules, ends = step
        then = tuple(_places(rest)) if rest[0][0] else ()
        units = 1 << unit
        for place in then:
            units |= -1 if ends else place.units
        yield Branching(int(unit), ALLOWED.index((unit, rules)), ends, units, rest[0][1], then)


TREE = tuple(_places([(shape.steps, shape.code) for shape in _SHAPES]))


@cache
def without(units: int) -> tuple[Branching, ...]:
    """The tree without the shapes that have one of these units, given as bits."""
    return tuple(_left(TREE, units))


Plain = tuple[int, int, bool, int, int, tuple["Plain", ...]]
"""A `Branching` as a plain tuple: taken apart in half the time, and millions are."""


@cache
def plainly_without(units: int) -> tuple[Plain, ...]:
    """The same tree of plain tuples."""
    return tuple(map(_plain, without(units)))


def _plain(place: Branching) -> Plain:
    unit, allowed, ends, units, code, then = place
    return unit, allowed, ends, units, code, tuple(map(_plain, then))


def _left(places: Sequence[Branching], units: int) -> Iterator[Branching]:
    for place in places:
        if not units >> place.unit & 1:
            then = tuple(_left(place.then, units))
            if then or not place.then:
                yield place._replace(then=then)


def _all_units(places: Sequence[Branching]) -> Iterator[int]:
    for place in places:
        yield place.units
        yield from _all_units(place.then)


UNITS = tuple(dict.fromkeys(_all_units(TREE)))
"""The sets of units that places of the tree have, as bits."""
STOP = 1  # the bit of a template's code that says that it ends with a stop
