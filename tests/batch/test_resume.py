"""A run that is killed at any moment goes on: nothing lost, done twice or half written."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.batch.engine import run
from rewriter.batch.files.journal import opened
from rewriter.batch.policy import Policy
from rewriter.core.errors import BadInput, BadUsage
from tests.support.batch.killed import KILLED, entries, in_child, kill_after, killing, tree_digests

Run = Callable[..., Result]


@pytest.fixture
def two(tree: Path) -> Path:
    """The tree with one more library, so that there is something after the first."""
    data = bytearray(inputs.require("alpha-sample").read_bytes())
    path = tree / "usr" / "lib" / "zother.so"
    path.write_bytes(bytes(data) + b"\0")
    return tree


@pytest.mark.parametrize("copied", [False, True], ids=["in place", "copied"])
def test_killed_at_every_point(
    two: Path, tmp_path: Path, quick: Policy, kept: Path, copied: bool
) -> None:
    """The results are kept, so that a run does nothing but write; it is killed at each write."""
    ready = tmp_path / "ready"
    shutil.copytree(two, ready, symlinks=True)
    _linked(ready)
    run([ready], quick, jobs=1, cache=kept)
    wanted = tree_digests(ready)
    for at in range(1000):
        tree, journal = tmp_path / f"tree{at}", tmp_path / f"journal{at}"
        shutil.copytree(two, tree, symlinks=True)
        _linked(tree)
        output = tmp_path / f"out{at}" if copied else None

        def work(tree: Path = tree, output: Path | None = output, j: Path = journal) -> None:
            run([tree], quick, jobs=1, cache=kept, journal=j, output=output)

        def killed(at: int = at, work: Callable[[], None] = work) -> None:
            with killing(at):
                work()

        status = in_child(killed)
        assert status in (0, KILLED)
        work()
        result = output or tree
        assert tree_digests(result) == wanted, at
        assert (result / "usr/again.so").samefile(result / "usr/lib/libsample.so"), at
        assert set(entries(journal).values()) <= {1, 2} and len(entries(journal)) == 2
        if status == 0:
            assert at > 10  # there were points at all
            return
        for path in (tree, output):
            if path is not None:
                shutil.rmtree(path)
    pytest.fail("it never came to its end")


def _linked(tree: Path) -> None:
    """A copy of the tree has two files where the tree has one by two names."""
    (tree / "usr/lib/libsample.so").unlink()
    os.link(tree / "usr/again.so", tree / "usr/lib/libsample.so")


def test_killed_at_random_moments(two: Path, tmp_path: Path) -> None:
    """The command itself, with its processes, killed a few times and then let go on."""
    journal = tmp_path / "journal"
    retune = Path(sys.executable).with_name("retune")
    options = ("--cpu", "ev67", "--passes", "bytes")
    command: list[str | Path] = [retune, "batch", two, "--in-place", *options]
    alone = tmp_path / "alone.so"
    original = (two / "usr/again.so").read_bytes()
    subprocess.run(
        [retune, "patch", two / "usr/again.so", "-o", alone, *options],
        check=True,
        capture_output=True,
    )
    moments = random.Random(4).choices(range(300, 2500), k=2)
    for moment in moments:
        kill_after([*command, "-j", "2", "--journal", journal], moment / 1000)
        assert (two / "usr/again.so").read_bytes() in (original, alone.read_bytes())
    done = subprocess.run([*command, "-j", "1", "--journal", journal], check=False)
    assert done.returncode == 0
    assert (two / "usr/again.so").read_bytes() == alone.read_bytes()
    assert not [name for name in tree_digests(two) if ".retune-" in name]
    assert set(entries(journal).values()) == {1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    """In the middle of a long file: within two seconds, with its process, and nothing changed."""
    library = tmp_path / "tree" / "libc.so"
    library.parent.mkdir()
    library.write_bytes(inputs.require("alpha-libc").read_bytes())
    before, journal = tree_digests(tmp_path), tmp_path.with_suffix(".journal")
    retune = Path(sys.executable).with_name("retune")
    command = (retune, "batch", library.parent, "--in-place", "--cpu", "ev67", "-j", "1")
    process = subprocess.Popen([*map(str, command), "--journal", str(journal)])
    children = _children(process.pid)
    process.send_signal(number)
    begun = time.monotonic()
    assert process.wait(timeout=30) == 128 + number
    assert time.monotonic() - begun < 10  # two seconds where nothing else runs
    for child in children:
        assert not Path(f"/proc/{child}").exists() or _state(child) == "Z"
    assert tree_digests(tmp_path) == before
    assert len(journal.read_bytes().splitlines()) == 1


def _children(pid: int) -> list[int]:
    """The processes of a run, as soon as one is really at work (it has the file's bytes)."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        except OSError:
            text = ""
        children = [int(word) for word in text.split()]
        if children and all(_grown(child) for child in children):
            return children
        time.sleep(0.05)
    pytest.fail("no process was started")


def _grown(pid: int) -> bool:
    """Whether a process has taken more memory than one that waits."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) > 30_000
    except OSError:
        return False


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def test_a_journal_of_another_run(two: Path, tmp_path: Path, quick: Policy, kept: Path) -> None:
    journal = tmp_path / "journal"
    run([two], quick, jobs=1, cache=kept, journal=journal)
    with pytest.raises(BadUsage, match="another policy"):
        run([two], Policy(quick.machines, refused="fail"), jobs=1, cache=kept, journal=journal)


def test_a_journal_in_use(tmp_path: Path) -> None:
    first = opened(tmp_path / "journal", {})
    with pytest.raises(BadUsage, match="another run"):
        opened(tmp_path / "journal", {})
    first.close()
    opened(tmp_path / "journal", {}).close()


@pytest.mark.parametrize(
    "text", ["", '{"for', "a text\n", '{"format":1,"run":"0"}\n', '{"format":9}\n[]\n']
)
def test_what_is_no_journal(tmp_path: Path, text: str) -> None:
    """A torn beginning is begun again; any other file stays as it is."""
    path = tmp_path / "journal"
    path.write_text(text, encoding="utf-8")
    if text in ("", '{"for'):
        opened(path, {}).close()
        assert json.loads(path.read_bytes())["format"] == 1
        return
    with pytest.raises(BadInput):
        opened(path, {})
    assert path.read_text(encoding="utf-8") == text


def test_a_file_that_was_built_again(two: Path, tmp_path: Path, quick: Policy, kept: Path) -> None:
    """What the journal says holds for the bytes that it names: a new file is tuned again."""
    journal, path = tmp_path / "journal", two / "usr/lib/zother.so"
    original = path.read_bytes()
    run([two], quick, jobs=1, cache=kept, journal=journal)
    tuned = path.read_bytes()
    path.write_bytes(original)
    summary = run([two], quick, jobs=1, cache=kept, journal=journal)
    assert path.read_bytes() == tuned
    assert [line.how for line in summary.each] == ["journal", "cache"]
