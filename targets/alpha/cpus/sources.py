"""Where the figures come from, and the short ways to write them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from rewriter.core.target.cpu import (
    NO_RESULT,
    Cpu,
    Figure,
    InOrder,
    OutOfOrder,
    Sched,
    assumed,
    figures_of,
    figures_of_classes,
)
from targets.alpha.cpus.traits import discarding, plain

GCC4 = "gcc config/alpha/ev4.md"
GCC5 = "gcc config/alpha/ev5.md"
GCC6 = "gcc config/alpha/ev6.md"
GMP = "GMP 6.2.1 mpn/alpha/README, measured"
HRM_164PC = "21164PC Hardware Reference Manual"
HRM = "21264 Hardware Reference Manual"
TABLE_2_4 = f"{HRM} 2-20, table 2-4"
TABLE_2_1 = f"{HRM} 2-16, table 2-1"
MANUAL = "general knowledge of the manual, not confirmed"


def at_once(source: str) -> Figure:
    """A latency of one cycle."""
    return Figure(1, source)


def no_result(source: str) -> Figure:
    """The latency of what has no register result: until it counts as done."""
    return Figure(1, f"{source}: {NO_RESULT}")


def guess(value: int, what: str) -> Figure:
    """A parameter from memory of a manual."""
    return assumed(value, f"{what}; {MANUAL}")


def in_order(
    name: str,
    description: str,
    features: frozenset[str],
    block: Figure,
    pipeline: InOrder,
    *called: str,
) -> Cpu:
    """A CPU that issues its nops like everything else."""
    figures = _shown(pipeline)
    return Cpu(name, description, features, block, figures, pipeline, plain, called=called)


def out_of_order(
    name: str,
    description: str,
    features: frozenset[str],
    block: Figure,
    pipeline: OutOfOrder,
    *called: str,
) -> Cpu:
    """A CPU that throws nops away before they are queued."""
    figures = _shown(pipeline)
    return Cpu(name, description, features, block, figures, pipeline, discarding, called=called)


def _shown(pipeline: InOrder | OutOfOrder) -> dict[str, Figure]:
    """Figures by name: of classes, of bypasses and of everything else."""
    shown = figures_of_classes(pipeline)
    for item in fields(pipeline):
        if item.name not in ("classes", "bypasses"):
            shown.update(figures_of(getattr(pipeline, item.name), item.name.replace("_", " ")))
    return shown


def extended(classes: Mapping[str, Sched], **more: Sched) -> dict[str, Sched]:
    """The classes of an older chip and what a newer one adds or changes."""
    return {**classes, **more}
