"""`retune batch` on packages, and on trees whose debug information is in files of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from taken_apart import Split

from fixtures import inputs, sources
from fixtures.deb_files import DIR, FILE, Entry, package
from rewriter.elf import manifest
from rewriter.elf.debug_identity import build_id_of
from rewriter.elf.image import load, parse

Run = Callable[..., Result]
CPU = ("--cpu", "ev67", "--passes", "bytes,align")
"""One pass that keeps places, and one that moves code."""


def read(deb: Path, name: str) -> bytes:
    """A file of a package, as dpkg-deb and tar unpack it."""
    inputs.require_tool("dpkg-deb")
    command = f"dpkg-deb --fsys-tarfile '{deb}' | tar -xO './{name}'"
    return subprocess.run(("sh", "-c", command), check=True, capture_output=True).stdout


def passes(data: bytes) -> set[str]:
    """The passes of the edits in a file."""
    found = manifest.read(data)
    return set() if found is None else {edit.technique for edit in found.edits}


def by_id(parts: Split) -> str:
    """Where the debug file of a library is by its build-id."""
    build_id = build_id_of(load(str(parts.library)))
    return f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


@pytest.fixture
def debs(apart: Split, tmp_path: Path) -> tuple[Path, Path]:
    """A package whose library has a debug link, and the package with its debug file."""
    library, debug = apart.library.read_bytes(), apart.debug.read_bytes()
    entries: tuple[Entry, ...] = (("./usr", DIR, b""), ("./usr/lib.so", FILE, library))
    main = package(tmp_path / "p_2-3_alpha.deb", *entries)
    path = tmp_path / "p-dbgsym_2-3_alpha.deb"
    return main, package(path, (f"./{by_id(apart)}", FILE, debug), name="p-dbgsym")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def test_a_real_package(run: Run, out: Path, tmp_path: Path) -> None:
    """What comes out is a package whose files verify against those of what went in."""
    deb = inputs.or_skip(sources.package, "libgcc-s1-alpha-cross")
    done = run("batch", deb, "-o", out, *CPU, "--version-suffix", "+ev67", "-j1")
    assert done.exit_code == 0, done.output
    assert "1 package: 1 retuned" in done.stdout
    (made,) = out.iterdir()
    name = "usr/alpha-linux-gnu/lib/libgcc_s.so.1"
    for path, source in (("old", deb), ("new", made)):
        (tmp_path / path).write_bytes(read(source, name))
    assert run("verify", tmp_path / "old", tmp_path / "new").exit_code == 0
    assert run("revert", tmp_path / "new", "-o", tmp_path / "back").exit_code == 0
    assert (tmp_path / "back").read_bytes() == (tmp_path / "old").read_bytes()
    again = run("batch", made, "-o", tmp_path, *CPU, "-j1", "--json")
    assert json.loads(again.stdout)["files"] == {"tuned before": 1}
    assert (tmp_path / made.name).read_bytes() == made.read_bytes()


def test_without_its_debug_file_it_is_tuned(run: Run, debs: tuple[Path, Path], out: Path) -> None:
    """That is the normal case: it is said once, and debuggers refuse the debug file."""
    done = run("batch", debs[0], "-o", out, *CPU, "-j1")
    assert done.exit_code == 0, done.output
    told = "a debug file of the original no longer fits 1 file; debuggers refuse it"
    assert done.stdout.count(told) == 1
    old, new = (read(path / debs[0].name, "usr/lib.so") for path in (debs[0].parent, out))
    assert {"align", "bytes"} <= passes(new)
    assert build_id_of(parse(new, "new")) != build_id_of(parse(old, "old"))
    assert manifest.revert(new) == old


def test_without_its_debug_file_it_is_left_alone_if_asked(
    run: Run, debs: tuple[Path, Path], out: Path
) -> None:
    """The reason names the debug file and what to do; the package is copied as it is."""
    done = run("batch", debs[0], "-o", out, *CPU, "-j1", "--debuginfo", "refuse")
    assert done.exit_code == 5
    assert "refused: p:usr/lib.so: " in done.stdout
    assert "its debug file lib.debug is not there" in done.stdout
    assert "--debug-root" in done.stdout
    assert (out / debs[0].name).read_bytes() == debs[0].read_bytes()


def test_a_package_that_promises_too_little_is_copied(
    run: Run, debs: tuple[Path, Path], out: Path
) -> None:
    done = run("batch", debs[0], "-o", out, *CPU, "-j1", "--min-gain", "90", "-v")
    assert done.exit_code == 4, done.output
    assert "gain too small: p:usr/lib.so: expected: " in done.stdout
    assert done.stdout.endswith("1 file: 1 gain too small\n1 package: 1 copied\n")
    assert (out / debs[0].name).read_bytes() == debs[0].read_bytes()


def test_with_its_debug_package(
    run: Run, debs: tuple[Path, Path], out: Path, apart: Split, tmp_path: Path
) -> None:
    """What it describes keeps its place; the debug package is copied as it is."""
    done = run("batch", *debs, "-o", out, *CPU, "-j1", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert [one["status"] for one in said["packages"]] == ["retuned", "copied"]
    assert [one["path"] for one in said["each"]] == ["p:usr/lib.so"]
    new = read(out / debs[0].name, "usr/lib.so")
    assert passes(new) == {"bytes"}
    assert build_id_of(parse(new, "new")) == build_id_of(load(apart.library))
    assert "no longer fits" not in done.stdout
    assert (out / debs[1].name).read_bytes() == debs[1].read_bytes()
    # It is what `patch` makes with the same debug file.
    alone = tmp_path / "alone.so"
    options = (*CPU, "--debug-file", apart.debug)
    assert run("patch", apart.library, "-o", alone, *options).exit_code == 0
    assert alone.read_bytes() == new


@pytest.mark.parametrize("said", ("option", "policy"))
def test_debug_information_may_be_ignored(
    said: str, run: Run, debs: tuple[Path, Path], out: Path, tmp_path: Path
) -> None:
    """Where somebody says so, code moves as if there was no debug link."""
    policy = tmp_path / "policy.toml"
    policy.write_text('debuginfo = "ignore"\n[alpha]\ncpu = "ev67"\npasses = ["bytes", "align"]\n')
    options = {"option": (*CPU, "--debuginfo", "ignore"), "policy": ("--policy", policy)}
    done = run("batch", debs[0], "-o", out, "-j1", *options[said])
    assert done.exit_code == 0, done.output
    assert {"align", "bytes"} <= passes(read(out / debs[0].name, "usr/lib.so"))


def test_a_debug_file_of_another_build(
    run: Run, debs: tuple[Path, Path], out: Path, apart: Split, tmp_path: Path
) -> None:
    """Where the build-id says that it belongs to the library: the library is refused."""
    other = (f"./{by_id(apart)}", FILE, apart.whole.read_bytes())
    wrong = package(tmp_path / "w-dbgsym_1_alpha.deb", other, name="w-dbgsym")
    done = run("batch", debs[0], wrong, "-o", out, *CPU, "-j1")
    assert done.exit_code == 5
    assert "is of another build: its CRC-32 is" in done.stdout
    assert (out / debs[0].name).read_bytes() == debs[0].read_bytes()


def test_debug_files_in_trees(run: Run, apart: Split, tmp_path: Path) -> None:
    """Found in the tree and in `--debug-root`; debug files themselves are left alone."""
    tree, roots = tmp_path / "tree", tmp_path / "roots"
    library, debug = tree / "usr/lib/lib.so", by_id(apart)
    library.parent.mkdir(parents=True)
    for root in (tree, roots):
        library.write_bytes(apart.library.read_bytes())
        (root / debug).parent.mkdir(parents=True)
        (root / debug).write_bytes(apart.debug.read_bytes())
        done = run("batch", tree, "--in-place", *CPU, "-j1", "--debug-root", roots)
        assert done.exit_code == 0, done.output
        assert passes(library.read_bytes()) == {"bytes"}
        assert (root / debug).read_bytes() == apart.debug.read_bytes()
        (root / debug).unlink()
    # Without any, it is refused where folders were named, and code moves where none was.
    library.write_bytes(apart.library.read_bytes())
    options = ("--in-place", *CPU, "-j1")
    done = run("batch", tree, *options, "--debug-root", roots)
    assert done.exit_code == 5
    assert library.read_bytes() == apart.library.read_bytes()
    assert run("batch", tree, *options).exit_code == 0
    assert {"align", "bytes"} <= passes(library.read_bytes())


def test_results_are_kept_with_their_debug_file(run: Run, apart: Split, tmp_path: Path) -> None:
    """A cache that knows a file knows it with its lines, and without: two results."""
    found, cache = [], tmp_path / "cache"
    for debug in (True, False, True):
        tree = tmp_path / f"tree{len(found)}"
        (tree / "usr").mkdir(parents=True)
        (tree / "usr/lib.so").write_bytes(apart.library.read_bytes())
        if debug:
            (tree / "usr/lib.debug").write_bytes(apart.debug.read_bytes())
        options = ("--in-place", *CPU, "-j1", "--cache", cache)
        assert run("batch", tree, *options).exit_code == 0
        found.append((tree / "usr/lib.so").read_bytes())
    assert found[0] == found[2] != found[1]
    assert passes(found[0]) == {"bytes"} < passes(found[1])


def test_paths_may_be_excluded(run: Run, tmp_path: Path) -> None:
    """Any part of a path, with what patterns have taken as it is."""
    tree = tmp_path / "tree"
    names = ("usr/lib/a.so", "usr/lib/b[1].so", "opt/a.so")
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(inputs.require("alpha-sample").read_bytes())
    options = ("--in-place", *CPU, "-j1", "--json")
    done = run("batch", tree, *options, "--exclude", "b[1]", "--exclude", "opt/")
    assert done.exit_code == 0, done.output
    said = {one["path"]: one["status"] for one in json.loads(done.stdout)["each"]}
    assert said == dict(
        zip(map(str, sorted(tree / n for n in names)), ("left alone", "tuned", "left alone"),
            strict=True)
    )  # fmt: skip


def test_what_cannot_be_asked(run: Run, debs: tuple[Path, Path], out: Path, tmp_path: Path) -> None:
    """Trees and packages together, packages in place; an rpm package."""
    cpu = ("--cpu", "ev67", "-j1")
    for arguments in (
        (debs[0], tmp_path, "-o", out, *cpu),
        (debs[0], "--in-place", *cpu),
        (debs[0], "-o", out, "--version-suffix", "a b", *cpu),
        (tmp_path, "-o", tmp_path / "absent", "--version-suffix", "+ev67", *cpu),
        (debs[0], "-o", debs[1], *cpu),
        (debs[0], "-o", out),
    ):
        done = run("batch", *arguments)
        assert done.exit_code == 2, arguments
    rpm = tmp_path / "p.rpm"
    rpm.write_bytes(b"\xed\xab\xee\xdb\3\0\0\0")
    done = run("batch", rpm, "-o", out, *cpu)
    assert done.exit_code == 3
    assert "brp-retune" in done.stdout
    assert list(out.iterdir()) == []
    # `patch` says what to do with either.
    for path, what in ((rpm, "brp-retune"), (debs[0], "`retune batch FILE -o DIR`")):
        done = run("patch", path, "-o", out / "x", *CPU)
        assert done.exit_code == 3
        assert what in done.stderr
