"""What the prover says of claims: as a solver of arrays says, under what is given, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.core.edit import Grade
from rewriter.core.terms.evaluate import Evaluator
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms import prover as prove
from rewriter.verify.terms.assumed import under
from rewriter.verify.terms.lower import Lowering
from rewriter.verify.terms.patterns import close, exact, general, opened
from rewriter.verify.terms.prover import Prover

CELL = 8
Node = tuple[Any, ...]
DISTANCES = (0, 3, 7, 8, 12, 2**64 - 5)


def _places() -> list[Node]:
    """Two free values, an anchor of memory, and cells beside each value."""
    nodes: list[Node] = [("?", 64), ("?", 64), ("?", "mem"), ("const", 2**64 - CELL)]
    for root in (0, 1):
        for distance in DISTANCES:
            nodes.append(("const", distance))
            nodes.append(("add", "", root, len(nodes) - 1))
            nodes.append(("and", "", len(nodes) - 1, 3))
    return nodes


PLACES = _places()
CELLS = [n for n, node in enumerate(PLACES) if node[0] == "and"]


@st.composite
def accesses(draw: st.DrawFn) -> tuple[tuple[Node, ...], int, int]:
    """Stores, a load after some of them, an uninterpreted value, and two nodes to compare."""
    nodes = list(PLACES)
    memories, values = [2], [0, 1]
    place = st.sampled_from(CELLS)
    for _ in range(draw(st.integers(2, 6))):
        memory = draw(st.sampled_from(memories[-2:]))
        kind = draw(st.sampled_from(("store", "store", "load", "load", "opaque")))
        value = draw(st.sampled_from(values))
        if kind == "store":
            memories.append(len(nodes))
            nodes.append((kind, "", memory, draw(place), value))
        else:
            values.append(len(nodes))
            nodes.append((kind, "", memory, draw(place)) if kind == "load" else (kind, "f", value))
    for memory in memories[-2:]:
        values.append(len(nodes))
        nodes.append(("load", "", memory, draw(place)))
    return tuple(nodes), values[-1], draw(st.sampled_from(values[:-1]))


def _by_arrays(nodes: Sequence[Node]) -> list[Any]:
    """The nodes over Z3's own arrays and functions, as SMT-LIB has them."""
    word = z3.BitVecSort(64)
    f, done = z3.Function("f", word, word), list[Any]()
    for number, (kind, data, *args) in enumerate(nodes):
        of = [done[a] for a in args]
        if kind == "?":
            memory = data == "mem"
            name = f"x{number}"
            done.append(z3.Array(name, word, word) if memory else z3.BitVec(name, 64))
        elif kind == "const":
            done.append(z3.BitVecVal(data, 64))
        else:
            done.append(
                {
                    "add": lambda a, b: a + b,
                    "and": lambda a, b: a & b,
                    "store": z3.Store,
                    "load": z3.Select,
                    "opaque": f,
                }[kind](*of)
            )
    return done


def _differ(solver: Any, done: Sequence[Any], a: int, b: int) -> Any:
    solver.add(done[a] != done[b])
    return solver.check()


@settings(max_examples=40)
@given(accesses())
def test_loads_are_what_arrays_give(claim: tuple[tuple[Node, ...], int, int]) -> None:
    nodes, a, b = claim
    lowering = Lowering(64, CELL)
    flat = _differ(z3.Solver(ctx=lowering.context), lowering.lower(nodes), a, b)
    assert flat == _differ(z3.Solver(), _by_arrays(nodes), a, b)


def test_the_same_arguments_give_the_same() -> None:
    nodes: list[Node] = [("?", 64), ("?", 64), ("?", "mem"), ("add", "", 0, 1), ("add", "", 1, 0)]
    nodes += [("load", "", 2, 3), ("load", "", 2, 4), ("opaque", "f", 3), ("opaque", "f", 4)]
    for a, b, same in ((5, 6, z3.unsat), (7, 8, z3.unsat), (5, 7, z3.sat)):
        lowering = Lowering(64, CELL)
        assert _differ(z3.Solver(ctx=lowering.context), lowering.lower(nodes), a, b) == same


@pytest.mark.parametrize("displacement", [0, 5, 2**64 - 3])
def test_when_cells_are_one(displacement: int) -> None:
    distances = (*range(10), *range(2**64 - 9, 2**64), 2**63)
    met = set()
    for distance in distances:
        nodes: list[Node] = [("?", 64), ("const", 2**64 - CELL)]
        for added in (displacement, displacement + distance & 2**64 - 1):
            nodes += [("const", added), ("add", "", 0, len(nodes)), ("and", "", len(nodes) + 1, 1)]
        lowering = Lowering(64, CELL)
        done = lowering.lower(nodes)
        said = lowering._meet(4, 7)
        solver = z3.Solver(ctx=lowering.context)
        solver.add(said != (done[4] == done[7]))
        assert solver.check() == z3.unsat, distance
        met.add(said if isinstance(said, bool) else "by low bits")
    assert met == {False, "by low bits"}


def _field(terms: Terms, high: bool) -> Term:
    """The signed word at an even address, taken out by its distance from either end."""
    x, address, low = terms.var("x"), terms.var("a"), terms.const(7)
    if high:
        place = terms.shl((terms.const(6) - address) & low, terms.const(3))
        return terms.ashr(terms.shl(x, place), terms.const(48))
    part = terms.lshr(x, terms.shl(address & low, terms.const(3)))
    return terms.ashr(terms.shl(part, terms.const(48)), terms.const(48))


def _long_claim(terms: Terms) -> tuple[Term, Term, list[Term]]:
    """A product of sums of fields: true because the fields are equal at an even address."""
    even = terms.eq(terms.var("a") & terms.const(1), terms.const(0))

    def product(field: Term) -> Term:
        tripled = field + field + field
        return terms.mul(tripled, terms.var("y") + field) + terms.mul(field, field)

    return product(_field(terms, True)), product(_field(terms, False)), [even]


def test_a_long_claim_is_proved_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Prover(64, 8).equal(*_long_claim(Terms(64)))[0] is Grade.PROVED
    monkeypatch.setattr(prove, "swept", lambda *_: None)
    assert Prover(64, 8).equal(*_long_claim(Terms(64)))[0] is Grade.TIMEOUT


def _masked_factor(mask: int) -> tuple[Term, Term]:
    """A product with 64 less the leading zeros, and the same under a mask."""
    terms = Terms(64)
    count = terms.const(0x41) + ~terms.make("ctlz", terms.var("x"))
    factor = terms.var("y")
    return terms.mul(factor, count & terms.const(mask)), terms.mul(factor, count)


@pytest.mark.parametrize(
    ("mask", "grade"), [(0xFFFFFFFF, Grade.PROVED), (0x7F, Grade.PROVED), (0x3F, Grade.REFUTED)]
)
def test_masks_inside_a_claim_are_decided_for_themselves(mask: int, grade: Grade) -> None:
    """Both sides have the factor in them: no part of one agrees with a part of the other alone."""
    assert Prover(64, 8).equal(*_masked_factor(mask))[0] is grade


def test_the_context_that_all_programs_share_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> z3.Context:
        raise AssertionError("it takes 17 MB")

    monkeypatch.setattr(z3.z3, "main_ctx", made)
    prover = Prover(64, 8)
    prover.decided = {}
    assert prover.equal(*_long_claim(Terms(64)))[0] is Grade.PROVED


def test_what_is_hard_together_is_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()
    said_in = Prover._said_in

    def counted(prover: Prover, context: Any, effort: int, pattern: Any) -> Grade:
        asked.append(effort)
        return said_in(prover, context, effort, pattern)

    monkeypatch.setattr(prove, "_EASY", prove.EFFORT)
    monkeypatch.setattr(Prover, "_said_in", counted)
    a, b = _two_bytes(Terms(64))
    assert Prover(64, 8).equal(a, b)[0] is Grade.PROVED
    assert {*asked} == {1, prove.EFFORT}


def test_a_claim_with_too_many_comparisons_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each load is compared with each store before it: nobody waits for thousands of both."""
    terms = Terms(64)
    x, y, v, w = (terms.var(name) for name in "xyvw")
    here, there, memory = x & terms.const(-8), y & terms.const(-8), terms.make("mem", data="M")
    memory = terms.make("store", terms.make("store", memory, here, v), there, w)
    claim = terms.load(memory, here), terms.ite(terms.eq(here, there), w, v)
    assert Prover(64, 8).equal(*claim)[0] is Grade.PROVED
    monkeypatch.setattr(prove, "COMPARISONS", 0)
    assert Prover(64, 8).equal(*claim)[0] is Grade.TIMEOUT


def test_parts_that_seldom_differ_are_not_taken_for_equal() -> None:
    terms = Terms(64)
    x, y, z = (terms.var(name) for name in "xyz")
    one_x = terms.eq(terms.mul(x, terms.const(0x9E3779B97F4A7C15)), terms.const(0x1F2E3D4C5B6A79))
    part = y ^ terms.ite(one_x, terms.const(1), terms.const(0))
    assert Prover(64, 8).equal(y + z, part + z)[0] is not Grade.PROVED


@st.composite
def claims(draw: st.DrawFn) -> tuple[Term, Term]:
    """Two terms of the same few parts, many of them equal for a part of all inputs only."""
    terms = Terms(64)
    x, y, memory = terms.var("x"), terms.var("y"), terms.make("mem", data="M")
    values = [x, y, terms.const(draw(st.sampled_from((0, 1, 7, 56, 0xFF, 0xFFFF))))]
    binary = ("add", "sub", "and_", "or_", "xor", "shl", "lshr", "ashr")
    for _ in range(draw(st.integers(2, 8))):
        a, b = (draw(st.sampled_from(values)) for _ in range(2))
        kind = draw(st.sampled_from((*binary, "ite", "memory")))
        if kind == "ite":
            values.append(terms.ite(terms.ult(a, b), a, b))
        elif kind == "memory":
            memory = terms.make("store", memory, a & terms.const(-8), b)
            values.append(terms.load(memory, b & terms.const(-8)))
        else:
            values.append(getattr(terms, kind)(a, b))
    return values[-1], draw(st.sampled_from(values[:-1]))


@settings(max_examples=80)
@given(claims(), st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 70), min_size=2, max_size=2))
def test_what_is_proved_holds(claim: tuple[Term, Term], drawn: list[int]) -> None:
    a, b = claim
    if Prover(64, 8).equal(a, b)[0] is Grade.PROVED:
        variables = dict(zip("xy", drawn, strict=True))
        evaluate = Evaluator(variables, lambda address: address * 0x9E3779B97F4A7C15 % 2**64)
        assert evaluate(a) == evaluate(b)


@settings(max_examples=20)
@given(st.lists(claims(), min_size=2, max_size=5))
def test_what_was_asked_before_says_nothing_of_a_claim(every: list[tuple[Term, Term]]) -> None:
    together = Prover(64, 8)
    for a, b in every:
        assert together.equal(a, b) == Prover(64, 8).equal(a, b)


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("base", [0, 1, 6])
def test_what_alignment_makes_of_addresses_is_what_they_are(size: int, base: int) -> None:
    terms = Terms(64)
    x, low = terms.var("x"), terms.const(7)
    aligned = terms.eq((x + terms.const(base)) & terms.const(size - 1), terms.const(0))
    changed = 0
    for distance in (*range(-9, 10), 0x1234):
        sums = (x + terms.const(distance), terms.const(distance) - x)
        for term in (part for s in sums for part in (s & low, s & ~low, s & terms.const(1))):
            (simpler,) = under([aligned], [term])
            changed += simpler is not term
            for number in (0, 8, 0x1000, 2**64 - 16):
                values = Evaluator({"x": (number + size * 3 - base) % 2**64}, lambda _: 0)
                assert values(aligned) and values(simpler) == values(term)
    assert changed


def test_conditions_that_say_nothing_of_a_claim_are_left_out() -> None:
    terms, prover = Terms(64), Prover(64, 8)
    claim = _field(terms, True), _field(terms, False)
    even = terms.eq(terms.var("a") & terms.const(1), terms.const(0))
    other = terms.eq(terms.var("z") & terms.const(3), terms.const(0))
    assert prover.equal(*claim, [even])[0] is Grade.PROVED
    decided = dict(prover.decided)
    assert prover.equal(*claim, [other, even, even])[0] is Grade.PROVED
    assert prover.decided == decided
    assert prover.equal(*claim, [other])[0] is Grade.REFUTED


def _byte(terms: Terms, cell: Term, address: Term, from_the_top: bool) -> Term:
    """The byte of a cell at an address, taken out in one of two ways."""
    low, eight = terms.const(7), terms.const(3)
    if from_the_top:
        up = terms.shl(cell, terms.shl((low - address) & low, eight))
        return terms.lshr(up, terms.const(56))
    return terms.lshr(cell, terms.shl(address & low, eight)) & terms.const(0xFF)


def _two_bytes(terms: Terms, swapped: bool = False) -> tuple[Term, Term]:
    """A byte of what is loaded from an address that another byte gives, taken out both ways."""
    memory = terms.make("mem", data="M")
    address = terms.var("p")
    cell = terms.load(memory, address & terms.const(-8))
    first = _byte(terms, cell, address, False)
    there = terms.load(memory, (first + address) & terms.const(-8))
    claim = [_byte(terms, there, address, from_the_top) for from_the_top in (False, True)]
    if swapped:
        claim[1] = _byte(terms, there, address + terms.const(1), True)
    return claim[0], claim[1]


def test_what_is_free_keeps_what_it_has_to_do_with_the_rest() -> None:
    terms = Terms(64)
    a, b = _two_bytes(terms)
    # Both have the loaded cell in common, and that is made of the shift that one has alone.
    strong, closer, whole = (form(a, b, ()) for form in (general, close, exact))
    prover = Prover(64, 8)
    grades = [prover._decide(pattern).grade for pattern in (strong, closer, whole)]
    assert grades == [Grade.REFUTED, Grade.PROVED, Grade.PROVED]
    assert len(closer.nodes) < len(whole.nodes)
    assert prover.equal(a, b) == (Grade.PROVED, closer.key)
    assert prover.equal(*_two_bytes(terms, swapped=True))[0] is Grade.REFUTED


def _part_of_the_other(terms: Terms, low: int) -> tuple[Term, Term]:
    """A multiple of 8 that is made of a loaded cell, and the same with some low bits cleared."""
    memory = terms.make("mem", data="M")
    for name in "abcd":
        memory = terms.make("store", memory, terms.var(name) & terms.const(-8), terms.var("x"))
    cell = terms.load(memory, terms.var("p") & terms.const(-8))
    word = terms.const(32)
    index = (cell & terms.const(0xFF)) + terms.const(6)
    whole = terms.shl(terms.ashr(terms.shl(index, word), word), terms.const(3))
    return whole, whole & terms.const(-low)


def test_what_one_side_is_made_of_is_opened_before_all_that_it_rests_on() -> None:
    terms = Terms(64)
    prover = Prover(64, 8)
    a, b = _part_of_the_other(terms, 8)
    few = opened(a, b, ())
    assert not any(kind in ("mem", "store", "load") for kind, *_ in few.nodes)
    assert any(kind == "load" for kind, *_ in exact(a, b, ()).nodes)
    assert prover.equal(a, b) == (Grade.PROVED, few.key)
    assert prover.equal(*_part_of_the_other(terms, 16))[0] is Grade.REFUTED


def test_nothing_follows_from_the_impossible() -> None:
    terms, prover = Terms(64), Prover(64, 8)
    x, one = terms.var("x"), terms.const(1)
    never = [terms.eq(x & one, terms.const(0)), terms.eq((x + one) & one, terms.const(0))]
    assert prover.equal(x, terms.var("y"), never)[0] is Grade.REFUTED
    assert prover.equal(x & one, terms.const(0), never)[0] is Grade.REFUTED
    seldom = [terms.eq(x, terms.const(0x1234567890ABC))]
    assert prover.equal(x + one, terms.const(0x1234567890ABD), seldom)[0] is Grade.PROVED


def test_memories_are_not_proved_equal() -> None:
    terms = Terms(64)
    memory, place = terms.make("mem", data="M"), terms.var("p") & terms.const(-8)
    one, other = (terms.make("store", memory, place, terms.var(v)) for v in "xy")
    assert Prover(64, 8).equal(one, other)[0] is Grade.REFUTED
