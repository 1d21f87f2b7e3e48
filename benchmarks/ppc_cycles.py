"""Modelled cycles of our PowerPC routines beside those of glibc 2.36, over sizes and alignments.

`.venv/bin/python benchmarks/ppc_cycles.py [--cpu NAME]... [--sizes] [ROUTINE...]` runs both on the
same cases of a contract, on the built-in interpreter, and times what they did on the model of the
CPU, as `retune bench` does: warm, each call by itself.  Where the libc's resolver picks a variant,
it is the one of that CPU.  A row has the mean cycles over all points and their ratio, which long
blocks make most of, the mean of the points' own ratios, in which each length counts as much as
another, the largest of these, and what is promised of the first ratio; `--sizes` gives a row for
each length.  `--bounds` says what bounds ours: the
first point of each length, the least cycles that its instructions take of each kind of pipe and of
dispatch, if nothing waited for anything, and where the cycles went on the critical path; of copies
that are larger than the first cache, what the lines of both blocks take from the second.  On
POWER9 its last row sums all points: what is promised of glibc's cycles, ours, of each point the
largest of these bounds, and where the cycles went.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from fixtures.inputs import Missing, find
from rewriter.contracts import CONTRACTS
from rewriter.core.errors import RetuneError
from rewriter.core.target.dispatched_cpu import Dispatched
from rewriter.elf.image import load
from rewriter.suites.measure import Bench
from rewriter.suites.run import STOPS, Clock, SequentialClocks
from rewriter.timing.dispatch.items import Item, Items
from rewriter.timing.dispatch.memory import crosses
from targets.ppc import routines

LIBC = {
    "750": "ppc-libc",
    "7450": "ppc-libc",
    "power4": "ppc64-libc",
    "970": "ppc64-libc",
    "power9": "ppc64el-libc",
}
"""The CPUs that there are routines for, and the libc that their machines have."""

USUAL = ("750", "7450", "power9")
"""Those that are timed where none is named: the big-endian libc's variants are no better known."""

SIZES = (0, 1, 3, 7, 8, 15, 16, 24, 31, 32, 48, 64, 100, 128, 200, 256, 512, 1024, 4096)
FARTHEST = 65536
SKEWS = (0, 1, 4, 7)
_SKEWED = ("to", "source", "first", "second")
_PROMISED = {("7450", "memcpy"): (1 / 3, 64), ("750", "memcpy"): (1 / 2, 64)}
_HEAD = "{:7} {:10} {:>6} {:>6} {:>10} {:>10} {:>6} {:>6} {:>6}"
_ROW = "{:7} {:10} {:>6} {:6} {:10.1f} {:10.1f} {:6.3f} {:6.3f} {:6.3f}{}"


@dataclass(frozen=True)
class Point:
    """One case: modelled cycles of a call of the libc's routine and of ours."""

    size: int
    theirs: int
    ours: int

    @property
    def ratio(self) -> float:
        """Ours as a part of theirs."""
        return self.ours / self.theirs


@cache
def clocks(cpu: str) -> SequentialClocks:
    """What times routines on a CPU."""
    image = load(find(LIBC[cpu]))
    target = targets.of(image).sequential
    assert target is not None
    chip = target.cpus[cpu]
    return SequentialClocks(image, target, chip, target.system(chip))


def grid(name: str, size: int, skews: Sequence[int] = SKEWS) -> Iterator[Mapping[str, int]]:
    """The points of one length: pairs of alignments, few of what else there is."""
    axes = {axis: tuple(values)[:2] for axis, values in CONTRACTS[name].plans[0].axes.items()}
    axes |= {axis: tuple(skews) for axis in _SKEWED if axis in axes}
    axes |= {"count": (size,), "place": axes["place"][:1]}
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def points(
    cpu: str, name: str, sizes: Sequence[int], skews: Sequence[int] = SKEWS
) -> Iterator[Point]:
    """Both at all points; RuntimeError where one of them is not there or does not run."""
    pair = clocks(cpu).pair(name)
    if isinstance(pair, str):
        raise RuntimeError(pair)
    theirs, ours = pair
    for size in sizes:
        few = skews if size < FARTHEST else skews[:2]
        for point in grid(name, size, few):
            yield Point(size, _cycles(theirs, point), _cycles(ours, point))


def _cycles(clock: Clock, point: Mapping[str, int]) -> int:
    try:
        return clock(point, True)
    except STOPS as stop:
        raise RuntimeError(str(stop)) from stop


def row(cpu: str, name: str, size: str, found: Sequence[Point], promised: float | None) -> str:
    """A row of the table."""
    theirs, ours = (sum(getattr(p, side) for p in found) for side in ("theirs", "ours"))
    ratio, each = ours / theirs, [point.ratio for point in found]
    said = "" if promised is None else " ok" if ratio <= promised else f" above {promised:.3f}"
    count = len(found)
    means = theirs / count, ours / count, ratio, sum(each) / count
    return _ROW.format(cpu, name, size, count, *means, max(each), said)


def promise(cpu: str, name: str, size: int) -> float | None:
    """How many cycles ours may take at most, as a part of theirs."""
    if cpu == "power9":
        return 0.8
    part, least = _PROMISED.get((cpu, name), (None, 0))
    return part if part is not None and size >= least else None


def compare(cpu: str, name: str, each: bool) -> Iterator[str]:
    """A routine's rows."""
    long = (FARTHEST,) if (cpu, name) in _PROMISED else ()
    found = list(points(cpu, name, (*SIZES, *long)))
    sizes = sorted({point.size for point in found})
    for size in sizes if each or (cpu, name) in _PROMISED else ():
        some = [point for point in found if point.size == size]
        told = promise(cpu, name, size) if (cpu, name) in _PROMISED else None
        yield row(cpu, name, str(size), some, told)
    yield row(cpu, name, "all", found, promise(cpu, name, 0))


def bounds(cpu: str, name: str) -> Iterator[str]:
    """What bounds ours, a row a length; on a CPU that dispatches groups."""
    pair = clocks(cpu).pair(name)
    if isinstance(pair, str):
        raise RuntimeError(pair)
    pipeline, bench = clocks(cpu).cpu.pipeline, getattr(pair[1], "__self__", None)
    if not isinstance(pipeline, Dispatched) or not isinstance(bench, Bench):
        raise RuntimeError("only where groups are dispatched")
    for size in (*SIZES, FARTHEST) if (cpu, name) in _PROMISED else SIZES:
        cycles, least, went = _bounded(clocks(cpu), pipeline, bench, next(grid(name, size)))
        if (cpu, name) in _PROMISED:
            least |= _lines(clocks(cpu), pipeline, size)
        said = ", ".join(f"{pipes} {cycles:.1f}" for pipes, cycles in least.items())
        yield f"{cpu:7} {name:10} {size:>6} {cycles:>6}   {said}   {_path(went)}"
    if promised := promise(cpu, name, 0):
        every = [point for size in SIZES for point in grid(name, size)]
        found = [_bounded(clocks(cpu), pipeline, bench, point) for point in every]
        most = promised * sum(_cycles(pair[0], point) for point in every)
        ours, bound = sum(one[0] for one in found), sum(max(one[1].values()) for one in found)
        went = sum((one[2] for one in found), Counter[str]())
        said = f"promised {most:.0f}, the largest bounds {bound:.0f}"
        yield f"{cpu:7} {name:10} {'all':>6} {ours:>6}   {said}   {_path(went)}"


def _bounded(
    clocks: SequentialClocks, pipeline: Dispatched, bench: Bench, point: Mapping[str, int]
) -> tuple[int, dict[str, float], Counter[str]]:
    """The cycles of a call, the least of each kind, and where they went."""
    run, stepper = bench.run(point, True), bench.stepper
    steps = list(stepper.trace(stepper.contract.case(stepper.program.arena, point)))
    items, split = Items(clocks.cpu, pipeline), pipeline.memory.split.value
    used = [(items.of(step.insn), crosses(step, split)) for step in steps]
    return run.cycles, _least(pipeline, used), Counter(run.breakdown)


def _path(went: Counter[str]) -> str:
    """What most cycles went to."""
    return ", ".join(f"{cause} {cycles}" for cause, cycles in went.most_common(4))


def _lines(clocks: SequentialClocks, pipeline: Dispatched, size: int) -> dict[str, float]:
    """The least cycles that the lines of two blocks take which the first cache does not hold."""
    memory, board = pipeline.memory, clocks.system.board
    if 2 * size <= memory.dcache.size.value:
        return {}
    each = board.latency.value / memory.misses.value
    return {"lines": 2 * size / memory.dcache.line.value * each}


def _least(pipeline: Dispatched, used: Sequence[tuple[Item, bool]]) -> dict[str, float]:
    """The least cycles of dispatch, and of each set of pipes that classes choose among; an access
    in two parts takes its pipes for a cycle more."""
    grouping, items = pipeline.grouping, [item for item, _ in used]
    places = sum(item.places for item in items if not (item.control and grouping.branches.value))
    pools: list[set[str]] = []
    for item in items:
        pipes = {pipe for port in item.ports for pipe in port}
        meeting = [pool for pool in pools if pool & pipes]
        pools = [pool for pool in pools if not pool & pipes] + [pipes.union(*meeting)]
    found = {"dispatch": places / grouping.places.value}
    for pool in sorted(map(sorted, filter(None, pools))):
        uses = [one for one in used if one[0].ports and one[0].ports[0][0] in pool]
        taken = sum(len(item.ports[0]) * (item.busy + parted) for item, parted in uses)
        found[f"{pool[0]}-{pool[-1]}" if pool[1:] else pool[0]] = taken / len(pool)
    return found


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="ROUTINE")
    parser.add_argument("--cpu", action="append", choices=sorted(LIBC))
    parser.add_argument("--sizes", action="store_true", help="a row for each length")
    parser.add_argument("--bounds", action="store_true", help="what bounds ours")
    options = parser.parse_args()
    print(
        _HEAD.format("cpu", "routine", "bytes", "points", "glibc", "ours", "ratio", "mean", "worst")
    )
    try:
        for cpu in options.cpu or USUAL:
            for name in options.names or routines.names(cpu):
                try:
                    told = bounds(cpu, name) if options.bounds else None
                    for line in told or compare(cpu, name, options.sizes):
                        print(line, flush=True)
                except (RuntimeError, RetuneError) as problem:
                    print(f"{cpu} {name}: {problem}", flush=True)
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
