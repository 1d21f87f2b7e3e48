"""Straight regions of real IA-64 files, put into another legal order at random.

The order here is no scheduler's: instructions that share a register of the table's masks, and
accesses to memory of which one is a store, keep their order; all else is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.operands import Kind
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import SLOTS, TEMPLATES, Bundle, Template
from targets.ia64.isa.fields import BUNDLE, Unit
from targets.ia64.isa.formats import FIRST, LAST, SLOT2, SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import NUMBERS

FILES = ("ia64-libsigar", "ia64-libjnidispatch", "ia64-vmlinux")
LONGEST = 24  # bundles of a region that is taken

# Written by nearly all stores, and by nearly all floating-point instructions, in any order.
_ANY_ORDER = sum(1 << NUMBERS[name] for name in ("alat", "psr.mf", "fpsr.flags"))


def _nop(unit: Unit) -> Insn:
    insn = TABLE.decode(TABLE.find(f"nop.{unit.name.lower()}").match)
    assert insn is not None
    return insn


NOPS = {unit: _nop(unit) for unit in Unit if unit is not Unit.L}


@dataclass(frozen=True)
class Placed:
    """An instruction and the address of its bundle in the file, from which its target counts."""

    insn: Insn
    home: int

    @property
    def uses(self) -> int:
        return TABLE.uses(self.insn)

    @property
    def defs(self) -> int:
        return TABLE.defs(self.insn)

    @property
    def rules(self) -> frozenset[str]:
        assert isinstance(self.insn.op, SlotOp)
        return self.insn.op.rules

    @property
    def is_ordered(self) -> bool:
        """Whether it is an event, or works on the system or the stack: kept behind and before all
        else."""
        effects = TABLE.effects(self.insn.op)
        sched = self.insn.op.sched
        return bool(
            effects.events
            or self.rules
            or sched in ("SEM", "CLD", "FCLD", "CHK_ALAT", "SYST_M2", "TOAR_M", "TOCR", "FRCR")
            or sched in ("FRAR_M", "FOTHER")
            or self.defs >> NUMBERS["r12"] & 1
            or self.insn.name.endswith((".acq", ".rel", ".a", ".sa", ".spill", ".fill"))
        )

    @property
    def leaves(self) -> bool:
        return self.insn.op.flow is not Flow.NEXT


Plan = list[list[Placed]]  # instruction groups


def executable(name: str) -> list[tuple[int, bytes]]:
    """Address and content of each executable section of an input."""
    with inputs.require(name).open("rb") as stream:
        return [
            (section["sh_addr"], section.data())
            for section in ELFFile(stream).iter_sections()
            if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS"
        ]


def regions(name: str, count: int, source: random.Random) -> Iterator[tuple[Slot, ...]]:
    """Straight regions at random places: from behind a stop to the next bundle with a branch."""
    sections = [each for each in executable(name) if len(each[1]) > 100 * BUNDLE]
    sizes = [len(data) for _, data in sections]
    while count:
        ((address, data),) = source.choices(sections, sizes)
        start = source.randrange(1, len(data) // BUNDLE - 1) * BUNDLE
        region = _straight(address, data, start)
        places = any(slot.insn.op.sched == "FRIP" for slot in region)  # gives its own address
        if sum(not is_nop(slot.insn) for slot in region) >= 6 and not places:
            count -= 1
            yield region


def _straight(address: int, data: bytes, start: int) -> tuple[Slot, ...]:
    """The region behind the bundle before `start`; empty if there is none to take."""
    slots: list[Slot] = []
    for at in range(start - BUNDLE, min(len(data), start + LONGEST * BUNDLE), BUNDLE):
        try:
            bundle = list(bundles.straight(data[at : at + BUNDLE], address + at))
        except ValueError:
            return ()
        if at < start:
            if not bundle[-1].stop:
                return ()
            continue
        slots += bundle
        if any(slot.insn.op.flow is not Flow.NEXT for slot in bundle):
            return tuple(slots) if slots[-1].stop else ()
    return ()


def is_nop(insn: Insn) -> bool:
    """Whether the instruction only fills a slot."""
    return insn.name.startswith("nop.")


def planned(slots: Sequence[Slot]) -> Plan:
    """The groups of a region without its nops."""
    plan: Plan = [[]]
    for slot in slots:
        if not is_nop(slot.insn):
            plan[-1].append(Placed(slot.insn, slot.address & -BUNDLE))
        if slot.stop:
            plan.append([])
    return [group for group in plan if group]


# Order ------------------------------------------------------------------------------------------


def conflict(earlier: Placed, later: Placed) -> bool:
    """Whether two instructions share what one of them writes, or an order of memory."""
    shared = earlier.defs & (later.uses | later.defs) | earlier.uses & later.defs
    return bool(shared & ~_ANY_ORDER) or _in_order(earlier, later)


def _in_order(a: Placed, b: Placed) -> bool:
    if a.leaves or b.leaves or a.is_ordered or b.is_ordered:
        return True
    both = TABLE.effects(a.insn.op), TABLE.effects(b.insn.op)
    accesses = all(each.loads or each.stores for each in both)
    return accesses and any(each.stores for each in both)


def shuffled(plan: Plan, source: random.Random) -> Plan:
    """The plan's instructions in another order that keeps every conflict, grouped at random."""
    left = [placed for group in plan for placed in group]
    ordered = []
    while left:
        free = [
            n for n, placed in enumerate(left) if not any(conflict(a, placed) for a in left[:n])
        ]
        ordered.append(left.pop(source.choice(free)))
    return grouped(ordered, source)


def grouped(ordered: Sequence[Placed], source: random.Random) -> Plan:
    """Groups without a register that is written and touched again."""
    plan: Plan = []
    written = 0
    ends = True
    for placed in ordered:
        touched = placed.uses | placed.defs
        alone = placed.is_ordered or placed.leaves
        if ends or alone or touched & written & ~_ANY_ORDER or source.random() < 0.2:
            plan.append([])
            written = 0
        plan[-1].append(placed)
        written |= placed.defs
        ends = alone
    return plan


# Bundles ----------------------------------------------------------------------------------------


def unit_of(insn: Insn) -> str:
    """The letter of the instruction's unit; A for one of an M or an I slot."""
    assert isinstance(insn.op, SlotOp)
    return insn.op.unit


def packed(plan: Plan, end: int) -> tuple[Slot, ...]:
    """The plan in bundles up to the address `end`, each group beginning a bundle."""
    length = _packed(plan, 0)[-1].address // BUNDLE + 1
    return _packed(plan, end - length * BUNDLE)


def end_of(slots: Sequence[Slot]) -> int:
    """The address behind a region."""
    return (slots[-1].address & -BUNDLE) + BUNDLE


def _packed(plan: Plan, start: int) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    address = start
    for group in plan:
        rest = list(group)
        while rest:
            template, filled = _bundle(rest)
            rest = rest[_count(filled) :]
            slots += _slots(template, filled, address, not rest)
            address += BUNDLE
    return tuple(slots)


def _bundle(rest: Sequence[Placed]) -> tuple[Template, list[Placed | None]]:
    """The template that takes most of the next instructions, and what its slots hold."""
    best: tuple[Template, list[Placed | None]] | None = None
    for template in TEMPLATES.values():
        if not template.stops:
            filled = _filled(template, rest)
            if best is None or _count(filled) > _count(best[1]):
                best = template, filled
    assert best is not None and _count(best[1]), TABLE.text(rest[0].insn)
    return best


def _count(filled: Sequence[Placed | None]) -> int:
    return sum(placed is not None for placed in filled)


def _filled(template: Template, rest: Sequence[Placed]) -> list[Placed | None]:
    filled: list[Placed | None] = []
    taken = 0
    units = [unit for unit in template.units if unit is not Unit.L]
    for number, unit in enumerate(units):
        number = SLOTS - 1 if number == len(units) - 1 else number
        if taken < len(rest) and _fits(rest[taken], unit, number, template.is_long, taken):
            filled.append(rest[taken])
            taken += 1
        else:
            filled.append(None)
    return filled


def _fits(placed: Placed, unit: Unit, number: int, is_long: bool, taken: int) -> bool:
    letter = "X" if is_long and number else unit.name
    if FIRST in placed.rules and (number or taken):
        return False
    if placed.rules & {LAST, SLOT2} and number != SLOTS - 1:
        return False
    return letter in ("M", "I") if unit_of(placed.insn) == "A" else unit_of(placed.insn) == letter


def _slots(
    template: Template, filled: Sequence[Placed | None], address: int, ends: bool
) -> Iterator[Slot]:
    units = [unit for unit in template.units if unit is not Unit.L]
    for number, (placed, unit) in enumerate(zip(filled, units, strict=True)):
        letter = Unit.X if template.is_long and number else unit
        insn = NOPS[letter] if placed is None else moved(placed, address)
        if unit_of(insn) == "A":
            insn = insn.replace(slot=int(unit is Unit.I))
        yield Slot(address + number, insn, ends and number == len(units) - 1)


def moved(placed: Placed, address: int) -> Insn:
    """The instruction in a bundle at `address`, with the target that it had."""
    by = placed.home - address
    distances = {
        operand.name: value + by
        for operand, value in zip(placed.insn.op.format.operands, placed.insn.operands, strict=True)
        if operand.kind is Kind.TARGET and operand.name != "tag13"
    }
    return placed.insn.replace(**distances) if distances else placed.insn


def encoded(slots: Sequence[Slot]) -> bytes:
    """The bytes of whole bundles."""
    raw = b""
    for at in sorted({slot.address & -BUNDLE for slot in slots}):
        bundle = [slot for slot in slots if slot.address & -BUNDLE == at]
        raw += bundles.encode(
            Bundle(template_of(bundle), tuple(TABLE.encode(s.insn) for s in bundle))
        )
    return raw


def template_of(bundle: Sequence[Slot]) -> Template:
    """The template of a bundle's slots."""
    units = []
    for slot in bundle:
        letter = unit_of(slot.insn)
        units.append(Unit(slot.insn.operand("slot")) if letter == "A" else Unit[letter])
    if units[-1] is Unit.X:
        units = [Unit.M, Unit.L, Unit.X]
    last = len(bundle) - 1
    stops = frozenset(SLOTS - 1 if n == last else n for n, slot in enumerate(bundle) if slot.stop)
    template = bundles.for_slots(units, stops)
    assert template is not None
    return template


def with_insn(placed: Placed, insn: Insn) -> Placed:
    """Another instruction in the same place."""
    return replace(placed, insn=insn)
