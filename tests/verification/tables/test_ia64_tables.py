"""The kernel's tables that name code: found from both files alone, and mutants that fail."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import replace

import pytest

from fixtures import inputs
from rewriter.analysis.functions import find_functions
from rewriter.core.target.bundling import Landmark
from rewriter.elf.image import Image, load
from rewriter.verify.regions.check import verify
from rewriter.verify.regions.landmarks import named_by_tables
from rewriter.verify.routines.bundled_known import KnownBundled
from targets.ia64 import Ia64
from targets.ia64.image import tables
from targets.ia64.image.regions import Code
from targets.ia64.isa.rows import TABLE

TARGET = Ia64()


@pytest.fixture(scope="module")
def kernel() -> Image:
    return load(inputs.require("ia64-vmlinux"))


@pytest.fixture(scope="module")
def code(kernel: Image) -> Code:
    return TARGET.code(kernel, find_functions(kernel, TARGET.described(kernel)))


@pytest.fixture(scope="module")
def landmarks(code: Code) -> tuple[Landmark, ...]:
    return code.landmarks()


def findings(kernel: Image, code: Code, data: bytes) -> list[str]:
    return list(named_by_tables(code, TARGET.code(replace(kernel, data=data), code.functions)))


def test_every_entry_names_an_instruction(landmarks: tuple[Landmark, ...]) -> None:
    readelf = inputs.require_tool("ia64-linux-gnu-readelf")
    path = inputs.require("ia64-vmlinux")
    run = subprocess.run((readelf, "-SW", path), capture_output=True, text=True, check=True)
    sections = {tables.EXCEPTIONS, tables.CHECKS, *tables.PATCHED}
    rows = (line.partition("]")[2].split() for line in run.stdout.splitlines() if "]" in line)
    sizes = {row[0]: int(row[4], 16) for row in rows if row[5:] and row[0] in sections}
    counts = Counter(one.table for one in landmarks)
    assert counts[tables.EXCEPTIONS] > 1000
    for table, number in counts.items():
        slots = 3 * tables.PATCHED[table] if table in tables.PATCHED else 1
        assert number == sizes[table] // 4 * slots, table
    assert all(one.what is not None for one in landmarks)


def test_accesses_of_the_exception_table_access_memory(
    landmarks: tuple[Landmark, ...], code: Code
) -> None:
    """Every first word of an entry names a load, a store, a probe or an lfetch."""
    named = [one for one in landmarks if one.table == tables.EXCEPTIONS][::2]
    rows = {(op.match, op.mask): op.name for op in TABLE.rows}
    names = Counter(rows[one.what[0][:2]] for one in named)  # type: ignore[index]
    others = {n for n in names if not n.startswith(("ld", "st", "probe", "lfetch", "cmpxchg"))}
    assert sum(names[n] for n in others) < len(named) // 20, others


def test_the_same_file_has_no_finding(kernel: Image, code: Code) -> None:
    assert findings(kernel, code, kernel.data) == []


@pytest.mark.parametrize(
    "table", [tables.EXCEPTIONS, tables.CHECKS, *(one for one in tables.PATCHED if ".." in one)]
)
def test_another_instruction_at_a_named_place_is_found(
    table: str, kernel: Image, code: Code, landmarks: tuple[Landmark, ...]
) -> None:
    """The bundle that a table names changes places with the one behind it."""
    address = next(one.address for one in landmarks if one.table == table)
    offset = kernel.offset_of(address - address % 16)
    data = bytearray(kernel.data)
    data[offset : offset + 32] = data[offset + 16 : offset + 32] + data[offset : offset + 16]
    assert any(table in finding for finding in findings(kernel, code, bytes(data)))


@pytest.mark.parametrize("table", [tables.EXCEPTIONS, ".data..patch.vtop"])
def test_an_entry_that_names_another_place_is_found(table: str, kernel: Image, code: Code) -> None:
    section = kernel.section(table)
    assert section is not None
    data = bytearray(kernel.data)
    data[section.sh_offset] ^= 16  # the bundle behind or before
    assert any(table in finding for finding in findings(kernel, code, bytes(data)))


def test_what_a_table_names_stays_although_it_could_move(
    kernel: Image, code: Code, landmarks: tuple[Landmark, ...]
) -> None:
    """Two bundles of an access's region in another order: refused whatever they do."""
    address = next(one.address for one in landmarks if one.table == tables.EXCEPTIONS)
    start = address - address % 16
    offset = kernel.offset_of(start)
    data = bytearray(kernel.data)
    data[offset] ^= 1  # a stop more or less
    verdict = verify(
        KnownBundled(kernel, TARGET, code),
        replace(kernel, data=bytes(data)),
        lambda what, done, total: None,
    )
    assert not verdict.ok
    assert any("the exception table names it" in finding for finding in verdict.findings)
