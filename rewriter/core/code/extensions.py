"""Instructions that only some CPUs have (`Op.needs`), and that trap on the others.

Code asks what the CPU has, and branches around them where that is not there.  So none may come to
where control leaves before the branch, unless every CPU that runs the code has it, or one of the
same need was executed by then.  Code also finds out what the CPU has by executing one, and so none
may go where no other of its need is (`rewriter/verify/probes.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from rewriter.core.isa.instruction import Insn
from rewriter.core.plugins import Cpus
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential

Leaving: TypeAlias = tuple[Sequence[Insn], Sequence[int]]
"""Straight code, and the slots after which control may leave it, the last one included."""


def certain(target: Sequential, cpu: Cpu | None = None) -> frozenset[str]:
    """The features that every CPU has which runs some code.

    It is for a CPU and later ones; where none is named, for all that run the target's files, but
    for those of plug-ins, which nobody loads who does not name them.
    """
    cpus = target.cpus.own if isinstance(target.cpus, Cpus) else target.cpus
    able = [one.features for one in cpus.values() if target.baseline <= one.features]
    common = frozenset[str].intersection(*able) if able else target.baseline
    return common if cpu is None else common | cpu.features - target.outlived


def lacking(insns: Iterable[Insn], features: Collection[str]) -> bool:
    """Whether a CPU with no more than some features lacks any of the instructions."""
    return any(insn.op.needs and insn.op.needs not in features for insn in insns)


def uncertain(old: Leaving, new: Leaving, features: Collection[str]) -> str:
    """What new code executes on a way on which old code does not show that the CPU has it.

    Nothing where there is no such thing.  The CPU is known to have `features`.
    """
    if not lacking(new[0], features):
        return ""
    known, first, start = {"", *features}, 0, 0
    for last, end in zip(old[1], new[1], strict=True):
        known.update(insn.op.needs for insn in old[0][first : last + 1])
        for insn in new[0][start : end + 1]:
            if insn.op.needs not in known:
                needed = f"{insn.op.needs}; --cpu names the CPU"
                return f"{insn.name} is executed where the CPU may lack it ({needed})"
        first, start = last + 1, end + 1
    return ""


def omitted(old: Leaving, new: Leaving, features: Collection[str]) -> frozenset[str]:
    """What a CPU must have for old code to come to where it is left, and for new code need not.

    The CPU is known to have `features`.
    """
    if not lacking(old[0], features):
        return frozenset()
    found, before, after = set[str](), {*features}, {*features}
    first = start = 0
    for last, end in zip(old[1], new[1], strict=True):
        before |= needs(old[0][first : last + 1])
        after |= needs(new[0][start : end + 1])
        found |= before - after
        first, start = last + 1, end + 1
    return frozenset(found)


def needs(insns: Iterable[Insn]) -> set[str]:
    """The features that some instructions need."""
    return {insn.op.needs for insn in insns} - {""}
