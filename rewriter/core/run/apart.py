"""Work in a copy of this process: what it loads and leaves in memory goes with the copy."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from typing import TypeVar

from rewriter.core.errors import OutOfResources
from rewriter.core.run import interrupts

_Found = TypeVar("_Found")


def apart(work: Callable[[], _Found]) -> _Found:
    """What some work gives, which must be something that can be pickled; so must what it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)  # else it would wait for itself to read, if this process is killed
        _answer(work, writing)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:
            answer = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    if not answer:
        raise OutOfResources(
            "a process that read for this one was ended", hint="too little memory?"
        )
    done, found = pickle.loads(answer)
    if not done:
        raise found
    given: _Found = found
    return given


def _answer(work: Callable[[], _Found], writing: int) -> None:
    """What the copy does; it never comes back."""
    try:
        interrupts.ignore()
        try:
            answer: tuple[bool, object] = (True, work())
        except Exception as error:
            answer = (False, error)
        with open(writing, "wb") as pipe:
            pipe.write(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    finally:
        os._exit(0)
