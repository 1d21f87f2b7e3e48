"""Packages in a run that is killed and goes on, and packages that are checked before they count."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from fixtures.deb_files import DIR, FILE, package
from rewriter.batch import engine
from rewriter.batch.policy import Policy, read
from rewriter.packages import batch, debian
from rewriter.packages.resumed import digest
from rewriter.packages.retuned import PackageSummary, retuned
from tests.support.batch.killed import KILLED, entries, in_child, killing, tree_digests
from tests.support.depth import depth

Run = Callable[..., Result]
CPU = ("--cpu", "ev67", "--passes", "bytes", "--version-suffix", "+t")


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Two packages with a library each that differs, and one without."""
    data, made = inputs.require("alpha-sample").read_bytes(), []
    for number, name in enumerate(("one", "two")):
        library = ("./usr/lib.so", FILE, data + bytes(number))
        path = tmp_path / f"{name}_1_alpha.deb"
        sums = (f"{'0' * 32}  usr/lib.so\n").encode()
        more = [("./md5sums", FILE, sums)]
        made.append(package(path, ("./usr", DIR, b""), library, more=more, name=name))
    empty = tmp_path / "none_1_alpha.deb"
    return [*made, package(empty, ("./usr", DIR, b""), name="none")]


def lines(journal: Path) -> Iterator[Mapping[str, list[str]]]:
    """What a journal says so far, a line that is not whole apart."""
    whole = journal.read_bytes().split(b"\n")[1:-1] if journal.is_file() else []
    yield from map(json.loads, whole)


def placed(line: Mapping[str, list[str]]) -> bool:
    """Whether the file of a line is what it was to become."""
    path = Path(line["names"][0])
    return path.is_file() and digest(path) == line["new"]


def test_a_killed_run_does_only_the_rest(three: list[Path], tmp_path: Path) -> None:
    """The command itself, killed when its first file is done; then again, and once more."""
    journal, out, whole = (tmp_path / name for name in ("journal", "out", "whole"))
    retune = str(Path(sys.executable).with_name("retune"))
    command = [retune, "batch", *map(str, three), *CPU, "-j1", "-o"]
    resumed = [*command, str(out), "--journal", str(journal)]
    process = subprocess.Popen(resumed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not any(map(placed, lines(journal))):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    (done,) = lines(journal)
    again = subprocess.run(resumed, capture_output=True, text=True, check=True)
    assert "[1/1] tuned: " in again.stderr  # one of two
    files = {path: n for path, n in entries(journal).items() if not path.endswith(".deb")}
    assert len(files) == 2 and set(files.values()) == {1}
    assert next(iter(lines(journal)))["names"] == done["names"]
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    assert tree_digests(out) == tree_digests(whole)
    before = journal.read_bytes()
    third = subprocess.run([*resumed, "-v"], capture_output=True, text=True, check=True)
    assert third.stderr == ""
    assert "tuned: one:usr/lib.so: " in third.stdout and "(journal)" in third.stdout
    assert "3 packages: 3 written before" in third.stdout
    assert (journal.read_bytes(), tree_digests(out)) == (before, tree_digests(whole))


def test_files_are_called_by_their_package(run: Run, three: list[Path], tmp_path: Path) -> None:
    """In progress and in results; the end says what was done, how long, and what was written."""
    page, journal = tmp_path / "page.html", tmp_path / "journal"
    options = ("--report", page, "--journal", journal, "-j1", "-v")
    done = run("batch", *three, "-o", tmp_path / "out", *CPU, *options)
    assert done.exit_code == 0
    assert sorted(line.partition("] ")[2] for line in done.stderr.splitlines()) == [
        "tuned: one:usr/lib.so",
        "tuned: two:usr/lib.so",
    ]
    said = done.stdout.splitlines()
    assert ".retune-packages" not in done.stdout
    assert said[-3:] == [
        "3 packages: 2 retuned, 1 copied", f"report: {page}", f"journal: {journal}",
    ]  # fmt: skip
    for beginning in ("read: ", "edits by pass: ", "evidence: ", "processor time: "):
        assert [line for line in said if line.startswith(beginning)] != [], beginning


@pytest.fixture
def quick(tmp_path: Path) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text('[alpha]\ncpu = "ev67"\npasses = ["bytes"]\n')
    return read(path)


def test_killed_at_every_point(three: list[Path], quick: Policy, tmp_path: Path) -> None:
    """Before each of its calls that change the disk (at a share of them); results are kept."""
    call = partial(engine.run, jobs=1, cache=tmp_path / "kept")

    def work(out: Path, journal: Path | None) -> PackageSummary:
        return retuned(three, quick, out, call, suffix="+t", journal=journal)

    work(tmp_path / "whole", None)
    wanted = tree_digests(tmp_path / "whole")
    for at in range(0, 1000, depth(7, 1)):
        out, journal = tmp_path / f"out{at}", tmp_path / f"journal{at}"

        def killed(at: int = at, out: Path = out, journal: Path = journal) -> None:
            with killing(at):
                work(out, journal)

        status = in_child(killed)
        assert status in (0, KILLED)
        work(out, journal)
        assert tree_digests(out) == wanted, at
        said = sorted(entries(journal).values())  # killed behind its line, before it is in place
        assert said[:-1] == [1] * (len(said) - 1) and said[-1] in (1, 2), at
        if status == 0:
            assert at > 10 and said[-1] == 1
            return
        shutil.rmtree(out)
    pytest.fail("it never came to its end")


def test_what_an_earlier_run_left_is_not_believed(
    run: Run, three: list[Path], tmp_path: Path
) -> None:
    """A package that is no longer as it was written is made again."""
    command = ("batch", *three, "-o", tmp_path / "out", *CPU, "-j1", "--journal", tmp_path / "j")
    assert run(*command).exit_code == 0
    wanted = tree_digests(tmp_path / "out")
    (tmp_path / "out" / "one_1_alpha.deb").write_bytes(b"other")
    assert run(*command).exit_code == 0
    assert tree_digests(tmp_path / "out") == wanted
    other = run(*command, "--exclude", "lib")
    assert other.exit_code == 2
    assert "is of a run with another" in other.stderr


NOT_PACKED = "usr/lib.so is not packed as it was retuned"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("data", NOT_PACKED),
        ("sums", NOT_PACKED),
        ("tool", "refuses what was packed: no such"),
    ],
)
def test_a_package_that_is_packed_wrong_does_not_count(
    what: str,
    said: str,
    run: Run,
    three: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another file in it, another sum in its list, or what dpkg-deb refuses."""
    right = debian.packed
    if what == "data":
        monkeypatch.setattr(batch.debian, "packed", lambda *one: _other(right(*one)))
    elif what == "sums":
        monkeypatch.setattr("rewriter.packages.control.with_sums", lambda text, sums: text)
    else:
        tool = tmp_path / "bin" / "dpkg-deb"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho no such member >&2\nexit 2\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    done = run("batch", three[0], "-o", tmp_path / "out", *CPU, "-j1")
    assert done.exit_code == 1
    assert f"failed: {three[0]}: " in done.stdout and said in done.stdout
    assert list((tmp_path / "out").iterdir()) == []


def _other(data: bytes) -> bytes:
    """A package with one byte of its library changed."""
    at = data.rindex(b"\x7fELF") + 0x500
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
