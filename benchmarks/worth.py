"""What `substitute` makes of the known routines of a file on a CPU: each with what the model says.

`.venv/bin/python benchmarks/worth.py FILE CPU... [--routine NAME]...`: modelled cycles of the calls
that programs make most (`passes/substitution/worth.py`), ours as a part of the original's, or why
the original stays.  FILE is a path or the name of an input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from fixtures.inputs import Missing, find
from passes.substitute import Substitute
from rewriter.analysis.program import analyse
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.image import load
from rewriter.verify.routines.replaceable import Known

_ROW = "{:8} {:24} {:>8} {:>9}  {}"


def rows(known: Known, cpu: Cpu, wanted: Sequence[str]) -> Iterator[str]:
    """A line for each routine that has a tuned one for the CPU."""
    for named in known.named.values():
        if wanted and not set(wanted) & set(named.contracts):
            continue
        name = "/".join(named.contracts)
        try:
            _, routine, worth = next(Substitute().behaving(known, named, cpu))
        except CannotMove as reason:
            if not str(reason).startswith(("no tuned routine for", "another variant")):
                yield _ROW.format(cpu.name, name, "-", "-", reason)
            continue
        old, ratio = worth.old / worth.weight, worth.new / worth.old
        yield _ROW.format(
            cpu.name, name, f"{old:.1f}", f"{ratio:.3f}", f"{routine.folder}/{routine.name}"
        )


def main(arguments: Sequence[str]) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("cpu", nargs="+")
    parser.add_argument("--routine", action="append", default=[])
    options = parser.parse_args(arguments)
    try:
        found = options.file if Path(options.file).is_file() else find(options.file)
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 1
    image = load(found)
    target = targets.of(image).sequential
    assert target is not None
    known = Known(analyse(image, target))
    print(_ROW.format("cpu", "routine", "original", "ratio", "becomes"))
    for cpu in options.cpu:
        for line in rows(known, target.cpus[cpu], options.routine):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
