"""Routines of real IA-64 files on the group-parallel machine, against what they promise.

The contracts are those that the product holds routines against; neither they nor the routines know
the machine.
"""

from __future__ import annotations

import pytest
from ia64_programs import Routines, sample

from rewriter.contracts import CONTRACTS

LIBC = (
    *("memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp", "strncmp"),
    *("strcpy", "strchr"),
)
CASES = 60


@pytest.fixture(scope="module")
def libc() -> Routines:
    return Routines("ia64-libc")


@pytest.mark.parametrize("name", LIBC)
def test_the_libcs_routines_keep_their_contracts(name: str, libc: Routines) -> None:
    contract = CONTRACTS[name]
    slots = 0
    for case in sample(contract, CASES):
        slots += len(libc.check(contract, case))
    assert slots > 10 * CASES
