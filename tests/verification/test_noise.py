"""Many assignments at once give what each gives alone, and refute what a solver would."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.core.edit import Grade
from rewriter.core.terms.evaluate import Evaluator
from rewriter.core.terms.term import Term, Terms, rebuilt
from rewriter.verify.terms.noise import Noise, pool_of
from rewriter.verify.terms.prover import Prover
from rewriter.verify.terms.samples import Signatures

LANES = 96
VALUES = ("add", "sub", "mul", "and", "or", "xor", "umulh", "shl", "lshr", "ashr")
CONDITIONS = ("eq", "ult", "slt")
Maker = Callable[[Terms], Term]


@st.composite
def terms_made(draw: st.DrawFn, width: int) -> Term:
    """A term over x, y, two stores and a load, without any folding."""
    terms = Terms(width)
    constants = st.integers(0, terms.ones) | st.sampled_from((0, 1, width, terms.ones))
    values = [terms.var("x"), terms.var("y"), terms.const(draw(constants))]
    memory = terms.make("mem", data="M")
    for _ in range(draw(st.integers(1, 8))):
        a, b, c = (draw(st.sampled_from(values)) for _ in range(3))
        kind = draw(
            st.sampled_from((*VALUES, *CONDITIONS, "not", "ctpop", "cttz", "ctlz", "memory"))
        )
        if kind in CONDITIONS:
            values.append(terms.make("ite", terms.make(kind, a, b), b, c))
        elif kind == "memory":
            memory = terms.make("store", memory, a, b)
            values.append(terms.make("load", memory, c))
        elif kind in VALUES:
            values.append(terms.make(kind, a, b))
        else:
            values.append(terms.make(kind, a))
    return values[-1]


@pytest.mark.parametrize("width", [32, 64])
@given(data=st.data())
def test_every_lane_is_one_evaluation(width: int, data: st.DataObject) -> None:
    term = data.draw(terms_made(width))
    constants = [t.value for t in term.walk() if t.kind == "const"]
    noise = Noise(LANES, width, pool_of(constants))
    known: dict[int, object] = {}
    for part in sorted(term.walk(), key=lambda t: t.number):
        if part.kind == "var":
            known[part.number] = noise.value(str(part.data), width)
        elif part.kind == "mem":
            known[part.number] = noise.memory("M")
        else:
            args = [known[a.number] for a in part.args]
            known[part.number] = noise.apply(part.kind, part.data, args)
    found = np.broadcast_to(np.asarray(known[term.number]), LANES)
    for lane in range(0, LANES, 7):

        def cell(address: int, lane: int = lane) -> int:
            wanted = np.full(LANES, address, dtype=np.uint64)
            return int(noise.memory("M").read(wanted)[lane])

        variables = {name: int(noise.value(name, width)[lane]) for name in "xy"}
        assert int(found[lane]) == Evaluator(variables, cell)(term)


@pytest.mark.parametrize("width", [32, 64])
@given(data=st.data())
def test_one_assignment_never_parts_what_is_equal(width: int, data: st.DataObject) -> None:
    term = data.draw(terms_made(width))
    folded = rebuilt(term, {})
    signatures = Signatures(width)
    assert not signatures.apart(term, folded)
    assert signatures.apart(folded, term.store.not_(folded))


def _stored(terms: Terms, distance: int) -> tuple[Term, Term]:
    """A cell before and after a store to another, which may be the same one."""
    memory, mask = terms.make("mem", data="M"), terms.const(-8)
    x, y = (
        terms.and_(terms.var("x"), mask),
        terms.and_(terms.var("y") + terms.const(distance), mask),
    )
    after = terms.make("store", memory, y, terms.var("z"))
    return terms.make("load", memory, x), terms.make("load", after, x)


def _zero(terms: Terms) -> tuple[Term, Term]:
    """A value, and another where a number of eight bytes is zero, which is loaded by one loaded."""
    memory, zero = terms.make("mem", data="M"), terms.const(0)
    place = terms.make("read", memory, terms.var("x") + terms.const(8), data="8 little")
    loaded = terms.make("read", memory, place, data="8 little")
    return terms.ite(terms.eq(loaded, zero), terms.var("y"), terms.var("z")), terms.var("z")


FALSE: dict[str, Callable[[Terms], tuple[Term, Term]]] = {
    "addresses that may meet": lambda t: _stored(t, 0),
    "addresses that meet at a distance": lambda t: _stored(t, 1552),
    "a number of bytes that is zero": _zero,
    "one value of many": lambda t: (
        t.ite(t.eq(t.var("x"), t.const(93)), t.const(1), t.const(0)),
        t.ite(t.eq(t.var("x") & t.const(255), t.const(93)), t.const(1), t.const(0)),
    ),
    "the sign": lambda t: (
        t.ashr(t.var("x"), t.const(63)),
        t.lshr(t.var("x"), t.const(63)),
    ),
    "a carry": lambda t: (t.var("x") | t.var("y"), t.var("x") + t.var("y")),
    "the edge of a range": lambda t: (
        t.ite(t.slt(t.var("x"), t.var("x") + t.const(1)), t.const(1), t.const(0)),
        t.const(1),
    ),
}


@pytest.mark.parametrize("claim", FALSE)
def test_false_claims_need_no_solver(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(prover: Prover, pattern: object) -> Grade:
        raise AssertionError(f"a solver was asked: {pattern}")

    monkeypatch.setattr(Prover, "_solve", solve)
    assert Prover(64, 8).equal(*FALSE[claim](Terms(64)))[0] is Grade.REFUTED


def test_signatures_tell_most_terms_apart() -> None:
    terms, signatures = Terms(64), Signatures(64)
    x, y = terms.var("x"), terms.var("y")
    assert signatures.of((x ^ y) + terms.const(2) * (x & y)) == signatures.of(x + y)
    assert signatures.of(x | y) != signatures.of(x + y)


def test_true_claims_have_no_counterexample() -> None:
    terms, prover = Terms(64), Prover(64, 8)
    x, y = terms.var("x"), terms.var("y")
    both = terms.const(2) * (x & y)
    assert prover.equal((x ^ y) + both, x + y)[0] is Grade.PROVED
    given_even = [terms.eq(x & terms.const(1), terms.const(0))]
    halved = terms.shl(terms.lshr(x, terms.const(1)), terms.const(1))
    assert prover.equal(halved, x)[0] is Grade.REFUTED
    assert prover.equal(halved, x, given_even)[0] is Grade.PROVED
