"""What a new version of a package is told in: its file's name, its changelog, and a warning."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from fixtures.deb_files import CONTROL, DIR, FILE, ar, tar
from rewriter.core.errors import BadInput
from rewriter.packages import changelog, debian

Run = Callable[..., Result]
OPTIONS = ("--cpu", "ev67", "--passes", "bytes", "-j1", "--version-suffix", "+t")
BEFORE = b"""src (1:2-3) unstable; urgency=low

  * Something.

 -- A <a@example.org>  Sat, 01 Jan 2022 10:00:00 +0000
"""
PLACE = "usr/share/doc/p/changelog.Debian.gz"


def written(path: Path, log: bytes, more: bytes = b"") -> Path:
    """A package with the sample, a changelog, and check sums of both."""
    code = inputs.require("alpha-sample").read_bytes()
    files = {"usr/lib.so": code, PLACE: log}
    sums = "".join(f"{hashlib.md5(d).hexdigest()}  {n}\n" for n, d in files.items()).encode()
    controls = tar(("./control", FILE, CONTROL + more), ("./md5sums", FILE, sums))
    folders = [("./usr", DIR, b""), ("./usr/share", DIR, b"")]
    data = tar(*folders, *((f"./{name}", FILE, data) for name, data in files.items()))
    path.write_bytes(ar(("debian-binary", b"2.0\n"), ("control.tar", controls), ("data.tar", data)))
    return path


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("p_2-3_alpha.deb", "p_2-3+t_alpha.deb"),
        ("p_1%3a2-3_alpha.deb", "p_1%3a2-3+t_alpha.deb"),
        ("p_1%3A2-3_alpha.deb", "p_1%3A2-3+t_alpha.deb"),
        ("p_1:2-3_alpha.deb", "p_1:2-3+t_alpha.deb"),
        ("other.deb", "other.deb"),
    ],
)
def test_an_epoch_in_the_name_of_a_file(name: str, new: str) -> None:
    package = debian.Package(Path(name), name, (), CONTROL.decode(), frozenset())
    assert debian.file_name(package, {("p", "1:2-3"): "1:2-3+t"}) == new
    assert debian.file_name(package, {}) == name


def test_the_changelog_has_an_entry(run: Run, tmp_path: Path) -> None:
    """dpkg-parsechangelog reads it where it is there; sums and times are those of the package."""
    deb = written(tmp_path / "p_1%3a2-3_alpha.deb", gzip.compress(BEFORE))
    done = run("batch", deb, "-o", tmp_path / "out", *OPTIONS)
    assert (done.exit_code, "warning" in done.stdout) == (0, False), done.output
    made, root = tmp_path / "out" / "p_1%3a2-3+t_alpha.deb", tmp_path / "root"
    subprocess.run((inputs.require_tool("dpkg-deb"), "-R", made, root), check=True)
    check = ("md5sum", "--check", "--strict", "--quiet", root / "DEBIAN/md5sums")
    subprocess.run(check, cwd=root, check=True)
    text = gzip.decompress((root / PLACE).read_bytes())
    assert text.endswith(b"\n\n" + BEFORE)
    assert text[: -len(BEFORE)].decode() == (
        f"src (1:2-3+t) unstable; urgency=medium\n\n  * {changelog.TEXT}\n\n"
        " -- m <m@example.org>  Thu, 01 Jan 1970 00:00:00 +0000\n\n"
    )
    (tmp_path / "log").write_bytes(text)
    command = (inputs.require_tool("dpkg-parsechangelog"), "-l", tmp_path / "log", "-S", "Version")
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("1:2-3+t\n", "")


def test_without_a_new_version_it_stays(run: Run, tmp_path: Path) -> None:
    log = gzip.compress(BEFORE, mtime=1)
    deb = written(tmp_path / "p_2-3_alpha.deb", log)
    assert run("batch", deb, "-o", tmp_path / "out", *OPTIONS[:-2]).exit_code == 0
    root = tmp_path / "root"
    made = tmp_path / "out" / deb.name
    subprocess.run((inputs.require_tool("dpkg-deb"), "-R", made, root), check=True)
    assert (root / PLACE).read_bytes() == log


def test_what_is_no_changelog() -> None:
    """Another text stays as it is; what cannot be unpacked, or is a bomb, is bad input."""
    new = changelog.NewVersion("2", "m <m@example.org>", 0)
    other = gzip.compress(b"Changes of everything\n")
    assert changelog.with_entry(other, new, "p") == other
    assert changelog.with_entry(b"", new, "p") == b""
    for damaged in (b"no gzip", other[:-9], gzip.compress(bytes(changelog.LARGEST + 1))):
        with pytest.raises(BadInput):
            changelog.with_entry(damaged, new, "p")


def test_multi_arch_same_is_warned_of(run: Run, tmp_path: Path) -> None:
    deb = written(tmp_path / "p_2-3_alpha.deb", gzip.compress(BEFORE), b"Multi-Arch: same\n")
    done = run("batch", deb, "-o", tmp_path / "out", *OPTIONS)
    assert "warning: p is Multi-Arch: same: beside 1:2-3+t no other architecture's" in done.stdout
    options = (*OPTIONS[:-2], "--json")
    same = run("batch", deb, "-o", tmp_path / "same", *options)
    assert json.loads(same.stdout)["packages"][0]["warning"] == ""
