"""Straight PowerPC code run on unknowns, from its top to each place where control may leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import z3

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.registers import CA, CONSTANTS, CR, OV, SO
from tests.support.mutants.plain_base import WORD
from tests.support.mutants.plain_run import Leaving, Run
from tests.support.mutants.ppc_ways import Ways
from tests.support.mutants.z3_machine import Z3Machine

_LONGEST, _FURTHER = 96, 24
_NARROW: Mapping[int, int] = {**{CR + n: 4 for n in range(8)}, CA: 1, OV: 1, SO: 1}
"""Registers of fewer bits than a machine's, and how many they have."""


@dataclass
class PpcMachine(Z3Machine):
    """Memory is an array of bytes, and accesses need no alignment.

    What the table does not say of a result is a function of what it depends on; events, between
    which nothing may change places with an access, see the memory and how much was accessed.
    """

    byteorder: ByteOrder = "big"

    def __post_init__(self) -> None:
        self.memory = z3.Array("bytes", z3.BitVecSort(self.width), z3.BitVecSort(8))

    def get(self, source: Any) -> Any:
        bits = _NARROW.get(source) if isinstance(source, Reg) else None
        if bits is not None and source not in self.registers:
            unknown = z3.BitVec(f"r{int(source)}", bits)
            self.registers[source] = z3.ZeroExt(self.width - bits, unknown)
        return super().get(source)

    def _bytes(self, address: Any, size: int) -> list[Any]:
        """Where they are, the most significant first."""
        places = [z3.simplify(address + self.const(n)) for n in range(size)]
        return places if self.byteorder == "big" else places[::-1]

    def load(self, address: Any, size: int) -> Any:
        self.accesses.append((False, size, z3.simplify(address)))
        parts = [z3.Select(self.memory, place) for place in self._bytes(address, size)]
        whole = parts[0] if size == 1 else z3.Concat(*parts)
        rest = self.width - 8 * size
        return whole if rest == 0 else z3.ZeroExt(rest, whole)

    def store(self, address: Any, value: Any, size: int) -> None:
        self.accesses.append((True, size, z3.simplify(address)))
        for n, place in enumerate(reversed(self._bytes(address, size))):
            byte = z3.simplify(z3.Extract(8 * n + 7, 8 * n, value))
            self.memory = z3.Store(self.memory, place, byte)

    def conditional_store(self, address: Any, value: Any, size: int) -> Any:
        self.event("conditional store", address, value, self.const(size))
        self.store(address, value, size)
        return self.observed("lock held")

    def event(self, name: str, *values: Any) -> None:
        self.seen.append((name, (*values, self.memory, self.const(len(self.accesses)))))

    def arithmetic(self, name: str, *values: Any) -> None:
        self.seen.append((name, values))

    def observed(self, name: str, *values: Any) -> Any:
        return self.opaque(f"{name}/{len(self.seen)}", *values)

    def opaque(self, name: str, *values: Any) -> Any:
        if not values:
            return z3.BitVec(name, self.width)
        return z3.Function(name, *(v.sort() for v in values), z3.BitVecSort(self.width))(*values)


def run(
    ways: Ways, first: int, other: Mapping[int, Insn], last: int, through: bool = False
) -> Run | None:
    """Code from `first` at least to `last`, with some instructions replaced by others.

    Branches are left on the way; the code ends behind what always goes elsewhere, before a call,
    and, unless it goes `through`, where control may come from elsewhere.  None where `last` is not
    reached so.
    """
    image = ways.program.image
    machine = PpcMachine(dict(CONSTANTS), ways.table.width, byteorder=image.byteorder)
    leaving, address = list[Leaving](), first
    limit = last + WORD * _FURTHER if through else first + WORD * _LONGEST
    while address < limit:
        insn = other.get(address) or ways.base.insn(address)
        if insn is None or insn.size != WORD or insn.op.flow.calls:
            break
        if not through and address > last and address in ways.heads:
            break
        machine.condition = machine.target = None
        machine.execute(insn, address)
        if machine.condition is not None:
            condition = z3.simplify(machine.condition)
            known = insn.target(address)
            back = insn.op.flow in (Flow.RETURN, Flow.RETURN_IF)
            settled = None if known is None else ways.settled(known)
            state = condition, machine.copy(), machine.target, back
            leaving.append(Leaving(known, settled, *state))
            if z3.is_true(condition):
                return tuple(leaving)
        elif insn.op.flow not in (Flow.NEXT, Flow.TRAP):
            break
        address += WORD
    if address <= last:
        return None
    leaving.append(Leaving(address, ways.settled(address), z3.BoolVal(True), machine))
    return tuple(leaving)
