"""A library whose debug information is in a file of its own."""

from __future__ import annotations

import pytest
from taken_apart import Split, split


@pytest.fixture(scope="session")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """A library with a build-id and a debug link; nobody writes to it."""
    return split(tmp_path_factory.mktemp("split"), "-Wl,--build-id")
