"""What the model of a CPU is asked, whatever kind of pipeline it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import System, Tournament
from rewriter.timing.result import Result
from rewriter.timing.steady import Steady


class Chip(Protocol):
    """What a chip remembers from one run to the next: caches and predictors."""

    def run(self, steps: Sequence[Step]) -> Result:
        """Runs a trace from time zero."""

    def learn(self, steps: Sequence[Step]) -> bool:
        """Takes in what a run of the steps leaves in caches and predictors, without its times.

        False where that may be something else, because it depends on when accesses are done.
        """

    def foresee(self, transfers: Sequence[Step], times: int) -> None:
        """Learns the transfers of control of a trace so many times over, at least twice."""


class Engine(Protocol):
    """The model of one CPU.

    `line` is how many bytes a line of its first data cache has.  `asks_ahead`: lines that are
    asked for come while the code goes on, so that it may pay to ask early.  `mispredicted` are the
    cycles that a conditional branch costs which was not foreseen; `tournament` is its predictor, if
    that has two levels and a choice.  `second_transfer` are the cycles that a transfer of control
    costs which is reached in one fetch block with another.
    """

    @property
    def line(self) -> int: ...
    @property
    def asks_ahead(self) -> bool: ...
    @property
    def mispredicted(self) -> int: ...
    @property
    def tournament(self) -> Tournament | None: ...
    @property
    def second_transfer(self) -> int: ...

    def chip(self, system: System, text: Mapping[int, Insn]) -> Chip:
        """A chip just switched on.  `text` has what stands in the fetch blocks that will run."""

    def steady(self, table: Table) -> Steady:
        """What loops take once they run."""

    def slots(self, block: Sequence[Insn]) -> str:
        """The halves of the machine that a fetch block's instructions go to; empty without such."""

    def replayed_within(self, size: int) -> int:
        """How many instructions of `size` bytes a load may be behind a store that it is replayed
        for, because the store has only some of its bytes; none where such loads just wait."""

    def inside_block(self, call: Insn) -> int:
        """Cycles that a call loses each time if its fetch block goes on behind it.

        Control then comes back to the block that it left, and what is fetched after that block is
        now the callee and now the code behind, where a chip remembers one of them.
        """
