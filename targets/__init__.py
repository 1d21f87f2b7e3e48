"""The registry of targets, by ELF machine number."""

from __future__ import annotations

from rewriter.core.errors import BadInput
from rewriter.core.target import Target
from targets.alpha import Alpha

TARGETS: tuple[Target, ...] = (Alpha(),)


def for_machine(machine: int, name: str) -> Target:
    """The target of an `e_machine`; BadInput for a file of an architecture that retune lacks."""
    for target in TARGETS:
        if machine in target.machines:
            return target
    known = ", ".join(target.name for target in TARGETS)
    raise BadInput(
        f"{name}: e_machine {machine:#x} is no architecture that retune knows",
        hint=f"it knows {known}",
    )
