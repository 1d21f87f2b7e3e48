"""The edges between blocks: where control goes from the instruction that ends each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import NOWHERE, Addresses, addresses
from rewriter.core.code.listing import INLINE, UNKNOWN, Listing, among
from rewriter.core.code.program import Fixup
from rewriter.core.isa.instruction import BRANCHING, CALLS, FALLING, Flow, Insn, To, leading
from rewriter.core.isa.interned import Interned, Interner, interned
from rewriter.core.isa.registers import Masks, in_columns
from rewriter.core.target.protocol import References

Edges = NDArray[np.signedinteger[Any]]
"""Numbers of nodes, or of edges; a kernel has millions, which are kept in 32 bits."""

NUMBER = np.int32

WITHIN, CALL, RETURN, FAULT = range(4)
"""Kinds of edges: inside a function or a tail call; into a callee; from a return to a caller; from
a block whose last access faults, before that access."""

INSIDE = (WITHIN, FAULT)

_MANY = 64
"""One of so many nodes is too many to be sorted."""


def once(nodes: Edges, count: int) -> Edges:
    """Some of `count` nodes, each once and ascending: a few are sorted, many are marked."""
    if len(nodes) < count // _MANY:
        return np.unique(nodes)
    marks = np.zeros(count, dtype=bool)
    marks[nodes] = True
    return np.flatnonzero(marks)


@dataclass(frozen=True)
class Convention:
    """What a target says about control that crosses functions.

    `live_after` is what unseen code may read after a transfer, `passed` what a callee that we
    see may have been given by a call, `returned` what a caller that we see may have been given
    by a standard return, and `results` what a function of a name returns beside that.
    """

    live_after: Callable[[Insn], int]
    passed: Callable[[Insn], int]
    returned: int
    results: Callable[[str], int]
    standard_return: Callable[[Insn], bool]
    everything: int


def anything(everything: int) -> Convention:
    """Calls and returns may pass every register."""
    return Convention(
        live_after=lambda insn: everything,
        passed=lambda insn: everything,
        returned=everything,
        results=lambda name: everything,
        standard_return=lambda insn: False,
        everything=everything,
    )


@dataclass
class Collected:
    """Edges and outside readers, as they are found; `owner` is the function of each block or -1.

    `functions` are their names.

    A kernel has half a million edges: all of a kind are found at once.
    """

    listing: Listing
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    owner: NDArray[np.int64]
    functions: Sequence[str]
    convention: Convention

    def __post_init__(self) -> None:
        self.blocks, self.nodes = len(self.first), len(self.first) + len(self.functions)
        self.addresses = self.listing.addresses[self.first]
        self.final = self.last - 1
        self.codes = self.listing.flows[self.final]
        self.returned = self._left = Interned.empty(self.nodes, self.listing.uses.columns)
        self._escaped = np.zeros(self.nodes, dtype=bool)
        self._all = self._columns([self.convention.everything])
        self._parts: list[tuple[Edges, Edges, int, Masks]] = []

    def blocks_at(self, places: Addresses) -> Edges:
        """The blocks that start at some addresses, -1 where none does."""
        at = np.minimum(self.addresses.searchsorted(places), self.blocks - 1)
        return np.where(self.addresses[at] == places, at, np.int64(-1))

    def starting_at(self, places: Iterable[int]) -> NDArray[np.bool_]:
        """By block, whether it starts at one of some addresses."""
        found, at = np.zeros(self.blocks, dtype=bool), self.blocks_at(addresses(places))
        found[at[at >= 0]] = True
        return found

    def ends(self, flows: Collection[Flow]) -> Edges:
        """The blocks whose last instruction goes on in one of some ways."""
        return np.flatnonzero(among(self.codes, flows))

    def add_all(self, references: References) -> None:
        """The edges of every block but for accesses that fault.

        What is conditional has both ways; behind a call control goes on in either case.
        """
        self._fall_through(self.ends(FALLING - CALLS))
        going = self.ends(BRANCHING)
        self._go(going, self.listing.targets[self.final[going]])
        self._fall_through(self._traps())
        calls = self.ends(leading(To.PLACE) & CALLS)
        self._calls(calls, self.listing.targets[self.final[calls]])
        self._computed_calls(self.ends(leading(To.REGISTER) & CALLS), references)
        self._returns(self.ends(leading(To.CALLER)))
        self._computed(self.ends(leading(To.REGISTER) - CALLS), references)
        unknown = np.flatnonzero(self.codes == UNKNOWN)
        self._escape(unknown[~self.listing.stops(self.final[unknown])])

    def add_fixups(self, fixups: Sequence[Fixup]) -> None:
        """An access that may fault ends its block, and control may go on where it resumes.

        The access does not happen then, so it must not count as a write on that way.
        """
        places = addresses(fixup.access for fixup in fixups)
        at = self.addresses.searchsorted(places, side="right") - 1
        to = self.blocks_at(addresses(fixup.resume for fixup in fixups))
        self._escape(at[(to < 0) | (self.owner[at] != self.owner[to])])
        everything = self.convention.everything
        kept = self._columns([fixup.kept & everything for fixup in fixups])
        self._edges(at[to >= 0], to[to >= 0], FAULT, kept[to >= 0])

    def add_pads(self, calls: Iterable[Fixup]) -> None:
        """An exception may come out of a call: control goes on at a landing pad then."""
        for call in calls:
            at = self.listing.index(call.access)
            block = np.array([self.first.searchsorted(at, side="right") - 1])
            kept = self._columns([call.kept & self.convention.everything])
            self._go(block, addresses([call.resume]), kept)

    def together(self) -> tuple[Edges, Edges, NDArray[np.int8], Interned]:
        """Source, target, kind and passed registers of every edge."""
        sources, targets, kinds, passed = zip(*self._parts, strict=True)
        sizes = [len(source) for source in sources]
        masks = Interner(self.listing.uses.columns)
        for given, size in zip(passed, sizes, strict=True):
            masks.add(given, size)
        return (
            np.concatenate(sources, dtype=NUMBER),
            np.concatenate(targets, dtype=NUMBER),
            np.repeat(np.array(kinds, dtype=np.int8), sizes),
            masks.all(),
        )

    def _edges(
        self, source: Edges, target: Edges, kind: int = WITHIN, passed: Masks | None = None
    ) -> None:
        self._parts.append((source, target, kind, self._all if passed is None else passed))

    def _columns(self, masks: Sequence[int]) -> Masks:
        """Register masks in as many 64-bit columns as the listing has."""
        return in_columns(masks, self.listing.uses.columns)

    def _masks(self, blocks: Edges, rule: Callable[[Insn], int]) -> Masks:
        """What a rule says of the instruction that ends each of the blocks.

        It does not depend on how far it leads: of calls there are as many words as places else.
        """
        words, which = np.unique(self.listing.placeless(self.final[blocks]), return_inverse=True)
        decoded = map(self.listing.table.decode, words.tolist())
        return self._columns([rule(insn) for insn in decoded if insn is not None])[which]

    def _escape(self, blocks: Edges) -> None:
        """Control may go where nobody knows from each of the blocks."""
        self._escaped[blocks] = True

    def _leave(self, blocks: Edges, rule: Callable[[Insn], int]) -> None:
        """Control goes to unseen code from each of the blocks, which may read what a rule says."""
        masks = self._masks(blocks, rule)
        self._left = self._left.with_others(blocks, interned(masks))

    @property
    def outside(self) -> Interned:
        """Per node, what unseen code may read when control leaves there."""
        return self._left.with_mask(self._escaped, self.convention.everything)

    def _traps(self) -> Edges:
        """The blocks whose trap comes back: there is no data behind it."""
        traps = self.ends({Flow.TRAP})
        after = np.minimum(self.last[traps], len(self.listing) - 1)
        followed = (after == self.last[traps]) & (self.listing.rows[after] == INLINE)
        return np.asarray(traps[~followed])

    def _fall_through(self, blocks: Edges) -> None:
        """Control goes on from each of the blocks to the next one."""
        inside = blocks + 1 < self.blocks
        self._edges(blocks[inside], blocks[inside] + 1)
        self._escape(blocks[~inside])

    def _go(self, blocks: Edges, targets: Addresses, passed: Masks | None = None) -> None:
        """Control goes on from each of the blocks to an address."""
        to = self.blocks_at(targets)
        self._escape(blocks[to < 0])
        blocks, to = blocks[to >= 0], to[to >= 0]
        self._edges(blocks, to, passed=passed)
        away = self.owner[blocks] != self.owner[to]
        self._tail_calls(blocks[away], to[away])

    def _tail_calls(self, blocks: Edges, to: Edges) -> None:
        """The other function returns to where this one was called from."""
        here, there = self.owner[blocks], self.owner[to]
        seen = (here >= 0) & (there >= 0)
        self._escape(blocks[~seen])
        self._edges(self.blocks + there[seen], self.blocks + here[seen], RETURN)

    def _calls(self, blocks: Edges, targets: Addresses) -> None:
        self._fall_through(blocks)
        to = self.blocks_at(targets)
        seen = (to >= 0) & (self.owner[to] >= 0)
        self._escape(blocks[~seen])
        blocks, to = blocks[seen], to[seen]
        self._edges(blocks, to, CALL, self._masks(blocks, self.convention.passed))
        back = blocks + 1 < self.blocks
        returned = self._columns([self.convention.returned]) | self._given(to[back])
        self._edges(self.blocks + self.owner[to[back]], blocks[back] + 1, RETURN, returned)

    def _computed_calls(self, blocks: Edges, references: References) -> None:
        """Those of a known function are as any call; what is behind the others is not seen."""
        places = self.listing.addresses[self.final[blocks]].tolist()
        goals = addresses(references.callees.get(place, NOWHERE) for place in places)
        known = self.blocks_at(goals) >= 0
        self._calls(blocks[known], goals[known])
        unknown = blocks[~known]
        self._fall_through(unknown)
        chained = np.array([place in references.chained for place in places], dtype=bool)[~known]
        self._leave(unknown[~chained], self.convention.live_after)
        self._leave(unknown[chained], self.convention.passed)

    def _returns(self, blocks: Edges) -> None:
        standard = self._masks(blocks, lambda insn: int(self.convention.standard_return(insn)))
        seen = (self.owner[blocks] >= 0) & (standard[:, 0] != 0)
        self.returned = self.returned.with_mask(blocks[~seen], self.convention.everything)
        blocks = blocks[seen]
        given = self._masks(blocks, self.convention.live_after) | self._given(blocks)
        self.returned = self.returned.with_others(blocks, interned(given))
        self._edges(blocks, self.blocks + self.owner[blocks], RETURN)

    def _given(self, blocks: Edges) -> Masks:
        """What the functions of some blocks return beside what the standard says."""
        return self._results[self.owner[blocks]]

    @cached_property
    def _results(self) -> Masks:
        return self._columns([self.convention.results(name) for name in self.functions])

    def _computed(self, blocks: Edges, references: References) -> None:
        """Jumps to what a table says, calls in tail position, and jumps to anywhere."""
        places = self.listing.addresses[self.final[blocks]].tolist()
        known: dict[int, set[int]] = {}
        for table in references.tables:
            known.setdefault(table.jump, set()).update(table.targets)
        goals = [sorted(known[place]) if place in known else None for place in places]
        lost = blocks[[goal is None for goal in goals]]
        self._leave(lost, self.convention.live_after)
        away = references.unresolved | references.leaving
        self._escape(blocks[[place in away for place in places]])
        sources = np.repeat(blocks, [len(goal or ()) for goal in goals])
        self._go(sources, addresses(target for goal in goals for target in goal or ()))
