"""Code timed without a run: each straight stretch by itself, as if every access hit the cache.

Nothing says which way branches go or what pointers hold, so registers start far apart, a loaded
value is an address of its own, and a stretch ends at each transfer of control.  What a stretch
inherits from the one before it, and cache misses, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.core.readings.concrete import Concrete
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, System
from rewriter.timing.model import simulate
from rewriter.timing.result import Moment, Result

_APART = (1 << 20) + 192
"""Bytes between what registers point at: neither in one line of a cache nor in one set."""
_FIRST = 1 << 32

Code = Sequence[tuple[int, Insn]]
"""Instructions by ascending address."""


@dataclass(frozen=True)
class Stretch:
    """Straight code and its timing; `cycles` is from its first issue until its last."""

    code: Code
    result: Result

    @property
    def cycles(self) -> int:
        """From the first issue to the last, both counted."""
        issued = [m.issue for m in self.result.timeline if m.pipe]
        return max(issued) - min(issued) + 1 if issued else 0

    def moments(self) -> Iterator[tuple[Insn, Moment, int]]:
        """Each instruction, when it did what, and its issue cycle from the stretch's first."""
        issued = [m.issue for m in self.result.timeline if m.pipe]
        start = min(issued, default=0)
        for (_, insn), moment in zip(self.code, self.result.timeline, strict=True):
            yield insn, moment, moment.issue - start


def stretches(code: Code) -> Iterator[Code]:
    """The code cut before each branch target and after each transfer of control."""
    targets = {insn.target(address) for address, insn in code}
    stretch: list[tuple[int, Insn]] = []
    for address, insn in code:
        if stretch and address in targets:
            yield stretch
            stretch = []
        stretch.append((address, insn))
        if insn.op.flow is not Flow.NEXT:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def timed(code: Code, table: Table, cpu: Cpu, system: System) -> list[Stretch]:
    """The timing of each stretch of a routine; raises NotDescribed for a CPU without a model."""
    text = dict(code)
    return [one(stretch, text, table, cpu, system) for stretch in stretches(code)]


def one(stretch: Code, text: Mapping[int, Insn], table: Table, cpu: Cpu, system: System) -> Stretch:
    """The timing of one stretch; `text` has what else is in its fetch blocks."""
    probe = Probe.of(table)
    steps = [probe.step(insn, address) for address, insn in stretch]
    return Stretch(stretch, simulate(steps, cpu, system, text=text))


@dataclass
class Probe(Concrete):
    """The concrete reading in which nothing is known and nothing goes wrong.

    What registers hold are addresses far apart.
    """

    access: tuple[int, int, bool] | None = None
    _made: int = field(default=0)

    def __post_init__(self) -> None:
        self.initial_register = lambda register: self._fresh()

    @classmethod
    def of(cls, table: Table) -> Probe:
        """One for the registers of a table."""
        return cls(
            width=table.width,
            byteorder=table.byteorder,
            aligned=table.aligned,
            constants=dict(table.constants),
        )

    def step(self, insn: Insn, address: int) -> Step:
        """What an instruction does; control goes on behind it."""
        self.access = None
        return self._step(insn, address)

    def _step(self, insn: Insn, address: int) -> Step:
        self.execute(insn, address)
        where, size, store = self.access or (None, 0, False)
        return Step(address, insn, where, size, store, None)

    def load(self, address: int, size: int) -> int:
        self.access = (address & self.ones, size, False)
        return self._fresh()

    def store(self, address: int, value: int, size: int) -> None:
        self.access = (address & self.ones, size, True)

    def opaque(self, name: str, *values: int) -> int:
        return self._fresh()

    def _fresh(self) -> int:
        """An address that nothing else is near."""
        self._made += 1
        return _FIRST + self._made * _APART
