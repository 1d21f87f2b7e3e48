"""A kit of files: which sides it has, and whose model it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rewriter.api import choose, files
from rewriter.core.errors import BadUsage
from rewriter.core.target.capability import needed
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target
from rewriter.elf.manifest import carried
from rewriter.kit.folder import Along, Made, Order, Side, make
from rewriter.kit.model import Progress


def kit(
    libraries: Sequence[Path],
    output: Path,
    cpu: str | None,
    compiler: str,
    along: Along,
    progress: Progress,
) -> Made:
    """Make the folder `output` of an old library and one or more new ones.

    Without `cpu` the model is that of the CPU that the first new one was tuned for.
    """
    sides = _sides(libraries)
    old = sides[0].image
    target = choose.target_of(old)
    code = needed(target.sequential, "kit", target, old.name)
    order = Order(sides, code, _cpu(sides, target, cpu), compiler, along)
    return make(order, output, progress)


def _sides(libraries: Sequence[Path]) -> tuple[Side, ...]:
    """The libraries by the names that they have in a kit."""
    names = ["old", "new", *(f"new{number}" for number in range(2, len(libraries)))]
    loaded = [files.load(path) for path in libraries]
    sides = tuple(Side(side, one.image, one.data) for side, one in zip(names, loaded, strict=True))
    old = sides[0].image
    for side in sides[1:]:
        if side.image.ident != old.ident:
            raise BadUsage(f"{side.image.name}: is for another machine than {old.name}")
    return sides


def _cpu(sides: Sequence[Side], target: Target, name: str | None) -> Cpu:
    """The CPU that is named, or that the first new library was tuned for."""
    if name is None:
        new = sides[1]
        manifest = carried.read(new.data, new.image.name)
        if manifest is None:
            raise BadUsage(f"--cpu is missing: {new.image.name} carries no manifest")
        name = manifest.cpu
    return choose.cpu_for(sides[0].image, target, "--cpu", name)
