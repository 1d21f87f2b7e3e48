"""The registry of targets, by what the ELF header says.

A target is loaded when it is asked for: its tables take longer to build than a small file to read.

assembly  What the assemblers of all targets share: what they make, what is wrong, texts that
          include
machines  ELF machine numbers (`e_machine`), by target: known before a target is loaded
reading   Computed jumps as they read in order of address, before the flow of control is known
alpha/    DEC Alpha, from the 21064 to the 21264: what the floors above ask, answered
forms/    How the manifest takes code of each architecture apart, by ELF machine number
ia64/     Intel Itanium: what the floors above ask, answered
ppc/      PowerPC, 32 and 64 bits, in either byte order: from the 603e to POWER10
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from rewriter.core.errors import BadInput
from rewriter.core.plugins import Cpus, check_cpus
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.ident import Ident
from rewriter.core.target.protocol import Target
from targets import machines


class Identified(Protocol):
    """A file that says what it is for."""

    @property
    def name(self) -> str: ...
    @property
    def ident(self) -> Ident: ...


@dataclass(frozen=True)
class Family:
    """The targets of one architecture, which may differ by width, byte order and flags.

    `load` gives the one of an identity, of which `knows` said that there is one; `usual` is the
    identity of the one that stands for all of them where there is no file.
    """

    usual: Ident
    knows: Callable[[Ident], bool]
    load: Callable[[Ident], Target]

    @property
    def target(self) -> Target:
        """The one that stands for all."""
        return self.load(self.usual)


def _alpha(ident: Ident) -> Target:
    return _alphas()


def _ia64(ident: Ident) -> Target:
    return _itaniums()


@cache
def _alphas() -> Target:
    from targets.alpha import Alpha

    return _with_plugins(Alpha())


@cache
def _itaniums() -> Target:
    from targets.ia64 import Ia64

    return _with_plugins(Ia64())


def _ppc(ident: Ident) -> Target:
    from targets.ppc.image.linking import abi_of

    return _powers(ident.bits, ident.byteorder, abi_of(ident))


@cache
def _powers(bits: int, byteorder: ByteOrder, abi: str) -> Target:
    from targets.ppc.target import Ppc

    return _with_plugins(Ppc(bits, byteorder, abi))


def _with_plugins(target: Target) -> Target:
    """The target, which has the CPUs of plug-ins after its own."""
    target.cpus = Cpus(target.name, target.cpus)
    return target


_FAMILIES = (
    Family(machines.ALPHA, machines.is_alpha, _alpha),
    Family(machines.IA64, machines.is_ia64, _ia64),
    Family(machines.PPC, machines.is_ppc, _ppc),
)


def every() -> tuple[Target, ...]:
    """One target of each architecture."""
    found = tuple(family.target for family in _FAMILIES)
    check_cpus([target.name for target in found])
    return found


def named(name: str) -> Target:
    """The target of an architecture that is called so; KeyError where there is none."""
    return {target.name: target for target in every()}[name]


def knows(ident: Ident) -> bool:
    """Whether there is a target for a file."""
    return any(family.knows(ident) for family in _FAMILIES)


def of(file: Identified) -> Target:
    """The target of a file; BadInput for one of an architecture, or a form, that retune lacks."""
    return of_ident(file.ident, file.name)


def of_ident(ident: Ident, name: str = "") -> Target:
    """The target of files with this identity; BadInput, in which the file is called `name`."""
    for family in _FAMILIES:
        if family.knows(ident):
            return family.load(ident)
    known = ", ".join(target.name for target in every())
    forms = [family for family in _FAMILIES if family.usual.machine == ident.machine]
    other = machines.OTHERS.get(ident.machine, "an architecture that has no name here")
    if forms:
        other = f"{forms[0].target.name}, but {ident}"
    raise BadInput(
        f"{name}: is for {other} (e_machine {ident.machine:#x}), which retune does not know",
        hint=f"it knows {known}",
    )
