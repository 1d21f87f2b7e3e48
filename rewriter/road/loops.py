"""Loops in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from passes.lib.insert import Declined
from passes.schedule import STRAIGHT, Item, NotReordered, Reordered, Schedule, Scheduler
from rewriter.analysis.loops import Loop
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
from rewriter.road.work import Work, edit_id

_KIND = "loop body"


@dataclass(frozen=True)
class Loops:
    """Reorders the innermost loops of functions, where the layout has put them.

    `loops` are those by the start of their function.
    """

    work: Work
    scheduler: Scheduler
    loops: Mapping[int, Sequence[Loop]]

    def run(self, function: Function) -> None:
        """Every loop of a function, then the code outside of loops.

        Where blocks changed places the model knows neither loops nor what falls into what.
        """
        moved = self.work.moved.get(function)
        if moved is not None and moved.order is not None:
            return
        loops = self.loops.get(function.start, ())
        for loop in loops:
            edit = edit_id(Schedule.name, function, loop.head)
            if self.work.wants(edit):
                self._one(function, loop, edit)
        self._straight(function, loops)

    def _one(self, function: Function, loop: Loop, edit: str) -> None:
        try:
            found = self.scheduler.reordered(function, loop, self._items(function, loop))
        except NotReordered as reason:
            self.work.leave(Schedule.name, _KIND, function, loop.head, str(reason))
            return
        if found is not None:
            self._made(function, _KIND, edit, found)

    def _straight(self, function: Function, loops: Sequence[Loop]) -> None:
        """Superblocks outside of loops."""
        work = self.work
        for found in self.scheduler.superblocks(function, loops, work.standing(function)):
            if isinstance(found, Declined):
                work.leave(Schedule.name, found.kind, function, found.address, found.reason)
                continue
            edit = edit_id(Schedule.name, function, found.start)
            if work.wants(edit):
                self._made(function, STRAIGHT, edit, found)

    def _made(self, function: Function, kind: str, edit: str, found: Reordered) -> None:
        """An order is taken, if debug information allows it."""
        if stays := self.work.described.stays(function):
            self.work.leave(Schedule.name, kind, function, found.start, stays)
            return
        self.work.reordered.setdefault(function, []).append(found)
        self.work.edits.append(self._edit(function, kind, edit, found))

    def _items(self, function: Function, loop: Loop) -> Sequence[Item]:
        """The instructions of a function where they stand now; at least those around a loop."""
        work = self.work
        if function in work.moved:
            return work.moved[function].layout.items
        block = work.cpu.fetch_block.value
        start, end = max(function.start, loop.head - block), min(function.end, loop.latch + block)
        slots = work.slots.get(function, {})
        return [(at, at, insn) for at, insn in work.nops.standing(slots, start, end)]

    def _edit(self, function: Function, kind: str, edit: str, found: Reordered) -> Edit:
        text = self.work.program.target.table.text
        return Edit(
            id=edit,
            technique=Schedule.name,
            kind=kind,
            routine=function.name,
            address=found.start,
            old="; ".join(map(text, found.old)),
            new="; ".join(map(text, found.new)),
            evidence=found.evidence,
            gain=0,
            cycles=found.saves,
        )
