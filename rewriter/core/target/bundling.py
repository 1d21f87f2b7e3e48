"""The capability `bundling`: code whose text says which instructions issue together.

Its unit of work is a region, a superblock of whole bundles: nothing of what the passes for other
machines do applies.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from rewriter.core.code import transfer
from rewriter.core.code.groups import Slot
from rewriter.core.code.ordering import Exact, Model
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.run.portable import Portable
from rewriter.core.target.prefetching import Prefetching
from rewriter.core.target.protocol import Sectioned, Target
from rewriter.core.target.substitution import Substituting

if TYPE_CHECKING:
    from rewriter.core.target.calls import Calls


class Symbol(Protocol):
    """A symbol, in ELF's words."""

    @property
    def name(self) -> str: ...
    @property
    def st_value(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_type(self) -> int: ...
    @property
    def st_shndx(self) -> int: ...
    @property
    def dynamic(self) -> bool: ...


class Relocation(Protocol):
    """A relocation, in ELF's words."""

    @property
    def r_offset(self) -> int: ...
    @property
    def r_type(self) -> int: ...
    @property
    def symbol(self) -> str: ...
    @property
    def r_addend(self) -> int: ...
    @property
    def dynamic(self) -> bool: ...
    @property
    def added(self) -> int | None: ...


class Section(Protocol):
    """A section, in ELF's words."""

    @property
    def sh_type(self) -> int: ...
    @property
    def sh_flags(self) -> int: ...
    @property
    def sh_addr(self) -> int: ...
    @property
    def sh_size(self) -> int: ...


class Segment(Protocol):
    """A segment, in ELF's words."""

    @property
    def p_type(self) -> int: ...
    @property
    def p_vaddr(self) -> int: ...
    @property
    def p_filesz(self) -> int: ...


class Linked(Sectioned, Protocol):
    """What such a target asks of an image."""

    @property
    def e_type(self) -> int: ...
    @property
    def entry(self) -> int: ...
    @property
    def is_sectioned(self) -> bool:
        """Whether section headers say, by names, what stands where."""
        ...

    @property
    def sections(self) -> Sequence[Section]: ...
    @property
    def segments(self) -> Sequence[Segment]: ...
    @property
    def symbols(self) -> Sequence[Symbol]: ...
    @property
    def relocations(self) -> Sequence[Relocation]: ...
    @property
    def probes(self) -> Sequence[int]: ...
    def segment_of(self, address: int) -> Segment | None: ...


class Range(Protocol):
    """Code that an unwind table describes."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Region(Portable):
    """Whole bundles [start, end) that are entered at the first slot only.

    Control leaves on the way by branches ahead only, and comes back behind the last bundle.
    `reason` says why they stay as they are, or is empty.
    """

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Place(Portable):
    """The bytes of a region that stood at `old`, at `new`; `old` is the function's end for rest."""

    old: int
    new: int
    code: bytes


@dataclass(frozen=True, slots=True)
class Laid(Portable):
    """A function laid out: its places, and other bytes that follow them by their address."""

    places: tuple[Place, ...]
    others: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class Routine(Portable):
    """A function's regions, in order; together they are all of it.

    `reason` says why the whole function stays as it is, `stays` why its regions keep their
    places; both may be empty.  `words` are those of jump tables: where, and where they lead.
    `kept` is a mask of registers in which unwinders look for others.
    """

    function: Function
    regions: tuple[Region, ...]
    reason: str
    stays: str
    words: tuple[tuple[int, int], ...] = ()
    kept: int = 0


@dataclass(frozen=True, slots=True)
class UnwindRegion:
    """A region of the unwind information: [start, end), as addresses of slots.

    `named` are the slots whose instructions it names.  Its end `is_free` to move where that says
    nothing: it and the region behind it name a slot for all that they say.
    """

    start: int
    end: int
    is_body: bool
    is_free: bool
    named: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UnwindRegions:
    """What unwind information says: where, and in bytes without any place the `rest`.

    `stacked` is a mask of the registers that it says to be saved on the stack: they are taken for
    restored behind the instruction that a body names, which frees the stack.
    """

    regions: tuple[UnwindRegion, ...]
    rest: bytes
    stacked: int


@dataclass(frozen=True, slots=True)
class Landmark:
    """A slot that a table of the system names: `what` is there, None if no instruction is."""

    table: str
    address: int
    what: Hashable


NO_BOUNDARIES: Mapping[int, int] = MappingProxyType({})


class Code(Protocol):
    """The code of one file."""

    @property
    def functions(self) -> Sequence[Function]: ...

    @property
    def bundles(self) -> int:
        """How many bundles of text there are."""
        ...

    @property
    def calls(self) -> Calls | None:
        """Its calls and returns; None where nothing says that they keep to the standard."""
        ...

    def routine(self, function: Function) -> Routine:
        """A function's regions, and the reasons why some of it stays as it is."""
        ...

    def led(self, place: int) -> int:
        """Where the word of a jump table at `place` leads."""
        ...

    def unwind_bytes(self, function: Function) -> range:
        """The addresses of the bytes that describe a function to unwinders."""
        ...

    def unwind_regions(self, function: Function) -> UnwindRegions | None:
        """What the unwind table says of a function; None where it says nothing."""
        ...

    def landmarks(self) -> Sequence[Landmark]:
        """Every slot that a table of the system names."""
        ...

    def laid_out(
        self,
        routine: Routine,
        codes: Mapping[int, bytes],
        moves: bool,
        boundaries: Mapping[int, int] = NO_BOUNDARIES,
    ) -> Laid:
        """A function when regions, by their start, have new code; raises CannotMove.

        `moves` says whether regions may leave their places; those with `boundaries`, by their
        start, then stand on multiples of so many bytes where there is room.  The code is as it
        must be at the region's start, and no longer than the region.
        """
        ...


class Bundling(Target, Protocol):
    """An architecture whose code says what issues together."""

    bundle: int
    jump_word: int  # bytes of a word of a jump table
    proving: transfer.Provable
    substituting: Substituting
    prefetching: Prefetching

    def described(self, image: Linked) -> Iterable[Range]:
        """The ranges of the unwind table."""
        ...

    def code(self, image: Linked, functions: Sequence[Function]) -> Code:
        """The code of an image with these functions."""
        ...

    def straight(self, code: bytes, address: int) -> Iterable[Slot]:
        """The instructions of bundles; ValueError where the bytes are none."""
        ...

    def assembled(self, slots: Sequence[Slot]) -> bytes:
        """The bundles that hold instructions in these places; ValueError where none can."""
        ...

    def place_free(self, insn: Insn) -> Hashable:
        """What an instruction is, whatever slot it stands in and however far its target is."""
        ...

    def scheduling(self, model: Model) -> Exact:
        """What `passes/scheduling/bundled` asks of the target, with a CPU's model."""
        ...

    def ends(self, insn: Insn) -> bool:
        """Whether control never goes on behind an instruction."""
        ...

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing at all."""
        ...
