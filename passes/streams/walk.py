"""How long a loop takes that walks over memory: in the cache, and out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from passes.lib.insert import Setting
from passes.streams.accesses import Stream
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.timing.engines import engine_of
from rewriter.timing.model import simulate

_LINES = 4  # of a stream that are timed beyond what is asked for ahead
_PASSES = 16  # that are timed at least
_APART = (1 << 24) + (1 << 12)  # bytes between streams: other pages, and other sets of a cache
_MOST = 8  # lines ahead: so many misses a chip can have under way


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
        code, size, steps = self._code(hints), self.insns[0].size, list[Step]()
        start = self.setting.target.arena.code
        for turn in range(passes):
            for n, (insn, access) in enumerate(code):
                address = start + size * n
                where = None if access is None else self._where(*access, turn, insn)
                effects = self.setting.target.table.effects(insn.op)
                bytes_ = 0 if access is None or access[2] else effects.size
                back = n == len(code) - 1 and turn < passes - 1
                goal = start if back else None
                steps.append(Step(address, insn, where, bytes_, effects.stores, goal))
        return simulate(steps, self.setting.cpu, self.setting.system, warm=False).cycles

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

    def _code(self, hints: Sequence[Hint]) -> list[tuple[Insn, tuple[int, int, bool] | None]]:
        """What a pass executes; for an access the stream's number, the offset, whether a hint."""
        found: list[tuple[Insn, tuple[int, int, bool] | None]] = []
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

    def _where(self, stream: int, offset: int, hint: bool, turn: int, insn: Insn) -> int:
        size = max(self.setting.target.table.effects(insn.op).size, 1)
        step = self.streams[stream].step if stream < len(self.streams) else 0
        data = self.setting.target.arena.data
        return (data + _APART * stream + turn * step + offset) & -size
