"""One run of a program, bounded in time and in what it prints, in a folder of its own."""

from __future__ import annotations

import contextlib
import enum
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from rewriter.core.errors import BadUsage

MOST = 16 << 20  # bytes of output: a program may print without end
SHOWN = 1 << 16  # bytes of a written file that are kept, to show where it differs
_STEP = 0.05  # seconds between two looks at a running program
_AWAY = ("/bin/sh", "-c", 'chmod -R u+rwx "$1"; rm -rf "$1"', "sh")
# A core dump would be one of the files that the program has written.
_NO_CORE = ("/bin/sh", "-c", 'ulimit -c 0; exec "$@"', "sh")


class Ending(enum.Enum):
    """How a run ended."""

    ENDED = "ends"
    LIMIT = "is still running"
    FLOOD = "prints without end"


@dataclass(frozen=True)
class Input:
    """What a program is given: further arguments, and its standard input."""

    name: str
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""


@dataclass(frozen=True)
class Written:
    """A file that is there after a run: what it is with its permission bits, and its content.

    `content` begins what is in it, or leads where a link does; `digest` is of the whole.
    """

    kind: str
    digest: str
    content: bytes


@dataclass(frozen=True)
class Run:
    """What a run left behind; `status` is minus the signal's number when one killed it."""

    stdout: bytes
    stderr: bytes
    status: int
    ending: Ending
    files: Mapping[str, Written]
    seconds: float
    executed: int | None = None

    @property
    def account(self) -> str:
        """How it ended."""
        if self.ending is not Ending.ENDED:
            how: str = self.ending.value
            return f"{how} after {self.seconds:.1f} s" if self.ending is Ending.LIMIT else how
        if self.status < 0:
            return f"is killed by {_signal(-self.status)}"
        return f"ends with status {self.status}"


@dataclass(frozen=True)
class Launch:
    """A command as the host runs it, and what it finds.

    `environment` is all of it; `template` is a folder whose content the scratch folder has at the
    start; `counts` is where the emulator's plugin writes its count, if it has one. When `stop` is
    set, the run ends at once.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    template: Path | None = None
    counts: Path | None = None
    stop: Event = field(default_factory=Event)


def run(launch: Launch, given: Input, limit: float, folder: Path) -> Run:
    """Runs a command in `folder`/work, made for it and taken away, for at most `limit` seconds."""
    work = folder / "work"
    if work.exists():
        _remove(work)
    if launch.template is None:
        work.mkdir()
    else:
        shutil.copytree(launch.template, work, symlinks=True)
    if launch.counts is not None:
        launch.counts.unlink(missing_ok=True)
    command = (*_NO_CORE, *launch.command, *given.arguments)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        streams = [Path(name) / part for part in ("stdin", "stdout", "stderr")]
        streams[0].write_bytes(given.stdin)
        started = time.monotonic()
        status, ending = _bounded(command, launch, work, streams, limit)
        seconds = time.monotonic() - started
        stdout, stderr = (_head(path, MOST) for path in streams[1:])
    files = dict(_written(work))
    _remove(work)
    return Run(stdout, stderr, status, ending, files, seconds, _count(launch.counts))


def _bounded(
    command: tuple[str, ...],
    launch: Launch,
    work: Path,
    streams: list[Path],
    limit: float,
) -> tuple[int, Ending]:
    ending = None
    with streams[0].open("rb") as stdin, streams[1].open("wb") as out, streams[2].open("wb") as err:
        try:
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=out,
                stderr=err,
                cwd=work,
                env=dict(launch.environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # an argument holds a null byte, or is too long
            raise BadUsage(f"cannot run {command[len(_NO_CORE)]}: {error}") from error
        until = time.monotonic() + limit
        try:
            while ending is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(min(_STEP, max(0.001, until - time.monotonic())))
                    break
                if any(path.stat().st_size > MOST for path in streams[1:]):
                    ending = Ending.FLOOD
                elif time.monotonic() > until or launch.stop.is_set():
                    ending = Ending.LIMIT
        finally:
            # Whatever it started and left running goes with it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, ending or Ending.ENDED


def _written(work: Path) -> Iterator[tuple[str, Written]]:
    """Every file below a folder by its relative name; links are not followed."""
    left = [work]
    while left:
        folder = left.pop()
        try:
            found = [(path, _one(path)) for path in sorted(folder.iterdir())]
            left += [path for path, _ in found if path.is_dir() and not path.is_symlink()]
        except OSError as error:  # no permission, or deeper than a path can be long
            found = [(folder / "...", Written(f"not read: {error.strerror}", "", b""))]
        yield from ((str(path.relative_to(work)), one) for path, one in found)


def _one(path: Path) -> Written:
    found = path.lstat()
    bits = f"{stat.S_IMODE(found.st_mode):04o}"
    if stat.S_ISLNK(found.st_mode):
        return Written("link", "", os.fsencode(os.readlink(path)))
    if stat.S_ISDIR(found.st_mode):
        return Written(f"folder {bits}", "", b"")
    if not stat.S_ISREG(found.st_mode):
        return Written(f"special file {stat.S_IFMT(found.st_mode):o} {bits}", "", b"")
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # not readable, by its own permission bits
        return Written(f"file {bits}, {found.st_size} bytes", "", b"")
    return Written(f"file {bits}", digest, _head(path, SHOWN))


def _head(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _remove(work: Path) -> None:
    """Takes a folder away, whatever permission bits and depth the program has given it."""
    try:
        shutil.rmtree(work)
    except (OSError, RecursionError):
        subprocess.run((*_AWAY, str(work)), stderr=subprocess.DEVNULL, check=False)


def _count(path: Path | None) -> int | None:
    if path is None or not path.is_file():
        return None
    return sum(map(int, path.read_text(encoding="ascii").split()))


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
