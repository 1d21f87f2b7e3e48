"""An oracle that knows wrong changes without a prover.

It runs the original and the changed code on numbers, from places that correspond.  What it cannot
tell apart is not called wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import registers_of
from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.interpret import PREFETCH
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.verify.walk.pairs import Pair
from targets.alpha.registers import RA, SP
from tests.support.mutants.random_runs import Code, End, Start, World, literals_of

SEEDS = 24
CHECKED = (*range(9, 16), RA)  # what an unwinder must find again


@dataclass
class Oracle:
    """Tells a changed function from its original by running both.

    `disagreed` are places where the right code differs from the original: there must be none.
    """

    program: Program
    disagreed: list[str] = field(default_factory=list)

    def wrong(self, function: Function, right: bytes, changed: bytes, pairs: Iterable[Pair]) -> str:
        """What the change does wrong from one of the pairs, or nothing."""
        codes = [Code(self.program, function, d) for d in (self.program.image.data, right, changed)]
        literals = literals_of(self.program, function)
        for pair in pairs:
            for seed in range(SEEDS):
                found = self._once(pair, codes, Start(seed, literals))
                if found:
                    return f"seed {seed} from {pair.old:#x}: {found}"
        return ""

    def _once(self, pair: Pair, codes: Sequence[Code], start: Start) -> str:
        ends, facts = [], self.program.facts(codes[0].function).get(pair.old, {})
        for code, place in zip(codes, (pair.old, pair.new, pair.new), strict=True):
            world = World(start, dict(self.program.target.table.constants))
            # What is known of registers on every way to this place.
            for register, fact in facts.items():
                world.set(Reg(register), world.known(fact))
            if pair.link is not None:
                world.registers[Reg(pair.link)] = place
            ends.append(code.run(place, world))
        old, right, wrong = ends
        if "limit" in (old.kind, right.kind) or "trap" in (old.kind, right.kind):
            return ""
        found = self._difference(old, right, pair)
        if found:
            self.disagreed.append(f"{pair}: {found}")
            return ""
        return "" if wrong.kind == "limit" else self._difference(old, wrong, pair)

    def _difference(self, old: End, new: End, pair: Pair) -> str:
        if (old.kind, old.target) != (new.kind, new.target):
            return f"ends with {new.kind} {new.target}, not {old.kind} {old.target}"
        if _seen(old) != _seen(new):
            return "events"
        for at in old.world.memory.keys() | new.world.memory.keys():
            if old.world.byte(at) != new.world.byte(at):
                return f"memory at {at:#x}"
        for register in registers_of(self._live(old)):
            if register in (old.link, pair.link):
                continue  # each file's own return address
            if old.world.get(Reg(register)) != new.world.get(Reg(register)):
                return f"register {register}"
        return ""

    def _live(self, end: End) -> int:
        """What may be read after an end of the original."""
        if end.kind == "out":
            return self.program.live_into(end.address)
        return self.program.live.out_of(self.program.graph.block_holding(end.address))

    def unwinds_wrong(self, function: Function, right: bytes, changed: bytes) -> str:
        """Whether unwinding by the changed rows fails somewhere where the right ones succeed."""
        literals = literals_of(self.program, function)
        good, bad = (_rules(self.program, function, data) for data in (right, changed))
        if bad is None or good is None:
            return "cannot be read" if bad is None else ""
        code = Code(self.program, function, right)
        for seed in range(SEEDS):
            world = World(Start(seed, literals), dict(self.program.target.table.constants))
            world.registers[SP] = top = 0x1_4000_0000
            entry = {register: world.get(Reg(register)) for register in CHECKED}
            found: list[int] = []

            visit = partial(_look, good, bad, world, top, entry, found)
            code.run(function.start, world, visit)
            if found:
                return f"seed {seed}: the frame at {found[0]:#x} is lost"
        return ""


def _seen(end: End) -> list[tuple[object, ...]]:
    """The events that a program sees: a hint has no effect."""
    return [event for event in end.world.events if event[0] != PREFETCH]


Rows = Sequence[tuple[int, unwind_rows.Rules]]


def _rules(program: Program, function: Function, data: bytes) -> Rows | None:
    frame = program.frames[function.start]
    try:
        return unwind_rows.rows(replace(frame, image=replace(program.image, data=data)))
    except BadInput:
        return None


def _look(
    good: Rows,
    bad: Rows,
    world: World,
    top: int,
    entry: dict[int, int],
    found: list[int],
    address: int,
) -> None:
    """Notes an address where the good rows lead back to the caller and the bad ones do not."""
    state = world, top, entry, address
    if not found and _recovers(good, *state) and not _recovers(bad, *state):
        found.append(address)


def _recovers(rows: Rows, world: World, top: int, entry: dict[int, int], address: int) -> bool:
    """Whether the row in force finds the frame and the saved registers of the caller."""
    rules = [rules for at, rules in rows if at <= address][-1]
    kind, register, offset = rules.cfa
    if kind != "register" or not isinstance(offset, int):
        return False
    frame = world.get(Reg(register)) + offset & world.ones
    if frame != top:
        return False
    kept = dict(rules.registers)
    for register, value in entry.items():
        rule, place = kept.get(register, ("same_value", None))
        if rule == "offset" and isinstance(place, int):
            found = sum(world.byte(frame + place + n) << 8 * n for n in range(8))
        else:
            found = world.get(Reg(register))
        if found != value:
            return False
    return True
