"""Retirement in program order: so many a cycle, so many branches among them."""

from __future__ import annotations

from rewriter.core.target.cpu import OutOfOrderCore
from rewriter.timing import causes
from rewriter.timing.path import BEGINNING, Event, later


class Retirement:
    """The last stage; `event` is when the last instruction retired."""

    def __init__(self, window: OutOfOrderCore) -> None:
        self._width = window.retire_width.value
        self._branches = window.retire_branches.value
        self._count = 0
        self._branch_count = 0
        self.event = BEGINNING

    def retire(self, ready: Event, branch: bool) -> Event:
        """An instruction leaves that could at `ready`."""
        before = self.event
        full = self._count == self._width or (branch and self._branch_count == self._branches)
        self.event = ready if ready.time > before.time else before
        if full:
            self.event = later(self.event, before.time + 1, causes.RETIRE)
        if self.event.time > before.time:
            self._count = self._branch_count = 0
        self._count += 1
        self._branch_count += branch
        return self.event
