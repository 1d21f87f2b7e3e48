"""A real kernel, analysed once."""

from __future__ import annotations

import pytest

from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf import image
from targets import for_machine


@pytest.fixture(scope="session")
def kernel() -> Program:
    """Linux 6.1 for Alpha, generic."""
    loaded = image.load(str(inputs.require("alpha-vmlinux")))
    return analyse(loaded, for_machine(loaded.machine, loaded.name))
