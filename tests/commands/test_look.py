"""`retune identify`, `explain`, `edits`, `cpus`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.elf import manifest, note
from targets import every

Run = Callable[..., Result]


def test_identify_the_sample(run: Run, sample: Path) -> None:
    result = run("identify", sample)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "alpha: 23 functions, 916 instructions",
        "functions known by unwind table: 23",
        "jump tables of known length: 1",
        "jump tables of unknown length: 0",
    ]
    assert "pins, function start: 23" in lines


def test_identify_lists_every_function(run: Run, sample: Path) -> None:
    document = json.loads(run("identify", sample, "--json").stdout)
    assert len(document["functions"]) == 23
    assert document["sources"] == {"unwind table": 23}
    assert sum(f["refused"] is not None for f in document["functions"]) == sum(
        document["refusals"].values()
    )
    text = run("identify", sample, "-vv").stdout
    for f in document["functions"]:
        assert f"\n{f['start']:#x} {f['end']:#x} {f['name']} ({f['source']})" in text


def test_identify_says_why_a_function_is_left_alone(run: Run, libc: Path) -> None:
    document = json.loads(run("identify", libc, "--json").stdout)
    assert document["instructions"] > 380_000
    assert len(document["functions"]) > 3_600
    refused = [f for f in document["functions"] if f["refused"]]
    assert sum(document["refusals"].values()) == len(refused) < 40


def test_explain_shows_before_and_after(run: Run, sample: Path) -> None:
    edits = json.loads(
        run("patch", sample, "--dry-run", "--cpu", "ev67", "--passes", "bytes", "--json").stdout
    )["edits"]
    name = edits[0]["function"]
    arguments = ("explain", sample, name, "--cpu", "ev67", "--passes", "bytes")
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{name}: 0x")
    assert any(line.startswith("- ") for line in lines)
    assert any(line.startswith("+ ") for line in lines)
    for edit in (e for e in edits if e["function"] == name):
        assert any(
            line[2:].startswith(f"{edit['address']:x}: ") and edit["id"] in line for line in lines
        )
        at = lines.index(f"{edit['id']}: {edit['kind']}, saves {_counted(edit['saved'])}")
        assert lines[at + 1].startswith(f"  evidence: {edit['grade']}")
        assert lines[at + 2 : at + 2 + len(edit["preconditions"])] == [
            f"  assumes: {p}" for p in edit["preconditions"]
        ]
    document = json.loads(run(*arguments, "--json").stdout)
    before = [row["address"] for row in document["listing"] if row["mark"] != "+"]
    assert before == list(range(document["start"], document["end"], 4))


def _counted(number: int) -> str:
    return "1 instruction" if number == 1 else f"{number} instructions"


def test_explain_shows_cycles(run: Run, sample: Path) -> None:
    """Before and after, each instruction of the function once, with pipes that the CPU has."""
    arguments = ("explain", sample, "sample_length", "--cpu", "ev67", "--cycles")
    document = json.loads(run(*arguments, "--json").stdout)
    assert (document["model"], document["machine"]) == ("ev67", "up1000")
    for side in ("before", "after"):
        insns = [i for stretch in document[side] for i in stretch["instructions"]]
        assert [i["address"] for i in insns] == list(range(0x6D0, 0x710, 4))
        assert {i["slot"] for i in insns} == {"U", "L"}
        assert all((i["cycle"] is None) == (i["pipe"] == "") for i in insns)
        assert all(i["fetch_block"] == (i["address"] % 16 == 0) for i in insns)
    # A load's value is there three cycles later (21264 Hardware Reference Manual 2-20).
    loop = next(s for s in document["before"] if s["instructions"][0]["address"] == 0x6F0)
    issued = {i["text"].split()[0]: i["cycle"] for i in loop["instructions"]}
    assert issued["extqh"] - issued["ldq_u"] == 3
    result = run(*arguments)
    assert result.exit_code == 0
    assert "sample_length after, by the model of ev67 in a up1000" in result.stdout


def test_explain_takes_an_address(run: Run, sample: Path) -> None:
    by_name = run("explain", sample, "sample_length", "--cpu", "ev67")
    by_address = run("explain", sample, "0x6d4", "--cpu", "ev67")
    assert by_name.exit_code == by_address.exit_code == 0
    assert by_name.stdout == by_address.stdout


@pytest.mark.usefixtures("analysed_once")
@pytest.mark.parametrize("name", ["strlen", "__stpcpy"])
def test_explain_shows_what_a_resolver_picks(name: str, run: Run) -> None:
    """Which variant GNU's loader calls on a CPU is what `identify --known` says of it too."""
    libc = inputs.require("ppc64el-libc")
    passes = ("--passes", "combine", "--json")
    shown = {
        cpu: json.loads(run("explain", libc, name, "--cpu", cpu, *passes).stdout)
        for cpu in ("power8", "power9")
    }
    assert shown["power8"]["start"] != shown["power9"]["start"]
    for one in shown.values():
        words = [row["word"] for row in one["listing"]]
        assert words and {len(word) for word in words} == {8}
    plain = run("explain", libc, name, "--cpu", "power9", "--passes", "combine").stdout
    assert f"; it is {name} on power9" in plain.splitlines()[0]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sample_lenght", "did you mean sample_length"),
        ("0x4", "`retune identify -vv` lists them"),
        ("\x1b[31m", "`retune identify -vv` lists them"),
    ],
)
def test_explain_no_such_function(name: str, hint: str, run: Run, sample: Path) -> None:
    result = run("explain", sample, name, "--cpu", "ev67")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f": no such function in {sample} ({hint}" in result.stderr
    assert "\x1b" not in result.stderr


def test_explain_nothing(run: Run, sample: Path) -> None:
    result = run("explain", sample, "sample_length", "--passes", "none")
    message = "retune: --passes none: there is nothing to explain\n"
    assert (result.exit_code, result.stderr) == (2, message)


def test_edits_lists_the_manifest(run: Run, tuned: Path, tmp_path: Path) -> None:
    record = manifest.read(tuned.read_bytes())
    payload = note.find(tuned.read_bytes())
    assert record is not None
    assert payload is not None
    result = run("edits", tuned)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(record.edits)]] == [e.id for e in record.edits]
    assert lines[-1].startswith(f"{len(record.edits)} edits in {len(record.patches)} places: ")
    beside = tmp_path / "manifest"
    beside.write_bytes(payload)
    assert run("edits", beside).stdout == result.stdout
    document = json.loads(run("edits", tuned, "--json").stdout)
    assert [e["id"] for e in document["edits"]] == [e.id for e in record.edits]
    assert document["original"] == record.original


def test_edits_of_a_file_that_is_not_ours(run: Run, sample: Path) -> None:
    result = run("edits", sample)
    message = f"retune: {sample}: carries no manifest (it was not made by retune)\n"
    assert (result.exit_code, result.stdout, result.stderr) == (3, "", message)


def test_cpus_names_every_cpu_and_source(run: Run) -> None:
    result = run("cpus", "-v")
    document = json.loads(run("cpus", "--json").stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    for target in every():
        assert set(document[target.name]) == set(target.cpus)
        for cpu in target.cpus.values():
            assert f"{target.name} {cpu.name}: {cpu.description}; features: " in result.stdout
            assert cpu.fetch_block.source in result.stdout
            figures = document[target.name][cpu.name]["figures"]
            assert all(figure["source"] for figure in figures.values())


def test_a_foreign_file_is_named_as_such(run: Run, tmp_path: Path) -> None:
    data, path = bytearray(inputs.require("alpha-sample").read_bytes()), tmp_path / "file"
    data[18:20] = (8).to_bytes(2, "little")
    path.write_bytes(data)
    result = run("identify", path)
    assert result.exit_code == 3
    assert result.stderr.startswith(f"retune: {path}: is for MIPS (e_machine 0x8)")
    assert result.stderr.endswith("(it knows alpha, ia64, ppc)\n")
