"""What one version of a piece of code saves over another on a CPU's model.

Every straight stretch counts once, as if each were run once from the first-level caches
(`straight`).  Stretches that both versions have, in the same place of a fetch block, cancel and
are never timed; each other one is timed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, System
from rewriter.timing.straight import Code, one, stretches

Key = tuple[int, tuple[Insn | None, ...], int]
"""Where in a fetch block a stretch starts, all of the blocks that it touches, how long it is."""


@dataclass
class Savings:
    """Modelled cycles on one CPU in one machine.  Raises NotDescribed for one without a model."""

    cpu: Cpu
    table: Table
    system: System
    _known: dict[Key, int] = field(default_factory=dict)

    def cycles(self, before: Code, after: Code) -> int:
        """Cycles that `after` takes fewer."""
        old, new = Counter(self._keys(before)), Counter(self._keys(after))
        return self._total(old - new) - self._total(new - old)

    def _total(self, keys: Counter[Key]) -> int:
        return sum(self._cycles(key) * count for key, count in keys.items())

    def _cycles(self, key: Key) -> int:
        if key not in self._known:
            start, insns, length = key
            size = next(insn.size for insn in insns if insn is not None)
            text = {size * n: insn for n, insn in enumerate(insns) if insn is not None}
            inside = [(at, insn) for at, insn in text.items() if 0 <= at - start < length * size]
            found = one(inside, text, self.table, self.cpu, self.system)
            self._known[key] = found.cycles
        return self._known[key]

    def _keys(self, code: Code) -> Iterator[Key]:
        block = self.cpu.fetch_block.value
        text = {at: _placeless(insn) for at, insn in code}
        for stretch in stretches(code):
            first, (last, insn) = stretch[0][0], stretch[-1]
            begin, end = first // block * block, -(-(last + insn.size) // block) * block
            mates = tuple(text.get(at) for at in range(begin, end, insn.size))
            yield first - begin, mates, (last + insn.size - first) // insn.size


def _placeless(insn: Insn) -> Insn:
    """The instruction without how far it goes."""
    values = zip(insn.op.format.operands, insn.operands, strict=True)
    kept = tuple(0 if operand.kind is Kind.TARGET else value for operand, value in values)
    return insn if kept == insn.operands else Insn(insn.op, kept)


def packed(address: int, insns: Sequence[Insn | None]) -> Code:
    """Instructions one behind the other from an address; None is nothing."""
    code = []
    for insn in insns:
        if insn is not None:
            code.append((address, insn))
            address += insn.size
    return code
