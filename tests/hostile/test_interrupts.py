"""An interrupt at any moment: one line, the status of its signal, soon, and nothing left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands_started import Started

from fixtures import inputs
from rewriter.core.run import interrupts
from tests.support.depth import depth

SAID = "retune: interrupted; nothing is half written\n"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SOON = 20.0
"""Seconds, on a machine with much else to do; on a quiet one it is a tenth of one."""


def caught(process: subprocess.Popen[str]) -> bool:
    """Whether the process handles SIGTERM by now; before, Python itself is starting."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    except OSError:
        return False
    mask = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(mask >> (signal.SIGTERM - 1) & 1)


def session(leader: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found.append(int(place.parent.name))
    return found


def begun(started: Started, *arguments: object) -> subprocess.Popen[str]:
    """A process that has come as far as its own code."""
    process = started(*arguments)
    while process.poll() is None and not caught(process):
        time.sleep(0.001)
    return process


def check(process: subprocess.Popen[str], number: int, folder: Path, allowed: set[str]) -> bool:
    """Sends the signal and looks at how the process ends; whether the signal ended it."""
    sent = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate()
    assert time.monotonic() - sent < SOON
    if process.returncode == 0:  # it was done already
        assert errors == ""
    else:  # what it had to say may be said already
        assert (process.returncode, errors) == (128 + number, SAID)
    assert session(process.pid) == []
    assert os.listdir(folder / "tmp") == []
    assert set(os.listdir(folder)) - {"tmp", "in.so"} <= allowed
    return process.returncode != 0


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_at_many_moments(number: int, started: Started, sample: Path, tmp_path: Path) -> None:
    """From the first line of our own on: imports, tables, two processes, trials, writing."""
    draw = random.Random(number)
    commands = [
        ("patch", sample, "-o", tmp_path / "out", "--cpu", "ev67", "-j", "2"),
        ("patch", sample, "-o", tmp_path / "out", "--cpu", "ev67", "-j", "1"),
        ("identify", sample, "--known", "--like"),
    ]
    whole = _whole(started, commands[0])
    ended = 0
    turns = depth(3, 12)
    for turn in range(turns):
        process = begun(started, *commands[turn % 3])
        time.sleep(whole * (turn + draw.random()) / (turns + 1))
        allowed = {"out"} if turn or (tmp_path / "out").exists() else set()
        ended += check(process, number, tmp_path, allowed)
    assert ended


_took: list[float] = []


def _whole(started: Started, command: Sequence[object]) -> float:
    """How long the whole command takes, found out once."""
    if not _took:
        process, first = begun(started, *command), time.monotonic()
        process.communicate()
        _took.append(time.monotonic() - first)
    return _took[0]


def test_processes_that_share_the_work_end_too(
    started: Started, sample: Path, tmp_path: Path
) -> None:
    """Also when the first one is killed and can say nothing."""
    library = inputs.require("alpha-libm")
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = begun(started, "patch", library, "--dry-run", "--cpu", "ev67", "-j", "2")
        until = time.monotonic() + 100
        while len(session(process.pid)) < 3 and time.monotonic() < until:
            time.sleep(0.02)
        assert len(session(process.pid)) >= 3
        process.send_signal(number)
        _, errors = process.communicate()
        assert errors == (SAID if number == signal.SIGTERM else "")
        until = time.monotonic() + SOON
        while session(process.pid) and time.monotonic() < until:
            time.sleep(0.02)
        assert session(process.pid) == []


def test_what_nohup_ignores_stays_ignored(started: Started, sample: Path, tmp_path: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    arguments = ("patch", sample, "-o", tmp_path / "out", "--cpu", "ev67", "--passes", "bytes")
    process = started(*arguments, preexec_fn=ignore)
    while process.poll() is None and not caught(process):
        time.sleep(0.001)
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert (tmp_path / "out").exists()


def forked(work: str) -> tuple[int, bytes]:
    """What a Python program that catches interrupts ends with, and what it says."""
    import sys

    code = (
        f"import os, signal\nfrom rewriter.core.run import interrupts\ninterrupts.catch()\n{work}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "work",
    [
        "class A:\n    def __del__(self): os.kill(os.getpid(), 2)\nA()\nprint('no', flush=True)",
        "import sys\nclass F:\n    def find_spec(self, *a): os.kill(os.getpid(), 2)\n"
        "sys.meta_path.insert(0, F())\ntry:\n    import no_such\nexcept BaseException: pass",
        "try:\n    os.kill(os.getpid(), 2)\nexcept BaseException:\n    os.kill(os.getpid(), 2)",
    ],
    ids=["in a destructor", "in an import", "a second time"],
)
def test_where_nothing_may_be_raised_the_process_ends_at_once(work: str) -> None:
    assert forked(work) == (130, SAID.encode())


def test_an_interrupt_elsewhere_goes_through_what_puts_away() -> None:
    code, errors = forked(
        "try:\n    os.kill(os.getpid(), 15)\nexcept interrupts.Interrupted as e:\n"
        "    os.write(2, b'put away'); os._exit(e.status)"
    )
    assert (code, errors) == (143, b"put away")


def test_what_was_only_half_made_goes_quietly() -> None:
    """As a context of Z3 does, whose destructor asks for what was not set yet."""
    work = (
        "class A:\n    def __init__(self): {}; self.owner = 1\n"
        "    def __del__(self): self.owner\n"
        "try:\n    A()\nexcept BaseException: pass\nprint('on', flush=True)"
    )
    assert forked(work.format("os.kill(os.getpid(), 15)")) == (0, b"")
    code, errors = forked(work.format("raise ValueError"))
    assert code == 0 and b"AttributeError" in errors


def test_what_would_be_left_is_removed(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    (folder / "inner").mkdir()
    (folder / "inner" / "one").write_bytes(b"")
    file.write_bytes(b"")
    places = f"{str(folder)!r}, {str(file)!r}"
    code, _ = forked(
        f"import contextlib\nstack = contextlib.ExitStack()\nfor place in ({places}):\n"
        "    stack.enter_context(interrupts.leaving(place))\ninterrupts.end_at_once(1)"
    )
    assert code == 129
    assert not folder.exists() and not file.exists()


def test_a_folder_goes_when_it_is_left() -> None:
    with interrupts.folder("retune-test-") as folder:
        (folder / "one").write_bytes(b"")
    assert not folder.exists()


def run(code: str) -> subprocess.CompletedProcess[str]:
    """What a process of its own says that runs some lines."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_process_that_is_done_says_all_and_takes_nothing_apart() -> None:
    code = (
        "import atexit\n"
        "from rewriter.core.run import interrupts\n"
        "class Held:\n"
        "    def __del__(self): print('taken apart')\n"
        "held = Held()\n"
        "atexit.register(print, 'registered')\n"
        "print('x' * 100_000)\n"
        "interrupts.end(3)\n"
        "print('came back')\n"
    )
    done = run(code)
    assert done.returncode == 3
    assert done.stdout == f"{'x' * 100_000}\nregistered\n"


def test_a_process_that_cannot_say_all_comes_back() -> None:
    code = (
        "import sys\n"
        "from rewriter.core.run import interrupts\n"
        "sys.stdout = open('/dev/full', 'w', encoding='ascii')\n"
        "print('x')\n"
        "interrupts.end(0)\n"
        "print('came back', file=sys.stderr)\n"
    )
    done = run(code)
    assert "came back" in done.stderr
