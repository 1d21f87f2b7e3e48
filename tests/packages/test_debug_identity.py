"""A file whose code moved away from what a debug file says is no longer taken for its original.

The oracle is gdb for many machines, with the debug file of the original in the folders where it
looks: it shows right lines or refuses it.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import retune
import taken_apart
from click.testing import Result
from taken_apart import Split

from fixtures import inputs
from rewriter.elf import manifest
from rewriter.elf.debug_identity import (
    build_id_of,
    has_identity,
    link_of,
    with_new_identity,
    with_old_identity,
)
from rewriter.elf.headers import PT_NOTE
from rewriter.elf.image import Image, load, parse
from rewriter.elf.unwind.entries import frames

Run = Callable[..., Result]
CPUS = {"alpha": "ev67", "powerpc64le": "power9"}


@pytest.fixture(scope="module", params=tuple(CPUS))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def parts(machine: str, tmp_path_factory: pytest.TempPathFactory) -> Split:
    """A library with a build-id and a link to its debug file; nobody writes to it."""
    folder = tmp_path_factory.mktemp("parts")
    return taken_apart.split(folder, "-Wl,--build-id", machine=machine)


@pytest.fixture(scope="module")
def tuned(machine: str, parts: Split) -> Path:
    """The library, tuned by somebody who has no debug file; beside it lies that of the original."""
    folder = parts.library.parent / "beside"
    folder.mkdir()
    (folder / parts.debug.name).write_bytes(parts.debug.read_bytes())
    new = folder / "new.so"
    new.write_bytes(retune.patch(parts.library, cpu=CPUS[machine]).data())
    return new


def debug_folder(parts: Split, root: Path) -> Path:
    """A folder as a system has it, with the debug file of the original by its build-id."""
    build_id = build_id_of(load(parts.library))
    path = root / f".build-id/{build_id[:2]}/{build_id[2:]}.debug"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(parts.debug.read_bytes())
    return root


def lines(path: Path, addresses: Iterable[int], folder: Path) -> list[str]:
    """What gdb says of the source line of each address."""
    gdb = (inputs.require_tool("gdb-multiarch"), "-nx", "-batch", "-iex")
    asked = [part for at in addresses for part in ("-ex", f"info line *{at:#x}")]
    command = (*gdb, f"set debug-file-directory {folder}", str(path), *asked)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if line.startswith(("Line", "No line"))]


def code(path: Path) -> range:
    """Addresses in all the code that unwind tables name."""
    found = frames(load(path))
    return range(min(one.start for one in found), max(one.end for one in found), 16)


def bare(new: Path) -> bytes:
    """A retuned file without its note."""
    return manifest.detach(new.read_bytes())[0]


def refused(old: Image, new: bytes, cpu: str) -> tuple[str, ...]:
    """What `verify` finds in a new file without its note, which is for a CPU."""
    return retune.verify(old.data, new, cpu=cpu).findings


def test_gdb_refuses_the_debug_file_of_the_original(
    parts: Split, tuned: Path, tmp_path: Path
) -> None:
    """By build-id and by link; with both as they were it would be believed."""
    folder = debug_folder(parts, tmp_path)
    places = code(parts.library)
    before = lines(parts.library, places, folder)
    assert before == lines(parts.whole, places, folder)
    assert sum(line.startswith("Line") for line in before) > len(before) / 2
    after = lines(tuned, places, folder)
    assert len(after) == len(before)
    assert not any(line.startswith("Line") for line in after)
    for by_id in (False, True):
        believed = tuned.with_name("believed.so")
        believed.write_bytes(with_old_identity(load(parts.library), bare(tuned)))
        where = folder if by_id else tmp_path / "empty"
        assert any(line.startswith("Line") for line in lines(believed, places, where))


def test_gdb_shows_right_lines_where_the_debug_file_was_there(
    machine: str, run: Run, parts: Split, tmp_path: Path
) -> None:
    """Then the build-id is kept: what the debug file describes kept its place."""
    new, folder = tmp_path / "new.so", debug_folder(parts, tmp_path)
    options = ("--cpu", CPUS[machine], "--debug-file", parts.debug)
    done = run("patch", parts.library, "-o", new, *options)
    assert done.exit_code == 0, done.output
    assert "no longer fits" not in done.stdout
    assert new.read_bytes() != parts.library.read_bytes()
    places = code(parts.library)
    assert lines(new, places, folder) == lines(parts.whole, places, folder)
    assert build_id_of(load(new)) == build_id_of(load(parts.library))


def test_it_is_said_once_and_taken_back(
    machine: str, run: Run, parts: Split, tuned: Path, tmp_path: Path
) -> None:
    new, back = tmp_path / "new.so", tmp_path / "back.so"
    done = run("patch", parts.library, "-o", new, "--cpu", CPUS[machine])
    assert done.stdout.count("a debug file of the original no longer fits") == 1
    assert new.read_bytes() == tuned.read_bytes()
    assert run("verify", parts.library, new).exit_code == 0
    assert run("revert", new, "-o", back).exit_code == 0
    assert back.read_bytes() == parts.library.read_bytes()
    old, after = load(parts.library), load(new)
    was, now = link_of(old), link_of(after)
    assert was is not None
    assert now is not None
    assert (was.name, was.at) == (now.name, now.at)
    assert was.crc != now.crc
    assert len(build_id_of(old)) == len(build_id_of(after)) == 40
    assert build_id_of(old) != build_id_of(after)


@pytest.mark.parametrize("options", (("--passes", "bytes,bitscan"), ("--max-edits", "0")))
def test_it_is_kept_where_nothing_moves(
    options: tuple[str, str], run: Run, apart: Split, tmp_path: Path
) -> None:
    new = tmp_path / "new.so"
    done = run("patch", apart.library, "-o", new, "--cpu", "ev67", *options)
    assert done.exit_code in (0, 4), done.output
    assert "no longer fits" not in done.stdout
    if new.exists():
        assert build_id_of(load(new)) == build_id_of(load(apart.library))
        assert link_of(load(new)) == link_of(load(apart.library))


def test_verify_knows_one_other_identity(machine: str, parts: Split, tuned: Path) -> None:
    """The one that follows from the new file's content; any other byte there is a change."""
    old, new = load(parts.library), bare(tuned)
    assert refused(old, new, CPUS[machine]) == ()
    link, build_id = link_of(old), bytes.fromhex(build_id_of(old))
    assert link is not None
    at = old.data.index(build_id)
    fields = (slice(at, at + len(build_id)), slice(link.at, link.at + 4))
    for field in fields:
        mutant = bytearray(new)
        mutant[field.stop - 1] ^= 1
        found = refused(old, bytes(mutant), CPUS[machine])
        assert found
        assert {finding.rpartition(", ")[2] for finding in found} <= {
            "in .note.gnu.build-id", "in .gnu_debuglink"
        }  # fmt: skip
    # That of another content: of the original itself, and of the same file with another byte.
    text = next(s for s in old.sections if s.name == ".text")
    other = bytearray(with_old_identity(old, new))
    other[text.sh_offset] ^= 1
    for content in (old.data, bytes(other)):
        wrong = with_new_identity(old, content)
        for field in fields:
            mutant = bytearray(new)
            mutant[field] = wrong[field]
            assert refused(old, bytes(mutant), CPUS[machine])
    # A file in which nothing else changed keeps its own.
    assert refused(old, with_new_identity(old, old.data), CPUS[machine])


def test_either_may_be_the_old_one(machine: str, parts: Split, tuned: Path) -> None:
    """strip lays out anew what nothing loads: then the link is looked at in the original."""
    old, new = load(parts.library), bare(tuned)
    link = link_of(old)
    assert link is not None
    half = bytearray(new)
    half[link.at : link.at + 4] = old.data[link.at : link.at + 4]
    assert refused(old, bytes(half), CPUS[machine]) == ()


def test_bundled_code_too() -> None:
    """Regions in a new order are in other places; a tampered build-id is found there as well."""
    old = load(inputs.require("ia64-libjnidispatch"))
    patched = retune.patch(old.data, cpu="madison", funcs=("Java_com_sun_jna_Native_setString",))
    new = patched.apart()[0]
    assert new != old.data
    assert build_id_of(parse(new, "new")) != build_id_of(old)
    assert refused(old, new, "madison") == ()
    mutant = bytearray(new)
    mutant[old.data.index(bytes.fromhex(build_id_of(old)))] ^= 1
    assert any(
        "outside all functions" in finding for finding in refused(old, bytes(mutant), "madison")
    )


def test_what_only_says_to_be_a_note_is_not_written() -> None:
    """Bytes that a program header or another section has are not those of a note alone."""
    image = load(inputs.require("alpha-sample"))
    note = next(s for s in image.sections if s.name == ".note.gnu.build-id")
    text = next(s for s in image.sections if s.name == ".text")
    assert has_identity(image)
    liars = (
        replace(image, segments=tuple(s for s in image.segments if s.p_type != PT_NOTE)),
        replace(image, segments=(*image.segments, *(replace(s, p_type=2) for s in image.segments))),
        replace(image, sections=(*image.sections, replace(text, sh_offset=note.sh_offset + 20))),
        replace(image, sections=tuple(replace(s, sh_offset=0) if s == note else s
                                      for s in image.sections)),
    )  # fmt: skip
    for liar in liars:
        assert not has_identity(liar)
        assert with_new_identity(liar, image.data) == image.data


def test_notes_in_one_section() -> None:
    """As a kernel has them: the build-id is found behind others, and nothing else is written."""
    image = load(inputs.require("alpha-sample"))
    first, third = (note("GNU", 1, b"\0" * 16), note("Linux", 0x101, b"x" * 5))
    content = first + note("GNU", 3, b"identity") + third
    section = next(s for s in image.sections if s.name == ".note.gnu.build-id")
    notes = replace(section, sh_flags=0, sh_offset=len(image.data), sh_size=len(content))
    sections = tuple(notes if s == section else s for s in image.sections)
    kernel = replace(image, data=image.data + content, sections=sections)
    assert build_id_of(kernel) == b"identity".hex()
    new = with_new_identity(kernel, kernel.data)
    at = kernel.data.index(b"identity", len(image.data))
    assert new[:at] == kernel.data[:at]
    assert new[at : at + 8] != b"identity"
    assert new[at + 8 :] == third


def note(owner: str, kind: int, content: bytes) -> bytes:
    """A note of a little-endian file (ELF, "Note Section")."""
    name = owner.encode() + b"\0"
    head = struct.pack("<3I", len(name), len(content), kind)
    return head + b"".join(part + b"\0" * (-len(part) % 4) for part in (name, content))


def test_the_build_id_of_a_kernel() -> None:
    """As binutils read it, and nothing else is written."""
    path = inputs.require("alpha-vmlinux")
    image = load(path)
    command = (inputs.require_tool("readelf"), "-n", str(path))
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    build_id = build_id_of(image)
    assert f"Build ID: {build_id}" in said
    new, at = with_new_identity(image, image.data), image.data.index(bytes.fromhex(build_id))
    assert new[at : at + 20] != image.data[at : at + 20]
    assert (new[:at], new[at + 20 :]) == (image.data[:at], image.data[at + 20 :])
