"""Resources of the 21264 run out where the manual says, and the breakdown names them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import timing
from rewriter.core.target.cpu import assumed
from rewriter.timing import Result, causes, simulate
from targets.alpha.cpus import CPUS
from targets.alpha.systems import CS20

_FREE_BUS = replace(CS20, line_time=assumed(0, "nobody waits for the bus"))
_SPACE = "unop\n" * 90  # more than the window holds
_MISS = CS20.cycles(CS20.latency.value)


def cold(body: str, count: int) -> Result:
    """A loop that touches other lines in each pass; only latency counts, not the bus."""
    trace = timing.trace(f".align 4\nloop: {body}", count)
    return simulate(trace, CPUS["ev67"], _FREE_BUS, warm=False)


def apart(nops: int) -> float:
    """Cycles a miss in a loop with so many instructions from one to the next."""
    body = "ldq t0,0(a0)\n" + "unop\n" * nops
    body += "lda a0,64(a0)\naddq t0,t1,t2\nsubq a2,1,a2\nbne a2,loop"
    one, two = (cold(body, count).cycles for count in (20, 40))
    return (two - one) / 20


def test_misses_overlap_within_a_window_of_eighty_instructions() -> None:
    assert apart(35) < 0.6 * _MISS
    assert 0.9 * _MISS < apart(95) < 1.3 * _MISS


def misses(count: int) -> float:
    """Cycles a pass of a loop that reads so many new lines."""
    body = "\n".join(f"ldq t{i % 8},{64 * i}(a0)" for i in range(count))
    body += f"\nlda a0,{64 * count}(a0)\nmb\nsubq a2,1,a2\nbne a2,loop"
    one, two = (cold(body, count).cycles for count in (20, 40))
    return (two - one) / 20


def test_eight_misses_are_under_way_at_once() -> None:
    assert misses(8) < 1.3 * _MISS
    assert misses(10) > 1.7 * _MISS


@pytest.mark.parametrize(("waiting", "full"), [(16, False), (28, True)])
def test_the_issue_queue_holds_twenty(waiting: int, full: bool) -> None:
    """Behind a miss, instructions that wait for it; the next pass is beyond the window."""
    users = "addq t0,1,t1\n" * waiting
    body = f"ldq t0,0(a0)\nlda a0,64(a0)\n{users}{_SPACE}subq a2,1,a2\nbne a2,loop"
    result = cold(body, 20)
    assert any(m.cause == causes.QUEUE for m in result.timeline) == full


def test_registers_run_out_before_the_window() -> None:
    """40 results in flight: more than 41 registers less the mapper's reserve of four."""
    body = "ldq t0,0(a0)\nlda a0,64(a0)\n" + timing.adds(60) + "\nsubq a2,1,a2\nbne a2,loop"
    result = cold(body, 20)
    assert any(m.cause == causes.REGISTERS for m in result.timeline)


@pytest.mark.parametrize(("pages", "missing"), [(100, False), (128 + 20, True)])
def test_the_translation_buffer_holds_128_pages(pages: int, missing: bool) -> None:
    lines = "\n".join(f"ldq t1,{8 * i}(a0)" for i in range(2))
    body = f"{lines}\nldah t2,0(zero)\nlda t2,4096(t2)\naddq a0,t2,a0\naddq a0,t2,a0\n"
    body += "subq a2,1,a2\nbne a2,loop"
    spaced = timing.trace(f".align 4\nloop: {body}", min(pages, 120))
    more = [replace(s, access=s.access + (120 * 8192)) for s in spaced if s.access is not None]
    trace = [*spaced, *(more if missing else ())]
    found = timing.run(trace).share(causes.DTB)
    assert bool(found) == missing


def depth(levels: int) -> float:
    """Cycles lost to jumps by a recursion of so many levels, warm."""
    body = """
        bsr     ra,down
        br      out
        .align  4
down:   lda     sp,-8(sp)
        stq     ra,0(sp)
        subq    a2,1,a2
        beq     a2,up
        bsr     ra,down
up:     ldq     ra,0(sp)
        lda     sp,8(sp)
        ret
        .align  4
out:    mov     s0,ra
    """
    text = f"mov ra,s0\nldi t0,4096\naddq a0,t0,sp\n{body}"
    return timing.run(timing.trace(text, levels)).share(causes.JUMP)


def test_the_return_stack_loses_the_oldest() -> None:
    assert depth(30) == 0
    assert depth(60) > 20 * 8


@pytest.mark.parametrize(
    ("producer", "consumer", "cycles"),
    [
        ("mulq a0,a1,t0", "cttz t0,t1", 8),  # U1 to U0
        ("cttz a0,t0", "mulq t0,a1,t1", 4),  # U0 to U1
        ("cttz a0,t0", "cttz t0,t1", 3),
        ("ldq t0,0(a0)", "cttz t0,t1", 3),  # loads reach both clusters at once
        ("ldq t0,0(a0)", "mulq t0,a1,t1", 3),
    ],
)
def test_the_other_cluster_sees_a_result_a_cycle_later(
    producer: str, consumer: str, cycles: int
) -> None:
    assert timing.gap(producer, consumer, "ev67") == cycles


def test_a_lone_instruction_takes_the_preferred_pipe() -> None:
    line = timing.run(timing.trace("ldq t0,0(a0)\nunop\nunop\nunop\nsll t0,1,t1")).timeline
    assert [line[0].pipe, line[4].pipe] == ["L0", "U1"]
