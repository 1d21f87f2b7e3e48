"""One bit of a register, tested by a mask that was made for it: shifted down, a branch sees it."""

from __future__ import annotations

from collections.abc import Iterator

from passes.lib.technique import Site
from rewriter.core.code.dataflow import INPUT, Trace
from rewriter.core.edit import Rewrite
from rewriter.core.target.idioms import Testing
from rewriter.core.terms.term import Term

KIND = "test of one bit"


class Tested:
    """The branches of a block that test one bit."""

    def __init__(self, trace: Trace, testing: Testing) -> None:
        self.trace, self.testing = trace, testing

    def sites(self) -> Iterator[Site]:
        """A site for each whose mask is made in registers."""
        for slot, insn in enumerate(self.trace.insns):
            if insn.name in self.testing.BRANCHES:
                for register, masked in self.trace.definition[slot].items():
                    if masked != INPUT and self.trace.insns[masked].name in self.testing.MASKS:
                        yield from self._site(slot, register, masked)

    def _site(self, slot: int, register: int, masked: int) -> Iterator[Site]:
        """Where one of what is masked is a constant with one bit, made by other slots."""
        operands, made = self.trace.operand[masked], self.trace.definition[masked]
        for mask, constant in operands.items():
            bit = _only_bit(constant)
            others = [source for source in operands if source != mask]
            if bit is None or len(others) != 1 or made[mask] == INPUT:
                continue
            down = self.testing.shifted_down(others[0], bit, register)
            branch = self.testing.by_lowest(self.trace.insns[slot], register)
            made_of = {made[mask]} | self.trace.slice(made[mask])
            feeders = frozenset(one for one in made_of if self._is_constant(one))
            changes = ((masked, down), (slot, branch))
            yield Site(slot, KIND, (Rewrite(slot, KIND, changes, feeders),))

    def _is_constant(self, slot: int) -> bool:
        value = self.trace.value[slot]
        return value is not None and value.kind == "const"


def _only_bit(constant: Term) -> int | None:
    """The number of the one bit of a constant; None of all else."""
    if constant.kind != "const" or constant.value.bit_count() != 1:
        return None
    return constant.value.bit_length() - 1
