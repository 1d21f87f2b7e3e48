"""Chapman and Heiser's "Itanium tricks and gotchas" (2004) as a suite: one path, step by step.

The article took one hand-written path of a kernel from 170 cycles to 36 by order alone.  Here a
straight function of a file goes the same way on the CPU's model: as it stands, and in a better
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from passes.scheduling.bundled import schedule
from passes.scheduling.bundled_exact import EFFORT
from passes.scheduling.bundled_model import Model
from passes.scheduling.bundled_proved import prove
from rewriter.core.code.groups import Slot
from rewriter.core.code.superblock import Superblock
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.core.target.bundling import Bundling
from rewriter.elf.image import Image
from rewriter.timing.bundled.result import Timing
from rewriter.timing.bundled.run import run

SOURCE = "Chapman and Heiser, Itanium tricks and gotchas (2004)"


@dataclass(frozen=True)
class Measured:
    """A version of the article's path: cycles, cycles with an issue, bubbles."""

    version: str
    cycles: int
    groups: int
    bubbles: int


MEASURED = (
    Measured("C++", 508, 231, 277),
    Measured("initial assembly", 170, 83, 87),
    Measured("optimised", 95, 39, 56),
    Measured("final", 36, 33, 3),
    Measured("optimal", 34, 32, 2),
    Measured("ideal", 9, 9, 0),
)
"""The article's table, in its own words."""

BROKEN_DOWN = "optimised"
COUNTED: Mapping[str, int] = {
    "BE_EXE_BUBBLE.GRALL": 16,
    "BE_EXE_BUBBLE.ARCR": 14,
    "BE_L1D_FPU_BUBBLE.L1D_DCURECIR": 10,
    "BE_L1D_FPU_BUBBLE.L1D_STBUFRECIR": 5,
    "BE_RSE_BUBBLE.AR_DEP": 4,
    "BE_RSE_BUBBLE.LOADRS": 7,
}
"""The bubbles of that version by counter, as measured."""


@dataclass(frozen=True)
class Stage:
    """The path in one of its orders: instructions and nops that it has, and its time.

    No order takes fewer cycles than `least`, where that is known.
    """

    name: str
    what: str
    instructions: int
    nops: int
    timing: Timing
    least: int | None = None

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The code."""
        return tuple(issued.slot for issued in self.timing.timeline)


def slots_of(image: Image, target: Bundling, start: int, end: int) -> tuple[Slot, ...]:
    """The slots of a function; BadInput where control leaves before its last bundle."""
    try:
        slots = tuple(target.straight(image.read(start, end - start), start))
    except ValueError as error:
        raise BadInput(f"{image.name}: {error}", hint="the suite takes code only") from error
    last = slots[-1].address // target.bundle
    for slot in slots:
        if slot.insn.op.flow is not Flow.NEXT and slot.address // target.bundle < last:
            raise BadInput(
                f"{image.name}: {slot.address:#x}: {slot.insn.name} leaves the function on the way",
                hint="the suite takes straight code: branches in the last bundle only",
            )
    return slots


def stages(
    slots: Sequence[Slot], target: Bundling, cpu: BundledCpu, effort: float = EFFORT
) -> Iterator[Stage]:
    """The code as it stands, in a better order, and in the best that `effort` finds.

    What the calling standard calls scratch is not read behind it.  ValueError if an instruction
    of it must stay where it is.
    """
    yield stage("as written", slots, target, cpu)
    region, scheduling = Superblock(tuple(slots), target.returned), target.scheduling(Model(cpu))
    what = "by latencies, values in registers of their own"
    yield stage("list scheduler", schedule(region, scheduling).slots, target, cpu, what)
    proved = prove(region, scheduling, effort)
    found = proved.outcome.slots
    yield stage("exact scheduler", found, target, cpu, str(proved), proved.least)


def stage(
    name: str,
    slots: Sequence[Slot],
    target: Bundling,
    cpu: BundledCpu,
    what: str = "",
    least: int | None = None,
) -> Stage:
    """Code as a stage: `what` says how it was made."""
    nops = sum(target.is_nop(slot.insn) for slot in slots)
    return Stage(name, what, len(slots) - nops, nops, run(cpu, slots), least)
