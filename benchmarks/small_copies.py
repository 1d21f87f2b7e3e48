"""Modelled cycles of our copies beside those of the Linux kernel, at each length from 0 to 128.

`.venv/bin/python benchmarks/small_copies.py [--cpu NAME]... [--sizes]` runs both on the built-in
interpreter and times them by the CPU's model, warm, each call by itself: from and to each place in
a doubleword, 64 ways for a length.  A kernel's routine is run as it stands in memory on that CPU:
with the alternatives that the kernel writes in for its features when it starts (`__ftr_fixup`; on
32-bit machines also the first instruction of memcpy, which does nothing once caches are on).  Ours
is the one without vectors, which a kernel may use; for POWER8 and later ours have them.

A row a routine: ours in parts of the kernel's cycles over all calls, the largest such part of a
length in the mean over ways, and of a way in the mean over lengths; of all calls how many take
more; and the lengths and ways (of destination and source) at which ours do.  `--sizes` gives a row
for each length.  Exit status 1 if ours takes more at any length or in any way, in the mean.

The kernel of 64 bits is the little-endian one: its copy to and from users shifts the other way
round than on a POWER4, and is the same otherwise; its memcpy is no POWER4's, but a loop of bytes.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from benchmarks.ppc_cycles import LIBC, grid
from fixtures.inputs import Missing, find
from rewriter.contracts import CONTRACTS
from rewriter.core.target.capability import trials_of
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image, load
from rewriter.suites.measure import Bench, Laboratory
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_at
from targets.ppc import routines

LENGTHS, SKEWS = range(129), range(8)
_NOP, _WORD = 0x60000000, 4
_BEFORE, _BEHIND = 0x10000, 0x1000  # bytes of text around an entry
_FEATURES = 0
"""Of a 750, a 7450, a POWER4 and a 970, of those that the copies ask for: neither unaligned
doublewords nor vectors (Linux 6.1 arch/powerpc/include/asm/cputable.h)."""

_ROW = "{:7} {:20} {:>6} {:>6} {:>6} {:>10}  {}"


@dataclass(frozen=True)
class Pair:
    """A copy of a kernel, on a CPU, and the folder with ours; `started` are words that the kernel
    writes into its copy when it starts, by how far behind the entry."""

    cpu: str
    kernel: str
    name: str
    folder: str
    started: Mapping[int, int]


def _pairs() -> Iterator[Pair]:
    """All, by CPU."""
    for cpu in ("power4", "970"):
        yield Pair(cpu, "ppc64el-vmlinux", "__copy_tofrom_user", "power4", {})
    for cpu in ("750", "7450"):
        yield Pair(cpu, "ppc32-vmlinux", "memcpy", "750", {0: _NOP})
        yield Pair(cpu, "ppc32-vmlinux", "__copy_tofrom_user", "750", {})


@dataclass(frozen=True)
class Call:
    """One call: its length, how both blocks stand, and the cycles of both."""

    size: int
    way: tuple[int, int]
    theirs: int
    ours: int


def kernel_copy(image: Image, target: Sequential, pair: Pair) -> Code:
    """A kernel's copy, with the text around it, as it stands when the kernel has started."""
    symbol = next(s for s in image.symbols if s.name == pair.name)
    entry = symbol.st_value + (1 << (symbol.st_other >> 5) >> 2 << 2)  # where callers nearby enter
    start = entry - _BEFORE
    text = bytearray(image.read(start, _BEFORE + _BEHIND))
    order = "<" if image.byteorder == "little" else ">"
    words = dict(alternatives(image, range(start, start + len(text)), order))
    words |= {entry + offset: word for offset, word in pair.started.items()}
    for at, word in words.items():
        struct.pack_into(order + "I", text, at - start, word)
    base = target.arena.old + start % 0x10000
    return Code(pair.name, ((base, bytes(text)),), base + entry - start)


def alternatives(image: Image, where: range, order: str) -> Iterator[tuple[int, int]]:
    """Words that a kernel writes over its code for a CPU with `_FEATURES`, where it has them."""
    entry = struct.Struct(order + ("2Q4q" if image.bits == 64 else "2I4i"))
    table = image.table("__ftr_fixup")
    for at in range(table.start, table.stop - entry.size + 1, entry.size):
        mask, value, *offsets = entry.unpack(image.read(at, entry.size))
        first, last, other, end = (at + offset for offset in offsets)
        if first in where and _FEATURES & mask != value:
            count, length = (last - first) // _WORD, end - other
            others = struct.unpack(f"{order}{length // _WORD}I", image.read(other, length))
            for n, word in enumerate((*others, *[_NOP] * (count - len(others)))):
                yield first + n * _WORD, moved(word, other - first)


def moved(word: int, distance: int) -> int:
    """A word for a place so many bytes before its own: a branch of it leads where it led."""
    mask = {18: 0x03FFFFFC, 16: 0xFFFC}.get(word >> 26, 0)
    return word & ~mask | (word + distance) & mask


def calls(pair: Pair) -> Iterator[Call]:
    """Both at all lengths and in all ways."""
    kernel, libc = load(find(pair.kernel)), load(find(LIBC[pair.cpu]))
    theirs, ours = (targets.of(image).sequential for image in (kernel, libc))
    assert theirs is not None and ours is not None
    cpu = ours.cpus[pair.cpu]
    routine = routines.routine(pair.folder, "memcpy")
    benches = (
        bench(theirs, ours, cpu, kernel_copy(kernel, theirs, pair)),
        bench(ours, ours, cpu, code_at(routine, ours.arena.new)),
    )
    for size in LENGTHS:
        for point in grid("memcpy", size, SKEWS):
            cycles = [one.cycles(point, True) for one in benches]
            yield Call(size, (point["to"], point["source"]), *cycles)


def bench(target: Sequential, known: Sequential, cpu: Cpu, code: Code) -> Bench:
    """What times a routine of a target on a CPU that another target knows."""
    laboratory = Laboratory(cpu, known.system(cpu), trials_of(target))
    return laboratory.bench(code, CONTRACTS["memcpy"])


def compared(found: Sequence[Call], key: Callable[[Call], object]) -> dict[object, float]:
    """Ours in parts of theirs, of all calls with one key."""
    sums: dict[object, tuple[int, int]] = {}
    for call in found:
        ours, theirs = sums.get(key(call), (0, 0))
        sums[key(call)] = ours + call.ours, theirs + call.theirs
    return {one: ours / theirs for one, (ours, theirs) in sums.items()}


def rows(pair: Pair, each: bool) -> Iterator[tuple[str, bool]]:
    """Lines about a copy, and whether one says that ours takes more in the mean."""
    found = list(calls(pair))
    (whole,) = compared(found, lambda call: None).values()
    sizes, ways = (compared(found, key) for key in (_size, _way))
    for size, ratio in sizes.items() if each else ():
        yield f"{pair.cpu:7} {pair.name:20} {size:>6} {ratio:>6.3f}", False
    more = {one: ratio for one, ratio in (sizes | ways).items() if ratio > 1}
    told = ", ".join(f"{one} ({ratio:.2f})" for one, ratio in more.items()) or "none"
    slower = sum(call.ours > call.theirs for call in found)
    figures = f"{whole:.3f}", f"{max(sizes.values()):.3f}", f"{max(ways.values()):.3f}"
    yield _ROW.format(pair.cpu, pair.name, *figures, f"{slower}/{len(found)}", told), bool(more)


def _size(call: Call) -> int:
    return call.size


def _way(call: Call) -> tuple[int, int]:
    return call.way


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cpu", action="append", default=[])
    parser.add_argument("--sizes", action="store_true", help="a row for each length")
    options = parser.parse_args()
    print(_ROW.format("cpu", "the kernel's", "calls", "length", "way", "slower", "slower at"))
    lost = False
    try:
        for pair in _pairs():
            if not options.cpu or pair.cpu in options.cpu:
                for line, more in rows(pair, options.sizes):
                    print(line, flush=True)
                    lost |= more
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 2
    return lost


if __name__ == "__main__":
    raise SystemExit(main())
