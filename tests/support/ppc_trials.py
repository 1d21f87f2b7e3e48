"""What trials of mutants ask of PowerPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.readings.interpret import Arithmetic
from targets.ppc.asm.assembler import NOP, WORD
from targets.ppc.isa import table
from targets.ppc.trial_program import PpcSweep


@dataclass(frozen=True)
class PpcTrials:
    """One machine, for `tests.support.trial_mutants`."""

    machine: PpcSweep

    @property
    def table(self) -> Table:
        """Its instructions."""
        return table(self.machine.width, self.machine.byteorder)

    @property
    def write_hints(self) -> Mapping[str, int]:
        """There are none: what dcbz does to memory is fixed."""
        return {}

    @property
    def arithmetic(self) -> Arithmetic:
        """Nothing is left open that these routines need."""
        raise NotImplementedError

    @property
    def trap(self) -> bytes:
        """A word that is no instruction."""
        return bytes(WORD)

    @property
    def nop(self) -> bytes:
        """An instruction that does nothing."""
        return NOP.to_bytes(WORD, self.machine.byteorder)

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing at all."""
        return self.table.encode(insn) == NOP

    def program(self, linkage: str) -> PpcSweep:
        """The program that runs cases."""
        return self.machine
