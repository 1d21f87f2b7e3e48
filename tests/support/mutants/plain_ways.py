"""Where control goes in plain code, simply and on the safe side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

from rewriter.core.addresses import NOWHERE
from rewriter.core.isa.instruction import AWAY, Flow, Insn
from tests.support.mutants.plain_base import WORD, PlainBase
from tests.support.mutants.plain_run import Settled

_STRAIGHT, _SETTLING = 48, 16
"""Instructions that are looked at, at most."""


class PlainWays(ABC):
    """The code of one file."""

    def __init__(self, base: PlainBase) -> None:
        self.base, self.program = base, base.program
        self.table = base.program.target.table

    @property
    @abstractmethod
    def entered(self) -> frozenset[int]:
        """Addresses to which control may come by what names no address: calls, tables, faults."""

    @cached_property
    def heads(self) -> frozenset[int]:
        """Addresses to which control may come otherwise than from the one before."""
        targets = self.base.listing.targets
        return self.entered | {int(target) for target in targets[targets != NOWHERE]}

    @abstractmethod
    def may_read(self, address: int, register: int) -> bool:
        """Whether anything may read what is in a register when control comes to an address."""

    def straight_before(self, address: int) -> int:
        """Where straight code begins that control enters at its top only and runs to an address."""
        first = address
        while first not in self.heads and address - first < _STRAIGHT * WORD:
            before = self.base.insn(first - WORD)
            if before is None or before.op.flow not in (Flow.NEXT, Flow.BRANCH):
                break
            first -= WORD
        return first

    def is_reached(self, address: int) -> bool:
        """Whether control may come to an address."""
        while address not in self.heads:
            address -= WORD
            before = self.base.insn(address)
            if before is None or before.op.flow in AWAY:
                return before is None
        return True

    def is_entered(self, first: int, last: int) -> bool:
        """Whether control may come from elsewhere to what is behind `first`, up to `last`."""
        return any(place in self.heads for place in range(first + WORD, last + WORD, WORD))

    def settled(self, address: int, other: Mapping[int, Insn] | None = None) -> Settled:
        """Where control comes to that goes to an address, with some instructions replaced."""
        for _ in range(_SETTLING):
            insn = (other or {}).get(address) or self.base.insn(address)
            if insn is None:
                break
            if self.program.target.is_nop(insn):
                address += insn.size
            elif insn.op.flow is Flow.RETURN and self.table.defs(insn) == 0:
                return without_hint(insn)
            elif insn.op.flow is Flow.JUMP and self.table.defs(insn) == 0:
                address = insn.target(address) or address
            else:
                break
        return address


def without_hint(insn: Insn) -> Insn:
    """The same with nothing said of where a jump probably goes."""
    return insn.replace(hint=0) if insn.has("hint") else insn
