"""Our tuned routines for the Itanium 2 against glibc's, in cycles of the timing model.

    python benchmarks/ia64_routines.py [ROUTINE...]

Both run on the group-parallel machine on the same calls, and what they did is timed, everything in
the cache and predicted as after many such calls.  Strings are equal, a byte that is looked for is
not there: the whole length is worked through.  Numbers consist of limbs of 8 bytes.  Each line is a
length: the mean cycles of all alignments, glibc's and ours, and ours in parts of glibc's; for
copies and fills what no code can beat, the length in stores of 8 bytes (16 for zero), two a cycle,
in cycles and in parts of glibc's; then the points where ours take more than half of glibc's.  Where
a routine has several kinds of calls, all of them together come last.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "routines"))

from ia64_trials import libc, ours

from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Case, Piece
from rewriter.contracts.place import MIDDLE, noise, text
from rewriter.contracts.wide import LIMB
from rewriter.timing.bundled.trace import trace
from targets.ia64.cpus import CPUS
from targets.ia64.machine.trials import ARENA, Trials

CPU = CPUS["itanium2"]
LENGTHS = (64, 128, 256, 512, 1024)
SKEWS = (0, 1, 3, 4, 6)
_APART = 0x80  # bytes between the offsets of two operands in their pages


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles of glibc's routine and of ours for one call."""

    length: int
    skews: tuple[int, int]
    theirs: int
    ours: int

    @property
    def ratio(self) -> float:
        """Ours, in parts of glibc's."""
        return self.ours / self.theirs


def _place(room: int, skew: int) -> int:
    return ARENA.start(room) + 0x1000 + room * _APART + skew


def _piece(address: int, data: bytes) -> Piece:
    """The data, with other bytes around it up to whole words."""
    low = address & -8
    content = b"\x55" * (address - low) + data
    return Piece(low, content + b"\x55" * (-len(content) % 8))


def _strings(length: int, first: int, second: int) -> Case:
    one, two = _place(0, first), _place(1, second)
    data = text(length, length) + b"\0"
    return Case((one, two), (_piece(one, data), _piece(two, data)))


def _limited(length: int, first: int, second: int) -> Case:
    case = _strings(length, first, second)
    return Case((*case.arguments, length), case.pieces)


def _search(length: int, first: int, second: int) -> Case:
    start = _place(0, first)
    return Case((start, 0, length), (_piece(start, text(length, second)),))


def _blocks(length: int, first: int, second: int) -> Case:
    one, two = _place(0, first), _place(1, second)
    data = noise(length, length)
    return Case((one, two, length), (_piece(one, data), _piece(two, data)))


def _one_string(length: int, first: int, second: int) -> Case:
    start = _place(0, first)
    return Case((start,), (_piece(start, text(length, second) + b"\0"),))


def _filled(length: int, first: int, second: int) -> Case:
    start = _place(0, first)
    return Case((start, second, length), (_piece(start, bytes(length)),))


def _apart(length: int, first: int, second: int) -> Case:
    to, source = _place(0, first), _place(1, second)
    data = noise(length, length)
    return Case((to, source, length), (_piece(to, data), _piece(source, data)))


def _inside(distance: int) -> Callable[[int, int, int], Case]:
    """The destination so many bytes, rounded down to words, behind the source."""

    def case(length: int, first: int, second: int) -> Case:
        source = _place(0, second) + 0x800
        to = _place(0, first) + 0x800 + distance
        low = min(to, source)
        data = noise(length + abs(to - source), length)
        return Case((to, source, length), (_piece(low, data),))

    return case


def _with_a_limb(name: str) -> Callable[[int, int, int], Case]:
    """A number of so many bytes and a limb; whole limbs alone are aligned."""

    def case(length: int, first: int, second: int) -> Case:
        point = {"limbs": length // LIMB, "factor": 0, "holds": 0, "place": MIDDLE}
        return CONTRACTS[name].build(ARENA, **point)

    return case


def _with_a_number(name: str) -> Callable[[int, int, int], Case]:
    """Two numbers of so many bytes, the result elsewhere."""

    def case(length: int, first: int, second: int) -> Case:
        point = {"limbs": length // LIMB, "holds": 0, "place": MIDDLE, "over": 0}
        return CONTRACTS[name].build(ARENA, **point)

    return case


BY_A_LIMB = ("mpn_mul_1", "mpn_addmul_1", "mpn_submul_1")
NUMBERS = (*BY_A_LIMB, "mpn_add_n", "mpn_sub_n")
CALLS: dict[str, tuple[str, Callable[[int, int, int], Case]]] = {
    "strcmp": ("strcmp", _strings),
    "strncmp": ("strncmp", _limited),
    "memchr": ("memchr", _search),
    "strlen": ("strlen", _one_string),
    "memcmp": ("memcmp", _blocks),
    "memset": ("memset", _filled),
    "memcpy": ("memcpy", _apart),
    "memmove, apart": ("memmove", _apart),
    "memmove, to 48 bytes higher": ("memmove", _inside(48)),
    "memmove, to 48 bytes lower": ("memmove", _inside(-48)),
    **{
        name: (name, (_with_a_limb if name in BY_A_LIMB else _with_a_number)(name))
        for name in NUMBERS
    },
}


def least(call: str, length: int) -> Fraction | None:
    """Cycles that the stores of a length take at least; None for what stores nothing."""
    bytes_of_a_store = {"memcpy": 8, "memmove": 8, "memset": 16}.get(CALLS[call][0])
    if bytes_of_a_store is None:
        return None
    stores = len(CPU.issue.class_of("ST").ports["M"])
    return Fraction(length, bytes_of_a_store * stores)


def costs(
    call: str, lengths: Sequence[int] = LENGTHS, skews: Sequence[int] = SKEWS
) -> Iterator[Cost]:
    """Both routines on every point of the grid."""
    name, build = CALLS[call]
    skews = skews if name not in NUMBERS else (0,)
    both = Trials(libc(name)), Trials(ours(name))
    for length, first, second in product(lengths, skews, skews):
        case = build(length, first, second)
        theirs, mine = (trace(CPU, trials.run(case)[0]).cycles for trials in both)
        yield Cost(length, (first, second), theirs, mine)


def line(length: int, row: Sequence[Cost], bound: Fraction | None) -> str:
    """The costs of one length in a line."""
    theirs, mine = sum(c.theirs for c in row), sum(c.ours for c in row)
    above = [c for c in row if c.ratio > 0.5]
    worst = max(row, key=lambda c: c.ratio)
    part = ""
    if bound is not None:
        part = f" (at least {float(bound):.0f}: {float(bound) * len(row) / theirs:.2f})"
    return (
        f"  {length:5} bytes: {theirs / len(row):7.1f} {mine / len(row):7.1f}"
        f"  {mine / theirs:.2f}{part}, {len(above)} of {len(row)} above half,"
        f" worst {worst.ratio:.2f} at {worst.skews}"
    )


def main(names: Sequence[str]) -> int:
    """Prints the table."""
    for routine in names or dict.fromkeys(name for name, _ in CALLS.values()):
        calls = [call for call, (name, _) in CALLS.items() if name == routine]
        every = []
        for call in calls:
            print(call)
            found = list(costs(call))
            every += found
            for length in LENGTHS:
                row = [cost for cost in found if cost.length == length]
                print(line(length, row, least(call, length)), flush=True)
        if len(calls) > 1:
            print(f"{routine}, all of these")
            for length in LENGTHS:
                print(line(length, [cost for cost in every if cost.length == length], None))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
