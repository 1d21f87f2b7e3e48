"""Executed instructions of our PowerPC routines beside those of glibc 2.36, by length.

`.venv/bin/python benchmarks/ppc_routines.py [--cpu NAME]... [ROUTINE...]` runs both under qemu over
the same cases of a contract, lengths as printed and 16 pairs of alignments, and counts what a call
executes by our plugin: the run with the routine less the run with one that returns at once.  Where
the libc chooses a variant when it is loaded, it is the one of that CPU, which a small program asks
for with dlsym.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fixtures.inputs import Missing, find, tool
from fixtures.programs import plugin_path
from rewriter.contracts import CONTRACTS
from rewriter.elf.image import Image, load
from rewriter.verify.trials.engines.sweep import Code, Sweep
from rewriter.verify.trials.image import code_at, code_of, function_named
from rewriter.verify.trials.records import Chunk, chunks
from targets.ppc import routines
from targets.ppc.linkage import linkages
from targets.ppc.trial_program import PpcSweep

_SIZES = (0, 1, 3, 7, 8, 15, 16, 24, 31, 32, 48, 64, 100, 128, 200, 256, 512, 1024, 4096)
_SKEWS = (0, 1, 4, 7)
_ADDRESS, _GLOB_DAT, _RELATIVE = 1, 20, 22  # R_PPC_ADDR32, _GLOB_DAT, _RELATIVE; 38 is ADDR64
_ABSOLUTE = {_ADDRESS, _GLOB_DAT, _RELATIVE, 38}
_BLR = 0x4E800020
_ROW = "{:7} {:10} {:>6} {:8.1f} {:8.1f} {:6.2f}"
_PROBE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names)
{
    Dl_info found;
    for (int i = 1; i < count; i++) {
        char *at = dlsym(RTLD_DEFAULT, names[i]);
        if (at && dladdr(at, &found))
            printf("%s %lx\\n", names[i], (long)(at - (char *)found.dli_fbase));
    }
}
"""


@dataclass(frozen=True)
class Machine:
    """A CPU, whose routines are in the folder of that name, and the libc that it is beside."""

    program: PpcSweep
    libc: str
    compiler: str = ""  # of the probe, where the libc has variants


_NARROW, _WIDE = (linkages(width)["standard"] for width in (32, 64))
MACHINES = {
    "750": Machine(PpcSweep(_NARROW, 32, "big", "750", vectors=False), "ppc-libc"),
    "7450": Machine(PpcSweep(_NARROW, 32, "big", "7450", vectors=True), "ppc-libc"),
    "power9": Machine(
        PpcSweep(_WIDE, 64, "little", "power9", vectors=True),
        "ppc64el-libc",
        "powerpc64le-linux-gnu-gcc",
    ),
}


class Counting(Sweep):
    """A sweep under the plugin that counts instructions."""

    def __init__(self, program: PpcSweep) -> None:
        super().__init__(program)
        self.counts = self._path / "counts"
        self._command = (*self._command, "-plugin", f"{plugin_path('icount')},out={self.counts}")

    def executed(self, code: Code, cases: NDArray[np.uint8]) -> int:
        """Instructions of a run over the cases; RuntimeError when it does not come back."""
        answer = self.run(code, [cases])
        if answer.died or len(answer.output) < len(cases):
            raise RuntimeError(f"{code.name}: {answer.died}")
        return int(self.counts.read_text(encoding="ascii").split()[0])


@cache
def _image(name: str) -> Image:
    return load(find(name))


@cache
def _variants(cpu: str) -> dict[str, int]:
    """Addresses of the libc's routines as its resolvers choose them on a CPU."""
    machine = MACHINES[cpu]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "probe.c", Path(folder) / "probe"
        source.write_text(_PROBE, encoding="utf-8")
        subprocess.run((tool(machine.compiler), "-o", program, source), check=True)
        emulator, *options = machine.program.emulator
        root = find(machine.libc).parent.parent
        command = (tool(emulator), *options, "-L", str(root), str(program), *CONTRACTS)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name: int(at, 16) for name, at in map(str.split, done.stdout.splitlines())}


def theirs(cpu: str, name: str) -> Code | None:
    """The libc's routine on a CPU, loaded where ours would be; None if it has none.

    What the libc has from other files is taken to be zero.
    """
    machine = MACHINES[cpu]
    image = _image(machine.libc)
    if machine.compiler:
        address = _variants(cpu).get(name)
    else:
        found = function_named(image, name)
        address = found and found[0]
    if address is None:
        return None
    base = machine.program.routine + 0x10000
    nothing = max(s.p_vaddr + s.p_memsz for s in image.segments) + 0x100

    def relocated(kind: int, addend: int, symbol: int | None) -> int | None:
        if kind not in _ABSOLUTE:
            return None
        if kind == _RELATIVE:
            return addend
        return nothing if symbol is None else symbol + addend

    code = code_of(image, f"libc {name}", address, base, relocated)
    return Code(code.name, (*code.parts, (base + nothing & -0x10000, bytes(0x20000))), code.entry)


def cases(cpu: str, name: str, size: int) -> Chunk:
    """Calls of one length, at every pair of alignments."""
    program, contract = MACHINES[cpu].program, CONTRACTS[name]
    plan = contract.plans[0]
    axes = dict(plan.axes) | {"count": (size,)}
    axes |= {axis: _SKEWS for axis in ("to", "source", "first", "second") if axis in axes}
    axes["place"] = axes["place"][:1]
    points = [(plan, dict(zip(axes, values, strict=True))) for values in product(*axes.values())]
    (chunk,) = chunks(contract, points, program.arena, program.capacity, program.byteorder)
    return chunk


def executed(
    engine: Counting, cpu: str, name: str, size: int, codes: Sequence[Code]
) -> list[float]:
    """Instructions of a call of each code, the mean of all alignments."""
    program, chunk = MACHINES[cpu].program, cases(cpu, name, size)
    returns = _BLR.to_bytes(4, program.byteorder)
    empty = engine.executed(
        Code("blr", ((program.routine, returns),), program.routine), chunk.before
    )
    return [(engine.executed(code, chunk.before) - empty) / len(chunk) + 1 for code in codes]


def compare(cpu: str, name: str) -> None:
    """Prints a routine's rows."""
    program, original = MACHINES[cpu].program, theirs(cpu, name)
    ours = code_at(routines.routine(cpu, name), program.routine)
    if original is None:
        print(f"{cpu} {name}: the libc has none")
        return
    sums = [0.0, 0.0]
    engine = Counting(program)
    with engine:
        for size in _SIZES:
            counts = executed(engine, cpu, name, size, (original, ours))
            sums = [total + count for total, count in zip(sums, counts, strict=True)]
            print(_ROW.format(cpu, name, size, *counts, counts[1] / counts[0]), flush=True)
    print(_ROW.format(cpu, name, "all", *sums, sums[1] / sums[0]), flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="ROUTINE")
    parser.add_argument("--cpu", action="append", choices=sorted(MACHINES))
    options = parser.parse_args()
    print("cpu     routine     bytes    glibc     ours  ratio")
    try:
        for cpu in options.cpu or MACHINES:
            for name in options.names or routines.names(cpu):
                try:
                    compare(cpu, name)
                except RuntimeError as problem:  # what it has from other files is not there
                    print(f"{cpu} {name}: {problem}")
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
