"""Which functions are parts of one, between which control goes as inside of one.

Compilers put what is seldom executed of a function elsewhere (`-freorder-blocks-and-partition`),
with an unwind entry and a symbol of its own.  A `goto *` of one part may lead to a label of another
one, and the unwind entry of a part that is entered with a frame begins with it.  In a stripped file
a part that is entered without a frame looks like a function in every other way.  It counts as a
part if no call enters it, and another function branches to it or has labels beside its own in data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rewriter.analysis.functions import has_symbol
from rewriter.core.addresses import Addresses, Sides, holders
from rewriter.core.code.listing import FLOW_CODE, Listing, among
from rewriter.core.code.program import Function, extents
from rewriter.core.errors import BadInput
from rewriter.core.isa.flow import BRANCHING, CALLS, Flow, To, leading
from rewriter.core.target.protocol import Sequential
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.rows import first_rules, initial_rules, rows

_COLD = ".cold"
"""What gcc and LLVM add to the name of a function for that of its seldom executed part."""

Link = tuple[int, int]
"""The starts of two functions that are parts of one."""


class Frames:
    """What unwind entries, by their start, say of frames on the stack; each is read once."""

    def __init__(self, entries: Mapping[int, Fde]) -> None:
        self.entries = entries
        self._rows: dict[int, list[tuple[int, bool]]] = {}
        self._depths: dict[int, int | None] = {}

    def of(self, start: int) -> list[tuple[int, bool]]:
        """Of a function's unwind rows, whether there is another frame from each on than at first.

        Nothing where it has no rows, or none that are understood.
        """
        if start not in self._rows:
            frame = self.entries.get(start)
            try:
                described = [] if frame is None else rows(frame)
            except BadInput:
                described = []
            self._rows[start] = [(at, one.cfa != described[0][1].cfa) for at, one in described]
        return self._rows[start]

    def depth(self, start: int) -> int | None:
        """How far the stack pointer is below its place at the call where a function begins.

        None where a frame is there already and its size is not seen; 0 where nothing is said.
        """
        if start not in self._depths:
            frame = self.entries.get(start)
            self._depths[start] = 0 if frame is None else _depth(frame)
        return self._depths[start]


def _depth(frame: Fde) -> int | None:
    """How far the stack pointer is below its place at the call where an unwind entry begins."""
    try:
        first, usual = first_rules(frame), initial_rules(frame)
    except BadInput:
        return 0
    (kind, base, offset), (_, usual_base, usual_offset) = first.cfa, usual.cfa
    if first.cfa != usual.cfa:
        known = kind == "register" and base == usual_base
        assert not known or (isinstance(offset, int) and isinstance(usual_offset, int))
        return int(offset) - int(usual_offset) if known else None
    saved = set(first.registers) - set(usual.registers)
    return None if any(rule[0] == "offset" for _, rule in saved) else 0


@dataclass(frozen=True)
class Parts:
    """What is known of the parts of functions.

    `together` are by the start of a function that is no whole one all parts of it; `inner` are
    starts that may be labels as others inside a function are, `loose` those of parts of which
    nobody knows whose they are, `entered` those of functions into which others branch, and `cold`
    those of seldom executed parts by their names.
    """

    frames: Frames
    together: Mapping[int, Sequence[Function]] = field(default_factory=dict)
    inner: frozenset[int] = frozenset()
    loose: frozenset[int] = frozenset()
    entered: frozenset[int] = frozenset()
    cold: frozenset[int] = frozenset()

    def of(self, function: Function) -> Sequence[Function]:
        """All parts of what a function is a part of."""
        return self.together.get(function.start, (function,))

    def depth(self, start: int) -> int | None:
        """How far the stack pointer is below its place at the call where a function begins."""
        if start in self.cold and start not in self.frames.entries:
            return None
        return self.frames.depth(start)


@dataclass(frozen=True)
class _Text:
    """Functions, of which some begin with a frame, and the addresses that data or code names.

    Only what has a computed jump or a label matters here.
    """

    listing: Listing
    functions: Sequence[Function]
    target: Sequential
    named: Collection[int]
    frames: Frames

    @cached_property
    def starts(self) -> list[int]:
        """Where functions start, ascending."""
        return [function.start for function in self.functions]

    @cached_property
    def _starting(self) -> frozenset[int]:
        return frozenset(self.starts)

    def owner(self, place: int) -> Function | None:
        """The function that holds an address."""
        at = bisect_right(self.starts, place) - 1
        return self.functions[at] if at >= 0 and place in self.functions[at] else None

    def enters(self, function: Function, place: int) -> bool:
        """Whether an address in a function is one at which callers enter it."""
        return place in self._starting or place in self.target.entries(self.listing, function)

    def jumping(self) -> set[int]:
        """Starts of the functions with computed jumps."""
        jumps = self.listing.addresses[self.listing.flows == FLOW_CODE[Flow.INDIRECT]].tolist()
        return {owner.start for owner in map(self.owner, jumps) if owner is not None}

    def labelled(self, inner: Collection[int]) -> set[int]:
        """Starts of the functions with addresses that are named, but for those of callers."""
        owners = ((self.owner(place), place) for place in self.named)
        return {
            owner.start
            for owner, place in owners
            if owner is not None and (place in inner or not self.enters(owner, place))
        }

    @cached_property
    def _owners(self) -> Sides:
        return extents(self.functions)

    @cached_property
    def _called(self) -> Addresses:
        """Where direct calls lead."""
        listing = self.listing
        return np.unique(listing.targets[among(listing.flows, leading(To.PLACE) & CALLS)])

    @cached_property
    def nameless(self) -> frozenset[int]:
        """Starts of what may be parts of functions, for all that is seen of callers.

        They have no symbol, no direct call leads to them, and they do not make the pointer to
        shared data of the address by which a caller came.
        """
        called = frozenset(self._called.tolist())
        free = (f for f in self.functions if f.start not in called and not has_symbol(f))
        return frozenset(f.start for f in free if not self.target.entries(self.listing, f))

    @cached_property
    def _collections(self) -> frozenset[int]:
        """Starts of what is no function but routines that are called one by one, as those through
        which a linker has calls leave a file."""
        called = self._called
        holding = zip(holders(self._owners, called).tolist(), called.tolist(), strict=True)
        found = ((self.functions[n], place) for n, place in holding if n >= 0)
        return frozenset(f.start for f, place in found if not self.enters(f, place))

    def branches(self, inner: Collection[int]) -> Iterator[Link]:
        """Functions of which one branches into the other, but not where callers enter it."""
        listing = self.listing
        at = np.flatnonzero(among(listing.flows, BRANCHING))
        here, there = (
            holders(self._owners, places) for places in (listing.addresses[at], listing.targets[at])
        )
        away = np.flatnonzero((here != there) & (here >= 0) & (there >= 0))
        for n in away.tolist():
            one, other = self.functions[int(here[n])], self.functions[int(there[n])]
            place = int(listing.targets[at[n]])
            enters = place not in inner and self.enters(other, place)
            if not enters and other.start not in self._collections:
                yield one.start, other.start

    def names(self) -> Iterator[Link]:
        """Functions of which one has the name of the other's seldom executed part."""
        called: dict[str, list[int]] = {}
        for function in self.functions:
            called.setdefault(function.name.partition("@")[0], []).append(function.start)
        for function in self.functions:
            if _COLD in function.name:
                # Of functions of one name nothing says which it is.
                for start in called.get(function.name.partition(_COLD)[0], ()):
                    yield function.start, start

    def neighbours(self, words: Mapping[int, int], inner: Set[int]) -> Iterator[Link]:
        """Functions of which one may be a part, with labels of both beside each other in data: they
        are of one table, perhaps.

        Starts without a symbol, side by side, are no such labels: a table of functions has them.
        """
        size, parts = self.listing.table.cell, inner | self.nameless
        for place in sorted(words):
            other = words.get(place + size)
            here = self.owner(words[place]) if other is not None else None
            there = self.owner(other) if other is not None and here is not None else None
            if here is None or there is None or other is None or here == there:
                continue
            named = (here, words[place]), (there, other)
            labels = {at for owner, at in named if at in inner or not self.enters(owner, at)}
            starts = {words[place], other} - labels
            is_part = not parts.isdisjoint((here.start, there.start))
            if is_part and labels and starts <= self.nameless:
                yield here.start, there.start


def parts_of(
    listing: Listing,
    functions: Sequence[Function],
    target: Sequential,
    frames: Mapping[int, Fde],
    named: Collection[int],
    words: Mapping[int, int],
) -> Parts:
    """The parts of functions: `named` are addresses that data holds or code makes, `words` what
    words of data hold that may be of a table of labels."""
    text = _Text(listing, functions, target, named, Frames(frames))
    jumping = text.jumping()
    cold = {function.start for function in functions if _COLD in function.name}
    starts = jumping | cold | {start for start in text.starts if start in named}
    framed = {start for start in starts if text.frames.depth(start) != 0}
    inner = cold | framed
    wanted = jumping | text.labelled(inner | text.nameless)
    branches = list(text.branches(inner | text.nameless))
    links = [*branches, *text.names(), *text.neighbours(words, inner)]
    parts = inner & wanted
    joining = (link for link in links if wanted.issuperset(link) or not parts.isdisjoint(link))
    together = _joined(text, joining)
    loose = parts - set(together)
    entered = {other for _, other in branches if other not in inner}
    inner |= text.nameless & set(together)
    return Parts(text.frames, together, *map(frozenset, (inner, loose, entered, cold)))


def _joined(text: _Text, links: Iterable[Link]) -> dict[int, Sequence[Function]]:
    """What is linked, directly or by others, by the start of each."""
    groups: dict[int, set[int]] = {}
    for one, other in links:
        here, there = groups.get(one, {one}), groups.get(other, {other})
        if here is not there:
            here |= there
            groups.update(dict.fromkeys(here, here))
    owners = {function.start: function for function in text.functions}
    return {
        start: tuple(owners[one] for one in sorted(group))
        for start, group in groups.items()
        if len(group) > 1
    }
