"""What a page is made of, without a browser: pairs of rows, columns, figures, statuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.api import files
from rewriter.api.choose import Wanted
from rewriter.api.patch import patch
from rewriter.api.report import of_patched
from rewriter.cli import main
from rewriter.core.run.guard import strict
from rewriter.report.html.charts import stalls
from rewriter.report.html.plain import PlainText
from rewriter.report.html.sides import KEPT, Line, Sketch, cut, matches
from rewriter.report.html.text import Row, Stretch
from targets.alpha.cpus import CPUS
from tests.report.conftest import Page

Unpack = Callable[[Path, str], Any]
RUNS = re.compile(r"([=.+-])(\d+)")
SIDES = st.lists(st.integers(0, 3), max_size=60)


@given(SIDES, SIDES)
def test_pairs_cover_both_sides_and_the_same_is_the_same(old: list[int], new: list[int]) -> None:
    left: list[int] = []
    right: list[int] = []
    for mark, digits in RUNS.findall(matches(old, new)):
        at = int(digits)
        if mark in "=-":
            left += old[len(left) : len(left) + at]
        if mark in "=+":
            right += new[len(right) : len(right) + at]
        if mark == "=":
            assert left[-at:] == right[-at:]
    assert (left, right) == (old, new)


@given(st.lists(st.tuples(st.sampled_from("=-+"), st.integers(1, 4 * KEPT)), max_size=6))
def test_what_is_far_from_a_change_is_cut(runs: list[tuple[str, int]]) -> None:
    """Nothing that differs goes, nor what is near it, and the rest counts as before."""
    counts = {m: sum(n for mark, n in runs if mark == m) for m in "=-+"}
    old = [Line(Row(n, n, ""), None) for n in range(counts["="] + counts["-"])]
    new = [Line(Row(n, n, ""), None) for n in range(counts["="] + counts["+"])]
    pairs, left, right = cut("".join(f"{m}{n}" for m, n in runs), old, new)
    found = [(mark, int(digits)) for mark, digits in RUNS.findall(pairs)]
    after = {m: sum(n for mark, n in found if mark == m) for m in "=-+."}
    assert (after["-"], after["+"]) == (counts["-"], counts["+"])
    assert after["="] + after["."] == counts["="]
    assert (len(left), len(right)) == (len(old) - after["."], len(new) - after["."])
    for at, (mark, _) in enumerate(found):
        if mark == ".":
            assert found[at - 1] == found[at + 1] == ("=", KEPT)


def test_a_long_function_is_cut() -> None:
    rows = [Line(Row(n, n, ""), None) for n in range(1000)]
    pairs, left, _ = cut("=500-1=499", rows, rows[:999])
    assert pairs == f"={KEPT}.{500 - 2 * KEPT}={KEPT}-1={KEPT}.{499 - 2 * KEPT}={KEPT}"
    assert len(left) == 4 * KEPT + 1


def test_stalls_without_any_are_no_bars() -> None:
    assert stalls([Sketch()]) == []


def test_the_tables_have_every_edit(sample_page: Page, unpacked: Unpack) -> None:
    """Row by row what the run says, and functions that the file has."""
    tuned = sample_page.run.tuned
    assert tuned is not None
    tables = unpacked(sample_page.path, "tables")
    strings, edits = tables["strings"], tables["edits"]
    assert [strings[n] for n in edits["id"]] == [edit.id for edit in tuned.edits]
    assert [strings[n] for n in edits["old"]] == [edit.old for edit in tuned.edits]
    assert edits["saved"] == [edit.gain for edit in tuned.edits]
    names = tables["functions"]["name"]
    assert [names[n] for n in edits["function"]] == [edit.routine for edit in tuned.edits]
    for number, edit in enumerate(tuned.edits):
        grade, cases, assumes, patterns, _ = edits["evidence"][edits["proof"][number]]
        assert (grade, cases) == (edit.evidence.grade.value, edit.evidence.cases)
        assert (assumes, patterns) == (
            list(edit.evidence.preconditions),
            list(edit.evidence.patterns),
        )
    assert [strings[n] for n in tables["sites"]["reason"]] == [s.reason for s in tuned.skips]


@pytest.fixture
def run() -> Callable[..., Result]:
    """`run("report", ...)`: exit status and what was printed."""

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(
            main, [str(a) for a in arguments], prog_name="retune", catch_exceptions=False
        )

    return call


Run = Callable[..., Result]


@pytest.fixture
def pair(sample_page: Page, tmp_path: Path) -> tuple[Path, Path]:
    """The sample, and the sample retuned."""
    new = tmp_path / "new.so"
    new.write_bytes(sample_page.run.data())
    return inputs.require("alpha-sample"), new


def test_cycles_are_those_that_explain_shows(sample_page: Page, unpacked: Unpack, run: Run) -> None:
    explained = run(
        "explain", inputs.require("alpha-sample"), "sample_trailing_zeros", "--cpu", "ev67",
        "--cycles", "--json",
    )  # fmt: skip
    document = json.loads(explained.stdout)
    functions = unpacked(sample_page.path, "tables")["functions"]
    at = functions["name"].index("sample_trailing_zeros")
    sides = unpacked(sample_page.path, "chapter-0")
    sketch = sides["f"][at]
    for side, column in (("before", "l"), ("after", "r")):
        assert functions[side][at] == sum(part["cycles"] for part in document[side])
        cycles = [i["cycle"] for part in document[side] for i in part["instructions"]]
        assert sketch[column]["c"] == [-1 if cycle is None else cycle for cycle in cycles]


def test_the_same_page_again_and_by_two_processes(pair: tuple[Path, Path], run: Run) -> None:
    old, new = pair
    pages = [new.with_name(f"{jobs}.html") for jobs in (1, 2)]
    for jobs, page in enumerate(pages, 1):
        done = run("report", old, new, "-o", page, "-j", jobs)
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout.startswith(f"{page}: ")
        assert page.stat().st_mode & 0o111 == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_what_cannot_be_reported(pair: tuple[Path, Path], tmp_path: Path, run: Run) -> None:
    """One line, a status, and no page."""
    old, new = pair
    page = tmp_path / "page.html"
    other = inputs.require("alpha-libm")
    for arguments, status, said in (
        ((old, old, "-o", page), 3, "carries no manifest"),
        ((other, new, "-o", page), 3, "was not made from"),
        ((old, new, "-o", new), 2, "is the input itself"),
        ((old, new, "-o", tmp_path / "no" / "page.html"), 2, "no folder"),
        ((old, new, "-o", page, "--manifest", old), 3, "not a manifest"),
    ):
        done = run("report", *arguments)
        assert said in done.stderr
        assert (done.exit_code, len(done.stderr.splitlines())) == (status, 1)
    none = run("patch", old, "--dry-run", "--passes", "none", "--report", page)
    assert (none.exit_code, "no pass ran" in none.stderr) == (2, True)
    assert not page.exists()


def test_patch_writes_the_page_with_the_file(tmp_path: Path, run: Run) -> None:
    """Also for a CPU without a model, and when nothing is done to the file."""
    old, page = inputs.require("alpha-sample"), tmp_path / "page.html"
    done = run("patch", old, "--dry-run", "-q", "--cpu", "ev56", "--funcs", "sample_find",
               "--report", page)  # fmt: skip
    assert (done.exit_code, done.stderr) == (0, "")
    assert page.read_bytes().startswith(b"<!doctype html>")
    done = run("patch", old, "--dry-run", "-q", "--cpu", "ev4", "--passes", "align", "--max-edits",
               "0", "--report", page)  # fmt: skip
    assert (done.exit_code, done.stderr) == (4, "")
    assert "Nothing was done" in page.read_text()


def test_patch_without_a_page_does_not_load_what_makes_one(tmp_path: Path) -> None:
    code = (
        "import sys; from rewriter.cli import main;"
        "main(sys.argv[1:], standalone_mode=False);"
        "print([m for m in sys.modules if m == 'jinja2' or m.startswith('rewriter.report.html')])"
    )
    old = str(inputs.require("alpha-sample"))
    options = ["patch", old, "--dry-run", "-q", "--cpu", "ev67", "--funcs", "sample_find"]
    shown = []
    for more in ([], ["--report", str(tmp_path / "page.html")]):
        done = subprocess.run(
            (sys.executable, "-c", code, *options, *more), capture_output=True, text=True
        )
        shown.append(done.stdout.strip())
    assert shown[0] == "[]"
    assert "jinja2" in shown[1]


def far(pairs: str) -> int:
    """Rows that are not in a page."""
    return sum(int(count) for mark, count in RUNS.findall(pairs) if mark == ".")


def disassembled(file: Path, start: int, size: int) -> int:
    """The instructions in a range, by binutils: a line for each slot, and movl takes two."""
    objdump = inputs.require_tool("ia64-linux-gnu-objdump")
    span = (f"--start-address={start:#x}", f"--stop-address={start + size:#x}")
    done = subprocess.run((objdump, "-d", *span, file), capture_output=True, text=True, check=True)
    lines = re.findall(r"^ +[0-9a-f]+:\t.*", done.stdout, re.MULTILINE)
    return len(lines) - sum("movl" in line for line in lines)


def test_bundles_stand_with_ports_and_bubbles(tmp_path: Path, unpacked: Unpack) -> None:
    """A function of an IA-64 library: each slot of its bundles once, in order."""
    loaded = files.load(inputs.require("ia64-libsigar"))
    run = patch(loaded, Wanted(cpu="itanium2", funcs=("^sigar_(net_address|cpu_info).*",)))
    assert run.tuned is not None and run.tuned.edits
    page, new = tmp_path / "page.html", tmp_path / "new.so"
    page.write_bytes(of_patched(run))
    new.write_bytes(run.tuned.data)
    tables = unpacked(page, "tables")
    sides = unpacked(page, "chapter-0")
    for at, start in enumerate(tables["functions"]["start"]):
        for side in ("l", "r"):
            columns = sides["f"][at][side]
            offsets = [0]
            for step in columns["d"]:
                offsets.append(offsets[-1] + step)
            assert int(columns["a"], 16) == int(start, 16)
            assert all(offset % 16 in (0, 1, 2) for offset in offsets)
            assert offsets == sorted(set(offsets))
            assert len(offsets) == len(columns["x"])
            ports = {sides["x"][n] for n in columns["p"]}
            assert ports <= {*(f"{u}{n}" for u in "MIFB" for n in range(4)), ""}
        slots = len(sides["f"][at]["r"]["x"]) + far(sides["f"][at]["o"])
        assert slots == disassembled(new, int(start, 16), tables["functions"]["size"][at])


@pytest.mark.parametrize("cpu", ["ev4", "ev5", "pca56", "ev6"])
def test_every_cpu_has_a_page(cpu: str, tmp_path: Path, run: Run, unpacked: Unpack) -> None:
    """Cycles where the CPU has a model, none where not, and slots where it has slots."""
    page = tmp_path / "page.html"
    options = ("--cpu", cpu, "--passes", "align", "--funcs", "sample_hex")
    done = run("patch", inputs.require("alpha-sample"), "--dry-run", "--report", page, *options)
    assert (done.exit_code, done.stderr) == (0, "")
    modelled = CPUS[cpu].pipeline is not None
    functions = unpacked(page, "tables")["functions"]
    assert functions["name"] == ["sample_hex"]
    assert (functions["before"] != [None]) == modelled
    sides = unpacked(page, "chapter-0")["f"]
    assert all(("s" in sketch["l"]) == (cpu == "ev6") for sketch in sides)


def test_a_function_that_cannot_be_read_is_empty(
    tmp_path: Path, unpacked: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in one function, the page of the others is made."""
    loaded = files.load(inputs.require("alpha-sample"))
    run = patch(loaded, Wanted(cpu="ev67", passes="bytes", funcs=("sample_(hex|decimal)",)))
    before = PlainText.before

    def failing(self: PlainText, start: int, end: int, timed: bool) -> Sequence[Stretch]:
        if start == 0xDB0:  # sample_hex
            raise ArithmeticError
        return before(self, start, end, timed)

    monkeypatch.setattr(PlainText, "before", failing)
    with strict(False):
        (tmp_path / "page.html").write_bytes(of_patched(run))
    functions = unpacked(tmp_path / "page.html", "tables")["functions"]
    sides = unpacked(tmp_path / "page.html", "chapter-0")["f"]
    rows = dict(zip(functions["name"], (len(sketch["l"]["x"]) for sketch in sides), strict=True))
    assert rows["sample_hex"] == 0 < rows["sample_decimal"]
