"""Addresses of this file that PowerPC instructions make, on all ways to a place.

64-bit code adds to r2, which holds the TOC of its file or part of a file, or loads a word of that
table.  Position-independent 32-bit code asks where it stands (`bcl 20,31,.+4; mflr r30`) and adds
to that, mostly to come to the table of addresses (`.got`, `.got2`).  Other code has addresses of
its own (`lis; addi`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rewriter.core.code.program import Origin
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.protocol import Definitions
from targets.ppc.abi import FRAME_BASES
from targets.ppc.registers import GOT, GPR, LR, SP, TOC, ZERO

MFLR, _MTLR, _MTCTR = 0x7C0802A6, 0x7C0803A6, 0x7C0903A6
_MOST = 64
"""Addresses that a register is followed to at most."""

Values: TypeAlias = frozenset[int] | None
"""Addresses; None where others are possible too."""

Read: TypeAlias = tuple[int, int]
"""A register, and the address of an instruction that reads it."""

_LOADS, _STORES = {32: "lwz", 64: "ld"}, {32: "stw", 64: "std"}
_WORDS = {32: ("lwz", "lwzx"), 64: ("ld", "ldx")}
"""Loads of a word as wide as an address."""


@dataclass
class Constants:
    """Follows registers back to what made them.

    `bits` is the width of registers, `shared` what r2 may hold, or in 32-bit code r30.
    """

    bits: int
    shared: Sequence[int]
    definitions: Definitions
    _known: dict[Read, Values] = field(default_factory=dict)

    def of(self, register: int, use: int) -> frozenset[int]:
        """What the instruction at `use` may read in a register; none where that is not known."""
        return self._of(register, use) or frozenset()

    def _of(self, register: int, use: int) -> Values:
        """The same, once for each question; while one is asked its answer is not known."""
        read = register, use
        if read not in self._known:
            self._known[read] = None
            self._known[read] = self._followed(read)
        return self._known[read]

    def _followed(self, read: Read) -> Values:
        """The values of all ways to a place, through copies; None if one way has none."""
        found, queue, seen = set[int](), [read], {read}
        while queue:
            register, use = queue.pop()
            if register in (ZERO, base_of(self.bits)):
                found.update((0,) if register == ZERO else self.shared)
                continue
            made = self.definitions.made(register, use)
            if not made or len(found) > _MOST:
                return None
            for at, insn in made:
                sources = self._sources(at, insn)
                values = self._made(at, insn) if sources is None else frozenset()
                if values is None or sources == ():
                    return None
                found |= values
                queue += [source for source in sources or () if source not in seen]
                seen.update(sources or ())
        return frozenset(found)

    def _sources(self, at: int, insn: Insn) -> Sequence[Read] | None:
        """Where the values come from that an instruction copies, also from the stack."""
        source = copied(insn)
        if source is not None:
            return ((source, at),)
        if insn.name != _LOADS[self.bits] or not FRAME_BASES >> insn.operand("ra0") & 1:
            return None
        stored = self.definitions.stored(insn.operand("ra0"), displacement_of(insn), at)
        return tuple((register, store) for store, register in stored)

    def _made(self, at: int, insn: Insn) -> Values:
        """What an instruction that is no copy leaves in the register that it writes."""
        name = insn.name
        if name in ("addi", "addis"):
            distance = insn.operand("si") << (16 if name == "addis" else 0)
            return self._sum(insn.operand("ra0"), distance, at)
        if insn.op.flow is Flow.HERE:
            return frozenset((at + insn.size,))
        if name != _LOADS[self.bits]:
            return None
        places = self._sum(insn.operand("ra0"), displacement_of(insn), at) or ()
        held = {self.definitions.held(place) for place in places}
        words = frozenset(word for word in held if word is not None)
        return words if words and None not in held else None

    def _sum(self, register: int, distance: int, use: int) -> Values:
        values = self._of(register, use)
        if values is None:
            return None
        return frozenset((value + distance) % (1 << self.bits) for value in values)


def base_of(bits: int) -> int:
    """The register off which code comes to the table of addresses."""
    return TOC if bits == 64 else GOT


def displacement_of(insn: Insn) -> int:
    """The displacement of a load or store at an address of a register."""
    return insn.operand("d") if insn.has("d") else insn.operand("ds")


def copied(insn: Insn) -> int | None:
    """The register that an instruction does no more than copy."""
    if insn.name == "or" and insn.operand("rs") == insn.operand("rb"):
        return insn.operand("rs")
    if insn.op.match in (_MTLR, _MTCTR):
        return insn.operand("rs")
    return int(LR) if insn.op.match == MFLR else None


def origin(insn: Insn, bits: int) -> tuple[Origin, int] | None:
    """How an instruction comes by an address to jump to, and the register that it reads."""
    name, source = insn.name, copied(insn)
    if source is not None:
        return Origin.COPY, source
    if name in _WORDS[bits]:  # a table of addresses may hold labels: it is as any memory
        return Origin.MEMORY, insn.operand("ra0")
    if name == "addis":
        return Origin.HIGH, insn.operand("ra0")
    if name == "addi" and insn.operand("ra0") != ZERO:
        return Origin.SUM, insn.operand("ra0")
    return None


def spill(insn: Insn, bits: int) -> tuple[int, int, int] | None:
    """(base, displacement, register) of a store of a whole register in the stack."""
    if insn.name != _STORES[bits] or not FRAME_BASES >> insn.operand("ra0") & 1:
        return None
    return insn.operand("ra0"), displacement_of(insn), insn.operand("rs")


def saves(insn: Insn, bits: int) -> int:
    """Mask of the registers that an instruction stores whole, by the stack pointer."""
    if insn.name == "stmw" and bits == 32 and insn.operand("ra0") == SP:
        return register_mask(range(GPR + insn.operand("rs_many"), GPR + 32))
    spilled = spill(insn, bits)
    return 1 << spilled[2] if spilled is not None and spilled[0] == SP else 0
