"""Properties that hold for every trace, on every CPU."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import timing
from rewriter.core.readings.interpret import Step
from rewriter.timing import Moment, causes, simulate
from targets.alpha.cpus import CPUS

_NAMES = [name for name in CPUS if CPUS[name].pipeline is not None]
_LINES = (
    *("addq t0,t1,t2", "cmpeq t2,t3,t0", "cmoveq t0,t1,t3", "sll t2,3,t1", "mulq t1,t3,t4"),
    *("ldq t1,{0}(a1)", "ldl t2,{0}(a0)", "stq t3,{0}(a0)", "stl t0,{0}(a0)", "ldq_u t3,{0}(a0)"),
    *("stq_u t2,{0}(a0)", "lda t3,{0}(t0)", "unop", "nop", "addt $f1,$f2,$f3", "mult $f3,$f1,$f2"),
    *("stt $f3,{0}(a0)", "ldt $f1,{0}(a0)", "mb", "fcmoveq $f1,$f2,$f3", "divt $f1,$f2,$f4"),
    *("ldl zero,{0}(a1)", "beq zero,.+4", "bne zero,.+4", "br zero,.+4", "umulh t0,t1,t2"),
)
_OFFSETS = st.integers(0, 60).map(lambda n: 8 * n)
_PROGRAMS = st.lists(st.tuples(st.sampled_from(_LINES), _OFFSETS), min_size=1, max_size=60)


def steps(lines: list[tuple[str, int]]) -> list[Step]:
    """The trace of a drawn program."""
    return timing.trace("\n".join(line.format(offset) for line, offset in lines))


@settings(max_examples=40)
@given(lines=_PROGRAMS, name=st.sampled_from(_NAMES), warm=st.booleans())
def test_the_breakdown_adds_up_and_time_goes_forward(
    lines: list[tuple[str, int]], name: str, warm: bool
) -> None:
    trace = steps(lines)
    result = timing.simulate(trace, CPUS[name], timing.UP1000, warm)
    assert sum(result.breakdown.values()) == result.cycles
    assert all(cycles > 0 for cycles in result.breakdown.values())
    assert [m.address for m in result.timeline] == [s.address for s in trace]
    for moment in result.timeline:
        assert 0 <= moment.fetch <= moment.issue <= moment.complete
        assert moment.issue <= moment.retire <= result.cycles
        assert moment.waited >= 0
    retired = [m.retire for m in result.timeline]
    if CPUS[name].name.startswith("ev6"):
        assert retired == sorted(retired)
        assert result.cycles == retired[-1] + 1


@settings(max_examples=20)
@given(lines=_PROGRAMS, name=st.sampled_from(_NAMES), cut=st.integers(1, 60))
def test_what_comes_later_changes_nothing_before_it(
    lines: list[tuple[str, int]], name: str, cut: int
) -> None:
    trace = steps(lines)
    text = {step.address: step.insn for step in trace}
    whole = simulate(trace, CPUS[name], timing.UP1000, warm=False, text=text)
    part = simulate(trace[:cut], CPUS[name], timing.UP1000, warm=False, text=text)
    assert part.cycles <= whole.cycles
    # Which of two pipes of a kind the last one takes hangs on what it is paired with.
    *before, last = part.timeline
    assert before == list(whole.timeline[: len(before)])
    assert _but_for_its_pipe(last) == _but_for_its_pipe(whole.timeline[len(before)])


def _but_for_its_pipe(moment: Moment) -> tuple[int | str, ...]:
    times = moment.fetch, moment.issue, moment.complete, moment.retire
    return moment.address, *times, moment.cause, moment.waited


@settings(max_examples=20)
@given(lines=_PROGRAMS, name=st.sampled_from(_NAMES))
def test_the_same_trace_takes_the_same_time(lines: list[tuple[str, int]], name: str) -> None:
    trace = steps(lines)
    once, again = (simulate(trace, CPUS[name], timing.UP1000) for _ in range(2))
    assert once == again


_KNOWN = {
    "bytes": (f".align 4\nloop: {timing.STQ_U_BYTES}", 64),
    "copy": (timing.page_copy(""), 0),
    "clear": (timing.page_clear(""), 0),
    "adds": (timing.adds(64), 0),
}


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("program", _KNOWN)
def test_a_cold_start_is_never_faster(program: str, name: str) -> None:
    trace = timing.trace(*_KNOWN[program])
    warm, cold = (simulate(trace, CPUS[name], timing.UP1000, warm) for warm in (True, False))
    assert cold.cycles >= warm.cycles


@pytest.mark.parametrize("hint", ["", "wh64 (a0)"])
def test_a_slower_machine_is_never_faster(hint: str) -> None:
    trace = timing.trace(timing.page_copy(hint))
    slow, fast = (
        simulate(trace, CPUS["ev67"], system, warm=False).cycles / system.clock.value
        for system in (timing.UP1000, timing.CS20)
    )
    assert slow > fast


def test_an_empty_trace_takes_no_time() -> None:
    for name in _NAMES:
        result = simulate([], CPUS[name], timing.UP1000)
        assert (result.cycles, result.breakdown, result.timeline) == (0, {}, ())


def test_warm_predictors_know_a_branch_that_is_always_taken() -> None:
    """One pass would not do: ten bits of history change with each."""
    skip = "beq zero,{0}\nunop\nunop\nunop\n{0}: addq t0,1,t1\n"
    trace = timing.trace(skip.format("one") + skip.format("two"))
    result = simulate(trace, CPUS["ev67"], timing.UP1000)
    assert result.share(causes.BRANCH) == 0
    assert simulate(trace, CPUS["ev67"], timing.UP1000, warm=False).share(causes.BRANCH) > 0


def test_lines_that_are_given_up_wait_for_room_in_the_victim_buffer() -> None:
    """Eight lines can wait for the bus (21264 HRM 2-11); the fetch of the end is left out."""
    trace = timing.trace(timing.page_clear("wh64 (a0)"))[:-1]
    line = timing.UP1000.cycles(timing.UP1000.line_time.value)
    result = simulate(trace, CPUS["ev67"], timing.UP1000, warm=False)
    assert result.cycles > (timing.PAGE // 64 - 9) * line
