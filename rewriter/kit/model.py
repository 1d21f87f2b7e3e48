"""Modelled cycles of a file's routines at the points that are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rewriter.kit.cases import Timed
from rewriter.suites.run import STOPS, Clock, SequentialClocks
from rewriter.timing.described import NotDescribed

Progress = Callable[[str, int, int], None]


def modelled(
    clocks: SequentialClocks, calls: Iterable[Timed], progress: Progress
) -> Iterator[tuple[Timed, int]]:
    """The calls with the cycles that the model expects; without those that it cannot run."""
    known, calls = dict[str, Clock | str](), list(calls)
    for done, call in enumerate(calls):
        progress("model", done, len(calls))
        if call.routine not in known:
            known[call.routine] = clocks.own(call.routine)
        clock = known[call.routine]
        if isinstance(clock, str):
            continue
        try:
            yield call, clock(call.point, True)
        except (*STOPS, NotDescribed) as stop:
            known[call.routine] = str(stop)
    progress("model", len(calls), len(calls))
