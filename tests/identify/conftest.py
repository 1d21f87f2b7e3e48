"""The real libc with its names hidden, and signatures of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from made import Made, Places

import targets
from fixtures import inputs
from fixtures.local import LOCAL
from rewriter.contracts import CONTRACTS
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image, load
from rewriter.identify.compiler import compile_file
from rewriter.identify.signatures import Database
from rewriter.identify.symbols import contract_of
from targets.alpha import routines

ARCHIVE = Path("/usr/alpha-linux-gnu/lib/libc.a")  # of the package with the headers
EXPORTED = 30  # routines of glibc 2.36 for Alpha that have a contract


@pytest.fixture(scope="session")
def target() -> Sequential:
    """Alpha."""
    return targets.named("alpha")


@pytest.fixture(scope="session")
def image() -> Image:
    """The real libc with its names."""
    return load(inputs.require("alpha-libc"))


@pytest.fixture(scope="session")
def hidden(image: Image) -> Image:
    """The real libc without symbols."""
    return replace(image, symbols=())


@pytest.fixture(scope="session")
def places(image: Image) -> Places:
    """The address of each routine, as .dynsym has it."""
    found = {}
    for symbol in image.symbols:
        contract = contract_of(symbol.name, CONTRACTS) if symbol.st_shndx else None
        if contract is not None:
            found[contract] = symbol.st_value
    assert len(found) == EXPORTED
    return found


@pytest.fixture(scope="session")
def all_places(places: Places) -> Places:
    """The address of each routine, exported or not."""
    assert not LOCAL.keys() & places.keys()
    return {**places, **LOCAL}


@pytest.fixture(scope="session")
def made(target: Sequential) -> Made:
    """`made(path)`: the signatures of a file's routines of which there are tuned ones."""

    @cache
    def make(path: Path) -> Database:
        contracts = {name: CONTRACTS[name] for name in routines.names()}
        compiled = compile_file(path.read_bytes(), path.name, target, contracts)
        assert not compiled.refused
        return Database.of(target.name, compiled.signatures)

    return make


@pytest.fixture(scope="session")
def archive() -> Path:
    """The real static libc."""
    inputs.require_tool("alpha-linux-gnu-gcc")
    if not ARCHIVE.is_file():
        pytest.skip(f"{ARCHIVE} is not there; apt-get install libc6.1-dev-alpha-cross")
    return ARCHIVE
