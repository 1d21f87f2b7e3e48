"""Dependences and registers of straight regions, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.scheduling.bundled_exact import least, within
from passes.scheduling.bundled_graph import addresses, edges
from passes.scheduling.exits import in_frame
from passes.scheduling.renaming import Values
from rewriter.core.code.groups import Slot
from rewriter.core.code.scheduling import Access, Arranged, Edge, Facts, Part
from rewriter.core.isa.instruction import Flow, Format, Insn, Op

NOTHING = Facts(0, 0, (0, 0), 0, 0, 0, frozenset(), None, False, None, False, False, False, True)
Pair = tuple[int, int]


@dataclass(frozen=True)
class Made:
    """Instructions that are known by number alone: each reads some registers and writes one."""

    facts_of: Mapping[int, Facts]

    banks = (0xFF,)
    spare = framed = reframes = 0

    def facts(self, insn: Insn) -> Facts:
        return self.facts_of[insn.operands[0]]

    def needs_stop(self, earlier: Insn, later: Insn) -> bool:
        return True

    def distance(self, earlier: Insn, later: Insn, registers: int) -> int:
        return 2 if registers else 0

    def renamable(self, insn: Insn) -> Pair:
        facts = self.facts(insn)
        return facts.uses | facts.defs, 0

    def renamed(self, insn: Insn, reads: Mapping[int, int], writes: Mapping[int, int]) -> Insn:
        number, read, write = insn.operands
        return Insn(insn.op, (number, reads.get(read, read), writes.get(write, write)))


@dataclass(frozen=True)
class Framing:
    """A frame that begins at register 4."""

    framed: int = 0xF0
    reframes: int = 1


OP = Op("made", Format("made", (), "", 0), 0, 0, lambda *_: None, "", flow=Flow.NEXT)


def code(*facts: Facts) -> tuple[tuple[Slot, ...], Made]:
    named = ((n, f.uses.bit_length() - 1, f.defs.bit_length() - 1) for n, f in enumerate(facts))
    return tuple(Slot(n[0], Insn(OP, n), True) for n in named), Made(dict(enumerate(facts)))


def does(reads: int, writes: int, **more: object) -> Facts:
    values = {name: getattr(NOTHING, name) for name in NOTHING.__slots__}
    return Facts(**{**values, "uses": reads, "defs": writes, **more})


def graph(*facts: Facts) -> list[tuple[Edge, ...]]:
    slots, rules = code(*facts)
    return edges(slots, rules, facts, {})


def test_a_reader_waits_and_a_writer_only_stays_behind() -> None:
    found = graph(does(0, 1), does(1, 2), does(0, 1))
    assert found[1] == (Edge(0, True, 2),)
    assert found[2] == (Edge(0, True, 1), Edge(1, False, 0))


def test_writers_that_only_set_bits_change_places() -> None:
    sets, clears = does(1, 1, gathers=(1, 0)), does(1, 1, gathers=(0, 1))
    assert graph(does(0, 1, gathers=(1, 0)), does(0, 1, gathers=(1, 0)))[1] == ()
    assert graph(does(0, 1, gathers=(1, 0)), does(0, 1, gathers=(0, 1)))[1] != ()
    assert graph(sets, clears)[1] != ()


def test_predicates_of_one_compare_are_never_both_true() -> None:
    compare = does(0, 0b110000, either=frozenset({4, 5}))
    one, other = does(1 << 4, 1, predicate=4), does(1 << 5, 1, predicate=5)
    assert not graph(compare, one, other)[2][-1].apart
    between = does(0, 1 << 4)
    assert graph(compare, one, between, other)[3][0].before == 0
    assert next(e for e in graph(compare, one, between, other)[3] if e.before == 1).apart


@pytest.mark.parametrize(
    ("step", "overlap"), [(8, False), (-8, False), (7, True), (-7, True), (0, True)]
)
def test_accesses_off_one_value(step: int, overlap: bool) -> None:
    """A store of 8 bytes, an addition to the base, and a load of 8 bytes there."""
    store = does(1, 0, access=Access(0, 8), stores=True)
    add = does(1, 2, step=(1, 0, step))
    load = does(2, 4, access=Access(1, 8))
    assert any(edge.before == 0 for edge in graph(store, add, load)[2]) == overlap


def test_a_base_that_is_written_is_another_value() -> None:
    store = does(1, 0, access=Access(0, 8), stores=True)
    places = list(addresses([store, does(0, 1), store]))
    assert places[0] is not None
    assert places[2] is not None
    assert places[0][0] != places[2][0]


def test_a_value_that_is_read_behind_keeps_its_register() -> None:
    slots, names = code(does(0, 1), does(1, 2), does(0, 1), does(1, 2))
    values = Values(slots, 0b11, names)
    assert [value.fixed for value in values.all] == [False, False, True, True]
    facts, stands = values.apart()
    assert facts[2].defs == 1
    assert sorted(stands.values()) == [0, 1]
    assert facts[0].defs == facts[1].uses != 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=8))
def test_code_in_its_own_order_has_registers_enough(pairs: list[Pair]) -> None:
    """Each instruction reads a register and writes one; every read sees the same writer."""
    slots, names = code(*(does(1 << r, 1 << w) for r, w in pairs))
    values = Values(slots, 0b1111, names)
    assert values.settled(slots, range(len(slots))) is not None
    made = values.spread() or slots
    assert _writers(made) == _writers(slots)


def _writers(slots: tuple[Slot, ...]) -> list[int]:
    """For each instruction the one whose result it reads, -1 for none."""
    last: dict[int, int] = {}
    found = []
    for slot in slots:
        number, read, write = slot.insn.operands
        found.append(last.get(read, -1))
        last[write] = number
    return found


class Narrow:
    """Two slots a cycle, one port."""

    places = 2

    def takes(self, insn: Insn) -> int:
        return 1

    def ports(self, insn: Insn) -> frozenset[str]:
        return frozenset({"M"}) if insn.operands[0] < 2 else frozenset({"M", "I"})

    def alone(self, insn: Insn) -> tuple[Pair, ...]:
        return ((1, 3),) if insn.operands[0] == 9 else ()


def part(before: list[tuple[Edge, ...]], numbers: list[int], **more: object) -> Part:
    slots = tuple(Slot(n, Insn(OP, (n,)), True) for n in numbers)
    standing = Arranged(slots, tuple(range(len(slots))))
    return Part(slots, tuple(before), frozenset(), frozenset(), standing, **more)  # type: ignore[arg-type]


def test_the_fewest_cycles_by_hand() -> None:
    """Four instructions, of which two need the one port M: two cycles; a chain adds its own."""
    assert least(part([(), (), (), ()], [0, 1, 2, 3]), Narrow(), 9).least == 2
    chain = [(), (Edge(0, True, 4),), (), ()]
    found = least(part(chain, [0, 1, 2, 3]), Narrow(), 9)
    assert found.least == 5
    assert found.cycles is not None
    assert found.cycles[1] - found.cycles[0] == 4


def test_nothing_issues_beside_what_keeps_others_off() -> None:
    """Number 9 leaves three cycles empty; the other comes before, with it, or after them."""
    behind = [(), (Edge(0, True, 1),)]
    assert least(part(behind, [9, 2]), Narrow(), 9).least == 5
    assert least(part([(), ()], [9, 2]), Narrow(), 9).least == 1


def test_values_wait_for_registers() -> None:
    """Two values, each read three cycles after it is made; with one register, in turn."""
    before = [(), (), (Edge(0, True, 3),), (Edge(1, True, 3),)]
    spans = ((0, 0b0101), (1, 0b1010))
    free = part(before, [2, 3, 4, 5], values=spans, most=2)
    tight = part(before, [2, 3, 4, 5], values=spans, most=1)
    assert within(free, Narrow(), 4, (0, 0, 3, 3), ()) is not None
    assert within(tight, Narrow(), 6, (0, 0, 3, 3), ()) is None
    found = within(tight, Narrow(), 7, (0, 3, 3, 6), ())
    assert found is not None
    assert max(found) == 6


def test_what_control_leaves_at_comes_no_later_than_it_may() -> None:
    """The second stays behind the first, and may issue in the cycle behind its, or in none."""
    before = [(), (Edge(0, True, 1),)]
    assert within(part(before, [2, 3]), Narrow(), 5, (3, 4), (), {1: 1}) == (0, 1)
    assert within(part(before, [2, 3]), Narrow(), 5, (3, 4), (), {1: 0}) is None


def test_what_does_not_fit_is_kept_apart() -> None:
    both = part([(), ()], [2, 3])
    assert within(both, Narrow(), 1, (0, 0), ()) == (0, 0)
    assert within(both, Narrow(), 1, (0, 0), [(0, 1)]) is None


def test_a_base_is_a_register_though_values_are_told_apart() -> None:
    """The second store's base was loaded from where the first address is; so it may be anywhere."""
    facts = (
        does(1, 2, step=(1, 0, 8)),
        does(2, 2, access=Access(1, 8)),
        does(1, 4, access=Access(0, 8)),
        does(2, 0, access=Access(1, 8), stores=True),
        does(0, 2),
    )
    slots, rules = code(*facts)
    values = Values(slots, 0, rules)
    assert values.is_crowded
    found = edges(slots, rules, *values.apart())
    assert {edge.before for edge in found[3]} >= {1, 2}


def test_registers_of_the_frame_are_shown_before_an_exit() -> None:
    framing = Framing()
    facts = [does(0x10, 0x02), does(0x00, 0x20), does(0x80, 0x01)]
    slots, _ = code(*facts)
    assert in_frame(slots, facts, framing, {}) == 0xF0
    assert in_frame(slots, facts, framing, {1: 0}) == 0x30
    assert in_frame(slots, facts, framing, {0: 0}) == 0x10
    assert in_frame(slots[:1], [does(0x02, 0x04)], framing, {}) == 0
    assert in_frame(slots, [*facts[:2], does(0x80, 0x01, order=1)], framing, {}) == 0
