"""Random changes to code whose instructions stand alone: any of a file, edited or not."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from rewriter.core.isa.instruction import Format, Insn, Op
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.table import Table
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import WORD, PlainBase

SHARES = {"reg": 5, "imm": 4, "op": 4, "drop": 4, "swap": 4, "copy": 3, "target": 2}
_TABLE = 0.2
"""How often it is a word of a table of the system, where the file has any."""

_EDITED = 0.4
"""How often the place is one near an edit, where the file has any."""


class PlainDraw:
    """Draws changes of one file."""

    def __init__(self, base: PlainBase) -> None:
        self.base, self.listing, self.table = base, base.listing, base.program.target.table
        self.formats: dict[Format, list[Op]] = {}
        for op in self.table:
            self.formats.setdefault(op.format, []).append(op)
        tables, image = base.program.target.tables, base.program.image
        places = tables.places(image) if tables.layouts else ()
        self._tables = [where for where in places if len(where) >= WORD]

    def change(self, source: random.Random) -> Change:
        """A change of a random kind at a random place that has one of the kind."""
        if self._tables and source.random() < _TABLE:
            return self._in_table(source)
        one, change = kind(source), None
        while change is None:
            change = self._tried(one, source)
        return change

    def _tried(self, kind: str, source: random.Random) -> Change | None:
        """A change of a kind at a random place; None if the place has none."""
        at = self._place(source)
        insn = self.listing.insn(at)
        if insn is None or insn.size != WORD:
            return None
        words = _MAKERS[kind](self, at, insn, source)
        if words and words != self.listing.words[at : at + len(words)].tolist():
            return self._change(kind, at, words)
        return None

    def _in_table(self, source: random.Random) -> Change:
        """A word of a table, in which a field names another place or says something else."""
        where, image = source.choice(self._tables), self.base.program.image
        address = where.start + WORD * source.randrange(len(where) // WORD)
        was = int.from_bytes(image.read(address, WORD), image.byteorder)
        flipped, steps = was ^ 1 << source.randrange(8 * WORD), (-8, -4, 4, 8)
        word = flipped if source.random() < 0.5 else (was + source.choice(steps)) % (1 << 8 * WORD)
        code = word.to_bytes(WORD, image.byteorder)
        return Change("table", address, code, f".long {was:#x}", f".long {word:#x}")

    def _place(self, source: random.Random) -> int:
        edited = self.base.edited
        if edited and source.random() < _EDITED:
            return source.choice(edited)
        return source.randrange(len(self.base.program.listing))

    def _change(self, kind: str, at: int, words: Sequence[int]) -> Change:
        address = int(self.listing.addresses[at])
        before = self.listing.words[at : at + len(words)].tolist()
        order = self.base.program.image.byteorder
        halves = (half for word in words for half in _halves(word))
        code = b"".join(half.to_bytes(WORD, order) for half in halves)
        texts = (_text(self.table, part, address) for part in (before, words))
        return Change(kind, address, code, *texts)

    def _reg(self, at: int, insn: Insn, source: random.Random) -> list[int]:
        places = [n for n, o in enumerate(insn.op.format.operands) if o.kind is Kind.REGISTER]
        if not places:
            return []
        n = source.choice(places)
        base, size = insn.op.format.operands[n].base, 1 << insn.op.format.operands[n].width
        near = [r for r in self._registers(at) if base <= r < base + size]
        one = source.choice(near) if near and source.random() < 0.6 else None
        return self._with(insn, n, base + source.randrange(size) if one is None else one)

    def _registers(self, at: int) -> list[int]:
        """What the instructions around one name."""
        return [
            value
            for n in range(max(0, at - 6), min(len(self.listing), at + 7))
            if (near := self.listing.insn(n)) is not None
            for value in (near.operands[p] for p in near.op.format.registers)
        ]

    def _imm(self, at: int, insn: Insn, source: random.Random) -> list[int]:
        places = [n for n, o in enumerate(insn.op.format.operands) if o.kind is Kind.IMMEDIATE]
        if not places:
            return []
        n = source.choice(places)
        operand = insn.op.format.operands[n]
        if source.random() < 0.5:
            step = source.choice((-8, -4, -2, -1, 1, 2, 4, 8))
            return self._with(insn, n, insn.operands[n] + step)
        return [self._flipped(insn, operand, source)]

    def _op(self, at: int, insn: Insn, source: random.Random) -> list[int]:
        op = source.choice(self.formats[insn.op.format])
        return self._encoded(Insn(op, insn.operands))

    def _drop(self, at: int, insn: Insn, source: random.Random) -> list[int]:
        return [self.table.encode(nop) for nop in self.base.program.target.nops(WORD)]

    def _swap(self, at: int, insn: Insn, source: random.Random) -> list[int]:
        a, b = int(self.listing.addresses[at]), at + 1
        if b >= len(self.listing) or int(self.listing.addresses[b]) != a + WORD:
            return []
        words = [int(self.listing.words[b]), int(self.listing.words[at])]
        return words if len(_halves(words[0])) == 1 else []

    def _copy(self, at: int, insn: Insn, source: random.Random) -> list[int]:
        function = self.base.program.function_at(int(self.listing.addresses[at]))
        if function is None:
            return []
        return [int(self.listing.words[source.randrange(*self.listing.span(*_ends(function)))])]

    def _target(self, at: int, insn: Insn, source: random.Random) -> list[int]:
        n = insn.op.format.target
        if n is None:
            return []
        if source.random() < 0.5:
            step = WORD * source.choice((-4, -2, -1, 1, 2, 4))
            return self._with(insn, n, insn.operands[n] + step)
        address = int(self.listing.addresses[at])
        function = self.base.program.function_at(address)
        if function is None or source.random() < 0.2:
            place = source.choice(self.base.program.functions).start
        else:
            place = source.randrange(function.start, function.end, WORD)
        operand = insn.op.format.operands[n]
        return self._with(insn, n, operand.distance(place, address, insn.size))

    def _with(self, insn: Insn, n: int, value: int) -> list[int]:
        """The word with another operand; none where it does not fit."""
        operands = (*insn.operands[:n], value, *insn.operands[n + 1 :])
        return self._encoded(Insn(insn.op, operands))

    def _encoded(self, insn: Insn) -> list[int]:
        """The word of an instruction; none where its operands are not for it."""
        try:
            return [self.table.encode(insn)]
        except ValueError:
            return []

    def _flipped(self, insn: Insn, operand: Operand, source: random.Random) -> int:
        bit = operand.pieces[0][0] + source.randrange(operand.width)
        return self.table.encode(insn) ^ 1 << bit


Maker = Callable[[PlainDraw, int, Insn, random.Random], list[int]]
_MAKERS: dict[str, Maker] = {
    "reg": PlainDraw._reg,
    "imm": PlainDraw._imm,
    "op": PlainDraw._op,
    "drop": PlainDraw._drop,
    "swap": PlainDraw._swap,
    "copy": PlainDraw._copy,
    "target": PlainDraw._target,
}


def kind(source: random.Random) -> str:
    """A kind of change at random, by how often each is drawn."""
    return source.choices(list(SHARES), list(SHARES.values()))[0]


def _ends(function: object) -> tuple[int, int]:
    return function.start, function.end  # type: ignore[attr-defined]


def _text(table: Table, words: Sequence[int], address: int) -> str:
    insns = [table.decode(word) for word in words]
    return "; ".join(
        f".long {word:#x}" if insn is None else table.text(insn, address + WORD * n)
        for n, (word, insn) in enumerate(zip(words, insns, strict=True))
    )


def _halves(word: int) -> tuple[int, ...]:
    """A word with a prefix is two, the prefix first in either order of bytes."""
    high, low = divmod(word, 1 << 8 * WORD)
    return (high, low) if high else (low,)
