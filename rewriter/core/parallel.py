"""Independent pieces of work on all processors, with the results in their order.

The workers are forked: what they work on is there already and nothing is copied to them.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

ENOUGH = 2000
"""Pieces for which it pays to fork."""

_BLOCK = 16  # pieces that are sent back together


def spread(
    work: Callable[[_Item], _Result],
    items: Sequence[_Item],
    progress: Callable[[int], None],
    workers: int | None = None,
) -> list[_Result]:
    """What `work` gives for each item, in order; `progress` is told how many are done.

    Without `workers` there are as many as processors that this process may use, and one for few
    items.  An exception in a worker is raised here.
    """
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if len(items) >= ENOUGH else 1
    if workers == 1:
        return list(_alone(work, items, progress))
    found: dict[int, _Result] = {}
    context = multiprocessing.get_context("fork")
    pipes: list[Connection] = []
    processes = []
    try:
        for number in range(workers):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(work, items, number, workers, there))
            process.start()
            there.close()
            pipes.append(here)
            processes.append(process)
        for block in _received(pipes):
            found.update(block)
            progress(len(found))
    finally:
        for process in processes:
            process.terminate()
            process.join()
    return [found[n] for n in range(len(items))]


def _alone(
    work: Callable[[_Item], _Result], items: Sequence[_Item], progress: Callable[[int], None]
) -> Iterator[_Result]:
    for done, item in enumerate(items):
        if done % _BLOCK == 0:
            progress(done)
        yield work(item)
    progress(len(items))


def _received(pipes: list[Connection]) -> Iterator[list[tuple[int, Any]]]:
    """What workers send until all have ended; raises what one of them raised."""
    open_ones: list[Any] = list(pipes)
    while open_ones:
        for pipe in wait(open_ones):
            assert isinstance(pipe, Connection)
            sent = pipe.recv()
            if sent is None:
                open_ones.remove(pipe)
            elif isinstance(sent, BaseException):
                raise sent
            else:
                yield sent


def _run(
    work: Callable[[Any], Any], items: Sequence[Any], first: int, step: int, pipe: Connection
) -> None:
    """A worker: every `step`-th block of items."""
    try:
        for start in range(first * _BLOCK, len(items), step * _BLOCK):
            end = min(start + _BLOCK, len(items))
            pipe.send([(n, work(items[n])) for n in range(start, end)])
        pipe.send(None)
    except KeyboardInterrupt:
        pass
    except Exception as error:  # whatever it is, the parent raises it
        pipe.send(error)
