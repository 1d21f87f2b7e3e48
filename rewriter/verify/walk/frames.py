"""Which instructions a function's unwind rows go by, told from what the rows themselves say.

A row says where the caller's frame is and where registers are kept, from its address on.  It is
true there because of instructions before it, and until others behind it:
- writes of a register that any row finds the frame by, or finds another register in; in the latter
  case not what is written again before control goes elsewhere or a row finds anything in it, if it
  is made of scratch registers, and of such as the code itself saves in the frame, alone: nothing
  that is kept comes from these, unless a row finds one of the latter in another register;
- saves and restores of the registers that rows have rules for, in the frame: at an address from
  such a register, the stack pointer or the frame pointer;
- where a row says that registers are kept elsewhere from now on: their stores, wherever to, and
  their writes since the row before; and where it says that they are back: their loads, wherever
  from, and what else writes them last, since the last transfer of control;
- where a row begins to find others in a register: what writes that last, as the very instruction.
A rule that is an expression may name any register.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import Sequential
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.rows import Rules, rows
from rewriter.verify.walk.detours.choices import More
from rewriter.verify.walk.insn_classes import IDLE, WHOLE, Kinds

Rows = Sequence[tuple[int, Rules]]
"""The rows of an entry with their addresses, ascending."""

Mark = tuple[str, int]
"""What an instruction is to rows, and of which registers, as a mask; of a HOLD its word."""

TRANSFER, WRITE, SAVE, RESTORE, HOLD = "transfer", "write", "save", "restore", "hold"
_GOES: Mark = (TRANSFER, 0)
_NOTHING: More = MappingProxyType({})
_EVERY = -1
_BACK = (None, "same_value")


class Changed(NamedTuple):
    """Masks of the registers that are kept elsewhere, are back, or hold others, from a row on that
    did not in the row before."""

    away: int
    back: int
    holding: int


class Change(NamedTuple):
    """A row behind the first, and the address of the row before."""

    before: int
    address: int
    changed: Changed


@dataclass(frozen=True)
class Account:
    """What the rows of one entry name, as masks of registers.

    `bases` is what frames, and registers kept in registers, are found by; `holders` has for each
    row the address where it begins and the registers that others are kept in, if no frame is found
    by these; `kept` has the registers with rules, `held` those that are kept in registers.
    """

    bases: int
    kept: int
    held: int
    changes: tuple[Change, ...]
    holders: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Told:
    """The same of rows wherever they begin: by row what others are kept in alone, and for each
    behind the first what changed."""

    bases: int
    kept: int
    held: int
    changed: Sequence[Changed]
    holders: Sequence[int]

    def at(self, starts: Sequence[int]) -> Account:
        """Of rows that begin at some addresses."""
        changes = (
            Change(*places, changed)
            for places, changed in zip(pairwise(starts), self.changed, strict=True)
        )
        holders = tuple(zip(starts, self.holders, strict=True))
        return Account(self.bases, self.kept, self.held, tuple(changes), holders)


def told(rules: Sequence[Rules], target: Sequential) -> Told:
    """What rows with some rules go by."""
    named = [_named(said, target.unwound) for said in rules]
    frames = reduce(or_, (one.frames for one in named))
    return Told(
        reduce(or_, (one.holders for one in named), frames),
        reduce(or_, (one.kept for one in named)),
        reduce(or_, (one.held for one in named)),
        [_changed(old, new, target.unwound) for old, new in pairwise(rules)],
        [one.holders & ~frames for one in named],
    )


def account(rows: Rows, target: Sequential) -> Account:
    """What rows go by."""
    return told([said for _, said in rows], target).at([at for at, _ in rows])


def bases_of(said: Rules, target: Sequential) -> int:
    """What one row finds its frame, and registers kept in registers, by."""
    named = _named(said, target.unwound)
    return named.frames | named.holders


_Unwound = Callable[[int], int | None]
"""The register that a number in rows stands for."""


class _Named(NamedTuple):
    """Masks of registers that one row names: what its frame is found by, what others are kept in,
    those with rules, and of them those kept in registers."""

    frames: int
    holders: int
    kept: int
    held: int


def _bit(number: int, unwound: _Unwound) -> int:
    register = unwound(number)
    return 0 if register is None else 1 << register


@lru_cache(1 << 12)  # few rules come again and again
def _named(said: Rules, unwound: _Unwound) -> _Named:
    kind, number, _ = said.cfa
    frames = _EVERY if kind == "expression" else _bit(number, unwound)
    kept, holders, held = _bit(said.return_column, unwound), 0, 0
    for register, (rule, value) in said.registers:
        kept |= _bit(register, unwound)
        if rule == "register" and isinstance(value, int):
            holders |= _bit(value, unwound)
            held |= _bit(register, unwound)
        elif rule.endswith("expression"):
            frames = _EVERY
    return _Named(frames, holders, kept, held)


@lru_cache(1 << 12)
def _changed(old: Rules, new: Rules, unwound: _Unwound) -> Changed:
    """What changed in the second of two rows."""
    was, now = dict(old.registers), dict(new.registers)
    changed = [r for r in {*was, *now} if was.get(r) != now.get(r)]
    away = [r for r in changed if now.get(r, _BACK)[0] not in _BACK]
    back = [r for r in changed if r not in away or was.get(r, _BACK)[0] not in _BACK]
    masked = (reduce(or_, (_bit(r, unwound) for r in some), 0) for some in (away, back))
    holding = _named(new, unwound).holders & ~_named(old, unwound).holders
    return Changed(next(masked), next(masked), holding)


class Framed:
    """The instructions of [start, end) that the rows of an entry go by, nops apart.

    `addresses` are those of all instructions, `marks` what some of them are, by their numbers.
    `more` has by address what an instruction is besides, right behind itself.
    """

    def __init__(
        self,
        listing: Listing,
        kinds: Kinds,
        start: int,
        end: int,
        said: Account,
        more: More = _NOTHING,
    ) -> None:
        first, last = listing.span(start, end)
        kind = np.frombuffer(kinds.of(listing, first, last), np.uint8)
        kept = np.flatnonzero((kind & IDLE == 0) & (listing.rows[first:last] >= 0))
        self.addresses: list[int] = listing.addresses[first:last][kept].tolist()
        goes = listing.flows[first:last][kept] != FLOW_CODE[Flow.NEXT]
        self._transfers: list[int] = np.flatnonzero(goes).tolist()
        self._defs = listing.defs.numbers(kept + first)
        holds = any(holding for _, holding in said.holders)
        self._uses = listing.uses.numbers(kept + first) if holds else []
        self._words = listing.words[kept + first]
        self._whole = {
            at: kinds.whole(listing, first + int(kept[at]))
            for at in np.flatnonzero(kind[kept] & WHOLE).tolist()
        }
        besides = [n for n, place in enumerate(self.addresses) if place in more] if more else []
        for at in reversed(besides):
            self._put_in(at, more[self.addresses[at]], kinds.target)
        self._goes = frozenset(self._transfers)
        self._kinds = kinds
        self._said, self._frame = said, said.bases | kinds.target.frame_bases
        self.marks: dict[int, Mark] = dict(self._marked())

    def _put_in(self, at: int, more: Sequence[Insn], target: Sequential) -> None:
        """Instructions right behind that of a number, at its address, that only write registers."""
        table, behind, count = target.table, slice(at + 1, at + 1), len(more)
        self.addresses[behind] = [self.addresses[at]] * count
        self._defs[behind] = map(table.defs, more)
        self._uses[behind] = map(table.uses, more) if self._uses else ()
        self._words = np.insert(self._words, at + 1, list(map(table.encode, more)))
        self._transfers = [n + count * (n > at) for n in self._transfers]
        self._whole = {n + count * (n > at): what for n, what in self._whole.items()}

    def _marked(self) -> Iterator[tuple[int, Mark]]:
        """What instructions are, ascending."""
        goes, bases = dict.fromkeys(self._transfers, _GOES), self._said.bases
        written = [at for at, mask in enumerate(self._defs) if mask & bases]
        again = self._written_again(sorted({*goes, *written}))
        for at in sorted({*goes, *written, *self._whole}):
            mark = goes.get(at) or self._mark(at, again.get(at, 0))
            if mark is not None:
                yield at, mark

    def _written_again(self, some: Sequence[int]) -> dict[int, int]:
        """Scratch results written again behind an instruction before anything is found there.

        Of `some`, which are all that go elsewhere or write what is found by.
        """
        holders, goes = self._said.holders, self._goes
        starts = [address for address, _ in holders]
        every = reduce(or_, (holding for _, holding in holders), 0)
        found, again, free = dict[int, int](), 0, self._free() if every else 0
        for n in reversed(range(len(some) if every else 0)):
            at, before = some[n], self.addresses[some[n - 1]] if n else starts[0]
            if at not in self._whole and not self._uses[at] & ~(free | self._defs[at]):
                found[at] = again
            again = 0 if at in goes else again | self._defs[at] & every
            first = bisect_right(starts, before) - 1  # rows of what is not among them count, too
            for _, holding in holders[first : bisect_right(starts, self.addresses[at])]:
                again &= ~holding
        return found

    def _free(self) -> int:
        """The mask of registers from which nothing comes that is kept: scratch registers, and those
        that are saved in the frame and in no register."""
        marks = (self._in_frame(at) for at in self._whole)
        saved = reduce(or_, (mark[1] for mark in marks if mark and mark[0] == SAVE), 0)
        return self._kinds.target.spelling.SCRATCH | saved & ~self._said.held

    def _in_frame(self, at: int) -> Mark | None:
        """What the save or restore of a whole register is."""
        register, base, is_save = self._whole[at]
        if register & self._said.kept and base & self._frame:
            return SAVE if is_save else RESTORE, register
        return None

    def _mark(self, at: int, again: int) -> Mark | None:
        if at in self._whole and (mark := self._in_frame(at)):
            return mark
        written = self._defs[at] & self._said.bases & ~again
        return (WRITE, written) if written else None

    def changing(self, change: Change) -> list[tuple[int, Mark]]:
        """What a row alone goes by: instructions by number, and what each is."""
        first, end = (bisect_left(self.addresses, at) for at in (change.before, change.address))
        return self._own(range(end), first, change.changed)

    def between(
        self, old: Rules, new: Rules, numbers: Sequence[int], first: int
    ) -> list[tuple[int, Mark]]:
        """The same on a way through instructions, where another row holds from the `first` on."""
        return self._own(numbers, first, _changed(old, new, self._kinds.target.unwound))

    def _own(self, numbers: Sequence[int], first: int, changed: Changed) -> list[tuple[int, Mark]]:
        """The same; the row before begins at the `first` of some numbers, and this behind them."""
        away, back, holding = changed
        found: list[tuple[int, Mark]] = []
        again, is_ahead = 0, True  # written again before the row, and no transfer in between
        for at in reversed(numbers[first:]):
            register, _, is_save = self._whole.get(at, (0, 0, False))
            written, is_ahead = self._defs[at], is_ahead and at not in self._goes
            if is_save and register & away:
                found.append((at, (SAVE, register)))
            elif is_ahead and not is_save and register & back:
                found.append((at, (RESTORE, register)))
            elif written & away:
                found.append((at, (WRITE, written & away)))
            elif is_ahead and written & back & ~again:
                found.append((at, (WRITE, written & back & ~again)))
            again |= written
        return [*self._held(numbers, holding), *reversed(found)]

    def _held(self, numbers: Sequence[int], holding: int) -> Iterator[tuple[int, Mark]]:
        """What writes registers last among some instructions."""
        for at in reversed(numbers if holding else ()):
            if self._defs[at] & holding:
                yield at, (HOLD, int(self._words[at]))
                holding &= ~self._defs[at]

    def holding(self) -> set[int]:
        """The addresses of all instructions that rows go by, but for transfers of control."""
        at = {n for n, mark in self.marks.items() if mark[0] != TRANSFER}
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
