"""What trials of mutants ask of PowerPC."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn
from targets.ppc.asm.assembler import NOP, WORD
from targets.ppc.trial_program import PpcSweep, PpcTrials


@dataclass(frozen=True, slots=True)
class MutantTrials(PpcTrials):
    """One machine, for `tests.support.trial_mutants`."""

    machine: PpcSweep

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
