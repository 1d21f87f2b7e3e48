"""Packing against an enumeration of all texts, and what any text must be like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st

from passes.scheduling.bundled_model import Model
from rewriter.core.isa.instruction import Insn
from targets.ia64.cpus import CPUS
from targets.ia64.isa.bundles import TEMPLATES, Template
from targets.ia64.isa.fields import Unit
from targets.ia64.isa.rows import TABLE
from targets.ia64.schedule.bundler import Scheduling
from targets.ia64.schedule.nodes import Edges, Node, Problem
from targets.ia64.schedule.packing import best, fewest, lighter, pack
from targets.ia64.schedule.search import Search
from targets.ia64.schedule.shapes import FIRST, LAST, SLOT2, Branching, without

KINDS = ((Unit.M, Unit.I), (Unit.M,), (Unit.I,), (Unit.F,), (Unit.B,), (Unit.X,))
RULES = {(Unit.M,): (0, 0, FIRST), (Unit.B,): (0, 0, LAST, SLOT2)}
SCHEDULING = Scheduling(Model(CPUS["itanium2"]))
ROWS = {  # of each units some instructions that different ports take
    KINDS[0]: ("add",),
    KINDS[1]: ("ld8", "st8", "getf.sig", "mov.m"),
    KINDS[2]: ("shl", "dep", "mov.i", "popcnt"),
    KINDS[3]: ("fma.d",),
    KINDS[4]: ("br.cond",),
    KINDS[5]: ("movl",),
}
State = tuple[int, int, bool]
"""Nodes placed, those in the open group, whether the group has anything at all."""


@st.composite
def nodes(draw: st.DrawFn, most: int) -> tuple[Node, ...]:
    """Nodes of any units, each behind some earlier ones, with or without a stop between."""
    made = []
    for number in range(draw(st.integers(1, most))):
        units = draw(st.sampled_from(KINDS))
        edges = [draw(st.sampled_from((None, None, False, True))) for _ in range(number)]
        before = tuple((n, stop, int(stop)) for n, stop in enumerate(edges) if stop is not None)
        rule = draw(st.sampled_from(RULES.get(units, (0,))))
        insn = insn_of(draw(st.sampled_from(ROWS[units])))
        kind, choices = SCHEDULING.model.kind(insn), len(SCHEDULING.ports(insn))
        made.append(Node(units, kind, before, rule, choices))
    return tuple(made)


def insn_of(name: str) -> Insn:
    """An instruction of a row."""
    insn = TABLE.decode(TABLE.find(name).match)
    assert insn is not None
    return insn


def units_of(template: Template) -> tuple[Unit, ...]:
    return (Unit.M, Unit.X) if template.is_long else template.units


def follows(nodes: tuple[Node, ...], state: State, template: Template) -> Iterator[State]:
    """All that one bundle can do: in each slot a nop, or any node that may stand there."""
    units = units_of(template)
    states = {(*state, False)}
    for slot, unit in enumerate(units):
        stop = (2 if slot == len(units) - 1 else slot) in template.stops
        after = set()
        for placed, group, begun, ended in states:
            if not ended:
                after.add((placed, 0 if stop else group, begun and not stop, False))
            for number, node in enumerate(nodes):
                bit = 1 << number
                if (
                    placed & bit
                    or unit not in node.units
                    or ended
                    or any(not placed >> n & 1 or (s and group >> n & 1) for n, s, _ in node.before)
                    or (node.rules & FIRST and begun)
                    or (node.rules & SLOT2 and slot != len(units) - 1)
                ):
                    continue
                is_last = bool(node.rules & LAST) and not stop
                after.add((placed | bit, 0 if stop else group | bit, not stop, is_last))
        states = after
    # What must be the last of its group may stand at the end: the next bundle begins a group.
    yield from ((p, g, b) for p, g, b, ended in states if not ended)


def enumerated(nodes: tuple[Node, ...]) -> int:
    """The fewest bundles, by trying every template and every way to fill it."""
    every = (1 << len(nodes)) - 1
    states: set[State] = {(0, 0, False)}
    bundles = 0
    while not any(placed == every for placed, _, _ in states):
        states = {
            s for state in states for t in TEMPLATES.values() for s in follows(nodes, state, t)
        }
        bundles += 1
    return bundles


@settings(max_examples=60)
@given(nodes(4))
def test_fewest_is_what_an_enumeration_finds(some: tuple[Node, ...]) -> None:
    least = enumerated(some)
    assert fewest(some) == least
    every = (1 << len(some)) - 1
    assert Problem(some, Edges(every, 0)).bundles(every) <= least


_CHAIN = (((4, True, 1),), ((5, True, 1),), ((6, True, 1),))


@settings(max_examples=100)
@given(nodes(8), st.integers(0, 3))
@example(  # a bundle with nothing but nops left in its cycle
    tuple(Node(KINDS[0], 0, (), 0, 0) for _ in range(5))
    + tuple(
        Node(KINDS[kind], 0, before, 0, 0) for kind, before in zip((3, 4, 0), _CHAIN, strict=True)
    ),
    1,
)
def test_nothing_is_lighter_than_the_bound(some: tuple[Node, ...], slack: int) -> None:
    """What a narrow and a wide search find together is no heavier than what a wide one finds."""
    problem = Problem(some, Edges((1 << len(some)) - 1, 0))
    search, most = Search(problem, SCHEDULING.taking), 2 * len(some)
    wide = lighter(search, most, 64, 1 << 30)
    assert wide is not None
    assert wide.weight >= problem.least
    found = best(search, most, 64, wide.weight + slack)
    assert found is not None or not slack
    if found is not None:
        assert problem.least <= found.weight <= wide.weight
        assert found.weight < wide.weight + slack


def test_what_never_issues_together_takes_two_cycles() -> None:
    """Two additions; no stop between them, but a cycle."""
    sums = Node((Unit.M, Unit.I), 0, ()), Node((Unit.M, Unit.I), 0, ((0, False, 1),))
    packed = pack(sums, Edges(3, 0), SCHEDULING.taking, 2, 4)
    assert packed is not None
    assert packed.cycles == 2


def kind_of(name: str) -> int:
    """What ports take an instruction."""
    return SCHEDULING.model.kind(insn_of(name))


def straight(*sorts: tuple[tuple[Unit, ...], str]) -> list[Node]:
    """Instructions that keep their order and need no stop, of units and rows."""
    return [
        Node(units, kind_of(name), tuple((n, False, 0) for n in range(number)))
        for number, (units, name) in enumerate(sorts)
    ]


def cycles_of(nodes: list[Node]) -> int:
    packed = pack(nodes, Edges((1 << len(nodes)) - 1, 0), SCHEDULING.taking, len(nodes), 8)
    assert packed is not None
    search = Search(Problem(nodes, Edges((1 << len(nodes)) - 1, 0)), SCHEDULING.taking)
    assert search.replay(packed.bundles) == packed.cycles
    return packed.cycles


def test_a_cycle_ends_behind_a_branch() -> None:
    """Even where a second bundle and ports are left; behind an empty B slot it goes on."""
    add, ld8, br = (KINDS[0], "add"), (KINDS[1], "ld8"), (KINDS[4], "br.cond")
    assert cycles_of(straight(add, add, br)) == 1
    assert cycles_of(straight(add, br, ld8)) == 2
    assert cycles_of(straight(br, br)) == 1


def test_a_long_bundle_waits_behind_two_integer_slots() -> None:
    """The one pair of bundles without a branch that never shares a cycle: MII and MLX."""
    shl, ld8, movl = (KINDS[2], "shl"), (KINDS[1], "ld8"), (KINDS[5], "movl")
    assert cycles_of(straight(shl, shl, movl)) == 2
    assert cycles_of(straight(ld8, shl, movl)) == 1


def test_what_one_port_takes_needs_as_many_cycles_and_a_branch_an_integer_slot() -> None:
    """By hand: two moves that only I0 takes, and a return: no bundle has two I slots and a B."""
    names = (KINDS[2], "mov.i"), (KINDS[2], "mov.i"), (KINDS[4], "br.ret")
    nodes = [
        Node(units, kind_of(name), (), 0, len(SCHEDULING.ports(insn_of(name))))
        for units, name in names
    ]
    assert Problem(nodes, Edges(7, 0)).fewest == (2, 2)
    packed = pack(nodes, Edges(7, 0), SCHEDULING.taking, 2, 4)
    assert packed is not None
    assert (packed.cycles, len(packed.bundles)) == (2, 2)


def test_what_waits_may_stand_in_front_of_what_does_not() -> None:
    """A load from where another one says, and additions: two bundles are enough only where the
    second load, which waits for two cycles, is in front of an addition that does not."""
    load, add = kind_of("ld8"), kind_of("adds")
    either = (Unit.M, Unit.I)
    some = (
        Node((Unit.M,), load, ()),
        Node((Unit.M,), load, ((0, True, 2),)),
        Node(either, add, ((1, True, 1),)),
        Node(either, add, ((0, True, 1),)),
        Node(either, add, ()),
        Node(either, add, ()),
    )
    packed = pack(some, Edges(63, 0), SCHEDULING.taking, 6, 4)
    assert packed is not None
    assert (fewest(some), len(packed.bundles), packed.cycles) == (2, 2, 4)


def test_a_slot_goes_to_what_fits_no_other() -> None:
    """Three additions that need another one and two loads: two bundles are enough only where the
    loads have both M slots of the first and the addition, as urgent as they are, its I slot."""
    load, add = kind_of("ld8"), kind_of("adds")
    either = (Unit.M, Unit.I)
    needs = tuple((n, True, 1) for n in range(3))
    rest = tuple(Node(either, add, needs) for _ in range(3))
    some = (Node(either, add, ()), Node((Unit.M,), load, ()), Node((Unit.M,), load, ()), *rest)
    packed = pack(some, Edges(63, 0), SCHEDULING.taking, 6, 4)
    assert packed is not None
    assert (fewest(some), len(packed.bundles), packed.cycles) == (2, 2, 2)


def spelled(places: Iterable[Branching], before: str = "") -> Iterator[tuple[int, str]]:
    """The templates of a tree, with letters of units and bars for stops."""
    for unit, _, ends, _, code, then in places:
        so_far = before + Unit(unit).name + "|" * ends
        if then:
            yield from spelled(then, so_far)
        else:
            yield code, so_far


@given(st.sets(st.sampled_from((Unit.F, Unit.B, Unit.X))))
def test_the_tree_has_each_template_without_some_units_once(units: set[Unit]) -> None:
    expected = {
        code: "".join(unit.name + "|" * (n in t.stops) for n, unit in enumerate(units_of(t)))
        for code, t in TEMPLATES.items()
        if 2 not in t.stops and not units & set(units_of(t))
    }
    found = list(spelled(without(sum(1 << unit for unit in units))))
    assert len(found) == len(expected)
    assert dict(found) == expected


@settings(max_examples=150)
@given(nodes(9), st.sampled_from((1, 8)))
def test_a_text_has_every_node_once_where_it_may_be(some: tuple[Node, ...], width: int) -> None:
    packed = pack(some, Edges((1 << len(some)) - 1, 0), SCHEDULING.taking, 2 * len(some), width)
    assert packed is not None
    every = (1 << len(some)) - 1
    assert Problem(some, Edges(every, 0)).bundles(every) <= fewest(some) <= len(packed.bundles)
    place: dict[int, tuple[int, int]] = {}
    group = position = 0
    firsts = {0: 0}
    for code, numbers in packed.bundles:
        template = TEMPLATES[code]
        units = units_of(template)
        for slot, (unit, number) in enumerate(zip(units, numbers, strict=True)):
            if number >= 0:
                assert number not in place
                assert unit in some[number].units
                place[number] = group, position
                if some[number].rules & FIRST:
                    assert firsts[group] == position
                if some[number].rules & SLOT2:
                    assert slot == len(units) - 1
            position += 1
            if (2 if slot == len(units) - 1 else slot) in template.stops:
                group += 1
                firsts[group] = position
            elif number >= 0:
                assert not some[number].rules & LAST
    assert place.keys() == set(range(len(some)))
    for number, node in enumerate(some):
        for before, stop, _ in node.before:
            assert place[before][1] < place[number][1]
            assert not stop or place[before][0] < place[number][0]


def test_more_texts_kept_are_never_worse() -> None:
    """Four loads, and four additions that need them."""
    loads = tuple(Node((Unit.M,), 0, ()) for _ in range(4))
    sums = tuple(Node((Unit.M, Unit.I), 0, ((n, True, 1),)) for n in range(4))
    found = [pack((*loads, *sums), Edges(255, 0), SCHEDULING.taking, 9, w) for w in (1, 4, 16)]
    weights = [each.weight for each in found if each is not None]
    assert len(weights) == 3
    assert weights == sorted(weights, reverse=True)
