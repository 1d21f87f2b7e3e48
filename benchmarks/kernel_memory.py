"""How many streams of a kernel's loops are shown to be in memory, where no device is.

    .venv/bin/python benchmarks/kernel_memory.py [--input NAME]

Printed are the streams of loops of one block, those whose pointer is shown to be to memory
(`rewriter/analysis/values/memory.py`), both by whether anything of them is read, and the calls
behind which gp is made as it is already.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.inputs import Missing, find
from passes.streams.accesses import streams
from passes.streams.bodies import Around, body_of, of_one_block
from rewriter.analysis.loops import innermost
from rewriter.analysis.program import Program, analyse
from rewriter.elf.image import load
from targets.alpha import Alpha


def counted(program: Program) -> Counter[tuple[str, bool]]:
    """Streams by kind and by whether they are shown to be in memory."""
    found: Counter[tuple[str, bool]] = Counter()
    for start, loops in of_one_block(program.listing, innermost(program)).items():
        function = program.function_at(start)
        if function is None:
            continue
        for loop in loops:
            around = Around(program, function, loop)
            for stream in streams(body_of(program, loop, {}).insns, program.target):
                if stream.accesses:
                    kind = "write" if stream.writes else "read"
                    found[kind, not around.device(stream)] += 1
    return found


def main() -> int:
    """Exit status 0 when the kernel is there, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--input", default="alpha-vmlinux", help="a kernel by its fixture's name")
    options = parser.parse_args()
    try:
        program = analyse(load(find(options.input)), Alpha())
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    found = counted(program)
    for kind in ("read", "write"):
        shown, others = found[kind, True], found[kind, False]
        print(f"{kind} streams: {shown + others:,}, shown to be in memory: {shown:,}")
    print(f"calls behind which gp is made as it is already: {len(program.made_again):,}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
