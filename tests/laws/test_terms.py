"""Every folding rule of terms, proved by Z3; and folded terms evaluate as plain Python does."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from rewriter.core.terms.evaluate import evaluate
from rewriter.core.terms.term import Term, Terms
from tests.support.depth import depth

WIDTH = 64
ONES = (1 << WIDTH) - 1


# An own lowering to Z3, so that a mistake in the prover's cannot hide one in the rules.


def _count(bits: z3.BitVecRef) -> z3.BitVecRef:
    return z3.Sum([z3.ZeroExt(WIDTH - 1, z3.Extract(i, i, bits)) for i in range(WIDTH)])


def _first_set(bits: z3.BitVecRef, order: Iterable[int]) -> z3.BitVecRef:
    result = z3.BitVecVal(WIDTH, WIDTH)
    for distance, bit in reversed(list(enumerate(order))):
        result = z3.If(z3.Extract(bit, bit, bits) == 1, z3.BitVecVal(distance, WIDTH), result)
    return result


def _high_product(a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
    product = z3.ZeroExt(WIDTH, a) * z3.ZeroExt(WIDTH, b)
    return z3.Extract(2 * WIDTH - 1, WIDTH, product)


Z3: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "shl": lambda a, b: a << b,
    "lshr": z3.LShR,
    "ashr": lambda a, b: a >> b,
    "umulh": _high_product,
    "ctpop": _count,
    "cttz": lambda a: _first_set(a, range(WIDTH)),
    "ctlz": lambda a: _first_set(a, reversed(range(WIDTH))),
    "ite": z3.If,
    "eq": lambda a, b: a == b,
    "ult": z3.ULT,
    "slt": lambda a, b: a < b,
    "band": z3.And,
    "bnot": z3.Not,
    "true": lambda: z3.BoolVal(True),
    "false": lambda: z3.BoolVal(False),
}
# What makes a term of each kind, with its folding, and how many values and conditions it takes.
METHODS = {
    **{kind: kind for kind in ("add", "sub", "mul", "xor", "shl", "lshr", "ashr")},
    "and": "and_",
    "or": "or_",
    "not": "not_",
    "ite": "ite",
    **{kind: kind for kind in ("eq", "ult", "slt", "band", "bnot")},
}
BINARY = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "eq", "ult", "slt")
SHIFTS = ("shl", "lshr", "ashr")


def lower(term: Term) -> Any:
    """The Z3 expression of a term."""
    if term.kind == "const":
        return z3.BitVecVal(term.value, WIDTH)
    if term.kind == "var":
        make = z3.Bool if str(term.data).startswith("p") else z3.BitVec
        return make(str(term.data)) if make is z3.Bool else make(str(term.data), WIDTH)
    return Z3[term.kind](*(lower(a) for a in term.args))


def fold(terms: Terms, kind: str, *args: Term) -> Term:
    """The term as the store makes it."""
    return getattr(terms, METHODS[kind])(*args)


def prove(kind: str, args: tuple[Term, ...], folded: Term) -> None:
    """Folded and unfolded are equal for every value of their variables."""
    if folded.kind == kind and folded.args == args:
        return  # nothing was folded
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(Z3[kind](*(lower(a) for a in args)) != lower(folded))
    answer = solver.check()
    assert answer == z3.unsat, f"{kind} {args} is not {folded}: {answer}, {solver}"


def _constants(terms: Terms) -> list[Term]:
    values = (0, 1, 2, 3, 7, 8, 0xFF, 63, 64, 65, 1 << 63, ONES, ONES - 6, 0x1234, ONES - 0xFF)
    return [terms.const(value) for value in values]


def _shapes(terms: Terms) -> list[Term]:
    """Terms in all the forms that a rule looks for in its arguments."""
    x, y = terms.var("x"), terms.var("y")
    shapes = [x, y, terms.make("not", x)]
    for value in (0x18, ONES - 7, 0x1007):
        c = terms.const(value)
        shapes += [terms.make(kind, x, c) for kind in ("add", "and", "or", "xor")]
    shapes += [terms.make(kind, x, terms.const(n)) for kind in SHIFTS for n in (3, 56, 63)]
    for n in (terms.const(3), terms.const(56)):
        shapes += [terms.make(kind, terms.make("shl", x, n), n) for kind in ("lshr", "ashr")]
        shapes.append(terms.make("and", x, terms.const(ONES >> n.value)))
    shapes += [terms.make("mul", x, y), terms.make("sub", x, y), terms.make("add", x, y)]
    shapes.append(terms.make("ite", terms.make("var", data="p"), x, terms.const(1)))
    return shapes


@pytest.mark.parametrize("kind", BINARY)
def test_rules_for_values_hold(kind: str) -> None:
    terms = Terms(WIDTH)
    arguments = _shapes(terms) + _constants(terms)
    folded_some = False
    pairs = list(itertools.product(arguments, repeat=2))
    for a, b in random.Random(kind).sample(pairs, len(pairs) // depth(3, 1)):
        if kind in SHIFTS and b.kind == "const" and b.value > 2 * WIDTH:
            continue  # no meaning shifts so far, and Python's integers would not fit into memory
        folded = fold(terms, kind, a, b)
        folded_some |= (folded.kind, folded.args) != (kind, (a, b))
        prove(kind, (a, b), folded)
    assert folded_some


def test_rules_for_not_hold() -> None:
    terms = Terms(WIDTH)
    for a in _shapes(terms) + _constants(terms):
        prove("not", (a,), fold(terms, "not", a))


def _conditions(terms: Terms) -> list[Term]:
    x, y = terms.var("x"), terms.var("y")
    p = terms.make("var", data="p")
    compare = terms.make("ult", x, y)
    negated = [terms.make("bnot", p), terms.make("bnot", compare)]
    return [p, compare, *negated, terms.make("band", p, compare), terms.true, terms.false]


def test_rules_for_conditions_hold() -> None:
    terms = Terms(WIDTH)
    conditions = _conditions(terms)
    for a in conditions:
        prove("bnot", (a,), terms.bnot(a))
    for a, b in itertools.product(conditions, repeat=2):
        prove("band", (a, b), terms.band(a, b))


def test_rules_for_choice_hold() -> None:
    terms = Terms(WIDTH)
    x, y = terms.var("x"), terms.var("y")
    values = [x, y, terms.const(0), terms.const(1), terms.make("add", x, terms.const(8))]
    for condition in _conditions(terms):
        for a, b in itertools.product(values, repeat=2):
            prove("ite", (condition, a, b), terms.ite(condition, a, b))


def test_the_root_and_displacement_are_the_term() -> None:
    terms = Terms(WIDTH)
    for term in _shapes(terms):
        root, displacement = terms.linear(term)
        assert -(1 << 63) <= displacement < 1 << 63
        prove("add", (root, terms.const(displacement)), term)


def test_the_bound_on_bits_holds() -> None:
    terms = Terms(WIDTH)
    x, y = terms.var("x"), terms.var("y")
    masks = [terms.make("and", v, terms.const(m)) for v in (x, y) for m in (0xFF, 0xFFF0, 1 << 40)]
    shifted = [
        terms.make(kind, m, terms.const(n)) for kind in SHIFTS for m in masks for n in (1, 8, 60)
    ]
    pairs = [
        terms.make(kind, a, b)
        for kind in ("and", "or", "xor", "add", "mul")
        for a, b in itertools.product(masks[:4], repeat=2)
    ]
    chosen = [terms.make("ite", terms.make("eq", x, y), *masks[1:3])]
    chosen += [terms.make("add", chosen[0], one) for one in (*masks, *shifted[:4])]
    for term in (*masks, *shifted, *pairs, *chosen, *_shapes(terms), *_constants(terms)):
        bits = terms.bits(term)
        if bits < WIDTH:
            solver = z3.Solver()
            solver.add(z3.LShR(lower(term), bits) != 0)
            assert solver.check() == z3.unsat, f"{term} has more than {bits} bits"


def test_a_mask_that_leaves_all_of_a_small_value_is_nothing() -> None:
    terms = Terms(WIDTH)
    x = terms.var("x")
    tests = [
        terms.make("ite", terms.eq(x & terms.const(m), terms.const(0)), *map(terms.const, (0, v)))
        for m, v in ((0xF0, 4), (0xCC, 2), (0xAA, 1))
    ]
    place = tests[0] + tests[1] + tests[2]
    assert terms.bits(place) == 3
    for mask, folds in ((7, True), (0xFF, True), (3, False), (5, False)):
        folded = fold(terms, "and", place, terms.const(mask))
        assert (folded is place) == folds
        prove("and", (place, terms.const(mask)), folded)


def test_what_is_unsigned_is_the_low_part() -> None:
    terms = Terms(WIDTH)
    for term in _shapes(terms) + _constants(terms):
        part = terms.unsigned(term)
        if part is not term:
            low = ONES >> term.args[1].value
            prove("and", (term, terms.const(low)), terms.make("and", part, terms.const(low)))
            prove("and", (part, terms.const(low)), part)


def test_a_wrong_rule_would_be_refuted() -> None:
    terms = Terms(WIDTH)
    x = terms.var("x")
    with pytest.raises(AssertionError, match="sat"):
        prove("ashr", (x, terms.const(8)), terms.lshr(x, terms.const(8)))


# Random trees ------------------------------------------------------------------------------


def _signed(value: int) -> int:
    return value - (1 << WIDTH) if value >> (WIDTH - 1) else value


PYTHON: dict[str, Callable[..., int | bool]] = {
    "add": lambda a, b: (a + b) & ONES,
    "sub": lambda a, b: (a - b) & ONES,
    "mul": lambda a, b: (a * b) & ONES,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: a ^ ONES,
    "shl": lambda a, b: (a << b) & ONES,
    "lshr": lambda a, b: a >> b,
    "ashr": lambda a, b: (_signed(a) >> b) & ONES,
    "umulh": lambda a, b: a * b >> WIDTH,
    "ctpop": lambda a: f"{a:b}".count("1"),
    "cttz": lambda a: WIDTH - len(f"{a:064b}".rstrip("0")),
    "ctlz": lambda a: WIDTH - len(f"{a:064b}".lstrip("0")),
    "ite": lambda p, a, b: a if p else b,
    "eq": lambda a, b: a == b,
    "ult": lambda a, b: a < b,
    "slt": lambda a, b: _signed(a) < _signed(b),
    "band": lambda p, q: p and q,
    "bnot": lambda p: not p,
}
_UNFOLDED = ("umulh", "ctpop", "cttz", "ctlz")  # made without rules
_NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, 7, 8, 0xFF, ONES, ONES - 7, 1 << 63, (1 << 63) - 1]),
    st.integers(0, ONES),
)
Tree = tuple[Any, ...]


def _trees() -> tuple[st.SearchStrategy[Tree], st.SearchStrategy[Tree]]:
    leaves = st.one_of(
        st.tuples(st.just("const"), _NUMBERS),
        st.tuples(st.just("var"), st.sampled_from("xyz")),
    )
    amounts = st.tuples(st.just("const"), st.integers(0, WIDTH - 1))
    conditions: st.SearchStrategy[Tree] = st.deferred(lambda: _condition)

    def extend(values: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        pairs = ("add", "sub", "mul", "and", "or", "xor", "umulh")
        return st.one_of(
            st.tuples(st.sampled_from(pairs), values, values),
            st.tuples(st.sampled_from(("not", "ctpop", "cttz", "ctlz")), values),
            st.tuples(st.sampled_from(SHIFTS), values, amounts),
            st.tuples(st.just("ite"), conditions, values, values),
        )

    values = st.recursive(leaves, extend, max_leaves=12)
    compared = st.tuples(st.sampled_from(("eq", "ult", "slt")), leaves, leaves)
    _condition = st.recursive(
        compared,
        lambda inner: st.one_of(
            st.tuples(st.just("bnot"), inner), st.tuples(st.just("band"), inner, inner)
        ),
        max_leaves=3,
    )
    return values, _condition


VALUES, CONDITIONS = _trees()


def _build(terms: Terms, tree: Tree) -> Term:
    kind, *rest = tree
    if kind == "const":
        return terms.const(rest[0])
    if kind == "var":
        return terms.var(rest[0])
    args = [_build(terms, child) for child in rest]
    return terms.make(kind, *args) if kind in _UNFOLDED else fold(terms, kind, *args)


def _calculate(tree: Tree, variables: dict[str, int]) -> int | bool:
    kind, *rest = tree
    if kind == "const":
        return rest[0]
    if kind == "var":
        return variables[rest[0]]
    return PYTHON[kind](*(_calculate(child, variables) for child in rest))


@given(tree=st.one_of(VALUES, CONDITIONS), x=_NUMBERS, y=_NUMBERS, z=_NUMBERS)
def test_folding_keeps_the_value(tree: Tree, x: int, y: int, z: int) -> None:
    variables = {"x": x, "y": y, "z": z}
    term = _build(Terms(WIDTH), tree)
    assert evaluate(term, variables) == _calculate(tree, variables)


@given(tree=st.one_of(VALUES, CONDITIONS))
def test_rebuilding_folds_the_same(tree: Tree) -> None:
    terms = Terms(WIDTH)
    for term in _build(terms, tree).walk():
        assert terms.rebuild(term, term.args) is term
        args = tuple(reversed(term.args)) if len(term.args) == 2 else term.args
        if term.kind in METHODS and len(args) == 2:
            assert terms.rebuild(term, args) is fold(terms, term.kind, *args)


@given(tree=VALUES)
def test_equal_terms_are_the_same_object(tree: Tree) -> None:
    terms = Terms(WIDTH)
    assert _build(terms, tree) is _build(terms, tree)


def test_a_load_sees_the_last_store_to_its_cell() -> None:
    terms = Terms(WIDTH)
    x, y = terms.var("x"), terms.var("y")
    memory = terms.make("mem", data="M")
    memory = terms.make("store", memory, x, terms.const(1))
    memory = terms.make("store", memory, y, terms.const(2))
    load = terms.make("load", memory, x)

    def initial(address: int) -> int:
        return address * 3

    assert evaluate(load, {"x": 8, "y": 8}, initial) == 2
    assert evaluate(load, {"x": 8, "y": 16}, initial) == 1
    other = terms.make("load", memory, terms.const(24))
    assert evaluate(other, {"x": 8, "y": 16}, initial) == 72
