"""Tables in which a system keeps addresses of code: where they stand, and what entries say.

A system looks an instruction up in such a table when it faults, or goes through one when it starts
and writes over what it names.  The exception table is rewritten where its accesses move; what any
other table names stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

import numpy as np

from rewriter.core.addresses import addresses
from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.memory import Memory
from rewriter.core.code.program import Fixup
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import ByteOrder


class Sections(Protocol):
    """What is asked of a file."""

    @property
    def is_sectioned(self) -> bool:
        """Whether section headers say, by names, what stands where."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Bytes as loaded, before relocation."""
        ...

    def table(self, name: str) -> range:
        """The addresses of the section of that name; empty where there is none."""
        ...

    def enclosed(self, name: str) -> range:
        """The addresses between the symbols by which code finds a part of a section."""
        ...


class CannotMove(Exception):
    """Why code must stay where it is."""


class From(Enum):
    """What a field that names an address counts from."""

    FIELD = "its own place"
    ENTRY = "where its entry begins"
    ZERO = "nothing: it is the address"


@dataclass(frozen=True, slots=True)
class Pointer:
    """A field of an entry, `offset` bytes in it and `size` bytes long, that names an address.

    It counts from `base`; its bits that are in `flags` say something else.
    """

    offset: int
    size: int
    base: From = From.FIELD
    flags: int = 0

    def is_empty(self, entry: bytes) -> bool:
        """Whether the field of an entry is 0."""
        return not any(entry[self.offset : self.offset + self.size])

    def read(self, entry: bytes, at: int, order: ByteOrder) -> int:
        """The address that an entry at an address names."""
        raw = entry[self.offset : self.offset + self.size]
        value = int.from_bytes(raw, order, signed=self.base is not From.ZERO) & ~self.flags
        return (value + self._base(at)) % (1 << 64)

    def written(self, entry: bytes, at: int, order: ByteOrder, address: int) -> bytes:
        """The entry, naming another address; CannotMove where the field is too short for it."""
        first, last = self.offset, self.offset + self.size
        kept = int.from_bytes(entry[first:last], order) & self.flags
        value = address - self._base(at)
        try:
            new = (value | kept).to_bytes(self.size, order, signed=self.base is not From.ZERO)
        except OverflowError as far:
            raise CannotMove(f"an entry at {at:#x} does not reach {address:#x}") from far
        return entry[:first] + new + entry[last:]

    def _base(self, at: int) -> int:
        """The address that the field counts from, in an entry at an address."""
        if self.base is From.FIELD:
            return at + self.offset
        return at if self.base is From.ENTRY else 0


class Holds(Enum):
    """What the system relies on where a table names code."""

    KEPT = "an instruction stays what it is and where it is"
    SWITCHED = "an instruction may become a branch to another place, or do nothing"
    WRITTEN = "other code may stand there"
    ENTERED = "control may come there"
    SEEN = "whoever stops control there looks at registers and memory"
    TRACED = "a call may be made there, or none; whoever is called looks at all and keeps it"


@dataclass(frozen=True, slots=True)
class Named:
    """What an entry says of the code from `start` to before `end`.

    `end` is a field of the entry too, or how many bytes; `target` is where a branch may lead.  What
    it holds begins `ahead` bytes before `start`.  An entry whose `start` is 0 says nothing.  The
    word at `start` is one of `stands`, of each a mask and what is left of it; any where none is.
    """

    holds: Holds
    start: Pointer
    end: Pointer | int = 0
    target: Pointer | None = None
    ahead: int = 0
    stands: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A kind of table: the section, or part of one, of a name; an entry's `size` in bytes, and what
    that names.
    """

    name: str
    size: int
    named: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """What an entry of a `table` of a file holds: addresses from `start` to before `end`."""

    table: str
    entry: int
    holds: Holds
    start: int
    end: int
    target: int | None = None


def table_of(image: Sections, name: str) -> range:
    """The addresses of the section, or part of one, of a name."""
    return image.table(name) or image.enclosed(name)


def held(layout: Layout, image: Sections, order: ByteOrder) -> Iterator[Held]:
    """What the entries of a table name in a file, in their order."""
    where = table_of(image, layout.name)
    for at in range(where.start, where.stop - layout.size + 1, layout.size):
        entry = image.read(at, layout.size)
        for named in layout.named:
            if named.start.is_empty(entry):
                continue
            start = named.start.read(entry, at, order)
            size = named.end
            end = start + size if isinstance(size, int) else size.read(entry, at, order)
            to = None if named.target is None else named.target.read(entry, at, order)
            yield Held(layout.name, at, named.holds, start - named.ahead, end, to)


def switched(listing: Listing, every: Iterable[Held]) -> Listing:
    """A listing in which what does nothing and may become a branch is one, taken or not."""
    pairs = {one.start: one.target for one in every if one.target is not None}
    at = listing.positions(addresses(pairs))
    at = at[listing.flows[at] == FLOW_CODE[Flow.NEXT]]
    flows, targets = listing.flows.copy(), listing.targets.copy()
    flows[at] = FLOW_CODE[Flow.BRANCH]
    targets[at] = addresses(pairs[place] for place in listing.addresses[at].tolist())
    return replace(listing, flows=flows, targets=targets)


def seen(listing: Listing, every: Iterable[Held], everything: int) -> Listing:
    """A listing in which code reads all registers, `everything`, where somebody else may do so.

    He looks at it there, or what he puts into its place reads them.
    """
    looked = (Holds.SEEN, Holds.TRACED)
    ranges = [
        (one.start, one.end) for one in every if one.holds in looked or is_written(listing, one)
    ]
    if not ranges:
        return listing
    at = np.concatenate([np.arange(*listing.span(*places)) for places in ranges])
    return replace(listing, uses=listing.uses.with_mask(at, everything))


def is_written(listing: Listing, held: Held) -> bool:
    """Whether other code may stand there than the listing shows."""
    if held.holds not in _SHOWN:
        return held.holds is Holds.WRITTEN
    shown = FLOW_CODE[_SHOWN[held.holds]]
    return listing.has(held.start) and bool(listing.flows[listing.index(held.start)] != shown)


_SHOWN = MappingProxyType({Holds.SWITCHED: Flow.BRANCH, Holds.TRACED: Flow.CALL})
"""What a listing must show of code that may stand there or not, so that nothing else does."""


Shape = tuple[tuple[int, int], ...]
"""Code that stands so: of each instruction a mask, and what is left of it there."""


def shaped(listing: Listing, shapes: Iterable[Shape]) -> Iterator[Held]:
    """The instructions that begin code of some shapes, over which the system writes."""
    for shape in shapes:
        count = max(len(listing) - len(shape) + 1, 0)
        found = np.ones(count, dtype=np.bool_)
        for n, (mask, word) in enumerate(shape):
            found &= listing.words[n : n + count] & np.uint64(mask) == np.uint64(word)
        for at in np.flatnonzero(found).tolist():
            place = int(listing.addresses[at])
            yield Held("code of a known shape", place, Holds.WRITTEN, place, place + 1)


def between(places: Mapping[str, int], pairs: Iterable[tuple[str, str]]) -> Iterator[Held]:
    """What stands between pairs of symbols, of which these are the places, and is written over."""
    for name, end in pairs:
        if name in places and end in places:
            yield Held(
                f"code from {name} on", places[name], Holds.WRITTEN, places[name], places[end]
            )


class Exceptions(Protocol):
    """The table of accesses that may fault, with where control then goes on.

    An entry has `size` bytes.  It is `sorted` where the system finds an access by halving a table
    that it does not sort itself: then the accesses ascend, in any file.
    """

    @property
    def size(self) -> int: ...
    @property
    def sorted(self) -> bool: ...

    def where(self, image: Sections) -> range:
        """The addresses of the table's bytes; empty where there is none."""
        ...

    def read(self, image: Sections) -> tuple[Fixup, ...]:
        """The table, entry by entry; entries for no instruction are left out."""
        ...

    def entry(self, fixup: Fixup) -> bytes:
        """The bytes of an entry; CannotMove where it cannot say that."""
        ...

    def dead(self, at: int) -> bytes:
        """The bytes of an entry at an address for no instruction at all."""
        ...


@dataclass(frozen=True)
class PairedExceptions:
    """An exception table of pairs: the access, and where control goes on; nothing else is set."""

    section: str
    access: Pointer
    resume: Pointer
    order: ByteOrder
    sorted: bool = False

    @cached_property
    def size(self) -> int:
        """Bytes of an entry."""
        return self.access.size + self.resume.size

    def where(self, image: Sections) -> range:
        """The addresses of the table's bytes."""
        return table_of(image, self.section)

    def read(self, image: Sections) -> tuple[Fixup, ...]:
        """The table, in its order."""
        where, found = self.where(image), list[Fixup]()
        for at in range(where.start, where.stop - self.size + 1, self.size):
            entry = image.read(at, self.size)
            if not self.access.is_empty(entry):
                access, resume = (p.read(entry, at, self.order) for p in (self.access, self.resume))
                found.append(Fixup(at, access, resume, ()))
        return tuple(found)

    def entry(self, fixup: Fixup) -> bytes:
        """The bytes of an entry."""
        if fixup.sets:
            raise CannotMove(f"an entry sets no register, as that of {fixup.access:#x} would")
        blank, at = bytes(self.size), fixup.entry
        there = self.access.written(blank, at, self.order, fixup.access)
        return self.resume.written(there, at, self.order, fixup.resume)

    def dead(self, at: int) -> bytes:
        """An entry of zeros names its own place, or none: no code is there."""
        return bytes(self.size)


class NoExceptions:
    """No table: no access goes on elsewhere."""

    size = 1
    sorted = False

    def where(self, image: Sections) -> range:
        """Nowhere."""
        return range(0)

    def read(self, image: Sections) -> tuple[Fixup, ...]:
        """Nothing."""
        return ()

    def entry(self, fixup: Fixup) -> bytes:
        """Nothing can be said."""
        raise CannotMove("this system has no exception table")

    def dead(self, at: int) -> bytes:
        """Nothing can be said."""
        raise CannotMove("this system has no exception table")


class Walked(Protocol):
    """Bounds of tables that no symbol names, as the functions have them that go through them."""

    def bounds(self, image: Memory, functions: Mapping[str, range]) -> Mapping[str, range]:
        """The tables whose bounds are known, of a system of which all functions have names."""
        ...


@dataclass(frozen=True)
class SystemTables:
    """All tables of a system that name code: the exception table, and those that hold it still.

    Every such system has the tables `always`, and its code is left alone where they are not found.
    So it is where the bounds of the table `bounded` cannot be read: of others in the same section
    the bounds are not known either.  With `sites`, single words of data name, each from its own
    place, an instruction that the system writes over.  A system that is `chained` finds who called
    whom by the chain of frames on the stack, and by nothing else that says where in a function
    control is.  `apart` are sections
    whose code runs before addresses are translated, or where it was not linked to run; so may what
    they call, and whatever has an instruction of `turns`.  The system writes over instructions that
    begin code of one of `shapes`.  Without symbols of data, bounds are known as `walked` has them.
    `looks_back` says by mnemonic of instructions with an exception entry at how many before one the
    handler of faults looks.  The register `of_processor` says where the data of the processor is:
    it is another when the system lets the code go on on another processor.  What names a register
    of the mask `enabled` traps till the system has turned it on, which is an event.  `templates`
    are pairs of symbols: what is between both the system copies, and writes over the copy.  All
    entries of an exception table that is `accessing` are on loads and stores.
    """

    order: ByteOrder
    exceptions: Exceptions = NoExceptions()  # noqa: RUF009  # it has no state
    layouts: tuple[Layout, ...] = ()
    always: tuple[str, ...] = ()
    bounded: str = ""
    sites: bool = False
    chained: bool = False
    apart: tuple[str, ...] = ()
    turns: frozenset[str] = frozenset()
    shapes: tuple[Shape, ...] = ()
    walked: Walked | None = None
    looks_back: tuple[tuple[str, int], ...] = ()
    of_processor: Reg | None = None
    enabled: int = 0
    templates: tuple[tuple[str, str], ...] = ()
    accessing: bool = False

    def held(self, image: Sections) -> tuple[Held, ...]:
        """What the tables of a file hold where it is, but for accesses that may fault."""
        return tuple(one for layout in self.layouts for one in held(layout, image, self.order))

    def switches(self, image: Sections) -> tuple[Held, ...]:
        """Those of them that may become a branch."""
        switching = (one for one in self.layouts if any(named.target for named in one.named))
        every = (one for layout in switching for one in held(layout, image, self.order))
        return tuple(one for one in every if one.holds is Holds.SWITCHED)

    def places(self, image: Sections) -> tuple[range, ...]:
        """The addresses of the tables that are read."""
        names = (layout.name for layout in self.layouts)
        return (self.exceptions.where(image), *(table_of(image, name) for name in names))
