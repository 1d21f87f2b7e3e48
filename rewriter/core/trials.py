"""What runs known routines on cases: asked of a target, used by the trials of the verifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from rewriter.contracts.contract import Arena
from rewriter.contracts.linkage import Linkage
from rewriter.core.isa.table import Table
from rewriter.core.readings.interpret import Arithmetic, Effect
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.cpu import Cpu


class Executable(Protocol):
    """A static program of one segment: what a target provides."""

    @property
    def emulator(self) -> tuple[str, ...]:
        """The emulator's name and options."""
        ...

    @property
    def elf_machine(self) -> int:
        """`e_machine` of the executable."""
        ...

    @property
    def elf_flags(self) -> int:
        """`e_flags` of the executable."""
        ...

    @property
    def word_bits(self) -> int:
        """32 or 64: the ELF class, and the size of a command's two words."""
        ...

    @property
    def byteorder(self) -> ByteOrder:
        """`little` or `big`."""
        ...

    @property
    def base(self) -> int:
        """Address of the code; its first instruction is the entry."""
        ...

    @property
    def memory_size(self) -> int:
        """Bytes from `base` to the end of its memory."""
        ...

    def code(self) -> bytes:
        """The bytes at `base`."""
        ...


class Program(Executable, Protocol):
    """What a target provides: an executable for one linkage."""

    @property
    def linkage(self) -> Linkage:
        """How it calls."""
        ...

    @property
    def arena(self) -> Arena:
        """Where cases may lie."""
        ...

    @property
    def routine(self) -> int:
        """Where code that may stand anywhere is put."""
        ...

    @property
    def capacity(self) -> int:
        """Bytes of cases that one run can take."""
        ...

    @property
    def registers(self) -> int:
        """Address of the words that registers hold before a call."""
        ...

    @property
    def stack(self) -> int:
        """What the stack pointer holds before a call."""
        ...


@dataclass(frozen=True, slots=True)
class World:
    """What an architecture leaves open and a machine with its loader decides.

    `effects` says by name what events do to memory; `word` is what every word of other files' data
    holds, None where there is no such data.
    """

    effects: Mapping[str, Effect] = field(default_factory=lambda: MappingProxyType({}))
    word: int | None = None


PLAIN = (World(),)
"""The worlds of an architecture that leaves nothing open."""


class Trials(Protocol):
    """What a target tells about trying routines."""

    @property
    def table(self) -> Table:
        """Its instructions."""
        ...

    @property
    def write_hints(self) -> Mapping[str, int]:
        """Events that give up a line, and the line's size."""
        ...

    @property
    def arithmetic(self) -> Arithmetic:
        """What the table leaves open, on plain numbers."""
        ...

    @property
    def worlds(self) -> Sequence[World]:
        """Cases run in each in turn, so that a routine that minds is tried in all of them.

        The first is that of the emulated program.
        """
        ...

    @property
    def linkages(self) -> Mapping[str, Linkage]:
        """The ways in which known routines are called, by name."""
        ...

    def world(self, cpu: Cpu) -> World:
        """The one that a CPU is in, with a loader that tells what it is."""
        ...

    def program(self, linkage: str) -> Program:
        """The program that runs cases with a linkage."""
        ...
