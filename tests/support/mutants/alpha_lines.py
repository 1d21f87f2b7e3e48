"""What explains a change at a loop that gives up lines: which of its two copies control enters.

The plain copy and the one that gives up lines do the same, and the latter looks itself whether a
whole line is left, so that other choices between them change nothing that anyone sees.  That is
run, from random states in which pointers and counts are near one another.
"""

from __future__ import annotations

import random

from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.interpret import PREFETCH
from targets.alpha.isa.rows import TABLE
from tests.support.mutants import alpha_decide
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import NEAR, WORD
from tests.support.mutants.random_runs import ARENA, LIMIT, Code, End, Start, World

STATES, ENOUGH = 800, 8
"""How many states, and in how many a line must be given up by either code."""
_LINE, _GIVEN_UP = 64, "wh64"
_HINTS = frozenset({PREFETCH, _GIVEN_UP})
_MANY, _STEPS = 80, (8, 32)
"""Small counts are at most so large, and pointers so many steps apart, of so many bytes in turn."""


class Near(Start):
    """A random state: aligned pointers near one another, small counts, truths, any numbers."""

    def _draw(self, draw: random.Random, kind: str) -> int:
        every = draw.getrandbits(64)
        if kind != "r":
            return every
        number, step = draw.randrange(_MANY), _STEPS[self.seed % len(_STEPS)]
        made = (ARENA + step * number, number + 1, number % 2, every)
        return draw.choices(made, (0.6, 0.25, 0.1, 0.05))[0]


class Lines(World):
    """In a line that is given up may be anything."""

    def event(self, name: str, *values: int) -> None:
        super().event(name, *values)
        if name == _GIVEN_UP:
            first = values[0] & -_LINE
            noise = random.Random(f"{len(self.events)} {first}").randbytes(_LINE)
            self.memory.update(enumerate(noise, first))


class Decider(alpha_decide.Decider):
    """Runs where nothing else explains a change."""

    def reason(self, change: Change) -> str:
        """The equivalence that holds, or that no run tells both codes apart."""
        return super().reason(change) or ("the same in runs" if self._alike(change) else "")

    def _alike(self, change: Change) -> bool:
        return any(self._alike_from(start, change) for start in self._starts(change.address))

    def _alike_from(self, start: int, change: Change) -> bool:
        given_up = 0
        for seed in range(STATES):
            old = self._end(start, seed, self.base.data, 2 * LIMIT)
            if old.kind == "limit":
                continue
            new = self._end(start, seed, self.base.changed(change), 8 * LIMIT)
            if old.kind == new.kind == "trap" and old.address != new.address:
                continue  # no address is odd: these are two copies of an access
            if not self._same_end(old, new):
                return False
            given_up += any(name == _GIVEN_UP for name, *_ in old.world.events + new.world.events)
        return given_up >= ENOUGH

    def _starts(self, address: int) -> list[int]:
        """An address, or of a branch where code before it makes what it asks for; and one that
        control passes a little earlier."""
        top, insn = self.ways.straight_before(address), self.base.insn(address)
        early = max(top, address - (NEAR + 1) * WORD)
        if insn is None or insn.op.flow is not Flow.BRANCH:
            return [address, early]
        before = ((at, self.base.insn(at)) for at in range(address - WORD, top - WORD, -WORD))
        asked = (at for at, one in before if one and TABLE.defs(one) & TABLE.uses(insn))
        return [next(asked, address), early]

    def _end(self, start: int, seed: int, data: bytes, limit: int) -> End:
        """Where code ends from a state."""
        program, function = self.base.program, self.base.function_at(start)
        assert function is not None
        world = Lines(Near(seed, ()), dict(TABLE.constants))
        return Code(program, function, data).run(start, world, limit=limit)

    def _same_end(self, old: End, new: End) -> bool:
        if (old.kind, old.address, old.target) != (new.kind, new.address, new.target):
            return False
        mine, its = old.world, new.world
        if mine.memory != its.memory or _seen(mine) != _seen(its):
            return False
        return not any(
            mine.get(Reg(register)) != its.get(Reg(register))
            and self.ways.may_read(old.address, register)
            for register in {*map(int, mine.registers), *map(int, its.registers)}
        )


def _seen(world: World) -> list[tuple[object, ...]]:
    return [event for event in world.events if event[0] not in _HINTS]
