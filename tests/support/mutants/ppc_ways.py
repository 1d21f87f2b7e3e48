"""Where control goes in PowerPC code and what may be read there, simply and on the safe side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from targets.ppc.registers import CA, CR, CTR, FPR, GPR, OV, VR, parts
from tests.support.mutants.plain_base import PlainBase
from tests.support.mutants.plain_ways import PlainWays

_FLAGS = (*(CR + n for n in (0, 5, 6, 7)), CA, OV, CTR)
"""What neither a callee may read that is called by the standard, nor what it returns to."""
_FAR = 2_000


class Ways(PlainWays):
    """The code of one file."""

    def __init__(self, base: PlainBase) -> None:
        super().__init__(base)
        self.passed_by = register_mask(_FLAGS)
        # Complex numbers come back in up to four doublewords of general registers.
        first = 11 if self.table.width == 32 else 7
        gprs = [GPR + n for n in (0, *range(first, 13))]
        vectors = [FPR + n for n in (0, *range(9, 14))] + [VR + n for n in (0, 1, *range(10, 20))]
        self.lost = register_mask((*_FLAGS, CR + 1, *gprs, *self._wide(vectors)))
        gprs = [GPR + n for n in range(3, first)]
        vectors = [FPR + n for n in range(1, 9)] + [VR + n for n in range(2, 10)]
        self.given = self.lost | register_mask((*gprs, *self._wide(vectors)))

    def _wide(self, vectors: Iterable[int]) -> Iterator[int]:
        for number in vectors:
            yield from parts(number, 128, self.table.width)

    def may_read(self, address: int, register: int) -> bool:
        """Whether anything may read what is in a register when control comes to an address."""
        todo, seen, bit = [(address, False)], set[tuple[int, bool]](), 1 << register
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            insn = self.base.insn(place[0])
            if insn is None or len(seen) > _FAR or self.table.uses(insn) & bit:
                return True
            if self.table.defs(insn) & bit and not insn.op.flow.calls:
                continue
            after = self._after(place, insn, bit)
            if after is None:
                return True
            todo += after
        return False

    def _after(
        self, place: tuple[int, bool], insn: Insn, bit: int
    ) -> list[tuple[int, bool]] | None:
        """Where a value may be read next; None if it may be read in code that is not seen.

        `place` says whether it is in a callee, whose return was followed already.
        """
        address, inner = place
        flow, following, to = insn.op.flow, (address + insn.size, inner), insn.target(address)
        if flow in (Flow.NEXT, Flow.TRAP, Flow.HERE):
            return [following]
        if flow in (Flow.BRANCH, Flow.JUMP):
            ways = [following] if flow is Flow.BRANCH else []
            return None if to is None else [*ways, (to, inner)]
        if flow in (Flow.RETURN, Flow.RETURN_IF):
            ways = [following] if flow is Flow.RETURN_IF else []
            return ways if inner or bit & self.lost else None
        if bit & self.passed_by:  # by a call, or a jump that may be one
            return [following] if flow.falls else []
        if flow in (Flow.CALL, Flow.CALL_IF) and to is not None and bit & self.given:
            return [following, (to, True)]
        return None

    @cached_property
    def entered(self) -> frozenset[int]:
        """Addresses to which control may come by what names no address: calls, tables, faults."""
        program = self.program
        found = set(program.listing.addresses[program.graph.first[program.graph.entered]].tolist())
        for function in program.functions:
            found |= {function.start, *program.target.entries(program.listing, function)}
        found |= {pin.address for pin in program.pins} | program.references.labels
        found |= {target for table in program.references.tables for target in table.targets}
        return frozenset(found)
