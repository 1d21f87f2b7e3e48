"""Cycles of straight code, run once, everything in the first-level cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rewriter.core.code.groups import Slot
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.timing.bundled.dispersal import END, STOP, Cycle, disperse, locate, taken
from rewriter.timing.bundled.result import Account, Issued, Timing, Wait
from rewriter.timing.bundled.scoreboard import Scoreboard


def run(cpu: BundledCpu, slots: Sequence[Slot]) -> Timing:
    """The time of whole bundles of straight code, entered at the first slot.

    Predicates count as true, loads hit the first-level cache, and nothing is awaited from before
    the code or behind it.
    """
    board = Scoreboard(cpu.issue)
    account = Account(cpu.issue.priority)
    splits: Counter[str] = Counter()
    timeline: list[Issued] = []
    for cycle in disperse(cpu, slots):
        timeline += issue(board, account, cycle)
        if cycle.ended not in (STOP, END):
            splits[cycle.ended] += 1
    return account.timing(splits, timeline)


def cycles(cpu: BundledCpu, slots: Sequence[Slot]) -> int:
    """The cycles of that time alone, found sooner."""
    issue, bundles = cpu.issue, cpu.issue.dispersal.bundles.value
    board, now, at = Scoreboard(issue), -1, 0
    located = list(locate(issue, slots))
    while at < len(located):
        ports, _ = taken(issue, located, at, bundles)
        members = located[at : at + len(ports)]
        now = max(now + 1, *[board.ready(one.traits) for one in members])
        while now in board.blocked:
            now += 1
        for one in members:
            board.issued(one.traits, one.slot.address, now)
        at += len(ports)
    return now + 1


def issue(board: Scoreboard, account: Account, cycle: Cycle) -> Iterator[Issued]:
    """Issues the slots of one cycle, as soon as they may."""
    waits = [list(board.waits(each)) for each in cycle.traits]
    before = account.now + 1
    now = account.issue((wait for each in waits for wait in each), board.blocked)
    for slot, traits in zip(cycle.slots, cycle.traits, strict=True):
        board.issued(traits, slot.address, now)
    for slot, port, own in zip(cycle.slots, cycle.ports, waits, strict=True):
        yield issued(slot, now, port, before, own)


def issued(slot: Slot, cycle: int, port: str, first: int, waits: Iterable[Wait]) -> Issued:
    """The slot's line of the timeline; without waits it would have issued in cycle `first`."""
    wait = max(waits, key=lambda each: each.until, default=None)
    if wait is None or wait.until <= first:
        return Issued(slot, cycle, port)
    return Issued(slot, cycle, port, wait.until - first, wait.counter, wait.behind)
