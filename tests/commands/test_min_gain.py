"""What a file is expected to gain, and `--min-gain`, which keeps it as it is for less."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import targets
from rewriter.analysis.loops import depths
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Evidence, Grade
from rewriter.elf.image import load
from rewriter.identify.profiles import Heat
from rewriter.report.summary.expected import BY_LOOPS, Expected, expected, fewer

Run = Callable[..., Result]
PASSES = ("--cpu", "ev67", "--passes", "bytes,align")


@pytest.fixture
def program(sample: Path) -> Program:
    image = load(str(sample))
    target = targets.of(image).sequential
    assert target is not None
    return analyse(image, target)


def test_less_than_wanted_is_a_copy(run: Run, sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.so"
    done = run("patch", sample, "-o", out, *PASSES, "--min-gain", "60")
    assert done.exit_code == 4
    assert out.read_bytes() == sample.read_bytes()
    (last,) = done.stdout.splitlines()[-1:]
    assert last.startswith("kept as it was: expected: ")
    assert last.endswith(f"({BY_LOOPS}); at least 60 % is wanted")
    assert len(done.stdout.splitlines()) <= 15


def test_as_much_as_wanted_is_written(run: Run, sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.so"
    done = run("patch", sample, "-o", out, *PASSES, "--min-gain", "1", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["kept"]) == (0, "")
    assert document["expected"]["percent"] >= 1
    assert document["expected"]["basis"] == BY_LOOPS
    assert out.read_bytes() != sample.read_bytes()


@pytest.mark.parametrize("percent", ("-1", "101", "nan", "much"))
def test_no_per_cent(run: Run, sample: Path, tmp_path: Path, percent: str) -> None:
    done = run("patch", sample, "-o", tmp_path / "out.so", *PASSES, "--min-gain", percent)
    assert done.exit_code == 2
    assert "--min-gain" in done.stderr


def test_a_profile_says_which_functions(run: Run, sample: Path, tmp_path: Path) -> None:
    """All in a function of two that has no edit: nothing is expected, and it says of what."""
    path = tmp_path / "samples"
    path.write_text("E cycles\nS 730 7\n")
    options = ("--dry-run", "--funcs", "sample_length", "--profile", path, "--min-gain", "0.1")
    done = run("patch", sample, *PASSES, *options)
    assert done.exit_code == 4
    assert "expected: 0 % fewer executed instructions (BOLT profile, loops" in done.stdout


def test_loops_are_natural_ones(program: Program) -> None:
    """As by removing each head and looking what can still be reached."""
    graph = program.graph
    found = depths(program)
    for function in program.functions:
        blocks = graph.blocks_of(function)
        after = graph.within(blocks)
        entries = {blocks.start, *(b for b in blocks if graph.entered[b])}
        reached = _reached(after, entries, -1)
        heads = {}
        for head in reached:
            others = _reached(after, entries - {head}, head)
            latches = {b for b in reached - others if head in after.get(b, ())}
            if latches:
                heads[head] = latches
        for block in reached:
            inside = [
                h for h, latches in heads.items()
                if block == h or latches & _reached(after, {block}, h)
            ]  # fmt: skip
            assert found[block] == len(inside), (function.name, block)
    assert found.max() >= 1


def _reached(after: dict[int, list[int]], start: Iterable[int], without: int) -> set[int]:
    """Blocks that control comes to from some, without going through one of them."""
    seen: set[int] = set()
    waiting = [block for block in start if block != without]
    while waiting:
        block = waiting.pop()
        seen.add(block)
        waiting += [b for b in after.get(block, ()) if b not in seen and b != without]
    return seen


def _edit(technique: str, function: Function, address: int, gain: int) -> Edit:
    shown = Evidence(Grade.PROVED)
    return Edit(f"{technique}:x", technique, "", function.name, address, "", "", shown, gain)


def _places(program: Program) -> tuple[Function, int, int]:
    """A function, an address of it in no loop, and one in a loop."""
    graph, inside = program.graph, depths(program)
    for function in program.functions:
        blocks = graph.blocks_of(function)
        plain = [b for b in blocks if graph.reached[b] and inside[b] == 0]
        looped = [b for b in blocks if graph.reached[b] and inside[b] == 1]
        if plain and looped:
            first = graph.listing.addresses[graph.first]
            return function, int(first[plain[0]]), int(first[looped[0]])
    raise AssertionError("no function has a loop")


def test_where_an_edit_stands_decides(program: Program) -> None:
    """Ten times as much in a loop; nothing in place, where a nop stays, without a new layout."""
    function, plain, looped = _places(program)
    layout = _edit("align", function, function.start, 0)

    def of(*edits: Edit) -> float:
        return expected(program, [edits], None).percent

    outside = of(_edit("bytes", function, plain, 1), layout)
    assert outside > 0
    assert of(_edit("bytes", function, looped, 1), layout) == pytest.approx(10 * outside)
    assert of(_edit("bytes", function, looped, 1)) == 0
    assert of(_edit("prefetch", function, looped, -1)) == pytest.approx(-10 * outside)


def test_all_that_is_executed_is_all(program: Program) -> None:
    """Edits that save every instruction save all: the weights add up, by loops and by a profile."""
    graph = program.graph
    edits = []
    for function in program.functions:
        made = [_edit("align", function, function.start, 0)]
        for block in graph.blocks_of(function):
            address = int(graph.listing.addresses[graph.first[block]])
            size = int(graph.last[block] - graph.first[block])
            made.append(_edit("bytes", function, address, size))
        edits.append(made)
    hot = program.functions[len(program.functions) // 2].name
    heat = Heat("perf", "samples", 10, 0.7, {hot: 0.7})
    assert expected(program, edits, None).percent == pytest.approx(100)
    assert expected(program, edits, heat).percent == pytest.approx(100)
    cold = [made for made in edits if made[0].routine != hot]
    assert expected(program, cold, heat).percent == 0
    assert np.isclose(sum(expected(program, [made], None).percent for made in edits), 100)


def test_other_code_is_not_weighed(program: Program) -> None:
    function, plain, _ = _places(program)
    found = expected(program, [[_edit("substitute", function, plain, 5)]], None)
    assert (found.percent, found.unweighed) == (0, {"substitute": 1})
    assert str(found).endswith("; not weighed: 1 substitute)")


def test_words() -> None:
    assert fewer(0.8) == "0.80 % fewer executed instructions"
    assert fewer(-12.34) == "12.3 % more executed instructions"
    assert fewer(0.0) == "0 % fewer executed instructions"
    assert Expected(0.5, BY_LOOPS).below(0.5) == ""
    assert Expected(0.5, BY_LOOPS).below(None) == ""
    assert Expected(-0.1, BY_LOOPS).below(0) != ""
