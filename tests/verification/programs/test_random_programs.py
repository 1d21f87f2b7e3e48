"""Random programs do after retuning what they did before, and a broken one would be noticed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.fuzz import csmith
from fixtures.fuzz.campaign import Campaign
from fixtures.fuzz.options import Build, Linkage
from fixtures.fuzz.outcome import Fate, Outcome
from fixtures.fuzz.program import PIECES, Program, generate
from fixtures.fuzz.reduce import OPTIONAL, reduced, told
from fixtures.fuzz.road import travel
from fixtures.fuzz.shape import Language
from fixtures.fuzz.shapes import ALL, BY_NAME
from fixtures.fuzz.table import lines
from fixtures.inputs import find_headers, or_skip, require, require_tool
from tests.support.depth import depth

SEED = "tests"
COUNT = depth(32, 200)  # shapes, in programs of PIECES
PLAIN = Build("-O2", "ev4", Linkage.DYNAMIC, (), False, "ev67")
# What gcc's sanitizers cannot run: Alpha's builtins, registers and faults, the library's names.
_UNCHECKED = {
    "bits-lanes", "labels-pointers", "jumps-faults", "jumps-traps", "exceptions-faults",
    "strings-own", "strings-kept", "assembly-links", "assembly-registers",
}  # fmt: skip
_SANITIZED = (
    "-w", "-O1", "-fsanitize=undefined,address", "-fno-sanitize=shift-base",
    "-fno-sanitize-recover=all",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    for name in ("alpha-linux-gnu-gcc", "alpha-linux-gnu-g++", "qemu-alpha"):
        require_tool(name)
    or_skip(find_headers, "alpha-linux-headers")
    require("alpha-libc")


@pytest.mark.parametrize("number", range(COUNT // PIECES))
def test_a_program_does_the_same(number: int, tmp_path: Path) -> None:
    outcome = travel(generate(SEED, number), tmp_path)
    _same(outcome)


@pytest.mark.parametrize("number", range(depth(2, 10)))
def test_a_program_of_csmith_does_the_same(number: int, tmp_path: Path) -> None:
    require_tool("csmith")
    or_skip(find_headers, "csmith-headers")
    _same(travel(csmith.generate(SEED, number), tmp_path))


def _same(outcome: Outcome) -> None:
    wrong = {outcome.shapes[number]: outcome.fates[number].value for number in outcome.bad()}
    assert not wrong, f"{outcome.name}: {wrong}\n{outcome.build}\n{outcome.detail}"
    assert not {Fate.BROKEN, Fate.NOT_BUILT} & {*outcome.fates.values()}, outcome.detail


# That it can fail ---------------------------------------------------------------------------------


def _narrow() -> Program:
    """A program whose loads of signed bytes are rewritten, and printed."""
    return replace(generate("broken", 0, [BY_NAME["loops-checksums"]], 1), build=PLAIN)


def _one_load_moved(data: bytes) -> bytes:
    """The first new load of a byte through a register of its own loads the next byte."""
    for at in range(0x600, len(data) & -4, 4):
        word = int.from_bytes(data[at : at + 4], "little")
        base, displacement = word >> 16 & 31, word & 0xFFFF
        if word >> 26 == 0x0A and base not in (29, 30, 31) and displacement < 16:
            return data[:at] + (word ^ 1).to_bytes(4, "little") + data[at + 4 :]
    raise AssertionError("no ldbu to move")


def test_a_wrong_edit_is_noticed(tmp_path: Path) -> None:
    """One displacement of a rewritten load: the run differs, and verify does not accept it."""
    right = travel(_narrow(), tmp_path / "right")
    assert (right.fates, right.edits > 0) == ({0: Fate.EQUAL}, True)
    wrong = travel(_narrow(), tmp_path / "wrong", _one_load_moved)
    assert wrong.fates == {0: Fate.DIFFERENT}
    assert wrong.detail.endswith("verify says 1")
    assert any("loops-checksums different" in line for line in lines([right, wrong]))


def test_a_wrong_edit_that_does_not_run_is_noticed(tmp_path: Path) -> None:
    """Where all runs are equal, what verify says counts."""
    program = _narrow()
    text = program.text.replace("s0_main(); }", "}", 1)
    (piece,) = program.pieces
    idle = replace(program, pieces=(replace(piece, text=text),), is_whole=True)
    assert travel(idle, tmp_path, _one_load_moved).fates == {0: Fate.UNVERIFIED}


def test_the_failing_shape_is_named(tmp_path: Path) -> None:
    """Of several shapes in a program only the broken one differs; none of them is verified."""
    shapes = ("loops-checksums", "calls-recursion")
    first, second = (
        generate("broken", 0, [BY_NAME[name]], 2).pieces[n] for n, name in enumerate(shapes)
    )
    program = replace(_narrow(), pieces=(first, second))

    outcome = travel(program, tmp_path, _one_load_moved)
    assert outcome.fates == {0: Fate.DIFFERENT, 1: Fate.UNVERIFIED}


def test_what_fails_is_made_small(tmp_path: Path) -> None:
    """Other shapes, options and optional lines go; what is left still fails."""
    program = generate("broken", 1, [BY_NAME["memory-volatile"], BY_NAME["memory-fields"]], 3)
    build = replace(PLAIN, level="-O1", extra=("-g",), strip=True)
    line = next(line for line in program.pieces[1].text.splitlines() if OPTIONAL in line)

    def road(candidate: Program, folder: Path) -> Outcome:
        numbers = [piece.number for piece in candidate.pieces]
        bad = [n for n, p in zip(numbers, candidate.pieces, strict=True) if line in p.text]
        fates = {n: Fate.DIFFERENT if n in bad else Fate.EQUAL for n in numbers}
        names = dict.fromkeys(numbers, "shape")
        return Outcome(candidate.name, str(candidate.build), (), names, fates)

    found = reduced(replace(program, build=build), road)
    assert found is not None
    (piece,) = found.program.pieces
    assert [each for each in piece.text.splitlines() if OPTIONAL in each] == [line]
    assert found.program.build == PLAIN
    assert line in "\n".join(told(found))
    assert reduced(replace(program, pieces=program.pieces[:1]), road) is None


# The generator ------------------------------------------------------------------------------------


def test_a_seed_and_a_number_make_one_program() -> None:
    assert generate(SEED, 3) == generate(SEED, 3)
    assert generate(SEED, 3).text != generate(SEED, 4).text
    assert Campaign(SEED).program(3) == generate(SEED, 3)


@pytest.mark.parametrize(
    "shape",
    [s for s in ALL if s.name not in _UNCHECKED][:: depth(4, 1)],
    ids=lambda s: s.name,
)
def test_programs_are_free_of_undefined_behaviour(shape: object, tmp_path: Path) -> None:
    """Compiled for this machine with gcc's sanitizers, three of each shape run to their end."""
    require_tool("cc")
    named = next(one for one in ALL if one is shape)
    program = replace(generate("sanitized", 0, [named], 3), build=PLAIN)
    cxx = program.language is Language.CXX
    source = tmp_path / ("program.cc" if cxx else "program.c")
    source.write_text(f"{program.text}int main(int c, char **v) {{ return program(c, v); }}\n")
    compiler = require_tool("cc")
    flags = (flag for flag in named.flags if not flag.startswith("-mieee"))
    libraries = ("-lm", "-lstdc++") if cxx else ("-lm",)
    command = (
        compiler,
        *_SANITIZED,
        *flags,
        str(source),
        *libraries,
        "-o",
        str(tmp_path / "program"),
    )
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode and ("cc1plus" in built.stderr or "san" in built.stderr):
        pytest.skip("this machine's compiler has no C++ or no sanitizers")
    assert built.returncode == 0, built.stderr
    ran = subprocess.run((str(tmp_path / "program"),), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
