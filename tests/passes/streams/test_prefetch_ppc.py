"""Lines asked for ahead on 32-bit PowerPC: `dcbt` with its distance in a register of its own."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from passes import Prefetch, lacking, offered
from rewriter.analysis.program import Program, analyse
from rewriter.core.isa.instruction import Insn
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import load
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.timing.engines import engine_of
from rewriter.verify.check import verify
from targets.ppc.cpus import CPUS
from targets.ppc.registers import ZERO

WALK = """
        .text
        .globl  walk
        .type   walk,@function
        .p2align 5
walk:   .cfi_startproc
        mtctr   4
        li      11,0
        li      5,7
        .p2align 5
1:      lwz     9,0(3)
        addi    3,3,4
        mulli   5,5,31
        add     5,5,9
        mullw   5,5,5
        bdnz    1b
        mr      3,5
        blr
        nop
        nop
        nop
        nop
        .cfi_endproc
        .size   walk,.-walk
        .section .note.GNU-stack,"",@progbits
"""
"""A loop that has time: r11 is written in the function, and nobody reads it."""
MAIN = """
#include <stdio.h>
unsigned walk(const unsigned *p, int n);
static unsigned words[3000];
int main(void)
{
    for (int i = 0; i < 3000; i++) words[i] = 5 * i + 1;
    printf("%u\\n", walk(words, 3000));
    return 0;
}
"""
ONLY = Options(passes=("prefetch", "align"), funcs=("walk",))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program."""
    folder = tmp_path_factory.mktemp("walk")
    gcc = inputs.require_tool("powerpc-linux-gnu-gcc")
    sources = {"walk.s": WALK, "main.c": MAIN}
    for name, text in sources.items():
        (folder / name).write_text(text)
    command = (gcc, "-O2", *(str(folder / name) for name in sources), "-o", str(folder / "walk"))
    subprocess.run(command, check=True)
    return folder / "walk"


@pytest.fixture(scope="module")
def program(path: Path) -> Program:
    """What is known of it."""
    image = load(path)
    return analyse(image, targets.of(image))


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    """With its loop hinted for a 7450."""
    return tune(program.image, program.target, CPUS["7450"], ONLY, lambda *_: None, program=program)


def _run(path: Path) -> bytes:
    qemu = inputs.require_tool("qemu-ppc")
    library = inputs.require("ppc-libc").parents[1]
    return subprocess.run((qemu, "-L", str(library), str(path)), capture_output=True).stdout


def _hint(program: Program, tuned: Tuned) -> tuple[int, Insn, Insn]:
    """Where the hint stands, with what its distance is made by right in front of it."""
    image = replace(program.image, data=tuned.data)
    (function,) = (f for f in program.functions if f.name == "walk")
    rows = program.target.table
    words = image.words(function.start, function.end, 4).tolist()
    insns = [rows.decode(word) for word in words]
    (at,) = (n for n, insn in enumerate(insns) if insn is not None and insn.name == "dcbt")
    distance, hint = insns[at - 1], insns[at]
    assert distance is not None and hint is not None
    return function.start + 4 * at, distance, hint


def test_a_loop_asks_ahead_and_the_program_prints_the_same(
    path: Path, program: Program, tuned: Tuned
) -> None:
    """By whole lines, as far as the memory of the machine is slow; as quick in the cache."""
    (edit,) = (edit for edit in tuned.edits if edit.technique == "prefetch")
    assert edit.evidence.grade.value == "PROVED" and "in the cache stayed" in edit.evidence.detail
    _, distance, hint = _hint(program, tuned)
    assert hint.operands == (3, 11) and (distance.name, distance.operands[:2]) == ("addi", (11, 63))
    line = engine_of(CPUS["7450"]).line
    assert line <= distance.operand("si") + 4 <= 9 * line
    new = path.with_name("tuned")
    new.write_bytes(tuned.data)
    new.chmod(0o755)
    assert _run(new) == _run(path) != b""


def test_the_verifier_lets_nothing_else_in(program: Program, tuned: Tuned) -> None:
    """A load, a hint to write, a cleared block in its place; another register for the distance."""
    at, distance, hint = _hint(program, tuned)
    rows, (function,) = program.target.table, [f for f in program.functions if f.name == "walk"]

    def said(place: int, insn: Insn) -> tuple[str, ...]:
        data = bytearray(with_old_identity(program.image, tuned.data))
        offset = program.image.offset_of(place)
        data[offset : offset + 4] = program.target.encode(insn)
        image = replace(program.image, data=bytes(data))
        return tuple(verify(program, image, lambda *_: None, only=[function]).findings)

    assert not said(at, hint) and not said(at, hint.replace(rb=3))
    others = [Insn(rows.find(name), (11, 3, 11)) for name in ("lwzx", "lbzx")]
    others += [Insn(rows.find(name), (3, 11)) for name in ("dcbtst", "dcbz", "icbi")]
    others.append(Insn(rows.find("stwx"), (11, 3, 11)))
    assert all(said(at, other) for other in others)
    # A register that is read, one that callers may have a value in, the loop's own.
    assert all(said(at - 4, distance.replace(rt=number)) for number in (3, 5, 12, 31))
    assert not said(at - 4, distance.replace(si=64))
    assert said(at - 4, distance.replace(ra0=3, rt=3)) and distance.operand("ra0") == ZERO


def test_only_chips_that_see_no_streams_ask_ahead() -> None:
    """A 970 and POWER see them themselves; 64-bit files are for nothing else."""
    asking = {name for name, cpu in CPUS.items() if engine_of(cpu).asks_ahead}
    assert asking == {"603e", "750", "7400", "7450"}
    for name in ("ppc", "ppc64", "ppc64el"):
        target = targets.of(load(inputs.require(f"{name}-libanl")))
        assert ("prefetch" in offered(target)) == (name == "ppc")
        assert not lacking(Prefetch(), target, CPUS["7450"])


VECTORS = """
        .machine altivec
        .text
        .globl  walk
        .type   walk,@function
walk:   .cfi_startproc
        mtctr   4
1:      lwz     9,0(3)
        addi    3,3,4
        lvx     0,0,5
        bdnz    1b
        blr
        .cfi_endproc
        .size   walk,.-walk
"""
"""A loop with a vector in it, which programs for any chip have behind a test for them."""


def test_a_loop_with_what_the_chip_has_not_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "vectors.s").write_text(VECTORS)
    gcc = inputs.require_tool("powerpc-linux-gnu-gcc")
    command = (gcc, "-shared", "-nostdlib", str(tmp_path / "vectors.s"), "-o", str(tmp_path / "v"))
    subprocess.run(command, check=True)
    image = load(tmp_path / "v")
    program = analyse(image, targets.of(image))
    found = tune(
        program.image, program.target, CPUS["603e"], ONLY, lambda *_: None, program=program
    )
    assert not found.refusals and not found.edits
    assert {skip.reason for skip in found.skips} == {"603e does not describe class vecload"}
