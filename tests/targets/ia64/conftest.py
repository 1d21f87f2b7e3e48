"""IA-64 files whose routines several tests run on the machine."""

from __future__ import annotations

import pytest

from tests.targets.ia64.machine.ia64_programs import Routines


@pytest.fixture(scope="module")
def ia64_libc() -> Routines:
    return Routines("ia64-libc")


@pytest.fixture(scope="module")
def ia64_kernel() -> Routines:
    return Routines("ia64-vmlinux")
