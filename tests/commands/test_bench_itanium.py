"""`retune bench --suite itanium`: the article's table beside ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from elftools.elf.elffile import ELFFile

import targets
from fixtures import ia64, inputs
from rewriter.elf import image
from rewriter.report.suites.itanium import Story
from rewriter.suites.itanium import slots_of, stage

Run = Callable[..., Result]
SUITE = ("--suite", "itanium", "--cpu", "itanium2")

# The article's rows: version, cycles, groups, bubbles.
ARTICLE = """C++ 508 231 277
initial assembly 170 83 87
optimised 95 39 56
final 36 33 3
optimal 34 32 2
ideal 9 9 0"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return ia64.fastpath(tmp_path)


@pytest.fixture
def beginning(tmp_path: Path) -> Path:
    """The path as far as it asks for the sender: `test_itanium_fastpath.py` orders all of it."""
    source = tmp_path / "beginning.s"
    head, found, _ = ia64.FASTPATH.read_text().partition("\t// The kernel has nothing else to do.")
    assert found
    source.write_text(head + "\tbr.ret.sptk.many rp ;;\n\t.endp fastpath\n")
    return ia64.linked(source, tmp_path, "-e", "fastpath")


def test_both_tables(run: Run, beginning: Path) -> None:
    """Plain lines: the article's rows, ours, and bubbles that add up to them."""
    result = run("bench", beginning, *SUITE)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    rows = [" ".join(line.split("\t")[:4]) for line in lines]
    start = rows.index("C++ 508 231 277")
    assert rows[start : start + 6] == ARTICLE.splitlines()
    stages = {
        name: [int(cell) for cell in cells[:3]]
        for name, *cells in (line.split("\t") for line in lines)
        if name in ("as written", "list scheduler", "exact scheduler")
    }
    assert all(cycles == groups + bubbles for cycles, groups, bubbles in stages.values())
    assert 3 * stages["exact scheduler"][0] <= stages["as written"][0]
    counted = [line.split("\t") for line in lines if line.startswith("B")]
    (_, *totals), *each = counted
    assert [int(total) for total in totals] == [
        sum(int(row[column]) for row in each) for column in range(1, 5)
    ]
    assert totals == ["56", *(str(stage[2]) for stage in stages.values())]
    assert "not measured" in lines[-2]
    groups = stages["as written"][1]
    assert f"({groups} groups), and the article's path had 83 groups" in lines[-1]
    assert any(re.search("proved optimal|between .* and .* cycles", line) for line in lines)


def test_for_programs(path: Path) -> None:
    """The same as JSON."""
    loaded = image.load(path)
    target = targets.of(loaded)
    cpu = target.cpus["itanium2"]
    assert target is not None
    assert cpu.bundled is not None
    symbols = {symbol.name: symbol.st_value for symbol in loaded.symbols}
    slots = slots_of(loaded, target, symbols["fastpath"], symbols["slow"])
    document = Story(cpu.name, "fastpath", [stage("as written", slots, target, cpu)]).as_json()
    assert json.loads(json.dumps(document)) == document
    (stage_,) = document["stages"]
    assert stage_["cycles"] == stage_["groups"] + sum(stage_["bubbles"].values())
    for row in document["measured"]:
        assert row["cycles"] == row["groups"] + row["bubbles"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--machine", "cs20"), 2, "--machine"),
        (("--share", "0.4"), 2, "--share"),
        (("--function", "nothing"), 2, "nothing: no such function"),
    ],
)
def test_what_it_refuses(
    arguments: tuple[str, ...], status: int, said: str, run: Run, path: Path
) -> None:
    result = run("bench", path, *SUITE, *arguments)
    assert result.exit_code == status
    assert said in result.stderr


def test_code_that_is_not_straight(run: Run) -> None:
    library = inputs.require("ia64-libjnidispatch")
    result = run("bench", library, *SUITE, "--function", "ffi_call")
    assert result.exit_code == 3
    assert "leaves the function on the way" in result.stderr


def test_what_is_no_code(run: Run, path: Path) -> None:
    """A template that is reserved, in the first bundle of the path."""
    data = bytearray(path.read_bytes())
    with path.open("rb") as stream:
        text = ELFFile(stream).get_section_by_name(".text")
        at = text["sh_offset"]
    data[at] |= 0x1F
    path.write_bytes(data)
    result = run("bench", path, *SUITE)
    assert result.exit_code == 3
    assert "no instruction at" in result.stderr


def test_other_kinds_of_code(run: Run, sample: Path) -> None:
    result = run("bench", sample, *SUITE)
    assert result.exit_code == 3
    assert "the suite itanium is not done for alpha" in result.stderr


def test_the_other_suite_takes_no_function(run: Run, sample: Path) -> None:
    result = run("bench", sample, "--cpu", "ev67", "--function", "memcpy")
    assert result.exit_code == 2
    assert "--function" in result.stderr
