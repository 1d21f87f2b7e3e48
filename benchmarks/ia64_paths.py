"""A path of a message with exits, a join and system instructions: what `retune patch` makes of it.

    .venv/bin/python benchmarks/ia64_paths.py

Tunes `fixtures/ia64/sendpath.s` for the Itanium 2 and prints of the way through it on which no
branch is taken: modelled cycles, groups and bubbles before and after, in parts of the first; and
the cycles that no order of its regions takes fewer than by the rules of `docs/itanium.md`, each
region by itself.  Then what Chapman and Heiser measured of theirs, in parts of its first version
by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.ia64_bounds import least
from fixtures import ia64
from passes import offered
from passes.scheduling.bundled_model import Model
from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow
from rewriter.elf.image import Image, load, parse
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options
from rewriter.suites.itanium import MEASURED
from rewriter.timing.bundled.result import Timing
from rewriter.timing.bundled.run import run
from targets.ia64 import Ia64
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.schedule.bundler import Scheduling

TARGET = Ia64()
CPU = TARGET.cpus["itanium2"]
NAME, INITIAL = "sendpath", "initial assembly"


@dataclass(frozen=True)
class Tuned:
    """A file and what `patch` makes of it; no order takes fewer than `least` cycles."""

    old: Image
    new: Image
    least: int


def tuned(path: Path) -> Tuned:
    """The path as `retune patch` writes it."""
    image = load(path)
    road = BundledRoad(prepared(image, TARGET, CPU, Options(passes=offered(TARGET))))
    data = road.run(road.functions, lambda stage, done, total: None)
    return Tuned(image, parse(data, "tuned"), sum(_bounds(road)))


def through(image: Image) -> tuple[Slot, ...]:
    """The slots up to the first return: the way on which no branch is taken."""
    start, size = next((s.st_value, s.st_size) for s in image.symbols if s.name == NAME)
    slots = TARGET.straight(image.read(start, size), start)
    found: list[Slot] = []
    for _, bundle in groupby(slots, lambda slot: slot.address // BUNDLE):
        found += bundle
        if any(slot.insn.op.flow is Flow.RETURN for slot in found[-3:]):
            break
    return tuple(found)


def timed(image: Image) -> Timing:
    """What the way through takes."""
    assert CPU.bundled is not None
    return run(CPU.bundled, through(image))


def _bounds(road: BundledRoad) -> Iterator[int]:
    """Of each region on the way what no order takes fewer cycles than."""
    end = through(road.prepared.image)[-1].address
    reordering, scheduling = road.prepared.reordering, Scheduling(Model(road.prepared.cpu))
    for placing in road.placings.values():
        routine = placing.routine
        if routine.function.name != NAME:
            continue
        live = reordering.liveness.live(routine, reordering.slots, reordering.beyond)
        for region in routine.regions:
            if region.start <= end:
                asked = reordering.asked(region, reordering.slots(region), False, live)
                yield least(asked, scheduling).cycles


def lines() -> Iterator[str]:
    """The table."""
    row = "{:24} {:>6} {:>6} {:>7} {:>6}"
    yield row.format("version", "cycles", "groups", "bubbles", "part")
    with TemporaryDirectory() as folder:
        made = tuned(ia64.sendpath(Path(folder)))
    first = timed(made.old)
    for what, timing in (("as written", first), ("retune patch", timed(made.new))):
        part = f"{timing.cycles / first.cycles:.3f}"
        yield row.format(what, timing.cycles, timing.groups, timing.stalled, part)
    yield row.format("no order takes fewer", made.least, "", "", f"{made.least / first.cycles:.3f}")
    initial = next(one.cycles for one in MEASURED if one.version == INITIAL)
    for one in MEASURED:
        part = f"{one.cycles / initial:.3f}"
        yield row.format(f"article: {one.version}", one.cycles, one.groups, one.bubbles, part)


if __name__ == "__main__":
    print(*lines(), sep="\n")
