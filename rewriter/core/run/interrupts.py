"""How a process ends, and one that somebody interrupts: soon, with one line and nothing left.

An interrupt is raised where the process is, so that each `with` and `finally` on the way puts away
what it made.  Where nothing may be raised (in an import, whose C++ code would abort; in a
destructor, which would print and go on), and at a second interrupt, the process ends at once: what
was entered with `leaving` is removed, and child processes are killed.

The standard library only is imported here: the first interrupt may come soon.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAID = "retune: interrupted; nothing is half written\n"

_FINALIZERS = frozenset({"__del__", "_exitfunc", "_shutdown"})
_IMPORTING = "<frozen importlib"


class Interrupted(BaseException):
    """A signal that ends the process; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def status(self) -> int:
        """The exit status by which a shell tells the signal."""
        return 128 + self.number


class _State:
    """What the handler knows: whether an interrupt is on its way, and what would be left."""

    raised: ClassVar[bool] = False
    left: ClassVar[dict[str, None]] = {}  # in order


def catch() -> None:
    """From here on interrupts raise Interrupted; those that are ignored already stay so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _received)
    sys.unraisablehook = _unraisable


def ignore() -> None:
    """From here on nothing interrupts: the process is about to end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def leaving(path: str | os.PathLike[str]) -> Iterator[None]:
    """Meanwhile a file or folder is there that must go if the process ends at once."""
    name = os.fspath(path)
    _State.left[name] = None
    try:
        yield
    finally:
        _State.left.pop(name, None)


@contextlib.contextmanager
def folder(prefix: str) -> Iterator[Path]:
    """A temporary folder, which goes however the process ends that way or by an interrupt."""
    import tempfile

    made = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
    with made as name, leaving(name):
        yield Path(name)


def end_at_once(number: int) -> NoReturn:
    """Ends the process as an interrupt does, without going back to where it is."""
    ignore()
    for child in _children():
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
    for name in reversed(_State.left):
        _remove(name)
    with contextlib.suppress(OSError):
        shown = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""  # a bar of progress, and no cursor
        os.write(2, (shown + SAID).encode())
    os._exit(128 + number)


def end(status: int) -> None:
    """Ends the process when all is done; comes back where not all that was said can be written.

    Python would first take apart all that it made, object by object, which takes a twentieth of
    the processor time of `patch` and changes nothing.
    """
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # it was closed from the start
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


def _received(number: int, frame: FrameType | None) -> None:
    if _State.raised or not _may_raise(frame):
        end_at_once(number)
    _State.raised = True
    raise Interrupted(number)


def _may_raise(frame: FrameType | None) -> bool:
    """Whether what the process is doing lets an exception through."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in _FINALIZERS or code.co_filename.startswith(_IMPORTING):
            return False
        frame = frame.f_back
    return True


def _unraisable(unraisable: Any) -> None:
    """An interrupt that a callback of a library swallowed ends the process all the same.

    While one is on its way, destructors of what was only half made have nothing to say.
    """
    if isinstance(unraisable.exc_value, Interrupted):
        end_at_once(unraisable.exc_value.number)
    if _State.raised:
        return
    sys.__unraisablehook__(unraisable)


def _remove(name: str) -> None:
    """Removes a file or a folder with all in it; what is gone already is no error."""
    with contextlib.suppress(OSError):
        if not os.path.isdir(name) or os.path.islink(name):
            os.unlink(name)
            return
        with os.scandir(name) as entries:
            for entry in list(entries):
                _remove(entry.path)
        os.rmdir(name)


def _children() -> list[int]:
    """The processes that this one started."""
    found: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            found += map(int, task.read_text(encoding="ascii").split())
    return found
