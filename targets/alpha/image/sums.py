"""Addresses that instructions add up to: `ldah rX,hi($29); lda rY,lo(rX)`.

Every `lda` off a register that some `ldah` off gp in the function wrote is combined with every such
`ldah`: too many addresses only make more block boundaries.  Hand-written code adds to its own place
as well, which a `br` leaves in a register, and $27 at the function's start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses, addresses, contains, holders, shifted
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function, extents
from rewriter.core.target.protocol import Pair
from targets.alpha.registers import GP, PV, SP, ZERO

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Sums:
    """Addresses by the function that may make them, in ascending order of `owners`."""

    owners: Numbers
    every: Addresses

    def of(self, number: int) -> frozenset[int]:
        """What the function of a number may make."""
        first, last = self.owners.searchsorted((number, number + 1))
        return frozenset(self.every[first:last].tolist())


def sums(listing: Listing, functions: Sequence[Function], known: Mapping[int, int]) -> Sums:
    """Addresses that each function may make from gp; `known` has the gp of functions by start."""
    highs, lows = _Halves.highs(listing, functions), _Halves.lows(listing, functions)
    found = list(_added(highs, lows, functions, known))
    if not found:
        return Sums(np.empty(0, dtype=np.int64), addresses(()))
    owners = np.concatenate([highs.owner[ups] for ups, _, _ in found])
    every = np.concatenate([total for _, _, total in found])
    order = np.lexsort((every, owners))
    owners, every = owners[order], every[order]
    new = np.ones(len(every), dtype=bool)
    new[1:] = (owners[1:] != owners[:-1]) | (every[1:] != every[:-1])
    return Sums(owners[new], every[new])


def pairs(
    listing: Listing,
    functions: Sequence[Function],
    known: Mapping[int, int],
    wanted: frozenset[int],
) -> Iterator[tuple[Function, Pair]]:
    """What makes one of the wanted addresses, with the function that does."""
    highs, lows = _Halves.highs(listing, functions), _Halves.lows(listing, functions)
    yield from (made for made in standing(listing, functions) if made[1].label in wanted)
    goals = addresses(sorted(wanted))
    for ups, downs, totals in _added(highs, lows, functions, known):
        chosen = np.flatnonzero(contains(goals, totals))
        up, down = ups[chosen], downs[chosen]
        columns = highs.owner[up], totals[chosen], highs.register[up], highs.at[up], lows.at[down]
        for owner, *values in zip(*(column.tolist() for column in columns), strict=True):
            yield functions[owner], Pair(*values)


def standing(listing: Listing, functions: Sequence[Function]) -> Iterator[tuple[Function, Pair]]:
    """Addresses in text that an `lda` makes from where code stands, with the function that does."""
    at, link, _ = _fields(listing, "br")
    linked = link != ZERO
    here = _Halves.inside(listing, functions, at[linked], link[linked], at[linked])
    places: dict[int, list[tuple[int, int]]] = {}
    for place, key in zip(here.at.tolist(), here.key.tolist(), strict=True):
        behind = int(listing.addresses[place]) + listing.table.size
        places.setdefault(key, []).append((place, behind))
    lows = _Halves.lows(listing, functions)
    for n in np.flatnonzero((lows.register == PV) | np.isin(lows.key, [*places])).tolist():
        function, register, low = functions[lows.owner[n]], int(lows.register[n]), int(lows.at[n])
        found = places.get(int(lows.key[n]), [])
        if register == PV and listing.has(function.start):
            found = [*found, (listing.index(function.start), function.start)]
        for high, value in found:
            label = (value + int(lows.distance[n])) % (1 << 64)
            if high <= low and listing.has(label):
                yield function, Pair(label, register, high, low)


@dataclass(frozen=True)
class _Halves:
    """Positions of instructions in functions with the register that joins them, and distances."""

    at: Numbers
    owner: Numbers
    register: Numbers
    distance: Numbers

    @classmethod
    def highs(cls, listing: Listing, functions: Sequence[Function]) -> _Halves:
        """The `ldah` off gp that make no gp, by what they write."""
        at, ra, disp, rb = _fields(listing, "ldah")
        chosen = (rb == GP) & (ra != GP)
        return cls.inside(listing, functions, at[chosen], ra[chosen], disp[chosen] << 16)

    @classmethod
    def lows(cls, listing: Listing, functions: Sequence[Function]) -> _Halves:
        """The `lda` by what they read."""
        at, _, disp, rb = _fields(listing, "lda")
        chosen = ~np.isin(rb, (GP, SP, ZERO))
        return cls.inside(listing, functions, at[chosen], rb[chosen], disp[chosen])

    @classmethod
    def inside(
        cls,
        listing: Listing,
        functions: Sequence[Function],
        at: Numbers,
        register: Numbers,
        distance: Numbers,
    ) -> _Halves:
        owner = holders(extents(functions), listing.addresses[at])
        inside = owner >= 0
        return cls(at[inside], owner[inside], register[inside], distance[inside])

    @property
    def key(self) -> Numbers:
        """The same for halves of one function that a register joins."""
        return self.owner << 8 | self.register


def _fields(listing: Listing, name: str) -> tuple[Numbers, ...]:
    """The position and the operands of every instruction of one row."""
    op = listing.table.find(name)
    at = np.flatnonzero(listing.rows == listing.table.rows.index(op))
    words = listing.words[at]
    return (at, *(listing.table.extract(words, operand) for operand in op.format.operands))


def _added(
    highs: _Halves, lows: _Halves, functions: Sequence[Function], known: Mapping[int, int]
) -> Iterator[tuple[Numbers, Numbers, Addresses]]:
    """The numbers of two halves and their sum, for each gp that may be in their function."""
    order = np.argsort(lows.key, kind="stable")
    ordered, wanted = lows.key[order], highs.key
    first, last = ordered.searchsorted(wanted), ordered.searchsorted(wanted, side="right")
    counts = last - first
    ups = np.repeat(np.arange(len(wanted)), counts)
    downs = order[np.arange(len(ups)) + np.repeat(first - (np.cumsum(counts) - counts), counts)]
    distances = highs.distance[ups] + lows.distance[downs]
    unknown = np.array([f.start not in known for f in functions], dtype=bool)
    made = addresses(known.get(f.start, 0) for f in functions)
    owner = highs.owner[ups]
    for gp in sorted(set(known.values())):
        chosen = unknown[owner] | (made[owner] == gp)
        yield ups[chosen], downs[chosen], shifted(gp, distances[chosen])
