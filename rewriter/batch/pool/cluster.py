"""The same tasks on a Dask cluster: bytes go to its workers and come back, no files are shared.

Every worker must run the same retune, or the bytes would not be those of any other run. A worker
process does one task at a time, however many threads it has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewriter.batch import patterns
from rewriter.batch.fingerprint import fingerprint
from rewriter.batch.outcome import LOST, Outcome
from rewriter.batch.task import Job, Load, Task, carry_out
from rewriter.core.errors import BadUsage, RetuneError
from rewriter.verify.terms.remembered import Memory, remembering

_CONNECT = 15
"""Seconds in which a scheduler must answer."""

_AHEAD = 2
"""Tasks for each worker that are under way: one is worked on, one is there when it is done."""

_turn = threading.Lock()


class Cluster:
    """A Dask cluster by the address of its scheduler; `known` are patterns that go along."""

    def __init__(self, address: str, known: Memory) -> None:
        try:
            import distributed
        except ImportError as error:
            hint = "pip install 'retune[cluster]'"
            raise BadUsage("--scheduler needs the library `distributed`", hint=hint) from error
        self.library: Any = distributed
        self.address, self.known = address, known

    def run(self, tasks: Sequence[Task], load: Load) -> Iterator[tuple[Task, Outcome]]:
        """What becomes of each task, as they are done."""
        if not tasks:
            return
        client = self._client()
        try:
            yield from self._shared(client, tasks, load)
        finally:
            client.close(timeout=1)

    def _client(self) -> Any:
        try:
            client = self.library.Client(self.address, timeout=_CONNECT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise BadUsage(f"--scheduler {self.address}: no scheduler answers") from error
        try:
            found: Mapping[str, str] = client.run(fingerprint)
        except Exception as error:
            client.close(timeout=1)
            raise RetuneError(f"--scheduler {self.address}: a worker has no retune") from error
        others = sorted(name for name, one in found.items() if one != fingerprint())
        if others or not found:
            client.close(timeout=1)
            what = f"the worker {others[0]} has another retune" if others else "it has no workers"
            raise RetuneError(f"--scheduler {self.address}: {what}")
        return client

    def _shared(
        self, client: Any, tasks: Sequence[Task], load: Load
    ) -> Iterator[tuple[Task, Outcome]]:
        waiting = iter(tasks)
        at_once = _AHEAD * len(client.scheduler_info()["workers"])
        under_way: dict[Any, Task] = {}
        done = self.library.as_completed([], loop=client.loop)
        while True:
            while len(under_way) < at_once:
                task = next(waiting, None)
                if task is None:
                    break
                job = load(task)
                if isinstance(job, Outcome):
                    yield task, job
                    continue
                known = patterns.dump(self.known.decided)
                future = client.submit(carried_out, job, known, pure=False)
                under_way[future] = task
                done.add(future)
            if not under_way:
                return
            future = next(done)
            yield under_way.pop(future), self._outcome(future)

    def _outcome(self, future: Any) -> Outcome:
        """What became of a task; one whose workers end again and again is lost."""
        if future.status != "finished":
            error = future.exception()
            return Outcome(LOST, f"its worker was lost: {type(error).__name__}")
        outcome: Outcome
        outcome, news = future.result()
        self.known.learn(patterns.parse(news))
        return outcome


def carried_out(job: Job, known: bytes) -> tuple[Outcome, bytes]:
    """A task on a worker: what becomes of it, and the patterns that were decided."""
    with _turn:
        memory = Memory()
        memory.learn(patterns.parse(known))
        with remembering(memory):
            outcome = carry_out(job)
        return outcome, patterns.dump(memory.news())
