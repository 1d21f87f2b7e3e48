"""What a command costs: wall time, processor time and memory, of it and of all its children."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_EVERY = 0.25  # seconds between two looks at memory, at least
_SPARING = 20  # times as long as a look takes: it holds up the process that is looked at
_SHARE = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Spent:
    """Wall and processor seconds, the peak of memory in bytes, and what was printed.

    Memory is that of all processes together, a page that several share counted once, and looked at
    up to four times a second; at least the largest resident size of one, where that is more than
    what measures has taken: the system counts this as the command's until it begins.
    """

    seconds: float
    processor: float
    peak: int
    text: str


def spend(command: Sequence[str | Path], allowed: Iterable[int] = (0,)) -> Spent:
    """Run a command with empty caches; RuntimeError, with what it printed, when it fails."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile() as said:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        own, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment)
        watch = _Watch(process.pid)
        watch.start()
        # wait4 gives this child's figures; RUSAGE_CHILDREN would give those of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        watch.stop()
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode not in allowed:
        what = " ".join(map(str, command[:2]))
        raise RuntimeError(f"{what} ended with {process.returncode}: {text.strip()[-2000:]}")
    largest = usage.ru_maxrss * 1024 if usage.ru_maxrss > own else 0
    peak = max(watch.peak, largest)
    return Spent(seconds, usage.ru_utime + usage.ru_stime, peak, text)


class _Watch(threading.Thread):
    """Looks at the memory of a process and all below it, until it is told to stop."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root, self.peak = root, 0
        self._over = threading.Event()

    def run(self) -> None:
        took = 0.0
        while not self._over.wait(max(_EVERY, _SPARING * took)):
            start = time.perf_counter()
            self.peak = max(self.peak, sum(map(_memory, _family(self.root))))
            took = time.perf_counter() - start

    def stop(self) -> None:
        self._over.set()
        self.join()


def _family(process: int) -> Iterator[int]:
    yield process
    for child in _read(f"/proc/{process}/task/{process}/children").split():
        yield from _family(int(child))


def _memory(process: int) -> int:
    found = _SHARE.search(_read(f"/proc/{process}/smaps_rollup"))
    return int(found.group(1)) * 1024 if found else 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""  # it has ended
