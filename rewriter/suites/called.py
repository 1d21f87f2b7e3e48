"""Functions of a file called on numbers, as the calling standard has it, and timed by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.core.code.program import Function
from rewriter.core.readings.interpret import Interpreter, Memory, Step
from rewriter.core.target.capability import trials_of
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image
from rewriter.timing.model import simulate

_RETURN = 0x10  # where nothing is
_STACK = 0x2000  # bytes
_ROOM = 1 << 16  # bytes of data
_LIMIT = 1_000_000  # instructions


@dataclass(frozen=True)
class Caller:
    """Calls functions of files for one target, which see only their code, a stack and some room.

    What only a system has, such as its translations, holds nothing.
    """

    target: Sequential
    cpu: Cpu
    system: System

    @property
    def room(self) -> int:
        """The address of the room that functions may use, zeros before each call."""
        return self.target.arena.data

    def steps(self, image: Image, function: Function, arguments: Sequence[int]) -> list[Step]:
        """What a call executes; raises what the interpreter raises."""
        program, memory = trials_of(self.target).program("standard"), Memory()
        code = image.read(function.start, function.end - function.start)
        memory.map(function.start, code, write=False)
        memory.map(program.stack - _STACK, _STACK + program.linkage.frame, execute=False)
        memory.map(self.room, _ROOM, execute=False)
        linkage = program.linkage
        registers = dict(zip(linkage.arguments, arguments, strict=False))
        registers |= {linkage.link: _RETURN, linkage.stack: program.stack}
        table = self.target.table
        runner = Interpreter(table, memory, registers, opaque=lambda name, *values: 0)
        return runner.run(function.start, _RETURN, _LIMIT)

    def cycles(self, steps: Sequence[Step]) -> int:
        """What it takes when caches and predictors know it; raises NotDescribed."""
        return simulate(steps, self.cpu, self.system).cycles

    def again(self, steps: Sequence[Step]) -> int:
        """What it takes right behind another such call, whose stores are still on their way."""
        return self.cycles([*steps, *steps]) - self.cycles(steps)
