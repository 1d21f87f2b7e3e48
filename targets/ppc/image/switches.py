"""Computed jumps of PowerPC code: how a switch reads.

    cmplwi index,N          the bound
    bgt default
    ...                     the table's address, off r2 or out of a table of addresses
    slwi t,index,2
    lwzx t,table,t          lwax on 64-bit machines
    add t,t,table
    mtctr t
    bctr

Entries are distances from the table's start, 4 bytes each with a sign; those of a computed `goto`
are distances from a label (gcc-12 config/rs6000/rs6000.h, ASM_OUTPUT_ADDR_DIFF_ELT).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Bound, TableRead
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Definitions
from targets.ppc.image.constants import Constants, copied, displacement_of
from targets.ppc.registers import CTR, ZERO
from targets.reading import written

ENTRY_SIZE = 4  # bytes of a jump table's entry
_SCALE = 2  # entries are found by the index times 1 << 2
_INDEXED, _PLAIN = frozenset(("lwzx", "lwax")), frozenset(("lwz", "lwa"))
_LESS, _GREATER = 0, 1  # the bits of a condition register field that a bound looks at
_IF_CLEAR, _IF_SET = "bo_f", "bo_t"  # what branches if the bit is clear, if it is set


def table_reads(
    jump: int, definitions: Definitions, bits: int, shared: Sequence[int]
) -> list[TableRead]:
    """The tables that a computed jump may go by; none if a way to it does not read as a switch."""
    reader, found = _Reader(Constants(bits, shared, definitions), definitions), list[TableRead]()
    for at, move in definitions.made(CTR, jump):
        source = copied(move)
        sums = definitions.made(source, at) if source is not None else ()
        for place, add in sums:
            reads = list(reader.added(place, add)) if add.name == "add" else []
            if not reads:
                return []
            found += reads
        if not sums:
            return []
    return found


@dataclass(frozen=True)
class _Reader:
    """Reads a switch back from the sum that it jumps to."""

    constants: Constants
    definitions: Definitions

    def added(self, at: int, add: Insn) -> Iterator[TableRead]:
        """By the sum of an entry and what entries are relative to."""
        for entry, base in (("ra", "rb"), ("rb", "ra")):
            loads = self.definitions.made(add.operand(entry), at)
            if not loads or any(load.name not in _INDEXED | _PLAIN for _, load in loads):
                continue
            bases = sorted(self.constants.of(add.operand(base), at))
            reads = [list(self._loaded(*load, bases)) for load in loads]
            if bases and all(reads):
                for some in reads:
                    yield from some
                return

    def _loaded(self, at: int, load: Insn, bases: Sequence[int]) -> Iterator[TableRead]:
        """By the load of an entry."""
        if load.name in _INDEXED:
            yield from self._indexed(at, load.operand("ra0"), load.operand("rb"), 0, bases)
            return
        for place, add in self.definitions.made(load.operand("ra0"), at):
            if add.name == "add":
                ra, rb = add.operand("ra"), add.operand("rb")
                yield from self._indexed(place, ra, rb, displacement_of(load), bases)

    def _indexed(
        self, at: int, one: int, other: int, displacement: int, bases: Sequence[int]
    ) -> Iterator[TableRead]:
        """By the sum of a table's address and an index times the size of an entry."""
        for table, scaled in ((one, other), (other, one)):
            made = self.definitions.made(scaled, at)
            if not made or not all(_scaled(insn) for _, insn in made):
                continue
            tables: Sequence[int | None] = sorted(self.constants.of(table, at)) or (None,)
            for use, scale in made:
                for place in tables:
                    address = None if place is None else place + displacement
                    for base in bases:
                        index = scale.operand("rs")
                        yield TableRead(address, base, index, use, _scaled(scale))
            return


def _scaled(insn: Insn) -> int:
    """The low bits of a register that an instruction multiplies by the size of an entry, if so."""
    if insn.name == "rldic":
        kept = max(64 - _SCALE - insn.operand("mb6"), 0)
        return kept if insn.operand("sh6") == _SCALE else 0
    if insn.name == "rldicr":
        return 64 - _SCALE if insn.operand("sh6") == _SCALE else 0
    scales = insn.name == "rlwinm" and insn.operand("sh") == _SCALE and _rotates_nothing(insn)
    return 32 - insn.operand("mb") - _SCALE if scales else 0


def _rotates_nothing(insn: Insn) -> bool:
    """Whether a rotation to the left by the size of an entry leaves no upper bits below."""
    return insn.operand("me") <= 31 - _SCALE and insn.operand("mb") <= insn.operand("me")


def widened(insn: Insn) -> tuple[int, int, int] | None:
    """(source, result, bits) of an instruction that zero-extends the low bits of a register."""
    kept = 0
    if insn.name == "rldicl" and insn.operand("sh6") == 0:
        kept = 64 - insn.operand("mb6")
    elif insn.name == "rlwinm" and insn.operand("sh") == 0 and insn.operand("me") == 31:
        kept = 32 - insn.operand("mb")
    return (insn.operand("rs"), insn.operand("ra"), kept) if kept else None


# Bounds -----------------------------------------------------------------------------------


def bound(listing: Listing, first: int, branch: int) -> Bound | None:
    """What is known of a register after a branch by an unsigned comparison before it."""
    by = listing.insn(branch)
    if by is None or by.name != "bc" or not (by.has(_IF_CLEAR) or by.has(_IF_SET)):
        return None
    if by.operand("bi_bit") not in (_LESS, _GREATER):
        return None
    made = written(listing, by.operand("bi"), first, branch)
    compare = listing.insn(made) if made is not None else None
    if made is None or compare is None or not compare.name.startswith("cmpl"):
        return None
    most = _constant(listing, compare, first, made)
    less = by.operand("bi_bit") == _LESS
    if most is None:
        return None
    place = int(listing.addresses[branch])
    target = by.target(place)
    assert target is not None
    # Inside is where the register is less, or is not greater.
    inside = target if less == by.has(_IF_SET) else place + by.size
    return Bound(made, compare.operand("ra"), branch, inside, most + (not less))


def _constant(listing: Listing, compare: Insn, first: int, at: int) -> int | None:
    """What a comparison compares with."""
    if compare.has("ui"):
        return compare.operand("ui")
    made = written(listing, compare.operand("rb"), first, at)
    insn = listing.insn(made) if made is not None else None
    if insn is None or insn.name != "addi" or insn.operand("ra0") != ZERO:
        return None
    value = insn.operand("si")
    return value if value >= 0 else None
