"""Two thousand damaged files: each gives one line or a result, soon, and leaves nothing behind.

The cases are the same on every run. `make fuzz` runs as many others as it is told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from fixtures.hostile import bases, campaign, running
from fixtures.hostile.campaign import Chunk, each_case, smallest
from fixtures.hostile.fields import elf_fields, loaded
from fixtures.hostile.kinds import KINDS, Case, Kind
from fixtures.hostile.running import Outcome, run
from fixtures.inputs import Missing
from scripts import fuzz_inputs
from tests.support.depth import depth

CASES = depth(1000, 4000)
SEED = 2026


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_damaged_files(kind: Kind) -> None:
    outcomes: list[tuple[Outcome, Case]] = []
    chunk = Chunk(kind.name, SEED, CASES * kind.share // sum(one.share for one in KINDS))
    try:
        kind.cases.validate()
    except Missing as missing:
        pytest.skip(str(missing))
    each_case(chunk, lambda case: outcomes.append((run(case), case)))
    wrong = {outcome.problem: (outcome.detail, case) for outcome, case in outcomes}
    wrong.pop("", None)
    said = [f"{problem}: {case.arguments}\n{detail}" for problem, (detail, case) in wrong.items()]
    assert not said, "\n".join(said)
    assert len(outcomes) > chunk.count // 2
    assert len({case.files for _, case in outcomes}) > chunk.count // 2, "the damage is always one"


def test_every_kind_has_its_share() -> None:
    whole = sum(kind.share for kind in KINDS)
    assert sum(CASES * kind.share // whole for kind in KINDS) > CASES - len(KINDS)


def case(*arguments: str, **files: bytes) -> Case:
    return Case("made", tuple(files.items()), arguments)


def undamaged() -> Case:
    return Case("made", (("in", bases.library()),), ("identify", "in"))


def test_an_undamaged_file_is_no_problem() -> None:
    assert run(undamaged()).problem == ""


@pytest.mark.parametrize("name", ["traceback", "hang", "memory", "warning", "print", "leftover"])
def test_each_rule_can_fail(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands are made to do what they must not, one after another."""
    from rewriter.elf import image

    usual = image.parse

    def wrong(data: bytes, label: str) -> image.Image:
        if name == "traceback":
            raise IndexError("nobody foresaw it")
        if name == "hang":
            while True:
                pass
        if name == "memory":
            bytearray(3 << 30)
        if name == "warning":
            warnings.warn("of a library", RuntimeWarning, stacklevel=1)
        if name == "print":
            os.write(2, b"C++ speaking\n")
        if name == "leftover":
            Path("forgotten").write_bytes(b"")
        return usual(data, label)

    monkeypatch.setattr(image, "parse", wrong)
    monkeypatch.setattr(running, "SECONDS", 0.5)
    expected = {
        "traceback": "traceback: IndexError",
        "hang": "hangs: more than 0.5 s",
        "memory": "status 71",
        "warning": "standard error: ",
        "print": "standard error: C++ speaking",
        "leftover": "left behind: forgotten",
    }
    assert run(undamaged()).problem.startswith(expected[name])


def test_a_file_that_loads_something_else_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that accepts everything would be found out."""
    from rewriter.report import verdict

    new = bytearray(bases.retuned())
    at = next(field.offset for field in elf_fields(bytes(new)) if field.area == ".text")
    new[at] ^= 1
    assert loaded(bytes(new)) != loaded(bases.retuned())
    files = (("in", bytes(new)), ("old", bases.library()))
    verify = Case("made", files, ("verify", "old", "in", "-j1"))
    assert run(verify).status == 1
    monkeypatch.setattr(verdict.Comparison, "ok", True)
    assert run(verify).problem == "verified, though it loads something else"


def test_a_failing_case_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    base = bases.library()

    def differing(case: Case) -> int:
        (_, data), *_ = case.files
        return sum(a != b for a, b in zip(data, base, strict=False))

    def ended(case: Case) -> Outcome:
        return Outcome(0, 0.0, "big" if differing(case) > 3 else "")

    monkeypatch.setattr("fixtures.hostile.campaign.run", ended)
    found = smallest(Chunk("headers", 1, 200), lambda outcome: outcome.problem == "big")
    assert found is not None and 3 < differing(found) < 9
    assert smallest(Chunk("headers", 1, 20), lambda outcome: outcome.status == 5) is None


def test_streams_are_as_before() -> None:
    streams = sys.stdout, sys.stderr
    run(undamaged())
    assert (sys.stdout, sys.stderr) == streams


def test_the_long_run_as_it_is_called(tmp_path: Path) -> None:
    """`make fuzz` is this with more cases."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "fuzz_inputs.py"
    command = (sys.executable, script, "12", "--kinds", "gzip", "--jobs", "1", "--keep", tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:2] == ["gzip", "12"]
    assert os.listdir(tmp_path) == []


def test_the_long_run_keeps_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that was ended is a finding too."""
    problem = "traceback: KeyError at somewhere.py:1"
    ends = iter(("", "ended with -11: "))

    def apart(chunk: Chunk) -> tuple[Chunk, list[str], str]:
        return chunk, [json.dumps([3, 0.1, ""]), json.dumps([-1, 0.2, problem])], next(ends)

    monkeypatch.setattr(campaign, "_apart", apart)
    monkeypatch.setattr(campaign, "run", lambda case: Outcome(3, 0.0, problem))
    options = ("--kinds", "gzip,map", "--jobs", "1", "--keep", str(tmp_path))
    assert fuzz_inputs.main(["8", *options]) == 1
    said = capsys.readouterr().out
    assert f"1 x {problem}" in said and "1 x ended with -11" in said
    assert "4 cases in" in said
    for kept in tmp_path.iterdir():
        assert (kept / "in").is_file()
        assert (kept / "command").read_text().startswith("retune ")
    assert len(list(tmp_path.iterdir())) == 2
