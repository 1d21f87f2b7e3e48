"""The CPUs that retune knows, with the source of every figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rewriter.core.target.cpu import Cpu, Figure
from rewriter.core.target.protocol import Target
from rewriter.report.grid import Grid


@dataclass(frozen=True)
class Catalog:
    """CPUs by target."""

    targets: Sequence[Target]

    @property
    def return_code(self) -> int:
        """Always 0."""
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs; sizes in bytes."""
        return {
            target.name: {
                cpu.name: {
                    "description": cpu.description,
                    "called": list(cpu.called),
                    "features": sorted(cpu.features),
                    "figures": {
                        name: {"value": figure.value, "source": figure.source}
                        for name, figure in _figures(cpu)
                    },
                }
                for cpu in target.cpus.values()
            }
            for target in self.targets
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """One line a CPU; when asked for more, one a figure."""
        for target in self.targets:
            for cpu in target.cpus.values():
                features = " ".join(sorted(cpu.features)) or "-"
                yield f"{target.name} {cpu.name}: {cpu.description}; features: {features}"
                if verbosity > 0 and cpu.called:
                    yield f"{target.name} {cpu.name}: in /proc/cpuinfo {', '.join(cpu.called)}"
                for name, figure in _figures(cpu) if verbosity > 0 else ():
                    yield f"{target.name} {cpu.name}: {name} {figure.value} ({figure.source})"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """One table of CPUs for each target; when asked for more, one of figures."""
        for target in self.targets:
            cpus = tuple(target.cpus.values())
            rows = tuple((c.name, c.description, " ".join(sorted(c.features))) for c in cpus)
            yield Grid(target.name, ("--cpu", "chip", "features"), rows)
            if verbosity <= 0:
                continue
            figures = tuple(
                (cpu.name, name, str(figure.value), figure.source)
                for cpu in cpus
                for name, figure in _figures(cpu)
            )
            columns = ("--cpu", "figure", "value", "source")
            yield Grid(f"{target.name}: figures", columns, figures, frozenset({"value"}))


def _figures(cpu: Cpu) -> Iterator[tuple[str, Figure]]:
    yield "fetch block, bytes", cpu.fetch_block
    yield from cpu.figures.items()
