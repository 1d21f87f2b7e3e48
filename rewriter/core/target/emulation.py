"""How programs of a machine are run by user emulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Emulated:
    """The emulator of programs.

    `emulator` is a program of the Debian package `package`; `cpus` maps CPUs to its names, of which
    `cpu` is the one that has every instruction. `sysroot` is the folder in which Debian's cross
    libraries lie, of the package `libraries`.
    """

    emulator: str
    package: str
    cpus: Mapping[str, str]
    cpu: str
    sysroot: str
    libraries: str
