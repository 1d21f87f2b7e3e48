"""How much less a PowerPC kernel can execute in a boot: what of it passes can remove at most.

    python benchmarks/ppc_kernel_bound.py ppc64el-vmlinux power9
    python benchmarks/ppc_kernel_bound.py ppc32-vmlinux 750

Boots the kernel with the tests' initial file system, counts every word of its text, and prints
the share of each class: what is left alone, and why; nops that the system may write over, and those
that nobody needs; whole routines for which there is a tuned one, of which some part must stay; and
pairs of an access and the step of its base in one block, which an access with update could do.  The
bound is 1 less the classes that can go.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

import targets
from benchmarks.booted import low_and_high, observed
from fixtures import initramfs
from fixtures.guests import GUESTS
from fixtures.inputs import find
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.dataflow import written
from rewriter.core.code.program import Function
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Tuned, suited
from rewriter.difftest.boot.kernel import kernel
from rewriter.elf import image
from rewriter.elf.image import Image
from rewriter.verify.routines.pieces import insns_of
from rewriter.verify.routines.replaceable import symbols_of
from targets.ppc.idioms import address, linear

_GUESTS = {32: "ppc", 64: "ppc64el"}
_WORD = 4  # bytes of an instruction

Counts = NDArray[np.int64]
"""How often the instruction at each position of a listing was executed."""


def counted(found: Image, cpu: str) -> tuple[int, NDArray[np.uint64]]:
    """Where the text begins, and how often each of its words was executed in a boot."""
    low, high = low_and_high(found)
    initrd = initramfs.build(GUESTS[_GUESTS[found.bits]])
    wishes = {"low": f"{low:#x}", "high": f"{high:#x}"}
    _, counts = observed(kernel(found.data, found.name), cpu, initrd, "word_counts", wishes)
    return low, np.frombuffer(counts, dtype=np.uint64)[:-1]


def classes(program: Program, counts: Counts, cpu: Cpu) -> tuple[Counter[str], Counter[str]]:
    """Executed instructions that no pass can remove, and those that some may, by class."""
    kept, removable = Counter[str](), Counter[str]()
    tuned = _with_tuned(program, cpu)
    for function in program.functions:
        first, last = program.listing.span(function.start, function.end)
        here = counts[first:last]
        if not here.any():
            continue
        if reason := program.not_understood(function):
            kept[f"left alone: {reason}"] += int(here.sum())
        elif function.start in tuned:
            removable[f"has a tuned routine: {tuned[function.start]}"] += int(here.sum())
        else:
            nops = program.nops[first:last]
            removable["nops that nobody needs"] += int(here[nops].sum())
            removable["steps of a base"] += sum(_steps(program, counts, function))
    return kept, removable


def _with_tuned(program: Program, cpu: Cpu) -> dict[int, str]:
    """The functions by symbols that there is a tuned routine for, with its name; none that writes
    a register that no code of a kernel may."""
    target, order = program.target, program.image.byteorder
    reserved = target.reserved(program.image)

    def may_stand(routine: Tuned) -> bool:
        insns = insns_of(target, routine.code, order).values()
        return not written(target.table, insns) & reserved

    return {
        one.address: "/".join(one.contracts)
        for one in symbols_of(program.image)
        if any(
            may_stand(routine) for name in one.contracts for routine in suited(target, name, cpu)
        )
    }


def _steps(program: Program, counts: Counts, function: Function) -> Iterator[int]:
    """How often a register was stepped to where an access of the same block had been."""
    graph = program.graph
    for block in graph.blocks_of(function):
        accessed = set[tuple[int, int]]()
        for at in range(int(graph.first[block]), int(graph.last[block])):
            insn = program.listing.insn(at) if counts[at] else None
            step = linear(insn) if insn is not None else None
            if step is not None:
                if step[0] == step[1] and step[1:] in accessed:
                    yield int(counts[at])
                accessed = {one for one in accessed if one[0] != step[0]}
            elif insn is not None and insn.has("ra0") and (place := address(insn)) is not None:
                accessed.add(place)


def main() -> None:
    """Boots, and prints the classes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("input")
    parser.add_argument("cpu")
    chosen = parser.parse_args()
    found = image.load(find(chosen.input))
    target = targets.of(found).sequential
    assert target is not None
    low, words = counted(found, chosen.cpu)
    program = analyse(found, target)
    at = (program.listing.addresses.astype(np.uint64) - np.uint64(low)) // np.uint64(_WORD)
    counts = words[at.astype(np.int64)].astype(np.int64)
    kept, removable = classes(program, counts, target.cpus[chosen.cpu])
    total = int(counts.sum())
    print(f"{total:,} instructions of the text")
    for some in (kept, removable):
        for name, number in some.most_common():
            print(f"{number:14,} {number / total:.4f} {name}")
    print(f"bound: {1 - sum(removable.values()) / total:.4f}")


if __name__ == "__main__":
    main()
