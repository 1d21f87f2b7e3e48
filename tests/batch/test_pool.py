"""Processes that end, or take too much memory, cost their own file at most."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.api.choose import Wanted
from rewriter.batch.find import Candidate
from rewriter.batch.outcome import FAILED, LOST, NOTHING, TUNED, Outcome
from rewriter.batch.pool import memory
from rewriter.batch.pool.processes import Pool
from rewriter.batch.task import Job, Task

QUICK = Wanted(cpu="ev67", passes="bytes")
MB = memory.MB


def task(number: int, name: str, size: int = 66_000) -> Task:
    """A task about the sample, whatever size it says that it has."""
    path = Path(name)
    return Task(number, Candidate((path,), (name,), size, 0, 1), QUICK, "", (path,))


def load(task: Task) -> Job | Outcome:
    """The sample's bytes."""
    data = inputs.require("alpha-sample").read_bytes()
    return Job(task.number, str(task.file.path), data, task.wanted)


def statuses(
    pool: Pool, tasks: list[Task], loading: Callable[[Task], Job | Outcome] = load
) -> dict[str, Outcome]:
    """What became of each, by name."""
    return {str(one.file.path): outcome for one, outcome in pool.run(tasks, loading)}


def test_processes_that_are_killed() -> None:
    """Once: the file is done by another process. Twice: it is lost, with the reason."""
    kills = {"once": 1, "always": 2, "never": 0}

    def killing(one: Task) -> Job | Outcome:
        name = str(one.file.path)
        if kills[name]:
            kills[name] -= 1
            (worker,) = pool._workers
            os.kill(worker.process.pid, signal.SIGKILL)
        return load(one)

    pool = Pool(1, 2048 * MB)
    found = statuses(pool, [task(at, name) for at, name in enumerate(kills)], killing)
    assert not any(kills.values())
    assert {name: outcome.status for name, outcome in found.items()} == {
        "once": TUNED, "always": LOST, "never": TUNED
    }  # fmt: skip
    assert found["once"].data == found["never"].data
    assert found["always"].reason == (
        "its process ended (signal 9); tried alone, its process ended (signal 9)"
    )


def test_a_process_that_takes_too_much() -> None:
    """Under a limit that no process keeps to, the file is lost with both figures in the reason."""
    pool = Pool(1, 20 * MB)
    outcome = statuses(pool, [task(0, "a")], slow)["a"]
    assert outcome.status == LOST
    assert "MB of memory of 20 MB; tried alone, it took" in outcome.reason


def slow(one: Task) -> Job:
    """The libc: long enough to be looked at."""
    data = inputs.require("alpha-libc").read_bytes()
    return Job(one.number, "libc", data, Wanted(cpu="ev67"))


def test_a_file_that_takes_too_long() -> None:
    """It is given up, and the next one, with nothing to do, is done."""

    def loading(one: Task) -> Job | Outcome:
        return replace(
            slow(one), wanted=Wanted(cpu="ev67", passes=("none" if one.number else None))
        )

    pool = Pool(1, 2048 * MB, patience=3)
    found = statuses(pool, [task(0, "a"), task(1, "b")], loading)
    assert (found["a"].status, found["a"].reason) == (LOST, "it took longer than 3 s")
    assert found["b"].status == NOTHING


def test_files_wait_for_memory() -> None:
    """Two files whose estimates do not fit together are worked on one after the other."""
    at_once: list[int] = []

    def looking(one: Task) -> Job | Outcome:
        at_once.append(len(pool._busy()))
        return load(one)

    pool = Pool(2, 700 * MB, estimate=lambda size: size)
    tasks = [task(0, "a", 500 * MB), task(1, "b", 400 * MB), task(2, "c", 100 * MB)]
    found = statuses(pool, tasks, looking)
    assert {one.status for one in found.values()} == {TUNED}
    assert at_once[0] == 0
    order = list(found)
    assert order.index("b") == 2 or order.index("a") < order.index("b")
    pool = Pool(2, 2000 * MB, estimate=lambda size: size)
    at_once.clear()
    statuses(pool, tasks[:2], looking)
    assert sorted(at_once) == [0, 1]  # with room for both they are worked on together


def test_a_file_that_is_gone_costs_no_process() -> None:
    pool = Pool(1, 2048 * MB)
    found = statuses(pool, [task(0, "a")], lambda one: Outcome(FAILED, "gone"))
    assert found["a"].reason == "gone"


def test_processes_end_with_the_first(tmp_path: Path) -> None:
    """A first process that is killed takes the others with it, in the middle of their work."""
    marker = tmp_path / "pid"
    child = os.fork()
    if child == 0:
        pool = Pool(1, 2048 * MB)

        def told(one: Task) -> Job | Outcome:
            marker.write_text(str(pool._workers[0].process.pid), encoding="ascii")
            return slow(one)

        list(pool.run([task(0, "a")], told))
        os._exit(0)
    worker = _written(marker)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    end = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists() or _ended(worker)


def _ended(pid: int) -> bool:
    """Whether what is left of a process waits for init to look at it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def _written(path: Path) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        text = path.read_text("ascii") if path.is_file() else ""
        if text:
            return int(text)
        time.sleep(0.05)
    pytest.fail("no process was started")


GROUP = "0::/user/build\n"


def machine(top: Path, available: int, files: dict[str, str]) -> Path:
    """A /proc and a /sys as a kernel shows them; sizes in bytes."""
    text = f"MemTotal: 99 kB\nMemAvailable: {available // 1024} kB\n"
    for name, said in {"proc/meminfo": text, "proc/self/cgroup": GROUP, **files}.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said, encoding="ascii")
    return top


def test_the_machine_is_asked(tmp_path: Path) -> None:
    assert memory.limit(machine(tmp_path, 1000 * MB, {})) == int(1000 * MB * 0.8)
    assert 0 < memory.limit() < 1 << 50


def test_a_control_group_is_asked(tmp_path: Path) -> None:
    """The group's own limit, or one above it; what holds parts of files is free."""
    group = "sys/fs/cgroup/user"
    files = {
        f"{group}/build/memory.max": "max\n",
        f"{group}/build/memory.current": "5\n",
        f"{group}/memory.max": f"{600 * MB}\n",
        f"{group}/memory.current": f"{500 * MB}\n",
        f"{group}/memory.stat": f"anon 1\ninactive_file {300 * MB}\n",
    }
    assert memory.limit(machine(tmp_path, 1000 * MB, files)) == int(400 * MB * 0.8)


def test_a_control_group_of_the_first_version(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "3:cpu,memory:/x\n1:name=systemd:/y\n",
        "sys/fs/cgroup/memory/x/memory.limit_in_bytes": f"{200 * MB}\n",
        "sys/fs/cgroup/memory/x/memory.usage_in_bytes": f"{100 * MB}\n",
    }
    assert memory.limit(machine(tmp_path, 1000 * MB, files)) == int(100 * MB * 0.8)
