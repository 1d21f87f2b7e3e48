"""`retune bisect`: the edit that was broken on purpose is found, in few runs of the command."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

import targets
from fixtures import inputs, programs
from fixtures.broken import REACHED, halting
from rewriter.analysis.program import analyse
from rewriter.bisect.readers import BundledReader, PlainReader
from rewriter.bisect.units import by_function, pieces
from rewriter.core.code.program import Function
from rewriter.elf import manifest
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import load, parse
from rewriter.verify.check import compare
from rewriter.verify.regions import check
from tests.conftest import Patched

Run = Callable[..., Result]
Script = Callable[[str, str], Path]

MOST = 30  # runs of the command


def test_an_edit_of_the_libc(run: Run, libc: Path, libc_ev67: Path, tmp_path: Path) -> None:
    """One word of more than 8,000 edits; the command is a program that sorts."""
    inputs.require_tool("qemu-alpha")
    made = halting(libc, libc_ev67, "qsort_r")
    bad = tmp_path / libc.name
    bad.write_bytes(made.data)
    result = run("bisect", libc, bad, "--json", "--", programs.build(REACHED["qsort_r"]))
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["edits"] > 8000
    assert document["runs"] <= MOST
    (culprit,) = document["culprit"]
    assert culprit["function"] == "qsort_r"
    assert [edit["id"] for edit in culprit["edits"]] == [edit.id for edit in made.edits]
    (function,) = document["functions"]
    rows = {row["address"]: row["word"] for row in function["listing"] if row["mark"] == "+"}
    assert int(rows[made.address], 16) == 0


@pytest.fixture
def sample() -> Path:
    return inputs.require("alpha-sample")


@pytest.fixture
def in_place(patched: Patched) -> Path:
    """The sample with nothing but edits in place."""
    return patched("alpha-sample", "ev67", ("--passes", "bytes,bitscan"))


def looks(script: Script, tmp_path: Path, *places: tuple[int, bytes]) -> Path:
    """A command that fails where a file has these bytes at these offsets, all of them."""
    code = f"""import sys
data = open(sys.argv[1], 'rb').read()
sys.exit(all(data[at : at + len(b)] == b for at, b in {places!r}))
"""
    (tmp_path / "look.py").write_text(code)
    return script("look", f'exec {sys.executable} {tmp_path / "look.py"} "$1"')


def test_a_window_of_a_function_that_stayed_in_place(
    run: Run, script: Script, sample: Path, in_place: Path, tmp_path: Path
) -> None:
    """An edit among several of its function is found."""
    bare, record = manifest.detach(in_place.read_bytes())
    image, old = load(sample), sample.read_bytes()
    (busy, number), *_ = Counter(edit.routine for edit in record.edits).most_common()
    edit = [edit for edit in record.edits if edit.routine == busy][-1]
    at = image.offset_of(edit.address)
    assert bare[at : at + 4] != old[at : at + 4]
    look = looks(script, tmp_path, (at, bare[at : at + 4]))
    result = run("bisect", sample, in_place, "--json", "--", look, "{}")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    (culprit,) = document["culprit"]
    ids = [edit["id"] for edit in culprit["edits"]]
    assert edit.id in ids
    assert len(ids) < number


def test_the_command_has_its_callers_environment(
    run: Run, script: Script, sample: Path, in_place: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A program of the user's PATH is found, and a variable of theirs; one that is not, is told."""
    bare, record = manifest.detach(in_place.read_bytes())
    at, tools = load(sample).offset_of(record.edits[0].address), tmp_path / "tools"
    tools.mkdir()
    looks(script, tmp_path, (at, bare[at : at + 4])).rename(tools / "my-look")
    test = script("test", 'test "$MARK" = mine || exit 125; exec my-look "$1"')
    asked = ("bisect", sample, in_place, "--json", "--", test, "{}")
    monkeypatch.setenv("MARK", "mine")
    missing = run(*asked)
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert "the command fails with the original already" in missing.stderr
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    found = run(*asked)
    assert (found.exit_code, found.stderr) == (0, "")
    assert record.edits[0].id in {
        edit["id"] for one in json.loads(found.stdout)["culprit"] for edit in one["edits"]
    }


def test_a_search_goes_on(
    run: Run, script: Script, sample: Path, in_place: Path, tmp_path: Path
) -> None:
    """A search that is begun again knows everything; one that was cut off goes on."""
    bare, record = manifest.detach(in_place.read_bytes())
    at, state = load(sample).offset_of(record.edits[-1].address), tmp_path / "state"
    look = looks(script, tmp_path, (at, bare[at : at + 4]))
    command = (sample, in_place, "--state", state, "--json", "--", look, "{}")
    document = json.loads(run("bisect", *command).stdout)
    lines = state.read_bytes().splitlines(keepends=True)
    assert len(lines) > 9
    again = json.loads(run("bisect", *command).stdout)
    assert (again["runs"], again["culprit"]) == (0, document["culprit"])
    state.write_bytes(b"".join(lines[:6]) + lines[6][:9])
    rest = json.loads(run("bisect", *command).stdout)
    assert (rest["runs"], rest["culprit"]) == (len(lines) - 6, document["culprit"])


LDBU = 0x0A  # the operation code of a byte load


def test_single_edits_of_a_function_that_moved(
    run: Run, script: Script, sample: Path, tmp_path: Path
) -> None:
    """The function is made again with fewer edits: those with a byte load are found."""
    path, code = tmp_path / "tuned.so", tmp_path / "count.py"
    result = run("patch", sample, "-o", path, "--cpu", "ev67", "--passes", "bytes,align")
    assert (result.exit_code, result.stderr) == (0, "")
    _, record = manifest.detach(path.read_bytes())
    image = load(sample)
    loads = [edit for edit in record.edits if edit.kind == "byte load"]
    moved = {edit.routine for edit in record.edits if edit.technique == "align"}
    edit = next(edit for edit in loads if edit.routine in moved)
    symbol = next(s for s in image.symbols if s.name == edit.routine)
    at, size = image.offset_of(symbol.st_value), symbol.st_size
    wanted = sum(e.routine == edit.routine for e in loads)
    code.write_text(f"""import struct, sys
words = struct.unpack_from('<{size // 4}I', open(sys.argv[1], 'rb').read(), {at})
sys.exit(sum(word >> 26 == {LDBU} for word in words) >= {wanted})
""")
    command = script("look", f'exec {sys.executable} {code} "$1"')
    document = json.loads(run("bisect", sample, path, "--json", "--", command, "{}").stdout)
    (culprit,) = document["culprit"]
    assert culprit["function"] == edit.routine
    assert {e["kind"] for e in culprit["edits"]} == {"byte load"}
    assert len(culprit["edits"]) == wanted
    (explained,) = document["functions"]
    assert [e["id"] for e in explained["edits"]] == [e["id"] for e in culprit["edits"]]


def test_two_edits_that_fail_together(
    run: Run, script: Script, sample: Path, in_place: Path, tmp_path: Path
) -> None:
    bare, record = manifest.detach(in_place.read_bytes())
    image, old = load(sample), sample.read_bytes()
    first, last = record.edits[0], record.edits[-1]
    assert first.routine != last.routine
    offsets = [image.offset_of(edit.address) for edit in (first, last)]
    places = [(at, bare[at : at + 4]) for at in offsets]
    assert all(old[at : at + 4] != word for at, word in places)
    look = looks(script, tmp_path, *places)
    result = run("bisect", sample, in_place, "--", look, "{}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "these fail together, and no fewer of them:" in result.stdout
    for edit in (first, last):
        assert f"culprit: {edit.routine}: " in result.stdout


def test_a_subset_of_the_units_is_a_right_program(sample: Path, tmp_path: Path, run: Run) -> None:
    """The verifier accepts every candidate, so edits that are left out are not needed by others."""
    path = tmp_path / "tuned.so"
    passes = "bytes,bitscan,replay,prefetch,align,schedule"
    assert run("patch", sample, "-o", path, "--cpu", "ev67", "--passes", passes).exit_code == 0
    old = load(sample)
    bare, record = manifest.detach(path.read_bytes())
    bare = with_old_identity(old, bare)  # no edit's, so in no candidate
    target = targets.of(old)
    reader = PlainReader(old, bare, record, target)
    changes, draw = reader.changes, random.Random(7)
    count = len(changes.units)
    assert count > 3
    assert changes.candidate(range(count)) == bare
    assert changes.candidate(()) == old.data
    for size in (1, count // 2, count - 1):
        chosen = draw.sample(range(count), size)
        candidate = parse(changes.candidate(chosen), "candidate")
        verdict = compare(old, candidate, target, lambda *_: None, cpu=target.cpus["ev67"])
        assert verdict.findings == ()
        assert verdict.functions == size


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("exit 1", 3, "the command fails with the original already"),
        ("exit 0", 4, "the command does not fail with NEW: there is nothing to find"),
        ("exit 125", 3, "the command cannot test OLD (status 125)"),
    ],
)
def test_nothing_to_search(
    text: str, status: int, message: str, run: Run, script: Script, sample: Path, in_place: Path
) -> None:
    result = run("bisect", sample, in_place, "--", script("command", text), "{}")
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_bad_input(run: Run, script: Script, sample: Path, in_place: Path, tmp_path: Path) -> None:
    command, state = script("command", "exit 0"), tmp_path / "state"
    result = run("bisect", sample, sample, "--", command)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "carries no manifest" in result.stderr
    assert run("bisect", sample, in_place).exit_code == 2
    state.write_text("something else\n")
    result = run("bisect", sample, in_place, "--state", state, "--", command, "{}")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "is no state of a search" in result.stderr
    state.unlink()
    run("bisect", sample, in_place, "--state", state, "--", command, "{}")
    result = run("bisect", sample, in_place, "--state", state, "--", command, "other", "{}")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "is of a search with other files or another command" in result.stderr
    other = inputs.require("alpha-libgcc_s")
    result = run("bisect", other, in_place, "--", command, "{}")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "is not the original of" in result.stderr


def test_what_differs_is_bad(run: Run, script: Script, sample: Path, in_place: Path) -> None:
    """With --compare the command need not judge: it prints, and OLD says what is right."""
    _, record = manifest.detach(in_place.read_bytes())
    at = load(sample).offset_of(record.edits[0].address)
    command = script("show", f'od -A n -t x1 -j {at} -N 4 "$1"; date +%N')
    result = run("bisect", sample, in_place, "--compare", "--", command, "{}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"culprit: {record.edits[0].routine}" in result.stdout


def test_code_that_says_its_groups(run: Run, script: Script, tmp_path: Path) -> None:
    """Each function comes apart from the others, with its jump tables and its description."""
    source, path = inputs.require("ia64-libjnidispatch"), tmp_path / "tuned.so"
    options = ("--cpu", "itanium2", "--funcs", "Java_com_sun_jna_Native_[a-i].*")
    assert run("patch", source, "-o", path, *options).exit_code == 0
    old = load(source)
    bare, record = manifest.detach(path.read_bytes())
    bare = with_old_identity(old, bare)  # no edit's, so in no candidate
    target = targets.of(old)
    changes = BundledReader(old, bare, record, target).changes
    count = len(changes.units)
    assert count > 2
    assert not changes.shared
    for chosen in ((0,), tuple(range(1, count)), tuple(range(0, count, 2))):
        candidate = parse(changes.candidate(chosen), "candidate")
        verdict = check.compare(old, candidate, target, lambda stage, done, total: None)
        assert verdict.findings == ()
        assert verdict.functions == len(chosen)
    edit = record.edits[len(record.edits) // 2]
    start = next(u.function.start for u in changes.units if u.function.name == edit.routine)
    wanted = [at for at in changes.offsets.tolist() if at >= old.offset_of(start)][:1]
    look = looks(script, tmp_path, *((at, bare[at : at + 1]) for at in wanted))
    result = run("bisect", source, path, "--", look, "{}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"culprit: {edit.routine}: " in result.stdout


BRANCH, REACH = 0xC3E00000, (1 << 21) - 1  # br zero, so many words ahead


def test_code_that_goes_into_the_room_of_another_function_needs_it(sample: Path) -> None:
    """Routines in pieces stand in such room; a branch to a function's start is a call."""
    old = load(sample)
    target = targets.of(old)
    functions = analyse(old, target).functions
    one, other, third = sorted(functions, key=lambda f: f.start - f.end)[:3]

    def needs(to: int) -> list[Function]:
        data = bytearray(old.data)
        for function in (one, other, third):  # each is a unit
            at = old.offset_of(function.end - 4)
            data[at : at + 4] = bytes(4)
        at, ahead = old.offset_of(one.start), (to - one.start - 4) // 4
        data[at : at + 4] = (BRANCH | ahead & REACH).to_bytes(4, "little")
        changes = by_function(old, bytes(data), functions, (), ())
        assert [unit.function for unit in changes.units] == sorted((one, other, third))
        after = target.listing(replace(old, data=bytes(data)))
        found = pieces(changes, target.listing(old), after)
        units = [unit.function for unit in changes.units]
        assert found.keys() <= {units.index(one)}
        return [units[n] for n in found.get(units.index(one), frozenset())]

    assert needs(other.end - 4) == [other]
    assert needs(other.start) == []
