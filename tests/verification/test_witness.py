"""Claims under conditions that hardly any assignment fulfils: refuted on one that a solver gave."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.core.edit import Grade
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.prover import Prover
from rewriter.verify.terms.witness import Said, Witness

Seldom = Callable[[Terms], Term]
"""Something that is hardly ever a certain number."""

NUMBER = 0x1234567890ABC


def _cell(terms: Terms) -> Term:
    memory = terms.make("mem", data="M")
    stored = terms.make("store", memory, terms.var("q") & terms.const(-8), terms.var("v"))
    return terms.load(stored, (terms.var("p") + terms.const(16)) & terms.const(-8))


def _behind_an_event(terms: Terms) -> Term:
    memory = terms.make("world", terms.make("mem", data="M"), data="barrier")
    return terms.load(memory, terms.var("p") & terms.const(-8))


def _result(terms: Terms) -> Term:
    return terms.make("opaque", terms.var("x") + terms.var("y"), data="f")


def _bytes(terms: Terms) -> Term:
    memory = terms.make("mem", data="M")
    return terms.make("read", memory, terms.var("p") + terms.const(3), data="8 big")


SELDOM: dict[str, Seldom] = {
    "a value": lambda terms: terms.var("x") + terms.var("y"),
    "a cell": _cell,
    "a cell behind an event": _behind_an_event,
    "what a function gives": _result,
    "bytes": _bytes,
}


def _conditions(terms: Terms, seldom: Term) -> list[Term]:
    """That it is one number, and that something else, which says nothing of it, is another."""
    other = terms.var("z") & terms.const(0xFFFFFF)
    return [
        terms.eq(seldom, terms.const(NUMBER)),
        terms.eq(other, terms.const(NUMBER & 0xFFFFFF)),
    ]


@pytest.mark.parametrize("what", SELDOM)
def test_what_does_not_follow_is_refuted_without_a_solver_for_it(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms, prover = Terms(64), Prover(64, 8 if what != "bytes" else 1)
    seldom = SELDOM[what](terms)
    conditions, number = _conditions(terms, seldom), terms.const(NUMBER)
    assert prover.equal(seldom ^ number, terms.const(0), conditions)[0] is Grade.PROVED
    monkeypatch.setattr(Prover, "_solve", lambda *_: pytest.fail("a solver was asked"))
    decided = dict(prover.decided)
    for low in (1, 0xFF):
        claim = seldom & terms.const(low), terms.const(NUMBER + 1 & low)
        assert prover.equal(*claim, conditions)[0] is Grade.REFUTED
    assert prover.equal(seldom, terms.var("y"), conditions)[0] is Grade.REFUTED
    assert prover.decided == decided


def test_what_was_said_wrongly_refutes_nothing() -> None:
    terms = Terms(64)
    x = terms.var("x")
    condition = terms.eq(x, terms.const(NUMBER))
    for said in (NUMBER, NUMBER + 1):
        witness = Witness(64, Said({x.number: said}, {}, {}))
        right = said == NUMBER
        assert witness.hold([condition]) is right
        assert witness.differ(x, terms.const(0), [condition]) is right
        assert not witness.differ(x, terms.const(NUMBER), [condition])


@st.composite
def claims(draw: st.DrawFn) -> tuple[Term, Term, list[Term]]:
    """Two terms of few parts, and conditions on these parts, of which some cannot hold together."""
    terms = Terms(64)
    memory = terms.make("mem", data="M")
    values = [terms.var("x"), terms.var("y"), terms.const(draw(st.sampled_from((0, 1, 7, 0xFFFF))))]
    for _ in range(draw(st.integers(2, 6))):
        a, b = (draw(st.sampled_from(values)) for _ in range(2))
        kind = draw(st.sampled_from(("add", "and_", "xor", "lshr", "ite", "load", "opaque")))
        if kind == "ite":
            values.append(terms.ite(terms.ult(a, b), a, b))
        elif kind == "load":
            memory = terms.make("store", memory, a & terms.const(-8), b)
            values.append(terms.load(memory, b & terms.const(-8)))
        elif kind == "opaque":
            values.append(terms.make("opaque", a, b, data="f"))
        else:
            values.append(getattr(terms, kind)(a, b))
    numbers = st.sampled_from((1, 5, NUMBER, 2**64 - 8))
    conditions = [
        terms.eq(draw(st.sampled_from(values)), terms.const(draw(numbers)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return values[-1], draw(st.sampled_from(values[:-1])), conditions


@settings(max_examples=60, deadline=None)
@given(claims())
def test_nothing_that_follows_is_refuted(claim: tuple[Term, Term, list[Term]]) -> None:
    """The same is said as without such assignments."""
    a, b, conditions = claim
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prover, "_witness", lambda *_: None)
        expected = Prover(64, 8).equal(a, b, conditions)
    assert Prover(64, 8).equal(a, b, conditions) == expected
