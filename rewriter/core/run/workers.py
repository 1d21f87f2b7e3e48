"""Work on many items, shared out to processes that are copies of this one.

A copy knows all that this process knew when it was made, so nothing but an item's number goes there
and nothing but a result comes back.  What a task changes in its copy is lost: a task must depend on
its item alone, and then the results are the same for any number of processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from rewriter.core.errors import OutOfResources
from rewriter.core.run import interrupts, ledger
from rewriter.core.run.garbage import give_back, seldom_collected, trim
from rewriter.core.run.ledger import Ledger

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_News = TypeVar("_News")
_Answer = tuple[int, list[Any], Any, Ledger | None]
"""A share's number, the results, news, and what they cost where somebody asks."""
_Work = Callable[[Connection, Sequence[Connection]], None]

_SHARE = 8
"""Items that a process gets at once at most: few enough that all processes end together."""

_SHARES = 400
"""Shares that the whole is at least cut into, by size: what is larger is a share of its own."""

_SELDOM = 16
"""Shares after one of which a process gives memory back."""

_AHEAD = 2
"""Shares that a process has, so that it need not wait for the next while its answer is read."""


class Learning(Protocol[_News]):
    """What one process found out and another need not: it never changes a result."""

    def news(self) -> _News:
        """What is new here since the last time."""
        ...

    def learn(self, news: _News) -> None:
        """What another process found out."""
        ...


class Apart:
    """What processes find out that need nothing of one another."""

    def news(self) -> None:
        """Nothing."""

    def learn(self, news: None) -> None:
        """Nothing to learn."""


class Together:
    """What processes find out of several kinds."""

    def __init__(self, *kinds: Learning[Any]) -> None:
        self.kinds = kinds

    def news(self) -> list[Any]:
        """What is new of each kind."""
        return [kind.news() for kind in self.kinds]

    def learn(self, news: list[Any]) -> None:
        """What another process found out of each."""
        for kind, one in zip(self.kinds, news, strict=True):
            kind.learn(one)


class WorkerLost(OutOfResources):
    """A process ended before its work was done."""


class WorkerFailed(Exception):
    """An exception in a process that could not be sent from there: its text."""


def each(
    task: Callable[[_Item], _Result],
    items: Iterable[_Item],
    jobs: int,
    learning: Learning[Any],
    size: Callable[[_Item], int] = lambda item: 1,
) -> Iterator[_Result]:
    """What `task` gives for each item, in the items' order.

    With one job all is done here, item by item as they come; several begin with what has the
    largest `size`, so that none is left with a large item at the end.  An exception of a task is
    raised here, as WorkerFailed if it cannot be sent; WorkerLost if a process is killed.
    """
    with _kept():
        if jobs == 1:
            yield from _here(task, items)
            return
        known = tuple(items)
        if len(known) <= _SHARE:  # another process would leave this one with nothing to do
            yield from _here(task, known)
            return
        yield from _in_order(task, known, list(_cut(list(map(size, known)))), jobs, learning)


def each_apart(
    task: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int
) -> Iterator[_Result]:
    """What `task` gives for each of a few items that are worth a process each, in their order.

    A process that shares work itself does all here: others are busy already.
    """
    with _kept():
        if jobs == 1 or multiprocessing.current_process().daemon:
            yield from _here(task, items)
            return
        yield from _in_order(task, items, [[at] for at in range(len(items))], jobs, Apart())


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """As long as this lasts, what there is now stays as it is for copies of the process."""
    with seldom_collected():
        give_back()  # small objects do not fill the holes of large arrays, nor do copies have them
        # A collection would look at all that there is, and in a copy double it.
        gc.freeze()
        yield


def _here(task: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    for item in items:
        with ledger.task():
            result = task(item)
        yield result


def _in_order(
    task: Callable[[_Item], _Result],
    known: Sequence[_Item],
    places: Sequence[Sequence[int]],
    jobs: int,
    learning: Learning[Any],
) -> Iterator[_Result]:
    """What a task gives for some items, in their order; shares are by their `places` there."""
    shares = [[known[place] for place in share] for share in places]
    ready: dict[int, _Result] = {}
    following = 0
    for number, results in _shared(task, shares, min(jobs, len(shares)), learning):
        ready.update(zip(places[number], results, strict=True))
        while following in ready:
            yield ready.pop(following)
            following += 1


def _cut(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Shares of items, by place, the largest items first."""
    most, share, held = sum(sizes) / _SHARES, list[int](), 0
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        share.append(place)
        held += sizes[place]
        if held >= most or len(share) == _SHARE:
            yield share
            share, held = [], 0
    if share:
        yield share


def _shared(
    task: Callable[[_Item], _Result],
    shares: Sequence[Sequence[_Item]],
    jobs: int,
    learning: Learning[Any],
) -> Iterator[tuple[int, list[_Result]]]:
    """Each share's number and results, as they are done."""
    workers: list[_Worker] = []
    own = ledger.kept()
    with interrupts.folder("retune-") as folder:
        try:
            for _ in range(jobs):
                pipes = [worker.pipe for worker in workers]
                workers.append(_Worker(partial(_work, task, shares, learning, folder), pipes))
            for done, results, news, spent in _answers(workers, len(shares)):
                learning.learn(news)
                if own is not None and spent is not None:
                    own.add(spent)
                yield done, results
        finally:
            for worker in workers:
                worker.end()


def _answers(workers: Sequence[_Worker], shares: int) -> Iterator[_Answer]:
    """The answers for so many shares; what one process found out is told to the others."""
    waiting = iter(range(shares))
    for worker, number in zip(_AHEAD * [*workers], waiting, strict=False):
        worker.start(number)
    busy = {worker.pipe: worker for worker in workers if worker.shares}
    while busy:
        for pipe in wait(list(busy)):
            worker = busy[cast(Connection, pipe)]
            packed = worker.packed()
            following = next(waiting, None)
            if following is not None:
                worker.start(following)  # before the answer is looked at
            elif not worker.shares:
                del busy[worker.pipe]
            answer = _unpacked(packed)
            for other in workers:
                if other is not worker:
                    other.news.append(answer[2])
            yield answer


class _Worker:
    """One process with the pipe that leads there.

    `shares` is how many it has and did not answer yet, `news` what it has not heard yet.
    """

    def __init__(self, work: _Work, pipes: Sequence[Connection]) -> None:
        """`pipes` are those of the processes before: a copy must not hold them open."""
        self.news: list[Any] = []
        self.shares = 0
        self.pipe, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        arguments = there, (*pipes, self.pipe)
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        there.close()

    def start(self, number: int) -> None:
        """Has a share worked on; what goes wrong with the process is found when it answers."""
        with contextlib.suppress(BrokenPipeError):
            self.pipe.send((number, self.news))
        self.news = []
        self.shares += 1

    def packed(self) -> bytes:
        """The answer that is waiting, or WorkerLost."""
        self.shares -= 1
        try:
            return self.pipe.recv_bytes()
        except (EOFError, ConnectionResetError):
            hint = "too little memory? with -j 1 there is one process only"
            raise WorkerLost("a process that shared the work was ended", hint=hint) from None

    def end(self) -> None:
        """Ends the process and those that it started, whatever they do."""
        self.pipe.close()
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()  # it may not have a group of its own yet
        self.process.join()


def _unpacked(packed: bytes) -> _Answer:
    """The answer, or the exception that there was instead."""
    answer: _Answer | Exception = pickle.loads(packed)
    if isinstance(answer, Exception):
        raise answer
    return answer


def _work(
    task: Callable[[Any], Any],
    shares: Sequence[Sequence[Any]],
    learning: Learning[Any],
    folder: Path,
    pipe: Connection,
    others: Sequence[Connection],
) -> None:
    """Answers until nobody asks; `folder` is for temporary files."""
    _depend()
    tempfile.tempdir = str(folder)
    own = ledger.kept()
    if own is not None:
        own.restart()
    for other in others:
        other.close()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            number, heard = pipe.recv()
            for news in heard:
                learning.learn(news)
            try:
                results = list(_here(task, shares[number]))
                spent = None if own is None else own.taken()
                packed = pickle.dumps((number, results, learning.news(), spent))
            except Exception as error:
                pipe.send_bytes(_packed_error(error))
                return
            pipe.send_bytes(packed)
            if number % _SELDOM == 0:
                trim()


def _depend() -> None:
    """Makes this process end with the one that made it, and by nothing else.

    It is in a group of its own, so that it and what it starts can be ended together.
    """
    parent = multiprocessing.parent_process()
    interrupts.ignore()
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent.pid:  # it has ended already
        os._exit(1)


def _packed_error(error: Exception) -> bytes:
    """An exception as it is sent, with where it happened; as a text if it cannot be."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        packed = pickle.dumps(error)
        pickle.loads(packed)  # some can be sent and not received
    except Exception:
        failed = WorkerFailed(f"{type(error).__name__}: {error}")
        failed.add_note(error.__notes__[-1])
        packed = pickle.dumps(failed)
    return packed


_PR_SET_PDEATHSIG = 1  # linux/prctl.h
