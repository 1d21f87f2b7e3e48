"""DEC Alpha, from the 21064 to the 21264: what the floors above ask, answered.

abi            Who may read which register when control leaves code that we see
arithmetic     T-floating arithmetic on plain numbers, for trials: what the division routines of
               glibc use
assembler      A two-pass assembler on top of the table: the text that `TABLE.text` prints, and a
               little more
boots          Alpha kernels under `qemu-system-alpha`: a Clipper (DP264), from SRM, console on
               COM1
conditional    Conditional moves of Alpha and the branches that do the same: each has the other's
               test
idioms         How Alpha spells what passes want: narrow accesses, sign extension, moves, bit
               counts
linkage        How known routines are called on Alpha
registers      Alpha's registers
systems        Machines around Alpha chips: clocks, board caches, memory; every figure with its
               source
trial_program  The program that runs a routine over cases inside qemu user emulation, for Linux on
               Alpha
whole_lines    How Alpha gives up a line that will be stored, and the tests and branches around that
cpus/          Alpha CPUs: names, features, and pipelines, every figure with its source; one file a
               chip
image/         What stands in Alpha's text beside instructions' meanings: addresses, tables, what
               moves
isa/           Alpha's instruction table
meanings/      What Alpha's instructions do, as functions over `Machine`
routines/      Our own tuned routines: assembly text, one file each, assembled by our own encoder
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from rewriter.core.addresses import contains
from rewriter.core.code.listing import FLOW_CODE, Listing, decode_words
from rewriter.core.code.program import Function, TableRead
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.target.arena import WIDE
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.idioms import (
    BitCounting,
    Completing,
    ConditionalMoves,
    Hints,
    Idioms,
    Inverting,
    Joining,
    NarrowMemory,
    Testing,
    WholeLines,
)
from rewriter.core.target.protocol import (
    Definitions,
    KnownMemory,
    Memory,
    Pair,
    References,
    Sectioned,
    SharedPointer,
)
from targets.alpha import abi, boots, conditional, idioms, routines, whole_lines
from targets.alpha.cpus import CPUS
from targets.alpha.image import kernel, masks, memory, moving, placing, pointers, sums, switches
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import RA, SP
from targets.alpha.systems import SYSTEMS, UP1000, USUAL
from targets.alpha.trial_program import AlphaTrials
from targets.assembly import ROUTINE_ALIGNMENT
from targets.machines import is_alpha
from targets.reading import Reader, jump_tables

R_REFQUAD, R_GLOB_DAT, R_JMP_SLOT, R_RELATIVE = 2, 25, 26, 27
LOCAL_ENTRY = 8  # bytes that a caller with the same gp skips


class Alpha:
    """The target."""

    name = "alpha"
    fits = staticmethod(is_alpha)
    bundling = None
    table = TABLE
    cpus: Mapping[str, Cpu] = CPUS
    baseline: frozenset[str] = frozenset()
    needs: Mapping[str, frozenset[str]] = idioms.NEEDS
    everything = abi.ALL
    returned = abi.RETURN_LIVE
    returned_by_helpers = abi.RETURNED_BY_HELPERS
    spelling: Idioms = idioms
    narrow_memory: NarrowMemory | None = idioms
    bit_counting: BitCounting | None = idioms
    combining = None
    prefixing = None
    choosing = None
    testing: Testing | None = idioms
    joining: Joining | None = idioms
    conditional_moves: ConditionalMoves | None = conditional
    inverting: Inverting | None = conditional
    completing: Completing | None = abi
    shared_data: SharedPointer | None = pointers.SHARED_DATA
    known_memory: KnownMemory | None = memory
    hints: Hints | None = idioms
    whole_lines: WholeLines | None = whole_lines
    flushing = None
    comparing = None
    resolving = None
    stack = SP
    saved = abi.KEPT & ~(1 << SP)
    signatures = Path(__file__).with_name("signatures.json")
    trials = AlphaTrials()
    page = placing.PAGE
    arena = WIDE
    alignment = ROUTINE_ALIGNMENT
    outlived: frozenset[str] = frozenset()
    routines = staticmethod(routines.variants)
    branch = staticmethod(placing.branch)
    frame_rows = staticmethod(placing.frame_rows)
    systems: Mapping[str, System] = SYSTEMS
    emulated = boots.EMULATED
    boots = boots.BOOTS
    linear = staticmethod(idioms.linear)
    is_kernel = staticmethod(kernel.is_kernel)
    reserved = staticmethod(kernel.reserved)
    tables = kernel.TABLES
    frame_bases = abi.FRAME_BASES
    landing: int = RA
    unwound = staticmethod(abi.unwound)
    whole = staticmethod(abi.whole)
    saves = staticmethod(abi.saves)
    in_order = staticmethod(abi.in_order)

    @property
    def sequential(self) -> Alpha:
        """Its own answers."""
        return self

    def system(self, cpu: Cpu) -> System:
        """The machine that a CPU is timed in when nothing is said."""
        return USUAL.get(cpu.name, UP1000)

    def encode(self, insn: Insn) -> bytes:
        """The bytes of an instruction: a little-endian word."""
        return TABLE.encode(insn).to_bytes(4, "little")

    standard_call = staticmethod(abi.standard_call)
    live_after = staticmethod(abi.live_after)
    passed = staticmethod(abi.passed)
    kept_over = staticmethod(abi.kept_over)
    always_traps = staticmethod(abi.always_traps)
    results = staticmethod(abi.results)
    standard_return = staticmethod(abi.standard_return)
    origin = staticmethod(switches.origin)
    pointed = staticmethod(switches.pointed)
    jumps_through = staticmethod(switches.jumps_through)
    spill = staticmethod(switches.spill)
    widened = staticmethod(switches.widened)
    table_reads = staticmethod(switches.table_reads)
    table_entries = staticmethod(switches.DISTANCES.led)
    bound = staticmethod(switches.bound)
    entry_size = switches.ENTRY_SIZE
    coarse = staticmethod(masks.coarse)
    normal = staticmethod(masks.normal)
    relocated_bits = staticmethod(masks.RELOCATED.get)
    shared_pointer = staticmethod(masks.shared_pointer)

    def listing(self, image: Memory, like: Listing | None = None) -> Listing:
        """Decodes all text."""
        # A segment may begin with headers and end with data, of any size.
        ranges = ((s + -s % 4, e - e % 4) for s, e in image.executable_ranges())
        parts = [(start, image.words(start, end, 4)) for start, end in ranges if start < end]
        return decode_words(TABLE, parts, partial(kernel.inline_data, memory=image), like)

    def described_pointers(self, image: Sectioned, words: Mapping[int, int]) -> dict[int, int]:
        """None: a function makes its gp from its own address."""
        return {}

    def entries(self, listing: Listing, function: Function) -> tuple[int, ...]:
        """The entry that skips the gp set-up, where there is one."""
        has_gp = pointers.entry_gp(listing, function.start) is not None
        return (function.start + LOCAL_ENTRY,) if has_gp else ()

    def relocated(self, r_type: int, addend: int, symbol: int | None) -> int | None:
        """What a dynamic relocation makes of its word."""
        if r_type == R_RELATIVE:
            return addend
        if r_type in (R_REFQUAD, R_GLOB_DAT, R_JMP_SLOT) and symbol is not None:
            return symbol + addend
        return None

    def references(
        self,
        image: Memory,
        listing: Listing,
        functions: Sequence[Function],
        slots: Mapping[int, int],
    ) -> References:
        """Jump tables, labels, computed calls."""
        shared = pointers.shared(listing, functions)
        constants = sums.sums(listing, functions, shared)
        made = constants.every
        found = References(
            tables=(),
            labels=frozenset(made[contains(listing.addresses, made)].tolist()).union(
                pair.label for _, pair in sums.standing(listing, functions)
            ),
            callees=_callees(listing, functions, shared, slots),
            unresolved=frozenset(),
            shared=shared,
        )

        def reads(jump: int, insn: Insn, function: Function, by: Definitions) -> list[TableRead]:
            return switches.table_reads(jump, insn, by, found.pointers(function))

        def entries(place: int, base: int) -> tuple[int, ...]:
            return switches.DISTANCES.led(image, listing, place, base)

        reader = Reader(reads, entries, switches.ENTRY_SIZE)
        tables, outside = jump_tables(listing, functions, {}, reader)
        return replace(
            found,
            tables=tables,
            unresolved=outside,
            constants=_constants(listing, functions, constants),
        )

    def pairs(
        self,
        listing: Listing,
        functions: Sequence[Function],
        shared: Mapping[int, int],
        wanted: frozenset[int],
    ) -> Iterator[tuple[Function, Pair]]:
        """An LDAH off gp, and an LDA off what it wrote."""
        return sums.pairs(listing, functions, shared, wanted)

    def moved(
        self,
        items: Sequence[tuple[int, Insn]],
        function: Function,
        shared: Mapping[int, int],
        place: Callable[[int], int],
        pads: Collection[int] = (),
    ) -> list[Insn]:
        """Branch displacements and gp set-ups follow."""
        return moving.moved(items, function, shared.get(function.start), place, pads)

    def nops(self, size: int) -> list[Insn]:
        """UNOPs: the 21264 drops them before they issue."""
        return [pointers.UNOP] * (size // pointers.UNOP.size)

    def ends_group(self, insn: Insn) -> bool:
        """There are no such groups."""
        return False

    def placed_anew(self, items: Sequence[tuple[int, Insn]], number: int) -> int | None:
        """gp alone is made of that."""
        return None

    def stays(self, insn: Insn) -> bool:
        """Data goes where the instruction before it goes."""
        return False

    def keeps_nop(self, op: Op) -> bool:
        """Nothing is written behind any instruction."""
        return False

    def seen_behind(self, insn: Insn) -> bool:
        """Nobody looks there."""
        return False

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing: UNOP, NOP, FNOP and their like."""
        return pointers.is_nop(insn)


def _constants(
    listing: Listing, functions: Sequence[Function], made: sums.Sums
) -> dict[int, frozenset[int]]:
    """The addresses that functions with computed jumps make."""
    starts, found = [f.start for f in functions], dict[int, frozenset[int]]()
    for at in np.flatnonzero(listing.flows == FLOW_CODE[Flow.INDIRECT]).tolist():
        jump = int(listing.addresses[at])
        owner = bisect_right(starts, jump) - 1
        if owner >= 0 and jump in functions[owner] and starts[owner] not in found:
            found[starts[owner]] = made.of(owner)
    return found


def _callees(
    listing: Listing,
    functions: Sequence[Function],
    shared: Mapping[int, int],
    slots: Mapping[int, int],
) -> dict[int, int]:
    """Computed calls with a linkage of their own, which the calling standard does not describe."""
    found = {}
    starts = [f.start for f in functions]
    every = set(shared.values())
    only = next(iter(every)) if len(every) == 1 else None
    for at in _odd_calls(listing):
        address = int(listing.addresses[at])
        owner = starts[max(0, bisect_right(starts, address) - 1)]
        gp = shared.get(owner, only)
        if gp is None:
            continue
        callee = pointers.callee(listing, at, max(0, at - 30), gp, slots)
        if callee is not None and listing.has(callee):
            found[address] = callee
    return found


def _odd_calls(listing: Listing) -> list[int]:
    """The positions of computed calls with a linkage of their own."""
    at = np.flatnonzero(listing.flows == FLOW_CODE[Flow.INDIRECT_CALL])
    words, which = np.unique(listing.words[at], return_inverse=True)
    calls = map(listing.table.decode, words.tolist())
    odd = [insn is not None and not abi.standard_call(insn) for insn in calls]
    found: list[int] = at[np.array(odd, dtype=bool)[which]].tolist()
    return found
