"""A thousand single changes of any instruction of real files: refused, or shown to change nothing.

What is drawn follows from the seed; `benchmarks/mutants.py --one FILE NUMBER` makes one again.  A
survivor must be explained by an equivalence that is decided without the verifier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from fixtures import inputs
from tests.conftest import Patched
from tests.support.depth import DEEP, depth
from tests.support.mutants import mutants
from tests.support.mutants.changes import HINT, KINDS
from tests.support.mutants.changes import ORDERED as OF_ORDER
from tests.support.mutants.table import table
from tests.support.mutants.tuned import OPTIONS, ordered

SEED = 17
# How many, and the CPU for which the file was tuned; without one the original alone is changed.
DRAWN = {
    "alpha-libc": (depth(100, 300), ""),
    "alpha-libm": (depth(150, 400), "ev67"),
    "ia64-libjnidispatch": (depth(100, 300), "itanium2"),
    "ppc64el-libgcc_s": (depth(40, 200), ""),
    **({"ppc-libc": (400, "7450"), "ppc64-libc": (400, "970")} if DEEP else {}),
    **(dict.fromkeys(("ppc32-vmlinux", "ppc64el-vmlinux"), (500, "")) if DEEP else {}),
}
MANY = 150  # mutants of a file, among which every kind is
GROUPED = {"predicate", "stop"}  # kinds of code that says what issues together


@pytest.mark.parametrize("name", DRAWN)
def test_every_change_is_refused_or_explained(
    name: str, patched: Patched, record_property: Callable[[str, object], None]
) -> None:
    number, cpu = DRAWN[name]
    original = str(inputs.require(name))
    tuned = str(patched(name, cpu, OPTIONS.get(cpu, ()))) if cpu else ""
    made = mutants.of(name, original, tuned)
    outcomes = [made.outcome(SEED, n) for n in range(number)]
    found = Counter(outcome.what for outcome in outcomes)
    record_property("outcomes", dict(found))
    print(table(outcomes))
    survivors = [str(outcome) for outcome in outcomes if outcome.what == "UNEXPLAINED"]
    assert not survivors, "\n".join(survivors)
    expected = set(KINDS) - {"both"} - (set() if name.startswith("ia64") else GROUPED)
    expected -= set() if name.startswith("ppc") and name.endswith("vmlinux") else {"table"}
    kinds = {outcome.change.kind for outcome in outcomes}
    assert kinds == expected if number >= MANY else kinds <= expected
    assert found["refused"] > number * 0.75  # what is drawn does change something
    assert len(found) > (2 if number >= MANY else 1)  # and some of it nothing that anyone sees


ORDERED = {
    "alpha-sample": ("ev67", 1.0, depth(100, 400)),
    **(
        {"alpha-libm": ("ev67", 0.5, 400), "ppc64el-libgcc_s": ("power9", 1.0, 400)} if DEEP else {}
    ),
}


@pytest.mark.parametrize("name", ORDERED)
def test_every_change_of_an_order_is_refused_or_explained(name: str) -> None:
    """And a hint, which nobody is bound to follow, is accepted."""
    cpu, share, number = ORDERED[name]
    made = mutants.of_order(name, str(inputs.require(name)), str(ordered(name, cpu, share)))
    outcomes = [made.outcome(SEED, n) for n in range(number)]
    survivors = [str(outcome) for outcome in outcomes if outcome.what == "UNEXPLAINED"]
    assert not survivors, "\n".join(survivors)
    kinds = Counter(outcome.change.kind for outcome in outcomes)
    assert set(kinds) == (set(OF_ORDER) if name.startswith("ppc") else set(OF_ORDER) - {HINT})
    refused = sum(outcome.what == "refused" for outcome in outcomes)
    assert refused > 0.8 * (number - kinds[HINT])
