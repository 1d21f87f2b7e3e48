"""Where tables of Linux for PowerPC begin and end of which neither a section nor a symbol says so.

The bounds are symbols of data, which a stripped kernel's own list of functions leaves out.  What
goes through such a table when the kernel starts makes both: of the addresses that its code makes
there must be exactly two between which every entry reads as one of the table, at least one.  A
kernel in which no function is named after what the table is for has none.

Sources: Linux 6.1 kernel/jump_label.c (jump_label_init), kernel/trace/ftrace.c (ftrace_init),
arch/powerpc/include/asm/jump_label.h, scripts/recordmcount.c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.protocol import Memory
from targets.ppc.image.pointers import toc_of_words
from targets.ppc.registers import TOC

_WORD = 4
_ADDIS, _ADDI = 15, 14
_NOP, _BRANCH, _CALL = 0x60000000, 0x48000000, 0x48000001
_WHERE = 0x03FFFFFC
"""The bits of a branch or call that say where to."""


@dataclass(frozen=True)
class Text:
    """A kernel's memory, as the functions that go through its tables see it."""

    image: Memory
    bits: int
    order: ByteOrder

    def number(self, at: int, size: int, signed: bool = True) -> int:
        """What is in memory."""
        return int.from_bytes(self.image.read(at, size), self.order, signed=signed)

    def is_code(self, at: int) -> bool:
        """Whether an instruction may be there."""
        ranges = self.image.executable_ranges()
        return at % _WORD == 0 and any(start <= at < end for start, end in ranges)

    def made(self, function: range) -> frozenset[int]:
        """The addresses that a function's code makes in two steps, read from its first word on."""
        words = self.image.words(function.start, function.stop, _WORD).tolist()
        known = {0: 0}  # as a base that field means no register
        shared = toc_of_words(words[:2], function.start)
        if shared is not None:
            known[TOC] = shared
        return frozenset(at % (1 << self.bits) for at in _made(words, known))


def _made(words: Sequence[int], known: Mapping[int, int]) -> Iterator[int]:
    """The sums of what registers are `known` to hold, a high half and a low one."""
    high = dict[int, int]()
    for word in words:
        to, source, number = word >> 21 & 31, word >> 16 & 31, (word & 0xFFFF ^ 0x8000) - 0x8000
        if word >> 26 == _ADDI:
            if source and source in high:
                yield high[source] + number
            high.pop(to, None)
        elif word >> 26 == _ADDIS and source in known:
            high[to] = known[source] + (number << 16)


def _is_switch(text: Text, at: int) -> bool:
    """Whether an entry of `__jump_table` is there: code that does nothing or branches to the
    target, and a key in data, 64 or 32 bits from its own place."""
    code, target = (place + text.number(place, _WORD) for place in (at, at + _WORD))
    key = at + 2 * _WORD
    key = key + text.number(key, text.bits // 8) & ~3
    if not (text.is_code(code) and text.is_code(target)):
        return False
    branch = _BRANCH | target - code & _WHERE
    is_data = text.image.is_mapped(key) and not text.is_code(key)
    return is_data and text.number(code, _WORD, signed=False) in (_NOP, branch)


def _is_traced(text: Text, at: int) -> bool:
    """Whether an entry of `mcount_loc` is there: the address of a call."""
    call = text.number(at, text.bits // 8, signed=False)
    return text.is_code(call) and text.number(call, _WORD, signed=False) & ~_WHERE == _CALL


@dataclass(frozen=True)
class _Walked:
    """A table, what goes through it, a part of the names of functions for it, and its entries."""

    name: str
    by: str
    named: str
    size: Callable[[int], int]
    is_entry: Callable[[Text, int], bool]


_WALKED = (
    _Walked("__jump_table", "jump_label_init", "jump_label", lambda size: 8 + size, _is_switch),
    _Walked("mcount_loc", "ftrace_init", "_mcount", lambda size: size, _is_traced),
)


@dataclass(frozen=True)
class WalkedTables:
    """Bounds of tables by the functions that go through them."""

    bits: int
    order: ByteOrder

    def bounds(self, image: Memory, functions: Mapping[str, range]) -> dict[str, range]:
        """The tables whose bounds are known, of a kernel in which all functions have names."""
        text = Text(image, self.bits, self.order)
        found = {one.name: self._bounds(one, text, functions) for one in _WALKED}
        return {name: where for name, where in found.items() if where is not None}

    def _bounds(self, table: _Walked, text: Text, functions: Mapping[str, range]) -> range | None:
        """A table's; an empty one where the text begins if the kernel has none."""
        if not any(table.named in name for name in functions):
            first = min(start for start, _ in text.image.executable_ranges())
            return range(first, first)
        if table.by not in functions:
            return None
        size, made = table.size(self.bits // 8), text.made(functions[table.by])
        pairs = [
            range(start, stop)
            for start in made
            for stop in _entries(table, text, start, size)
            if stop in made
        ]
        return pairs[0] if len(pairs) == 1 else None


def _entries(table: _Walked, text: Text, start: int, size: int) -> Iterator[int]:
    """The ends of the entries that follow each other from an address on."""
    at = start
    while text.image.is_mapped(at) and text.image.is_mapped(at + size - 1):
        if not table.is_entry(text, at):
            return
        at += size
        yield at
