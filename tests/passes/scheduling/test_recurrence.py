"""How long a loop's pass waits for itself at least: against sums over all ways round."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from passes.scheduling.dependence import Dependences, Edge

Edges = tuple[tuple[Edge, ...], ...]


@st.composite
def passes(draw: st.DrawFn) -> tuple[Edges, Edges]:
    """Results that later instructions of a pass read, and that those of the next one do."""
    size = draw(st.integers(1, 6))
    cycles = st.none() | st.integers(0, 5)

    def edges(first: int, last: int) -> tuple[Edge, ...]:
        took = [(number, draw(cycles)) for number in range(first, last)]
        return tuple((number, n) for number, n in took if n is not None)

    results = tuple(edges(number + 1, size) for number in range(size))
    return results, tuple(edges(0, number + 1) for number in range(size))


def ways(results: Edges, first: int, last: int) -> list[int]:
    """Cycles of each way from one instruction of a pass to another."""
    found = [0] if first == last else []
    for number, took in results[first]:
        found += [took + rest for rest in ways(results, number, last)]
    return found


def turns(results: Edges, carried: Edges, first: int, last: int) -> list[int]:
    """Cycles of each way from an instruction to one of the next pass."""
    return [took + rest for number, took in carried[first] for rest in ways(results, number, last)]


@given(passes())
def test_one_turn_or_two(drawn: tuple[Edges, Edges]) -> None:
    results, carried = drawn
    every = range(len(results))
    once = [Fraction(n) for at in every for n in turns(results, carried, at, at)]
    twice = [
        Fraction(there + back, 2)
        for at, other in product(every, repeat=2)
        for there, back in product(
            turns(results, carried, at, other), turns(results, carried, other, at)
        )
    ]
    before = tuple(frozenset[int]() for _ in every)
    found = Dependences(before, results, carried).recurrence()
    assert found == max([Fraction(0), *once, *twice])
