"""Rows of an unwind entry in another sequence, written in the room that the entry has.

Each row is written as what changes since the one before, or as a return to what was remembered
where the same rules held, whichever is shorter (DWARF 5, 6.4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from rewriter.core.leb128 import sleb, uleb
from rewriter.elf.emit import Patch
from rewriter.elf.unwind import rows
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.rows import Rule, Rules

_SHORT = 1 << 6
"""Registers below have their number in the byte of the instruction."""

_PLAIN = {"undefined": 0x07, "same_value": 0x08}
_NUMBERED = {"register": 0x09, "expression": 0x10, "val_expression": 0x16}
_FACTORED = {"offset": (0x05, 0x11), "val_offset": (0x14, 0x15)}
"""Rules of a distance, without and with a sign."""


def rewritten(fde: Fde, table: Sequence[tuple[int, Rules]]) -> list[Patch] | None:
    """Patches after which an entry says the rows of a table, the first at its start.

    None where that has no spelling, or takes more bytes than the instructions and the DW_CFA_nop
    behind them.
    """
    data, (first, last) = fde.image.data, fde.instructions
    code = None if rows.tells_sizes(fde) else _Writer(fde).code(table)
    if code is None or len(code) > last - first:
        return None
    new = code.ljust(last - first, b"\0")
    return [] if new == data[first:last] else [Patch(first, data[first:last], new)]


@dataclass(frozen=True)
class _Writer:
    """Writes rows for one entry."""

    fde: Fde

    @cached_property
    def _initial(self) -> Rules:
        return rows.initial_rules(self.fde)

    def code(self, table: Sequence[tuple[int, Rules]]) -> bytes | None:
        """The instructions of rows."""
        places = [self.fde.start, *(address for address, _ in table)]
        rules = [self._initial, *(what for _, what in table)]
        changes = [self._change(old, new) for old, new in pairwise(rules)]
        back = _returns(rules[1:], changes)
        steps, out = list(map(self._advance, places, places[1:])), bytearray()
        for number, (step, change) in enumerate(zip(steps, changes, strict=True)):
            returned = number in back.values()
            if step is None or (change is None and not returned):
                return None
            out += step + (bytes((rows.DW_CFA_restore_state,)) if returned else change or b"")
            out += bytes((rows.DW_CFA_remember_state,)) if number in back else b""
        return bytes(out)

    def _advance(self, before: int, after: int) -> bytes | None:
        delta, rest = divmod(after - before, self.fde.cie.code_alignment_factor)
        return None if rest or delta < 0 else rows.shortest(delta, self.fde.image.byteorder)

    def _change(self, old: Rules, new: Rules) -> bytes | None:
        """What makes one row of another; None where there is no spelling for it."""
        before, after = dict(old.registers), dict(new.registers)
        changed = (n for n in sorted(before | after) if before.get(n) != after.get(n))
        parts = [self._frame(old, new), *(self._register(n, after.get(n)) for n in changed)]
        return None if None in parts else b"".join(part for part in parts if part)

    def _frame(self, old: Rules, new: Rules) -> bytes | None:
        (kind, register, offset), before = new.cfa, old.cfa
        if new.cfa == before:
            return b""
        if isinstance(offset, bytes):
            return bytes((0x0F,)) + uleb(len(offset)) + offset
        if kind != "register" or offset < 0:
            return None
        if before[:2] == (kind, register):
            return bytes((0x0E,)) + uleb(offset)
        if before[0] == kind and before[2] == offset:
            return bytes((0x0D,)) + uleb(register)
        return bytes((0x0C,)) + uleb(register) + uleb(offset)

    def _register(self, register: int, rule: Rule | None) -> bytes | None:
        named = uleb(register)
        if rule == dict(self._initial.registers).get(register):
            short = register < _SHORT
            return bytes((rows.DW_CFA_restore | register,)) if short else b"\x06" + named
        name, value = rule or ("", None)
        if name in _PLAIN:
            return bytes((_PLAIN[name],)) + named
        if name in _NUMBERED and isinstance(value, bytes):
            return bytes((_NUMBERED[name],)) + named + uleb(len(value)) + value
        if name in _NUMBERED and isinstance(value, int):
            return bytes((_NUMBERED[name],)) + named + uleb(value)
        if name in _FACTORED and isinstance(value, int):
            return self._kept(register, name, value)
        return None

    def _kept(self, register: int, name: str, value: int) -> bytes | None:
        """A register that is found by a distance from the frame."""
        distance, rest = divmod(value, self.fde.cie.data_alignment_factor)
        if rest:
            return None
        if distance < 0:
            return bytes((_FACTORED[name][1],)) + uleb(register) + sleb(distance)
        if name == "offset" and register < _SHORT:
            return bytes((rows.DW_CFA_offset | register,)) + uleb(distance)
        return bytes((_FACTORED[name][0],)) + uleb(register) + uleb(distance)


def _returns(rules: Sequence[Rules], changes: Sequence[bytes | None]) -> dict[int, int]:
    """The rows that are remembered, each with the one that returns to it.

    What is remembered last is returned to first, so that no two cross; the shortest ways to write
    come first, of rows that hold again where the next ones of the same rules do.
    """
    last, both = dict[Rules, int](), list[tuple[int, int]]()
    for number, what in enumerate(rules):
        if what in last:
            both.append((last[what], number))
        last[what] = number
    worth = {(a, b): _saved(changes[b]) for a, b in both}
    found = dict[int, int]()
    for first, end in sorted(worth, key=lambda pair: (-worth[pair], pair)):
        crossed = any(a < first < b < end or first < a < end < b for a, b in found.items())
        if worth[first, end] > 0 and not crossed:
            found[first] = end
    return found


_NO_SPELLING = 1 << 16


def _saved(change: bytes | None) -> int:
    """Bytes that a row takes more where it is written out than remembered and returned to."""
    return _NO_SPELLING if change is None else len(change) - 2
