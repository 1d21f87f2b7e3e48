"""The real libc's routines, and the engines that try them and ours."""

from __future__ import annotations

import pytest
from alpha_libc import Libc, libc_code

from fixtures import inputs
from targets.alpha.trial_program import AlphaTrials


@pytest.fixture(scope="session")
def alpha() -> AlphaTrials:
    """Alpha, for trials."""
    inputs.require_tool("qemu-alpha")
    return AlphaTrials()


@pytest.fixture(scope="session")
def libc_routine() -> Libc:
    """`libc_routine(contract)` gives the libc's routine."""
    return libc_code
