"""Which instructions a function's unwind rows go by, told from what the rows themselves say.

A row says where the caller's frame is and where registers are kept, from its address on.  It is
true there because of instructions before it, and until others behind it:
- writes of a register that any row finds the frame by, or finds another register in; in the latter
  case not what is written again before control goes elsewhere or a row finds anything in it, if it
  is made of scratch registers alone: nothing that is kept comes from these;
- saves and restores of the registers that rows have rules for, in the frame: at an address from
  such a register, the stack pointer or the frame pointer;
- where a row says that registers are kept elsewhere from now on: their stores, wherever to, and
  their writes since the row before; and where it says that they are back: their loads, wherever
  from, since the last transfer of control.
A rule that is an expression may name any register.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

import numpy as np

from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.registers import from_columns
from rewriter.core.target.protocol import Sequential
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.rows import Rules, rows
from rewriter.verify.walk.insn_classes import IDLE, WHOLE, Kinds

Rows = Sequence[tuple[int, Rules]]
"""The rows of an entry with their addresses, ascending."""

Mark = tuple[str, int]
"""What an instruction is to rows, and of which registers, as a mask."""

TRANSFER, WRITE, SAVE, RESTORE = "transfer", "write", "save", "restore"
_EVERY = -1
_BACK = (None, "same_value")


class Change(NamedTuple):
    """A row behind the first: masks of the registers that are kept elsewhere, or back, from it on.

    `before` is the address of the row before.
    """

    before: int
    address: int
    away: int
    back: int


@dataclass(frozen=True)
class Account:
    """What the rows of one entry name, as masks of registers.

    `bases` is what frames, and registers kept in registers, are found by; `holders` has for each
    row the address where it begins and the registers that others are kept in, if no frame is found
    by these; `kept` has the registers with rules.
    """

    bases: int
    kept: int
    changes: tuple[Change, ...]
    holders: tuple[tuple[int, int], ...]


def account(rows: Rows, target: Sequential) -> Account:
    """What rows go by."""

    def bit(number: int) -> int:
        register = target.unwound(number)
        return 0 if register is None else 1 << register

    frames = kept = 0  # first the registers that frames are found by
    holders = list[tuple[int, int]]()
    for address, said in rows:
        kind, number, _ = said.cfa
        frames |= _EVERY if kind == "expression" else bit(number)
        kept |= bit(said.return_column)
        holding = 0
        for register, (rule, value) in said.registers:
            kept |= bit(register)
            if rule == "register" and isinstance(value, int):
                holding |= bit(value)
            elif rule.endswith("expression"):
                frames = _EVERY
        holders.append((address, holding))
    every = reduce(or_, (holding for _, holding in holders), frames)
    changes = []
    for (before, old), (address, new) in pairwise(rows):
        was, now = dict(old.registers), dict(new.registers)
        changed = [r for r in {*was, *now} if was.get(r) != now.get(r)]
        away = [r for r in changed if now.get(r, _BACK)[0] not in _BACK]
        back = [r for r in changed if r not in away or was.get(r, _BACK)[0] not in _BACK]
        masked = (reduce(or_, map(bit, some), 0) for some in (away, back))
        changes.append(Change(before, address, *masked))
    only = tuple((address, holding & ~frames) for address, holding in holders)
    return Account(every, kept, tuple(changes), only)


class Framed:
    """The instructions of [start, end) that the rows of an entry go by, nops apart.

    `addresses` are those of all instructions, `marks` what each is, if anything.
    """

    def __init__(self, listing: Listing, kinds: Kinds, start: int, end: int, said: Account) -> None:
        first, last = listing.span(start, end)
        kind = np.frombuffer(kinds.of(listing, first, last), np.uint8)
        kept = np.flatnonzero((kind & IDLE == 0) & (listing.rows[first:last] >= 0))
        self.addresses: list[int] = listing.addresses[first:last][kept].tolist()
        self._transfers = (listing.flows[first:last][kept] != FLOW_CODE[Flow.NEXT]).tolist()
        self._defs = from_columns(listing.defs[first:last][kept])
        self._uses = from_columns(listing.uses[first:last][kept])
        self._whole = {
            at: kinds.whole(listing, first + int(kept[at]))
            for at in np.flatnonzero(kind[kept] & WHOLE).tolist()
        }
        self._kinds = kinds
        self._said, self._frame = said, said.bases | kinds.target.frame_bases
        again = self._written_again()
        self.marks = [self._mark(at, again[at]) for at in range(len(self.addresses))]

    def _written_again(self) -> list[int]:
        """Scratch results written again behind each instruction before anything is found there."""
        starts = [address for address, _ in self._said.holders]
        every = reduce(or_, (holding for _, holding in self._said.holders), 0)
        found, again = [0] * len(self.addresses), 0
        for at in reversed(range(len(self.addresses)) if every else ()):
            scratch = self._kinds.target.spelling.SCRATCH | self._defs[at]
            if at not in self._whole and not self._uses[at] & ~scratch:
                found[at] = again
            again = 0 if self._transfers[at] else again | self._defs[at] & every
            before = self.addresses[at - 1] if at else starts[0]
            first = bisect_right(starts, before) - 1  # rows of nops in between count, too
            for _, holding in self._said.holders[first : bisect_right(starts, self.addresses[at])]:
                again &= ~holding
        return found

    def _mark(self, at: int, again: int) -> Mark | None:
        if self._transfers[at]:
            return TRANSFER, 0
        if at in self._whole:
            register, base, is_save = self._whole[at]
            if register & self._said.kept and base & self._frame:
                return SAVE if is_save else RESTORE, register
        written = self._defs[at] & self._said.bases & ~again
        return (WRITE, written) if written else None

    def changing(self, change: Change) -> list[tuple[int, Mark]]:
        """What a row alone goes by: instructions by number, and what each is."""
        first, end = (bisect_left(self.addresses, at) for at in (change.before, change.address))
        found: list[tuple[int, Mark]] = []
        ahead = end
        while ahead > first and not self._transfers[ahead - 1]:
            ahead -= 1
        for at in range(first, end):
            register, _, is_save = self._whole.get(at, (0, 0, False))
            if is_save and register & change.away:
                found.append((at, (SAVE, register)))
            elif not is_save and register & change.back and at >= ahead:
                found.append((at, (RESTORE, register)))
            elif self._defs[at] & change.away:
                found.append((at, (WRITE, self._defs[at] & change.away)))
        return found

    def holding(self) -> set[int]:
        """The addresses of all instructions that rows go by, but for transfers of control."""
        at = {n for n, mark in enumerate(self.marks) if mark is not None and mark[0] != TRANSFER}
        for change in self._said.changes:
            at.update(n for n, _ in self.changing(change))
        return {self.addresses[n] for n in at}


def bases(frame: Fde | None, target: Sequential) -> int:
    """Registers that frames and other registers are found by, by an entry, if there is one."""
    return 0 if frame is None else account(rows(frame), target).bases


def one_frame(frame: Fde | None, places: Iterable[int]) -> bool:
    """Whether unwinders find the same frame at all of some places, by an entry, if there is one."""
    if frame is None:
        return True
    try:
        table = rows(frame)
    except BadInput:
        return False
    starts = [address for address, _ in table]
    return len({table[bisect_right(starts, at) - 1][1] for at in places}) == 1
