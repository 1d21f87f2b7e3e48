"""What an in-order chip hides and what it does not: fetch ahead, loads behind stores, levels."""

from __future__ import annotations

import pytest

from benchmarks import timing
from rewriter.timing import causes
from rewriter.timing.caches import Below
from rewriter.timing.inorder.ahead import Ahead, Stores
from targets.alpha.cpus import CPUS, ev5
from targets.alpha.systems import PC164

FULL = "addq t0,1,t1\naddq t2,1,t3\naddt $f1,$f2,$f3\nmult $f4,$f5,$f6\n"  # one cycle
SPLIT = "addq t0,1,t1\naddq t2,1,t3\naddq t4,1,t5\nmult $f4,$f5,$f6\n"  # two: a third integer
LAST = "subq a2,1,a2\naddt $f1,$f2,$f7\nmult $f4,$f5,$f8\nbne a2,loop"  # two: the branch waits


def test_a_bubble_is_lost_where_every_block_issues_at_once() -> None:
    """Two full blocks and the bubble: fetch brings one block a cycle, and so many are needed."""
    ready = "cmpeq zero,t9,t10\naddq a2,t8,a2\naddt $f1,$f2,$f7\nmult $f4,$f5,$f8\n"
    body = f"{ready}addq t0,1,t1\naddt $f1,$f2,$f3\nmult $f4,$f5,$f6\nbne a2,loop"
    before = "lda t8,-1(zero)\n.align 4"
    assert timing.loop(body, "ev5", before) == 3


@pytest.mark.parametrize(("blocks", "cycles"), [(FULL + LAST, 3), (SPLIT + LAST, 4)])
def test_a_bubble_costs_nothing_behind_a_block_that_takes_two(blocks: str, cycles: int) -> None:
    assert timing.loop(blocks, "ev5", ".align 4") == cycles


@pytest.mark.parametrize("cpu", ["ev4", "ev5"])
def test_a_loop_that_waits_for_its_count_loses_no_bubble(cpu: str) -> None:
    result = timing.run(timing.trace(".align 3\nloop: subq a2,1,a2\nbge a2,loop", 500), cpu)
    assert result.cycles < 2.1 * 500
    assert result.share(causes.TAKEN) < 10


def test_a_wrong_prediction_is_never_hidden() -> None:
    """Blocks that take two cycles each; what was fetched ahead is given up."""
    text = f".align 4\n{SPLIT}{SPLIT}beq t9,there\nunop\nunop\nunop\nthere: addq t0,1,t1"
    line = timing.run(timing.trace(text), "ev5", warm=False).timeline
    branch = next(n for n, m in enumerate(line) if m.address == timing.CODE + 32)
    gap = line[branch + 1].issue - line[branch].issue
    assert gap > CPUS["ev5"].pipeline.mispredicted.value  # type: ignore[union-attr]


@pytest.mark.parametrize(("distance", "later"), [(1, 0), (2, 1), (3, 0)])
def test_no_load_issues_in_the_second_cycle_after_a_store(distance: int, later: int) -> None:
    """Whatever it reads: here another line."""
    chain = "addq t1,1,t1\n" * distance
    text = f".align 4\nunop\nunop\nstq t0,0(a0)\naddq t1,1,t1\n{chain}ldq t2,512(a0)"
    line = timing.run(timing.trace(text), "ev5").timeline
    assert line[-2].issue - line[2].issue == distance + later


def test_stores_one_after_the_other_bar_two_cycles() -> None:
    stores = Stores([2])
    for cycle in (4, 5):
        stores.issue(cycle)
    assert [stores.clear(cycle) for cycle in (5, 6, 7, 8)] == [5, 8, 8, 8]


@pytest.mark.parametrize(("blocks", "cycle"), [(0, 14), (1, 13), (4, 12)])
def test_only_so_many_blocks_are_fetched_ahead(blocks: int, cycle: int) -> None:
    """The second block waits until 10: with one place, the third is fetched then, in the cycle
    before it issues, and of two bubbles behind it one shows; with four, none."""
    ahead = Ahead(blocks)
    assert [ahead.enter(free) for free in (0, 10, 11)] == [0, 10, 11]
    ahead.taken(2)
    assert ahead.reach(12) == ahead.enter(12) == cycle


def test_a_line_from_the_board_cache_is_in_the_second_level_afterwards() -> None:
    (inner,) = ev5.PIPELINE.inner
    below = Below((inner,), PC164, 8)
    apart = inner.size.value // inner.ways.value  # lines of one set
    lines = [n * apart for n in range(inner.ways.value + 1)]
    for at, address in enumerate(lines):
        assert below.fill(address, address >> 6, 1000 * at)[1] == causes.MEMORY
    found = [below.fill(0, 0, 10_000 * n)[1] for n in (1, 2)]
    assert found == [causes.BOARD, causes.INNER]
