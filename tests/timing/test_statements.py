"""What is published about these chips, statement by statement, against the model.

The figures are those of benchmarks/timing.py, which docs/timing.md prints; here are also the
statements that give no figure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import timing
from benchmarks.timing import Check
from rewriter.timing import causes

# How far the model may be off, as a part of the published figure; the rest must be exact.
TOLERANCE = {
    "up1000": 0.05,  # pages: the bus, and what the processor adds at both ends
    "cs20": 0.70,  # the bus is fast enough for the latency of memory to show
    "to integer and back": 0.2,  # gcc has 3 for ITOFx, the description 4
}
CHECKS = list(timing.checks())
PAGE = Path(__file__).resolve().parents[2] / "docs" / "timing.md"
LINES = PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.cpu}: {check.what}")
def test_published_figure(check: Check) -> None:
    allowed = next((t for start, t in TOLERANCE.items() if check.what.startswith(start)), 0.0)
    got = check.model()
    assert abs(got - check.published) <= allowed * check.published + 1e-9
    assert LINES.count(timing.row(check, got)) == 1


def test_the_table_has_a_line_for_each_check() -> None:
    assert len(CHECKS) == len({(c.cpu, c.what) for c in CHECKS})


def test_the_page_has_the_tables_that_the_command_prints() -> None:
    """The first one is as long as it should be, and each of its lines is looked for above."""
    start = LINES.index("| CPU | figure | published | model | error | source |")
    end = LINES.index("", start)
    assert end - start - 2 == len(CHECKS)
    shown = [line.split(" | ")[:2] for line in LINES[start + 2 : end]]
    assert shown == [[f"| {check.cpu}", check.what] for check in CHECKS]
    assert "\n".join(timing.unpublished()) in "\n".join(LINES[end + 1 :])


def test_a_byte_loop_of_whole_quads_waits_for_its_own_stores() -> None:
    """LDQ_U of the quad just stored: forwarded, never trapped once it waits, but in a chain."""
    result = timing.run(timing.trace(f".align 4\nloop: {timing.STQ_U_BYTES}", 400))
    assert result.share(causes.SIZE) == 0
    assert result.share(causes.ORDER) < 20
    assert result.cycles / 400 > 5
    assert timing.loop(timing.STB_BYTES, before=".align 4") < result.cycles / 400 / 2


def test_a_quad_read_after_its_byte_was_stored_traps_each_time() -> None:
    body = "stb t0,1(a0)\nldq t1,0(a0)\nlda a0,8(a0)\nsubq a2,1,a2\nbne a2,loop"
    same = body.replace("stb t0,1", "stq t0,0")
    assert timing.loop(body, before=".align 4") > timing.loop(same, before=".align 4") + 10


def test_reads_kept_apart_from_the_stores_do_not_trap() -> None:
    body = "stb t0,1(a0)\nldq t1,8(a0)\nlda a0,64(a0)\nsubq a2,1,a2\nbne a2,loop"
    result = timing.run(timing.trace(f".align 4\nloop: {body}", 400))
    assert result.share(causes.SIZE, causes.ORDER) == 0


@pytest.mark.parametrize("offset", [4, 8, 12])
def test_targets_off_a_fetch_block_cost(offset: int) -> None:
    assert timing.head(offset) > timing.head(0)


def test_a_target_off_a_fetch_block_is_named_as_the_cause() -> None:
    body = f"subq a2,1,a2\n{timing.adds(6)}\nbne a2,loop"
    result = timing.run(timing.trace(f".align 4\nunop\nunop\nloop: {body}", 400))
    assert result.share(causes.ENTRY) > 350


def test_two_branches_in_a_block_are_named_as_the_cause() -> None:
    result = timing.run(
        timing.trace(".align 4\nloop: subq a2,1,a2\nblt a2,out\nunop\nbne a2,loop\nout:", 400)
    )
    assert result.share(causes.BRANCHES) > 350


def test_conditional_moves_are_named_as_the_cause() -> None:
    result = timing.run(timing.trace(f"{timing.cmovs(4)}\n" * 50))
    assert result.share(causes.SPLIT) > 150


TOGGLE = """
loop:   xor     t0,1,t0
        beq     t0,skip
        addq    t1,1,t1
skip:   subq    a2,1,a2
        bne     a2,loop
"""


def test_a_toggling_branch_is_learned_by_the_21264_alone() -> None:
    """`Trained` against `simple` prediction: the article's table 1."""
    trace = timing.trace(TOGGLE, 1000)
    assert timing.run(trace, "ev67").share(causes.BRANCH) < 100
    assert timing.run(trace, "ev5").share(causes.BRANCH) > 2000


def test_a_wrongly_predicted_line_costs_one_bubble() -> None:
    """Cold, every taken branch finds the line predictor pointing at the next block."""
    text = "br zero,there\n.space 28\nthere: unop"
    line = timing.run(timing.trace(text), warm=False).timeline
    assert line[1].fetch - line[0].fetch == 2
    line = timing.run(timing.trace(text)).timeline
    assert line[1].fetch - line[0].fetch == 1


def test_returns_are_predicted_by_the_stack() -> None:
    body = (
        "bsr t12,there\nsubq a2,1,a2\nbne a2,loop\nbr out\n.align 4\nthere: ret zero,(t12),1\nout:"
    )
    result = timing.run(timing.trace(f".align 4\nloop: {body}", 300))
    assert result.share(causes.JUMP) < 10


def test_nops_take_a_place_in_fetch_and_nothing_after() -> None:
    line = timing.run(timing.trace("unop\nnop\nfnop\naddq t0,1,t1")).timeline
    assert [m.pipe for m in line[:3]] == ["", "", ""]
    assert timing.straight("unop\nnop\nfnop\nunop") == 1


def test_barriers_wait_for_every_access() -> None:
    line = timing.run(timing.trace("stq t0,0(a0)\nmb\nldq t1,0(a1)\nunop"), warm=False).timeline
    assert line[1].issue > line[0].retire
    assert line[2].issue > line[1].issue


def test_a_prefetch_hides_memory_and_waits_for_nothing() -> None:
    work = "work: mulq t3,t4,t4\nsubq a2,1,a2\nbne a2,work\naddq a1,t4,a1"
    text = f"{{0}}\n{work}\nldq t1,0(a1)\naddq t1,1,t1"
    late = timing.run(timing.trace(text.format("unop"), 60), warm=False)
    early = timing.run(timing.trace(text.format("ldl zero,0(a1)"), 60), warm=False)
    assert early.cycles < late.cycles - 50
    assert early.timeline[0].complete - early.timeline[0].issue <= 3


def test_the_board_cache_lies_between_the_manuals_least_and_gccs_measurement() -> None:
    assert 13 <= timing.chase(64, 2048, "ev67", 1) <= 30


def test_a_full_store_queue_traps() -> None:
    result = timing.run(timing.trace(timing.page_clear("")), warm=False)
    assert result.share(causes.STORES) > result.cycles / 2
