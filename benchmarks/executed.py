"""What the libc executes in whole programs: by kind of instruction, by function, for nobody.

    python benchmarks/executed.py [--unread] [--functions N] [--library FILE]... [PROGRAM...]

A table for each libc (the original and the one retuned for EV67 where none is named) of the shares
of kinds of instructions, and with `--functions` the functions that execute most, counted by our
plugin `fixtures/executed.c`.  With `--unread` also what nothing comes of, by a recording of the
run: instructions whose results nobody reads, or only others of these, and saves and restores of
registers that nobody wrote in between.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.whole_programs import retuned
from fixtures import programs
from fixtures.inputs import Missing, find
from fixtures.trace import INSIDE, Recording, record
from rewriter.analysis.functions import find_functions
from rewriter.core.code.dataflow import registers_of
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.elf.image import Image, load
from rewriter.elf.unwind import entries
from targets.alpha import Alpha
from targets.alpha.abi import KEPT, whole
from targets.alpha.image.pointers import is_nop
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import GP, RA, SP, ZERO

CPU = "ev67"
KINDS = ("gp set-up", "save, restore", "nop", "jump", "move", "branch", "load", "store", "other")
_WORD, _ELSEWHERE = 4, -1
_FRAMED = KEPT | 1 << RA  # what functions save and restore, beside floating registers


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--unread", action="store_true", help="what nothing comes of, too")
    parser.add_argument("--functions", type=int, default=0, help="so many of each program")
    parser.add_argument("--library", type=Path, action="append", help="a libc for Alpha")
    parser.add_argument("programs", nargs="*", default=(*programs.BENCH, *programs.WORK))
    options = parser.parse_args(arguments)
    try:
        original = find("alpha-libc")
        for library in options.library or (original, retuned(original, CPU)):
            for line in report(library, options.programs, options.functions, options.unread):
                print(line, flush=True)
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    return 0


def report(library: Path, names: Sequence[str], most: int, unread: bool) -> Iterator[str]:
    """The tables of one library, as lines of Markdown."""
    text, hot = Text(load(library)), list[str]()
    columns = (*KINDS, *(("unread", "needless saves") if unread else ()))
    yield f"| {library.parent.name}: % of what is executed | all | {' | '.join(columns)} |"
    yield "|---|" + "---:|" * (1 + len(columns))
    for name in names:
        counts = executed(name, library)
        total, kinds = sum(counts.values()), text.kinds(counts)
        shares = [kinds[kind] for kind in KINDS]
        if unread:
            places = ways(record(name, library, CPU))
            shares += [text.unread(places), text.needless(*places)]
        yield f"| {name} | {total:,} | {' | '.join(f'{100 * n / total:.2f}' for n in shares)} |"
        often = text.functions(counts).most_common(most)
        hot += [f"| {name} | {where} | {count:,} |" for where, count in often]
    yield ""
    if hot:
        yield from ("| program | function | executed |", "|---|---|---:|", *hot, "")


def executed(program: str, library: Path) -> Mapping[int, int]:
    """How often each instruction is executed in one run, by its address in the library."""
    said = programs.observed("executed", program, library, CPU, 300, ()).decode("ascii")
    return {int(at): int(count) for at, count in map(str.split, said.splitlines())}


def ways(recording: Recording) -> tuple[list[int], list[int]]:
    """The numbers of the executed words, -1 where control was elsewhere; what they accessed."""
    records = recording.records
    inside = records["kind"] == INSIDE
    words = np.where(inside, records["place"] // _WORD, _ELSEWHERE).astype(np.int64)
    return words.tolist(), records["access"].tolist()


class Text:
    """A library's instructions, by the number of the word."""

    def __init__(self, image: Image) -> None:
        self.functions_of = find_functions(image, entries.frames(image))
        self.insns: dict[int, Insn] = {}
        listing = Alpha().listing(image)
        for at, address in enumerate(listing.addresses.tolist()):
            insn = listing.insn(at)
            if insn is not None:
                self.insns[address // _WORD] = insn

    def kinds(self, counts: Mapping[int, int]) -> Counter[str]:
        """How many instructions of each kind were executed."""
        found: Counter[str] = Counter()
        for at, count in counts.items():
            insn = self.insns.get(at // _WORD)
            found["other" if insn is None else kind(insn)] += count
        return found

    def functions(self, counts: Mapping[int, int]) -> Counter[str]:
        """How many instructions each function executed, by its name."""
        starts = [function.start for function in self.functions_of]
        found: Counter[str] = Counter()
        for at, count in counts.items():
            n = bisect_right(starts, at) - 1
            inside = n >= 0 and at in self.functions_of[n]
            found[self.functions_of[n].name if inside else "elsewhere"] += count
        return found

    def unread(self, places: tuple[list[int], list[int]]) -> int:
        """How many executed instructions did nothing but compute what nobody read.

        Where control is elsewhere all registers are read.
        """
        masks = {
            word: (TABLE.uses(insn), TABLE.defs(insn), bool(TABLE.computes(insn)))
            for word, insn in self.insns.items()
        }
        live, found = -1, 0
        for word in reversed(places[0]):
            uses, defs, computes = masks.get(word, (-1, 0, False))
            if computes and not defs & live:
                found += 1
            else:
                live = live & ~defs | uses
        return found

    def needless(self, words: Sequence[int], accesses: Sequence[int]) -> int:
        """How many saves and restores were of registers that nobody wrote in between."""
        said = {word: _saved(insn) for word, insn in self.insns.items()}
        written = {word: registers_of(TABLE.defs(i) & _FRAMED) for word, i in self.insns.items()}
        kept: dict[int, list[list[int]]] = {}  # by register: addresses, and whether it was written
        found = 0
        for word, place in zip(words, accesses, strict=True):
            saved = said.get(word)
            if saved is not None:
                register, stores = saved
                stack = kept.setdefault(register, [])
                while stack and stack[-1][0] < place + stores:
                    stack.pop()  # of frames that are gone
                if stores:
                    stack.append([place, 0])
                elif stack and stack[-1][0] == place:
                    found += 0 if stack.pop()[1] else 2
            else:
                for register in written.get(word, ()):
                    if stack := kept.get(register, []):
                        stack[-1][1] = 1
        return found


def kind(insn: Insn) -> str:
    """What an instruction is, one of `KINDS`."""
    effects, flow = TABLE.effects(insn.op), insn.op.flow
    if is_nop(insn):
        return "nop"
    if flow is not Flow.NEXT:
        return "branch" if flow is Flow.BRANCH else "jump"
    if insn.name in ("lda", "ldah") and insn.operand("ra") == GP:
        return "gp set-up"
    if _saved(insn) is not None:
        return "save, restore"
    if effects.stores or effects.loads:
        return "store" if effects.stores else "load"
    return "move" if insn.name == "bis" and ZERO in insn.operands[:2] else "other"


def _saved(insn: Insn) -> tuple[int, bool] | None:
    """The register that is kept in the frame or comes back, and whether it is the former."""
    said = whole(insn)
    if said is None or said[1] != SP or not _FRAMED >> said[0] & 1:
        return None
    return said[0], said[2]


if __name__ == "__main__":
    sys.exit(main())
