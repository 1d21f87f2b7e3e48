"""Instructions in the order of chains: branches inverted, jumps dropped or added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from passes.align import Code
from passes.ordering.units import Units
from rewriter.core.isa.instruction import AWAY, Flow, Insn
from rewriter.core.target.idioms import Inverting
from rewriter.identify.profiles import Direction


@dataclass(frozen=True)
class Order:
    """What an order changed: how often control went on elsewhere, as counted, `before` and `after`.

    `inverted` is how many branches have the opposite test, `jumps` how many jumps there are more.
    """

    before: int
    after: int
    inverted: int
    jumps: int


@dataclass
class Arranged:
    """A function's instructions in an order of its units.

    `inverted` are the original addresses of branches with the opposite test; `broken` the units
    behind which a jump to the next one stands now with how often it is executed, and `added` how
    many jumps there are more.  `taken` is how often control goes on elsewhere than at the next
    instruction, `jumped` how many jumps are executed more than before.
    """

    units: Units
    known: Inverting
    items: list[tuple[int, Insn]] = field(default_factory=list)
    inverted: set[int] = field(default_factory=set)
    broken: dict[int, int] = field(default_factory=dict)
    added: int = 0
    taken: int = 0
    jumped: int = 0

    @property
    def code(self) -> Code:
        """The code to lay out, with what was counted of inverted branches turned round."""
        code = self.units.code
        turned = {at: _turned(code.branches[at]) for at in self.inverted if at in code.branches}
        return replace(code, items=tuple(self.items), branches={**code.branches, **turned})

    @property
    def told(self) -> Order:
        """What is said of it."""
        return Order(sum(self.units.taken), self.taken, len(self.inverted), self.added)

    def put(self, unit: int, following: int | None) -> None:
        """A unit, with another, or the function's end, behind it."""
        units = self.units
        span = units.spans[unit]
        self.items += (units.code.items[number] for number in span)
        address, insn = self.items[-1]
        taken, falling = units.weights.leaving(span[-1])
        goal = units.goal(unit)
        if insn.op.flow is Flow.JUMP:
            if goal is not None and goal == following and span[-1] not in units.heads:
                self.items.pop()
                self.added -= 1
                self.jumped -= taken
            else:
                self.taken += taken
        elif insn.op.flow in AWAY or following == unit + 1 or unit + 1 == len(units.spans):
            self.taken += taken
        else:
            self._parted(unit, goal, following, (taken, falling), address)

    def _parted(
        self, unit: int, goal: int | None, following: int | None, ways: tuple[int, int], at: int
    ) -> None:
        """A unit with another one behind it than there was."""
        taken, falling = ways
        insn = self.items[-1][1]
        next_place = self.units.place(unit + 1)
        place = insn.target(at) if goal is not None else None
        opposite = self.known.opposite(insn) if place is not None else None
        if opposite is not None and (goal == following or falling > taken):
            self.items[-1] = at, leading(opposite, at, next_place)
            self.inverted.add(at)
            taken, falling, next_place = falling, taken, place or 0
        self.taken += taken
        if opposite is None or goal != following:
            self.items.append((at + 1, leading(self.known.jump(0), at + 1, next_place)))
            self.broken[unit] = falling
            self.added += 1
            self.jumped += falling
            self.taken += falling


def arranged(units: Units, known: Inverting, order: Sequence[int]) -> Arranged:
    """The instructions of units in an order.

    A jump alone goes where nothing but the code before it led to it, which stands elsewhere now.
    """
    found = Arranged(units, known)
    before = dict(zip(order[1:], order, strict=False))
    kept = [u for u in order if not units.is_passed(u) or before.get(u) == u - 1]
    found.added -= len(order) - len(kept)
    found.jumped -= sum(units.taken[u] for u in {*order} - {*kept})
    for unit, following in zip_longest(kept, kept[1:]):
        found.put(unit, following)
    return found


def leading(insn: Insn, address: int, goal: int) -> Insn:
    """A branch or jump at an address, leading to a goal."""
    form = insn.op.format
    assert form.target is not None
    operand = form.operands[form.target]
    return insn.replace(**{operand.name: operand.distance(goal, address, insn.size)})


def _turned(counted: Direction) -> Direction:
    return replace(counted, held=counted.executed - counted.held)
