"""A command run on both sides with each of some inputs, and what it does compared."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TypeVar

from rewriter.difftest.case import Case, Verdict
from rewriter.difftest.outcome import Masks, compare
from rewriter.difftest.running import Ending, Input, Run, run
from rewriter.difftest.setting import Sides

SLOWER, AT_LEAST = 5, 30
"""The new program may take so many times what the old one took, and so many seconds in any case."""

Progress = Callable[[str, int, int], None]
_Given = TypeVar("_Given")


@dataclass(frozen=True)
class Tester:
    """Compares two sides; `limit` is in seconds, for the original; `folder` is for files of runs.

    What the original does must happen twice to count.
    """

    sides: Sides
    limit: float
    masks: Masks
    folder: Path

    def case(self, given: Input) -> Case:
        """One input: the original runs twice, then the new program; where that differs, again."""
        place = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            return self._case(given, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _case(self, given: Input, place: Path) -> Case:
        olds = [self._old(given, place)]
        if olds[0].ending is not Ending.ENDED:
            why = f"the original {olds[0].account}"
            return Case(given.name, Verdict.UNUSABLE, why, seconds=(olds[0].seconds, 0.0))
        olds.append(self._old(given, place))
        longest = max(AT_LEAST, SLOWER * max(old.seconds for old in olds))
        launch = self.sides.setting.launch(self.sides.new, place)
        new = run(launch, given, min(longest, SLOWER * self.limit), place)
        found, unstable = compare(olds, new, self.masks)
        if found is not None:
            olds.append(self._old(given, place))
            found, unstable = compare(olds, new, self.masks)
        verdict = Verdict.SAME if found is None else Verdict.DIFFERS
        detail, lines = ("", ()) if found is None else (found.detail, found.lines)
        seconds = olds[0].seconds, new.seconds
        return Case(given.name, verdict, detail, lines, unstable, seconds, _counts(olds[0], new))

    def _old(self, given: Input, place: Path) -> Run:
        return run(self.sides.setting.launch(self.sides.old, place), given, self.limit, place)

    def every(self, inputs: Sequence[Input], jobs: int, progress: Progress) -> tuple[Case, ...]:
        """All inputs, `jobs` at a time; the result does not depend on how many."""
        stop = self.sides.setting.stop
        return tuple(together(self.case, inputs, jobs, progress, stop))


def together(
    task: Callable[[_Given], Case],
    inputs: Sequence[_Given],
    jobs: int,
    progress: Progress,
    stop: Event,
) -> Iterable[Case]:
    """What a task says of each input, in order; `stop` ends the programs that it runs."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done, case in enumerate(pool.map(task, inputs)):
                progress("run", done, len(inputs))
                yield case
        except BaseException:
            stop.set()  # an interrupt is not to wait for what runs
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    progress("run", len(inputs), len(inputs))


def _counts(old: Run, new: Run) -> tuple[int, int] | None:
    if old.executed is None or new.executed is None:
        return None
    return old.executed, new.executed
