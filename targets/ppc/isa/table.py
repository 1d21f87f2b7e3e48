"""The table of PowerPC instructions: what core's `Table` derives, for words of 32 and 64 bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.table import Table
from targets.ppc.isa.formats import CR_BIT, CR_BITS, PREFIX
from targets.ppc.registers import CR

_OPCODE = 0x3F << 26


@dataclass
class PpcTable(Table):
    """Rows of all families; a word is as `formats` describes it."""

    @property
    def major(self) -> int:
        """The primary opcode, of the suffix where there is a prefix."""
        return _OPCODE

    def text(self, insn: Insn, address: int | None = None) -> str:
        """Text as `objdump -Mraw` prints it; a target is absolute when `address` is given."""
        values = {
            operand.name: self._operand_text(insn, operand, value, address)
            for operand, value in zip(insn.op.format.operands, insn.operands, strict=True)
        }
        return f"{insn.name} {insn.op.format.syntax.format(**values)}".rstrip()

    def _operand_text(self, insn: Insn, operand: Operand, value: int, address: int | None) -> str:
        if operand.name in CR_BITS:
            bit = CR_BIT[insn.operand(f"{operand.name}_bit")]
            return f"4*cr{value - CR}+{bit}" if value != CR else bit
        if operand.names:
            return operand.names[(value - operand.base) // operand.scale]
        if operand.kind is Kind.REGISTER:
            return self.register_names[value]
        if operand.kind is Kind.TARGET and address is not None:
            return f"{operand.goal(value, address, insn.size) % (1 << self.width):x}"
        return str(value)

    def joined(self, words: NDArray[np.uint32]) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Where instructions of a text begin, by its words of 32 bits, and the word of each.

        What looks like a prefix is one only in front of a suffix that goes with it: data in a text
        must not hide the instruction behind it.
        """
        starts = np.ones(len(words), dtype=bool)
        maybe = np.flatnonzero(words[:-1] >> np.uint32(26) == 1)
        pairs = words[maybe].astype(np.uint64) << np.uint64(PREFIX) | words[maybe + 1]
        is_known = self.classify(pairs) >= 0
        found = words.astype(np.uint64)
        for place, pair in zip(maybe[is_known].tolist(), pairs[is_known], strict=True):
            if starts[place]:  # of several in a row the first, the third, ... are one
                starts[place + 1] = False
                found[place] = pair
        return starts, found if starts.all() else found[starts]
