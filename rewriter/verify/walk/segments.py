"""Straight code of one file, cut where a walk cuts it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast, overload

import numpy as np

from rewriter.analysis.flow import Graph
from rewriter.core.addresses import NOWHERE, Addresses
from rewriter.core.code.listing import FLOW_CODE, FLOWS, Listing
from rewriter.core.code.program import Fixup, Function
from rewriter.core.isa.instruction import STRAIGHT, Flow, Insn
from rewriter.verify.walk.insn_classes import NOP, PLACED, Kinds

_NEXT = FLOW_CODE[Flow.NEXT]
_STRAIGHT = frozenset(FLOW_CODE[flow] for flow in STRAIGHT)
_ROW = np.uint64(16)  # bits
LONGEST = 4096  # instructions in a segment; a walk beyond that has lost its way


class Lost(Exception):
    """Code that cannot be followed."""


class Decoded(Sequence[Insn]):
    """The instructions of some words, each decoded when it is looked at: most never are."""

    def __init__(self, words: Sequence[int], decode: Callable[[int], Insn | None]) -> None:
        self.words, self.decode = words, decode

    def __len__(self) -> int:
        return len(self.words)

    @overload
    def __getitem__(self, slot: int) -> Insn: ...
    @overload
    def __getitem__(self, slot: slice) -> Decoded: ...
    def __getitem__(self, slot: int | slice) -> Insn | Decoded:
        if isinstance(slot, slice):
            return Decoded(self.words[slot], self.decode)
        insn = self.decode(self.words[slot])
        assert insn is not None
        return insn

    def __iter__(self) -> Iterator[Insn]:
        return cast(Iterator[Insn], map(self.decode, self.words))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decoded) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]


class Segment(NamedTuple):
    """Straight code from an address to a transfer of control, data, or the function's end.

    `exits` are the slots after which control may leave, the last one included, `flows` what the
    instructions there do and `targets` the places that they name; `fixups` say where control goes
    before a slot whose access faults.  By slot, `placeless` are the words as they stand in the
    file, without how far branches go but with their rows, `kinds` what `Kinds` says of them, `uses`
    and `defs` the masks of the registers that they read and write.  Of a part that ends before
    control is transferred, `behind` is the mask of what is read behind it.
    """

    exits: tuple[int, ...]
    flows: tuple[Flow, ...]
    targets: tuple[int, ...]
    fixups: Mapping[int, Fixup]
    insns: Sequence[Insn]
    addresses: Sequence[int]
    placeless: Sequence[int]
    kinds: bytes
    uses: Sequence[int]
    defs: Sequence[int]
    behind: int | None = None

    @property
    def falls_out(self) -> bool:
        """Whether it ends at data or at the function's end, without a transfer of control."""
        return self.flows[-1] is Flow.NEXT

    def same_words(self, other: Segment) -> bool:
        """Whether another has the same words but for how far branches go."""
        return self.placeless == other.placeless

    def without(self, gone: set[int]) -> Segment:
        """The segment with some slots taken out."""
        kept = [slot for slot in range(len(self.insns)) if slot not in gone]
        position = {slot: n for n, slot in enumerate(kept)}
        return self._replace(
            exits=tuple(position[slot] for slot in self.exits),
            fixups={position[slot]: fixup for slot, fixup in self.fixups.items()},
            insns=[self.insns[slot] for slot in kept],
            addresses=[self.addresses[slot] for slot in kept],
            placeless=[self.placeless[slot] for slot in kept],
            kinds=bytes(self.kinds[slot] for slot in kept),
            uses=[self.uses[slot] for slot in kept],
            defs=[self.defs[slot] for slot in kept],
        )

    def part(self, slots: range, behind: int | None) -> Segment:
        """Some slots alone; `behind` says what is read behind them, None where they end it."""
        first, end = slots.start, slots.stop
        here = slice(first, end)
        kept = [n for n, slot in enumerate(self.exits) if slot in slots]
        last = () if behind is None else (end - 1 - first,)
        return self._replace(
            exits=(*(self.exits[n] - first for n in kept), *last),
            flows=(*(self.flows[n] for n in kept), *(Flow.NEXT for _ in last)),
            targets=(*(self.targets[n] for n in kept), *(NOWHERE for _ in last)),
            fixups={slot - first: fixup for slot, fixup in self.fixups.items() if slot in slots},
            insns=list(self.insns[here]),
            addresses=self.addresses[here],
            placeless=self.placeless[here],
            kinds=self.kinds[here],
            uses=self.uses[here],
            defs=self.defs[here],
            behind=behind,
        )

    def proper(self) -> list[int]:
        """The slots of what is no nop."""
        return [slot for slot, kind in enumerate(self.kinds) if not kind & NOP]


def _same_ends(old: Segment, new: Segment) -> tuple[int, int]:
    """How many instructions are the same before all that differ, and how many behind."""
    one, other = ([s.placeless[slot] for slot in s.proper()] for s in (old, new))
    least = min(len(one), len(other))
    before = next((n for n in range(least) if one[n] != other[n]), least)
    left = least - before
    behind = next((n for n in range(left) if one[-1 - n] != other[-1 - n]), left)
    if before + behind == least:  # nothing is left of one of them
        return (before, behind - 1) if behind else (before - 1, behind)
    return before, behind


def differing(old: Segment, new: Segment) -> tuple[range, range] | None:
    """The slots of two segments in which they differ, nops apart; none is empty.

    All before and behind them is the same, with as many exits, and no exit is at the end of those
    that something stands behind.  None where that cannot be said.
    """
    before, behind = _same_ends(old, new)
    places = [(one, one.proper()) for one in (old, new)]
    while behind and any(proper[-behind - 1] in one.exits for one, proper in places):
        behind -= 1
    if before < 0:
        return None
    here, there = (
        range(
            proper[before] if before else 0,
            proper[-behind - 1] + 1 if behind else len(one.placeless),
        )
        for one, proper in places
    )
    same = all(
        (slot < here.start, slot < here.stop) == (other < there.start, other < there.stop)
        for slot, other in zip(old.exits, new.exits, strict=True)
    )
    return (here, there) if same else None


class Cutter:
    """Cuts segments from positions [first, last) of one listing, which end with a function.

    What a walk asks of single positions is kept in lists: arrays are slow at that.
    """

    def __init__(
        self,
        listing: Listing,
        fixups: Mapping[int, Fixup],
        kinds: Kinds,
        first: int,
        last: int,
        like: Cutter | None = None,
    ) -> None:
        """Of another listing, `like` may have the same addresses."""
        self.listing = listing
        here = slice(first, last)
        self.places = listing.addresses[here]
        self.addresses, self.at = _indexed(self.places, like)
        self.words: list[int] = listing.words[here].tolist()
        self.rows: list[int] = listing.rows[here].tolist()
        self.flows: list[int] = listing.flows[here].tolist()
        self.targets: list[int] = listing.targets[here].tolist()
        self.transfers: list[int] = np.flatnonzero(listing.flows[here] != _NEXT).tolist()
        self.fixups = {self.at[a]: fixups[a] for a in sorted(fixups.keys() & self.at.keys())}
        rows = listing.rows[here].view(np.uint16)
        self.placeless = (listing.placeless(here).astype(np.uint64) << _ROW | rows).tolist()
        self.kinds = kinds.of(listing, first, last)
        self.uses, self.defs = listing.uses.numbers(here), listing.defs.numbers(here)

    def by_transfers(self, start: int, count: int) -> Segment:
        """From an address to its n-th transfer of control, to data, or to the function's end."""
        first = self.at.get(start)
        if first is None:
            raise Lost(f"the new code goes on outside of the function, at {start:#x}")
        n = bisect_left(self.transfers, first)
        exits = self.transfers[n : n + count]
        end = len(self.addresses)
        if len(exits) < count and end - 1 not in exits:
            exits.append(end - 1)  # out of the function
        exits = [at - (self.rows[at] < 0 and at > first) for at in exits]  # into data
        if len(set(exits)) != count or exits[-1] - first >= LONGEST:
            raise Lost(f"the new code from {start:#x} ends otherwise")
        return self.cut(first, exits)

    def same(self, first: int, end: int, other: Cutter, there: int) -> bool:
        """Whether all of [first, end) is code that another has too, but for how far branches go.

        It ends with a transfer of control, and no access in it goes on elsewhere when it faults.
        """
        behind = there + end - first
        return (
            self.placeless[first:end] == other.placeless[there:behind]
            and self.flows[end - 1] != _NEXT
            and end - first <= LONGEST
            and min(self.rows[first:end]) >= 0
            and not any(first <= at < end for at in self.fixups)
            and not any(there <= at < behind for at in other.fixups)
        )

    def cut(self, first: int, exits: Sequence[int]) -> Segment:
        """From a position to the last of those after which control may leave; raises Lost."""
        end = exits[-1] + 1
        if min(self.rows[first:end]) < 0:
            unknown = next(at for at in range(first, end) if self.rows[at] < 0)
            raise Lost(f"no instruction at {self.addresses[unknown]:#x}")
        fixups = self.fixups  # of most functions none
        if fixups:
            fixups = {at - first: fixups[at] for at in range(first, end) if at in fixups}
        return Segment(
            tuple([at - first for at in exits]),
            tuple([FLOWS[self.flows[at]] for at in exits]),
            tuple([self.targets[at] for at in exits]),
            fixups,
            Decoded(self.words[first:end], self.listing.table.decode),
            self.addresses[first:end],
            self.placeless[first:end],
            self.kinds[first:end],
            self.uses[first:end],
            self.defs[first:end],
        )


def _indexed(places: Addresses, like: Cutter | None) -> tuple[list[int], dict[int, int]]:
    """The addresses and where each stands, which may be known."""
    if like is not None and np.array_equal(places, like.places):
        return like.addresses, like.at
    addresses: list[int] = places.tolist()
    return addresses, dict(zip(addresses, range(len(addresses)), strict=True))


class BlockCutter(Cutter):
    """Cuts along the blocks of a function."""

    def __init__(
        self,
        listing: Listing,
        fixups: Mapping[int, Fixup],
        kinds: Kinds,
        function: Function,
        graph: Graph,
    ) -> None:
        first, last = listing.span(function.start, function.end)
        super().__init__(listing, fixups, kinds, first, last)
        blocks = graph.blocks_of(function)
        self._number = blocks.start
        here = slice(blocks.start, blocks.stop)
        self._ends = (graph.last[here] - first).tolist()
        self._continues = graph.continues[here].tolist()
        self._starts = (graph.first[here] - first).tolist()
        self._blocks = {at: n for n, at in enumerate(self._starts)}

    def block_holding(self, address: int) -> int:
        """The graph's block with an instruction of the function."""
        return self._number + bisect_right(self._starts, self.at[address]) - 1

    def by_blocks(self, start: int) -> Segment:
        """From a block's start through blocks that only it leads to, or that follow."""
        return self.cut(*self.extent(start))

    def extent(self, start: int) -> tuple[int, list[int]]:
        """The position where `by_blocks` cuts first, and those of its exits."""
        first = self.at.get(start, -1)
        block = self._blocks.get(first)
        if block is None:
            raise Lost(f"no block starts at {start:#x}")
        end, last = first, len(self.addresses)
        exits: list[int] = []
        while end - first < LONGEST:
            end = self._ends[block]
            if data := self.rows[end - 1] < 0 and end - 1 > first:
                end -= 1  # code must not go on there
            flow, over = self.flows[end - 1], data or end >= last
            if flow != _NEXT or over:
                exits.append(end - 1)
            if over or not (flow == _NEXT or (flow in _STRAIGHT and self._continues[block + 1])):
                break
            block += 1
        if not exits or exits[-1] != end - 1:
            raise Lost(f"the code from {start:#x} has no end")
        return first, exits


def reads_place(flow: Flow, defs: int, kinds: bytes) -> bool:
    """Whether code depends on where it stands, by what it is or by how it ends.

    A jump at its end may read its own address, to leave it in `defs`.
    """
    return (flow is Flow.JUMP and defs != 0) or any(kind & PLACED for kind in kinds)
