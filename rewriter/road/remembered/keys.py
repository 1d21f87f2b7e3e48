"""What the result of a function depends on, in one number.

All that is no code counts as a whole: headers, symbols, unwind and exception tables, data.  Of the
code there is what the function has, with some around it, and what the analysis took from the rest:
edges into and out of it, what may be read where control leaves or an access faults, which places
are entered, held and relied on.
What stands for a known routine depends on its callers, so there the whole file counts.

Which way conditions went is known of a whole text or not at all, so what a profile says of the
function's own counts apart from the text.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.flow import between
from rewriter.analysis.program import Program
from rewriter.core.code.program import Fixup, Function, Pin
from rewriter.elf.image import Image
from rewriter.identify.profiles import Direction

_AROUND = 128
"""Bytes before and behind a function that count as its own: fetch blocks are shared."""


@dataclass(frozen=True)
class Keys:
    """The keys of one file's functions; `salt` is what the run itself depends on.

    `directions` and `branched` say which way conditional moves and branches went, by address.
    """

    program: Program
    salt: bytes
    directions: Mapping[int, Direction] = field(default_factory=dict)
    branched: Mapping[int, Direction] = field(default_factory=dict)

    def routine(self, address: int) -> bytes:
        """The key of what may stand for a known routine."""
        return self._digest(b"routine", self._whole, _number(address))

    def function(self, function: Function) -> bytes:
        """The key of what a function becomes."""
        program, graph = self.program, self.program.graph
        blocks = graph.blocks_of(function)
        here = slice(blocks.start, blocks.stop)
        first, last = program.listing.span(function.start, function.end)
        arrays = (
            (graph.first[here] - first, graph.last[here] - first),
            (graph.entered[here], graph.named[here], graph.reached[here], graph.landed[here]),
            (graph.continues[here], graph.resumed[here], graph.faulting[first:last]),
            (graph.outside[here], graph.returned[here], program.spoiled[here]),
            (program.live.live_in[here], program.live.live_out[here]),
            (program.nops[first:last], program.group_ends[first:last]),
        )
        return self._digest(
            b"function",
            self._around,
            repr(function).encode(),
            self._bytes(function),
            *(array.tobytes() for group in arrays for array in group),
            *self._edges(blocks),
            repr(self._said(function, first, last)).encode(),
            repr(self._went(function)).encode(),
        )

    def _said(self, function: Function, first: int, last: int) -> Iterable[Any]:
        """What the analysis says of a function beside its graph."""
        program, within = self.program, range(function.start, function.end)
        known = program.references
        targets = sorted({*program.listing.targets[first:last].tolist()} - {*within})
        return [
            program.not_understood(function),
            [(at, program.live_into(at)) for at in targets],
            [(at, program.islands.leads.get(at)) for at in targets],
            _inside(self._alone, within),
            _inside(self._labels, within), _inside(self._locked, within),
            program.listing.addresses[first:last][program.near_locks[first:last]].tolist(),
            _inside(self._unresolved, within),
            [(at, known.callees[at]) for at in _inside(self._callees, within)],
            known.pointers(function), known.shared.get(function.start),
            sorted(known.constants.get(function.start, ())),
            program.tables_of(function), program.pads_of(function),
            program.fixups_of(function), self._handled(within), self._relied_on(within),
            [(at, program.made_again[at]) for at in _inside(self._made_again, within)],
        ]  # fmt: skip

    def _handled(self, within: range) -> list[tuple[Fixup, int]]:
        """Where accesses may fault, and what may be read then, also in another function."""
        program = self.program
        found = (program.resumes[at] for at in _inside(self._faulting, within))
        return [(fixup, program.live_after_fault(fixup)) for fixup in found]

    def _relied_on(self, within: range) -> Sequence[Pin]:
        """What outside the function relies on places in it; who takes a kernel apart asks not."""
        pins = () if self.program.is_kernel else self.program.pins
        first, end = (
            bisect_left(pins, at, key=attrgetter("address")) for at in (within.start, within.stop)
        )
        return pins[first:end]

    def _went(self, function: Function) -> Iterable[Any]:
        """Which way the conditions of a function went; a move is weighed by all that were run."""
        within = range(function.start, function.end)
        moves = [(at, self.directions[at]) for at in _inside(self._moves, within)]
        branches = [(at, self.branched[at]) for at in _inside(self._branches, within)]
        return [moves, self._moves_run if moves else 0, branches]

    def _edges(self, blocks: range) -> Iterator[bytes]:
        """Edges from and to some blocks; what is in other functions by its address."""
        graph = self.program.graph
        for order, ends in (self._by_source, self._by_target):
            low, high = between(ends, blocks)
            chosen = order[low:high]
            yield self._places(graph.source[chosen], blocks).tobytes()
            yield self._places(graph.target[chosen], blocks).tobytes()
            yield graph.kind[chosen].tobytes() + graph.passed[chosen].tobytes()

    def _places(self, nodes: NDArray[Any], blocks: range) -> NDArray[np.int64]:
        """Nodes as numbers that do not change with code elsewhere."""
        graph, listing = self.program.graph, self.program.listing
        nodes = nodes.astype(np.int64)
        count = len(graph.first)
        code = np.minimum(nodes, count - 1)
        addresses = listing.addresses[graph.first[code]].astype(np.int64)
        own = (nodes >= blocks.start) & (nodes < blocks.stop)
        return np.where(own, nodes - blocks.start, np.where(nodes < count, addresses, -1))

    def _bytes(self, function: Function) -> bytes:
        data, offset = self.program.image.data, self.program.image.offset_of(function.start)
        return data[max(0, offset - _AROUND) : offset + function.size + _AROUND]

    @cached_property
    def _around(self) -> bytes:
        """What counts as a whole: the run, and the file without its code."""
        functions = repr(self.program.functions).encode()
        code = ((f.start, f.end) for f in self.program.functions)
        return self._digest(self.salt, without_code(self.program.image, code), functions)

    @cached_property
    def _whole(self) -> bytes:
        return self._digest(self._around, self.program.image.data)

    @staticmethod
    def _digest(*parts: bytes) -> bytes:
        """One number of several strings of bytes, however these are cut."""
        found = hashlib.sha256()
        for part in parts:
            found.update(_number(len(part)))
            found.update(part)
        return found.digest()

    @cached_property
    def _by_source(self) -> _Ordered:
        return _ordered(self.program.graph.source)

    @cached_property
    def _by_target(self) -> _Ordered:
        return _ordered(self.program.graph.target)

    @cached_property
    def _labels(self) -> NDArray[np.uint64]:
        return _ascending(self.program.references.labels)

    @cached_property
    def _alone(self) -> NDArray[np.uint64]:
        return _ascending(self.program.islands.alone)

    @cached_property
    def _locked(self) -> NDArray[np.uint64]:
        return _ascending(self.program.locked_addresses)

    @cached_property
    def _unresolved(self) -> NDArray[np.uint64]:
        return _ascending(self.program.references.unresolved)

    @cached_property
    def _faulting(self) -> NDArray[np.uint64]:
        return _ascending(self.program.resumes)

    @cached_property
    def _callees(self) -> NDArray[np.uint64]:
        return _ascending(self.program.references.callees)

    @cached_property
    def _made_again(self) -> NDArray[np.uint64]:
        return _ascending(self.program.made_again)

    @cached_property
    def _moves(self) -> NDArray[np.uint64]:
        return _ascending(self.directions)

    @cached_property
    def _moves_run(self) -> int:
        return sum(one.executed for one in self.directions.values())

    @cached_property
    def _branches(self) -> NDArray[np.uint64]:
        return _ascending(self.branched)


_Ordered = tuple[NDArray[np.int64], NDArray[Any]]
"""An order of edges, and their ends in it, which ascend."""


def _ordered(ends: NDArray[Any]) -> _Ordered:
    order = np.argsort(ends, kind="stable")
    return order, ends[order]


def without_code(image: Image, code: Iterable[tuple[int, int]]) -> bytes:
    """SHA-256 of a file with zeros for its code, of which the ranges of addresses are given."""
    rest = bytearray(image.data)
    for start, end in code:
        offset = image.offset_of(start)
        rest[offset : offset + end - start] = bytes(end - start)
    return hashlib.sha256(rest).digest()


def _ascending(addresses: Iterable[int]) -> NDArray[np.uint64]:
    return np.array(sorted(addresses), dtype=np.uint64)


def _inside(addresses: NDArray[np.uint64], within: range) -> list[int]:
    ends = np.array((within.start, within.stop), dtype=np.uint64)
    low, high = np.searchsorted(addresses, ends)
    found: list[int] = addresses[low:high].tolist()
    return found


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")
