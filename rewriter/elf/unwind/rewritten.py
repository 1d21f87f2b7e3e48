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

_OPCODES: dict[tuple[str, ...], int] = {what: opcode for opcode, what in rows.CFA_RULES.items()} | {
    what: opcode for opcode, what in rows.REGISTER_RULES.items()
}
"""By what `rows` reads in them: a rule, its operands, and the factor of a register's."""


def _opcode(*what: str) -> bytes:
    return bytes((_OPCODES[what],))


def rewritten(fde: Fde, table: Sequence[tuple[int, Rules]]) -> list[Patch] | None:
    """Patches after which an entry says the rows of a table, the first at its start.

    None where that has no spelling, as where rows say how many bytes of arguments are pushed, or
    takes more bytes than the instructions and the DW_CFA_nop behind them.
    """
    data, (first, last) = fde.image.data, fde.instructions
    pushed = any(rules.pushed for _, rules in (*rows.rows(fde), *table))
    code = None if pushed else _Writer(fde).code(table)
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
            return _opcode("def_cfa_expression", "b") + uleb(len(offset)) + offset
        if kind != "register" or offset < 0:
            return None
        if before[:2] == (kind, register):
            return _opcode("def_cfa_offset", "u") + uleb(offset)
        if before[0] == kind and before[2] == offset:
            return _opcode("def_cfa_register", "u") + uleb(register)
        return _opcode("def_cfa", "uu") + uleb(register) + uleb(offset)

    def _register(self, register: int, rule: Rule | None) -> bytes | None:
        named = uleb(register)
        if rule == dict(self._initial.registers).get(register):
            short = register < _SHORT
            extended = bytes((rows.DW_CFA_restore_extended,)) + named
            return bytes((rows.DW_CFA_restore | register,)) if short else extended
        name, value = rule or ("", None)
        if isinstance(value, int) and (name, "u", "d") in _OPCODES:
            return self._kept(register, name, value)
        if value is None:
            operand, operands = b"", ""
        elif isinstance(value, bytes):
            operand, operands = uleb(len(value)) + value, "b"
        else:
            operand, operands = uleb(value), "u"
        known = (name, operands, "") in _OPCODES
        return _opcode(name, operands, "") + named + operand if known else None

    def _kept(self, register: int, name: str, value: int) -> bytes | None:
        """A register that is found by a distance from the frame."""
        distance, rest = divmod(value, self.fde.cie.data_alignment_factor)
        if rest:
            return None
        if distance < 0:
            return _opcode(name, "s", "d") + uleb(register) + sleb(distance)
        if name == "offset" and register < _SHORT:
            return bytes((rows.DW_CFA_offset | register,)) + uleb(distance)
        return _opcode(name, "u", "d") + uleb(register) + uleb(distance)


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
