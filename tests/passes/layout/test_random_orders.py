"""Random programs of branches by random profiles print the same in another order.

`benchmarks/random_orders.py` has more of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.inputs import Missing
from tests.support.branching_programs import SETTINGS, Compared, compared
from tests.support.depth import DEEP

MACHINES = tuple(SETTINGS) if DEEP else ("ppc",)


@pytest.mark.parametrize("machine", MACHINES)
def test_they_print_the_same(machine: str, tmp_path: Path) -> None:
    """What is verified is the same program, and most functions have another order."""
    try:
        found = compared(machine, "test", 0, 4, tmp_path)
    except Missing as missing:
        pytest.skip(str(missing))
    assert found.verified and not found.different
    assert len(found.before) == 4 and found.ordered >= 2


def test_another_line_is_another_program() -> None:
    """So is one that is missing: then no line counts as the same."""
    assert Compared(["0 a", "1 b"], ["0 a", "1 c"], 1, True).different == [1]
    assert Compared(["0 a", "1 b"], ["0 a"], 1, True).different == [0, 1]
