"""All text of a file as arrays over its slots, and what its instructions say about addresses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import NOWHERE, Addresses, shifted
from rewriter.core.isa.instruction import AWAY, Flow, Insn
from rewriter.core.isa.operands import Kind, Words
from rewriter.core.target.protocol import Memory
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE, LONG, SLOT_BITS, Unit
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import GR

GP = GR + 1  # by the calling standard
_BUNDLE_MASK = np.uint64((1 << 64) - BUNDLE)
_TRANSFERS = np.array([op.flow is not Flow.NEXT for op in TABLE.rows] + [False])
_FOR_EVER = np.array([op.flow in AWAY for op in TABLE.rows] + [False])


@dataclass(frozen=True)
class Text:
    """Parallel arrays, three elements to a bundle, in address order.

    `addresses` are a bundle's with the slot's number added; `rows` are numbers of the table's
    rows, -1 for no instruction and for the first half of a long one.
    """

    addresses: Addresses
    words: Words
    longs: Words
    rows: NDArray[np.int16]

    @property
    def bundles(self) -> int:
        """How many bundles there are."""
        return len(self.addresses) // SLOTS

    @cached_property
    def starts(self) -> Addresses:
        """The address of each bundle."""
        return self.addresses[::SLOTS]

    @cached_property
    def targets(self) -> Addresses:
        """Where a transfer of control in a slot leads; NOWHERE in all others."""
        return self._led(is_transfer=True)

    @cached_property
    def foretold(self) -> Addresses:
        """The bundle that a prediction in a slot names; NOWHERE in all others."""
        found = self._led(is_transfer=False)
        found[found == self.addresses & _BUNDLE_MASK] = NOWHERE  # no bundle is foretold
        return found

    def _led(self, is_transfer: bool) -> Addresses:
        found = np.full(len(self.addresses), NOWHERE, dtype=np.uint64)
        for number, op in enumerate(TABLE.rows):
            for operand in op.format.operands:
                if operand.kind is Kind.TARGET and (op.flow is not Flow.NEXT) is is_transfer:
                    at = self.of_row(number)
                    far = TABLE.extract(self.words[at], operand, self.longs[at])
                    found[at] = shifted(self.addresses[at] & _BUNDLE_MASK, far)
        return found

    @cached_property
    def bad(self) -> NDArray[np.bool_]:
        """Bundles that hold something else than instructions."""
        halves = self.words >> np.uint64(SLOT_BITS) == Unit.L
        return self._any((self.rows < 0) & ~halves)

    @cached_property
    def transfers(self) -> NDArray[np.bool_]:
        """Bundles from which control may leave, or into which it may come back."""
        return self._any(_TRANSFERS[self.rows])

    @cached_property
    def final(self) -> NDArray[np.bool_]:
        """Bundles behind which control does not go on, if no predicate holds it back."""
        every = self.words & np.uint64(0x3F) == 0
        return self._any((_FOR_EVER[self.rows] | np.isin(self.rows, _JUMPS)) & every)

    @cached_property
    def goes_on(self) -> NDArray[np.bool_]:
        """Bundles that control leaves by nothing but branches ahead under a predicate."""
        under = self.words & np.uint64(0x3F) != 0
        ahead = (self.targets != NOWHERE) & (self.targets > self.addresses)
        return ~self._any(_TRANSFERS[self.rows] & ~(np.isin(self.rows, _JUMPS) & under & ahead))

    def of_row(self, number: int) -> NDArray[np.int64]:
        """The positions of a row's instructions."""
        return self._order[self._first[number + 1] : self._first[number + 2]]

    def named(self, *names: str) -> NDArray[np.int64]:
        """The positions of the instructions with these mnemonics, row by row."""
        found = [self.of_row(n) for n, op in enumerate(TABLE.rows) if op.name in names]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def index(self, address: int) -> int | None:
        """The number of the bundle at, or with a slot at, an address; None where none is."""
        firsts, numbers = self._runs
        run = bisect_right(firsts, address) - 1
        if run < 0:
            return None
        at = numbers[run] + (address - firsts[run]) // BUNDLE
        return at if at < numbers[run + 1] else None

    @cached_property
    def _runs(self) -> tuple[list[int], list[int]]:
        """The address of each first bundle behind a gap, and its number; then that of no bundle."""
        starts = self.starts
        heads = np.flatnonzero(np.diff(starts) != BUNDLE) + 1
        numbers = [0, *heads.tolist()] if len(starts) else []
        return [int(starts[n]) for n in numbers], [*numbers, len(starts)]

    def indices(self, addresses: Addresses) -> NDArray[np.int64]:
        """The numbers of those bundles that addresses name, in order, each once."""
        whole = np.unique(addresses & _BUNDLE_MASK)
        at = np.minimum(np.searchsorted(self.starts, whole), self.bundles - 1)
        return np.unique(at[self.starts[at] == whole]) if self.bundles else at

    def insn(self, position: int) -> Insn | None:
        """The instruction at a position."""
        return TABLE.decode(int(self.words[position]) | int(self.longs[position]) << LONG)

    def constants(self, gp: int | None, excluded: range = range(0)) -> Addresses:
        """Numbers that single instructions make and that read like addresses of bundles here.

        What code in the excluded range makes is left out.
        """
        makers, every = self._made(gp)
        where = self.addresses[makers]
        every = every[(where < excluded.start) | (where >= excluded.stop)]
        at = np.minimum(np.searchsorted(self.addresses, every), len(self.addresses) - 1)
        return np.asarray(every[self.addresses[at] == every])

    def makers(self, gp: int | None, number: int) -> NDArray[np.int64]:
        """The positions of single instructions that make a number."""
        makers, every = self._made(gp)
        return np.asarray(makers[every == number])

    def _made(self, gp: int | None) -> tuple[NDArray[np.int64], Addresses]:
        """Single instructions that make a number, by position, and the numbers."""
        long = self.named("movl")
        parts = [(long, shifted(0, TABLE.extract(self.words[long], _IMMEDIATE, self.longs[long])))]
        if gp is not None:
            at = self.named("addl")
            source = TABLE.extract(self.words[at], _ADDL_SOURCE)
            at = at[source == GP]
            parts.append((at, shifted(gp, TABLE.extract(self.words[at], _ADDL_DISTANCE))))
        makers, every = (np.concatenate(column) for column in zip(*parts, strict=True))
        return makers, every

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.rows, kind="stable")

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        numbers = np.arange(-1, len(TABLE.rows) + 1)
        return np.searchsorted(self.rows[self._order], numbers)

    def _any(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(flags.reshape(-1, SLOTS).any(axis=1))


_JUMPS = [n for n, op in enumerate(TABLE.rows) if op.name in ("br.cond", "brl.cond")]
_IMMEDIATE = next(o for o in TABLE.find("movl").format.operands if o.name == "imm64")
_ADDL_SOURCE, _ADDL_DISTANCE = (
    next(o for o in TABLE.find("addl").format.operands if o.name == name)
    for name in ("r3", "imm22")
)


def read(image: Memory) -> Text:
    """Decodes all text; ranges that are no whole number of bundles lose their end."""
    parts = list(_parts(image))
    if not parts:
        none = np.empty(0, dtype=np.uint64)
        return Text(none, none, none, np.empty(0, dtype=np.int16))
    addresses, words, longs = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("addresses", "words", "longs")
    )
    return Text(addresses, words, longs, TABLE.classify(words))


def _parts(image: Memory) -> Iterator[bundles.Slots]:
    for start, end in image.executable_ranges():
        start += -start % BUNDLE
        size = max(end - start, 0) // BUNDLE * BUNDLE
        if size:
            yield bundles.decode_text(image.read(start, size), start)
