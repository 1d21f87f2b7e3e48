"""Everything that retune knows about a file's text before it touches it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis import flow, jumps, labels, liveness
from rewriter.analysis.edges import Convention, anything
from rewriter.analysis.exception_ranges import ExceptionRanges
from rewriter.analysis.functions import doubtful, find_functions, is_only_called, with_called
from rewriter.analysis.parts import parts_of
from rewriter.analysis.relations import Facts, LinearEffects, relations
from rewriter.analysis.reservations import Islands, islands, locked_addresses, near_locks
from rewriter.analysis.returning import returned_through
from rewriter.analysis.values.chains import chained
from rewriter.analysis.values.continued import continued
from rewriter.analysis.values.keeping import spoiled
from rewriter.analysis.values.memory import Held as InMemory
from rewriter.analysis.values.memory import Memory, known_memory
from rewriter.analysis.values.pointers import Again, Text, made_again
from rewriter.analysis.values.ranges import ranges
from rewriter.core.addresses import Sides, addresses, first_at
from rewriter.core.assumptions import EVERY, STANDARD, TABLES
from rewriter.core.code.dataflow import Fact
from rewriter.core.code.listing import FLOW_CODE, UNKNOWN, Listing, among
from rewriter.core.code.nops import is_kept, kept, nops, rows_keeping
from rewriter.core.code.program import Fixup, Function, JumpTable, Pin, extents
from rewriter.core.code.superblock import Superblock, straight
from rewriter.core.code.system_tables import (
    Held,
    Holds,
    SystemTables,
    between,
    is_written,
    seen,
    shaped,
    switched,
)
from rewriter.core.code.unread_tables import unread
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Flow, Insn, Op, To, leading
from rewriter.core.isa.registers import Masks
from rewriter.core.run.garbage import seldom_collected
from rewriter.core.target.protocol import KnownMemory, References, Sequential, whole
from rewriter.elf.headers import ET_EXEC
from rewriter.elf.image import Image
from rewriter.elf.pins import (
    Source,
    begun,
    fixed_words,
    kinds_of,
    known_at_run_time,
    named_by_code,
    pinned,
    pins_of,
    relied_on,
    relocated,
    text_words,
)
from rewriter.elf.probes import NOTES
from rewriter.elf.sequences import DESCRIPTORS, sequences
from rewriter.elf.sites import but_for_switches, sites
from rewriter.elf.unwind import entries as unwind
from rewriter.elf.unwind.rows import saved_among

_IN_FLIGHT = 100
"""Instructions: the 80 of the 21264 Hardware Reference Manual, 2.6.4, and some that may go."""

_COMPUTED = FLOW_CODE[Flow.INDIRECT_CALL]


@dataclass(frozen=True)
class Program:
    """A file's text: listing, functions, graph, liveness, and what is not understood.

    `spoiled` are by block general registers that its call may change against the standard.
    `fixups` are by the address of the access that may fault; `resumes` has them and what may throw
    to a landing pad; `held` is what other tables, of the system and of debuggers, say of code;
    `unread` is what of a kernel names code and cannot be read, so that all of it is left alone.
    `assume` names what proofs may rest on.  `jobs` processes may share what is found of all of it.
    """

    image: Image
    target: Sequential
    listing: Listing
    functions: tuple[Function, ...]
    frames: dict[int, unwind.Fde]
    references: References
    graph: flow.Graph
    live: liveness.Liveness
    spoiled: Masks
    fixups: dict[int, Fixup] = field(default_factory=dict)
    assume: frozenset[str] = EVERY
    exceptions: ExceptionRanges = field(default_factory=lambda: ExceptionRanges((), ()))
    resumes: dict[int, Fixup] = field(default_factory=dict)
    held: tuple[Held, ...] = ()
    unread: str = ""
    jobs: int = 1
    _starts: list[int] = field(default_factory=list)

    @cached_property
    def pins(self) -> tuple[Pin, ...]:
        """What outside text relies on addresses in it."""
        return pins_of(self._relied_on())

    def kinds_of_pins(self) -> Counter[str]:
        """How much of each kind that is."""
        return kinds_of(self._relied_on())

    def _relied_on(self) -> set[Source]:
        image, frames = self.image, self.frames.values()
        return relied_on(image, self.target, self.listing, self.functions, frames)

    def function_at(self, address: int) -> Function | None:
        """The function that holds an address."""
        at = bisect_right(self._starts, address) - 1
        return self.functions[at] if at >= 0 and address in self.functions[at] else None

    @cached_property
    def ranges(self) -> Sides:
        """Where each function starts, and where each ends."""
        return extents(self.functions)

    def pads_of(self, function: Function) -> tuple[int, ...]:
        """The landing pads in a function to which only the unwinder leads from outside."""
        pads = self.exceptions.pads_in(function.start, function.end)
        found = (pad for pad in pads if self.listing.has(pad))
        return tuple(pad for pad in found if self.graph.landed[self.graph.block_at(pad)])

    def tables_of(self, function: Function) -> tuple[JumpTable, ...]:
        """The jump tables that the function's jumps read."""
        return self._tables.get(function.start, ())

    @cached_property
    def _tables(self) -> dict[int, tuple[JumpTable, ...]]:
        found: dict[int, tuple[JumpTable, ...]] = {}
        for table in self.references.tables:
            owner = self.function_at(table.jump)
            if owner is not None:
                found[owner.start] = (*found.get(owner.start, ()), table)
        return found

    def facts(self, function: Function) -> dict[int, Facts]:
        """What is known of registers at each block of a function."""
        if function.start not in self._facts:
            self._facts.clear()  # who asks again asks at once
            self._facts[function.start] = self._found(function)
        return self._facts[function.start]

    def _found(self, function: Function) -> dict[int, Facts]:
        """What registers are at each block, as far as is known, and the ranges they are in."""
        found = relations(self.graph, function, self._effects, self.spoiled)
        comparing = self.target.comparing
        if comparing is not None:
            within = ranges(self.graph, function, self._effects, comparing, self.spoiled)
            for block, some in within.items():
                facts = found.setdefault(block, {})
                for register, one in some.items():
                    facts[register] = facts.get(register, Fact(register, 0))._replace(within=one)
        return found

    def needed(self, function: Function) -> liveness.Needed:
        """Which registers anything that is seen may come from, in a function."""
        if function.start not in self._needed:
            self._needed.clear()  # who asks again asks at once
            known = self.graph, function, self.live, self.target.spelling.SCRATCH
            self._needed[function.start] = liveness.needed(*known)
        return self._needed[function.start]

    @cached_property
    def _needed(self) -> dict[int, liveness.Needed]:
        return {}

    @cached_property
    def _effects(self) -> LinearEffects:
        return LinearEffects(self.target)

    @cached_property
    def _facts(self) -> dict[int, dict[int, Facts]]:
        return {}

    @cached_property
    def locked_addresses(self) -> frozenset[int]:
        """Addresses whose instruction stays what and where it is.

        They are between a load-locked and its store-conditional, or a table of the system has them.
        """
        return locked_addresses(self.graph) | self.held_addresses

    @cached_property
    def islands(self) -> Islands:
        """Jumps outside all functions from a function and back."""
        return islands(self.graph)

    @cached_property
    def held_addresses(self) -> frozenset[int]:
        """Addresses of instructions that a table of the system names, or that are in its ranges.

        Of those in the exception table they are nops: the rest is rewritten where it moves.
        """
        size = self.target.table.size
        ranges = (range(h.start, h.end, size) for h in self.held if h.holds is not Holds.ENTERED)
        named = (address for places in ranges for address in places)
        return frozenset((*named, *filter(self._is_nop_at, self.fixups)))

    def _is_nop_at(self, address: int) -> bool:
        insn = self.listing.insn(self.listing.index(address))
        return insn is not None and self.target.is_nop(insn)

    @cached_property
    def nops(self) -> NDArray[np.bool_]:
        """The positions of nops that nobody needs."""
        target, table = self.target, self.target.table
        usual = {table.encode(insn) for insn in target.nops(table.size)}
        return nops(self.listing, target.is_nop, self.keeps_nop, self.held_addresses, usual)

    @cached_property
    def padding_jumps(self) -> NDArray[np.int64]:
        """The positions of jumps over nops alone to which control does not come.

        Assemblers fill the room before what is aligned with nops, and lead over many of them: no
        more than the boundary needs that stands behind them.
        """
        listing, graph, table = self.listing, self.graph, self.listing.table
        jumps = np.flatnonzero(listing.flows == FLOW_CODE[Flow.JUMP])
        jumps = jumps[~graph.reached[np.searchsorted(graph.first, jumps, side="right") - 1]]
        targets = listing.targets[jumps]
        filled = (targets & -targets) > targets - listing.addresses[jumps]
        jumps, targets = jumps[filled], targets[filled]
        behind = np.searchsorted(listing.addresses, targets)
        passed = np.concatenate(([0], np.cumsum(self.nops)))
        over = behind - jumps - 1
        jumps = jumps[(over > 0) & (passed[behind] - passed[jumps + 1] == over)]
        held = self.held_addresses
        insns = ((at, listing.insn(at)) for at in jumps.tolist())
        alone = [at for at, insn in insns if insn is not None and not table.defs(insn)]
        places = listing.addresses[alone].tolist()
        free = [at for at, place in zip(alone, places, strict=True) if place not in held]
        return np.array(free, dtype=np.int64)

    @cached_property
    def padding_addresses(self) -> frozenset[int]:
        """Their addresses."""
        return frozenset(self.listing.addresses[self.padding_jumps].tolist())

    @cached_property
    def group_ends(self) -> NDArray[np.bool_]:
        """The positions of what does nothing but end a group, and may go like nops."""
        listing, target = self.listing, self.target
        found = np.zeros(len(listing), dtype=bool)
        for number in {listing.table.rows.index(nop.op) for nop in target.nops(listing.table.size)}:
            at = np.flatnonzero(listing.rows == number)
            words, of = np.unique(listing.words[at], return_inverse=True)
            insns = map(listing.table.decode, words.tolist())
            ends = [insn is not None and target.ends_group(insn) for insn in insns]
            found[at] = np.array(ends, dtype=bool)[of]
        keeping = rows_keeping(listing.table, self.keeps_nop)
        return found & ~kept(listing, 0, len(listing), keeping, self.held_addresses)

    def is_nop(self, address: int, insn: Insn) -> bool:
        """Whether an instruction that stands, or would, at an address does nothing there."""
        if not self.target.is_nop(insn):
            return False
        at, keeps = first_at(self.listing.addresses, address), self.keeps_nop
        there = at < len(self.listing) and int(self.listing.addresses[at]) == address
        return not (there and is_kept(self.listing, at, keeps, self.held_addresses))

    def keeps_nop(self, op: Op) -> bool:
        """Whether a nop right behind an instruction of a row must stay: a kernel may write there.

        Else only a linker does, and it is done with a file that can be loaded.
        """
        return self.is_kernel and self.target.keeps_nop(op)

    @cached_property
    def switched_to(self) -> frozenset[int]:
        """Where branches lead that the system may put into the code."""
        return frozenset(h.target for h in self.held if h.target is not None)

    @cached_property
    def traced(self) -> frozenset[int]:
        """Addresses of calls that are made or not, of what looks at all registers."""
        return frozenset(h.start for h in self.held if h.holds is Holds.TRACED)

    @cached_property
    def near_locks(self) -> NDArray[np.bool_]:
        """By position, whether a hint there may be in flight together with a load-locked."""
        return near_locks(self.graph, _IN_FLIGHT, self.target.spelling.FENCES, self.jobs)

    def prepare_hints(self) -> None:
        """Finds what hints ask for, before processes share the work: it takes much memory."""
        _ = self.near_locks

    def is_near_lock(self, places: Iterable[int]) -> bool:
        """Whether a hint may be in flight together with a load-locked at one of some addresses."""
        return bool(self.near_locks[self.listing.positions(addresses(places))].any())

    def has_locked(self, function: Function) -> bool:
        """Whether some of the locked addresses are in a function."""
        return _holds(function, self._locked)

    def locked_between(self, first: int, last: int) -> list[int]:
        """The locked addresses from one address to another, both included; ascending."""
        locked = self._locked
        return locked[bisect_left(locked, first) : bisect_right(locked, last)]

    def labels_of(self, function: Function) -> list[int]:
        """The addresses in a function that code makes, ascending."""
        first, end = (bisect_left(self._labels, at) for at in (function.start, function.end))
        return self._labels[first:end]

    @cached_property
    def _labels(self) -> list[int]:
        return sorted(self.references.labels)

    @cached_property
    def _locked(self) -> list[int]:
        return sorted(self.locked_addresses)

    def live_into(self, address: int) -> int:
        """Registers that may be read from a block's start on; everything where no block is."""
        try:
            return self.live.into(self.graph.block_at(address))
        except KeyError:
            return self.target.everything

    def superblocks(
        self, function: Function, wanted: Callable[[int, int], bool] = lambda first, last: True
    ) -> Iterator[Superblock]:
        """The function's blocks, joined where control can only come from the one before.

        Those only that are `wanted`, which is asked about positions [first, last).
        """
        graph, listing = self.graph, self.listing
        runs = [
            blocks
            for blocks in self.joined(function)
            if wanted(int(graph.first[blocks.start]), int(graph.last[blocks.stop - 1]))
        ]
        if runs:
            listing.insns_at(*listing.span(function.start, function.end))  # is remembered
        yield from map(self.superblock, runs)

    def falling(self, function: Function) -> Iterator[tuple[Superblock, int]]:
        """Superblocks that control falls out of, with all that it falls into, and where they end.

        The whole ends where control goes elsewhere: so far a walk of both files compares it.
        """
        graph, listing, runs = self.graph, self.listing, list(self.joined(function))
        for n, blocks in enumerate(runs):
            stop = blocks.stop
            for following in runs[n + 1 :]:
                last = int(graph.last[stop - 1]) - 1
                if following.start != stop or not self._falls(last):
                    break
                stop = following.stop
            if stop > blocks.stop:
                end = int(listing.addresses[graph.first[blocks.stop]])
                yield self.superblock(range(blocks.start, stop)), end

    def joined(self, function: Function) -> Iterator[range]:
        """Runs of blocks that control enters at the first one only; none where data is."""
        blocks = self.graph.blocks_of(function)
        here = slice(blocks.start, blocks.stop)
        data = self.listing.rows[self.graph.first[here]] < 0
        continues = self.graph.continues[here] & ~data
        begin = blocks.start
        for block, follows, apart in zip(blocks, continues.tolist(), data.tolist(), strict=True):
            if not follows:
                if begin < block:
                    yield range(begin, block)
                begin = block + apart
        if begin < blocks.stop:
            yield range(begin, blocks.stop)

    def _falls(self, at: int) -> bool:
        """Whether control goes from a position to the one behind it, and nowhere else."""
        places, (insn,) = self.listing.addresses, self.listing.insns_at(at, at + 1)
        if insn is None or insn.op.flow is not Flow.NEXT:
            return False
        return int(places[at + 1] - places[at]) == insn.size

    def span(self, blocks: range) -> tuple[int, int]:
        """The addresses of the first and the last instruction of joined blocks."""
        graph, places = self.graph, self.listing.addresses
        return int(places[graph.first[blocks.start]]), int(places[graph.last[blocks.stop - 1] - 1])

    def superblock(self, blocks: range) -> Superblock:
        """Joined blocks as straight code."""
        graph, listing = self.graph, self.listing
        insns: list[Insn] = []
        exits: list[tuple[int, int]] = []
        for block in blocks:
            first, last = int(graph.first[block]), int(graph.last[block])
            if insns and listing.flows[first - 1] == FLOW_CODE[Flow.BRANCH]:
                branched = int(listing.targets[first - 1])
                exits[-1] = (exits[-1][0], self.live_into(branched))
            elif insns and listing.flows[first - 1] == FLOW_CODE[Flow.NEXT]:
                exits.pop()
            insns += [insn for insn in listing.insns_at(first, last) if insn is not None]
            if graph.faulting[last - 1]:
                self._fault_exit(exits, len(insns) - 2, int(listing.addresses[last - 1]))
            exits.append((len(insns) - 1, self.live.out_of(block)))
        return straight(int(listing.addresses[graph.first[blocks.start]]), insns, exits)

    @cached_property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, whose accesses may reach a device."""
        return self.target.is_kernel(self.image)

    @cached_property
    def made_again(self) -> dict[int, Again]:
        """Behind which calls the pointer to shared data is made as it is already, and where."""
        shared = self.target.shared_data
        if shared is None or not self.is_kernel:
            return {}  # in other files a loader says what a call reaches
        resumed = frozenset(
            fixup.resume
            for fixup in self.resumes.values()
            if self.function_at(fixup.access) is not self.function_at(fixup.resume)
        )
        entries = partial(self.target.entries, self.listing)
        known = self.references, self.live, shared, entries, self._shared_words, resumed
        return made_again(Text(self.graph, self.functions, *known))

    @cached_property
    def _shared_words(self) -> dict[int, int]:
        """What the table of addresses holds that the pointer to shared data leads to."""
        shared, image, table = self.target.shared_data, self.image, self.target.table
        where = range(0) if shared is None else shared.table(image)
        return {
            place: int.from_bytes(image.read(place, table.cell), table.byteorder)
            for place in range(where.start, where.stop - table.cell + 1, table.cell)
        }

    def in_memory(self, function: Function) -> tuple[Memory, dict[int, InMemory]] | None:
        """What is known at a function's blocks of where memory is, where no device can be."""
        if self.target.known_memory is None:
            return None
        if function.start not in self._memory:
            self._memory.clear()  # who asks again asks at once
            known = self._known_memory(function, self.target.known_memory)
            self._memory[function.start] = (
                known,
                known_memory(self.graph, function, known, self.spoiled),
            )
        return self._memory[function.start]

    @cached_property
    def _memory(self) -> dict[int, tuple[Memory, dict[int, InMemory]]]:
        return {}

    def _known_memory(self, function: Function, known: KnownMemory) -> Memory:
        pointer, words = self.references.shared.get(function.start), self._shared_words

        def constant(distance: int) -> bool:
            place = words.get((pointer or 0) + distance)
            return pointer is not None and place is not None and self.image.is_mapped(place)

        def allocates(call: int) -> bool:
            name = self._called(call, pointer)
            return name in known.ALLOCATORS

        return Memory(self.target, known, constant, allocates, self.fixups.__contains__)

    def _called(self, call: int, pointer: int | None) -> str:
        """The name of the function that a call through the table of addresses goes to, or none."""
        shared, at = self.target.shared_data, self.listing.index(call)
        if shared is None or pointer is None or self.listing.flows[at] != _COMPUTED:
            return ""
        block = self.graph.block_holding(call)
        place = shared.called(self.listing, at, int(self.graph.first[block]))
        target = None if place is None else self._shared_words.get(pointer + place)
        function = None if target is None else self.function_at(target)
        return function.name if function is not None and function.start == target else ""

    def why_kept(self, insn: Insn) -> str:
        """Why an instruction must stay what it is, or nothing."""
        if self.is_kernel and self.target.table.accesses(insn) and not whole(insn, self.target):
            return "the access may reach a device"
        return ""

    def fixups_of(self, function: Function) -> list[Fixup]:
        """The exception entries of a function's accesses, ascending."""
        first = bisect_left(self._accesses, function.start)
        last = bisect_left(self._accesses, function.end)
        return [self.fixups[access] for access in self._accesses[first:last]]

    @cached_property
    def _accesses(self) -> list[int]:
        return sorted(self.fixups)

    def live_after_fault(self, fixup: Fixup) -> int:
        """Registers whose value before an access may be read after it faults."""
        return self.live_into(fixup.resume) & fixup.kept

    def _fault_exit(self, exits: list[tuple[int, int]], slot: int, access: int) -> None:
        """Control may leave before an access: after the slot before it, if there is one."""
        live = self.live_after_fault(self.resumes[access])
        if exits and exits[-1][0] == slot:
            exits[-1] = (slot, exits[-1][1] | live)
        elif slot >= 0:
            exits.append((slot, live))

    def not_understood(self, function: Function) -> str:
        """Why a function must be left alone, or nothing."""
        size = self.target.table.size
        if function.start % size or function.end % size:
            return "it is no whole number of instructions"
        if not self.listing.has(function.start):
            return "it begins where no instruction does"
        if _holds(function, self._loaded):
            return "the loader writes into it"
        if _holds(function, self._data):
            return "data in text"
        if _holds(function, self._written):
            return f"the {'system writes' if self.is_kernel else 'program may write'} over it"
        if _holds(function, self._unresolved):
            return "computed jump not understood"
        table = self._known_at_run_time or self._looked_at(function)
        if table:
            return f"its code is known by address at run time: {table}"
        if not self.is_kernel:
            is_doubtful = function.start in self._doubtful
            return "it may be data: nothing known leads to all of it" if is_doubtful else ""
        if _holds(function, self._turning) or function.start in self._beside:
            return "it may run before addresses are translated"
        return f"the kernel names code in {self.unread}" if self.unread else ""

    @cached_property
    def certain(self) -> Sequence[Function]:
        """The functions that are no data; where no sections say what is code, what is left alone
        and only called may be."""
        if self.image.is_sectioned:
            return self.functions
        return [f for f in self.functions if not (is_only_called(f) and self.not_understood(f))]

    @cached_property
    def _doubtful(self) -> frozenset[int]:
        """Starts of functions that may be data; of a kernel's, tables say what is copied."""
        words = relocated(self.image, self.target)
        return doubtful(self.graph, self.target, begun(self.image, words))

    @cached_property
    def _turning(self) -> list[int]:
        """Addresses that run before addresses are translated, or of what turns that on and off."""
        listing, tables = self.listing, self.target.tables
        rows = [n for n, op in enumerate(listing.table.rows) if op.name in tables.turns]
        found: list[int] = listing.addresses[np.isin(listing.rows, rows)].tolist()
        for name in tables.apart:
            where = self.image.table(name)
            first, last = listing.span(where.start, where.stop)
            found += listing.addresses[first:last].tolist()
        return sorted(found)

    @cached_property
    def _beside(self) -> frozenset[int]:
        """Starts of the functions to which such code leads itself."""
        listing, found = self.listing, set[int]()
        goes = among(listing.flows, leading(To.PLACE))
        for function in self.functions:
            if _holds(function, self._turning):
                first, last = listing.span(function.start, function.end)
                places = listing.targets[first:last][goes[first:last]].tolist()
                owners = map(self.function_at, places)
                found |= {owner.start for owner in owners if owner is not None}
        return frozenset(found)

    @cached_property
    def _known_at_run_time(self) -> str:
        return known_at_run_time(self.image)

    def _looked_at(self, function: Function) -> str:
        """The table by which somebody stops in a function and looks at registers, or nothing."""
        there = (h for h in self._seen if h.start < function.end and function.start < h.end)
        return next((one.table for one in there), "")

    @cached_property
    def _seen(self) -> tuple[Held, ...]:
        return tuple(one for one in self.held if one.holds is Holds.SEEN)

    @cached_property
    def _written(self) -> list[int]:
        """Addresses of instructions in whose place other code may stand."""
        size = self.target.table.size
        ranges = (range(h.start, h.end, size) for h in self.held if is_written(self.listing, h))
        return sorted({address for places in ranges for address in places})

    @cached_property
    def _loaded(self) -> list[int]:
        return sorted(relocation.r_offset for relocation in self.image.loaded_code)

    @cached_property
    def _data(self) -> list[int]:
        found: list[int] = self.listing.addresses[self.listing.rows == UNKNOWN].tolist()
        return found

    @cached_property
    def _unresolved(self) -> list[int]:
        return sorted(self.references.unresolved)


def _holds(function: Function, ascending: Sequence[int]) -> bool:
    """Whether some of the addresses are in a function."""
    at = bisect_left(ascending, function.start)
    return at < len(ascending) and ascending[at] in function


def listed(image: Image, target: Sequential, like: Listing | None = None) -> Listing:
    """The text of a file, with branches where its system may put some.

    What a loader writes is not known.
    """
    listing = target.listing(image, like)
    if loaded := image.loaded_code:
        listing = listing.without(addresses(relocation.r_offset for relocation in loaded))
    switches = target.tables.switches(image)
    return switched(listing, switches) if switches else listing


@seldom_collected()
def analyse(
    image: Image, target: Sequential, assume: frozenset[str] = EVERY, jobs: int = 1
) -> Program:
    """Reads a whole file's text, in up to `jobs` processes; BadInput where it has none.

    `assume` names what may be relied on beyond it.
    """
    listing = listed(image, target)
    if not len(listing):
        raise BadInput(f"{image.name}: holds no code", hint="not even one instruction")
    frames = unwind.frames(image)
    by_start = {frame.start: frame for frame in frames}
    functions = with_called(find_functions(image, frames), listing)
    made = relocated(image, target)
    words, read = dict(made), dict(text_words(image, listing, functions))
    held_by_words = _in_text(listing, (*words.values(), *read.values()))
    if image.e_type == ET_EXEC:  # nothing is relocated: words are what they will be
        words |= read
    named_in_code = _in_text(listing, (place for _, place in named_by_code(image)))
    named = _in_text(listing, words.values()) | named_in_code
    in_kernel = target.is_kernel(image)
    not_read = unread(target.tables, image, listing) if in_kernel else ""
    tables = SystemTables(target.table.byteorder) if not_read else target.tables
    fixups = [fixup for fixup in tables.exceptions.read(image) if listing.has(fixup.access)]
    exceptions = ExceptionRanges.of(image, frames)
    throwing, calls = (
        list(exceptions.accesses(listing, target.landing)),
        list(exceptions.calls(listing, target.landing)),
    )
    entries = pinned(image, listing, functions, made) | named_in_code
    for function in functions:
        entries.update(target.entries(listing, function))
    entries.update(_made_by_jumps(listing))
    entries.update(pad for pad in exceptions.abroad if listing.has(pad))
    pads = [pad for pad in exceptions.pads if listing.has(pad)]
    held = (*tables.held(image), *_looked_at(image, target.table.size, words))
    named_by_words = sites(image, target, listing)
    if in_kernel:
        places = {symbol.name: symbol.st_value for symbol in image.symbols}
        held = (*held, *shaped(listing, tables.shapes))
        held = (*held, *between(places, tables.templates))
    else:
        held = (*held, *_written_over(image))
    entries.update(h.start for h in held if h.holds is Holds.ENTERED and listing.has(h.start))
    known = replace(
        target.references(image, listing, functions, words), words=fixed_words(image, words)
    )
    watched = seen(listing, (*held, *named_by_words), target.everything)
    graph_of = partial(
        _graph,
        watched,
        target,
        functions,
        _given_back(functions, by_start, target),
        (entries | held_by_words, pads),
        ([*throwing, *fixups], calls),
        assume,
    )
    references, graph, relied = jumps.followed(
        graph_of,
        labels.paired(watched, functions, target, known),
        image,
        image.is_mapped if in_kernel else image.is_fixed,
        target,
        known,
        named,
        named - entries if TABLES in assume else (),
        parts_of(
            listing,
            functions,
            target,
            by_start,
            named | known.labels,
            {} if in_kernel else words,
        ),
    )
    come_to = entries | held_by_words | references.labels
    graph = continued(graph, target, come_to)
    live, changed = _registers(graph, target, jobs)
    if misled := jumps.misled(graph, references, relied, changed):
        references = jumps.without(references, misled)
        graph = continued(graph_of(references), target, come_to)
        live, changed = _registers(graph, target, jobs)
    if given := chained(graph, references, live, target, image, words):
        references = replace(references, chained=given)
        graph = continued(graph_of(references), target, come_to)
        live, changed = _registers(graph, target, jobs)
    held = (*held, *but_for_switches(named_by_words, references.tables))
    if TABLES not in assume:
        open_ended = {table.jump for table in references.tables if not table.exact}
        unresolved = references.unresolved | open_ended
        references = replace(references, unresolved=unresolved)
    return Program(
        image=image,
        target=target,
        assume=assume,
        listing=listing,
        functions=functions,
        frames=by_start,
        references=references,
        graph=graph,
        live=live,
        spoiled=changed,
        fixups={fixup.access: fixup for fixup in fixups},
        exceptions=exceptions,
        resumes={fixup.access: fixup for fixup in (*throwing, *fixups)},
        held=held,
        unread=not_read,
        jobs=jobs,
        _starts=[f.start for f in functions],
    )


def _registers(graph: flow.Graph, target: Sequential, jobs: int) -> tuple[liveness.Liveness, Masks]:
    """Which registers are live, and by block which its call may change against the standard."""
    changed = partial(spoiled, graph, target)
    return liveness.solve_beside(graph, changed, jobs)


def _in_text(listing: Listing, places: Iterable[int]) -> set[int]:
    """Those of some addresses at which an instruction stands."""
    return set(listing.addresses[listing.positions(addresses(set(places)))].tolist())


def _written_over(image: Image) -> Iterator[Held]:
    """Code that the program may write over: it is loaded to be written and to run.

    All of a kernel's is; what it writes over say its tables.
    """
    for one in image.writable_code:
        yield Held("a segment", one.start, Holds.WRITTEN, one.start, one.stop)


def _looked_at(image: Image, size: int, words: Mapping[int, int]) -> Iterator[Held]:
    """Where debuggers and the kernel stop control and look at what is in registers."""
    for place in image.probes:
        yield Held(NOTES, place, Holds.SEEN, place, place + size)
    for one in sequences(image, words):
        for start, end in one.ranges:
            yield Held(DESCRIPTORS, start, Holds.SEEN, start, end)


def _made_by_jumps(listing: Listing) -> list[int]:
    """Behind jumps that leave the address there in a register: it may be come back to."""
    jumps = np.flatnonzero(listing.flows == FLOW_CODE[Flow.JUMP])
    linking = jumps[listing.defs[jumps].any(axis=1)] + 1
    found: list[int] = listing.addresses[linking[linking < len(listing)]].tolist()
    return found


def _given_back(
    functions: Iterable[Function], frames: Mapping[int, unwind.Fde], target: Sequential
) -> dict[str, int]:
    """By function, a mask of the registers that it saves, by its rows, though callees need not.

    They are as its caller left them when it returns, or, where it is an unwinder, as a landing pad
    is to find them.
    """
    known = {n: target.unwound(n) for n in range(64)}
    beside = {n: 1 << r for n, r in known.items() if r is not None and not target.returned >> r & 1}
    found = dict[str, int]()
    for function in functions:
        frame = frames.get(function.start)
        for number in saved_among(frame, beside) if frame is not None else ():
            found[function.name] = found.get(function.name, 0) | beside[number]
    return found


def _graph(
    listing: Listing,
    target: Sequential,
    functions: tuple[Function, ...],
    given_back: Mapping[str, int],
    ways_in: tuple[set[int], Sequence[int]],
    leaving: tuple[Sequence[Fixup], Sequence[Fixup]],
    assume: frozenset[str],
    references: References,
) -> flow.Graph:
    convention = Convention(
        target.live_after,
        target.passed,
        target.returned | target.returned_by_helpers,
        lambda name: target.results(name) | given_back.get(name, 0),
        target.standard_return,
        target.everything,
    )
    if STANDARD not in assume:
        convention = anything(target.everything)
    entries, landings = ways_in
    entries = entries | references.labels
    found = flow.build(listing, functions, references, entries, convention, *leaving, landings)
    return returned_through(found, convention.everything, target, references.unresolved)
