"""What is written is whole or not there: full disks, folders without rights, races, changes."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from commands_started import Started

from rewriter.cli import main
from rewriter.elf import emit

FEW = ("--cpu", "ev67", "--passes", "bytes", "-j1")


def run(*arguments: object) -> Result:
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, texts, prog_name="retune")


@pytest.mark.parametrize("beside", [False, True])
def test_a_full_disk(beside: bool, started: Started, sample: Path, tmp_path: Path) -> None:
    """Files may have 20 kB: the output is longer, its manifest is not."""

    def limited() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    out, record = tmp_path / "out", tmp_path / "record"
    more = ("--manifest", record) if beside else ()
    process = started("patch", sample, "-o", out, *FEW, *more, preexec_fn=limited)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (71, f"retune: cannot write {out}: File too large\n")
    assert sorted(os.listdir(tmp_path)) == ["in.so", "tmp"]


@pytest.mark.parametrize("at", ["out", "record"])
def test_what_was_there_stays_when_one_cannot_be_named(
    at: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = os.replace

    def replace(source: str, target: Path) -> None:
        if target.name == at:
            raise OSError(30, "Read-only file system")
        usual(source, target)

    monkeypatch.setattr(emit.os, "replace", replace)
    out, record = tmp_path / "out", tmp_path / "record"
    result = run("patch", sample, "-o", out, *FEW, "--manifest", record)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"{at}: Read-only file system\n")
    assert os.listdir(tmp_path) == ["in.so"]


def test_two_runs_at_once_do_not_mix(started: Started, sample: Path, tmp_path: Path) -> None:
    """OUT and its manifest are of one run, whichever was last."""
    out, record, back = (tmp_path / name for name in ("out", "record", "back"))
    for _ in range(2):
        runs = [
            started("patch", sample, "-o", out, *FEW[:2], "--passes", one, "--manifest", record)
            for one in ("bytes", "bitscan")
        ]
        for process in runs:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
        result = run("revert", out, "-o", back, "--manifest", record)
        assert result.exit_code == 0, result.stderr
        assert back.read_bytes() == sample.read_bytes()


def test_pairs_are_named_one_after_another(tmp_path: Path) -> None:
    """Two hundred times by two threads: the two files always agree."""
    like, one, two = (tmp_path / name for name in ("like", "one", "two"))
    like.write_bytes(b"")
    wrong: list[BaseException] = []

    def write(text: bytes) -> None:
        try:
            for _ in range(100):
                emit.write_together([emit.Output(one, text), emit.Output(two, text)], like)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in (b"first", b"second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert one.read_bytes() == two.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["like", "one", "two"]


def test_the_input_is_read_once(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it becomes while retune works changes nothing."""
    data, out, back = sample.read_bytes(), tmp_path / "out", tmp_path / "back"
    opened: list[object] = []
    usual = os.open

    def open_and_change(path: object, *more: object, **others: object) -> int:
        handle: int = usual(path, *more, **others)  # type: ignore[arg-type]
        if path == sample:
            opened.append(path)
            if len(opened) > 1:
                raise AssertionError("read twice")
        return handle

    monkeypatch.setattr(os, "open", open_and_change)
    assert run("patch", sample, "-o", out, *FEW).exit_code == 0
    sample.write_bytes(b"something else")
    monkeypatch.undo()
    assert len(opened) == 1
    assert run("revert", out, "-o", back).exit_code == 0
    assert back.read_bytes() == data


def test_an_input_that_goes_away(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewriter.api import choose

    usual = choose.resolve

    def gone(*arguments: object) -> object:
        sample.unlink()
        return usual(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(choose, "resolve", gone)
    result = run("patch", sample, "-o", tmp_path / "out", *FEW)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"retune: {sample}: is gone: No such file or directory\n"
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written(sample: Path) -> None:
    """/proc takes no files, whoever asks."""
    result = run("patch", sample, "-o", "/proc/retuned", *FEW)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("retune: cannot write /proc/retuned")


def test_a_file_becomes_a_pipe(tmp_path: Path) -> None:
    """No command waits for a writer."""
    os.mkfifo(tmp_path / "pipe")
    result = run("identify", tmp_path / "pipe")
    assert result.exit_code == 3
    assert result.stderr.endswith("pipe: is not a regular file\n")


def test_subprocess_is_not_needed() -> None:
    """The limit of `test_a_full_disk` is one that the system keeps."""
    done = subprocess.run(
        ["sh", "-c", "ulimit -f 1; head -c 99999 /dev/zero > /dev/null; echo kept"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "kept\n"
