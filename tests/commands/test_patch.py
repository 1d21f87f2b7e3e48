"""`retune patch`: what it writes, what it refuses, and with which exit status."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from passes import ORDER
from rewriter.api import host
from rewriter.elf import emit, manifest, note

Run = Callable[..., Result]
CPUS = "known for alpha: ev4, ev45, ev5, ev56, pca56, ev6, ev67"
PASSES = f"known: {', '.join(technique.name for technique in ORDER)}"


def files(folder: Path) -> list[str]:
    """Names below a folder, the hidden temporary ones too."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_it_writes_a_tuned_file_with_its_manifest(run: Run, sample: Path, tmp_path: Path) -> None:
    before, out = sample.read_bytes(), tmp_path / "out.so"
    result = run("patch", sample, "-o", out, "--cpu", "ev67")
    assert (result.exit_code, result.stderr) == (0, "")
    record = manifest.read(out.read_bytes())
    assert record is not None
    assert (record.target, record.cpu, record.options["tune"]) == ("alpha", "ev67", "ev67")
    last = result.stdout.splitlines()[-1]
    assert last.startswith(f"{len(record.edits)} edits, ")
    assert sample.read_bytes() == before
    assert files(tmp_path) == ["in/libsample.so", "out.so"]
    assert stat.S_IMODE(out.stat().st_mode) == 0o754


def test_the_same_input_gives_the_same_output(
    run: Run, sample: Path, tuned: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    run("patch", sample, "-o", again, "--cpu", "21264A")
    assert again.read_bytes() == tuned.read_bytes()


def test_the_output_may_exist_as_another_file(run: Run, sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.so"
    out.write_bytes(b"old")
    assert run("patch", sample, "-o", out, "--cpu", "ev67", "-q").exit_code == 0
    assert out.read_bytes()[:4] == b"\x7fELF"


def test_a_manifest_beside(run: Run, sample: Path, tuned: Path, tmp_path: Path) -> None:
    out, beside = tmp_path / "out.so", tmp_path / "out.manifest"
    result = run("patch", sample, "-o", out, "--cpu", "ev67", "--manifest", beside)
    assert result.exit_code == 0
    assert note.find(out.read_bytes()) is None
    assert out.read_bytes() == note.detach(tuned.read_bytes())
    assert manifest.parse(beside.read_bytes()) == manifest.read(tuned.read_bytes())
    assert stat.S_IMODE(beside.stat().st_mode) == 0o644


def test_runs_come_to_a_rest(run: Run, tuned: Path, tmp_path: Path) -> None:
    """What a rewrite frees in another block is found by the next run; the third finds nothing."""
    edits = [len(manifest.read(tuned.read_bytes()).edits)]
    bare, again = tmp_path / "bare.so", tmp_path / "again.so"
    bare.write_bytes(note.detach(tuned.read_bytes()))
    while (result := run("patch", bare, "-o", again, "--cpu", "ev67")).exit_code == 0:
        assert run("verify", bare, again).exit_code == 0
        edits.append(len(manifest.read(again.read_bytes()).edits))
        assert len(edits) == 2 and edits[1] < edits[0] / 20, edits
        bare.write_bytes(note.detach(again.read_bytes()))
    assert result.exit_code == 4
    assert again.read_bytes() == bare.read_bytes()


@pytest.mark.parametrize("more", [(), ("--manifest", "m"), ("--passes", "bytes")])
def test_what_was_retuned_is_refused(
    more: tuple[str, ...], run: Run, tuned: Path, tmp_path: Path
) -> None:
    """Its note would be of another file, or there would be two."""
    again = tmp_path / "again.so"
    options = [tmp_path / one if one == "m" else one for one in more]
    result = run("patch", tuned, "-o", again, "--cpu", "ev67", *options)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "was retuned before" in result.stderr and "`retune revert`" in result.stderr
    assert not again.exists() and not (tmp_path / "m").exists()


@pytest.mark.parametrize("arguments", [(), ("--cpu", "ev67")], ids=["no cpu", "cpu"])
def test_no_pass_is_an_identical_copy(
    arguments: tuple[str, ...], run: Run, sample: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.so"
    result = run("patch", sample, "-o", out, "--passes", "none", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (4, "nothing to do\n", "")
    assert out.read_bytes() == sample.read_bytes()
    assert stat.S_IMODE(out.stat().st_mode) == 0o754


def test_functions_that_match_nothing(run: Run, sample: Path, tmp_path: Path) -> None:
    out, beside = tmp_path / "out.so", tmp_path / "m"
    result = run(
        "patch", sample, "-o", out, "--cpu", "ev67", "--funcs", "no_such", "--manifest", beside
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("retune: --funcs no_such: no function is called so (")
    assert not out.exists() and not beside.exists()


def test_dry_run_writes_nothing(run: Run, sample: Path, tmp_path: Path) -> None:
    out, beside = tmp_path / "out.so", tmp_path / "m"
    plain = run("patch", sample, "--cpu", "ev67", "--dry-run")
    named = run(
        "patch", sample, "-o", out, "--cpu", "ev67", "--dry-run", "--manifest", beside, "--json"
    )
    assert (plain.exit_code, named.exit_code) == (0, 0)
    assert files(tmp_path) == ["in/libsample.so"]
    assert json.loads(named.stdout)["edits"]
    assert plain.stdout.splitlines()[-1].startswith(f"{len(json.loads(named.stdout)['edits'])} ")


def test_json_is_one_document(run: Run, sample: Path, tmp_path: Path) -> None:
    result = run("patch", sample, "-o", tmp_path / "o", "--cpu", "ev67", "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert document["cpu"] == "ev67"
    assert document["return_code"] == 0
    assert sum(row["rewritten"] for row in document["sites"]) == len(document["edits"])
    assert sum(document["grades"].values()) == len(document["edits"])
    assert {edit["pass"] for edit in document["edits"]} <= {t.name for t in ORDER}


def test_verbose_lists_edits_and_quiet_nothing(run: Run, sample: Path) -> None:
    arguments = ("patch", sample, "--cpu", "ev67", "--dry-run")
    ids = [edit["id"] for edit in json.loads(run(*arguments, "--json").stdout)["edits"]]
    listed = f"\n{run(*arguments, '-v').stdout}"
    assert ids
    assert all(f"\n{name} at 0x" in listed for name in ids)
    quiet = run(*arguments, "-q")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_only_skip_and_max_edits(run: Run, sample: Path) -> None:
    arguments = ("patch", sample, "--cpu", "ev67", "--dry-run", "--json", "--passes", "bytes")

    def ids(*more: object) -> list[str]:
        return [edit["id"] for edit in json.loads(run(*arguments, *more).stdout)["edits"]]

    every = ids()
    assert len(set(every)) == len(every) > 3
    assert ids("--only", every[1]) == [every[1]]
    assert ids("--only", every[1], "--only", every[2]) == every[1:3]
    assert every[1] not in ids("--skip", every[1])
    assert ids("--max-edits", 2) == every[:2]
    assert ids("--max-edits", 0) == []


def test_funcs_choose_by_whole_names(run: Run, sample: Path) -> None:
    arguments = ("patch", sample, "--cpu", "ev67", "--dry-run", "--json")

    def names(*more: str) -> set[str]:
        return {edit["function"] for edit in json.loads(run(*arguments, *more).stdout)["edits"]}

    every = names()
    one = min(every)
    assert names("--funcs", one) == {one}
    assert run(*arguments, "--funcs", one[:-1]).exit_code == 2
    assert names("--skip-funcs", one) == every - {one}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--cpu", "ev7"],
            f"--cpu ev7: no such CPU (did you mean ev67 or ev6 or ev5?; {CPUS})",
        ),
        (["--cpu", "pentium"], f"--cpu pentium: no such CPU ({CPUS})"),
        (
            ["--cpu", "native"],
            f"--cpu native: this machine has {host.cpu()!r},"
            f" which is no CPU that retune knows ({CPUS})",
        ),
        (["--cpu", "ev67", "--tune", "x"], f"--tune x: no such CPU ({CPUS})"),
        ([], "--cpu is missing (`retune cpus` lists the CPUs that retune knows)"),
        (
            ["--cpu", "ev67", "--passes", "byte"],
            f"--passes byte: no such pass: 'byte' (did you mean bytes?; {PASSES})",
        ),
        (
            ["--cpu", "ev67", "--passes", "none,bytes"],
            f"--passes none,bytes: no such pass: 'none' ({PASSES})",
        ),
        (["--cpu", "ev5", "--passes", "bytes"], "--passes bytes: needs BWX, which ev5 lacks"),
        (
            ["--cpu", "ev67", "--funcs", "("],
            "--funcs (: not a regular expression: missing ), unterminated subpattern at position 0",
        ),
        (
            ["--cpu", "ev67", "--only", "bytes:x+0"],
            "--only bytes:x+0: no such edit was made "
            "(`retune patch IN --dry-run -v` lists the ids for a CPU)",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage(
    arguments: list[str], message: str, run: Run, sample: Path, tmp_path: Path
) -> None:
    result = run("patch", sample, "-o", tmp_path / "out", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"retune: {message}\n")
    assert not (tmp_path / "out").exists()


def test_no_output_named(run: Run, sample: Path) -> None:
    result = run("patch", sample, "--cpu", "ev67")
    assert result.exit_code == 2
    missing = "retune: patch: Missing option '-o' / '--output' (see retune patch --help)\n"
    assert result.stderr == missing


@pytest.mark.parametrize("kind", ["same", "symlink", "hard link", "dot"])
@pytest.mark.parametrize("option", ["-o", "--manifest"])
def test_the_input_is_never_written_to(
    kind: str, option: str, run: Run, sample: Path, tmp_path: Path
) -> None:
    before, name = sample.read_bytes(), tmp_path / "name"
    if kind == "symlink":
        name.symlink_to(sample)
    elif kind == "hard link":
        os.link(sample, name)
    elif kind == "dot":
        name = Path(f"{sample.parent}/../in/{sample.name}")
    else:
        name = sample
    other = ("-o", tmp_path / "out") if option == "--manifest" else ()
    result = run("patch", sample, option, name, *other, "--cpu", "ev67")
    message = f"retune: {name}: is the input itself (give the output another name)\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)
    assert sample.read_bytes() == before


def test_two_outputs_are_two_files(run: Run, sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("patch", sample, "-o", out, "--cpu", "ev67", "--manifest", out)
    message = f"retune: {out}: is named twice (give the output another name)\n"
    assert (result.exit_code, result.stderr) == (2, message)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("none/out", "cannot write {}: no folder {parent}"),
        ("folder", "cannot write {}: it is a directory"),
        ("fifo", "cannot write {}: it is not a regular file"),
    ],
)
def test_outputs_that_cannot_be_written(
    place: str, why: str, run: Run, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    path = tmp_path / place
    result = run("patch", sample, "-o", path, "--passes", "none")
    message = f"retune: {why.format(path, parent=path.parent)}\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)


def test_no_pipe(run: Run, sample: Path) -> None:
    result = run("patch", sample, "-o", "-", "--passes", "none")
    message = "retune: -: retune writes files, not pipes (name a file)\n"
    assert (result.exit_code, result.stderr) == (2, message)


def test_a_full_disk_leaves_nothing(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    out = tmp_path / "out"
    result = run("patch", sample, "-o", out, "--cpu", "ev67")
    message = f"retune: cannot write {out}: No space left on device\n"
    assert (result.exit_code, result.stdout, result.stderr) == (71, "", message)
    assert files(tmp_path) == ["in/libsample.so"]


def test_without_section_headers_a_manifest_goes_beside(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    from rewriter.elf.headers import read_headers

    data = sample.read_bytes()
    ehdr = read_headers(data, "f").layout.ehdr
    row = list(ehdr.unpack_from(data, 16))
    row[5] = row[10] = row[11] = row[12] = 0
    sample.write_bytes(data[:16] + ehdr.pack(*row) + data[16 + ehdr.size :])
    result = run("patch", sample, "-o", tmp_path / "out", "--cpu", "ev67")
    if result.exit_code == 4:
        pytest.skip("nothing is found in the sample without section headers")
    assert result.exit_code == 3
    assert "has no section headers, so a note cannot be added" in result.stderr
    assert not (tmp_path / "out").exists()


def _damaged(kind: str, folder: Path) -> tuple[Path, str]:
    """A bad input, and how its message goes on after the name."""
    path = folder / "bad"
    data = inputs.require("alpha-sample").read_bytes()
    if kind == "missing":
        return path, "cannot be read: No such file or directory"
    if kind == "directory":
        path.mkdir()
        return path, "is a directory"
    if kind == "fifo":
        os.mkfifo(path)
        return path, "is not a regular file"
    contents = {
        "empty": (b"", "is empty"),
        "text": (b"#!/bin/sh\n", "is a script, not an ELF file"),
        "truncated": (
            data[: len(data) // 2],
            "segment 1 p_offset 0xff40 + 0xc0 bytes is outside the file",
        ),
        "header only": (data[:40], "truncated: 40 bytes, the ELF header has 64"),
        "foreign": (
            data[:18] + (62).to_bytes(2, "little") + data[20:],
            "is for x86-64 (e_machine 0x3e), which retune does not know (it knows alpha",
        ),
    }
    content, message = contents[kind]
    path.write_bytes(content)
    return path, message


BAD = ["missing", "directory", "fifo", "empty", "text", "truncated", "header only", "foreign"]
COMMANDS = ["patch", "identify", "explain", "verify", "edits", "revert"]


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("command", COMMANDS)
def test_bad_input_is_one_line_and_status_3(
    command: str, kind: str, run: Run, sample: Path, tmp_path: Path
) -> None:
    bad, message = _damaged(kind, tmp_path)
    out = tmp_path / "out"
    more: dict[str, tuple[object, ...]] = {
        "patch": ("-o", out, "--cpu", "ev67"),
        "explain": ("main", "--cpu", "ev67"),
        "verify": (sample,),
        "revert": ("-o", out),
    }
    result = run(command, bad, *more.get(command, ()))
    assert (result.exit_code, result.stdout) == (3, "")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"retune: {bad}: ")
    if command in ("patch", "identify", "explain", "verify"):
        assert result.stderr.startswith(f"retune: {bad}: {message}")
    assert not out.exists()


def test_a_file_without_code(run: Run, sample: Path, tmp_path: Path) -> None:
    from rewriter.elf.headers import PF_X, read_headers

    data = bytearray(sample.read_bytes())
    headers = read_headers(bytes(data), "f")
    ehdr, phdr = headers.layout.ehdr, headers.layout.phdr
    row = list(ehdr.unpack_from(data, 16))
    row[5] = row[10] = row[11] = row[12] = 0
    ehdr.pack_into(data, 16, *row)
    for at in range(
        headers.e_phoff, headers.e_phoff + len(headers.segments) * phdr.size, phdr.size
    ):
        row = list(phdr.unpack_from(data, at))
        row[1] &= ~PF_X
        phdr.pack_into(data, at, *row)
    sample.write_bytes(data)
    message = f"retune: {sample}: holds no code (no section or segment is executable)\n"
    out = ("-o", tmp_path / "out")
    for arguments in (
        ("identify", sample),
        ("patch", sample, *out, "--cpu", "ev67"),
        ("explain", sample, "f", "--cpu", "ev67"),
    ):
        result = run(*arguments)
        assert (result.exit_code, result.stdout, result.stderr) == (3, "", message)
    assert run("patch", sample, *out, "--passes", "none").exit_code == 4


def test_a_name_with_a_line_break_stays_on_its_line(run: Run, tmp_path: Path) -> None:
    result = run("identify", tmp_path / "a\nb\x1b[31m")
    assert result.exit_code == 3
    message = f"retune: {tmp_path}/a\\nb\\x1b[31m: cannot be read: No such file or directory\n"
    assert result.stderr == message


def test_nothing_outside_the_patches_changes(tuned: Path, sample: Path) -> None:
    bare, record = manifest.detach(tuned.read_bytes())
    assert emit.apply(sample.read_bytes(), record.patches) + record.appended == bare


def test_timings_say_where_the_time_went(sample: Path, run: Run) -> None:
    options = ("patch", sample, "--dry-run", "--cpu", "ev67", "--timings", "-j", "2")
    told = json.loads(run(*options, "--json").stdout)["timings"]
    steps = {step["step"]: step for step in told["steps"]}
    assert told["processor"] == pytest.approx(sum(s["processor"] for s in steps.values()), abs=0.1)
    assert 0 < told["serial"] <= told["processor"] and told["processes"] == 2
    assert steps["bytes"]["sites"] > 0 and steps["verify"]["sites"] is None
    lines = run(*options).stdout.splitlines()
    assert sum(line.startswith("time, ") for line in lines) == len(steps)
    assert any(line.startswith("laid out by the lengths of tasks: 2 processes") for line in lines)
