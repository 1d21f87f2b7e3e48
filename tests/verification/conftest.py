"""A real kernel, analysed once."""

from __future__ import annotations

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf import image


@pytest.fixture(scope="session")
def kernel() -> Program:
    """Linux 6.1 for Alpha, generic."""
    loaded = image.load(str(inputs.require("alpha-vmlinux")))
    return analyse(loaded, targets.of(loaded))
