"""Runs that are killed, and what they leave."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KILLED = 9
"""The exit status of a process that ends at `killing`."""


def tree_digests(top: Path) -> dict[str, str]:
    """Each file below a folder by its SHA-256, links by what they say; hidden files too."""
    found: dict[str, str] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def kill_after(command: Sequence[str | Path], seconds: float) -> bool:
    """Starts a command and kills it after some time; False where it had ended by itself."""
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def entries(journal: Path) -> Counter[str]:
    """How many lines of a journal say of a file that it was tuned; a torn line says nothing."""
    if not journal.is_file():
        return Counter()
    lines = journal.read_bytes().split(b"\n")[1:-1]
    documents = [json.loads(line) for line in lines]
    return Counter(one["names"][0] for one in documents if one["status"] == "tuned")


def survivors(marker: str, seconds: float = 5) -> list[int]:
    """Processes whose command line holds `marker` after some time: workers that outlive a run."""
    end = time.monotonic() + seconds
    while True:
        found = [pid for pid in _processes() if marker in _command(pid)]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@contextmanager
def killing(at: int) -> Iterator[None]:
    """The process ends, without a word, just before one of its calls that change the disk."""
    left = [at]
    names = ("replace", "fsync", "link", "unlink", "open", "fchmod", "write")
    before = {name: getattr(os, name) for name in names}

    def counted(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **others: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os._exit(KILLED)
            return before[name](*arguments, **others)

        return call

    for name in names:
        setattr(os, name, counted(name))
    try:
        yield
    finally:
        for name, call in before.items():
            setattr(os, name, call)


def in_child(work: Callable[[], object]) -> int:
    """Does something in a copy of this process; its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
