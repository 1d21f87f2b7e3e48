"""`verify` on files that a tool laid out anew after retune: what they load is compared."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from taken_apart import Split, split

from fixtures import inputs
from fixtures.members import REPLACED, member
from rewriter.elf.headers import PT_LOAD, read_headers

Run = Callable[..., Result]
TOOLS = ("alpha-linux-gnu-strip", "eu-strip", "alpha-linux-gnu-objcopy")


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """A library with routines that are replaced, in caves too."""
    routines = [str(inputs.or_skip(member, name)) for name in REPLACED]
    return split(tmp_path_factory.mktemp("split"), "-Wl,--build-id", *routines)


@pytest.fixture(scope="module")
def tuned(run: Run, apart: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library retuned with all passes: new sections too."""
    path = tmp_path_factory.mktemp("tuned") / "lib.so"
    assert run("patch", apart.library, "-o", path, "--cpu", "ev67").exit_code == 0
    assert ".text.retune" in [s.name for s in read_headers(path.read_bytes(), "f").sections]
    return path


def processed(tool: str, path: Path, folder: Path) -> Path:
    new = folder / f"{tool}-{path.parent.name}"
    new.write_bytes(path.read_bytes())
    subprocess.run((inputs.require_tool(tool), new), check=True, capture_output=True)
    return new


@pytest.mark.parametrize("tool", TOOLS)
def test_a_stripped_file_is_verified(
    tool: str, run: Run, apart: Split, tuned: Path, tmp_path: Path
) -> None:
    """Against the original, and against the original after the same tool; a changed one is not."""
    new, old = (processed(tool, path, tmp_path) for path in (tuned, apart.library))
    for before in (apart.library, old):
        done = run("verify", before, new)
        assert done.exit_code == 0, done.output
        assert "manifest: not compared: strip or objcopy laid the file out anew" in done.stdout
        assert "evidence:" in done.stdout
    # It still cannot be reverted from itself, and says so.
    done = run("revert", new, "-o", tmp_path / "back")
    assert done.exit_code == 3
    assert "strip or objcopy has laid out the sections anew" in done.stderr


def test_a_changed_program_is_not_verified(
    run: Run, apart: Split, tuned: Path, tmp_path: Path
) -> None:
    """A changed bit of what is loaded is found, wherever it is."""
    stripped = processed(TOOLS[0], tuned, tmp_path)
    data, chosen = stripped.read_bytes(), random.Random(8)
    headers = read_headers(data, "f")
    text = next(s for s in headers.sections if s.name == ".text")
    loads = [s for s in headers.segments if s.p_type == PT_LOAD]
    places = [
        *(chosen.randrange(text.sh_offset, text.file_end) for _ in range(4)),
        *(chosen.randrange(s.p_offset + 64, s.p_offset + s.p_filesz) for s in loads),
        headers.e_phoff + 4, 24,
    ]  # fmt: skip
    bad = tmp_path / "bad"
    for at in places:
        bad.write_bytes(data[:at] + bytes((data[at] ^ 8,)) + data[at + 1 :])
        assert run("verify", apart.library, bad).exit_code != 0, hex(at)


def test_what_moved_in_the_file_is_not_compared(
    run: Run, apart: Split, tuned: Path, tmp_path: Path
) -> None:
    """A segment in another place of the file: the note is refused, as for any other change."""
    data = bytearray(processed(TOOLS[0], tuned, tmp_path).read_bytes())
    headers = read_headers(bytes(data), "f")
    number = [s.p_type for s in headers.segments].index(PT_LOAD)
    at = headers.e_phoff + (number + 1) * headers.layout.phdr.size + 8
    (offset,) = struct.unpack_from("<Q", data, at)
    struct.pack_into("<Q", data, at, offset - 8)
    bad = tmp_path / "bad"
    bad.write_bytes(data)
    done = run("verify", apart.library, bad)
    assert done.exit_code == 1
    assert "manifest: refused" in done.stdout
