"""Paths of a message with exits, a join and system instructions: what `retune patch` makes of them.

    .venv/bin/python benchmarks/ia64_paths.py

Tunes `fixtures/ia64/sendpath.s`, a first version by hand, and `fixtures/ia64/replypath.s`, which is
ordered by hand, for the Itanium 2.  Of the way through each on which no branch is taken it prints
modelled cycles, groups and bubbles before and after, in parts of the version as written; the
same of its operations one a group; and the cycles that no order of its regions takes fewer than by
the rules of `docs/itanium.md`, each region by itself.  Then what Chapman and Heiser measured of
theirs, in parts of its first version by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
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
from targets.ia64.isa.fields import BUNDLE, Unit
from targets.ia64.prove.proving import unit_of
from targets.ia64.schedule.bundler import NOPS, Scheduling

TARGET = Ia64()
CPU = TARGET.cpus["itanium2"]
SEND, REPLY, INITIAL = "sendpath", "replypath", "initial assembly"
ROW = "{:24} {:>6} {:>6} {:>7} {:>6}"


@dataclass(frozen=True)
class Tuned:
    """A file with a path and what `patch` makes of it; no order takes fewer than `least` cycles."""

    name: str
    old: Image
    new: Image
    least: int


def tuned(path: Path, exact: tuple[str, ...] = ()) -> Tuned:
    """A path as `retune patch` writes it, with `--exact` for functions that match.

    Its function is called as the file is.
    """
    image, name = load(path), path.stem
    options = Options(passes=offered(TARGET), exact=exact)
    road = BundledRoad(prepared(image, TARGET, CPU, options))
    data = road.run(road.functions, lambda stage, done, total: None)
    return Tuned(name, image, parse(data, "tuned"), sum(_bounds(road, name)))


def through(image: Image, name: str) -> tuple[Slot, ...]:
    """The slots up to the first return: the way on which no branch is taken."""
    start, size = next((s.st_value, s.st_size) for s in image.symbols if s.name == name)
    slots = TARGET.straight(image.read(start, size), start)
    found: list[Slot] = []
    for _, bundle in groupby(slots, lambda slot: slot.address // BUNDLE):
        found += bundle
        if any(slot.insn.op.flow is Flow.RETURN for slot in found[-3:]):
            break
    return tuple(found)


def one_a_group(slots: Sequence[Slot]) -> Iterator[Slot]:
    """The instructions one behind the other, each alone in its group."""
    insns = [slot.insn for slot in slots if not TARGET.is_nop(slot.insn)]
    for number, insn in enumerate(insns):
        unit = unit_of(insn)
        units = (Unit.M, Unit.X) if unit is Unit.X else (Unit.M, Unit.I, Unit.I)
        place = {Unit.M: 0, Unit.B: 2}.get(unit, 1)
        for at, each in enumerate(units):
            one = insn if at == place else NOPS[each]
            yield Slot(number * BUNDLE + at, one, at == len(units) - 1)


def timed(slots: Sequence[Slot]) -> Timing:
    """What code takes."""
    assert CPU.bundled is not None
    return run(CPU.bundled, slots)


def _bounds(road: BundledRoad, name: str) -> Iterator[int]:
    """Of each region on the way what no order takes fewer cycles than."""
    end = through(road.prepared.image, name)[-1].address
    reordering, scheduling = road.prepared.reordering, Scheduling(Model(road.prepared.cpu))
    for placing in road.placings.values():
        routine = placing.routine
        if routine.function.name != name:
            continue
        live = reordering.liveness.live(routine, reordering.slots, reordering.beyond)
        for region in routine.regions:
            if region.start <= end:
                asked = reordering.asked(region, reordering.slots(region), False, live)
                found = placing.made.get(region.start)
                yield max(least(asked, scheduling).cycles, found.least if found else 0)


def _rows(path: Path) -> Iterator[str]:
    """What becomes of a path."""
    made, best = tuned(path), tuned(path, (path.stem,))
    old = through(made.old, made.name)
    versions = {
        "one operation a group": tuple(one_a_group(old)),
        "as written": old,
        "retune patch": through(made.new, made.name),
        "with --exact": through(best.new, made.name),
    }
    first = timed(old).cycles
    for what, slots in versions.items():
        timing = timed(slots)
        part = f"{timing.cycles / first:.3f}"
        yield ROW.format(what, timing.cycles, timing.groups, timing.stalled, part)
    yield ROW.format("no order takes fewer", best.least, "", "", f"{best.least / first:.3f}")


def lines() -> Iterator[str]:
    """The tables."""
    with TemporaryDirectory() as folder:
        for path in (ia64.sendpath(Path(folder)), ia64.replypath(Path(folder))):
            yield ROW.format(path.stem, "cycles", "groups", "bubbles", "part")
            yield from _rows(path)
    initial = next(one.cycles for one in MEASURED if one.version == INITIAL)
    yield ROW.format("the article's", "cycles", "groups", "bubbles", "part")
    for one in MEASURED:
        part = f"{one.cycles / initial:.3f}"
        yield ROW.format(one.version, one.cycles, one.groups, one.bubbles, part)


if __name__ == "__main__":
    print(*lines(), sep="\n")
