"""Text whose size is no whole number of instructions is read as far as it goes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fixtures import inputs
from rewriter.cli import main
from rewriter.elf.headers import PF_X, PT_LOAD
from rewriter.elf.image import parse
from rewriter.elf.unwind.entries import frames


def run(*arguments: object) -> Result:
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, texts, prog_name="retune", catch_exceptions=False)


def patched(path: Path, data: bytes) -> None:
    """The file is tuned, verified and comes back."""
    new, back = path.with_suffix(".new"), path.with_suffix(".back")
    path.write_bytes(data)
    assert run("identify", path).exit_code == 0
    done = run("patch", path, "-o", new, "--cpu", "ev67", "--manifest", path.with_suffix(".m"))
    assert done.exit_code == 0, done.output
    assert run("verify", path, new, "--cpu", "ev67").exit_code == 0
    assert run("revert", new, "-o", back, "--manifest", path.with_suffix(".m")).exit_code == 0
    assert back.read_bytes() == data


@pytest.mark.parametrize("less", (1, 2, 3))
def test_a_section(less: int, tmp_path: Path) -> None:
    data = bytearray(inputs.require("alpha-sample").read_bytes())
    text = parse(bytes(data), "sample").section(".text")
    assert text is not None
    (e_shoff,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<Q", data, e_shoff + 64 * text.index + 32, text.sh_size - less)
    patched(tmp_path / "odd.so", bytes(data))


@pytest.mark.parametrize("more", (1, 2, 3))
def test_a_segment_without_sections(more: int, tmp_path: Path) -> None:
    data = bytearray(inputs.require("alpha-sample").read_bytes())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 64, 0, 0)
    image = parse(bytes(data), "sample")
    at = next(n for n, s in enumerate(image.segments) if s.p_type == PT_LOAD and s.p_flags & PF_X)
    (e_phoff,) = struct.unpack_from("<Q", data, 32)
    size = image.segments[at].p_filesz + -image.segments[at].p_filesz % 4 + more
    struct.pack_into("<QQ", data, e_phoff + 56 * at + 32, size, size)
    patched(tmp_path / "odd.so", bytes(data))


def test_a_function(tmp_path: Path) -> None:
    """An unwind entry that covers a part of an instruction: the function is left alone."""
    data = bytearray(inputs.require("alpha-sample").read_bytes())
    frame = max(frames(parse(bytes(data), "sample")), key=lambda one: one.end - one.start)
    (size,) = struct.unpack_from("<I", data, frame.location_offset + 4)
    assert size == frame.end - frame.start
    struct.pack_into("<I", data, frame.location_offset + 4, size - 1)
    patched(tmp_path / "odd.so", bytes(data))
    done = run("patch", tmp_path / "odd.so", "--dry-run", "--cpu", "ev67")
    assert "left alone: 1 function: it is no whole number of instructions" in done.stdout
