"""All instruction positions of a text, in address order, as parallel arrays.

The arrays are what whole-program analyses run on; `insn` gives the one at a position.  A target
makes the listing: for fixed-width words with `decode_words`, for bundles slot by slot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import NOWHERE, Addresses, shifted, span
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.interned import AT_ONCE, Interned, Interner, Places, interned
from rewriter.core.isa.operands import Kind, Words
from rewriter.core.isa.table import Table, by_row

FLOWS = tuple(Flow)
FLOW_CODE = {flow: code for code, flow in enumerate(FLOWS)}
UNKNOWN = -1  # in `rows` and `flows`: the word is not an instruction
INLINE = -2  # in `rows`: data that belongs to the instruction before it; UNKNOWN in `flows`


def among(codes: NDArray[np.int8], flows: Collection[Flow]) -> NDArray[np.bool_]:
    """Which of some codes of flows are of one of the `flows`; what is UNKNOWN is not."""
    wanted = np.array([*(flow in flows for flow in FLOWS), False])
    return np.asarray(wanted[codes])


@dataclass(frozen=True)
class Listing:
    """Parallel arrays, one element per instruction position.

    `addresses` ascend; `targets` holds the encoded target or NOWHERE; `uses` and `defs` give
    register masks in as many 64-bit columns as the target's registers need.
    """

    table: Table
    addresses: Addresses
    words: Words
    rows: NDArray[np.int16]
    flows: NDArray[np.int8]
    targets: Addresses
    uses: Interned
    defs: Interned

    def __len__(self) -> int:
        return len(self.addresses)

    @cached_property
    def transfers(self) -> NDArray[np.int64]:
        """The positions that are not followed by the next one alone; data among them."""
        return np.flatnonzero(self.flows != FLOW_CODE[Flow.NEXT])

    def placeless(self, at: Places) -> Words:
        """Words at some positions, or one, without how far branches go."""
        return np.asarray(self.words[at] & self._but_for_targets[self.rows[at]])

    @cached_property
    def _but_for_targets(self) -> Words:
        """By row, the bits of a word that do not say how far it branches."""
        kept = np.full(len(self.table.rows) + 1, ~self.words.dtype.type(0))
        for number, op in enumerate(self.table.rows):
            for operand in op.format.operands:
                if operand.kind is Kind.TARGET:
                    kept[number] &= ~self.words.dtype.type(operand.mask)
        return kept

    @cached_property
    def branched(self) -> NDArray[np.int64]:
        """The positions that branches and calls lead to."""
        return self.positions(self.targets[self.targets != NOWHERE])

    def positions(self, places: Addresses) -> NDArray[np.int64]:
        """The positions at some addresses, ascending; none where no instruction starts."""
        wanted = np.sort(places)  # the next place is then near the last one
        at = np.minimum(self.addresses.searchsorted(wanted), len(self) - 1)
        return np.asarray(at[self.addresses[at] == wanted])

    def prepare(self) -> None:
        """Makes what is made once and for all, before processes share the listing."""
        _ = self.transfers

    def index(self, address: int) -> int:
        """The position at `address`; KeyError if no instruction starts there."""
        at = self._position(address)
        if at is None:
            raise KeyError(address)
        return at

    def has(self, address: int) -> bool:
        """Whether an instruction position is at `address`."""
        return self._position(address) is not None

    def _position(self, address: int) -> int | None:
        starts, firsts = self._runs
        run = bisect_right(starts, address) - 1
        step, rest = divmod(address - starts[run], self.table.size)
        at = firsts[run] + step
        return at if not rest and firsts[run] <= at < firsts[run + 1] else None

    @cached_property
    def _runs(self) -> tuple[Sequence[int], Sequence[int]]:
        """Where runs of instructions without a gap start, and the position of the first of each.

        An empty run is before all, and the last position is behind all.
        """
        gaps = np.flatnonzero(np.diff(self.addresses) != self.table.size) + 1
        firsts = [0, *gaps.tolist()] if len(self) else []
        starts = self.addresses[np.array(firsts, dtype=np.int64)].tolist()
        return [-1, *starts], [0, *firsts, len(self)]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The positions in [start, end) as a half-open range; those asked for last are known."""
        recent = self._recent
        if recent.places != (start, end):
            recent.places, recent.span = (start, end), span(self.addresses, start, end)
        return recent.span

    def insn(self, at: int) -> Insn | None:
        """The instruction at a position, or None for data."""
        return None if self.rows[at] < 0 else self.table.decode(int(self.words[at]))

    def are(
        self, at: NDArray[np.integer[Any]], said: Callable[[Insn | None], bool]
    ) -> NDArray[np.bool_]:
        """Of some positions, whether something is true of their word, asked once of each word."""
        words, which = np.unique(self.words[at], return_inverse=True)
        answers = [said(self.table.decode(word)) for word in words.tolist()]
        return np.asarray(np.array(answers, dtype=bool)[which])

    def stops(self, at: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where inline data is no instruction of the machine: what comes there ends with a trap."""
        found: NDArray[np.bool_] = self.rows[at] == INLINE
        found[found] = self.table.classify(self.words[at[found]]) == UNKNOWN
        return found

    def data(self, at: int) -> Insn | None:
        """Inline data at a position, as a row of its own; None where an instruction is."""
        if self.rows[at] != INLINE:
            return None
        return Insn(self.table.data, (int(self.words[at]),))

    def covers(self, parts: Sequence[tuple[int, int]], size: int) -> bool:
        """Whether these are the positions of (start, how many) words of some size, ascending.

        Positions are a word or more apart, so that the ends of a part tell what is between.
        """
        first = 0
        for start, count in parts:
            last = first + count - 1
            if count and (last >= len(self) or int(self.addresses[first]) != start):
                return False
            if count and int(self.addresses[last]) != start + size * (count - 1):
                return False
            first += count
        return first == len(self)

    def with_code(self, words: Words) -> Listing:
        """The same with other instructions; what is data stays data."""
        return _with_data(self.with_words(words), np.flatnonzero(self.rows == INLINE))

    def with_words(self, words: Words) -> Listing:
        """The same places with other words, all of them decoded, where it is not known what is
        data."""
        other = np.flatnonzero((words != self.words) | (self.rows == INLINE))
        decoded = _decoded(self.table, self.addresses[other], words[other])
        changed = replace(
            self,
            words=words,
            uses=self.uses.with_others(other, decoded.uses),
            defs=self.defs.with_others(other, decoded.defs),
            **{name: getattr(self, name).copy() for name in _DECODED},
        )
        for name in _DECODED:
            getattr(changed, name)[other] = getattr(decoded, name)
        return changed

    def without(self, places: Addresses) -> Listing:
        """The same, in which instructions that hold some addresses are not known."""
        at = np.unique(np.maximum(self.addresses.searchsorted(places, side="right") - 1, 0))
        rows, flows, targets = self.rows.copy(), self.flows.copy(), self.targets.copy()
        rows[at], flows[at], targets[at] = UNKNOWN, UNKNOWN, NOWHERE
        uses, defs = (masks.with_mask(at, 0) for masks in (self.uses, self.defs))
        return replace(self, rows=rows, flows=flows, targets=targets, uses=uses, defs=defs)

    def insns(self, start: int, end: int) -> list[Insn | None]:
        """The instructions in [start, end)."""
        return self.insns_at(*self.span(start, end))

    def insns_at(self, first: int, last: int) -> list[Insn | None]:
        """The instructions at positions [first, last).

        Those asked for last are remembered: pass after pass asks for parts of one function.
        """
        recent = self._recent
        if not recent.first <= first <= last <= recent.last:
            recent.first, recent.last, recent.insns = first, last, self._insns_at(first, last)
        return recent.insns[first - recent.first : last - recent.first]

    @cached_property
    def _recent(self) -> _Recent:
        return _Recent()

    def _insns_at(self, first: int, last: int) -> list[Insn | None]:
        decode, words = self.table.decode, self.words[first:last].tolist()
        found = [decode(word) for word in words]
        for at in np.flatnonzero(self.rows[first:last] < 0).tolist():
            found[at] = None
        return found


@dataclass
class _Recent:
    """The instructions at positions [first, last); the positions of a range of addresses."""

    first: int = 0
    last: int = 0
    insns: list[Insn | None] = field(default_factory=list)
    places: tuple[int, int] = (0, 0)
    span: tuple[int, int] = (0, 0)


_DECODED = ("rows", "flows", "targets")
"""What a word says, beside the registers."""


def decode_words(
    table: Table,
    parts: Iterable[tuple[int, NDArray[Any]]],
    inline: Callable[[Words], NDArray[np.int64]] = lambda words: np.empty(0, dtype=np.int64),
    like: Listing | None = None,
) -> Listing:
    """The listing of fixed-width text: (address, words) of each range, ascending.

    `inline` gives the positions of words that are data; in a listing that is `like` this one words
    are decoded already.
    """
    pieces, size = list(parts), table.size
    none = np.empty(0, dtype=np.dtype(f"u{size}"))
    words = np.concatenate([none, *(words for _, words in pieces)]).astype(none.dtype)
    if like is not None and like.covers([(start, len(w)) for start, w in pieces], size):
        listing = like.with_words(words)
    else:
        places = (shifted(start, size * np.arange(len(w), dtype=np.int64)) for start, w in pieces)
        every = np.concatenate([np.empty(0, dtype=np.uint64), *places])
        listing = _decoded(table, every, words)
    return _with_data(listing, inline(words))


def decode_at(
    table: Table,
    places: Addresses,
    words: Words,
    inline: NDArray[np.int64],
    like: Listing | None = None,
) -> Listing:
    """The listing of instructions of any length: the address and the word of each, ascending.

    `inline` are the positions of words that are data; a listing that is `like` this one has the
    same places, whose words are decoded already.
    """
    if like is not None and np.array_equal(like.addresses, places):
        return _with_data(like.with_words(words), inline)
    return _with_data(_decoded(table, places, words), inline)


def _with_data(listing: Listing, at: NDArray[np.int64]) -> Listing:
    """The listing, in which the words at some positions are data now."""
    listing.rows[at], listing.flows[at], listing.targets[at] = INLINE, UNKNOWN, NOWHERE
    if not len(at):
        return listing
    uses, defs = (masks.with_mask(at, 0) for masks in (listing.uses, listing.defs))
    return replace(listing, uses=uses, defs=defs)


def _decoded(table: Table, addresses: Addresses, words: Words) -> Listing:
    """What words say, some at once: what is made on the way is dropped before the next."""
    flow_of = np.array([FLOW_CODE[op.flow] for op in table.rows] + [UNKNOWN], dtype=np.int8)
    rows, targets = np.empty(len(words), dtype=np.int16), np.full_like(addresses, NOWHERE)
    naming = Interner(2)
    for at in range(0, len(words), AT_ONCE):
        here = slice(at, at + AT_ONCE)
        rows[here] = table.classify(words[here])
        _set_targets(table, words[here], rows[here], addresses[here], targets[here])
        naming.add(table.naming_bits(words[here], rows[here]))
    uses, defs = _masks(table, naming.all())
    return Listing(
        table=table,
        addresses=addresses,
        words=words,
        rows=rows,
        flows=flow_of[rows],
        targets=targets,
        uses=uses,
        defs=defs,
    )


def _masks(table: Table, naming: Interned) -> tuple[Interned, Interned]:
    """The registers that words read and write, by the bits that name them and their rows."""
    bits, rows = naming.distinct.T
    found = table.uses_and_defs(bits, rows.astype(np.int16))
    uses, defs = (interned(masks) for masks in found)
    return (
        Interned(uses.distinct, uses.which[naming.which]),
        Interned(defs.distinct, defs.which[naming.which]),
    )


def _set_targets(
    table: Table, words: Words, rows: NDArray[np.int16], addresses: Addresses, targets: Addresses
) -> None:
    """Where words lead that lead anywhere, in place."""
    for number, at in by_row(rows):
        for operand in table.rows[number].format.operands:
            if operand.kind is Kind.TARGET:
                targets[at] = operand.goals(
                    table.extract(words[at], operand), addresses[at], table.size
                )
