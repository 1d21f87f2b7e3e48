"""A judge of changed regions that knows no proof: both are run on numbers, from many states.

It has the meanings of the group-parallel machine and tells two regions apart by what they leave in
registers and memory, by their accesses, by where control goes, and by a group that the machine
refuses.  What it cannot tell apart in its runs may still be wrong.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from region_shuffle import encoded, end_of

from rewriter.core.concrete import Misaligned
from rewriter.core.groups import Slot
from rewriter.core.interpret import Unspecified
from targets.ia64.fields import BUNDLE
from targets.ia64.machine.faults import GroupViolation, MachineFault
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.state import State
from targets.ia64.registers import BR, FR, GR, NAMES, NUMBERS, PR

ARENA, PLACES = 0x2000_0000_0000_0000, 6  # pointers meet in a few places
REFUSED = "a group that the machine refuses"
_BACKING = 0x6000_0000_0000_0000
_SHARED = tuple(NUMBERS["ar." + name] for name in ("ccv", "unat", "pfs", "lc", "ec", "csd"))


class Anywhere:
    """Memory that has bytes at every address, the same for one seed, and one region's code."""

    def __init__(self, seed: int, slots: Sequence[Slot]) -> None:
        self.seed = seed
        self.start, self.code = slots[0].address & -BUNDLE, encoded(slots)
        self.written: dict[int, int] = {}
        self.accesses: Counter[tuple[int, int, bool]] = Counter()

    def read(self, address: int, size: int) -> bytes:
        """Bytes at an address."""
        self.accesses[address, size, False] += 1
        return bytes(self._byte(at) for at in range(address, address + size))

    def _byte(self, at: int) -> int:
        known = self.written.get(at)
        if known is None:
            word = _value(random.Random(self.seed << 64 | at & -8))
            known = word >> 8 * (at & 7) & 0xFF
        return known

    def write(self, address: int, data: bytes) -> None:
        """Stores bytes."""
        self.accesses[address, len(data), True] += 1
        self.written.update(enumerate(data, address))

    def fetch(self, address: int, size: int) -> bytes:
        """Bytes of code."""
        offset = address - self.start
        return self.code[offset : offset + size]


def _value(draw: random.Random) -> int:
    """Pointers that meet, small numbers, any."""
    kind = draw.random()
    if kind < 0.8:
        return ARENA + 16 * draw.randrange(PLACES)
    return draw.randrange(256) if kind < 0.9 else draw.getrandbits(64)


def _start(state: State, seed: int) -> None:
    """Random registers, a frame of all stacked ones."""
    draw = random.Random(seed)
    state.reframe(Frame(sof=96))
    for number in range(1, 128):
        state.put(GR + number, _value(draw))
    for number in range(2, 128):
        state.put_floating(FR + number, draw.getrandbits(64) | 0x1003E << 64)
    for number in range(1, 64):
        state.put_predicate(PR + number, draw.getrandbits(1))
    for register in (*range(BR, BR + 8), *_SHARED):
        state.r[register] = draw.getrandbits(60) << 4
    state.r[NUMBERS["ar.pfs"]] = Frame(sof=8).value


def outcome(slots: Sequence[Slot], seed: int) -> Hashable | None:
    """What a region does from a state; None where the machine cannot say."""
    memory = Anywhere(seed, slots)
    processor = Processor(memory, _BACKING)  # type: ignore[arg-type]
    _start(processor.state, seed)
    place: object = "end"
    try:
        for executed in processor.steps(memory.start, end_of(slots), len(slots) + 1):
            if executed.target is not None:
                place = executed.target
                break
    except GroupViolation:
        return REFUSED
    except (Unspecified, NotImplementedError, Misaligned, MachineFault):
        return None
    state = processor.state
    kept = tuple(value for number, value in enumerate(state.r) if NAMES[number] != "ip")
    return (
        place, kept, tuple(state.nat), tuple(map(str, state.events)),
        frozenset(memory.written.items()), frozenset(memory.accesses.items()),
    )  # fmt: skip


@dataclass
class Judge:
    """Judges changes of one region by its outcomes from `seeds` states."""

    old: Sequence[Slot]
    seeds: int

    def __post_init__(self) -> None:
        found = ((seed, outcome(self.old, seed)) for seed in range(3 * self.seeds))
        told = ((seed, what) for seed, what in found if what not in (None, REFUSED))
        self.outcomes = list(itertools.islice(told, self.seeds))

    def tells_apart(self, new: Sequence[Slot]) -> bool:
        """Whether a run ends otherwise."""
        return any(outcome(new, seed) != what for seed, what in self.outcomes)
