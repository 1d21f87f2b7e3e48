"""How long a loop takes that walks over memory: in the cache, and out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Generic, TypeVar

from passes.lib.insert import Setting
from passes.streams.accesses import Stream
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.protocol import Sequential
from rewriter.timing.engines import engine_of
from rewriter.timing.model import simulate

_LINES = 4  # of a stream that are timed beyond what is asked for ahead
_PASSES = 16  # that are timed at least
_APART = (1 << 24) + (1 << 12)  # bytes between streams: other pages, and other sets of a cache
_MOST = 8  # lines ahead: so many misses a chip can have under way
_KEPT = 1 << 10  # loops whose time is remembered

_Executed = tuple[Insn, tuple[int, int, bool] | None]
"""An instruction, and of an access the stream's number, the offset, whether it is a hint."""
_Object = TypeVar("_Object")


@dataclass(frozen=True)
class Hint:
    """Instructions before the one of a pass with that number; the last asks for a line.

    It asks for what is `offset` bytes from where the stream is at the start of the pass.
    """

    number: int
    insns: tuple[Insn, ...]
    stream: Stream
    offset: int


@dataclass(frozen=True)
class Walked:
    """One pass of a loop, its last instruction the branch back, and what it walks over."""

    insns: tuple[Insn, ...]
    streams: tuple[Stream, ...]
    setting: Setting

    @property
    def line(self) -> int:
        """Bytes of a line of the chip's data cache."""
        return engine_of(self.setting.cpu).line

    def warm(self, hints: Sequence[Hint]) -> Fraction:
        """Cycles a pass, when everything is in the cache; from a fetch block's start."""
        code = self._code(hints)
        size = self.insns[0].size
        start = self.setting.target.arena.code
        placed = [(start + size * n, insn, None) for n, (insn, _) in enumerate(code)]
        text = {address: insn for address, insn, _ in placed}
        steady = engine_of(self.setting.cpu).steady(self.setting.target.table)
        return steady.cycles(placed, text)

    def passes(self, stream: Stream, ahead: int) -> int:
        """Passes in which a stream gets some lines farther than what it asks for, bytes ahead."""
        return max(_PASSES, (_LINES * self.line + abs(ahead)) // abs(stream.step))

    def cold(self, hints: Sequence[Hint], passes: int) -> int:
        """Cycles of so many passes, when all streams are in memory only."""
        code, strides = self._code(hints), tuple(stream.step for stream in self.streams)
        machine = map(_Itself, (self.setting.target, self.setting.cpu, self.setting.system))
        return _cold(tuple(code), strides, passes, *machine)

    def ahead(self, stream: Stream, cycles: Fraction) -> int:
        """How many bytes ahead to ask, when a pass takes so many cycles.

        A line comes as long after it was asked for as the memory's latency; while it is under way
        the bus brings no more lines than it can.
        """
        system, step = self.setting.system, abs(stream.step)
        passes = Fraction(max(self.line, step), step)
        each = max(cycles * passes, Fraction(system.cycles(system.line_time.value)))
        lines = -(-system.cycles(system.latency.value) // each)
        distance = min(int(lines), _MOST) * max(self.line, step)
        return distance if stream.step > 0 else -distance

    def _code(self, hints: Sequence[Hint]) -> list[_Executed]:
        """What a pass executes."""
        found: list[_Executed] = []
        known = {a.number: (n, a.offset) for n, s in enumerate(self.streams) for a in s.accesses}
        for number, insn in enumerate(self.insns):
            for hint in hints:
                if hint.number == number:
                    place = self.streams.index(hint.stream), hint.offset, True
                    found += [(made, None) for made in hint.insns[:-1]]
                    found.append((hint.insns[-1], place))
            found.append((insn, self._access(number, insn, known)))
        return found

    def _access(
        self, number: int, insn: Insn, known: dict[int, tuple[int, int]]
    ) -> tuple[int, int, bool] | None:
        """An access that is part of no stream stays where it is."""
        effects = self.setting.target.table.effects(insn.op)
        if number in known:
            return (*known[number], False)
        return (len(self.streams), 8 * number, False) if effects.loads or effects.stores else None


@dataclass(frozen=True)
class _Itself(Generic[_Object]):
    """An object as a part of a key: equal to itself alone, held as long as its number is."""

    one: _Object

    def __hash__(self) -> int:
        return id(self.one)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.one is other.one


@lru_cache(maxsize=_KEPT)
def _cold(
    code: tuple[_Executed, ...],
    strides: tuple[int, ...],
    passes: int,
    target: _Itself[Sequential],
    cpu: _Itself[Cpu],
    system: _Itself[System],
) -> int:
    """Cycles of so many passes out of memory; many functions, and files, have the same loops."""
    arena, table, steps = target.one.arena, target.one.table, list[Step]()
    size = code[0][0].size

    def where(stream: int, offset: int, hint: bool, turn: int, insn: Insn) -> int:
        step = strides[stream] if stream < len(strides) else 0
        aligned = -max(table.effects(insn.op).size, 1)
        return (arena.data + _APART * stream + turn * step + offset) & aligned

    for turn in range(passes):
        for n, (insn, access) in enumerate(code):
            place = None if access is None else where(*access, turn, insn)
            effects = table.effects(insn.op)
            bytes_ = 0 if access is None or access[2] else effects.size
            back = n == len(code) - 1 and turn < passes - 1
            goal = arena.code if back else None
            address = arena.code + size * n
            steps.append(Step(address, insn, place, bytes_, effects.stores, goal))
    return simulate(steps, cpu.one, system.one, warm=False).cycles
