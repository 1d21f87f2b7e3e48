"""What `writehint` makes of loops of real files that fill memory, and why the others stay.

    python benchmarks/write_hints.py [INPUT...]

Default: the Alpha libc, libm, libstdc++, libgo and kernel.  Functions with an innermost loop of one
block whose stores fill what a pass moves over are tuned to an ev67 with all passes, which make the
room.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import passes
from benchmarks.sites import fills
from fixtures.inputs import Missing, find
from passes.streams.accesses import streams
from passes.streams.bodies import body_of, of_one_block
from passes.writehint import WriteHint
from rewriter.analysis.loops import innermost
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.elf.image import load
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from targets.alpha import Alpha

ALPHA = Alpha()
DEFAULT = ("alpha-libc", "alpha-libm", "alpha-libstdc++", "alpha-libgo", "alpha-vmlinux")
CPU = "ev67"


def filling(program: Program) -> Iterator[Function]:
    """The functions with a loop that fills memory."""
    by_start = {function.start: function for function in program.functions}
    for start, loops in of_one_block(program.listing, innermost(program)).items():
        bodies = (body_of(program, loop, {}).insns for loop in loops)
        if any(fills(stream) for body in bodies for stream in streams(body, ALPHA)):
            yield by_start[start]


def told(name: str) -> Iterator[str]:
    """The lines about one input."""
    image = load(str(find(name)))
    functions = tuple(re.escape(function.name) for function in filling(analyse(image, ALPHA)))
    chosen = Options(passes=passes.offered(ALPHA), funcs=functions or ("",))
    tuned = tune(image, ALPHA, ALPHA.cpus[CPU], chosen, lambda *_: None)
    edits = [edit for edit in tuned.edits if edit.technique == WriteHint.name]
    reasons = Counter(s.reason for s in tuned.skips if s.technique == WriteHint.name)
    yield f"{name}: {len(edits) + reasons.total()} loops fill memory, {len(edits)} got a version"
    for edit in edits:
        yield f"  {edit.id}: {edit.evidence.detail}"
    for reason, count in reasons.most_common():
        yield f"  {count} {reason}"


def main(names: Sequence[str]) -> int:
    """Prints the survey of each input; the exit status says whether all were there."""
    status = 0
    for name in names:
        try:
            for line in told(name):
                print(line, flush=True)
        except Missing as missing:
            print(missing)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or DEFAULT))
