"""How PowerPC says the steps of a search for a bit, with registers of 32 or of 64 bits."""

from __future__ import annotations

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.idioms import Step
from targets.ppc.isa import table
from targets.ppc.registers import GENERAL, GPR

_TABLE = table(64, "big")  # the rows are the same in all of them
_WORD = 32
_COUNTS = {
    Step("leading zeros", 32): "cntlzw",
    Step("leading zeros", 64): "cntlzd",
    Step("trailing zeros", 32): "cnttzw",
    Step("trailing zeros", 64): "cnttzd",
    Step("ones", 64): "popcntd",
}
_OF_WORDS = {**_COUNTS, Step("ones", 32): "popcntw"}  # which counts in each word by itself
_UNSIGNED, _SIGNED = {"or": "ori", "xor": "xori"}, {"add": "addi", "subtract from": "subfic"}


class BitCounts:
    """The capability, for registers of `width` bits."""

    COUNTED = GENERAL

    def __init__(self, width: int) -> None:
        self._width = width
        self._counts = _COUNTS if width > _WORD else _OF_WORDS

    def step(self, step: Step, x: int, held: int, target: int) -> Insn | None:
        """A step of a search for a bit, from `held` to `target`."""
        name, literal = step
        if step in self._counts:
            return _insn(self._counts[step], target, held)
        if name == "not":
            return _insn("nor", target, held, held)
        if name == "clear":
            return _insn("andc", target, held, x) if x != held else None
        return self._with_literal(name, literal, held, target) if literal is not None else None

    def sum(self, first: int, second: int, target: int) -> Insn:
        """target = first + second."""
        return _insn("add", target, first, second)

    def _with_literal(self, name: str, literal: int, held: int, target: int) -> Insn | None:
        if name in _UNSIGNED and 0 <= literal < 1 << 16:
            return _insn(_UNSIGNED[name], target, held, literal)
        if name in _SIGNED and -1 << 15 <= literal < 1 << 15:
            if name == "add" and held == GPR:
                return None  # which stands for zero there
            return _insn(_SIGNED[name], target, held, literal)
        if name == "and":
            return self._masked(held, literal, target)
        if name == "shift right":
            return self._shifted(held, literal, target)
        return None

    def _masked(self, held: int, mask: int, target: int) -> Insn | None:
        """A mask of one run of ones in the low word, or of all low bits up to some bit."""
        low = (mask & -mask).bit_length() - 1
        ones = mask >> low
        if mask <= 0 or ones & ones + 1:
            return None
        high = mask.bit_length() - 1
        if high < _WORD:
            return _insn("rlwinm", target, held, 0, _WORD - 1 - high, _WORD - 1 - low)
        return _insn("rldicl", target, held, 0, 63 - high) if low == 0 else None

    def _shifted(self, held: int, by: int, target: int) -> Insn:
        if self._width > _WORD:
            return _insn("rldicl", target, held, 64 - by, by)
        return _insn("rlwinm", target, held, _WORD - by, by, _WORD - 1)


def _insn(name: str, *operands: int) -> Insn:
    return Insn(_TABLE.find(name), operands)
