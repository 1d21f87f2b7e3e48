"""Our routines against those of Linux and glibc on the same model: a few points of the grid that
`benchmarks/routines.py` prints in full."""

from __future__ import annotations

import pytest

from benchmarks import routines
from fixtures.inputs import Missing
from tests.support.depth import DEEP

# A share of points that is won, well below what docs/routines.md has, so that a point more or less
# does not matter and a routine that became slow does.
_SHARES = {
    "strlen": 1.0,
    "strrchr": 1.0,
    "ffsll": 1.0,
    "memset": 0.9,
    "divqu": 1.0,
    "udiv_qrnnd": 1.0,
    "memchr": 0.9,
    "strncpy": 0.9,
}


@pytest.mark.skipif(not DEEP, reason="it unpacks the source of Linux: RETUNE_TESTS=deep")
@pytest.mark.parametrize("name", _SHARES)
def test_ours_need_no_more_cycles(name: str) -> None:
    try:
        found = list(routines.compare(name, every=41))
    except Missing as missing:
        pytest.skip(str(missing))
    assert found
    for comparison in found:
        assert comparison.samples and not comparison.wrong
        assert comparison.share >= _SHARES[name], comparison.row()
