"""Law 6, for work that several processes share: the same result for any number of them."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fixtures import inputs
from rewriter.analysis import flow
from rewriter.analysis.program import analyse
from rewriter.api.choose import target_of
from rewriter.cli import main
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.errors import BadInput, OutOfResources
from rewriter.core.run.apart import apart
from rewriter.core.run.workers import WorkerLost, each, each_apart
from rewriter.core.terms.term import Terms
from rewriter.elf.image import load
from rewriter.road.outcome import Done
from rewriter.verify.terms.exchange import Exchange
from rewriter.verify.terms.prover import Prover


class Heard:
    """What was learned, and from which process."""

    def __init__(self) -> None:
        self.found: list[int] = []

    def news(self) -> int:
        return os.getpid()

    def learn(self, news: int) -> None:
        self.found.append(news)


@pytest.mark.parametrize("jobs", [1, 2, 3, 7])
def test_results_come_in_order(jobs: int) -> None:
    items = range(200)
    assert list(each(lambda n: n * n, items, jobs, Heard())) == [n * n for n in items]


def test_work_is_done_elsewhere_and_by_each() -> None:
    heard = Heard()
    found = list(each(lambda _: os.getpid(), range(400), 2, heard))
    assert os.getpid() not in found
    assert set(heard.found) == set(found) and len(set(found)) == 2


def test_one_job_takes_items_as_they_come() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for n in range(3):
            taken.append(n)
            yield n

    assert [(n, len(taken)) for n in each(lambda n: n, items(), 1, Heard())] == [
        (0, 1),
        (1, 2),
        (2, 3),
    ]


def test_nothing_to_do_is_no_work() -> None:
    assert list(each(str, (), 2, Heard())) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exception_arrives(jobs: int) -> None:
    def task(n: int) -> int:
        if n == 77:
            raise BadInput("item 77", hint="leave it out")
        return n

    with pytest.raises(BadInput, match=r"item 77 \(leave it out\)"):
        list(each(task, range(100), jobs, Heard()))


@pytest.mark.parametrize("jobs", [1, 2])
def test_few_items_come_in_order_from_a_process_each(jobs: int) -> None:
    found = list(each_apart(lambda n: (n, os.getpid()), range(3), jobs))
    assert [n for n, _ in found] == [0, 1, 2]
    assert len({process for _, process in found} - {os.getpid()}) == (0 if jobs == 1 else 2)


def test_a_process_that_shares_work_starts_no_other() -> None:
    def task(n: int) -> set[int]:
        return {os.getpid(), *each_apart(lambda _: os.getpid(), range(3), 2)}

    assert all(len(found) == 1 for found in each(task, range(20), 2, Heard()))


def test_a_killed_process_is_one_line() -> None:
    def task(n: int) -> int:
        if n == 50:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    with pytest.raises(WorkerLost, match="was ended"):
        list(each(task, range(100), 2, Heard()))


def test_work_apart_gives_what_it_finds() -> None:
    assert apart(lambda: ["a", os.getpid()])[0] == "a"
    assert apart(os.getpid) != os.getpid()


def test_work_apart_raises_what_it_raises() -> None:
    def refuse() -> None:
        raise BadInput("damaged", hint="headers")

    with pytest.raises(BadInput, match="damaged") as refused:
        apart(refuse)
    assert refused.value.hint == "headers"


def test_work_apart_that_ends_too_soon_is_one_line() -> None:
    with pytest.raises(OutOfResources, match="was ended"):
        apart(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_work_apart_ends_where_nobody_waits_for_it() -> None:
    """The process that asked is killed before it reads a large answer."""
    heard, telling = os.pipe()
    asking = os.fork()
    if not asking:

        def work() -> bytes:
            os.write(telling, os.getpid().to_bytes(4, "little"))
            while os.getppid() == asked_by:
                time.sleep(0.01)
            return bytes(1 << 22)

        asked_by = os.getpid()
        apart(work)
        os._exit(0)
    os.close(telling)
    copy = int.from_bytes(os.read(heard, 4), "little")
    os.kill(asking, signal.SIGKILL)
    os.waitpid(asking, 0)
    ended, _, _ = select.select([heard], [], [], 20)  # the copy has its other end
    if not ended:
        os.kill(copy, signal.SIGKILL)  # else it would hold what pytest prints to, too
    assert ended and os.read(heard, 1) == b""
    os.close(heard)


def test_a_result_is_the_same_when_it_was_packed() -> None:
    function = Function(0x1000, 0x1040, "f", "symbol")
    proved = Evidence(Grade.PROVED)
    edits = [Edit(f"bytes:f+{n:x}", "bytes", "load", "f", n, "a", "b", proved, 1) for n in (0, 4)]
    skips = [Skip("bytes", "load", "f", 8, "reason")]
    done = pickle.loads(pickle.dumps(Done(function, [*edits], [*skips]).packed()))
    assert done.count == 2
    done.packed().take_back(edits[:1], "gone")
    assert done.edits == edits[1:] and done.count == 1
    assert done.skips == [*skips, Skip("bytes", "load", "f", 0, "gone")]


def test_what_one_prover_decided_another_need_not() -> None:
    terms = Terms(64)
    x, y = terms.var("x"), terms.var("y")
    both, either = terms.and_(x, y), terms.or_(x, y)
    claims = [
        (terms.add(x, y), terms.add(both, either)),
        (terms.xor(x, y), terms.sub(either, both)),
    ]
    one, other = Prover(64, 8), Prover(64, 8)
    here, there = Exchange(one), Exchange(other)
    for claim in claims:
        assert one.equal(*claim)[0] is Grade.PROVED
    assert len(one.decided) >= len(claims)
    there.learn(here.news())
    before = other.solved
    assert (other.asked, dict(other.decided)) == (one.asked, dict(one.decided))
    for claim in claims:
        assert other.equal(*claim)[0] is Grade.PROVED
    assert other.solved == before
    assert there.news() == (len(claims), {})
    assert here.news() == (0, {})


def test_any_number_of_processes_gives_the_same(tmp_path: Path) -> None:
    original = inputs.require("alpha-sample")
    said, made = set(), set()
    for jobs in ("1", "2"):
        out = tmp_path / jobs
        said.add(_run("patch", original, "-o", out, "--cpu", "ev67", "-v", "-j", jobs))
        made.add(out.read_bytes())
        said.add(_run("verify", original, out, "-j", jobs))
    assert (len(said), len(made)) == (2, 1)


def test_a_text_is_read_the_same_by_any_number_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is live in each column of registers, and what is near a load-locked."""
    monkeypatch.setattr(flow, "_MANY", 1)
    image = load(inputs.require("ppc-libc"))
    target = target_of(image).sequential
    assert target is not None
    one, two = (analyse(image, target, jobs=jobs) for jobs in (1, 2))
    for masks, others in (
        (one.live.live_in, two.live.live_in),
        (one.live.live_out, two.live.live_out),
    ):
        assert np.array_equal(masks.distinct, others.distinct)
        assert np.array_equal(masks.which, others.which)
    assert one.near_locks.any()
    assert np.array_equal(one.near_locks, two.near_locks)


def _run(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output
