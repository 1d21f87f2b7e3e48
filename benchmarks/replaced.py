"""Our tuned Alpha routines against those that they replace, on the timing model, at small sizes.

    python benchmarks/replaced.py [--sizes 0-32] [--cpu ev6] [FILE [ROUTINE...]]

FILE is an input by name (`fixtures/inputs.py`), else alpha-vmlinux.  Both routines run on the same
cases, warm.  A line a routine: sizes at which the mean over alignments is above the old
one's (with both), points at which ours takes more cycles, the one with the largest difference, and
the sum over all points.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from benchmarks.routine_grid import GRID, Axes
from fixtures.inputs import find
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import combinations
from rewriter.elf.image import load
from rewriter.suites.run import STOPS, SequentialClocks
from targets.alpha.systems import UP1000

_ALIGNED = {"to": (0, 1, 4, 7), "source": (0, 1)}
_ALSO: Mapping[str, Axes] = MappingProxyType(
    {
        "memmove": GRID["memcpy"],
        "mempcpy": GRID["memcpy"],
        "bcopy": GRID["memcpy"],
        "bzero": {axis: values for axis, values in GRID["memset"].items() if axis != "byte"},
    }
)
_LIKE = MappingProxyType({**GRID, **_ALSO})
HEAD = (
    "| routine | points | slower sizes (ours, old) | slower points | worst (ours, old) | sum |",
    "|---|---:|---|---:|---|---:|",
)


def axes_of(name: str, sizes: Sequence[int]) -> Axes | None:
    """The points of a routine whose time depends on a size."""
    like = _LIKE.get(name, {})
    if "count" not in like:
        return None
    two = {key: values for key, values in _ALIGNED.items() if key in like and "to" in like}
    return {**like, "count": sizes, **two}


def line(clocks: SequentialClocks, name: str, sizes: Sequence[int]) -> str | None:
    """One row; None where there is nothing to compare."""
    axes, pair = axes_of(name, sizes), clocks.pair(name)
    if axes is None or isinstance(pair, str):
        return None
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    worst = (0, 0, "-")
    for point in combinations(axes):
        try:
            old, ours = (clock(point, True) for clock in pair)
        except STOPS as stop:
            return f"| {name} | - | {stop} | - | - | - |"
        found[point["count"]].append((ours, old))
        told = ", ".join(f"{axis} {point[axis]}" for axis in ("count", *_ALIGNED) if axis in point)
        worst = max(worst, (ours - old, ours, f"{told}: {ours}, {old}"))
    sums = {size: tuple(map(sum, zip(*times, strict=True))) for size, times in found.items()}
    slower = [
        f"{size} ({ours / len(found[size]):.1f}, {old / len(found[size]):.1f})"
        for size, (ours, old) in sums.items()
        if ours > old
    ]
    points = [pair for times in found.values() for pair in times]
    lost = sum(ours > old for ours, old in points)
    ours, old = map(sum, zip(*points, strict=True))
    told = ", ".join(slower) or "none"
    shown = worst[2] if worst[0] else "-"
    return f"| {name} | {len(points)} | {told} | {lost} | {shown} | {ours / old:.2f} |"


def main(arguments: Sequence[str]) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="0-32", metavar="A-B")
    parser.add_argument("--cpu", default="ev6")
    parser.add_argument("file", nargs="?", default="alpha-vmlinux")
    parser.add_argument("routines", nargs="*", metavar="ROUTINE", default=tuple(_LIKE))
    options = parser.parse_args(arguments)
    low, high = map(int, options.sizes.split("-"))
    image = load(find(options.file))
    target = targets.of(image).sequential
    assert target is not None
    clocks = SequentialClocks(image, target, target.cpus[options.cpu], UP1000)
    print("\n".join(HEAD), flush=True)
    for name in options.routines:
        found = line(clocks, name, range(low, high + 1)) if name in CONTRACTS else None
        if found is not None:
            print(found, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
