"""`retune bench --suite mackerras`: the talk's loops by the models, and its tables beside them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fixtures import inputs
from tests.conftest import Run

SOURCES = Path(__file__).parents[2] / "fixtures" / "ppc"
TRIPLETS = {"mackerras32": "powerpc-linux-gnu", "mackerras64": "powerpc64-linux-gnu"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite's own functions, assembled and linked."""
    folder = tmp_path_factory.mktemp("talk")
    for name, triplet in TRIPLETS.items():
        compiler = inputs.require_tool(f"{triplet}-gcc")
        command = (compiler, "-shared", "-nostdlib", SOURCES / f"{name}.s", "-o", folder / name)
        subprocess.run(command, check=True)
    return folder


def rows(run: Run, file: Path, cpu: str) -> dict[str, Any]:
    """What the suite says of a file, for programs."""
    done = run("bench", file, "--suite", "mackerras", "--cpu", cpu, "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_flush_takes_what_the_manual_says_of_its_blocks(run: Run, built: Path) -> None:
    """128 blocks of 32 bytes, five cycles for a dcbst and four for an icbi: no code takes fewer."""
    found = rows(run, built / "mackerras32", "750")
    page = next(row for row in found["rows"] if row["names"][0] == "__flush_dcache_icache")
    assert page["least"] == 128 * (5 + 4) <= page["after"] <= page["before"] <= 1.02 * page["least"]
    assert any("flushes that are not made: 56%" in reason for reason in found["why"])
    flush = found["measured"][0]
    assert (flush["before"], flush["after"]) == (6763, 2974)


@pytest.mark.parametrize("cpu", ["power4", "970"])
def test_six_lines_at_once_are_faster_as_measured(run: Run, built: Path, cpu: str) -> None:
    """At most 0.56 of the simple loop's cycles, and no worse where a bank is busy for longer."""
    found = rows(run, built / "mackerras64", cpu)
    (copies,) = found["rows"]
    assert copies["ratio"] <= 0.56
    by_banks = [*found["page_copies_by_cycles_of_a_bank"].values()]
    assert by_banks == sorted(by_banks, reverse=True) and by_banks[0] <= 1.1 / 1.5
    assert len(by_banks) == 3


def test_entries_of_the_hash_table_are_bounded(run: Run, built: Path) -> None:
    found = rows(run, built / "mackerras32", "750")
    entries = next(row for row in found["rows"] if row["names"][0] == "invalidate_each")
    assert 0 < entries["ratio"] < 1
    assert any("1 % of an exec" in reason and "no pass" in reason for reason in found["why"])


def test_a_file_with_none_of_the_functions(run: Run) -> None:
    library = inputs.require("ppc-libBrokenLocale")
    done = run("bench", library, "--suite", "mackerras", "--cpu", "750")
    assert done.exit_code == 3
    assert "none of the functions of the suite" in done.stderr


def test_other_targets_flush_nothing(run: Run) -> None:
    done = run("bench", inputs.require("alpha-sample"), "--suite", "mackerras", "--cpu", "ev67")
    assert done.exit_code == 3
    assert "the suite mackerras is not done for alpha" in done.stderr
