"""Straight regions of real IA-64 files in a new order: bundles, nops and modelled cycles.

Regions are cut where a branch leads and behind every transfer of control; all registers count as
live behind them.  Beside what the list scheduler gets stands what no order can beat: the cycles of
the longest chain of dependences or of the bundles of each region, and the bundles that its
instructions fill in templates, whatever their order.  A region that has both is proved to be the
best.  Of the kernel one window of text in sixteen is taken.

`--superblocks` prints instead what no order of the functions' superblocks can beat (straight
regions joined over branches ahead, counted along the path that falls through): the same bounds, as
if everything might pass the branches between.

`--fastpath` schedules the fast path of a message exactly instead, and prints cycles and bound.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import targets

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.ia64_bounds import least
from benchmarks.ia64_superblocks import superblocks
from fixtures import ia64
from fixtures.inputs import Missing, find
from passes.scheduling.bundled import counted, schedule
from passes.scheduling.bundled_model import Model
from passes.scheduling.bundled_proved import prove
from rewriter.core.code.groups import Slot
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.operands import Kind
from rewriter.elf import image
from rewriter.suites.itanium import slots_of
from targets.ia64.cpus import CPUS
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE, LONG
from targets.ia64.isa.formats import SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.schedule.bundler import Scheduling
from targets.ia64.standard import RETURNED
from tests.targets.ia64 import ia64_files

CPU = CPUS["itanium2"]
WINDOW = 4096  # bundles
EVERY = {"ia64-vmlinux": 16}  # windows, of which one is taken
_TARGETS = [
    (number, operand)
    for number, op in enumerate(TABLE.rows)
    for operand in op.format.operands
    if operand.kind is Kind.TARGET and operand.name == "target25"
]
_TRANSFERS = np.array(
    [
        isinstance(op, SlotOp) and op.unit in "BX" and op.flow not in (Flow.NEXT, Flow.TRAP)
        for op in TABLE.rows
    ]
    + [False],
    dtype=np.bool_,
)


def regions(address: int, data: bytes, every: int) -> Iterator[Superblock]:
    """The straight regions of a text, of one window in `every`."""
    slots = bundles.decode_text(data, address)
    rows = TABLE.classify(slots.words & np.uint64((1 << LONG) - 1))
    count = len(data) // BUNDLE
    leads = np.zeros(count + 1, dtype=np.bool_)
    leads[0] = leads[count] = True
    leads[1:] |= _TRANSFERS[rows].reshape(-1, bundles.SLOTS).any(axis=1)
    here = np.arange(len(rows)) // bundles.SLOTS
    for number, operand in _TARGETS:
        at = np.flatnonzero(rows == number)
        if len(at):
            distances = TABLE.extract(slots.words[at], operand, slots.longs[at])
            found = here[at] + distances // BUNDLE
            leads[found[(found >= 0) & (found < count)]] = True
    starts = np.flatnonzero(leads)
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if start // WINDOW % every == 0:
            try:
                code = data[start * BUNDLE : end * BUNDLE]
                yield Superblock(tuple(bundles.straight(code, address + start * BUNDLE)))
            except ValueError:
                continue  # data among the text


def nops(slots: tuple[Slot, ...]) -> int:
    """Slots that do nothing."""
    return sum(slot.insn.name.startswith("nop.") for slot in slots)


_WHAT = ("bundles", "nops", "cycles")


def measure(name: str) -> None:
    """Schedules a file's regions and prints what came of it."""
    scheduling = Scheduling(Model(CPU))
    total: Counter[str] = Counter()
    spent = 0.0
    for address, data in ia64_files.texts(find(name)):
        for region in regions(address, data, EVERY.get(name, 1)):
            began = time.process_time()
            found = schedule(region, scheduling)
            spent += time.process_time() - began
            bound = least(region, scheduling)
            total["regions"] += 1
            total["changed"] += not found.reason
            for which, slots in (("old", region.slots), ("new", found.slots)):
                total[which + " bundles"] += counted(slots, scheduling)
                total[which + " nops"] += nops(slots)
                total[which + " cycles"] += scheduling.cycles(slots)
            total += Counter({f"least {what}": getattr(bound, what) for what in _WHAT})
            now = scheduling.cycles(found.slots), counted(found.slots, scheduling)
            total["best"] += now == (bound.cycles, bound.bundles)
            total["instructions"] += len(region.slots) - nops(region.slots)
    print(f"{name}: {total['regions']} regions, {total['changed']} changed,", end="")
    print(f" {total['best']} proved to be the best, {spent:.0f} s,", end="")
    print(f" {1e6 * spent / total['instructions']:.0f} us an instruction")
    for what in _WHAT:
        old, new = total[f"old {what}"], total[f"new {what}"]
        print(f"  {what}: {old} -> {new} ({100 * (new / old - 1):+.1f} %)", end="")
        fewest = total[f"least {what}"]
        print(f", at least {fewest} ({100 * (fewest / old - 1):+.1f} %)")


def without_bars(name: str) -> None:
    """Prints the bounds of a file's superblocks as if branches were no bar."""
    scheduling = Scheduling(Model(CPU))
    total: Counter[str] = Counter()
    for slots in superblocks(name, EVERY.get(name, 1)):
        free, exits = _without_exits(slots)
        bound = least(Superblock(free), scheduling)
        kept = [s.insn for s in slots if not s.insn.name.startswith("nop.")]
        total["regions"] += 1
        total["exits"] += exits
        total["cycles"] += scheduling.cycles(slots)
        total["least cycles"] += bound.cycles
        total["nops"] += nops(slots)
        total["least nops"] += -sum(map(scheduling.takes, kept)) % bundles.SLOTS
    print(f"{name}: {total['regions']} regions, {total['exits']} exits on the way")
    for what in ("cycles", "nops"):
        old, fewest = total[what], total[f"least {what}"]
        print(f"  {what}: {old}, at least {fewest} ({100 * (fewest / old - 1):+.1f} %)")


def _without_exits(slots: tuple[Slot, ...]) -> tuple[tuple[Slot, ...], int]:
    """The slots with nops for the branches before the last bundle, and how many these are."""
    last = slots[-1].address // BUNDLE
    nop = TABLE.decode(TABLE.find("nop.b").match)
    assert nop is not None
    made = tuple(
        Slot(slot.address, nop, slot.stop)
        if slot.insn.op.flow is Flow.BRANCH and slot.address // BUNDLE < last
        else slot
        for slot in slots
    )
    return made, sum(a is not b for a, b in zip(slots, made, strict=True))


def fastpath() -> None:
    """The fast path, exactly."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = image.load(ia64.fastpath(Path(folder)))
    target = targets.of(loaded)
    symbols = {symbol.name: symbol.st_value for symbol in loaded.symbols}
    slots = slots_of(loaded, target, symbols["fastpath"], symbols["slow"])  # type: ignore[arg-type]
    scheduling = Scheduling(Model(CPU))
    region = Superblock(slots, RETURNED)
    listed = schedule(region, scheduling).slots
    began = time.process_time()
    best = prove(region, scheduling)
    spent = time.process_time() - began
    print(f"as written {scheduling.cycles(slots)} cycles, {counted(slots, scheduling)} bundles")
    print(f"list {scheduling.cycles(listed)} cycles, {counted(listed, scheduling)} bundles")
    print(f"exact: {best}, {counted(best.outcome.slots, scheduling)} bundles, {spent:.0f} s")


def main() -> None:
    """All files, or the fast path."""
    if "--fastpath" in sys.argv:
        fastpath()
        return
    names = [name for name in sys.argv[1:] if name != "--superblocks"]
    for name in names or ("ia64-libsigar", "ia64-libjnidispatch", "ia64-vmlinux"):
        try:
            (without_bars if "--superblocks" in sys.argv else measure)(name)
        except Missing as missing:
            print(missing)


if __name__ == "__main__":
    main()
