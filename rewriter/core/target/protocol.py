"""What the floors above ask of a target.  Whatever differs between architectures is here.

`Target` is what every architecture has, and its capabilities: what only some of them offer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.listing import Listing
from rewriter.core.code.memory import Memory as Memory
from rewriter.core.code.program import Bound, Function, JumpTable, Origin, TableRead
from rewriter.core.code.system_tables import CannotMove as CannotMove
from rewriter.core.code.system_tables import SystemTables
from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Words
from rewriter.core.isa.table import Table
from rewriter.core.target.arena import Arena
from rewriter.core.target.boots import Boots
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.emulation import Emulated
from rewriter.core.target.ident import Ident
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
from rewriter.core.trials import Trials

if TYPE_CHECKING:
    from rewriter.core.target.bundling import Bundling


class Sectioned(Memory, Protocol):
    """What a target asks of an image whose tables and addresses it looks for."""

    @property
    def is_placed_anywhere(self) -> bool:
        """Whether no number in it is an address, but where a relocation says so."""
        ...

    def table(self, name: str) -> range:
        """The addresses of the section of that name; empty where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class FrameRow:
    """How to unwind from `offset` bytes into a routine on, when it was entered at its start.

    `cfa` is how far above the stack pointer that of the caller is; `link` is the register that
    holds the return address, as unwind tables number it, None for the usual one.
    """

    offset: int
    cfa: int
    link: int | None


class Assembled(Protocol):
    """A routine that may stand anywhere: offsets in bytes from its start."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def code(self) -> bytes:
        """Its bytes."""
        ...

    @property
    def entry(self) -> int:
        """Where it is entered."""
        ...

    @property
    def resumes(self) -> tuple[tuple[int, int], ...]:
        """Instructions that may fault, and where control then goes on."""
        ...


class Tuned(Assembled, Protocol):
    """A tuned routine, on `Sequential.alignment`, called like the contract that it keeps."""

    @property
    def folder(self) -> str:
        """The CPU that it was written for."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """The features that its instructions need."""
        ...


def suited(target: Sequential, name: str, cpu: Cpu) -> Iterator[Tuned]:
    """The tuned routines for a contract that pay on a CPU, the best first.

    One that was made for another chip might run and not pay.
    """
    for routine in target.routines(name):
        made_for = target.cpus[routine.folder].features - target.outlived
        if made_for | routine.needs <= cpu.features:
            yield routine


def whole(insn: Insn, target: Sequential) -> bool:
    """Whether an access is one to a cell of memory, whatever the low bits of its address."""
    return insn.name in target.spelling.CELL_ACCESSES


def entered_at(function: Function, listing: Listing, target: Sequential) -> set[int]:
    """Where callers enter a function."""
    return {function.start, *target.entries(listing, function)}


def asks_processor(insn: Insn, target: Sequential) -> bool:
    """Whether a system's instruction reads where the data of the processor is."""
    register = target.tables.of_processor
    return register is not None and bool(target.table.uses(insn) >> register & 1)


def names_enabled(insn: Insn, target: Sequential) -> bool:
    """Whether a system's instruction traps till the system turns on what it names."""
    table = target.table
    return bool((table.uses(insn) | table.defs(insn)) & target.tables.enabled)


def is_hint(insn: Insn, target: Sequential) -> bool:
    """Whether a load does nothing but ask for a line; an architecture may have no such."""
    return target.hints is not None and target.hints.is_hint(insn)


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a block with a site of a pass may have: at least so many of some instructions.

    Where there are `literals`, only those count that have one of them; where there are `readers`,
    those whose result one of these reads, soon behind; and where there are `accesses`, those whose
    result is the base of one of these, soon behind, and of no other use.
    """

    names: frozenset[str]
    least: int = 1
    literals: frozenset[int] = frozenset()
    readers: frozenset[str] = frozenset()
    accesses: frozenset[str] = frozenset()


@dataclass(frozen=True)
class References:
    """What in text points into text.

    `labels` are addresses that instructions make; `callees` maps the address of a computed call
    to its function; `unresolved` are the addresses of computed jumps that are not understood,
    `leaving` of those that may leave the function as well as go to what its tables say, `made` of
    those of which all targets are addresses that code makes;
    `chained` are the computed calls that may give a function of this file its static chain;
    `shared` is, by a function's start, what its register for shared data (gp) holds, `constants`
    by the start of a function with computed jumps the addresses that it may make, and `words` what
    words of data hold that nothing writes once the file is loaded, where it is an address in it.
    """

    tables: tuple[JumpTable, ...]
    labels: frozenset[int]
    callees: Mapping[int, int]
    unresolved: frozenset[int]
    shared: Mapping[int, int]
    leaving: frozenset[int] = frozenset()
    made: frozenset[int] = frozenset()
    chained: frozenset[int] = frozenset()
    constants: Mapping[int, frozenset[int]] = field(default_factory=dict)
    words: Mapping[int, int] = field(default_factory=dict)

    def pointers(self, function: Function) -> tuple[int, ...]:
        """What the register for shared data may hold in a function."""
        own = self.shared.get(function.start)
        return (own,) if own is not None else tuple(sorted(set(self.shared.values())))


class Definitions(Protocol):
    """What a target asks of the ways to an instruction."""

    def made(self, register: int, use: int) -> Sequence[tuple[int, Insn]]:
        """The instructions that may have made what the one at `use` reads in a register.

        With their addresses; none where it may come from elsewhere.
        """
        ...

    def stored(self, base: int, displacement: int, use: int) -> Sequence[tuple[int, int]]:
        """Where the function stores a register in such a place of its stack: address, register."""
        ...

    def held(self, place: int) -> int | None:
        """The address in this file that a word of data holds, where nothing writes it later."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """Two instructions that add up to `label` if what the first puts in `register` is there still.

    `high` and `low` are positions in the listing; they are the same where one makes all of it.
    """

    label: int
    register: int
    high: int
    low: int


class SharedPointer(Protocol):
    """The register that points at a file's shared data (gp), which callers make anew behind calls.

    `callee` is the register that holds a function's address where it is entered, `link` that with
    the address behind a call, `chain` that with the static chain of a nested function.
    """

    @property
    def register(self) -> int:
        """The register."""
        ...

    @property
    def callee(self) -> int:
        """What it is made from where a function starts."""
        ...

    @property
    def link(self) -> int:
        """What it is made from behind a call."""
        ...

    @property
    def chain(self) -> int:
        """Where a nested function finds what it reads of the one around it."""
        ...

    def table(self, image: Sectioned) -> range:
        """Where addresses stand that it leads to; nothing writes them where no loader does."""
        ...

    def steps(
        self, listing: Listing, at: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of what and how the instructions at some positions make it: a register, and how much is
        added; of -1 where it is no sum of a register and a constant."""
        ...

    def loads(self, listing: Listing, distances: Iterable[int]) -> NDArray[np.intp]:
        """The positions at which `callee` is loaded from so far off the register."""
        ...

    def called(self, listing: Listing, at: int, first: int) -> int | None:
        """How far from it the address is that the call at a position goes to.

        None where none of the positions from `first` on loads it off the register as it still is.
        """
        ...


class KnownMemory(Protocol):
    """What shows that an address in a kernel is one of memory, where no device is.

    `ALWAYS` are the registers that hold one wherever code goes by them, `RESULT` those in which
    the functions named in `ALLOCATORS` return one; so many bytes `AROUND` memory no device is.
    """

    @property
    def AROUND(self) -> int:
        """Bytes beside memory in which there is no device."""
        ...

    @property
    def ALWAYS(self) -> int:
        """The mask of registers that always hold one."""
        ...

    @property
    def RESULT(self) -> int:
        """The mask of registers in which an allocator returns one."""
        ...

    @property
    def ALLOCATORS(self) -> frozenset[str]:
        """Functions that return memory, or no address at all."""
        ...

    def proves(self, insn: Insn) -> int | None:
        """The base of an access that no device allows, if it is one."""
        ...

    def shared_word(self, insn: Insn) -> int | None:
        """How far from the pointer to shared data the word is that an instruction loads."""
        ...

    def sums(self, insn: Insn) -> Sequence[tuple[int, int | None]]:
        """Registers that the result is an index away from, each with that index's register."""
        ...

    def narrow(self, insn: Insn) -> bool:
        """Whether the result is a number of at most 32 bits, whatever is read."""
        ...


class Target(Protocol):
    """One architecture: what all of them have, and the capabilities that only some offer.

    A capability is an object with the answers, or None where it is not offered; who asks for one
    says what cannot be done without it (`capability.needed`).

    `everything` is the mask of all registers, `returned` of those in which the calling standard
    returns values.  `baseline` are the features that every CPU has that runs its files.  `needs`
    has by pass the features of which a CPU must have one for the pass to do anything; one that is
    not there needs none.
    """

    name: str
    table: Table
    cpus: Mapping[str, Cpu]
    baseline: frozenset[str]
    needs: Mapping[str, frozenset[str]]
    everything: int
    returned: int
    arena: Arena

    def fits(self, ident: Ident) -> bool:
        """Whether files with this identity are for it."""
        ...

    @property
    def sequential(self) -> Sequential | None:
        """Code that runs as if one instruction came after another: the road of superblocks."""
        ...

    @property
    def bundling(self) -> Bundling | None:
        """Code whose text says which instructions issue together: the road of regions."""
        ...

    @property
    def emulated(self) -> Emulated | None:
        """How programs are run by user emulation."""
        ...

    @property
    def boots(self) -> Boots | None:
        """How kernels are booted in an emulator."""
        ...


class Resolving(Protocol):
    """How resolvers of IFUNC symbols come to know the machine."""

    @property
    def symbol(self) -> str:
        """The loader's data that they read."""
        ...

    def words(self, cpu: Cpu) -> Sequence[int]:
        """What the loader keeps of a CPU, in the order of its place in that data."""
        ...


class Sequential(Target, Protocol):
    """An architecture whose instructions stand alone, and take effect one after another.

    `stack` is the stack pointer, `saved` a mask of the general registers that the calling standard
    has a callee store before it writes them.  `outlived` are features that later CPUs have no more,
    and no tuned routine needs.
    """

    stack: int
    saved: int
    signatures: Path
    page: int
    alignment: int
    outlived: frozenset[str]
    entry_size: int
    tables: SystemTables

    systems: Mapping[str, System]

    def __hash__(self) -> int:
        """Each is one object: what is found for it once is remembered by it."""
        ...

    @property
    def trials(self) -> Trials | None:
        """How known routines are run on cases; None where they are not."""
        ...

    @property
    def spelling(self) -> Idioms:
        """How it says what all passes ask."""
        ...

    @property
    def narrow_memory(self) -> NarrowMemory | None:
        """Narrow accesses, which code for its older chips spells out."""
        ...

    @property
    def bit_counting(self) -> BitCounting | None:
        """Counts of bits, which code for its older chips spells out."""
        ...

    @property
    def combining(self) -> Combining | None:
        """Instructions that do what several do on its older chips."""
        ...

    @property
    def prefixing(self) -> Prefixing | None:
        """Instructions of two words, with numbers that took two instructions."""
        ...

    @property
    def choosing(self) -> Choosing | None:
        """Instructions that choose one of two values by a test."""
        ...

    @property
    def testing(self) -> Testing | None:
        """Branches by the lowest bit of a register."""
        ...

    @property
    def joining(self) -> Joining | None:
        """Wide loads in halves, one of which is at hand."""
        ...

    @property
    def conditional_moves(self) -> ConditionalMoves | None:
        """Moves by a test that a branch can make as well."""
        ...

    @property
    def inverting(self) -> Inverting | None:
        """Conditional branches with the opposite test."""
        ...

    @property
    def shared_data(self) -> SharedPointer | None:
        """The register that points at shared data; None where nothing is known of one."""
        ...

    @property
    def known_memory(self) -> KnownMemory | None:
        """What shows where memory is in a kernel; None where only the stack is known."""
        ...

    @property
    def completing(self) -> Completing | None:
        """Arithmetic that traps late and is completed by software; None where traps are exact."""
        ...

    @property
    def hints(self) -> Hints | None:
        """Hints for lines that cannot fault and change nothing."""
        ...

    @property
    def whole_lines(self) -> WholeLines | None:
        """Lines that will be stored, which memory need not be asked for."""
        ...

    @property
    def comparing(self) -> Comparing | None:
        """Branches by how a register compared with a number."""
        ...

    @property
    def flushing(self) -> Flushing | None:
        """Blocks of caches, which code flushes one by one."""
        ...

    @property
    def resolving(self) -> Resolving | None:
        """How routines are picked when a file is loaded; None where they are not."""
        ...

    def system(self, cpu: Cpu) -> System:
        """The machine that a CPU is timed in when nothing is said."""
        ...

    def encode(self, insn: Insn) -> bytes:
        """The bytes of an instruction in memory."""
        ...

    def listing(self, image: Memory, like: Listing | None = None) -> Listing:
        """Decodes all text; words that stand in a listing that is like it need it no more."""
        ...

    def entries(self, listing: Listing, function: Function) -> tuple[int, ...]:
        """The addresses at which callers may enter, beside the start."""
        ...

    def references(
        self,
        image: Sectioned,
        listing: Listing,
        functions: Sequence[Function],
        slots: Mapping[int, int],
    ) -> References:
        """What in text points into text; `slots` are the addresses that words of data hold."""
        ...

    def is_kernel(self, image: Memory) -> bool:
        """Whether a file is a kernel, whose code may access registers of devices."""
        ...

    def reserved(self, image: Memory) -> int:
        """The mask of registers that new code in this file must not write."""
        ...

    def pairs(
        self,
        listing: Listing,
        functions: Sequence[Function],
        shared: Mapping[int, int],
        wanted: frozenset[int],
    ) -> Iterable[tuple[Function, Pair]]:
        """All in one function that may add up to one of the wanted addresses."""
        ...

    def relocated(self, r_type: int, addend: int, symbol: int | None) -> int | None:
        """What a dynamic relocation makes of its word; None if no address of this image."""
        ...

    def standard_call(self, insn: Insn) -> bool:
        """Whether a computed call is by the standard: its callee may lose what that says."""
        ...

    def live_after(self, insn: Insn) -> int:
        """Registers that unseen code may read after a control transfer."""
        ...

    def passed(self, insn: Insn) -> int:
        """Registers that a call may give a value to its callee in."""
        ...

    def kept_over(self, insn: Insn) -> int:
        """Registers whose value outlives a call or a trap."""
        ...

    def always_traps(self, insn: Insn) -> bool:
        """Whether an instruction traps whatever registers hold, as is written where control must
        not come (`__builtin_trap`, BUG)."""
        ...

    @property
    def returned_by_helpers(self) -> int:
        """Registers that run-time routines return values in, beside the standard's: a caller that
        is seen may read them, though no name says of its callee that it is one."""
        ...

    def results(self, name: str) -> int:
        """Registers that a function of this name returns values in, beside the standard's."""
        ...

    def standard_return(self, insn: Insn) -> bool:
        """Whether a return goes back through the standard link register."""
        ...

    def linear(self, insn: Insn) -> tuple[int, int, int] | None:
        """(result, source, distance) of an instruction that adds a constant to a register."""
        ...

    @property
    def frame_bases(self) -> int:
        """A mask of the registers from which code reaches its frame."""
        ...

    @property
    def landing(self) -> int:
        """The register that holds a landing pad's address when the unwinder goes there."""
        ...

    def unwound(self, number: int) -> int | None:
        """The register that unwind tables give a number, or None where it is none of ours."""
        ...

    def whole(self, insn: Insn) -> tuple[int, int, bool] | None:
        """Of an instruction that does nothing but store or load whole registers: a mask of them,
        the register of the address, and whether it stores; None of all others."""
        ...

    def saves(self, insn: Insn) -> int:
        """Mask of the registers that an instruction stores whole, by the stack pointer."""
        ...

    def in_order(self, insn: Insn) -> bool:
        """Whether nothing may pass an instruction, though its operands would allow it."""
        ...

    def table_reads(
        self, jump: int, insn: Insn, definitions: Definitions, shared: Sequence[int]
    ) -> list[TableRead]:
        """The tables that a computed jump at an address may go by; none if it is no switch.

        `shared` is what the register for shared data may hold.
        """
        ...

    def pointed(
        self, jump: int, insn: Insn, definitions: Definitions, shared: Sequence[int]
    ) -> frozenset[int]:
        """The addresses of this file that a computed jump may go by; none if there may be others.

        `shared` is what the register for shared data may hold.
        """
        ...

    def table_entries(
        self, memory: Memory, listing: Listing, address: int, base: int
    ) -> tuple[int, ...]:
        """What the entries of a jump table lead to, up to the first that leads to no text."""
        ...

    def bound(self, listing: Listing, first: int, branch: int) -> Bound | None:
        """What is known of a register behind the branch at the end of positions from `first`."""
        ...

    def spill(self, insn: Insn) -> tuple[int, int, int] | None:
        """(base, displacement, register) of a store of a whole register in the stack."""
        ...

    def widened(self, insn: Insn) -> tuple[int, int, int] | None:
        """(source, result, bits) of an instruction that does no more than zero-extend the low bits
        of a register, so many."""
        ...

    def jumps_through(self, insn: Insn) -> tuple[int, bool]:
        """The register that a computed jump goes through, and whether calls go through it."""
        ...

    def origin(self, insn: Insn) -> tuple[Origin, int] | None:
        """How an instruction comes by an address to jump to, and the register that it reads."""
        ...

    def moved(
        self,
        items: Sequence[tuple[int, Insn]],
        function: Function,
        shared: Mapping[int, int],
        place: Callable[[int], int],
        pads: Collection[int] = (),
    ) -> list[Insn]:
        """Instructions, given with their old addresses, as they must be at new ones.

        `place` gives an old address' new one, `pads` are the old addresses of landing pads; raises
        CannotMove.
        """
        ...

    def nops(self, size: int) -> Iterable[Insn]:
        """Instructions that do nothing, `size` bytes in all."""
        ...

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing at all, by the registers named."""
        ...

    def coarse(self, words: Words) -> Words:
        """Words, each for itself, without what depends on place or link, or may."""
        ...

    def normal(self, words: Words) -> Words:
        """A whole routine without what depends on its place or on what it was linked with."""
        ...

    def relocated_bits(self, r_type: int) -> int | None:
        """The bits of an instruction that a relocation of this type fills; None if unknown."""
        ...

    def shared_pointer(self, words: Words, address: int) -> int:
        """What the register for shared data holds in the routine at `address`; 0 if unknown."""
        ...

    def described_pointers(self, image: Sectioned, words: Mapping[int, int]) -> dict[int, int]:
        """By a function's entry, what its descriptor in data says that register holds.

        `words` are what relocations make of words.  Empty where functions have no descriptors.
        """
        ...

    def ends_group(self, insn: Insn) -> bool:
        """Whether an instruction does nothing but end a group of those dispatched together."""
        ...

    def placed_anew(self, items: Sequence[tuple[int, Insn]], number: int) -> int | None:
        """Where the address behind an instruction, by number, is taken from its register, if that
        is once and `moved` makes what it makes from another one; beside what functions share."""
        ...

    def stays(self, insn: Insn) -> bool:
        """Whether what stands in text must stay where it is, though nothing outside says so."""
        ...

    def keeps_nop(self, op: Op) -> bool:
        """Whether a nop right behind an instruction of a row has its place there, in a kernel."""
        ...

    def seen_behind(self, insn: Insn) -> bool:
        """Whether whoever unwinds looks for an instruction right behind a call."""
        ...

    def routines(self, name: str) -> Sequence[Tuned]:
        """The tuned routines that keep a contract, the best first."""
        ...

    def branch(self, at: int, to: int) -> bytes:
        """An instruction at `at` that does nothing but go to `to`; raises CannotMove."""
        ...

    def frame_rows(self, code: bytes) -> tuple[FrameRow, ...]:
        """Where and how unwinding a leaf routine changes; raises CannotMove."""
        ...
