"""A real kernel, analysed once."""

from __future__ import annotations

import pytest

from fixtures import inputs
from rewriter.elf import image
from rewriter.identify.program import Program, analyse
from targets import for_machine


@pytest.fixture(scope="session")
def kernel() -> Program:
    """Linux 6.1 for Alpha, generic."""
    loaded = image.load(str(inputs.require("alpha-vmlinux")))
    return analyse(loaded, for_machine(loaded.machine, loaded.name))
