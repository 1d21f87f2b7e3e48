"""Code of PowerPC kernels that is copied, and written over in the copy at fixed distances."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.tables.test_ppc_extable import kernel, said

TEMPLATE = """
    add 3, 3, 4
    blr
.Lend:
    .globl {name}_entry, {name}_address, {name}_end
    .type {name}_entry, @function
{name}_entry:
    mr 3, 1
    .size {name}_entry, . - {name}_entry
    .type {name}_address, @function
{name}_address:
    nop
    {first}
    {second}
    blr
    .size {name}_address, . - {name}_address
{name}_end:
    .type g, @function
g:  add 3, 4, 3
    blr
    .size g, . - g
"""

PLACES = {"first": "nop", "second": "addi 4, 1, 112"}


@pytest.mark.parametrize(("name", "held"), [("optprobe_template", True), ("template", False)])
@pytest.mark.parametrize("bits", [32, 64])
def test_a_template_stays_as_it_is(tmp_path: Path, name: str, held: bool, bits: int) -> None:
    """The system writes over the nops at a label in it; functions beside it are no part of it."""
    old = TEMPLATE.format(name=name, **PLACES)
    new = TEMPLATE.format(name=name, first=PLACES["second"], second=PLACES["first"])
    assert bool(said(old, new, "", tmp_path, bits)) is held
    program = kernel(old, "", tmp_path / "again", bits)
    left = {f.name for f in program.functions if program.not_understood(f)}
    assert left == ({f"{name}_entry", f"{name}_address"} if held else set())
