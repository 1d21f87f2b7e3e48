"""How a kernel is booted in an emulator, and what two good boots may print differently."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


class Place(enum.Enum):
    """Where in a boot's console a volatile line may stand."""

    HERE = "where it stands"
    ANYWHERE = "anywhere, as often"
    MAYBE = "anywhere, or not at all"


@dataclass(frozen=True, slots=True)
class Volatile:
    """One kind of console line that differs between boots of kernels that do the same.

    `pattern` matches the whole line; what its groups match is not compared. `why` is for people.
    """

    name: str
    pattern: str
    why: str
    place: Place = Place.HERE


@dataclass(frozen=True)
class Boots:
    """The machine that the emulator is.

    `emulator` is a program of the Debian package `package`; `options` are those that its machine
    `machine` needs; CPUs of `machines` need another. `parameters` begin the kernel's command line.
    `cpus` maps CPUs to the emulator's names; on those of `packaged` the firmware runs that comes
    with the emulator, the others need another. `memory` is in MiB. Instructions from `user_start`
    to before `user_end` are the user's, those below it of `low`; those from the kernel's first
    segment to before `high` are the kernel's; all others are firmware.
    """

    emulator: str
    package: str
    machine: str
    options: tuple[str, ...]
    parameters: str
    cpus: Mapping[str, str]
    packaged: frozenset[str]
    memory: int
    user_end: int
    volatile: tuple[Volatile, ...]
    machines: Mapping[str, str] = field(default_factory=dict)
    user_start: int = 0
    low: Literal["kernel", "firmware"] = "firmware"
    high: int = 1 << 64
