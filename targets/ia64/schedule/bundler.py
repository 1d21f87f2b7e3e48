"""Straight code arranged in bundles for one CPU: what `passes/scheduling/bundled` asks of IA-64."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rewriter.core.code.groups import Slot
from rewriter.core.code.ordering import Model
from rewriter.core.code.scheduling import Arranged, Edge, Part
from rewriter.core.isa.instruction import Insn
from rewriter.core.run.kept import kept
from targets.ia64.isa import formats
from targets.ia64.isa.bundles import SLOTS, TEMPLATES, Bundle, Template, encode, for_slots
from targets.ia64.isa.fields import BUNDLE, SLOT, Unit
from targets.ia64.isa.formats import SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.schedule import packing, scheduling, shapes
from targets.ia64.schedule.nodes import Edges, Layout, Limit, Node, Packed, Problem
from targets.ia64.schedule.ports import Closing, Issued, Ports
from targets.ia64.schedule.search import Search

_RULES = {
    formats.FIRST: shapes.FIRST,
    formats.LAST: shapes.LAST,
    formats.SLOT2: shapes.SLOT2,
}
NOPS: dict[Unit, Insn] = {
    unit: Insn(op, tuple(operand.extract(op.match) for operand in op.format.operands))
    for unit in Unit
    if unit is not Unit.L
    for op in (TABLE.find(f"nop.{unit.name.lower()}"),)
}
_WINDOW = 2  # bundles that issue in one cycle, at most
_WIDE = 64  # texts that are kept where few bundles must do


class Scheduling:
    """IA-64 on a CPU; texts that were packed once are kept."""

    bundle = BUNDLE
    places = _WINDOW * SLOTS
    banks = scheduling.BANKS
    spare = scheduling.SPARE
    framed, reframes = scheduling.FRAMED, scheduling.REFRAMES
    facts = staticmethod(scheduling.facts)
    passable = staticmethod(scheduling.passable)
    needs_stop = staticmethod(scheduling.needs_stop)
    moved = staticmethod(scheduling.moved)
    renamable = staticmethod(scheduling.renamable)
    renamed = staticmethod(scheduling.renamed)

    def __init__(self, model: Model, width: int = 2) -> None:
        self.model, self.width = model, width
        nops = {unit: model.kind(nop) for unit, nop in NOPS.items()}
        self.taking = Ports(self._fits, nops, Closing.of(model.closes, model.apart))
        self._packed: dict[tuple[bytes, int, int, Layout], Packed | None] = {}
        self._cycles: dict[tuple[Node, ...], Packed | None] = {}
        self._sort = kept(self._sorted, scheduling.named)
        self._sorts: dict[tuple[tuple[Unit, ...], int, int], _Sort] = {}

    def distance(self, earlier: Insn, later: Insn, registers: int) -> int:
        """Cycles from the issue of one to that of the other, which reads its `registers`."""
        return self.model.distance(earlier, later, registers)

    def takes(self, insn: Insn) -> int:
        """Slots that an instruction takes."""
        return 2 if scheduling.row(insn).unit == Unit.X.name else 1

    def ports(self, insn: Insn) -> frozenset[str]:
        """The ports that may take an instruction, wherever it stands."""
        return self.model.ports(insn)

    def alone(self, insn: Insn) -> Sequence[tuple[int, int]]:
        """Cycles in which nothing else issues: from, counted from the instruction, and how many."""
        return self.model.alone(insn)

    def cycles(self, slots: Sequence[Slot]) -> int:
        """Modelled cycles of straight code."""
        return self.model.cycles(slots)

    def arrange(self, part: Part) -> Arranged | None:
        """A better arrangement, in no more bundles than stand there; None if none is found."""
        incumbent = tuple(_layout(part.incumbent))
        key = self._key(part), _mask(part.joins), _mask(part.leaves), incumbent
        if key not in self._packed:
            self._packed[key] = self._better(part, incumbent)
        packed = self._packed[key]
        if packed is None:
            return None
        start = part.incumbent.slots[0].address // BUNDLE * BUNDLE
        slots = list(_slots(part, packed, start))
        return Arranged(tuple(slot for slot, _ in slots), tuple(number for _, number in slots))

    def fewest(self, part: Part) -> tuple[int, int]:
        """Cycles and bundles that any arrangement takes at least."""
        return self._problem(part).fewest

    def _key(self, part: Part) -> bytes:
        """What an arrangement depends on beside how the part begins, ends and stands."""
        numbers = array("q")
        for slot, before in zip(part.slots, part.before, strict=True):
            numbers.append(self._sort(slot.insn).number)
            for edge in before:
                numbers.append(-1 - (edge.before << 16 | edge.cycles << 1 | edge.apart))
        for pair in part.values:
            numbers.extend(pair[:1])
            numbers.frombytes(pair[1].to_bytes(-(-len(part.slots) // 64) * 8, "little"))
        numbers.append(part.most)
        return numbers.tobytes()

    def in_cycles(self, part: Part, cycles: Sequence[int]) -> Arranged | list[tuple[int, ...]]:
        """The arrangement in which each instruction issues in its cycle, a group for each; or
        sets of instructions that do not go together."""
        start = part.incumbent.slots[0].address // BUNDLE * BUNDLE
        bundles: list[tuple[int, tuple[int, ...]]] = []
        apart = []
        for cycle in sorted(set(cycles)):
            numbers = tuple(n for n, each in enumerate(cycles) if each == cycle)
            found = self._one_cycle(part, numbers)
            if found is None:
                apart.append(numbers)
            for code, places in found or ():
                bundles.append((code, tuple(numbers[n] if n >= 0 else -1 for n in places)))
        if apart:
            return apart
        slots = list(_slots(part, Packed(tuple(bundles), max(cycles) + 1), start))
        return Arranged(tuple(slot for slot, _ in slots), tuple(number for _, number in slots))

    def _one_cycle(self, part: Part, numbers: Sequence[int]) -> Layout | None:
        """Bundles in which the instructions issue together; None if there are none."""
        place = {number: at for at, number in enumerate(numbers)}
        nodes = []
        for number in numbers:
            inside = [e for e in part.before[number] if e.before in place]
            edges = [Edge(place[e.before], e.apart, e.cycles) for e in inside]
            nodes.append(self._node(part.slots[number].insn, edges))
        key = tuple(nodes)
        if key not in self._cycles:
            every = Edges((1 << len(nodes)) - 1, 0)
            self._cycles[key] = packing.pack(nodes, every, self.taking, _WINDOW, _WIDE)
        found = self._cycles[key]
        return found.bundles if found is not None and found.cycles == 1 else None

    def _better(self, part: Part, incumbent: Layout) -> Packed | None:
        """A text that is better than the one that stands there."""
        search = Search(self._problem(part), self.taking)
        known = Packed(incumbent, search.replay(incumbent)).weight
        return packing.best(search, len(incumbent), self.width, known)

    def _problem(self, part: Part) -> Problem:
        parts = zip(part.slots, part.before, strict=True)
        nodes = [self._node(slot.insn, before) for slot, before in parts]
        edges = Edges(_mask(part.joins), _mask(part.leaves))
        return Problem(nodes, edges, Limit(part.values, part.most) if part.values else None)

    def _fits(self, issued: Issued) -> bool:
        return self.model.fits([(kind, unit.name) for kind, unit in issued])

    def _node(self, insn: Insn, before: Sequence[Edge]) -> Node:
        sort = self._sort(insn)
        edges = tuple([(edge.before, edge.apart, edge.cycles) for edge in before])
        return Node(sort.units, sort.kind, edges, sort.rules, sort.choices)

    def _sorted(self, insn: Insn) -> _Sort:
        kind, choices = self.model.kind(insn), len(self.model.ports(insn))
        units, rules = _row(scheduling.row(insn))
        key = units, kind, rules
        if key not in self._sorts:
            self._sorts[key] = _Sort(len(self._sorts), units, kind, rules, choices)
        return self._sorts[key]


@dataclass(frozen=True, slots=True)
class _Sort:
    """What packing asks of an instruction; the `number` is the same where the rest is."""

    number: int
    units: tuple[Unit, ...]
    kind: int
    rules: int
    choices: int


@cache
def _row(op: SlotOp) -> tuple[tuple[Unit, ...], int]:
    """The units that a row's instructions may stand on, and their rules as bits."""
    units = (Unit.M, Unit.I) if op.unit == "A" else (Unit[op.unit],)
    return units, sum(bit for rule, bit in _RULES.items() if rule in op.rules)


def _mask(numbers: frozenset[int]) -> int:
    return sum([1 << number for number in numbers])


def _layout(incumbent: Arranged) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The template of each bundle, and the numbers of what stands there."""
    at = 0
    for bundle in _in_bundles(incumbent.slots):
        yield _template(bundle).code, incumbent.origins[at : at + len(bundle)]
        at += len(bundle)


def _slots(part: Part, packed: Packed, address: int) -> Iterator[tuple[Slot, int]]:
    for code, numbers in packed.bundles:
        template = TEMPLATES[code]
        units = (Unit.M, Unit.X) if template.is_long else template.units
        for at, (unit, number) in enumerate(zip(units, numbers, strict=True)):
            insn = scheduling.on(part.slots[number].insn, unit) if number >= 0 else NOPS[unit]
            last = SLOTS - 1 if at == len(units) - 1 else at
            yield Slot(address + at, insn, last in template.stops), number
        address += BUNDLE


def code(slots: Sequence[Slot]) -> bytes:
    """The bytes of whole bundles; ValueError where the slots are none."""
    return b"".join(
        encode(Bundle(_template(bundle), tuple([_word(slot.insn) for slot in bundle])))
        for bundle in _in_bundles(slots)
    )


_word = kept(TABLE.encode)


def _in_bundles(slots: Sequence[Slot]) -> Iterator[Sequence[Slot]]:
    at = 0
    while at < len(slots):
        end, address = at + 1, slots[at].address // BUNDLE
        while end < len(slots) and slots[end].address // BUNDLE == address:
            end += 1
        yield slots[at:end]
        at = end


def _template(slots: Sequence[Slot]) -> Template:
    units = [_unit(slot.insn) for slot in slots]
    if units[-1] is Unit.X:
        units[1:] = [Unit.L, Unit.X]
    stops = frozenset(n if n < len(slots) - 1 else SLOTS - 1 for n, s in enumerate(slots) if s.stop)
    template = _template_of(tuple(units), stops)
    if template is None:
        raise ValueError(f"no template has units {units} and stops {sorted(stops)}")
    return template


_template_of = cache(for_slots)


def _unit(insn: Insn) -> Unit:
    unit = scheduling.row(insn).unit
    return Unit(insn.operand(SLOT.name)) if unit == "A" else Unit[unit]
