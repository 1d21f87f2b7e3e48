"""What in PowerPC text points into text: the TOC of each function, and addresses made from it.

Under ELFv2 a function that uses r2 makes it from r12, which holds its own address, in its first two
instructions; callers of the same file enter behind them.  Under ELFv1 the function's descriptor in
`.opd` gives its r2 (64-Bit ELF V2 ABI 1.5, 2.3.2; PowerPC ELF ABI Supplement 1.9, 3.2.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses, Sides, addresses, contains, holders
from rewriter.core.code.listing import FLOW_CODE, Listing, among
from rewriter.core.code.program import Function, extents
from rewriter.core.isa.instruction import CALLS, Flow, Insn
from rewriter.core.isa.operands import Words
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.protocol import Pair, Sectioned
from targets.ppc.image.constants import MFLR
from targets.ppc.image.data import WORD
from targets.ppc.registers import GOT, SP, ZERO

Numbers = NDArray[np.int64]

_SETS_TOC = (0x3C4C0000, 0x38420000)
"""`addis 2,12,hi; addi 2,2,lo`, without what they add."""

_SETS_TOC_HERE = (0x3C400000, 0x38420000)
"""`lis 2,hi; addi 2,2,lo`, as the linker makes it where addresses are fixed."""

_SETS_TOC_AT_ONCE = {0x06000000384C0000: True, 0x0600000038400000: False}
"""`paddi 2,12,number` and `paddi 2,0,number`, without the number, and whether r12 is in it."""

_NUMBER = 0x3FFFF0000FFFF  # where a word with a prefix has 34 bits

LOCAL_ENTRY = 2 * WORD  # bytes that a caller with the same r2 skips
OPD, DESCRIPTOR = ".opd", 24  # bytes of a descriptor: entry, r2, environment
_STACK = (SP, 11)
"""What a caller's registers are loaded off: gcc has the end of the frame in r11 at times."""

_NEAR = 64  # instructions between a call of the next ones and the `mflr` that takes the address

_LINKING = CALLS | {Flow.HERE}
"""Flows that leave in LR where they stand."""


def entry_toc(listing: Listing, start: int) -> int | None:
    """The r2 that a function's first two instructions make, if they do."""
    first, last = listing.span(start, start + LOCAL_ENTRY)
    return toc_of_words(listing.words[first:last].tolist(), start)


def toc_of_words(words: Sequence[int], start: int) -> int | None:
    """The r2 that two words at an address make, if they do: two instructions, or one."""
    whole = words[0] if len(words) == 1 else words[0] << 32 | words[1] if words else 0
    if whole & ~_NUMBER in _SETS_TOC_AT_ONCE:
        return _toc_at_once(whole, start)
    kinds = tuple(word & 0xFFFF0000 for word in words)
    if kinds not in (_SETS_TOC, _SETS_TOC_HERE):
        return None
    high, low = ((word & 0xFFFF ^ 0x8000) - 0x8000 for word in words)
    return ((start if kinds == _SETS_TOC else 0) + (high << 16) + low) % (1 << 64)


def _toc_at_once(word: int, start: int) -> int:
    """The r2 that one with a prefix makes."""
    number = word >> 16 & 0x3FFFF0000 | word & 0xFFFF
    origin = start if _SETS_TOC_AT_ONCE[word & ~_NUMBER] else 0
    return (origin + (number ^ 1 << 33) - (1 << 33)) % (1 << 64)


def tocs(
    image: Sectioned,
    listing: Listing,
    functions: Sequence[Function],
    words: Mapping[int, int],
    byteorder: ByteOrder,
) -> dict[int, int]:
    """The r2 of each 64-bit function by its start, where it is known.

    A function that nothing tells has the only one of the file, if there is only one.  `words` are
    what relocations make of words.
    """
    made = described(image, words, byteorder)
    for function in functions:
        toc = entry_toc(listing, function.start)
        if toc is not None:
            made[function.start] = toc
    every = set(made.values())
    if len(every) == 1:
        return dict.fromkeys((function.start for function in functions), next(iter(every)))
    return {
        function.start: made[function.start] for function in functions if function.start in made
    }


def described(image: Sectioned, words: Mapping[int, int], byteorder: ByteOrder) -> dict[int, int]:
    """The r2 of each function that has a descriptor, by its entry."""
    found = {}
    for place in image.table(OPD)[::DESCRIPTOR]:
        entry, toc = (
            words.get(at, int.from_bytes(image.read(at, 8), byteorder)) for at in (place, place + 8)
        )
        if entry and toc:
            found[entry] = toc
    return found


def gots(listing: Listing, functions: Sequence[Function]) -> dict[int, int]:
    """The r30 with which each 32-bit function comes to its table of addresses; 0 where it has none.

    gcc makes it from where the code stands, by two additions to r30 itself, and keeps it until the
    caller's is loaded from the stack again.  A function that does otherwise has none.
    """
    sums = Sums(listing, functions, {}, GOT)
    standing = {place: value for place, _, _, value in sums.here()}
    written = np.flatnonzero(listing.defs.has(GOT))
    owners, known = sums.owners(written), sums.owners(np.array([*standing], dtype=np.int64))
    making = np.isin(owners, known)
    found: dict[int, set[int | None]] = {}
    value: int | None = None
    for at, owner in zip(written[making].tolist(), owners[making].tolist(), strict=True):
        insn = listing.insn(at)
        assert insn is not None
        if at in standing:
            value = standing[at]
        elif insn.name in ("addi", "addis") and insn.operand("ra0") == GOT and value is not None:
            value += insn.operand("si") << (16 if insn.name == "addis" else 0)
            if insn.name == "addi":
                found.setdefault(owner, set()).add(value % (1 << 32))
        else:
            value = None
            if not (insn.name == "lwz" and insn.operand("ra0") in _STACK):
                found.setdefault(owner, set()).add(None)
    only = {n: values.pop() for n, values in found.items() if len(values) == 1}
    return {function.start: only.get(n) or 0 for n, function in enumerate(functions)}


# Addresses that two instructions add up to --------------------------------------------------


_TOO_MANY = 1 << 24
"""Sums of one function.  Debian's gnat1 has one with four million; the code of a Haskell program,
which nothing describes and which is taken for one function, has billions."""


@dataclass(frozen=True)
class _Half:
    """Positions of instructions in functions with the register that joins them, and numbers."""

    at: Numbers
    owner: Numbers
    register: Numbers
    value: Addresses

    @property
    def key(self) -> Numbers:
        """Equal for halves of one function that a register joins."""
        return self.owner << 8 | self.register

    def of(self, owners: NDArray[np.bool_]) -> _Half:
        """Those of some functions."""
        chosen = owners[self.owner]
        return _Half(self.at[chosen], self.owner[chosen], self.register[chosen], self.value[chosen])


@dataclass(frozen=True)
class Sums:
    """Every address that a high part and a low part in one function may add up to.

    `shared` is what the register `base` holds in each function by its start, where it is known;
    `nothing` what `addis` off nothing adds to: 0, where a number may be an address.
    """

    listing: Listing
    functions: Sequence[Function]
    shared: Mapping[int, int]
    base: int
    nothing: Sequence[int] = (0,)

    def pairs(self) -> Iterator[tuple[Function, Pair]]:
        """With the function that makes it; none of those that have too many."""
        highs, lows = self._halves
        order, first, counts = self._met
        counts = np.where(self._crowded[highs.owner], 0, counts)
        ups = np.repeat(np.arange(len(counts)), counts)
        steps = np.arange(len(ups)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        downs = order[steps]
        labels = highs.value[ups] + lows.value[downs]  # modulo 2**64
        inside = contains(self.listing.addresses, labels)
        ups, downs, labels = ups[inside], downs[inside], labels[inside]
        columns = (highs.owner[ups], labels, highs.register[ups], highs.at[ups], lows.at[downs])
        for owner, *values in zip(*(column.tolist() for column in columns), strict=True):
            yield self.functions[owner], Pair(*values)
        for at, owner, register, label in self._placed("paddi"):
            if self.listing.has(label):
                yield self.functions[owner], Pair(label, register, at, at)

    def crowded(self) -> Sequence[Function]:
        """Functions that have too many: text that nothing describes, and no function."""
        return [self.functions[owner] for owner in np.flatnonzero(self._crowded).tolist()]

    def starts(self) -> Iterator[int]:
        """Where functions start that those may make the address of."""
        starts = addresses(function.start for function in self.functions)
        highs, lows = (half.of(self._crowded) for half in self._halves)
        for register in np.unique(highs.register).tolist():
            low = np.unique(lows.value[lows.register == register])
            for high in np.unique(highs.value[highs.register == register]):
                yield from starts[np.isin(starts - high, low)].tolist()

    @cached_property
    def _crowded(self) -> NDArray[np.bool_]:
        """By function, whether it has too many."""
        highs, (_, _, counts) = self._halves[0], self._met
        return np.bincount(highs.owner, counts, len(self.functions)) > _TOO_MANY

    @cached_property
    def _met(self) -> tuple[Numbers, Numbers, Numbers]:
        """Low parts in order; for each high part where those begin that a register joins to it, and
        how many there are."""
        highs, lows = self._halves
        order = np.argsort(lows.key, kind="stable")
        ordered = lows.key[order]
        first = ordered.searchsorted(highs.key)
        return order, first, ordered.searchsorted(highs.key, "right") - first

    @cached_property
    def _halves(self) -> tuple[_Half, _Half]:
        return self._highs(), self._lows()

    def _highs(self) -> _Half:
        """`addis` off r2, off nothing, or off where code stands; and where code stands itself.

        `addpcis` adds to that at once; `oris` is the high part behind 32 bits that were made first.
        """
        at, rt, ra, si = _fields(self.listing, "addis", "rt", "ra0", "si")
        here = list(self.here())
        standing: dict[int, list[int]] = {}
        for _, owner, _, value in here:
            standing.setdefault(owner, []).append(value)
        rows = [*here, *self._placed("addpcis"), *self._above()]
        for place, owner, result, base, high in zip(
            *(column.tolist() for column in (at, self.owners(at), rt, ra, si << 16)), strict=True
        ):
            if owner < 0:
                continue
            for value in self._bases(owner, base, standing.get(owner, ())):
                rows.append((place, owner, result, (value + high) % (1 << 64)))
        return _half(rows)

    def _above(self) -> Iterator[tuple[int, int, int, int]]:
        """Each `oris` to what `sldi 32` left, which is high parts of a number of 64 bits."""
        if all(op.name != "rldicr" for op in self.listing.table.rows):
            return
        shifts, made, by, kept = _fields(self.listing, "rldicr", "ra", "sh6", "mb6")
        whole = (by == 32) & (kept == 31)
        shifted = self.owners(shifts[whole]) << 8 | made[whole]
        at, result, source, high = _fields(self.listing, "oris", "ra", "rs", "ui")
        owners = self.owners(at)
        chosen = np.isin(owners << 8 | source, shifted) & (owners >= 0)
        columns = (at, owners, result, high << 16)
        for place, owner, register, value in zip(
            *(c[chosen].tolist() for c in columns), strict=True
        ):
            for base in self.nothing:
                yield place, owner, register, (base + value) % (1 << 64)

    def _bases(self, owner: int, register: int, standing: Iterable[int]) -> Iterable[int]:
        """What `addis` may add to."""
        if register == ZERO:
            return self.nothing
        own = self.shared.get(self.functions[owner].start)
        if register != self.base:
            return standing
        return (own,) if own is not None else sorted(set(self.shared.values()))

    def here(self) -> Iterator[tuple[int, int, int, int]]:
        """Each `mflr` that takes the address after a `bcl 20,31,.+4`, or after a call of what
        stands a little behind it in its function, as code did before that had its own meaning."""
        listing, moves = self.listing, _rows(self.listing, "mfspr", MFLR)
        calls = listing.transfers[among(listing.flows[listing.transfers], _LINKING)]
        ahead = listing.targets[calls] - listing.addresses[calls]  # modulo 2**64
        ahead[listing.flows[calls] == FLOW_CODE[Flow.HERE]] = WORD
        starts, ahead = calls[ahead <= _NEAR * WORD], ahead[ahead <= _NEAR * WORD]
        into = listing.addresses[:-1].searchsorted(listing.addresses[starts] + ahead)
        owners = np.where(self.owners(starts) == self.owners(into), self.owners(into), -1)
        following = moves.searchsorted(into).tolist()
        for at, owner, number in zip(starts.tolist(), owners.tolist(), following, strict=True):
            move = int(moves[number]) if number < len(moves) else len(listing)
            if owner >= 0 and move < min(at + _NEAR, len(listing)):
                result = int(listing.words[move]) >> 21 & 31
                yield move, owner, result, int(listing.addresses[at]) + WORD

    def _placed(self, name: str) -> Iterator[tuple[int, int, int, int]]:
        """Each instruction of a name that adds a number to where it stands, and the sum."""
        table = self.listing.table
        rows = [
            n for n, op in enumerate(table.rows) if op.name == name and table.effects(op).placed
        ]
        at = np.flatnonzero(np.isin(self.listing.rows, rows))
        for position, owner in zip(at.tolist(), self.owners(at).tolist(), strict=True):
            insn, address = self.listing.insn(position), int(self.listing.addresses[position])
            if insn is not None and owner >= 0:
                made = address + (insn.operand("d34") if insn.has("d34") else _behind(insn))
                yield position, owner, insn.operand("rt"), made % (1 << 64)

    def _lows(self) -> _Half:
        """`addi` and `ori` by what they read."""
        parts = [
            _fields(self.listing, name, source, number)
            for name, source, number in (("addi", "ra0", "si"), ("ori", "rs", "ui"))
        ]
        at, register, number = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        owner = self.owners(at)
        chosen = (owner >= 0) & ~np.isin(register, (SP, self.base, ZERO))
        values = number[chosen].view(np.uint64)
        return _Half(at[chosen], owner[chosen], register[chosen], values)

    def owners(self, at: Numbers) -> Numbers:
        """The numbers of the functions that some positions are in, -1 for none."""
        return holders(self._extents, self.listing.addresses[at])

    @cached_property
    def _extents(self) -> Sides:
        return extents(self.functions)


def _behind(insn: Insn) -> int:
    """What `addpcis` adds to its own address."""
    return insn.size + (insn.operand("dx") << 16)


def _half(rows: Sequence[tuple[int, int, int, int]]) -> _Half:
    at, owner, register = (np.array([row[n] for row in rows], dtype=np.int64) for n in range(3))
    return _Half(at, owner, register, addresses(row[3] for row in rows))


def _rows(listing: Listing, name: str, match: int) -> Numbers:
    """The positions of the instructions of one row, which may share its name with others."""
    rows = listing.table.rows
    number = next(n for n, op in enumerate(rows) if (op.name, op.match) == (name, match))
    return np.flatnonzero(listing.rows == number)


def _fields(listing: Listing, name: str, *operands: str) -> tuple[Numbers, ...]:
    """The position and some operands of every instruction of one row."""
    op = listing.table.find(name)
    at = _rows(listing, name, op.match)
    words: Words = listing.words[at]
    fields = (op.format.operands[op.format.index(operand)] for operand in operands)
    return (at, *(listing.table.extract(words, field) for field in fields))
