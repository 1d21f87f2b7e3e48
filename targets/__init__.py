"""The registry of targets, by ELF machine number."""

from __future__ import annotations

from rewriter.core.errors import BadInput
from rewriter.core.grouped import Grouped
from rewriter.core.target import Target
from targets.alpha import Alpha
from targets.ia64 import Ia64

TARGETS: tuple[Target, ...] = (Alpha(),)
GROUPED: tuple[Grouped, ...] = (Ia64(),)
"""Those whose code says what issues together."""

EVERY: tuple[Target | Grouped, ...] = (*TARGETS, *GROUPED)


def for_machine(machine: int, name: str) -> Target:
    """The target of an `e_machine` whose instructions stand alone; BadInput for any other file."""
    target = any_for(machine, name)
    if isinstance(target, Grouped):
        raise BadInput(
            f"{name}: this is not done for {target.name}",
            hint="patch, verify, revert, identify, explain and edits are",
        )
    return target


def any_for(machine: int, name: str) -> Target | Grouped:
    """The target of an `e_machine`; BadInput for a file of an architecture that retune lacks."""
    for target in EVERY:
        if machine in target.machines:
            return target
    known = ", ".join(target.name for target in EVERY)
    raise BadInput(
        f"{name}: e_machine {machine:#x} is no architecture that retune knows",
        hint=f"it knows {known}",
    )
