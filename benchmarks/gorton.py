"""What Gorton's article of 2001 asks of code, counted by execution.

    python benchmarks/gorton.py [--cpu ev67] [--rebuilt] [--library LABEL=FILE]... [PROGRAM...]
    python benchmarks/gorton.py --kernel [--cpu ev67] [--retuned FILE]

For each program and the libc as it is, retuned, and with --rebuilt compiled from source for the
CPU (or the named libraries): taken transfers of control to an instruction that is not the first of
its fetch block, fetch blocks in which a second transfer is reached behind one that was not taken,
conditional moves, instructions that take bytes and words out of quadwords or make room for them,
and passes of loops over memory that ask for no line ahead.  Behind each count stands its ratio to
the original's.  With --kernel the same of a boot with the test's initial file system.  Counted by
our plugin `fixtures/transfers.c`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from benchmarks.booted import low_and_high, observed
from benchmarks.whole_programs import retuned
from fixtures import initramfs, programs
from fixtures.inputs import Missing, find
from fixtures.rebuilt import rebuilt_libc
from passes.streams.accesses import streams
from passes.streams.bodies import body_of, of_one_block
from rewriter.analysis.loops import innermost
from rewriter.analysis.program import analyse
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.difftest.boot.kernel import Kernel, kernel
from rewriter.elf.image import Image, load
from targets.alpha import Alpha
from targets.alpha.idioms import is_hint

ALPHA = Alpha()
WORD, BLOCK = 4, 16  # bytes of an instruction, and of a fetch block (21264)
NARROW = frozenset(f"{what}{size}" for what in ("ext", "msk") for size in ("bl", "wl", "wh"))
"""Instructions that take a byte or word out of a quadword, or make room for one in it."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Executed:
    """Of each instruction of a text by its offset in words: times executed, times that control
    came from elsewhere than the instruction before it, and times it went on elsewhere."""

    counts: Numbers

    @classmethod
    def parse(cls, data: bytes, words: int) -> Executed:
        """What the plugin wrote of a text of so many words."""
        counts = np.zeros((3, words), dtype=np.int64)
        if data.strip():
            rows = np.array(data.split(), dtype=np.int64).reshape(-1, 4)
            counts[:, rows[:, 0] // WORD] = rows[:, 1:].T
        return cls(counts)


@dataclass(frozen=True)
class Points:
    """The article's points, as often as each was executed."""

    instructions: int
    transfers: int
    off_block: int
    second: int
    moves: int
    narrow: int
    unasked: int


COLUMNS: Mapping[str, Callable[[Points], int]] = {
    "instructions": lambda p: p.instructions,
    "taken transfers": lambda p: p.transfers,
    "to targets off a block": lambda p: p.off_block,
    "blocks with a second transfer": lambda p: p.second,
    "conditional moves": lambda p: p.moves,
    "narrow accesses, old spelling": lambda p: p.narrow,
    "passes of loops without a hint": lambda p: p.unasked,
}


@dataclass(frozen=True)
class Text:
    """What of a file's text the points are about, by the word's number from `base` on."""

    base: int
    words: int
    transfers: Numbers
    moves: Numbers
    narrow: Numbers
    unasked: Numbers

    def points(self, executed: Executed) -> Points:
        """The points of one run."""
        times, entered, left = executed.counts
        block = BLOCK // WORD
        off = np.arange(self.words) + self.base // WORD & block - 1 != 0
        # A transfer that is not taken leads to the next one, where no other stands between.
        first, second = self.transfers[:-1], self.transfers[1:]
        together = (first + self.base // WORD) // block == (second + self.base // WORD) // block
        passed = first[together]
        return Points(
            int(times.sum()),
            int(entered.sum()),
            int(entered[off].sum()),
            int((times[passed] - left[passed]).sum()),
            *(int(times[at].sum()) for at in (self.moves, self.narrow, self.unasked)),
        )


def text(image: Image, base: int, words: int) -> Text:
    """What stands where in a file; `base` is the address of the first word that is counted."""
    program = analyse(image, ALPHA)
    listing = program.listing
    names = [op.name for op in listing.table.rows]
    moves = [n for n, name in enumerate(names) if name.startswith(("cmov", "fcmov"))]
    narrow = [n for n, name in enumerate(names) if name in NARROW]
    transfers = listing.transfers

    def numbers(addresses: NDArray[np.uint64]) -> Numbers:
        at = (addresses - np.uint64(base)).astype(np.int64) // WORD
        return np.sort(at[(at >= 0) & (at < words)])

    heads = [
        loop.head
        for loops in of_one_block(listing, innermost(program)).values()
        for loop in loops
        if _unasked(body_of(program, loop, {}).insns)
    ]
    return Text(
        base,
        words,
        numbers(listing.addresses[transfers[listing.flows[transfers] != FLOW_CODE[Flow.TRAP]]]),
        numbers(listing.addresses[np.isin(listing.rows, moves)]),
        numbers(listing.addresses[np.isin(listing.rows, narrow)]),
        numbers(np.array(heads, dtype=np.uint64)),
    )


def _unasked(body: Sequence[Insn]) -> bool:
    """Whether a loop walks over memory and has no hint."""
    asked = any(is_hint(insn) or insn.name.startswith("wh64") for insn in body)
    return not asked and any(stream.accesses for stream in streams(body, ALPHA))


def of_program(name: str, library: Path, cpu: str, within: Text) -> Points:
    """The points of one run of a program on a library."""
    said = programs.observed("transfers", name, library, cpu, 600, ())
    return within.points(Executed.parse(said, within.words))


def of_boot(path: Path, cpu: str) -> Points:
    """The points of one boot of a kernel with the test's initial file system."""
    booted = kernel(path.read_bytes(), path.name)
    low, high = low_and_high(booted.image)
    within = text(booted.image, low, (high - low) // WORD)
    return within.points(executed_in_boot(booted, cpu))


def executed_in_boot(booted: Kernel, cpu: str) -> Executed:
    """What a boot of a kernel with the test's initial file system executes of its code."""
    low, high = low_and_high(booted.image)
    text = {"text": f"{low:#x}-{high:#x}"}
    _, found = observed(booted, cpu, initramfs.build(), "transfers", text)
    return Executed.parse(found, (high - low) // WORD)


def table(what: str, found: Mapping[str, Points]) -> Iterator[str]:
    """Rows of Markdown: each label's counts, with the ratio to the first one's."""
    yield f"| {what} | {' | '.join(COLUMNS)} |"
    yield "|---|" + "---:|" * len(COLUMNS)
    first = next(iter(found.values()))
    for label, points in found.items():
        pairs = ((count(points), count(first)) for count in COLUMNS.values())
        cells = (f"{n:,}" if points is first else f"{n:,} = {_ratio(n, of)}" for n, of in pairs)
        yield f"| {label} | {' | '.join(cells)} |"
    yield ""


def _ratio(count: int, of: int) -> str:
    return f"{count / of:.3f}" if of else "-"


def programs_told(libraries: Mapping[str, Path], cpu: str, names: Sequence[str]) -> Iterator[str]:
    """A table for each program."""
    texts = {label: text_of_library(path) for label, path in libraries.items()}
    for name in names:
        yield from table(
            name,
            {label: of_program(name, path, cpu, texts[label]) for label, path in libraries.items()},
        )


def text_of_library(path: Path) -> Text:
    """What stands where in a library."""
    image = load(path)
    return text(image, 0, max(end for _, end in image.executable_ranges()) // WORD)


def _named(text: str) -> tuple[str, Path]:
    label, _, path = text.partition("=")
    return label, Path(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--rebuilt", action="store_true", help="also glibc rebuilt for the CPU")
    parser.add_argument("--library", type=_named, action="append", metavar="LABEL=FILE")
    parser.add_argument("--kernel", action="store_true", help="a boot, not programs")
    parser.add_argument("--retuned", type=Path, help="a retuned kernel")
    parser.add_argument("programs", nargs="*", default=(*programs.BENCH, *programs.WORK))
    options = parser.parse_args(arguments)
    try:
        if options.kernel:
            original = find("alpha-vmlinux")
            kernels = {"original": original, "retuned": options.retuned}
            kernels["retuned"] = options.retuned or retuned(original, options.cpu)
            lines = table("boot", {n: of_boot(path, options.cpu) for n, path in kernels.items()})
        else:
            libraries = {"original": find("alpha-libc"), **dict(options.library or ())}
            if not options.library:
                libraries["retuned"] = retuned(libraries["original"], options.cpu)
            if options.rebuilt:
                libraries["rebuilt"] = rebuilt_libc(options.cpu)
            lines = programs_told(libraries, options.cpu, options.programs)
        for line in lines:
            print(line, flush=True)
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
