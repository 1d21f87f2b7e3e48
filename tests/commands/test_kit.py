"""Kits: made, run from a plain shell under the emulator, and what is read back."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.elf.image import load
from rewriter.verify.trials.image import function_named

Run = Callable[..., Result]
BENCH = Path(__file__).parents[2] / "fixtures" / "programs" / "bench_string.c"


@dataclass(frozen=True)
class Abi:
    """What a kit of an ABI is made of and runs in; `plain` has no other variants in its libc."""

    compiler: str
    emulator: str
    libc: str
    loader: str
    cpu: str
    plain: str = "ffs"


ABIS = {
    "alpha": Abi("alpha-linux-gnu", "qemu-alpha", "alpha-libc", "ld-linux.so.2", "ev67", "strlen"),
    "ppc32": Abi("powerpc-linux-gnu", "qemu-ppc", "ppc-libc", "ld.so.1", "7450"),
    "ppc64": Abi("powerpc64-linux-gnu", "qemu-ppc64", "ppc64-libc", "ld64.so.1", "970"),
    "ppc64le": Abi("powerpc64le-linux-gnu", "qemu-ppc64le", "ppc64el-libc", "ld64.so.2", "power9"),
}


def made(abi: Abi, run: Run, folder: Path, *new: Path) -> Path:
    """A kit of the ABI's libc and others, of a few routines."""
    compiler = inputs.require_tool(f"{abi.compiler}-gcc")
    old = inputs.require(abi.libc)
    along = ("--cc", compiler, "--cpu", abi.cpu, "--loader", old.parent / abi.loader)
    few = ("--routines", "strlen,strcpy,ffs", "--programs", BENCH)
    done = run("kit", old, *new, "-o", folder, *along, *few)
    assert (done.exit_code, done.stderr) == (0, "")
    return folder


def ran(abi: Abi, kit: Path) -> subprocess.CompletedProcess[str]:
    """The kit's script, with nothing in the environment but where programs are."""
    emulator = inputs.require_tool(abi.emulator)
    quick = {"RUN": emulator, "ROUNDS": "2", "MICROS": "100", "PATH": os.environ["PATH"]}
    command = ("/bin/sh", kit / "run.sh")
    return subprocess.run(command, env=quick, cwd="/", capture_output=True, text=True, check=False)


def damaged(path: Path, folder: Path, name: str) -> Path:
    """A copy in which the second instruction of a routine is the third."""
    image = load(path)
    found = function_named(image, name)
    assert found is not None
    at = image.offset_of(found[0]) + 4
    data = bytearray(path.read_bytes())
    data[at : at + 4] = data[at + 4 : at + 8]
    assert bytes(data) != path.read_bytes()
    other = folder / "damaged"
    other.write_bytes(bytes(data))
    return other


@pytest.mark.parametrize("name", ABIS)
def test_a_kit_runs_and_is_read_back(name: str, run: Run, tmp_path: Path) -> None:
    """Of a copy and of one that was damaged, the script blames the second alone."""
    abi = ABIS[name]
    old = inputs.require(abi.libc)
    kit = made(abi, run, tmp_path / "kit", old, damaged(old, tmp_path, abi.plain))
    done = ran(abi, kit)
    assert done.returncode == 1, done.stderr
    wrong = [line.split()[1:3] for line in done.stdout.splitlines() if line.startswith("wrong ")]
    assert ["new2", f"{abi.plain}:"] in wrong
    assert {side for side, _ in wrong} == {"new2"}
    read = run("kit", "--read", kit / "result.txt")
    assert read.exit_code == 1
    assert f"new2 {abi.plain}" in read.stderr and "do not install it" in read.stderr
    rows = [line.split("\t") for line in read.stdout.splitlines() if "\t" in line][1:]
    assert {(row[0], row[1]) for row in rows} >= {("strlen", "old"), ("strlen", "new")}
    assert all(re.fullmatch(r"\d+%", row[5]) for row in rows)
    assert re.search(
        r"^correlation of measured and modelled cycles: 0\.\d{3} over \d+", read.stdout, re.M
    )
    assert "checksums: 3 routines, programs: 1\n" in read.stdout
    assert f"to send: {kit / 'result.txt'} (" in read.stdout


RESULT = """\
retune-kit 1
target toy
model chip
point 0 strlen count=8
point 1 strlen count=64
point 2 memcpy count=8
cycles old 0 10
cycles old 1 40
cycles old 2 20
cycles new 0 5
cycles new 1 20
system Linux 6.1 toy
cpuinfo clock : 500.000000MHz
got old strlen check strlen 2 0123456789abcdef status 0
got new strlen check strlen 2 0123456789abcdef status 0
program old work 1 2
program new work 1 2
round 1 old empty 4.00
round 1 old time 0 24.00
round 1 old time 1 104.00
round 1 old time 2 24.00
round 1 new empty 4.00
round 1 new time 0 30.00
round 1 new time 1 44.00
round 2 new empty 5.00
round 2 new time 0 14.00
end
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "result.txt"
    path.write_text(text)
    return path


def test_errors_are_of_cycles_beyond_an_empty_call(run: Run, tmp_path: Path) -> None:
    """At 500 MHz a cycle has two nanoseconds: old strlen takes 10 and 50 cycles where the model
    says 10 and 40, new strlen 5 and 20 as it says, memcpy 10 and not 20."""
    read = run("kit", "--read", written(tmp_path, RESULT))
    assert (read.exit_code, read.stderr) == (0, "")
    rows = [line.split("\t") for line in read.stdout.splitlines() if "\t" in line]
    assert rows[1:] == [
        ["memcpy", "old", "1", "10", "20", "50%", "1.000", "1.000"],
        ["strlen", "new", "2", "25", "25", "0%", "0.417", "0.500"],
        ["strlen", "old", "2", "60", "50", "12%", "1.000", "1.000"],
    ]
    assert "toy chip on Linux 6.1 toy: 500 MHz as it says\n" in read.stdout
    assert "programs: 1\n" in read.stdout


def test_a_clock_that_is_not_named_is_fitted(run: Run, tmp_path: Path) -> None:
    """A cycle has the median of what the calls say: two nanoseconds again."""
    text = RESULT.replace("cpuinfo clock : 500.000000MHz\n", "")
    read = run("kit", "--read", written(tmp_path, text), "--json")
    assert '"clock_hz": null' in read.stdout
    assert '"nanoseconds_of_a_cycle": 2.0' in read.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not the result of a kit"),
        ("x\nend\n", "is not the result of a kit"),
        (RESULT.replace("\nend\n", "\n"), "ends early"),
        (RESULT.replace("cycles old 0 10", "cycles old 0 0"), "a line is damaged"),
        (RESULT.replace("cycles old 0 10", "cycles old"), "a line is damaged"),
        (RESULT.replace("24.00", "nan"), "a line is damaged"),
        (RESULT.replace("point 1", "point one"), "a line is damaged"),
    ],
)
def test_another_text_is_bad_input(text: str, said: str, run: Run, tmp_path: Path) -> None:
    read = run("kit", "--read", written(tmp_path, text))
    assert (read.exit_code, read.stdout) == (3, "")
    assert said in read.stderr and read.stderr.count("\n") == 1


def test_a_wrong_routine_is_said_and_ends_with_one(run: Run, tmp_path: Path) -> None:
    text = RESULT.replace("\nend\n", "\nwrong new strlen: status 139\nend\n")
    read = run("kit", "--read", written(tmp_path, text))
    assert read.exit_code == 1
    assert "wrong: new strlen: status 139\n" in read.stdout


def test_what_no_kit_can_be_made_of(run: Run, sample: Path, tmp_path: Path) -> None:
    """Each with one line; nothing is left."""
    there = tmp_path / "there"
    there.mkdir()
    out = tmp_path / "out"
    for arguments, status, said in (
        ((sample, "-o", out), 2, "kit takes OLD, NEW and -o DIR"),
        ((sample, sample, "-o", out), 2, "carries no manifest"),
        ((sample, sample, "-o", out, "--cpu", "ev67"), 3, "exports no known routine"),
        ((sample, sample, "-o", there, "--cpu", "ev67"), 2, "is there already"),
        (("--read", sample, "-o", out), 2, "--read: takes no libraries"),
        (("--read", sample), 3, "is not the result of a kit"),
    ):
        done = run("kit", *arguments)
        assert (done.exit_code, done.stdout) == (status, "")
        assert said in done.stderr and done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "there"]


def test_a_compiler_of_another_machine_is_refused(run: Run, tmp_path: Path) -> None:
    libc, out = inputs.require("alpha-libc"), tmp_path / "out"
    few = ("-o", out, "--cpu", "ev67", "--routines", "ffs")
    for compiler, said in (("cc", "--cc cc: "), ("no-such-cc", "--cc no-such-cc: No such file")):
        done = run("kit", libc, libc, *few, "--cc", compiler)
        assert (done.exit_code, done.stdout) == (2, "")
        assert said in done.stderr and "name a C compiler of the machine" in done.stderr
    assert list(tmp_path.iterdir()) == []
