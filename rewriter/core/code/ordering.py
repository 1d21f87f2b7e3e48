"""What scheduling straight code in groups asks of a target, and that of the model of a CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rewriter.core.code.groups import Slot
from rewriter.core.code.scheduling import Arranged, Facts, Part
from rewriter.core.isa.instruction import Insn


class Model(Protocol):
    """What the model of a CPU says about instructions."""

    def distance(self, earlier: Insn, later: Insn, registers: int) -> int:
        """Cycles from the issue of one to that of the other, which reads its `registers`."""
        ...

    def kind(self, insn: Insn) -> int:
        """A number that is the same for instructions which the same ports take."""
        ...

    def fits(self, issued: Sequence[tuple[int, str]]) -> bool:
        """Whether ports take instructions of these kinds, in slots of these units, in a cycle."""
        ...

    def closes(self, shape: str, is_busy: bool) -> bool:
        """Whether the cycle ends behind a bundle of a shape, with something in its last slot or
        not."""
        ...

    def apart(self, first: str, second: str) -> bool:
        """Whether bundles of two shapes, in this order, never share a cycle."""
        ...

    def ports(self, insn: Insn) -> frozenset[str]:
        """The ports that may take an instruction, wherever it stands."""
        ...

    def alone(self, insn: Insn) -> Sequence[tuple[int, int]]:
        """Cycles in which nothing else issues: from, counted from the instruction, and how many."""
        ...

    def cycles(self, slots: Sequence[Slot]) -> int:
        """Modelled cycles of straight code."""
        ...


class Framing(Protocol):
    """What the target answers about registers that are there as far as a frame reaches."""

    @property
    def framed(self) -> int:
        """Registers of which, in the order of their numbers, as many are there as a frame has."""
        ...

    @property
    def reframes(self) -> int:
        """The kind of order of what makes another frame."""
        ...


class Rules(Protocol):
    """What the target and the CPU's model answer about instructions, in program order."""

    def facts(self, insn: Insn) -> Facts:
        """What is known of one."""
        ...

    def needs_stop(self, earlier: Insn, later: Insn) -> bool:
        """Whether two that clash over a register may never share a group."""
        ...

    def distance(self, earlier: Insn, later: Insn, registers: int) -> int:
        """Cycles from the issue of one to that of the other, which reads its `registers`."""
        ...


class ExitRules(Rules, Framing, Protocol):
    """What the target answers about exits, too."""

    def passable(self, insn: Insn) -> Facts:
        """What is known of a branch that others may pass."""
        ...


class Names(Framing, Protocol):
    """What the target answers about registers as names."""

    @property
    def banks(self) -> tuple[int, ...]:
        """Masks of registers that can stand for each other."""
        ...

    @property
    def spare(self) -> int:
        """Registers that any code may use where they are not live."""
        ...

    def facts(self, insn: Insn) -> Facts:
        """What is known of an instruction."""
        ...

    def renamable(self, insn: Insn) -> tuple[int, int]:
        """Registers that it can name otherwise, and those of them that it increments."""
        ...

    def renamed(self, insn: Insn, reads: Mapping[int, int], writes: Mapping[int, int]) -> Insn:
        """The instruction with other registers; ValueError where it cannot name one."""
        ...


class Scheduling(ExitRules, Names, Protocol):
    """What an architecture and a CPU's model answer."""

    @property
    def bundle(self) -> int:
        """Bytes of a bundle."""
        ...

    def facts(self, insn: Insn) -> Facts:
        """What is known of an instruction."""
        ...

    def moved(self, insn: Insn, distance: int) -> Insn:
        """The instruction that many bytes further on, with the targets that it has here."""
        ...

    def arrange(self, part: Part) -> Arranged | None:
        """A better arrangement, in no more bundles than stand there; None if none is found."""
        ...

    def cycles(self, slots: Sequence[Slot]) -> int:
        """Modelled cycles of straight code."""
        ...


class Limits(Protocol):
    """What the model of a CPU says for all arrangements."""

    @property
    def places(self) -> int:
        """Slots that issue in one cycle."""
        ...

    def takes(self, insn: Insn) -> int:
        """Slots that an instruction takes."""
        ...

    def ports(self, insn: Insn) -> frozenset[str]:
        """The ports that may take an instruction, wherever it stands."""
        ...

    def alone(self, insn: Insn) -> Sequence[tuple[int, int]]:
        """Cycles in which nothing else issues: from, counted from the instruction, and how many."""
        ...


class Exact(Scheduling, Limits, Protocol):
    """A target that places each instruction in a given cycle, too."""

    def in_cycles(self, part: Part, cycles: Sequence[int]) -> Arranged | list[tuple[int, ...]]:
        """The arrangement with a group for each cycle; or sets of instructions that do not go
        together."""
        ...
