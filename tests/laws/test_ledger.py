"""What a run's steps cost: charged once, to the innermost, whichever process worked."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rewriter.core.run.ledger import Ledger, Task, beside, charged, keeping, spending
from rewriter.core.run.workers import Apart, each


def _work(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_time_is_the_innermost_step_s() -> None:
    with keeping() as ledger, spending("outer"):
        _work(0.02)
        for _ in charged("inner", (_work(0.03) for _ in range(2))):
            _work(0.01)
    assert ledger.seconds["inner"] >= 0.06
    assert 0.04 <= ledger.seconds["outer"] < 0.06
    assert ledger.processor == pytest.approx(sum(ledger.seconds.values()))


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_copies_spend_comes_back(jobs: int) -> None:
    def task(number: int) -> None:
        with spending("part"):
            _work(0.005)

    with keeping() as ledger, spending("whole"):
        list(each(task, range(20), jobs, Apart()))
    assert ledger.seconds["part"] >= 0.1
    assert [task.step for task in ledger.tasks] == ["whole"] * 20
    assert ledger.shareable >= 0.1


def test_what_other_threads_spend_may_be_shared() -> None:
    with keeping() as ledger, spending("whole"), ThreadPoolExecutor(2) as threads:
        list(threads.map(beside(_work), [0.01] * 4))
    assert [task.step for task in ledger.tasks] == ["whole"] * 4
    assert 0 < ledger.shareable <= ledger.seconds["whole"]


def test_largest_items_are_begun_first() -> None:
    with keeping() as ledger, spending("whole"):
        list(each(lambda n: _work(n / 1000), range(20), 2, Apart(), lambda n: n))
    tasks = sorted(ledger.tasks, key=lambda task: task.begun)
    assert tasks[0].seconds + tasks[1].seconds >= 0.036
    assert tasks[-1].seconds < 0.009


def test_seconds_alone_are_those_without_another_process() -> None:
    ledger = Ledger(serial=[("a", 0.0, 4.0), ("b", 4.0, 10.0)])
    ledger.tasks += [Task("b", 5.0, 8.0, 3.0), Task("b", 6.0, 9.0, 3.0)]
    assert ledger.alone(2) == {"a": 4.0, "b": 4.0}
    assert ledger.alone(1) == {"a": 4.0, "b": 2.0}


def test_processes_are_laid_out_by_the_lengths_of_tasks() -> None:
    ledger = Ledger({"a": 1.0, "b": 9.0})
    ledger.tasks += [Task("b", float(n), n + 1.0, length) for n, length in enumerate((4, 2, 2, 1))]
    assert [ledger.simulated(n) for n in (1, 2, 8)] == [10.0, 6.0, 5.0]
