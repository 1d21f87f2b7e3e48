"""Computed jumps as they read in order of address, before the flow of control is known.

That order is the compiler's for a switch: bound check, table address, load, jump.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from rewriter.core.addresses import Addresses, contains, shifted
from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.program import Function, JumpTable, TableRead
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.protocol import Definitions, Memory

_AT_ONCE = 1 << 6
_LONGEST_TABLE = 1 << 14  # entries: a switch over kinds of Unicode characters has 1,250
LOOK_BACK = 80  # instructions between a table's set-up and its jump


def written(listing: Listing, register: int, first: int, end: int) -> int | None:
    """The last position of [first, end) that writes a register."""
    column, bit = divmod(register, 64)
    hits = np.flatnonzero(listing.defs[first:end, column] >> np.uint64(bit) & np.uint64(1))
    return first + int(hits[-1]) if len(hits) else None


@dataclass(frozen=True)
class Nearest:
    """Definitions found by going back in address order from a jump, in one function.

    `words` are those of data that do not change once the file is loaded.
    """

    listing: Listing
    function: Function
    jump: int
    words: Mapping[int, int]

    def made(self, register: int, use: int) -> Sequence[tuple[int, Insn]]:
        """The nearest instruction before that writes the register."""
        listing = self.listing
        start, _ = listing.span(self.function.start, self.function.end)
        first = max(start, self.jump - LOOK_BACK)
        made = written(listing, register, first, listing.index(use))
        insn = listing.insn(made) if made is not None else None
        if made is None or insn is None or insn.op.flow not in (Flow.NEXT, Flow.HERE):
            return ()
        return ((int(listing.addresses[made]), insn),)

    def stored(self, base: int, displacement: int, use: int) -> Sequence[tuple[int, int]]:
        """Nothing: such tables are seen by their paths."""
        return ()

    def held(self, place: int) -> int | None:
        """What a word of data holds once the file is loaded, if that does not change."""
        return self.words.get(place)


@dataclass(frozen=True, slots=True)
class Distances:
    """Jump tables of distances with a sign, `size` bytes each, to be added to an address."""

    size: int
    byteorder: ByteOrder
    bits: int

    def led(self, memory: Memory, listing: Listing, address: int, base: int) -> tuple[int, ...]:
        """What a table's entries lead to, up to the first that leads to no instruction."""
        targets, count = list[int](), _AT_ONCE
        while count and len(targets) < _LONGEST_TABLE:
            try:
                part = memory.read(address + self.size * len(targets), self.size * count)
            except BadInput:  # fewer are there, or none
                count //= 2
                continue
            places = self._places(part, base)
            outside = np.flatnonzero(~contains(listing.addresses, places))
            targets += places[: outside[0] if len(outside) else count].tolist()
            if len(outside):
                break
        return tuple(targets)

    def _places(self, table: bytes, base: int) -> Addresses:
        """Where entries lead."""
        order = "<" if self.byteorder == "little" else ">"
        found = shifted(base, np.frombuffer(table, f"{order}i{self.size}"))
        return found & np.uint64((1 << self.bits) - 1)


@dataclass(frozen=True)
class Reader:
    """How a target reads switches: the reads of a jump, and what a table's entries lead to."""

    reads: Callable[[int, Insn, Function, Definitions], list[TableRead]]
    entries: Callable[[int, int], tuple[int, ...]]
    entry_size: int


def jump_tables(
    listing: Listing,
    functions: Sequence[Function],
    words: Mapping[int, int],
    reader: Reader,
) -> tuple[tuple[JumpTable, ...], frozenset[int]]:
    """The tables of all computed jumps, and the jumps outside all functions."""
    starts, tables, outside = [f.start for f in functions], list[JumpTable](), set[int]()
    flows = [FLOW_CODE[flow] for flow in (Flow.INDIRECT, Flow.INDIRECT_IF)]
    for at in np.flatnonzero(np.isin(listing.flows, flows)).tolist():
        insn, jump = listing.insn(at), int(listing.addresses[at])
        owner = bisect_right(starts, jump) - 1
        assert insn is not None
        if owner < 0 or jump not in functions[owner]:
            outside.add(jump)
            continue
        function = functions[owner]
        definitions = Nearest(listing, function, at, words)
        for read in reader.reads(jump, insn, function, definitions):
            if read.address is not None:
                entries = reader.entries(read.address, read.base)
                targets = tuple(takewhile(function.__contains__, entries))
                size = reader.entry_size
                tables.append(JumpTable(jump, read.address, size, read.base, targets, exact=False))
    return _cut(tables), frozenset(outside)


def _cut(tables: Sequence[JumpTable]) -> tuple[JumpTable, ...]:
    """The tables, each up to where another starts."""
    starts = sorted({table.address for table in tables})
    found = []
    for table in tables:
        after = bisect_right(starts, table.address)
        room = starts[after] - table.address if after < len(starts) else 1 << 64
        found.append(replace(table, targets=table.targets[: room // table.size]))
    return tuple(found)
