"""How often control goes on elsewhere in programs, before and after `layout`, and at best.

    python benchmarks/layout.py [--library alpha-libc] [--cpu ev67] [--profile FILE]
                                [--made-with PROGRAM]... [--passes LIST] [PROGRAM...]

The library is retuned for the CPU without a profile, as `retune patch` does it by itself, and with
one; by the passes of a list alone where that is given, and before by those but `layout`.  Programs
of `fixtures/programs.py` that the profile was not made with run on both, and must print the same.
Without --profile that of Debian's Alpha libc which comes with retune is taken (its branches are
those of programs whose names do not begin with bench, and of none of those that do one kind of
work), or one is counted with the programs --made-with.

A line for each program: direct branches and jumps taken in the library for each 1,000 instructions
that are executed there, before and after; their quotient; the quotient at best, if the functions of
the file before stood in chains made of this very run, with room and unwind rows for any order; and
the quotient of executed instructions.  Counted by our plugin `fixtures/transfers.c`.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from benchmarks.whole_programs import retuned
from fixtures import guests, programs
from fixtures.inputs import Missing, cache_dir, find, write_aside
from passes.align import Code, transfers
from passes.layout import ByProfile
from passes.lib.nops import Nops
from passes.ordering.arranged import arranged
from passes.ordering.chains import Chains
from passes.ordering.units import Units
from rewriter.analysis.program import Program, analyse
from rewriter.api import choose, profile
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.difftest.setting import Wishes
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image, load
from rewriter.identify.profiles import KNOWN, Direction
from rewriter.identify.profiles.directions import merged, text_hash
from tests.support.mutants.tuned import state

HEAD = ("program", "executed", "before", "after", "quotient", "at best", "executed instructions")
_TIME = 900.0  # seconds of a run
_PAGE = 1 << 12  # bytes, by which an emulator maps the parts of a file

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Executed:
    """Of a file's instructions, by where they stand in its text: how often each was executed, and
    how often control went on elsewhere than behind it."""

    program: Program
    executed: Numbers
    left: Numbers

    @property
    def total(self) -> int:
        """Executed instructions."""
        return int(self.executed.sum())

    @property
    def taken(self) -> int:
        """Direct branches and jumps that were taken."""
        flows = self.program.listing.flows
        direct = np.isin(flows, [FLOW_CODE[Flow.BRANCH], FLOW_CODE[Flow.JUMP]])
        return int(self.left[direct].sum())

    @property
    def often(self) -> float:
        """These for each 1,000 instructions."""
        return 1000 * self.taken / max(self.total, 1)

    def directions(self) -> Mapping[int, Direction]:
        """Which way each conditional branch went."""
        listing = self.program.listing
        at = np.flatnonzero((listing.flows == FLOW_CODE[Flow.BRANCH]) & (self.executed > 0))
        rows = zip(
            listing.addresses[at].tolist(),
            self.executed[at].tolist(),
            self.left[at].tolist(),
            strict=True,
        )
        return {address: Direction(executed, left, 0) for address, executed, left in rows}


def executed(program: Program, image: Image, text: bytes) -> Executed:
    """What the plugin wrote of a file, by the offsets from where its code begins."""
    listing = program.listing
    found = np.zeros((2, len(listing)), dtype=np.int64)
    rows = np.array(text.split(), dtype=np.int64).reshape(-1, 4)
    first = min(s.p_vaddr for s in image.segments if s.p_type == PT_LOAD) & -_PAGE
    at = np.searchsorted(listing.addresses, (rows[:, 0] + first).astype(np.uint64))
    here = at < len(listing)
    found[0, at[here]], found[1, at[here]] = rows[here, 1], rows[here, 3]
    return Executed(program, found[0], found[1])


@dataclass(frozen=True)
class Bound:
    """What chains give at best, of the branches that one run counted."""

    run: Executed
    cpu: Cpu

    def taken(self) -> int:
        """Direct branches and jumps that would be taken in all functions that are understood."""
        program, nops = self.run.program, Nops(self.run.program, self.cpu)
        counts, fewer = self.run.directions(), 0
        reached = {address: one for address, one in counts.items() if one.executed}
        for function in program.functions:
            if not program.not_understood(function) and any(at in function for at in reached):
                fewer += self._fewer(program, function, nops, counts)
        return self.run.taken - fewer

    def _fewer(
        self, program: Program, function: Function, nops: Nops, counts: Mapping[int, Direction]
    ) -> int:
        items = tuple(nops.standing({}, function.start, function.end))
        targets = {target for _, target in transfers(function, items)}
        targets |= {t for table in program.tables_of(function) for t in table.targets}
        starts = {function.start, *program.target.entries(program.listing, function)}
        known = program.target.inverting
        assert known is not None
        code = Code(function, items, starts, (), targets, branches=counts)
        pads = program.pads_of(function)
        units = Units(code, [0] * len(items), pads)
        return max(
            sum(units.taken) - arranged(units, known, Chains(units, (), units.ways).order()).taken,
            0,
        )


@dataclass(frozen=True)
class Retuned:
    """A library as `retune patch` makes it, once for each state of the product."""

    original: Path
    cpu: str
    passes: tuple[str, ...]

    def without(self) -> Path:
        """By the passes but `layout`, without a profile."""
        if not self.passes:
            return retuned(self.original, self.cpu)
        others = [name for name in self.passes if name != ByProfile.name]
        return self._made("--passes", ",".join(others))

    def by(self, counted: Path) -> Path:
        """By a profile."""
        passes = ("--passes", ",".join(self.passes)) if self.passes else ()
        return self._made("--profile", counted, *passes)

    def _made(self, *options: str | Path) -> Path:
        original, digest = self.original, hashlib.sha256(state().encode())
        for one in (original, *options):
            digest.update(one.read_bytes() if isinstance(one, Path) else one.encode())
        path = cache_dir("layouts") / f"{self.cpu}-{digest.hexdigest()[:16]}" / original.name
        path.parent.mkdir(exist_ok=True)

        def make(aside: Path) -> None:
            retune = Path(sys.executable).with_name("retune")
            command = (retune, "patch", original, "--cpu", self.cpu, *options, "-o", aside)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        return path if path.is_file() else write_aside(path, make)


def counted_with(original: Path, names: Sequence[str], cpu: str) -> Path:
    """A profile of the library, of some programs that run on it."""
    made = []
    for name in names:
        command = [str(programs.build(name, guests.of(original)))]
        command += programs.of(name).arguments
        wishes = Wishes(cpu=cpu, sysroot=programs.sysroot(original, cpu=cpu))
        made.append(profile.programs(original, command, wishes=wishes, limit=_TIME).directions)
    path = cache_dir("profiles") / f"{text_hash(load(original))[:16]}.txt"
    path.write_text(merged(made).written(), encoding="ascii")
    return path


def lines(
    files: Sequence[Path], cpu: Cpu, target: Sequential, names: Sequence[str]
) -> Iterator[str]:
    """The table, as lines of Markdown."""
    yield f"| {' | '.join(HEAD)} |"
    yield "|" + "---|" * len(HEAD)
    images = [load(path) for path in files]
    both = [(analyse(image, target), image) for image in images]
    for name in names:
        if len({programs.counted(name, [path], cpu.name)[0].stdout for path in files}) != 1:
            raise RuntimeError(f"{name} prints something else")
        runs = [
            executed(
                program, image, programs.observed("transfers", name, path, cpu.name, _TIME, ())
            )
            for path, (program, image) in zip(files, both, strict=True)
        ]
        yield row(name, runs[0], runs[1], Bound(runs[0], cpu).taken())


def row(name: str, before: Executed, after: Executed, best: int) -> str:
    """One program's line."""
    cells = (
        name, f"{before.total:,}", f"{before.often:.1f}", f"{after.often:.1f}",
        f"{after.often / before.often:.3f}", f"{best / before.taken:.3f}",
        f"{after.total / before.total:.4f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--library", default="alpha-libc")
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--made-with", action="append", default=[])
    parser.add_argument("--passes", default="", metavar="LIST")
    parser.add_argument("programs", nargs="*", default=[*programs.WORK, *programs.BENCH])
    given = parser.parse_args(arguments)
    try:
        path = find(given.library)
        image = load(path)
        target = choose.target_of(image)
        sequential = target.sequential
        assert sequential is not None
        counted = given.profile or KNOWN / f"{text_hash(image)[:16]}.txt"
        if given.made_with:
            counted = counted_with(path, given.made_with, given.cpu)
        made = Retuned(path, given.cpu, tuple(filter(None, given.passes.split(","))))
        files = made.without(), made.by(counted)
        for line in lines(files, target.cpus[given.cpu], sequential, given.programs):
            print(line, flush=True)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
