"""The registry of targets, by ELF machine number.

A target is loaded when it is asked for: its tables take longer to build than a small file to read.

assembly  What the assemblers of all targets share: what they make, what is wrong, texts that
          include
machines  ELF machine numbers (`e_machine`), by target: known before a target is loaded
alpha/    DEC Alpha, from the 21064 to the 21264: what the floors above ask, answered
forms/    How the manifest takes code of each architecture apart, by ELF machine number
ia64/     Intel Itanium: what the floors above ask, answered

ppc/  PowerPC, 32 and 64 bits, in either byte order: from the 750 to POWER10
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from rewriter.core.errors import BadInput
from rewriter.core.plugins import Cpus, check_cpus
from rewriter.core.target.bundling import Grouped
from rewriter.core.target.protocol import Target
from targets import machines

_Target = TypeVar("_Target", bound=Target | Grouped)


@cache
def _alpha() -> Target:
    from targets.alpha import Alpha

    return _with_plugins(Alpha())


@cache
def _ia64() -> Grouped:
    from targets.ia64 import Ia64

    return _with_plugins(Ia64())


def _with_plugins(target: _Target) -> _Target:
    """The target, which has the CPUs of plug-ins behind its own."""
    target.cpus = Cpus(target.name, target.cpus)
    return target


_PLAIN: dict[frozenset[int], Callable[[], Target]] = {machines.ALPHA: _alpha}
_EVERY: dict[frozenset[int], Callable[[], Target | Grouped]] = {**_PLAIN, machines.IA64: _ia64}


def plain() -> tuple[Target, ...]:
    """The targets whose instructions stand alone."""
    return tuple(load() for load in _PLAIN.values())


def every() -> tuple[Target | Grouped, ...]:
    """All targets: those whose code says what issues together stand last."""
    found = tuple(load() for load in _EVERY.values())
    check_cpus([target.name for target in found])
    return found


def knows(machine: int) -> bool:
    """Whether there is a target for an `e_machine`."""
    return any(machine in numbers for numbers in _EVERY)


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
    for numbers, load in _EVERY.items():
        if machine in numbers:
            return load()
    known = ", ".join(target.name for target in every())
    other = machines.OTHERS.get(machine, "an architecture that has no name here")
    raise BadInput(
        f"{name}: is for {other} (e_machine {machine:#x}), which retune does not know",
        hint=f"it knows {known}",
    )
