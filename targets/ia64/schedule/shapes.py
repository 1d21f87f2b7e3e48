"""Shapes of bundles: templates without the stop at their end, and all of them as one tree.

In the tree shapes have a place together as far as they are alike from the first slot on, so that
a search fills it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from targets.ia64.isa.bundles import SLOTS, TEMPLATES
from targets.ia64.isa.fields import Unit

FIRST, LAST, SLOT2 = 1, 2, 4
"""Rules of a node, as bits: first or last in its group, only in the last slot of a bundle."""

Step = tuple[Unit, int, bool]
"""A slot: its unit, the rules of which a node may stand there, and whether a stop follows."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A template without the stop at its end."""

    code: int
    steps: tuple[Step, ...]


Branching = tuple[int, int, bool, int, int, tuple["Branching", ...]]
"""A slot of all shapes that are alike up to it, as a plain tuple since millions are taken apart:

- its unit
- the number of its unit and rules among `ALLOWED`
- whether a stop follows
- the units, as bits, of it and of the slots behind it; -1 where a stop stands between
- the code of the template where the slot is the last of one
- the slots that may be next where it is not
"""


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
        for _, _, _, behind, _, _ in then:
            units |= -1 if ends else behind
        yield int(unit), ALLOWED.index((unit, rules)), ends, units, rest[0][1], then


TREE = tuple(_places([(shape.steps, shape.code) for shape in _SHAPES]))


@cache
def without(units: int) -> tuple[Branching, ...]:
    """The tree without the shapes that have one of these units, given as bits."""
    return tuple(_left(TREE, units))


def _left(places: Sequence[Branching], missing: int) -> Iterator[Branching]:
    for unit, allowed, ends, units, code, then in places:
        if not missing >> unit & 1:
            left = tuple(_left(then, missing))
            if left or not then:
                yield unit, allowed, ends, units, code, left


def _all_units(places: Sequence[Branching]) -> Iterator[int]:
    for _, _, _, units, _, then in places:
        yield units
        yield from _all_units(then)


UNITS = tuple(dict.fromkeys(_all_units(TREE)))
"""The sets of units that places of the tree have, as bits."""
STOP = 1  # the bit of a template's code that says that it ends with a stop
