"""The commands on a gzip file around an ELF file: tuned inside, given back byte for byte."""

from __future__ import annotations

import gzip
import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.elf import compressed, manifest

Run = Callable[..., Result]


def _odd(data: bytes) -> bytes:
    """As neither gzip nor zlib as programs call it would compress."""
    engine = zlib.compressobj(9, zlib.DEFLATED, 31, 4, zlib.Z_FILTERED)
    return engine.compress(data) + engine.flush()


@pytest.fixture(params=["gnu", "python", "odd"])
def zipped(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The sample as a gzip file of three makers; a name, a time and no time."""
    data = inputs.require("alpha-sample").read_bytes()
    path = tmp_path / "sample.gz"
    if request.param == "gnu":
        (tmp_path / "sample").write_bytes(data)
        os.utime(tmp_path / "sample", (10**9, 10**9))
        subprocess.run((inputs.require_tool("gzip"), "-9", tmp_path / "sample"), check=True)
    elif request.param == "python":
        path.write_bytes(gzip.compress(data, 6))
    else:
        path.write_bytes(_odd(data))
    return path


OPTIONS = ("--cpu", "ev67", "--passes", "bytes", "--funcs", "sample_find")


def test_patch_verify_edits_and_revert(zipped: Path, run: Run, tmp_path: Path) -> None:
    """The road of a compressed file, and the same edits as for the file inside."""
    sample = inputs.require("alpha-sample")
    out, plain, back = (tmp_path / name for name in ("out.gz", "plain.so", "back.gz"))
    assert run("patch", zipped, "-o", out, *OPTIONS).exit_code == 0
    assert run("patch", sample, "-o", plain, *OPTIONS).exit_code == 0
    content = gzip.decompress(out.read_bytes())
    bare, record = manifest.detach(content)
    assert bare == manifest.detach(plain.read_bytes())[0]
    opened = compressed.open_gzip(zipped.read_bytes(), "f")
    assert out.read_bytes().startswith(opened.header)
    assert record.wrapping is not None
    assert record.file_digest != record.original

    verified = run("verify", zipped, out)
    assert (verified.exit_code, verified.stdout.splitlines()[-1]) == (0, "verified")
    assert run("edits", out).stdout == run("edits", plain).stdout
    assert run("revert", out, "-o", back).exit_code == 0
    assert back.read_bytes() == zipped.read_bytes()
    # Unpacked by hand, it still leads to the file that was given.
    (tmp_path / "unpacked").write_bytes(content)
    assert run("revert", tmp_path / "unpacked", "-o", back).exit_code == 0
    assert back.read_bytes() == zipped.read_bytes()


def test_without_an_edit_the_file_is_the_same(zipped: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.gz"
    assert run("patch", zipped, "-o", out, "--passes", "none").exit_code == 4
    assert out.read_bytes() == zipped.read_bytes()


def test_a_manifest_beside_and_the_same_output_twice(
    zipped: Path, run: Run, tmp_path: Path
) -> None:
    outs = []
    for number in range(2):
        out, beside = tmp_path / f"{number}.gz", tmp_path / f"{number}.manifest"
        made = run("patch", zipped, "-o", out, "--manifest", beside, *OPTIONS)
        assert made.exit_code == 0
        outs.append((out.read_bytes(), beside.read_bytes()))
    assert outs[0] == outs[1]
    back = tmp_path / "back.gz"
    reverted = run("revert", out, "-o", back, "--manifest", beside)
    assert (reverted.exit_code, back.read_bytes()) == (0, zipped.read_bytes())


def test_verify_sees_another_gzip_file(zipped: Path, run: Run, tmp_path: Path) -> None:
    """The same content compressed by somebody else is not the file that the manifest leads to."""
    out, other = tmp_path / "out.gz", tmp_path / "other.gz"
    assert run("patch", zipped, "-o", out, *OPTIONS).exit_code == 0
    other.write_bytes(gzip.compress(gzip.decompress(zipped.read_bytes()), 1, mtime=5))
    done = run("verify", other, out)
    assert done.exit_code == 1
    assert "its manifest leads back to another gzip file" in done.stdout


@pytest.mark.parametrize("command", [("identify",), ("edits",), ("patch", "--cpu", "ev67")])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "truncated"),
        (gzip.compress(b"a text"), "not an ELF file"),
        (gzip.compress(gzip.compress(b"\x7fELF")), "gzip data"),
        (gzip.compress(b"\x7fELF" * 9)[:-3], "checksum or length"),
    ],
    ids=["magic", "text", "twice", "truncated"],
)
def test_bad_gzip_files_on_the_command_line(
    command: tuple[str, ...], content: bytes, message: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "bad.gz"
    path.write_bytes(content if message != "truncated" else b"\x1f\x8b" + content)
    output = ("-o", tmp_path / "out") if command[0] == "patch" else ()
    done = run(command[0], path, *command[1:], *output)
    assert done.exit_code == 3
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
