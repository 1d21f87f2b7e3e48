"""How many places real code has for hints, write hints, conditional moves as branches, replays.

    python benchmarks/sites.py [INPUT...]

For each file (default: the libc and the kernel) what its text has, found without analysis of the
file, so that the kernel counts too:

- loops of one block, and what they walk over;
- write hints: loops whose stores fill what a pass moves over, by bytes a pass; WH64 is legal only
  where a pass fills whole lines of 64 bytes, from an address that is known to be one's start;
- conditional moves, and those in loops of one block; what a pass gains at most if each became a
  branch that is always foreseen (a branch in its place, never taken: what it moves stands
  elsewhere), by the model of the EV67;
- replays: loads that need more than a narrower store before them in the same straight code.

For the libc also what `prefetch` and `replay` make of it, and why they leave the others alone.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from fixtures.inputs import Missing, find
from passes.lib.conflicts import conflicts, window_of
from passes.lib.insert import Insertion, Setting
from passes.prefetch import Prefetch
from passes.replay import Replay
from passes.streams.accesses import Stream, streams
from rewriter.analysis.loops import innermost
from rewriter.analysis.program import analyse
from rewriter.core.code.listing import FLOW_CODE, Listing, decode_words
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.elf.image import Image, load
from rewriter.timing.engines import engine_of
from rewriter.timing.steady import Steady
from rewriter.verify.terms.prover import Prover
from targets.alpha import Alpha

ALPHA = Alpha()
EV67 = ALPHA.cpus["ev67"]
LINE = 64
LOW = (1 << 40) - 1  # a kernel's addresses without the bits that all of them have
ANALYSED = "alpha-libc"


@dataclass(frozen=True)
class Loop:
    """A loop of one block: where it is, and its instructions without nops."""

    name: str
    address: int
    insns: tuple[Insn, ...]


def listing_of(image: Image) -> Listing:
    """All text, at addresses that fit."""
    ranges = image.executable_ranges()
    parts = [(start & LOW, image.words(start, end, 4)) for start, end in ranges]
    return decode_words(ALPHA.table, parts)


def names_of(image: Image) -> list[tuple[int, str]]:
    """Symbols by address."""
    return sorted((s.st_value & LOW, s.name) for s in image.symbols if s.name and s.st_value)


def name_at(names: Sequence[tuple[int, str]], address: int) -> str:
    """The symbol before an address, and how far it is."""
    at = int(np.searchsorted([a for a, _ in names], address, side="right")) - 1
    return f"{names[at][1]}+{address - names[at][0]:x}" if at >= 0 else f"{address:x}"


def loops(listing: Listing, names: Sequence[tuple[int, str]]) -> Iterator[Loop]:
    """Loops of one block: back to behind the last transfer of control before."""
    transfers = np.flatnonzero(listing.flows != FLOW_CODE[Flow.NEXT])
    branches = listing.flows == FLOW_CODE[Flow.BRANCH]
    back = np.flatnonzero(
        branches & (listing.targets >= 0) & (listing.targets <= listing.addresses)
    )
    for at in back.tolist():
        head = int(listing.targets[at])
        before = int(np.searchsorted(transfers, at)) - 1
        if not listing.has(head) or (before >= 0 and transfers[before] >= listing.index(head)):
            continue
        insns = [listing.insn(n) for n in range(listing.index(head), at + 1)]
        kept = tuple(i for i in insns if i is not None and not ALPHA.is_nop(i))
        if all(insn is not None for insn in insns):
            yield Loop(name_at(names, head), head, kept)


def fills(stream: Stream) -> bool:
    """Whether a pass stores all that the stream moves over, and reads nothing of it."""
    stored = {a.offset + n for a in stream.accesses if a.stores and a.exact for n in range(a.size)}
    low = min(stored, default=0)
    return stream.writes and stored == set(range(low, low + abs(stream.step)))


def write_hints(found: Sequence[Loop]) -> None:
    """Loops that fill memory, by how much a pass fills."""
    by_step: Counter[int] = Counter()
    whole = []
    for loop in found:
        for stream in streams(loop.insns, ALPHA):
            if fills(stream):
                by_step[abs(stream.step)] += 1
                whole += [loop.name] if stream.step % LINE == 0 else []
    steps = ", ".join(f"{step} bytes {count}" for step, count in sorted(by_step.items()))
    print(f"  write hints: {sum(by_step.values())} loops fill memory ({steps})")
    print(f"    whole lines: {len(whole)} {' '.join(whole)}")


def without_moves(insns: Sequence[Insn]) -> list[Insn]:
    """The pass with each conditional move a branch on the same register."""
    branch = ALPHA.table.find("bne")
    return [Insn(branch, (i.operands[0], 0)) if i.op.sched == "cmov" else i for i in insns]


def moves(listing: Listing, found: Sequence[Loop]) -> None:
    """Conditional moves, and the most that a pass of a loop could gain without them."""
    rows = [n for n, op in enumerate(ALPHA.table.rows) if op.sched == "cmov"]
    total = int(np.isin(listing.rows, rows).sum())
    steady = engine_of(EV67).steady(ALPHA.table)
    gains: list[tuple[Fraction, Fraction, str]] = []
    inside = 0
    for loop in found:
        count = sum(insn.op.sched == "cmov" for insn in loop.insns)
        inside += count
        if count:
            before = _cycles(steady, loop.insns)
            gain = before - _cycles(steady, without_moves(loop.insns))
            gains.append((gain, before, loop.name))
    better = sorted((g for g in gains if g[0] > 0), reverse=True)
    print(f"  conditional moves: {total}, of these {inside} in {len(gains)} loops of one block")
    print(f"    loops that gain if all is foreseen: {len(better)},", end=" ")
    print(
        f"{float(sum(g[0] for g in better)):.1f} of {float(sum(g[1] for g in better)):.1f} cycles"
    )
    penalty = EV67.pipeline.fetch.mispredicted.value  # type: ignore[union-attr]
    for gain, before, name in better[:12]:
        said = f"{float(gain):.2f} of {float(before):.2f} cycles a pass"
        worth = 100 * float(
            gain / (gain + penalty)
        )  # a wrong one waits as before, and is refetched
        print(f"      {name}: {said}, if less than {worth:.0f} % go wrong")
    fixed = [(loop.name, insn) for loop in found for insn in steered_from_outside(loop)]
    print(f"    moves by a condition that the loop does not change: {len(fixed)}", end=" ")
    print(" ".join(sorted({name for name, _ in fixed})))


def steered_from_outside(loop: Loop) -> list[Insn]:
    """Conditional moves of a loop whose condition is the same in every pass."""
    changed = 0
    for insn in loop.insns:
        changed |= ALPHA.table.defs(insn)
    return [i for i in loop.insns if i.op.sched == "cmov" and not changed >> i.operands[0] & 1]


def _cycles(steady: Steady, insns: Sequence[Insn]) -> Fraction:
    placed = [(4 * n, insn, None) for n, insn in enumerate(insns)]
    return steady.cycles(placed, {address: insn for address, insn, _ in placed})


def replays(listing: Listing) -> None:
    """Conflicts in straight code, by instructions."""
    cuts = np.flatnonzero(~np.isin(listing.flows, (FLOW_CODE[Flow.NEXT], FLOW_CODE[Flow.BRANCH])))
    edges = [0, *(cuts + 1).tolist(), len(listing)]
    found: Counter[str] = Counter()
    for first, end in pairwise(edges):
        insns = [listing.insn(at) for at in range(first, end)]
        for c in conflicts(insns, ALPHA, window_of(EV67, 4)):
            store, load_ = insns[c.store], insns[c.load]
            if c.sure and store is not None and load_ is not None:
                found[f"{store.name} {load_.name}"] += 1
    pairs = ", ".join(f"{pair} {count}" for pair, count in found.most_common())
    print(f"  replays: {sum(found.values())} loads need more than a narrower store ({pairs})")


def made(path: str) -> None:
    """What the passes make of a file that can be analysed."""
    image = load(path)
    program = analyse(image, ALPHA)
    system, locked = ALPHA.system(EV67), program.locked_addresses
    setting = Setting(ALPHA, EV67, system, Prover.of(ALPHA), locked, innermost(program))
    for inserter in (Prefetch(), Replay()):
        counts: Counter[str] = Counter()
        found = inserter.finder(program, setting)
        for function in program.functions:
            for site in found(function, {}):
                done = isinstance(site, Insertion)
                counts[f"{site.kind}: {'inserted' if done else site.reason}"] += 1  # type: ignore[union-attr]
        print(f"  {inserter.name}: {sum(counts.values())} sites")
        for what, count in counts.most_common():
            print(f"    {count} {what}")


def main(names: Sequence[str]) -> int:
    """Prints the survey of each input; the exit status says whether all were there."""
    status = 0
    for name in names:
        try:
            path = str(find(name))
        except Missing as missing:
            print(missing)
            status = 1
            continue
        image = load(path)
        listing = listing_of(image)
        found = list(loops(listing, names_of(image)))
        walk = sum(bool(streams(loop.insns, ALPHA)) for loop in found)
        print(f"{name}: {len(listing)} instructions")
        print(f"  loops of one block: {len(found)}, {walk} walk over memory")
        write_hints(found)
        moves(listing, found)
        replays(listing)
        if name == ANALYSED:
            made(path)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["alpha-libc", "alpha-vmlinux"]))
