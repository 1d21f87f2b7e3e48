"""Which registers hold a value at a place in a block."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property

from rewriter.core.code.dataflow import Trace, registers_of
from rewriter.core.terms.term import Term


class Held:
    """What registers hold before a slot, once some other slots have gone."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def _writers(self) -> dict[int, list[int]]:
        """By register, the slots that write it, ascending."""
        found: dict[int, list[int]] = {}
        for slot, insn in enumerate(self.trace.insns):
            for register in registers_of(self.trace.table.defs(insn)):
                found.setdefault(register, []).append(slot)
        return found

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """By a value's number, the registers that it is in somewhere."""
        found: dict[int, dict[int, None]] = {}
        for register, value in self.trace.initial.items():
            found.setdefault(value.number, {})[register] = None
        for slot in range(len(self.trace.insns)):
            for register, value in self.trace.results(slot).items():
                found.setdefault(value.number, {})[register] = None
        return {number: list(registers) for number, registers in found.items()}

    def writer(self, register: int, slot: int, gone: Container[int]) -> int | None:
        """The last slot before one that writes a register; None where it is the block's start."""
        earlier = (s for s in reversed(self._writers.get(register, ())) if s < slot)
        return next((s for s in earlier if s not in gone), None)

    def value(self, register: int, slot: int, gone: Container[int]) -> Term | None:
        """What a register holds before a slot; None where nothing is known of it."""
        writer = self.writer(register, slot, gone)
        if writer is None:
            return self.trace.initial.get(register)
        return self.trace.results(writer)[register]

    def holders(self, value: Term, slot: int, gone: Container[int]) -> Iterator[int]:
        """The registers that hold a value before a slot."""
        for register in self._places.get(value.number, ()):
            if self.value(register, slot, gone) is value:
                yield register
