"""The toy: an architecture that nobody built, with what the shared floors have not met so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewriter.core.code.listing import Listing, decode_words
from rewriter.core.code.program import Bound, Function, Origin, TableRead
from rewriter.core.code.system_tables import SystemTables
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Words
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.arena import Arena
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.ident import Ident
from rewriter.core.target.protocol import CannotMove, FrameRow, Memory, Pair, References, Trigger
from tests.support.toy.cpus import BOARD, CPUS
from tests.support.toy.isa import CR, GENERAL, LR, TABLE, WORD
from tests.support.toy.source import MACHINE

STACK = 1
ALL = register_mask((*range(GENERAL), CR, LR))
SAVED = register_mask((STACK, *range(14, GENERAL)))
ARGUMENTS = register_mask(range(3, 11))
RESULTS = register_mask((3, 4, LR))


class Spelling:
    """How the toy says what all passes ask."""

    CELL_ACCESSES: frozenset[str] = frozenset()
    TRIGGERS: Mapping[str, tuple[Trigger, ...]] = {"bytes": (Trigger(frozenset({"srawi"})),)}
    FENCES: frozenset[str] = frozenset()
    SCRATCH = register_mask(range(3, 13))
    STACK = STACK

    def address(self, insn: Insn) -> tuple[int, int] | None:
        """Base register and displacement of an access."""
        return (insn.operand("ra"), insn.operand("disp")) if insn.has("disp") else None

    def move(self, source: int, target: int) -> Insn:
        """A copy of a register."""
        return Insn(TABLE.find("addi"), (target, source, 0))


class Narrow:
    """It always had narrow accesses; what it lacked is the extension of signs."""

    CROSSING: frozenset[str] = frozenset()

    def word_position(self, insn: Insn) -> tuple[int, int] | None:
        """Nothing takes a word out of a register by a position."""
        return None

    def needs_top_word(self, insn: Insn) -> bool:
        """Nothing is spelled with the upper part of a register."""
        return False

    def keeps_top_word(self, insn: Insn) -> bool:
        """Nothing is spelled with the upper part of a register."""
        return False

    def narrow_load(self, size: int, target: int, base: int, displacement: int) -> Insn | None:
        """None was spelled out."""
        return None

    def narrow_store(
        self, size: int, source: int | None, base: int, displacement: int
    ) -> Insn | None:
        """None was spelled out."""
        return None

    def sign_extend(self, size: int, source: int, target: int) -> Insn | None:
        """The low bytes of a register with their sign."""
        return Insn(TABLE.find({1: "extsb", 2: "extsh"}[size]), (target, source))


class Toy:
    """The target."""

    name = "toy"
    bundling = emulated = boots = bit_counting = combining = testing = joining = hints = (
        resolving
    ) = prefixing = choosing = None
    conditional_moves = inverting = completing = whole_lines = flushing = comparing = None
    shared_data = known_memory = None
    table = TABLE
    cpus: Mapping[str, Cpu] = CPUS
    baseline: frozenset[str] = frozenset()
    needs: Mapping[str, frozenset[str]] = {"bytes": frozenset({"BWX"})}
    everything = ALL
    returned = SAVED | RESULTS
    returned_by_helpers = 0
    spelling = Spelling()
    narrow_memory = Narrow()
    stack = STACK
    saved = SAVED & ~(1 << STACK)
    tables = SystemTables("big")
    signatures = Path(__file__).with_name("signatures.json")
    trials = None
    page = 0x1000
    arena = Arena(0x1000, 0x100000, 0x200000, 0x300000, 0x400000, 0x500000, 0x100000)
    alignment = 16
    outlived: frozenset[str] = frozenset()
    entry_size = WORD
    systems: Mapping[str, System] = {BOARD.name: BOARD}
    frame_bases = register_mask((STACK,))
    landing: int = LR

    @property
    def sequential(self) -> Toy:
        """Its own answers."""
        return self

    def fits(self, ident: Ident) -> bool:
        """32-bit big-endian files of its own number."""
        return (ident.machine, ident.bits, ident.byteorder) == (MACHINE, 32, "big")

    def system(self, cpu: Cpu) -> System:
        """The only one."""
        return BOARD

    def encode(self, insn: Insn) -> bytes:
        """A word."""
        return TABLE.encode(insn).to_bytes(WORD, "big")

    def listing(self, image: Memory, like: Listing | None = None) -> Listing:
        """Every word of text."""
        ranges = ((s + -s % WORD, e - e % WORD) for s, e in image.executable_ranges())
        parts = [(start, image.words(start, end, WORD)) for start, end in ranges if start < end]
        return decode_words(TABLE, parts, like=like)

    def entries(self, listing: Listing, function: Function) -> tuple[int, ...]:
        """None beside the start."""
        return ()

    def references(
        self,
        image: Memory,
        listing: Listing,
        functions: Sequence[Function],
        slots: Mapping[int, int],
    ) -> References:
        """There are no computed jumps, and nothing makes addresses of code."""
        return References((), frozenset(), {}, frozenset(), {})

    def is_kernel(self, image: Memory) -> bool:
        """There are no kernels."""
        return False

    def reserved(self, image: Memory) -> int:
        """No registers of the system."""
        return 0

    def ends_group(self, insn: Insn) -> bool:
        """There are no such groups."""
        return False

    def placed_anew(self, items: Sequence[tuple[int, Insn]], number: int) -> int | None:
        """No code asks where it stands."""
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

    def pairs(
        self,
        listing: Listing,
        functions: Sequence[Function],
        shared: Mapping[int, int],
        wanted: frozenset[int],
    ) -> Iterable[tuple[Function, Pair]]:
        """Nothing adds up to addresses of code."""
        return ()

    def relocated(self, r_type: int, addend: int, symbol: int | None) -> int | None:
        """No relocations."""
        return None

    # The calling standard -----------------------------------------------------------------------

    def live_after(self, insn: Insn) -> int:
        """What code that is not seen may read."""
        if insn.op.flow in (Flow.RETURN, Flow.RETURN_IF):
            return SAVED | RESULTS
        return SAVED | ARGUMENTS | register_mask((LR,))

    def standard_call(self, insn: Insn) -> bool:
        """There is one standard."""
        return True

    def passed(self, insn: Insn) -> int:
        """What a call may give."""
        return SAVED | ARGUMENTS | register_mask((LR,))

    def kept_over(self, insn: Insn) -> int:
        """What outlives a call."""
        return SAVED

    def always_traps(self, insn: Insn) -> bool:
        """Nothing is there to trap by."""
        return False

    def results(self, name: str) -> int:
        """Nothing special."""
        return 0

    def standard_return(self, insn: Insn) -> bool:
        """There is one link register."""
        return True

    def linear(self, insn: Insn) -> tuple[int, int, int] | None:
        """A register and a constant."""
        return insn.operands if insn.name == "addi" else None  # type: ignore[return-value]

    def unwound(self, number: int) -> int | None:
        """Its own numbers."""
        return number

    def whole(self, insn: Insn) -> tuple[int, int, bool] | None:
        """Saves and restores."""
        if insn.name not in ("lwz", "stw"):
            return None
        return insn.operand("rd"), insn.operand("ra"), insn.name == "stw"

    def saves(self, insn: Insn) -> int:
        """One, by the stack pointer."""
        said = self.whole(insn)
        return 1 << said[0] if said is not None and said[1:] == (STACK, True) else 0

    def in_order(self, insn: Insn) -> bool:
        """What moves the stack."""
        return bool(TABLE.defs(insn) >> STACK & 1)

    # Computed jumps, of which there are none -----------------------------------------------------

    def table_reads(
        self, jump: int, insn: Insn, definitions: Any, shared: Sequence[int]
    ) -> list[TableRead]:
        """None."""
        return []

    def pointed(
        self, jump: int, insn: Insn, definitions: Any, shared: Sequence[int]
    ) -> frozenset[int]:
        """None."""
        return frozenset()

    def table_entries(
        self, memory: Memory, listing: Listing, address: int, base: int
    ) -> tuple[int, ...]:
        """None."""
        return ()

    def bound(self, listing: Listing, first: int, branch: int) -> Bound | None:
        """None."""
        return None

    def spill(self, insn: Insn) -> tuple[int, int, int] | None:
        """None."""
        return None

    def widened(self, insn: Insn) -> tuple[int, int, int] | None:
        """None."""
        return None

    def jumps_through(self, insn: Insn) -> tuple[int, bool]:
        """Through the link register."""
        return LR, False

    def origin(self, insn: Insn) -> tuple[Origin, int] | None:
        """None."""
        return None

    # New code -----------------------------------------------------------------------------------

    def moved(
        self,
        items: Sequence[tuple[int, Insn]],
        function: Function,
        shared: Mapping[int, int],
        place: Callable[[int], int],
        pads: Collection[int] = (),
    ) -> list[Insn]:
        """Code stays where it is."""
        raise CannotMove("toy code stays")

    def nops(self, size: int) -> list[Insn]:
        """Nops."""
        return [Insn(TABLE.find("nop"), ())] * (size // WORD)

    def is_nop(self, insn: Insn) -> bool:
        """A nop."""
        return insn.name == "nop"

    def coarse(self, words: Words) -> Words:
        """Words as they are."""
        return words

    def normal(self, words: Words) -> Words:
        """Words as they are."""
        return words

    def relocated_bits(self, r_type: int) -> int | None:
        """No relocations."""
        return None

    def shared_pointer(self, words: Words, address: int) -> int:
        """No shared data."""
        return 0

    def described_pointers(self, image: Any, words: Mapping[int, int]) -> dict[int, int]:
        """No descriptors."""
        return {}

    def routines(self, name: str) -> Sequence[Any]:
        """No tuned routines."""
        return ()

    def branch(self, at: int, to: int) -> bytes:
        """`b`."""
        return self.encode(Insn(TABLE.find("b"), (to - at,)))

    def frame_rows(self, code: bytes) -> tuple[FrameRow, ...]:
        """No unwind tables."""
        return ()
