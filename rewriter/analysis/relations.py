"""What registers hold at every block of a function: another's value plus a constant, or a cell.

Loops keep a pointer and the pointer plus one in two registers; in a block that only reads them,
nothing shows how they are related.  Nor does a block where ways meet show that on each of them the
cell was loaded of which it replaces a byte.  A forward analysis does: at each block, registers form
classes of known distance, and where paths meet only what holds on all of them is kept.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from rewriter.analysis.flow import Graph
from rewriter.core.code.dataflow import Fact, machine, registers_of
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import COMING_BACK, Insn
from rewriter.core.isa.registers import Masks, Reg
from rewriter.core.target.protocol import Sequential, whole


class Value(NamedTuple):
    """An unknown number's name and what is added to it; with `cell`, the cell of memory there.

    No bit above `bits` is set, if that is known.
    """

    name: int
    added: int
    cell: bool = False
    bits: int | None = None


State = dict[int, Value]
"""Registers of which something is known: most are not alone in their class."""
Facts = dict[int, Fact]
"""What is known of registers."""


class Effect(NamedTuple):
    """What an instruction makes of registers.

    `step` is (result, source, distance) where a register becomes another plus a constant, `load`
    the same where it becomes the cell of memory there.  `written` are the registers that it writes,
    the only one by `plain` code, of which `LinearEffects.bits` may say more; `kept` are those that
    outlive a call, as a mask, and `remembers` says that memory stays as it is.
    """

    step: tuple[int, int, int] | None
    load: tuple[int, int, int] | None
    written: tuple[int, ...]
    plain: bool
    kept: int | None
    remembers: bool


def relations(
    graph: Graph, function: Function, effects: LinearEffects, spoiled: Masks
) -> dict[int, Facts]:
    """The facts at the start of each of the function's blocks, by address.

    `spoiled` are by block the registers that a call at its end does not keep after all.
    """
    blocks = graph.blocks_of(function)
    edges = graph.within(blocks)
    # Nops behind a jump never run; where a fault's handler goes on, nothing is known.
    states: dict[int, State] = {b: {} for b in blocks if graph.entered[b] or graph.resumed[b]}
    facts: dict[int, Facts] = {block: {} for block in states}
    code = _Code(graph, blocks, effects)
    waiting = sorted(states)  # a heap: in order of address, most of what leads to a block is known
    while waiting:
        block = heappop(waiting)
        after = code.through(block, states[block])
        if lost := int(spoiled[block]):
            after = _together({r: value for r, value in after.items() if not lost >> r & 1})
        for following in edges.get(block, ()):
            known = states.get(following)
            if known is not None and not facts[following]:
                continue  # less than nothing cannot hold
            joined = after if known is None else code.joined(known, after)
            found = _facts(joined)
            if known is None or found != facts[following]:
                states[following], facts[following] = joined, found
                if following not in waiting:
                    heappush(waiting, following)
    addresses = graph.listing.addresses
    return {int(addresses[graph.first[b]]): found for b, found in facts.items() if found}


class LinearEffects:
    """What instructions do to registers, found once for each word."""

    def __init__(self, target: Sequential) -> None:
        self.target = target
        self.known: dict[int, Effect] = {}
        self._alike: dict[Effect, Effect] = {}  # many words differ in what is no register
        self._set: dict[int, int | None] = {}

    def of(self, word: int) -> Effect:
        """What the instruction of a word does."""
        effect = self.known.get(word)
        if effect is None:
            effect = self._of(word)
            effect = self.known[word] = self._alike.setdefault(effect, effect)
        return effect

    def _of(self, word: int) -> Effect:
        insn = self.target.table.decode(word)
        assert insn is not None
        written = registers_of(self.target.table.defs(insn))
        kept = self.target.kept_over(insn) if insn.op.flow in COMING_BACK else None
        effects = self.target.table.effects(insn.op)
        remembers = kept is None and not effects.stores and not effects.events
        step = self.target.linear(insn)
        load = self._load(insn, written) if remembers and effects.loads else None
        plain = remembers and step is None and len(written) == 1
        return Effect(step, load, written, plain, kept, remembers)

    def _load(self, insn: Insn, written: tuple[int, ...]) -> tuple[int, int, int] | None:
        """(result, base, displacement) of a load of the cell that an address is in."""
        spelled = self.target.spelling.address(insn) if whole(insn, self.target) else None
        return None if spelled is None or len(written) != 1 else (written[0], *spelled)

    def bits(self, word: int) -> int | None:
        """How many bits of a plain instruction's result can be set, whatever is read; None where
        all can.

        It takes longer to find than all else, and is asked of few words.
        """
        if word not in self._set:
            self._set[word] = self._bits(word)
        return self._set[word]

    def _bits(self, word: int) -> int | None:
        table, (result,) = self.target.table, self.of(word).written
        insn = table.decode(word)
        assert insn is not None
        with table.terms() as terms:
            state = machine(table, terms)
            state.execute(insn, 0)
            bits = terms.bits(state.get(Reg(result)))
        return bits if bits < table.cell * 8 else None


class _Code:
    """The instructions of a function's blocks; every name that it gives is another."""

    def __init__(self, graph: Graph, blocks: range, effects: LinearEffects) -> None:
        here = slice(blocks.start, blocks.stop)
        first, last = graph.first[here].tolist(), graph.last[here].tolist()
        self.start = min(first, default=0)
        text = slice(self.start, max(last, default=0))
        self.words: list[int] = graph.listing.words[text].tolist()
        self.rows: list[int] = graph.listing.rows[text].tolist()
        self.places = dict(zip(blocks, zip(first, last, strict=True), strict=True))
        self.effects = effects
        self.names = count()

    def through(self, block: int, state: State) -> State:
        """The state after a block; a call leaves only what callees save."""
        first, last = (at - self.start for at in self.places[block])
        if min(self.rows[first:last], default=0) < 0:
            return {}
        state = dict(state)
        for word in self.words[first:last]:
            effect = self.effects.of(word)
            if effect.step is not None:
                self._step(state, effect.step)
                continue
            if effect.load is not None:
                self._load(state, effect.load)
                continue
            for register in effect.written:
                state.pop(register, None)
            if effect.plain and (bits := self.effects.bits(word)) is not None:
                state[effect.written[0]] = Value(next(self.names), 0, bits=bits)
            if effect.kept is not None:
                state = {r: value for r, value in state.items() if effect.kept >> r & 1}
            if not effect.remembers:
                state = {r: value for r, value in state.items() if not value.cell}
        return _together(state)

    def _step(self, state: State, step: tuple[int, int, int]) -> None:
        """A register becomes another plus a constant."""
        result, source, distance = step
        held = self._number(state, source)
        bits = held.bits if distance == 0 else None
        state[result] = Value(held.name, held.added + distance, bits=bits)

    def _load(self, state: State, load: tuple[int, int, int]) -> None:
        """A register becomes the cell where another plus a constant is."""
        result, base, displacement = load
        held = self._number(state, base)
        state[result] = Value(held.name, held.added + displacement, True)

    def _number(self, state: State, register: int) -> Value:
        """What a register is, by name: that it is a cell is forgotten, for sums with it."""
        held = state.get(register)
        if held is None or held.cell:
            held = state[register] = Value(next(self.names), 0)
        return held

    def joined(self, a: State, b: State) -> State:
        """What holds in both: registers of one class at one distance in each."""
        names: dict[tuple[int, int, int], int] = {}
        found: State = {}
        for register in a.keys() & b.keys():
            (name, added, cell, bits), (other, there, also, most) = a[register], b[register]
            if cell is not also:
                continue
            key = name, other, added - there
            if key not in names:
                names[key] = next(self.names)
            widest = None if bits is None or most is None else max(bits, most)
            found[register] = Value(names[key], added, cell, widest)
        return _together(found)


def _together(state: State) -> State:
    """The registers that are narrow, or not alone in a class that some number is in."""
    members = Counter([value.name for value in state.values()])
    numbers = {value.name for value in state.values() if not value.cell}
    return {
        register: value
        for register, value in state.items()
        if value.bits is not None or (members[value.name] > 1 and value.name in numbers)
    }


def _facts(state: State) -> Facts:
    """All that a state says: a class's base is the narrow number, which has one distance in it."""
    first: dict[int, tuple[int, int]] = {}
    facts: Facts = {}
    for register, (name, added, cell, bits) in sorted(state.items(), key=_bases_first):
        if name in first:
            base, base_added = first[name]
            facts[register] = Fact(base, added - base_added, cell)
            continue
        first[name] = register, added
        if bits is not None:
            facts[register] = Fact(register, 0, bits=bits)
    return facts


def _bases_first(one: tuple[int, Value]) -> tuple[bool, bool, int]:
    register, value = one
    return value.cell, value.bits is None, register
