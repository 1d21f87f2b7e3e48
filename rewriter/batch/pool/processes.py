"""Tasks carried out by processes of this machine, within a limit of memory.

A process that ends before its task is done is replaced and the task done once more, alone. When all
together take more memory than they may, the process that is furthest above its estimate is ended
and its task done once more, alone.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import cast

from rewriter.batch.outcome import LOST, Outcome
from rewriter.batch.pool import memory
from rewriter.batch.pool.worker import READY, Answer, Asked
from rewriter.batch.task import Job, Load, Task
from rewriter.core.run.workers import WorkerLost
from rewriter.verify.terms.remembered import Decided, Kind, Memory, Patterns

_LOOK = 0.5
"""Seconds between two looks at the memory of all processes."""

_IDLE = 1024 * memory.MB
"""Memory that a process may keep between two tasks; one that keeps more is replaced."""

_STARTS = 5
"""Processes in a row that may end before they are ready."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from rewriter.batch.pool.worker import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


@dataclass
class _Try:
    """A task with what happened to it: `fault` is why it was not done the first time.

    `begun` is when a process was given it, in seconds of a clock that only goes ahead.
    """

    wanted: Task
    fault: str = ""
    begun: float = 0.0


class Worker:
    """One process: `task` is what it does, None while it waits or is not yet ready."""

    def __init__(self) -> None:
        here, there = socket.socketpair()
        watched, life = os.pipe()
        path = json.dumps([entry for entry in sys.path if entry])
        numbers = str(there.fileno()), str(watched)
        try:
            self.process = subprocess.Popen(
                (sys.executable, "-P", "-c", _START, path, *numbers),
                pass_fds=(there.fileno(), watched),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # what a terminal sends goes to the first process alone
            )
        finally:
            there.close()
            os.close(watched)
        self.pipe, self.life = Connection(here.detach()), life
        self.ready = False
        self.task: _Try | None = None
        self.told = 0

    def end(self) -> int:
        """Ends the process, whatever it does; its status, negative for a signal."""
        self.pipe.close()
        if self.life >= 0:
            os.close(self.life)
            self.life = -1
        self.process.kill()
        return self.process.wait()

    def ended(self) -> str:
        """How the process ended by itself, in words."""
        try:
            status = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "it closed its socket"
        return f"signal {-status}" if status < 0 else f"exit status {status}"


@dataclass
class Pool:
    """`jobs` processes that together take `limit` bytes of memory; `patterns` are known to all.

    `patience` is how many seconds a file may take; None for any number.
    """

    jobs: int
    limit: int
    patterns: Memory = field(default_factory=Memory)
    estimate: Callable[[int], int] = memory.estimate
    patience: float | None = None
    _stillborn: int = 0
    _news: list[Patterns] = field(default_factory=list)
    _workers: list[Worker] = field(default_factory=list)
    _waiting: deque[_Try] = field(default_factory=deque)

    def run(self, tasks: Sequence[Task], load: Load) -> Iterator[tuple[Task, Outcome]]:
        """What becomes of each task, as they are done; they are begun in their order."""
        self._waiting.extend(_Try(task) for task in tasks)
        self._news = [self.patterns.decided] if self.patterns.decided else []
        try:
            while self._waiting or self._busy():
                yield from self._started(load)
                if self._workers:
                    pipes = {worker.pipe: worker for worker in self._workers}
                    for pipe in wait(list(pipes), _LOOK):
                        yield from self._heard(pipes[cast(Connection, pipe)])
                    yield from self._bounded()
                    yield from self._late()
        finally:
            self.close()

    def close(self) -> None:
        """Ends all processes at once."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.task is not None]

    def _started(self, load: Load) -> Iterator[tuple[Task, Outcome]]:
        """Gives tasks to processes that wait, as far as memory goes."""
        while len(self._workers) < min(self.jobs, len(self._waiting) + len(self._busy())):
            self._workers.append(Worker())
        for worker in [w for w in self._workers if w.ready and w.task is None]:
            task = self._admitted()
            while task is not None:
                loaded = load(task.wanted)
                if isinstance(loaded, Job):
                    self._give(worker, task, loaded)
                    break
                yield task.wanted, loaded
                task = self._admitted()

    def _admitted(self) -> _Try | None:
        """The first task for which there is room, None where there is none."""
        busy = [worker.task for worker in self._busy() if worker.task is not None]
        if any(task.fault for task in busy):  # one that is done once more is done alone
            return None
        free = self.limit - sum(self.estimate(task.wanted.size) for task in busy)
        for task in self._waiting:
            if not busy or (not task.fault and self.estimate(task.wanted.size) <= free):
                self._waiting.remove(task)
                return task
        return None

    def _give(self, worker: Worker, task: _Try, job: Job) -> None:
        news: dict[Kind, dict[bytes, Decided]] = {}
        for patterns in self._news[worker.told :]:
            for kind, decided in patterns.items():
                news.setdefault(kind, {}).update(decided)
        worker.task, worker.told, task.begun = task, len(self._news), time.monotonic()
        with suppress(OSError):  # one that has ended is found when it is listened to
            worker.pipe.send(Asked(job, news))

    def _heard(self, worker: Worker) -> Iterator[tuple[Task, Outcome]]:
        """What a process says."""
        try:
            said = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._lost(worker, f"its process ended ({worker.ended()})")
            return
        if said == READY:
            worker.ready, self._stillborn = True, 0
            return
        answer: Answer = said
        task, worker.task = worker.task, None
        self.patterns.learn(answer.news)
        if answer.news:
            self._news.append(answer.news)
        if memory.resident(worker.process.pid) > _IDLE:
            self._drop(worker)
        if task is not None:
            yield task.wanted, answer.outcome

    def _lost(self, worker: Worker, fault: str) -> Iterator[tuple[Task, Outcome]]:
        """A process is gone: its task is done once more, or given up."""
        task, ready = worker.task, worker.ready
        self._drop(worker)
        if not ready:
            self._stillborn += 1
            if self._stillborn == _STARTS:  # none would ever be
                raise WorkerLost(f"a process that shares the work cannot be started: {fault}")
        if task is None:
            return
        if task.fault:
            yield task.wanted, Outcome(LOST, f"{task.fault}; tried alone, {fault}")
        else:
            task.fault = fault
            self._waiting.append(task)

    def _drop(self, worker: Worker) -> None:
        worker.end()
        self._workers.remove(worker)

    def _bounded(self) -> Iterator[tuple[Task, Outcome]]:
        """Ends a process if all that work take too much together."""
        sizes = {id(worker): memory.resident(worker.process.pid) for worker in self._busy()}
        if sum(sizes.values()) <= self.limit:
            return

        def above(worker: Worker) -> int:
            task = worker.task
            expected = self.estimate(task.wanted.size) if task is not None else 0
            return sizes[id(worker)] - expected

        worst = max(self._busy(), key=above)
        size, limit = sizes[id(worst)] // memory.MB, self.limit // memory.MB
        yield from self._lost(worst, f"it took {size} MB of memory of {limit} MB")

    def _late(self) -> Iterator[tuple[Task, Outcome]]:
        """Ends the processes whose files take too long; these are not tried again."""
        for worker in self._busy():
            task, patience = worker.task, self.patience
            if task is not None and patience and time.monotonic() - task.begun > patience:
                self._drop(worker)
                yield task.wanted, Outcome(LOST, f"it took longer than {patience:g} s")
