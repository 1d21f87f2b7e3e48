"""PowerPC as the floors above see it: a target for each width, byte order, calling standard."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses, shifted
from rewriter.core.code.listing import FLOW_CODE, Listing, decode_at
from rewriter.core.code.program import Function, Origin, TableRead
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Words
from rewriter.core.isa.registers import Reg, register_mask
from rewriter.core.isa.table import Table
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.arena import NARROW, WIDE
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.idioms import (
    BitCounting,
    Choosing,
    Combining,
    Comparing,
    Completing,
    ConditionalMoves,
    Flushing,
    Hints,
    Idioms,
    Inverting,
    Joining,
    NarrowMemory,
    Prefixing,
    Testing,
    WholeLines,
)
from rewriter.core.target.protocol import (
    Definitions,
    FrameRow,
    KnownMemory,
    Memory,
    Pair,
    References,
    Resolving,
    Sectioned,
    SharedPointer,
    Tuned,
)
from targets.assembly import ROUTINE_ALIGNMENT
from targets.machines import is_ppc
from targets.ppc import idioms, routines
from targets.ppc.abi import FRAME_BASES, SAVED, STANDARDS, always_traps
from targets.ppc.bit_counts import BitCounts
from targets.ppc.boots import BOOTS
from targets.ppc.combining import Combinations, Prefixes
from targets.ppc.cpus import CPUS
from targets.ppc.flushing import Flushes
from targets.ppc.hwcaps import Hwcaps
from targets.ppc.image import (
    constants,
    data,
    kernel,
    kernel_tables,
    linking,
    masks,
    moving,
    placing,
    pointers,
    switches,
)
from targets.ppc.isa import choices, opposites, table
from targets.ppc.isa.comparisons import Comparisons
from targets.ppc.isa.features import OLD, TM, baseline
from targets.ppc.registers import CTR, FPR, LR, SP, THREAD, TOC, VRSAVE
from targets.ppc.running import EMULATED
from targets.ppc.systems import SYSTEM_OF, SYSTEMS
from targets.ppc.touching import Touches
from targets.ppc.trial_program import PpcTrials
from targets.reading import Distances, Reader, jump_tables

_NOP = 0x60000000
_GROUP_ENDS = frozenset({0x60210000, 0x60420000})


class Ppc:
    """The target; `abi` is a name of `targets.ppc.abi.STANDARDS`."""

    name = "ppc"
    fits = staticmethod(is_ppc)
    bundling = None
    cpus: Mapping[str, Cpu] = CPUS
    needs: Mapping[str, frozenset[str]] = {
        "prefix": frozenset({Prefixes.NEEDS}),
        "choose": frozenset({"3.0"}),
    }
    spelling: Idioms = idioms
    narrow_memory: NarrowMemory | None = None
    joining: Joining | None = None
    testing: Testing | None = None
    conditional_moves: ConditionalMoves | None = None
    inverting: Inverting | None = opposites
    choosing: Choosing | None = choices
    completing: Completing | None = None
    shared_data: SharedPointer | None = None
    known_memory: KnownMemory | None = None
    whole_lines: WholeLines | None = None
    stack: int = SP
    saved: int = SAVED
    signatures = Path(__file__).with_name("signatures.json")
    page = placing.PAGE
    alignment = ROUTINE_ALIGNMENT
    outlived = frozenset({OLD, TM})
    systems: Mapping[str, System] = SYSTEMS
    frame_bases = FRAME_BASES
    landing: int = LR
    entry_size = switches.ENTRY_SIZE
    in_order = staticmethod(idioms.in_order)
    linear = staticmethod(idioms.linear)
    whole = staticmethod(idioms.whole)
    always_traps = staticmethod(always_traps)
    widened = staticmethod(switches.widened)
    bound = staticmethod(switches.bound)
    coarse = staticmethod(masks.coarse)
    normal = staticmethod(masks.normal)
    relocated = staticmethod(linking.relocated)
    relocated_bits = staticmethod(masks.RELOCATED.get)

    def __init__(self, bits: int, byteorder: ByteOrder, abi: str) -> None:
        self.bits, self.byteorder = bits, byteorder
        self.baseline = baseline(bits, byteorder)
        self.bit_counting: BitCounting | None = BitCounts(bits)
        self._rows = table(bits, byteorder)
        self._distances = Distances(switches.ENTRY_SIZE, byteorder, bits)
        self.combining: Combining | None = Combinations(bits, byteorder)
        self.prefixing: Prefixing | None = Prefixes(byteorder) if bits == 64 else None
        self.hints: Hints | None = Touches() if bits == 32 else None
        self.flushing: Flushing | None = Flushes(bits)
        self.comparing: Comparing | None = Comparisons(bits)
        self.table: Table = self._rows
        self.tables = kernel_tables.tables(bits, byteorder)
        self.emulated = EMULATED.get((bits, byteorder))
        self.boots = BOOTS.get((bits, byteorder))
        self.arena = WIDE if bits == 64 else NARROW
        self.trials = PpcTrials(bits, byteorder)
        self.resolving: Resolving | None = Hwcaps() if bits == 64 else None
        self.abi = standard = STANDARDS[abi]
        self.everything, self.returned = standard.everything, standard.return_live
        self.returned_by_helpers = 0
        self.live_after, self.passed = standard.live_after, standard.passed
        self.standard_call, self.standard_return = standard.standard_call, standard.standard_return
        self.kept_over = standard.kept_over
        self.unwound = standard.unwound

    @property
    def sequential(self) -> Ppc:
        """Its own answers."""
        return self

    # Text ---------------------------------------------------------------------------------

    def encode(self, insn: Insn) -> bytes:
        """The bytes of an instruction, of two words where it has a prefix."""
        word = self.table.encode(insn)
        halves = [word] if insn.size == data.WORD else [word >> 32, word & 0xFFFFFFFF]
        return b"".join(half.to_bytes(data.WORD, self.byteorder) for half in halves)

    def listing(self, image: Memory, like: Listing | None = None) -> Listing:
        """Decodes all text."""
        return decode_at(self.table, *self._text(image), like)

    def _text(self, image: Memory) -> tuple[Addresses, Words, NDArray[np.int64]]:
        """The address and the word of each instruction, and at which positions data is."""
        ranges = ((s + -s % data.WORD, e - e % data.WORD) for s, e in image.executable_ranges())
        parts = [(s, image.words(s, e, data.WORD)) for s, e in ranges if s < e]
        most, count = sum(len(part) for _, part in parts), 0
        places, words = np.empty(most, dtype=np.uint64), np.empty(most, dtype=np.uint64)
        inline = np.zeros(most, dtype=np.bool_)
        for start, part in parts:
            is_data = data.is_data(part, self.bits, self.byteorder)
            code = part.astype(np.uint32)
            code[is_data] = 0
            starts, found = self._rows.joined(code)
            here = slice(count, count + len(found))
            words[here], inline[here] = found, is_data[starts]
            words[here][inline[here]] = part[starts & is_data]
            del code, found
            at = np.flatnonzero(starts)
            at *= data.WORD
            places[here] = shifted(start, at)
            count = here.stop
        return places[:count], words[:count], np.flatnonzero(inline[:count])

    def entries(self, listing: Listing, function: Function) -> tuple[int, ...]:
        """The entry that skips the set-up of r2, where there is one."""
        if self.bits != 64:
            return ()
        has_toc = pointers.entry_toc(listing, function.start) is not None
        return (function.start + pointers.LOCAL_ENTRY,) if has_toc else ()

    def results(self, name: str) -> int:
        """Registers that a function of this name returns values in, beside the standard's."""
        return 0

    def system(self, cpu: Cpu) -> System:
        """The machine that a CPU is timed in when nothing is said."""
        return SYSTEMS[SYSTEM_OF[cpu.name]]

    # What points into text ------------------------------------------------------------------

    def references(
        self,
        image: Sectioned,
        listing: Listing,
        functions: Sequence[Function],
        slots: Mapping[int, int],
    ) -> References:
        """Jump tables and labels; no call has a linkage of its own."""
        if self.bits == 64:
            shared = pointers.tocs(image, listing, functions, slots, self.byteorder)
        else:
            shared = pointers.gots(listing, functions)
        numbers = () if image.is_placed_anywhere else (0,)
        sums = replace(self._sums(listing, functions, shared), nothing=numbers)
        labels = {*(pair.label for _, pair in sums.pairs()), *sums.starts()}
        found = References((), frozenset(labels), {}, frozenset(), shared)

        def reads(jump: int, insn: Insn, function: Function, by: Definitions) -> list[TableRead]:
            return self.table_reads(jump, insn, by, found.pointers(function))

        def entries(place: int, base: int) -> tuple[int, ...]:
            return self.table_entries(image, listing, place, base)

        reader = Reader(reads, entries, self.entry_size)
        tables, outside = jump_tables(listing, functions, slots, reader)
        crowded = (_unfollowed(listing, function) for function in sums.crowded())
        return References(tables, found.labels, {}, outside.union(*crowded), shared)

    def _sums(
        self, listing: Listing, functions: Sequence[Function], shared: Mapping[int, int]
    ) -> pointers.Sums:
        return pointers.Sums(listing, functions, shared, constants.base_of(self.bits))

    def pairs(
        self,
        listing: Listing,
        functions: Sequence[Function],
        shared: Mapping[int, int],
        wanted: frozenset[int],
    ) -> Iterator[tuple[Function, Pair]]:
        """Two instructions that may add up to one of the wanted addresses."""
        for function, pair in self._sums(listing, functions, shared).pairs():
            if pair.label in wanted:
                yield function, pair

    def table_reads(
        self, jump: int, insn: Insn, definitions: Definitions, shared: Sequence[int]
    ) -> list[TableRead]:
        """The tables that a computed jump may go by."""
        return switches.table_reads(jump, definitions, self.bits, shared)

    def pointed(
        self, jump: int, insn: Insn, definitions: Definitions, shared: Sequence[int]
    ) -> frozenset[int]:
        """The addresses that a computed jump may go by, in 64-bit code.

        Other code may have any number in the register off which it comes to its tables.
        """
        if self.bits != 64:
            return frozenset()
        return constants.Constants(self.bits, shared, definitions).of(CTR, jump)

    def table_entries(
        self, memory: Memory, listing: Listing, address: int, base: int
    ) -> tuple[int, ...]:
        """What the entries of a jump table lead to, up to the first that leads to no text."""
        return self._distances.led(memory, listing, address, base)

    def origin(self, insn: Insn) -> tuple[Origin, int] | None:
        """How an instruction comes by an address to jump to, and the register that it reads."""
        return constants.origin(insn, self.bits)

    def spill(self, insn: Insn) -> tuple[int, int, int] | None:
        """(base, displacement, register) of a store of a whole register in the stack."""
        return constants.spill(insn, self.bits)

    def saves(self, insn: Insn) -> int:
        """Mask of the registers that an instruction stores whole, by the stack pointer."""
        return constants.saves(insn, self.bits)

    def jumps_through(self, insn: Insn) -> tuple[int, bool]:
        """CTR: calls go through it too."""
        return CTR, True

    def shared_pointer(self, words: Words, address: int) -> int:
        """What r2 holds in the routine at `address`, by its first words; 0 if they do not say."""
        return pointers.toc_of_words(words[:2].tolist(), address) or 0

    def described_pointers(self, image: Sectioned, words: Mapping[int, int]) -> dict[int, int]:
        """The r2 of each descriptor in `.opd` (ELFv1)."""
        return pointers.described(image, words, self.byteorder)

    # The kernel -----------------------------------------------------------------------------

    def is_kernel(self, image: Memory) -> bool:
        """Whether a file is a kernel, whose code may access registers of devices."""
        return kernel.is_kernel(image, self.bits)

    def reserved(self, image: Memory) -> int:
        """r2 and r13: the thread, the TOC, or a table of small data, and a kernel's own.

        A kernel saves registers of floating point and vectors for programs only when it uses them.
        """
        numbers = range(len(self.table.register_names)) if self.is_kernel(image) else ()
        return register_mask((TOC, THREAD, *(Reg(n) for n in numbers if n >= FPR or n == VRSAVE)))

    # New code -------------------------------------------------------------------------------

    def moved(
        self,
        items: Sequence[tuple[int, Insn]],
        function: Function,
        shared: Mapping[int, int],
        place: Callable[[int], int],
        pads: Collection[int] = (),
    ) -> list[Insn]:
        """Branches follow, and what is added to where code stands."""
        return moving.moved(items, function, place, self.table)

    def placed_anew(self, items: Sequence[tuple[int, Insn]], number: int) -> int | None:
        """Where a number is added to what `bcl 20,31,.+4` leaves."""
        is_asked = items[number][1].op.flow is Flow.HERE
        found = moving.added(items, number, self.table) if is_asked else None
        return None if found is None else items[found[0]][0]

    def nops(self, size: int) -> list[Insn]:
        """Nops."""
        nop = self.table.decode(_NOP)
        assert nop is not None
        return [nop] * (size // data.WORD)

    def ends_group(self, insn: Insn) -> bool:
        """`ori 1,1,0` on POWER6, `ori 2,2,0` on POWER7 and POWER8 (gcc rs6000.md, nops)."""
        return insn.name == "ori" and self.table.encode(insn) in _GROUP_ENDS

    def stays(self, insn: Insn) -> bool:
        """Data: traceback tables say how long the code before them is, jump tables what follows.

        And what makes an address of its own one (addpcis), which names data near it.
        """
        is_placed = insn.op.flow is Flow.NEXT and self.table.effects(insn.op).placed
        return insn.op is self.table.data or is_placed

    def keeps_nop(self, op: Op) -> bool:
        """Behind a call: there stands the load that restores r2, or a nop for it that whoever
        writes code knows (64-bit ELF ABI, 3.5.11; Linux arch/powerpc/kernel/trace)."""
        return op.flow.calls

    def seen_behind(self, insn: Insn) -> bool:
        """The load that restores r2: by it libgcc knows that r2 is saved, of which unwind rows say
        nothing (gcc-12 libgcc/config/rs6000/linux-unwind.h, frob_update_context)."""
        if insn.name != "ld" or insn.operand("rt") != TOC or insn.operand("ra0") != SP:
            return False
        return insn.operand("ds") == self.abi.save_toc

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing at all: `nop`, no group ending nor priority."""
        return insn.name == "ori" and self.table.encode(insn) == _NOP

    def routines(self, name: str) -> Sequence[Tuned]:
        """The tuned routines that keep a contract, the best first."""
        return routines.variants(name, self.bits, self.byteorder)

    def branch(self, at: int, to: int) -> bytes:
        """An instruction at `at` that does nothing but go to `to`; raises CannotMove."""
        return placing.branch(at, to).to_bytes(data.WORD, self.byteorder)

    def frame_rows(self, code: bytes) -> tuple[FrameRow, ...]:
        """Where and how unwinding a leaf routine changes; raises CannotMove."""
        return placing.frame_rows(self._rows, code)


def _unfollowed(listing: Listing, function: Function) -> Sequence[int]:
    """The computed jumps of a function that is left alone, or where it starts if it has none."""
    first, last = listing.span(function.start, function.end)
    jumps = listing.flows[first:last] == FLOW_CODE[Flow.INDIRECT]
    return listing.addresses[first:last][jumps].tolist() or [function.start]
