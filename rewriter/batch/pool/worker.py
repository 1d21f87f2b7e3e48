"""A process that does one task after the other, until nobody asks any more.

It talks over one socket and watches a pipe that only the first process holds open: when that one is
gone, however it ended, this one goes too.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection

from rewriter.batch.outcome import Outcome
from rewriter.batch.task import Job, carry_out
from rewriter.core.run.garbage import give_back
from rewriter.verify.terms.remembered import Memory, Patterns, remembering

READY = "ready"


@dataclass(frozen=True)
class Asked:
    """A job, and what other processes decided since the last one."""

    job: Job
    news: Patterns


@dataclass(frozen=True)
class Answer:
    """What became of a job, and what was decided on the way."""

    outcome: Outcome
    news: Patterns


def main(socket: int, life: int) -> None:
    """Works until the socket is closed; the arguments are numbers of open files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    threading.Thread(target=_outlived, args=(life,), daemon=True).start()
    pipe, memory = Connection(socket), Memory()
    pipe.send(READY)
    while True:
        try:
            asked: Asked = pipe.recv()
        except EOFError:
            return
        memory.learn(asked.news)
        with remembering(memory):
            outcome = carry_out(asked.job)
        pipe.send(Answer(outcome, memory.news()))
        del asked, outcome
        give_back()


def _outlived(life: int) -> None:
    """Waits for the end of the first process, which never writes."""
    os.read(life, 1)
    os._exit(1)
