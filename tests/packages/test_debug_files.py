"""Debug information in a file of its own stays true of what is written, or the file is refused.

The oracle is elfutils: eu-addr2line follows the debug link, compares the CRC, and reads the lines.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from taken_apart import Split, split, tool

from fixtures import inputs
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Insn
from rewriter.elf import debug_files
from rewriter.elf.debug_identity import build_id_of, link_of
from rewriter.elf.image import load
from rewriter.elf.unwind.entries import frames
from targets.alpha.image.pointers import is_nop
from targets.alpha.isa.rows import TABLE
from tests.support.depth import depth

Run = Callable[..., Result]


def instructions(path: Path) -> dict[int, Insn]:
    """What stands where in the functions, nops apart."""
    image, found = load(str(path)), {}
    for frame in frames(image):
        words = image.words(frame.start, frame.end, 4).tolist()
        for number, word in enumerate(words):
            insn = TABLE.decode(word)
            if insn is not None and not is_nop(insn):
                found[frame.start + 4 * number] = insn
    return found


def lines(path: Path, addresses: list[int]) -> list[str]:
    """Source file and line of each address, as elfutils find them."""
    command = (inputs.require_tool("eu-addr2line"), "-e", str(path))
    done = subprocess.run(
        (*command, *map(hex, addresses)), check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_what_a_debug_file_describes_keeps_its_place(
    run: Run, apart: Split, tmp_path: Path
) -> None:
    """Every instruction that is left is where it was, and debuggers find the line it was of."""
    folder = tmp_path / "beside"
    folder.mkdir()
    new = folder / "new.so"
    done = run("patch", apart.library, "-o", new, "--cpu", "ev67", "--debug-file", apart.debug)
    assert done.exit_code == 0, done.output
    assert "no longer fits" not in done.stdout
    assert run("verify", apart.library, new).exit_code == 0
    (folder / apart.debug.name).write_bytes(apart.debug.read_bytes())
    before, after = instructions(apart.library), instructions(new)
    assert before != after
    assert after.keys() <= before.keys()
    places = sorted(after)
    said = lines(new, places)
    assert said == lines(apart.whole, places)
    # The same with binutils, which follow the link too.
    tools = [tool("addr2line", "-e", p, *map(hex, places)) for p in (new, apart.whole)]
    assert tools[0] == tools[1]
    assert sum("?" not in line for line in said) > len(said) / 2
    assert build_id_of(load(new)) == build_id_of(load(apart.library)) != ""


def test_without_it_lines_are_wrong(run: Run, apart: Split, tmp_path: Path) -> None:
    """The test above can fail: told of no debug file, functions move, and the summary says so."""
    folder = tmp_path / "beside"
    folder.mkdir()
    new = folder / "new.so"
    done = run("patch", apart.library, "-o", new, "--cpu", "ev67")
    assert done.exit_code == 0, done.output
    assert "a debug file of the original no longer fits" in done.stdout
    before, after = instructions(apart.library), instructions(new)
    assert not after.keys() <= before.keys()


@pytest.mark.parametrize("form", ("-gdwarf-3", "-gdwarf-4", "-gz=none")[:: depth(3, 1)])
def test_forms_of_debug_files(form: str, run: Run, tmp_path: Path) -> None:
    """Compressed or not, of any version that is read: the same functions keep their places."""
    parts = split(tmp_path, form, compress=False)
    new = tmp_path / "new.so"
    done = run("patch", parts.library, "-o", new, "--cpu", "ev67", "--debug-file", parts.debug)
    assert done.exit_code == 0, done.output
    assert instructions(new).keys() <= instructions(parts.library).keys()


def test_lines_cannot_follow_into_another_file(run: Run, apart: Split, tmp_path: Path) -> None:
    """`--debug lines` rewrites a table in the file, never one of another file."""
    new, size = tmp_path / "new.so", apart.debug.stat().st_size
    options = ("--cpu", "ev67", "--debug", "lines", "--debug-file", apart.debug)
    assert run("patch", apart.library, "-o", new, *options).exit_code == 0
    assert instructions(new).keys() <= instructions(apart.library).keys()
    assert apart.debug.stat().st_size == size


def test_another_builds_debug_file_is_refused(run: Run, apart: Split, tmp_path: Path) -> None:
    other = split(tmp_path, "-O1", "-Wl,--build-id")
    new = tmp_path / "new.so"
    for debug in (other.debug, apart.whole, apart.library):
        done = run("patch", apart.library, "-o", new, "--cpu", "ev67", "--debug-file", debug)
        assert done.exit_code == 3
        assert "is of another build: its CRC-32 is" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not new.exists()
    done = run("patch", apart.whole, "-o", new, "--cpu", "ev67", "--debug-file", apart.debug)
    assert done.exit_code == 3
    assert "has debug information itself" in done.stderr


def test_where_a_debug_file_is_looked_for(apart: Split, tmp_path: Path) -> None:
    """By build-id and by link, in the folders where packages and gdb have them."""
    image, content = load(apart.library), apart.debug.read_bytes()
    build_id = build_id_of(image)
    notes = tool("readelf", "-n", apart.library)
    assert f"Build ID: {build_id}" in notes
    link = link_of(image)
    assert link is not None
    assert link.name == apart.debug.name
    by_id = f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    for place in (by_id, f"usr/lib/debug/usr/lib/{link.name}", "usr/lib/lib.debug"):
        root = tmp_path / place.replace("/", "-")
        library = root / "usr/lib/lib.so"
        for path, data in ((library, image.data), (root / place, content)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        found = debug_files.find(image, library, (root,), "usr/lib")
        assert found == root / place
        assert debug_files.described_by(image, found).debug is not None
        (root / place).unlink()
        assert debug_files.find(image, library, (root,), "usr/lib") is None
        (root / place).symlink_to(apart.debug)  # may lead out of a package
        assert debug_files.find(image, library, (root,), "usr/lib") is None


def test_damaged_debug_files_are_bad_input(apart: Split, tmp_path: Path) -> None:
    """Whatever byte is wrong: it is the debug file, or it is refused; never a traceback."""
    image, good = load(apart.library), apart.debug.read_bytes()
    damaged = tmp_path / "damaged.debug"
    bare = link_of(image)
    assert bare is not None
    for at in range(0, len(good), max(1, len(good) // 60)):
        damaged.write_bytes(good[:at] + bytes((good[at] ^ 0xFF,)) + good[at + 1 :])
        with pytest.raises(BadInput):
            debug_files.described_by(image, damaged)
        damaged.write_bytes(good[:at])
        with pytest.raises(BadInput):
            debug_files.described_by(image, damaged)
