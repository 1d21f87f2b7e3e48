"""IA-64 as a proof of reordering asks for it (`rewriter.core.code.transfer`).

What each instruction is to the proof is in `proving_rows`; here is where instructions may stand
(SDM vol. 3: the pages of the instructions, 4.1).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from rewriter.core.code.groups import Slot
from rewriter.core.code.transfer import Effect, Transfer
from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import register_mask
from rewriter.core.run.kept import by, kept
from targets.ia64.isa.alike import names, those
from targets.ia64.isa.bundles import SLOTS, TEMPLATES
from targets.ia64.isa.fields import BUNDLE, Unit
from targets.ia64.isa.formats import FIRST, LAST, SLOT2, SlotOp
from targets.ia64.isa.groups import Violation, may_read, violations
from targets.ia64.isa.rows import TABLE
from targets.ia64.prove.row_effects import RowEffects
from targets.ia64.prove.row_transfer import STACKED, RowTransfer
from targets.ia64.prove.rows import SILENT, row_transfer
from targets.ia64.registers import AR, CONSTANTS, FR, GR, NAMES
from targets.ia64.standard import STACK, THREAD

_SYSTEM = register_mask(range(AR, len(NAMES)))
_FRAME = register_mask(STACKED)
_UNWRITTEN = (GR, FR, FR + 1)  # an instruction that names one of these as its target is illegal
_SPELLED = {
    (tuple(unit for unit in each.units if unit is not Unit.L), each.stops)
    for each in TEMPLATES.values()
}


class Proving:
    """The target's answers; it keeps what it found out about each row."""

    register_names: Sequence[str] = NAMES
    width = TABLE.width
    constants = CONSTANTS
    observed = _SYSTEM | register_mask((STACK, THREAD))
    framed = _FRAME

    def __init__(self) -> None:
        self._row_transfers: dict[int, RowTransfer] = {}
        self._row_effects: dict[int, RowEffects] = {}
        self._transfers = kept(self._transfer, _told)

    def transfer(self, insn: Insn) -> Transfer:
        """The instruction as the proof sees it."""
        return self._transfers(insn)

    def alike(self, insn: Insn) -> Hashable:
        """The same for instructions of one row that name the same registers and targets."""
        return _naming(insn)

    def effect(self, insn: Insn) -> Effect:
        """What it reads and sets, most often without making its transfer."""
        known = self._row_effects.get(id(insn.op))
        if known is None:
            known = self._row_effects[id(insn.op)] = RowEffects.of(self._made(insn.op))
        return known.effect(insn)

    def _transfer(self, insn: Insn) -> Transfer:
        why = illegal(insn)
        return self._made(insn.op).transfer(insn, f"{insn.name} {why}" if why else "")

    def _made(self, op: Op) -> RowTransfer:
        found = self._row_transfers.get(id(op))
        if found is None:
            found = self._row_transfers[id(op)] = row_transfer(op)
        return found

    def forwarded(self, earlier: Insn, later: Insn) -> int:
        """Mask of what `later` sees as `earlier` in its group has written it."""
        return may_read(earlier, later) | (_FRAME if earlier.name == "alloc" else 0)

    def clashes(self, group: Sequence[Insn]) -> Iterable[Violation]:
        """The pairs that must not share the group."""
        return violations(group)

    def base(self, address: int) -> int:
        """The bundle's address."""
        return address & -BUNDLE

    def following(self, address: int) -> int:
        """The address of the next bundle."""
        return (address & -BUNDLE) + BUNDLE

    def misplaced(self, group: Sequence[Slot]) -> Iterator[tuple[int, str]]:
        """The numbers of a group's slots that must not stand where they do, and why."""
        for number, slot in enumerate(group):
            rules, name = rules_of(slot.insn), slot.insn.name
            if FIRST in rules and number:
                yield number, f"{name} is not the first of its group"
            if LAST in rules and (number != len(group) - 1 or not slot.stop):
                yield number, f"{name} is not the last of its group"
            if SLOT2 in rules and slot.address % BUNDLE != SLOTS - 1:
                yield number, f"{name} is not in slot 2"

    def misshapen(self, slots: Sequence[Slot]) -> Iterator[tuple[Slot, str]]:
        """Slots that are in no bundle that there is."""
        bundle: list[Slot] = []
        for slot in slots:
            if bundle and slot.address & -BUNDLE != bundle[0].address:
                yield from _misshapen(bundle)
                bundle = []
            bundle.append(slot)
        yield from _misshapen(bundle)


def _misshapen(bundle: Sequence[Slot]) -> Iterator[tuple[Slot, str]]:
    units = tuple(unit_of(slot.insn) for slot in bundle)
    is_long = units[-1] is Unit.X
    numbers = [slot.address % BUNDLE for slot in bundle]
    last = len(bundle) - 1
    stops = frozenset(SLOTS - 1 if n == last else n for n, slot in enumerate(bundle) if slot.stop)
    whole = 2 if is_long else SLOTS
    if numbers != list(range(whole)) or (units, stops) not in _SPELLED:
        yield bundle[0], f"no bundle is {''.join(unit.name for unit in units)} with these stops"


_told = by(those(lambda operand: operand.name not in SILENT))
"""The row and the operands that say what is done."""

_naming = by(those(lambda operand: operand.kind is Kind.TARGET or names(operand)))


def unit_of(insn: Insn) -> Unit:
    """What kind of slot an instruction is encoded for."""
    assert isinstance(insn.op, SlotOp)
    if insn.op.unit == "A":
        return Unit.I if insn.operand("slot") else Unit.M
    return Unit[insn.op.unit]


def rules_of(insn: Insn) -> frozenset[str]:
    """The restrictions of the instruction's row."""
    assert isinstance(insn.op, SlotOp)
    return insn.op.rules


def illegal(insn: Insn) -> str:
    """Why the processor refuses the instruction whatever its operands hold, or nothing."""
    targets = [insn.operands[index] for index in TABLE.effects(insn.op).writes]
    for target in targets:
        if target in _UNWRITTEN:
            return "writes a register that cannot be written"
    if len(targets) > 1 and len(set(targets)) < len(targets):
        return "writes one register twice"
    if insn.op.sched == "FLDP" and not (insn.operand("f1") - insn.operand("f2")) & 1:
        return "loads two even or two odd registers"
    return ""
