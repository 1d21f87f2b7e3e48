"""Which cases of a contract a routine is tried on: some of each plan, spread over its shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from rewriter.contracts.contract import Contract, Plan

_FAULT = "fault"  # the axis of plans in which an access must fault


_MORE = 100  # cases at a time, where those of the first turn do not come everywhere
FAULTING = 600  # cases of a plan whose accesses fault

Points = list[tuple[Plan, dict[str, int]]]


def faults(point: Mapping[str, int]) -> bool:
    """Whether an access must fault in a case."""
    return bool(point.get(_FAULT))


def spread(contract: Contract, cases: int, faulting: bool = False) -> Points:
    """About so many of the few shapes, spread over all of them; those that fault are optional.

    What resumes after a fault is in a table of the system, which only some trials read.
    """
    points = [p for p in contract.few() if faulting or not faults(p[1])]
    return points[:: _step(len(points), cases)]


def ordered(contract: Contract, cases: int, faulting: bool = False) -> tuple[Points, Points]:
    """Of each plan so many of the few shapes, or many more where accesses fault; and all others."""
    first, rest = Points(), Points()
    for plan in contract.tried:
        points = [p for p in plan.some() if faulting or not faults(p[1])]
        many = FAULTING if any(faults(point) for _, point in points) else cases
        lengths = [len(values) for values in plan.few.values()]
        chosen = range(0, len(points), _step(len(points), many, lengths))
        first += [points[n] for n in chosen]
        rest += [p for n, p in enumerate(points) if n not in chosen]
    return first, rest


def turns(first: Points, rest: Points) -> Iterator[Points]:
    """The first cases, then some of the rest at a time."""
    yield first
    yield from (rest[at : at + _MORE] for at in range(0, len(rest), _MORE))


def _step(points: int, cases: int, lengths: Sequence[int] = (2, 3)) -> int:
    """Shares no factor with the axes' lengths, so that all their values come."""
    step = max(1, points // cases)
    while step > 1 and any(gcd(step, length) > 1 for length in lengths):
        step += 1
    return step


def shown(point: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
