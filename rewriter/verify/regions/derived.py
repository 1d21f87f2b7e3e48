"""Code whose instructions stand alone, as the proof of reordering asks for it.

All comes from what the table's recorder found out about a row: an instruction is an unknown
function of the registers that it reads, itself with all that its operands say, and each register
that it writes is one result.  So nothing depends on what its meaning is, nor on the width or the
order of bytes that memory has.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.core.code.dataflow import registers_of
from rewriter.core.code.groups import Slot
from rewriter.core.code.transfer import (
    Clash,
    Effect,
    Exit,
    Order,
    Result,
    Sum,
    Transfer,
    effect_of,
)
from rewriter.core.isa.instruction import COMING_BACK, Flow, Insn
from rewriter.core.isa.table import REMEMBERED
from rewriter.core.target.protocol import Sequential, asks_processor, names_enabled
from rewriter.verify.regions.proof import Regions, Straight

Item = tuple[int, Insn]
"""An instruction and where it stands."""


@dataclass
class Derived:
    """A target's answers; what it found out about an instruction is kept.

    `devices` says that the code is a system's: any access may be to a device, so that all keep
    their order, and what else reads where the data of the processor is keeps it with them.  What
    traps till the system turns it on stays among events.
    """

    target: Sequential
    devices: bool = False
    observed: int = 0
    framed: int = 0
    _known: dict[Insn, Transfer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table = self.target.table
        self.register_names: Sequence[str] = table.register_names
        self.width, self.constants = table.width, table.constants

    def transfer(self, insn: Insn) -> Transfer:
        """The instruction as the proof sees it."""
        found = self._known.get(insn)
        if found is None:
            if len(self._known) == REMEMBERED:
                self._known.clear()
            found = self._known[insn] = self._transfer(insn)
        return found

    def _transfer(self, insn: Insn) -> Transfer:
        table, target = self.target.table, self.target
        uses, defs = table.uses(insn), table.defs(insn)
        if target.is_nop(insn):
            return Transfer(insn.name, 0, 0)
        sums: tuple[Sum, ...] = ()
        step = target.linear(insn)
        if step is not None and defs >> step[0] & 1:
            sums = (Sum(step[0], (step[1],), step[2]),)
        summed = {total.register for total in sums}
        reads: tuple[int, ...] = registers_of(uses)
        order = self._order(insn)
        size, displacement = 0, 0
        accesses = order in _ACCESSES and table.accesses(insn)
        place = target.spelling.address(insn) if accesses else None
        if place is not None:
            base, displacement = place
            size, reads = self._size(insn), (base, *reads)
        return Transfer(
            insn.name,
            uses,
            defs,
            (insn.op, insn.placeless),
            reads=reads,
            results=tuple(Result(r, r) for r in registers_of(defs) if r not in summed),
            sums=sums,
            order=order,
            size=size,
            exit=_exit(insn),
            is_placed=self._is_placed(insn),
            displacement=displacement,
        )

    def _order(self, insn: Insn) -> Order:
        """What must not change places with it.

        Stores keep their order, since another processor may look.
        """
        effects = self.target.table.effects(insn.op)
        hint = effects.loads and not self.target.table.defs(insn)
        if effects.events or hint or self.target.in_order(insn):
            return Order.FENCE
        ordered = effects.loads or asks_processor(insn, self.target)
        if effects.stores or (ordered and self.devices):
            return Order.KEPT
        if self.devices and names_enabled(insn, self.target):
            return Order.COUNTED
        return Order.LOAD if effects.loads else Order.FREE

    def _size(self, insn: Insn) -> int:
        """Bytes that it may touch from its address on; 0 where its row does not say.

        Where accesses are aligned some take no account of the lowest bits of their address.
        """
        table, effects = self.target.table, self.target.table.effects(insn.op)
        if effects.selected:
            return 0
        return max(effects.size, table.cell) if table.aligned else effects.size

    def _is_placed(self, insn: Insn) -> bool:
        """Whether a result says where it stands; of a transfer it says where control goes on."""
        reads = insn.op.format.target is not None or self.target.table.effects(insn.op).placed
        return insn.op.flow is Flow.NEXT and reads

    def effect(self, insn: Insn) -> Effect:
        """What it reads and sets."""
        return effect_of(self.transfer(insn))

    def alike(self, insn: Insn) -> Hashable:
        """The instruction itself."""
        return insn

    def forwarded(self, earlier: Insn, later: Insn) -> int:
        """Nothing: each instruction is a group of its own."""
        return 0

    def clashes(self, group: Sequence[Insn]) -> Iterable[Clash]:
        """None: each instruction is a group of its own."""
        return ()

    def misplaced(self, group: Sequence[Slot]) -> Iterable[tuple[int, str]]:
        """None: an instruction may stand anywhere."""
        return ()

    def misshapen(self, slots: Sequence[Slot]) -> Iterator[tuple[Slot, str]]:
        """None: an instruction stands alone."""
        yield from ()

    def base(self, address: int) -> int:
        """The instruction's own address."""
        return address

    def following(self, address: int) -> int:
        """One for all: where code ends, who compares must know."""
        return _END


_END = 0
_ACCESSES = (Order.LOAD, Order.KEPT)


def _exit(insn: Insn) -> Exit | None:
    """How control may leave; where to, who compares must know."""
    flow = insn.op.flow
    if flow in (Flow.NEXT, Flow.HERE):
        return None
    return Exit(certain=not flow.falls and flow not in COMING_BACK)


class Orders:
    """Shows that straight code of one target is only put in another order."""

    def __init__(self, target: Sequential, devices: bool = False) -> None:
        self._target, self._regions = target, Regions(Derived(target, devices))

    def objection(
        self,
        old: Sequence[Item],
        new: Sequence[Item],
        live: int,
        exits: Mapping[int, int],
        faulting: tuple[Collection[int], Collection[int]] = ((), ()),
    ) -> str:
        """Why the new order is not shown to do the same, or nothing.

        `live` may be read behind the end, `exits` says by old address what may be read where a
        transfer of control leaves.  At the addresses of `faulting`, in the old and the new code,
        control may leave before the instruction does anything, and anything may be read then.
        """
        before, after = (
            Straight(tuple(Slot(at, insn, True) for at, insn in code), seen=frozenset(places))
            for code, places in zip((old, new), faulting, strict=True)
        )
        everything, end = self._target.everything, {_END: live}
        return self._regions.compare(before, after, everything, at=end, left=exits).reason
