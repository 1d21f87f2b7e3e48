"""What a tuned routine saves where, and unwind descriptors that say so.

Our routines call nothing and leave the return address and ar.pfs where they are.  One that loops
or rotates first puts the predicates and ar.lc into general registers that nothing else writes, so
that behind the last of those saves one description holds to the end.

Layout: Itanium Software Conventions and Runtime Architecture Guide, appendix B: formats R1, R3,
P3 and B2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.leb128 import uleb
from rewriter.core.target.protocol import CannotMove
from rewriter.core.target.substitution import PlacedRoutine, Room
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE, QP
from targets.ia64.isa.i_unit import MASK17
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import NAMES, NUMBERS, PR
from targets.ia64.standard import PRESERVED, PRESERVED_PREDICATES

_MASK = MASK17.name
_PREDICATES, _COUNTER = 3, 5  # what P3 says was saved: preds_gr, lc_gr
_SAVED = {
    _PREDICATES: register_mask(PRESERVED_PREDICATES),
    _COUNTER: 1 << NUMBERS["ar.lc"],
}
_OTHERS = register_mask(PRESERVED) & ~(_SAVED[_PREDICATES] | _SAVED[_COUNTER])


@dataclass(frozen=True, slots=True)
class Saves:
    """Registers that hold others' values behind the first `slots` slots: (what, where)."""

    slots: int
    registers: tuple[tuple[int, int], ...]


def saves(code: bytes) -> Saves:
    """What a routine saves; CannotMove where that cannot be described."""
    slots = list(bundles.straight(code, 0))
    found: dict[int, int] = {}
    last = -1
    for number, slot in enumerate(slots):
        if slot.insn.op.flow is not Flow.NEXT:
            break
        what = _saved(slot.insn)
        if what is not None and what not in found:
            found[what], last = slot.insn.operand("r1"), number
    for number, slot in enumerate(slots):
        written = _written(slot.insn)
        lost = written & _OTHERS
        for what, mask in _SAVED.items():
            if number <= last or what not in found:
                lost |= written & mask
        if number > last:
            lost |= written & register_mask(found.values())
        if lost:
            name = NAMES[(lost & -lost).bit_length() - 1]
            raise CannotMove(f"how to unwind cannot be said: it changes {name}")
    if last < 0:
        return Saves(0, ())
    return Saves(_number(slots[last].address) + 1, tuple(sorted(found.items())))


def _saved(insn: Insn) -> int | None:
    """What an instruction puts into a general register, if it is one that saves."""
    if not insn.name.startswith("mov") or insn.operand(QP.name) != QP.base:
        return None
    read = TABLE.uses(insn)
    return next((what for what, mask in _SAVED.items() if read & mask == mask), None)


def _written(insn: Insn) -> int:
    """The registers that an instruction may write, of the predicates those that its mask lets."""
    written = TABLE.defs(insn)
    if insn.has(_MASK):
        let = insn.operand(_MASK)
        every = range(PR, PR + 64)
        written &= ~register_mask(p for p in every if not let >> p - PR & 1)
    return written


def _number(address: int) -> int:
    """The number of a slot, counted from address 0."""
    return address // BUNDLE * SLOTS + address % BUNDLE


def descriptors(room: Room, placed: Sequence[PlacedRoutine]) -> bytes:
    """How to unwind from everywhere in a room, routines by address; CannotMove if it cannot be
    said."""
    return b"".join(_regions(room, placed))


def _regions(room: Room, placed: Sequence[PlacedRoutine]) -> Iterator[bytes]:
    at = room.start
    if not placed:
        yield _region(False, _number(room.size))
    for one, following in zip(placed, (*placed[1:], None), strict=False):
        found = saves(one.routine.code)
        end = room.end if following is None else one.end
        before, behind = _number(one.address - at) + found.slots, _number(end - one.address)
        yield _region(False, before)
        for what, place in found.registers:
            yield bytes((0xB0 | what >> 1, (what & 1) << 7 | place))
        yield _region(True, behind - found.slots)
        if following is not None:
            yield b"\xc0\x00"  # B2: with its last slot it undoes what its prologue said
        at = end


def _region(body: bool, slots: int) -> bytes:
    """The header of an unwind region."""
    if slots < 32:
        return bytes((body << 5 | slots,))
    return bytes((0x60 | body,)) + uleb(slots)
