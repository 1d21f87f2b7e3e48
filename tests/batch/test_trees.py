"""`retune batch` on trees: what is replaced, what is kept, and which exit status says so."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import re
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console

from fixtures import inputs
from rewriter.batch.engine import run
from rewriter.batch.outcome import Figures
from rewriter.batch.policy import Policy
from rewriter.batch.pool.watch import Unwatched
from rewriter.batch.summary import Line, Summary
from rewriter.cli.batch import Bar, bars_on
from rewriter.elf import manifest
from tests.support.batch.killed import tree_digests

Run = Callable[..., Result]
QUICK = ("--cpu", "ev67", "--passes", "bytes", "-j", "1")


def names(top: Path) -> list[str]:
    """Everything below a folder, the hidden files too."""
    return sorted(str(path.relative_to(top)) for path in top.rglob("*"))


def statuses(summary: Summary) -> dict[str, str]:
    """Each file's status, by its last name."""
    return {Path(line.path).name: line.status for line in summary.each}


def test_in_place(run_cli: Run, tree: Path) -> None:
    """One file by two names is patched once, stays one file, and carries its manifest."""
    before, there = names(tree), (tree / "usr/again.so").read_bytes()
    result = run_cli("batch", tree, "--in-place", *QUICK)
    assert (result.exit_code, result.stderr.count("\n")) == (0, 1)
    assert result.stdout.splitlines()[-1] == "1 file: 1 tuned; 4 of other kinds"
    one, other = tree / "usr/again.so", tree / "usr/lib/libsample.so"
    assert one.samefile(other) and one.stat().st_nlink == 2
    assert stat.S_IMODE(one.stat().st_mode) == 0o754
    assert manifest.revert(one.read_bytes()) == there
    assert (tree / "usr/lib/libsample.so.1").readlink() == Path("libsample.so")
    assert names(tree) == before


def test_the_same_as_patch(run_cli: Run, tree: Path, tmp_path: Path) -> None:
    """A file of a batch and one of `retune patch` are the same, byte for byte."""
    alone = tmp_path / "alone.so"
    run_cli("patch", tree / "usr/again.so", "-o", alone, *QUICK)
    run_cli("batch", tree, "--in-place", *QUICK)
    assert (tree / "usr/again.so").read_bytes() == alone.read_bytes()


def test_a_copy_of_the_tree(run_cli: Run, tree: Path, tmp_path: Path, kept: Path) -> None:
    """The tree itself is not touched, and the copy has all that it has."""
    original, out = (tree / "usr/again.so").read_bytes(), tmp_path / "out"
    result = run_cli("batch", tree, "-o", out, "--keep-times", "--cache", kept, *QUICK)
    assert result.exit_code == 0
    assert names(out) == names(tree)
    assert (tree / "usr/again.so").read_bytes() == original
    assert (out / "usr/again.so").samefile(out / "usr/lib/libsample.so")
    assert manifest.revert((out / "usr/again.so").read_bytes()) == original
    for name in names(tree):
        one, other = (tree / name).lstat(), (out / name).lstat()
        assert one.st_mode == other.st_mode, name
        if not stat.S_ISLNK(one.st_mode):
            assert one.st_mtime_ns == other.st_mtime_ns, name
    assert (out / "usr/share/README").read_text() == "a text\n"


def test_a_second_run_does_no_work(run_cli: Run, tree: Path, kept: Path) -> None:
    run_cli("batch", tree, "--in-place", "--cache", kept, *QUICK)
    before = _written(tree / "usr/again.so")
    result = run_cli("batch", tree, "--in-place", "--json", "--cache", kept, *QUICK)
    assert json.loads(result.stdout)["files"] == {"tuned before": 1}
    assert (result.exit_code, result.stderr) == (0, "")
    assert _written(tree / "usr/again.so") == before


def _written(path: Path) -> tuple[int, ...]:
    """Which file it is, and when it was written or changed: it may be read."""
    found = path.stat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def test_other_options_need_the_original(run_cli: Run, tree: Path, kept: Path) -> None:
    """A tuned file is not tuned again on top."""
    run_cli("batch", tree, "--in-place", "--cache", kept, *QUICK)
    result = run_cli("batch", tree, "--in-place", "--cpu", "ev6", "-j", "1")
    assert result.exit_code == 5
    assert "it was tuned for ev67 with other options" in result.stdout


def test_a_link_from_elsewhere_is_not_broken(
    tree: Path, tmp_path: Path, quick: Policy, kept: Path
) -> None:
    os.link(tree / "usr/again.so", tmp_path / "elsewhere.so")
    before = (tree / "usr/again.so").read_bytes()
    summary = run([tree], quick, jobs=1, cache=kept)
    assert statuses(summary) == {"again.so": "refused"}
    assert "1 more names" in summary.each[0].reason
    assert (tree / "usr/again.so").read_bytes() == before
    assert (tree / "usr/again.so").samefile(tmp_path / "elsewhere.so")


def test_attributes_stay(tree: Path, quick: Policy, kept: Path) -> None:
    path = tree / "usr/again.so"
    try:
        os.setxattr(path, "user.origin", b"built here")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    run([tree], quick, jobs=1, cache=kept)
    assert os.getxattr(path, "user.origin") == b"built here"
    assert manifest.read(path.read_bytes()) is not None


def test_the_latest_time(
    tree: Path, quick: Policy, monkeypatch: pytest.MonkeyPatch, kept: Path
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    run([tree], quick, jobs=1, cache=kept)
    assert (tree / "usr/again.so").stat().st_mtime == 1_000_000_000


def test_one_damaged_file_stops_no_other(tree: Path, quick: Policy, kept: Path) -> None:
    """A file cut in half is refused; the others are done; with `fail` the run says so."""
    data = inputs.require("alpha-sample").read_bytes()
    (tree / "cut.so").write_bytes(data[: len(data) // 2])
    summary = run([tree], quick, jobs=1, cache=kept)
    assert statuses(summary) == {"again.so": "tuned", "cut.so": "refused"}
    assert summary.return_code == 0
    strict = run([tree], Policy(quick.machines, refused="fail"), jobs=1, cache=kept)
    assert strict.return_code == 1


def test_a_list(run_cli: Run, tree: Path, tmp_path: Path, kept: Path) -> None:
    """A list may name what is not there: the others are done, and the status says it."""
    wanted = tmp_path / "wanted"
    lines = ["# a list", "", str(tree / "usr/lib/libsample.so"), str(tree / "usr/again.so")]
    wanted.write_text("\n".join(lines), encoding="utf-8")
    result = run_cli("batch", f"@{wanted}", "--in-place", "--cache", kept, *QUICK)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "1 file: 1 tuned")
    wanted.write_text("\n".join([*lines, str(tree / "missing.so")]), encoding="utf-8")
    result = run_cli("batch", f"@{wanted}", "--in-place", "--cache", kept, *QUICK)
    assert result.exit_code == 3
    assert f"{tree}/missing.so: cannot be read: No such file or directory" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cpu", "ev67"), "Give either '--in-place' or '-o' / '--output'"),
        (("--in-place",), "no CPU is chosen"),
        (("--in-place", "--cpu", "ev99"), "no such CPU"),
        (("--in-place", "--cpu", "ev67", "--passes", "byte"), "did you mean bytes?"),
        (("--in-place", "--policy", "/nowhere", "--cpu", "ev67"), "cannot be read"),
    ],
)
def test_bad_usage(run_cli: Run, tree: Path, arguments: tuple[str, ...], said: str) -> None:
    before = (tree / "usr/again.so").stat()
    result = run_cli("batch", tree, *arguments)
    assert result.exit_code == (3 if "/nowhere" in arguments else 2)
    assert said in result.stderr
    assert (tree / "usr/again.so").stat() == before


def test_an_output_within_the_tree(run_cli: Run, tree: Path) -> None:
    before = names(tree)
    result = run_cli("batch", tree, "-o", tree / "out", *QUICK)
    assert (result.exit_code, names(tree)) == (2, before)


def test_nothing_to_do(run_cli: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing", encoding="utf-8")
    result = run_cli("batch", tmp_path, "--in-place", *QUICK)
    assert (result.exit_code, result.stdout) == (4, "0 files: none; 1 of other kinds\n")


def test_what_promises_too_little_stays(run_cli: Run, tree: Path) -> None:
    """By the policy's number as by the option's, and the line says both; it is no edit in sums."""
    before = (tree / "usr/again.so").read_bytes()
    policy = tree.parent / "p.toml"
    policy.write_text('[alpha]\ncpu = "ev67"\npasses = "bytes"\n[options]\nmin_gain = 60\n')
    for options in ((*QUICK, "--min-gain", "60"), ("--policy", policy, "-j", "1")):
        result = run_cli("batch", tree, "--in-place", "--json", *options)
        assert result.exit_code == 4
        document = json.loads(result.stdout)
        assert document["files"] == {"gain too small": 1}
        assert (document["total"]["edits"], document["total"]["passes"]) == (0, {})
        (each,) = document["each"]
        assert each["basis"] == "static weights of loops"
        assert each["reason"].startswith("expected: ")
        assert each["reason"].endswith("; at least 60 % is wanted")
        assert (tree / "usr/again.so").read_bytes() == before


def test_a_file_that_changes_meanwhile(tree: Path, quick: Policy) -> None:
    """What was put there after the file was looked at is not replaced by what is out of date."""
    path = tree / "usr/again.so"

    class Changing(Unwatched):
        """Who changes the file as soon as work begins."""

        def begin(self, files: int, size: int) -> None:
            """The file gets another byte."""
            path.write_bytes(path.read_bytes() + b"\0")

    (tree / "other.so").write_bytes(path.read_bytes())
    before = path.read_bytes() + b"\0"
    summary = run([tree], quick, jobs=1, watch=Changing())
    assert statuses(summary) == {"again.so": "failed", "other.so": "tuned"}
    assert summary.each[1].reason == "it changed while it was worked on"
    assert (summary.return_code, path.read_bytes()) == (1, before)


def test_a_full_disk(tree: Path, quick: Policy, kept: Path) -> None:
    """A file that cannot be written fails, and is there as it was; nothing is left aside."""
    before = tree_digests(tree)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        summary = run([tree], quick, jobs=1, cache=kept)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert statuses(summary) == {"again.so": "failed"}
    assert "cannot be replaced: File too large" in summary.each[0].reason
    assert tree_digests(tree) == before


def test_the_owner_stays(tree: Path, quick: Policy, kept: Path) -> None:
    """Set-user-ID too, which the system takes away when the owner changes."""
    path = tree / "usr/again.so"
    try:
        os.chown(path, 1234, 2345)
    except OSError:
        pytest.skip("only root gives files away")
    path.chmod(0o4755)
    run([tree], quick, jobs=1, cache=kept)
    about = path.stat()
    assert (about.st_uid, about.st_gid) == (1234, 2345)
    assert stat.S_IMODE(about.st_mode) == 0o4755
    assert manifest.read(path.read_bytes()) is not None


def test_what_cannot_be_read_is_told(tree: Path, quick: Policy, kept: Path) -> None:
    (tree / "loop").symlink_to("loop")
    summary = run([tree, tree / "loop"], quick, jobs=1, cache=kept)
    assert [(Path(path).name, reason[:18]) for path, reason in summary.faults] == [
        ("loop", "cannot be read: To")
    ]
    assert (summary.counts, summary.return_code) == ({"tuned": 1}, 3)


def test_what_is_no_file_stops_no_copy(
    tree: Path, tmp_path: Path, quick: Policy, kept: Path
) -> None:
    os.mkfifo(tree / "a-pipe")
    summary = run([tree], quick, output=tmp_path / "out", jobs=1, cache=kept)
    assert [(Path(path).name, reason[:10]) for path, reason in summary.faults] == [
        ("a-pipe", "not copied")
    ]
    assert (summary.counts, summary.return_code) == ({"tuned": 1}, 3)
    assert names(tmp_path / "out") == [name for name in names(tree) if name != "a-pipe"]


def test_a_very_deep_tree(tmp_path: Path, quick: Policy) -> None:
    """Deeper than calls may be nested."""
    folders = [tmp_path]
    try:
        for _ in range(1100):
            folders.append(folders[-1] / "d")
            folders[-1].mkdir()
        assert run([tmp_path], quick, jobs=1) == Summary()
    finally:
        for folder in reversed(folders[1:]):
            folder.rmdir()


def test_the_bar_of_a_terminal() -> None:
    """Files and time left; a warning is a line of its own."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    with bars_on(console) as bars:
        bar = Bar(bars)  # what is known is told before the bar begins
        bar.done(Line("known", "tuned", "", Figures(), "journal"), 10)
        bar.begin(3, 3_000_000)
        bar.done(Line("a", "tuned", "", Figures()), 1_000_000)
        bar.warn("[cache]: damaged")
        bars.refresh()
    assert "1 of 3 files" in shown.getvalue()
    assert "-:--:--" in shown.getvalue()
    assert "retune: warning: [cache]: damaged\n" in shown.getvalue()


def test_one_name_by_several_roots(tree: Path, quick: Policy, kept: Path) -> None:
    """A tree, a folder of it by a link, and a file of it: each name counts once."""
    (tree.parent / "link").symlink_to(tree / "usr")
    before = names(tree)
    roots = [tree, tree.parent / "link", tree / "usr/again.so", tree / "usr/lib/libsample.so.1"]
    summary = run(roots, quick, jobs=1, cache=kept)
    assert (summary.counts, summary.return_code) == ({"tuned": 1}, 0)
    assert names(tree) == before
    assert (tree / "usr/again.so").samefile(tree / "usr/lib/libsample.so")
    assert (tree / "usr/again.so").stat().st_nlink == 2


def test_the_page_of_a_run(run_cli: Run, tree: Path, kept: Path, tmp_path: Path) -> None:
    """Every file with what became of it and for what it was tuned."""
    page = tmp_path / "page.html"
    options = ("--cpu", "ev67", "--passes", "bytes", "-j", "1", "--cache", kept)
    done = run_cli("batch", tree, "-o", tmp_path / "out", *options, "--report", page, "--json")
    assert done.exit_code == 0, done.output
    held = re.search(r'id="tables">([^<]+)<', page.read_text(encoding="utf-8"))
    assert held is not None
    columns = json.loads(gzip.decompress(base64.b64decode(held[1])))
    files = json.loads(done.stdout)["each"]
    assert columns["file"] == [one["path"] for one in files]
    assert columns["status"] == [one["status"] for one in files] == ["tuned"]
    assert columns["for"] == ["alpha ev67"] and columns["edits"][0] > 10
    assert columns["passes"] == [f"{columns['edits'][0]} bytes"]
    assert columns["bytes"] == [len(inputs.require("alpha-sample").read_bytes())]


def test_a_page_that_cannot_be_written(run_cli: Run, tree: Path, tmp_path: Path) -> None:
    """It is refused before any work."""
    options = ("--in-place", "--cpu", "ev67", "--report", tmp_path / "no" / "page.html")
    before = tree_digests(tree)
    done = run_cli("batch", tree, *options)
    assert (done.exit_code, tree_digests(tree)) == (2, before)
    assert "no folder" in done.output
