"""Our PowerPC routines against those of the libcs on the models: a few points of the grids that
`benchmarks/ppc_cycles.py` prints in full."""

from __future__ import annotations

import pytest

from benchmarks import ppc_cycles
from fixtures.inputs import Missing
from tests.support.depth import DEEP

SHORT = tuple(range(129)) if DEEP else (0, 1, 7, 8, 16, 33, 63, 64, 100, 128)

# What is promised of memcpy on G3, G4 and the POWER4, and a share on POWER9 that is above what the
# benchmark prints, so that a cycle more does not matter and a routine that became slow does.
_AT_MOST = {
    ("7450", "memcpy"): (1 / 3, (64,)),
    ("750", "memcpy"): (1 / 2, (64,)),
    ("power4", "memcpy"): (1.0, SHORT),
    ("power9", "strcmp"): (0.75, (15, 100)),
    ("power9", "strncpy"): (0.75, (15, 31)),
    ("power9", "strrchr"): (0.75, (15, 100, 512)),
    ("power9", "strcpy"): (0.8, (15, 31, 128, 512, 1024)),
}


@pytest.mark.parametrize(("cpu", "name"), _AT_MOST)
def test_ours_need_no_more_cycles(cpu: str, name: str) -> None:
    most, sizes = _AT_MOST[cpu, name]
    try:
        for size in sizes:
            found = list(ppc_cycles.points(cpu, name, (size,)))
            assert len(found) >= 8
            ratio = sum(p.ours for p in found) / sum(p.theirs for p in found)
            assert ratio <= most, ppc_cycles.row(cpu, name, str(size), found, most)
    except Missing as missing:
        pytest.skip(str(missing))
