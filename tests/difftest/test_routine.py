"""`retune difftest routine`: known routines of two files on all shapes of their contracts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from fixtures.broken import broken
from rewriter.difftest.routine import places
from rewriter.elf.image import load

Run = Callable[..., Result]
UNOP = 0x2FFE0000  # ldq_u zero,0(sp): the count of zero bits is left out


def test_a_routine_of_the_retuned_libc(run: Run, libc: Path, libc_ev67: Path) -> None:
    """By name, and by address with a contract: all shapes, in steps and emulated."""
    inputs.require_tool("qemu-alpha")
    symbols = {s.name.partition("@")[0]: s.st_value for s in load(libc).symbols if s.st_value}
    result = run("difftest", "routine", libc, libc_ev67, "ffsll", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    details = {case["name"]: case["detail"] for case in document["cases"]}
    assert set(details) == {"ffsll, in steps", "ffsll, in the emulator"}
    assert all(int(detail.split()[0]) > 60 for detail in details.values())
    place = (f"{symbols['ffsll']:#x}", "--contract", "ffsll")
    again = json.loads(run("difftest", "routine", libc, libc_ev67, *place, "--json").stdout)
    assert [case["detail"] for case in again["cases"]] == list(details.values())


def test_each_variant_that_a_resolver_picks(run: Run, tmp_path: Path) -> None:
    """A name stands for all of them; one that is wrong is told from the others."""
    inputs.require_tool("qemu-ppc64le")
    libc = inputs.require("ppc64el-libc")
    image, changed = load(libc), bytearray(libc.read_bytes())
    found = places(image, "memset")
    assert len(found) > 1
    address = next(at for at, cpus in found.items() if "power9" in cpus)
    offset = image.offset_of(address)
    changed[offset : offset + 8] = bytes.fromhex("000060382000804e")  # li r3,0; blr
    wrong = tmp_path / "wrong.so"
    wrong.write_bytes(changed)
    result = run("difftest", "routine", libc, wrong, "memset", "--json")
    assert result.exit_code == 1
    told = {case["name"].split()[0]: set[str]() for case in json.loads(result.stdout)["cases"]}
    for case in json.loads(result.stdout)["cases"]:
        told[case["name"].split()[0]].add(case["verdict"])
    assert told == {f"{at:#x}": {"differs" if at == address else "same"} for at in found}


def test_a_routine_that_is_wrong(run: Run, libc: Path, libc_ev67: Path, tmp_path: Path) -> None:
    bad = tmp_path / libc.name
    made = broken(libc.read_bytes(), libc_ev67.read_bytes(), "ffsl", lambda word: UNOP)
    bad.write_bytes(made.data)
    result = run("difftest", "routine", libc, bad, "ffsll")
    assert result.exit_code == 1
    assert result.stdout.count("differs: ffsll, ") == 2
    wrong = r"differs: ffsll, in steps: the result is 0x[0-9a-f]+, not 1 \(every bit: low=0"
    assert re.search(wrong, result.stdout)
    assert result.stderr.startswith(f"retune: {bad}: ffsll, in steps: ")


def test_an_original_that_does_not_keep_it(run: Run, libc: Path) -> None:
    result = run("difftest", "routine", libc, libc, "ffsll", "--contract", "strlen")
    assert result.exit_code == 3
    assert "unusable: strlen, in steps: the original does not keep it: " in result.stdout


@pytest.mark.parametrize(
    ("name", "options", "status", "message"),
    [
        ("no_such", (), 2, "no_such: no such symbol in "),
        ("0x10", (), 2, "0x10: no code of "),
        ("printf", (), 2, "no symbol there names a routine whose contract is known"),
        ("printf", ("--contract", "printf"), 2, "--contract printf: no such contract (known: "),
    ],
)
def test_bad_usage(
    name: str, options: tuple[str, ...], status: int, message: str, run: Run, libc: Path
) -> None:
    result = run("difftest", "routine", libc, libc, name, *options)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr


def test_files_that_do_not_belong_together(run: Run, libc: Path) -> None:
    for other, message in (
        ("ia64-libjnidispatch", "is for another architecture than"),
        ("alpha-sample", "no code of "),
    ):
        result = run("difftest", "routine", libc, inputs.require(other), "ffsll")
        assert result.exit_code in (2, 3)
        assert message in result.stderr
