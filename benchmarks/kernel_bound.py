"""How much of a kernel's boot is of the kinds that passes take out, counted by execution.

    python benchmarks/kernel_bound.py [--cpu ev67] [--retuned FILE]

Both kernels boot with the test's initial file system.  Printed are the executed instructions of
their functions that do not only wait, those of each kind, and what would be left of each kernel if
all of these were gone: a bound for whoever goes on with these kinds alone.  Behind it come the
passes of loops that fill memory, for which `writehint` is.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from benchmarks.booted import low_and_high
from benchmarks.gorton import ALPHA, NARROW, WORD, Numbers, executed_in_boot
from benchmarks.sites import fills
from benchmarks.whole_programs import retuned
from fixtures.inputs import Missing, find
from passes.streams.accesses import streams
from passes.streams.bodies import body_of, of_one_block
from rewriter.analysis.loops import innermost
from rewriter.analysis.program import Program, analyse
from rewriter.contracts import CONTRACTS
from rewriter.core.code.listing import Listing
from rewriter.core.isa.registers import of_row
from rewriter.difftest.boot.kernel import Kernel, kernel
from targets.alpha.registers import GP, PV, RA

_WIDE = frozenset({"insbl", "inswl", "inswh", "ldq_u", "stq_u"})
"""Beside `NARROW`: what an access in old spelling is made of, among much else."""

_LEAST = 4  # bytes that `writehint` asks of a pass

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Boot:
    """How often each instruction of a kernel was executed, 0 where functions wait; and its text."""

    listing: Listing
    times: Numbers
    nops: Mask
    filling: Counter[bool]

    @property
    def total(self) -> int:
        """All that was executed."""
        return int(self.times.sum())

    def kinds(self) -> Mapping[str, int]:
        """Executed instructions of each kind; no instruction is of two."""
        return {
            "nops": self._of(self.nops),
            "gp made behind a call": self._of(self._made(RA)),
            "gp made where a function begins": self._of(self._made(PV)),
            "narrow accesses, old spelling": self._of(self._named(NARROW | _WIDE) & ~self.nops),
            "conditional moves": self._of(self._named(_moves(self.listing))),
            "jumps (br)": self._of(self._named(frozenset({"br"}))),
        }

    def _of(self, which: Mask) -> int:
        return int(self.times[which].sum())

    def _named(self, names: frozenset[str]) -> Mask:
        rows = [n for n, op in enumerate(self.listing.table.rows) if op.name in names]
        found: Mask = np.isin(self.listing.rows, rows)
        return found

    def _made(self, base: int) -> Mask:
        """LDAH of gp from a register, and the next write of gp that goes by gp alone."""
        found = np.zeros(len(self.times), dtype=np.bool_)
        waiting = False
        places = np.flatnonzero(self._named(frozenset({"ldah", "lda"})) & (self.times > 0))
        for at in places.tolist():
            insn = self.listing.insn(at)
            if insn is None or not of_row(self.listing.defs[at]) >> GP & 1:
                continue
            source = insn.operand("rb")
            found[at] = source == base or (waiting and source == GP)
            waiting = source == base
        return found


def _moves(listing: Listing) -> frozenset[str]:
    return frozenset(op.name for op in listing.table.rows if op.name.startswith("cmov"))


def booted(path: Path, cpu: str) -> Boot:
    """One boot of a kernel."""
    one = kernel(path.read_bytes(), path.name)
    program, (low, _) = analyse(one.image, ALPHA), low_and_high(one.image)
    listing = program.listing
    at = (listing.addresses - np.uint64(low)).astype(np.int64) // WORD
    times = executed_in_boot(one, cpu).counts[0][at]
    times[_waits(one, listing)] = 0
    return Boot(listing, times, np.asarray(program.nops, dtype=np.bool_), _filling(program, times))


def _filling(program: Program, times: Numbers) -> Counter[bool]:
    """Executed passes of loops of one block that read nothing and store all they move over, no
    less than four bytes; by whether they are in known routines."""
    listing, found = program.listing, Counter[bool]()
    known = {f.start for f in program.functions if f.name in CONTRACTS}
    for start, loops in of_one_block(listing, innermost(program)).items():
        for loop in loops:
            insns = body_of(program, loop, {}).insns
            reads = any(ALPHA.table.effects(insn.op).loads for insn in insns)
            if not reads and any(fills(s) and abs(s.step) >= _LEAST for s in streams(insns, ALPHA)):
                found[start in known] += int(times[listing.index(loop.head)])
    return found


def _waits(one: Kernel, listing: Listing) -> Mask:
    """Which instructions are of functions that only wait."""
    found = np.zeros(len(listing.addresses), dtype=np.bool_)
    for start, end in one.waits:
        first, last = listing.span(start, end)
        found[first:last] = True
    return found


def table(original: Boot, other: Boot) -> Iterator[str]:
    """Rows of Markdown."""
    yield "| executed | original | retuned | of the original's |"
    yield "|---|---:|---:|---:|"
    of, kinds = original.total, original.kinds()
    for name, count in other.kinds().items():
        yield f"| {name} | {kinds[name]:,} | {count:,} | {count / of:.4f} |"
    yield f"| all | {of:,} | {other.total:,} | {other.total / of:.4f} |"
    for what, one in (("original", original), ("retuned", other)):
        left = one.total - sum(one.kinds().values())
        yield f"| {what} without these kinds | | {left:,} | {left / of:.4f} |"
    for known, where in ((True, "known routines"), (False, "other functions")):
        yield f"| passes of loops that fill memory, in {where} | {original.filling[known]:,} | | |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when both kernels boot, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--retuned", type=Path, help="a retuned kernel")
    options = parser.parse_args(arguments)
    try:
        original = find("alpha-vmlinux")
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    other = options.retuned or retuned(original, options.cpu)
    for line in table(*(booted(path, options.cpu) for path in (original, other))):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
