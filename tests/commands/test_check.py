"""`retune verify` and `retune revert`."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from rewriter.elf import manifest, note
from rewriter.elf.headers import read_headers
from rewriter.elf.image import load

Run = Callable[..., Result]


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    """`data` with one bit changed."""
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def test_verify_a_tuned_file(run: Run, sample: Path, tuned: Path) -> None:
    result = run("verify", sample, tuned)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[-2:] == ["manifest: leads back to the original", "verified"]
    assert "evidence: " in result.stdout
    document = json.loads(run("verify", sample, tuned, "--json").stdout)
    assert document["ok"] is True
    assert document["changed_bytes"] > 0
    assert document["manifest"] == "leads back to the original"


def test_verify_without_a_note(run: Run, sample: Path, tuned: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_bytes(note.detach(tuned.read_bytes()))
    result = run("verify", sample, bare, "--cpu", "ev67")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2:] == ["manifest: none", "verified"]
    assert "the CPU may lack it (BWX; --cpu names the CPU)" in run("verify", sample, bare).stderr


def test_verify_identical_files_needs_no_target(run: Run, sample: Path) -> None:
    result = run("verify", sample, sample)
    expected = "changed: 0 bytes in 0 functions, 0 blocks compared\nmanifest: none\nverified\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")


def _edited(tuned: Path) -> int:
    """The offset of an instruction that an edit changed."""
    record = manifest.read(tuned.read_bytes())
    assert record is not None
    edit = next(e for e in record.edits if e.technique == "bytes")
    return load(str(tuned)).offset_of(edit.address)


def test_verify_says_what_is_wrong(run: Run, sample: Path, tuned: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(flipped(tuned.read_bytes(), _edited(tuned)))
    result = run("verify", sample, bad)
    assert result.exit_code == 1
    assert result.stdout.startswith("found: ")
    assert result.stdout.endswith("\nNOT verified\n")
    assert result.stderr.startswith(f"retune: {bad}: not shown equal to {sample}: ")
    quiet = run("verify", sample, bad, "-q")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (1, "", result.stderr)
    assert json.loads(run("verify", sample, bad, "--json").stdout)["ok"] is False


def test_verify_a_damaged_note(run: Run, sample: Path, tuned: Path, tmp_path: Path) -> None:
    data, bad = tuned.read_bytes(), tmp_path / "bad"
    section = read_headers(data, "f").sections[-1]
    bad.write_bytes(flipped(data, section.sh_offset + section.sh_size - 9))
    result = run("verify", sample, bad)
    assert result.exit_code == 1
    assert "the manifest is damaged: its checksum does not fit" in result.stderr


def test_verify_against_another_original(
    run: Run, sample: Path, tuned: Path, tmp_path: Path
) -> None:
    other, data = tmp_path / "other", sample.read_bytes()
    # A byte of padding at the end of .text's page: loaded, and in no function.
    other.write_bytes(flipped(data, len(data) - 1))
    result = run("verify", other, tuned)
    assert result.exit_code == 1
    assert "its manifest leads back to another original" in result.stderr


def test_revert_gives_the_original(run: Run, sample: Path, tuned: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("revert", tuned, "-o", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert " taken back; original SHA-256 " in result.stdout
    assert out.read_bytes() == sample.read_bytes()
    assert stat.S_IMODE(out.stat().st_mode) == 0o754


def test_revert_with_a_manifest_beside(run: Run, sample: Path, tmp_path: Path) -> None:
    tuned, beside, out = (tmp_path / name for name in ("tuned", "manifest", "out"))
    run("patch", sample, "-o", tuned, "--cpu", "ev67", "--manifest", beside)
    lost = run("revert", tuned, "-o", out)
    hint = "it was not made by retune, or was stripped of its notes; use --manifest FILE"
    assert (lost.exit_code, lost.stdout) == (3, "")
    assert lost.stderr == f"retune: {tuned}: carries no manifest ({hint})\n"
    result = run("revert", tuned, "-o", out, "--manifest", beside, "--json")
    assert result.exit_code == 0
    assert set(json.loads(result.stdout)) == {"original", "edits", "patches"}
    assert out.read_bytes() == sample.read_bytes()
    again = run("revert", sample, "-o", out, "--manifest", beside)
    message = f"retune: {sample}: is the original already; there is nothing to revert\n"
    assert (again.exit_code, again.stderr) == (3, message)
    wrong = run("revert", tuned, "-o", out, "--manifest", sample)
    message = f"retune: {sample}: not a manifest of retune: it starts with '7f454c46'\n"
    assert (wrong.exit_code, wrong.stderr) == (3, message)


def test_revert_refuses_a_changed_file(run: Run, sample: Path, tuned: Path, tmp_path: Path) -> None:
    bad, out = tmp_path / "bad", tmp_path / "out"
    bad.write_bytes(flipped(tuned.read_bytes(), _edited(tuned)))
    result = run("revert", bad, "-o", out)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"retune: {bad}: is not the file that the manifest describes (")
    assert not out.exists()


def test_revert_never_overwrites(run: Run, tuned: Path) -> None:
    before = tuned.read_bytes()
    result = run("revert", tuned, "-o", tuned)
    message = f"retune: {tuned}: is the input itself (give the output another name)\n"
    assert (result.exit_code, result.stderr) == (2, message)
    assert tuned.read_bytes() == before


@pytest.mark.parametrize("arguments", [("--manifest", "none")])
def test_revert_with_a_missing_manifest(
    arguments: tuple[str, ...], run: Run, tuned: Path, tmp_path: Path
) -> None:
    result = run("revert", tuned, "-o", tmp_path / "out", *arguments)
    message = "retune: none: cannot be read: No such file or directory\n"
    assert (result.exit_code, result.stderr) == (3, message)
