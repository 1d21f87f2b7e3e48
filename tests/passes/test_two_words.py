"""Instructions of two words (POWER10): a function that has one keeps its layout and its loops."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fixtures import inputs
from tests.conftest import Run

SOURCE = """
    .machine power10
    .globl f
    .type f, @function
    .p2align 5
f:  .cfi_startproc
    mtctr 3
    li 9, 0
    nop
    nop
    nop
1:  {first}
    mulli 8, 8, 3
    add 9, 8, 9
    xori 8, 9, 5
    plwz 7, 8(4)
    mullw 7, 7, 10
    addi 10, 10, 1
    paddi 7, 7, 124076833
    subf 9, 7, 9
    mulli 7, 9, 7
    stw 7, 12(4)
    bdnz 1b
    mr 3, 9
    blr
    .cfi_endproc
    .size f, .-f
"""


@pytest.mark.parametrize("first", ["lwz 8, 0(4)", "plwz 8, 0(4)"])
def test_it_is_left_alone(first: str, run: Run, tmp_path: Path) -> None:
    """Whether the loop begins with one or has it later on; and the reason is told."""
    source, library = tmp_path / "f.s", tmp_path / "f.so"
    source.write_text(SOURCE.format(first=first))
    gcc = inputs.require_tool("powerpc64le-linux-gnu-gcc")
    command = (gcc, "-shared", "-nostdlib", str(source), "-o", str(library))
    subprocess.run(command, check=True)
    done = run("patch", library, "-o", tmp_path / "new.so", "--cpu", "power10", "-vv")
    assert done.exit_code == 4
    for what in ("schedule:f at", "align:f at"):
        (line,) = (line for line in done.stdout.splitlines() if what in line)
        assert line.endswith("an instruction of two words")
