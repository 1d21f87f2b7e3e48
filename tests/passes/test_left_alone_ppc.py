"""PowerPC code that passes leave alone, and the reasons that they tell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.elf.pins import AT_RUN_TIME
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


VECTORS = """
    .machine altivec
    .globl f
    .type f, @function
    .p2align 5
f:  .cfi_startproc
    mtctr 3
    nop
    nop
    nop
1:  lvx 0, 4, 5
    addi 4, 4, 16
    bdnz 1b
    blr
    .cfi_endproc
    .size f, .-f
"""


def _left(run: Run, folder: Path, triplet: str, text: str, cpu: str) -> list[str]:
    """What is left alone of a library of this text, and why."""
    source, library = folder / "f.s", folder / "f.so"
    source.write_text(text)
    gcc = inputs.require_tool(f"{triplet}-gcc")
    subprocess.run((gcc, "-shared", "-nostdlib", str(source), "-o", str(library)), check=True)
    done = run("patch", library, "-o", folder / "new.so", "--cpu", cpu, "-vv")
    assert done.exit_code == 4
    return [line for line in done.stdout.splitlines() if line.startswith("left alone")]


@pytest.mark.parametrize("first", ["lwz 8, 0(4)", "plwz 8, 0(4)"])
def test_a_function_with_an_instruction_of_two_words(first: str, run: Run, tmp_path: Path) -> None:
    """POWER10: whether the loop begins with one or has it later on."""
    text = SOURCE.format(first=first)
    align, schedule = _left(run, tmp_path, "powerpc64le-linux-gnu", text, "power10")
    assert align.startswith("left alone align:f at ")
    assert schedule.startswith("left alone schedule:f at ")
    assert align.endswith("an instruction of two words")
    assert schedule.endswith("an instruction of two words")


def test_a_loop_that_the_model_does_not_know(run: Run, tmp_path: Path) -> None:
    """Routines for other CPUs stand in the same library."""
    align, schedule = _left(run, tmp_path, "powerpc-linux-gnu", VECTORS, "750")
    assert align.startswith("left alone align:f at ")
    assert schedule.startswith("left alone schedule:f at ")
    assert align.endswith("750 does not describe class vecload")
    assert schedule.endswith("750 does not describe class vecload")


@pytest.mark.parametrize("section", AT_RUN_TIME)
def test_code_that_is_known_by_address_at_run_time(section: str, run: Run, tmp_path: Path) -> None:
    """Go's runtime and what writes over nops know nothing of another layout."""
    text = f'{VECTORS} .section {section}, "a"\n .long 1\n'
    line, _ = _left(run, tmp_path, "powerpc-linux-gnu", text, "7450")
    assert line == f"left alone f: its code is known by address at run time: {section}"
