"""What a sum adds up, as searches for bits ask: small sums whole, of others no more than needed."""

from __future__ import annotations

from passes.bitscan import addends
from rewriter.core.terms.term import Terms


def test_a_sum_has_its_parts_and_its_constant() -> None:
    with Terms(64) as terms:
        x, y, z = map(terms.var, "xyz")
        found, constant = addends(x + (y + z) + terms.const(5))
        assert {*found} == {x, y, z} and constant == 5


def test_a_sum_of_shared_parts_is_not_written_out() -> None:
    """Each is that of the two before it: the last has as many parts as Fibonacci's 80th number."""
    with Terms(64) as terms:
        before, last = terms.var("x"), terms.var("y")
        for _ in range(80):
            before, last = last, before + last
        assert 6 < len(addends(last)[0]) < 20
