"""Routines with the C library's names that are not the C library's, or that do more.

The programs are compiled here and run under qemu-alpha, as they were and as `patch` leaves them.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import targets
from fixtures import corners, inputs
from passes.substitute import Substitute
from rewriter.analysis.program import analyse
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.caves.build import caves_of
from rewriter.elf.image import Image, load
from rewriter.identify.trusted import soname, trusts_names
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.verify.routines.replaceable import Known, Named
from tests.conftest import Run
from tests.support.depth import DEEP

C_LIBRARY = ("-shared", "-fPIC", "-Wl,-Bsymbolic", "-nostdlib", "-Wl,-soname,libc.so.6.1")


def compiled(name: str, folder: Path, *options: str) -> Path:
    """A source of the corners, compiled for Alpha; a copy in the folder."""
    made = inputs.or_skip(lambda source: corners.compiled(source, ("-O2", *options)), f"{name}.c")
    return Path(shutil.copy(made, folder / f"{name}.out"))


def output(path: Path) -> bytes:
    """What a program prints on the original libc; it must end well."""
    qemu, sysroot = inputs.require_tool("qemu-alpha"), inputs.require("alpha-libc").parents[1]
    command = (qemu, "-cpu", "ev67", "-L", str(sysroot), str(path))
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.mark.parametrize("name", ["null", "counted", "kept"])
def test_a_program_with_routines_of_its_own_prints_the_same(
    name: str, run: Run, tmp_path: Path
) -> None:
    """Their names say nothing: null pointers, counts and values in registers are theirs."""
    old = compiled(name, tmp_path)
    new = tmp_path / "new"
    done = run("patch", old, "-o", new, "--cpu", "ev67")
    assert done.exit_code in (0, 4), done.stderr
    assert output(new) == output(old) != b""


def test_no_symbol_of_a_program_names_a_routine(tmp_path: Path) -> None:
    for name in ("null", "counted"):
        image = load(compiled(name, tmp_path))
        assert any(symbol.name == "memset" for symbol in image.symbols)
        assert not trusts_names(image)
        assert not known_of(image).named


@pytest.mark.parametrize(
    ("name", "trusted"),
    [
        ("libc.so.6.1", True),
        ("ld-linux.so.2", True),
        ("libc.so", True),
        ("libc.so.6.1x", False),
        ("libcc.so.6.1", False),
        ("libm.so.6.1", False),
    ],
)
def test_a_library_is_what_it_calls_itself(name: str, trusted: bool, tmp_path: Path) -> None:
    image = load(compiled("hidden", tmp_path, *C_LIBRARY[:-1], f"-Wl,-soname,{name}"))
    assert soname(image) == name
    assert trusts_names(image) == trusted == bool(known_of(image).named)


def known_of(image: Image) -> Known:
    return Known(analyse(image, targets.of(image)))


@pytest.fixture
def hidden(tmp_path: Path) -> Known:
    """A library that says it is the C library, with things hidden in it."""
    return known_of(load(compiled("hidden", tmp_path, *C_LIBRARY)))


def named(known: Known, name: str) -> Named:
    return next(one for one in known.named.values() if name in one.contracts)


def place(known: Known, name: str) -> str:
    """The tuned routine that may stand for one; CannotMove if none may."""
    target = known.program.target
    caves = caves_of(known.program.image, target)
    choices = Substitute().choices(known, named(known, name), target.cpus["ev67"])
    found = Substitute().place(known, choices, caves)
    return found.routine.name


HIDDEN = {
    "strlen": "no tuned routine does the same: the world sees .*fault",
    "memset": "not tried everywhere: the branch at 0x.* goes one way in every case",
    "memchr": "not tried everywhere: the branch at 0x.* goes one way in every case",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_few_calls_come_to_is_no_part_of_a_contract(hidden: Known, name: str) -> None:
    """One count of all, and a null pointer: what such code does nobody promises."""
    with pytest.raises(CannotMove, match=HIDDEN[name]):
        place(hidden, name)


def test_a_comparison_keeps_its_values(hidden: Known) -> None:
    """-1 stays -1 and a difference a difference: a program may print them."""
    assert place(hidden, "strcmp") == "strcmp"
    assert place(hidden, "strncmp") == "strncmp"
    with pytest.raises(CannotMove, match=r"model: .* at 4 bytes"):  # the one with differences
        place(hidden, "memcmp")
    target = hidden.program.target
    for name, other in (("strcmp", "strcmp-difference"), ("memcmp", "memcmp")):
        wrong = [one for one in target.routines(name) if one.name == other]
        assert wrong
        for routine in wrong:
            assert "the original's 0x" in hidden.unlike(named(hidden, name), routine)


def test_the_verifier_refuses_another_value(hidden: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the rewriter takes whatever routine there is: the first gives differences."""
    image, target = hidden.program.image, hidden.program.target
    names = {"strcmp", "strncmp"} if DEEP else {"strcmp"}
    options = Options(passes=("substitute",), funcs=tuple(names))
    good = tune(image, target, target.cpus["ev67"], options, lambda *_: None)
    assert {edit.routine for edit in good.edits} == names
    monkeypatch.setattr(Known, "unlike", lambda *_: "")
    bad = tune(image, target, target.cpus["ev67"], options, lambda *_: None)
    assert not bad.edits


def test_the_divisions_of_the_libc_stay(libc: Path, run: Run, tmp_path: Path) -> None:
    """They raise SIGFPE where the divisor is zero, and divide in floating point, which is fast."""
    funcs = "__(div|rem)[lq]u?"
    options = ("--cpu", "ev67", "--passes", "substitute", "--funcs", funcs, "-v")
    done = run("patch", libc, "-o", tmp_path / libc.name, *options)
    assert done.exit_code == 4, done.output
    assert "8 left alone: no tuned routine does the same" in done.stdout
