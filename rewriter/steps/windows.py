"""Rewrites inside windows of straight code, each proved there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from passes.conflicts import Key, untrapped
from passes.insert import Setting
from passes.technique import UNRELATED, Technique
from passes.tune import Accepted, Refused, TunedWindow, tune_window
from rewriter.core.edit import Edit
from rewriter.core.isa import Insn
from rewriter.core.program import Function, Window
from rewriter.core.trace import Facts
from rewriter.identify.program import Program
from rewriter.steps.work import Work, edit_id
from rewriter.timing.saved import packed


@dataclass(frozen=True)
class Windows:
    """Applies techniques to the windows of functions.

    `clues` are the positions that some technique asks to see, for each function's number.
    """

    work: Work
    techniques: tuple[Technique, ...]
    setting: Setting
    clues: dict[int, list[int]]

    def run(self, number: int, function: Function) -> None:
        """Goes through every window that has a clue."""
        clues, listing = self.clues.get(number, ()), self.work.program.listing
        for window in self.work.program.windows(function) if clues else ():
            first, last = listing.span(window.address, window.end)
            if bisect_left(clues, first) < bisect_left(clues, last):
                self._window(function, window)

    def _window(self, function: Function, window: Window) -> None:
        work, avoided = self.work, set[Key]()

        def chosen(technique: str, address: int, made: int) -> bool:
            wanted = work.wants(edit_id(technique, function, address), made)
            return wanted and (technique, address) not in avoided

        def attempt(facts: Facts) -> TunedWindow:
            program = work.program
            return tune_window(
                window,
                self.techniques,
                program.target,
                work.cpu,
                work.prover,
                chosen,
                program.locked_addresses,
                facts,
                program.held,
                program.devices,
                program.fixups,
            )

        def again(without: frozenset[Key]) -> TunedWindow:
            avoided.update(without)
            return attempt(tuned.facts)

        tuned = attempt({})
        if any(refused.reason == UNRELATED for refused in tuned.refused):
            facts = work.program.facts(function).get(window.address)
            tuned = attempt(facts) if facts else tuned
        tuned = untrapped(tuned, again, self.setting) if tuned.accepted else tuned
        self._record(function, window, tuned)

    def _record(self, function: Function, window: Window, tuned: TunedWindow) -> None:
        work, addresses = self.work, window.addresses()
        work.edits += [self._edit(function, addresses, a) for a in tuned.accepted]
        for refused in tuned.refused:
            self._refused(function, addresses, refused)
        changed = zip(addresses, tuned.window.insns, tuned.slots, strict=True)
        slots = {address: new for address, old, new in changed if new is not old}
        if slots:
            work.slots.setdefault(function, {}).update(slots)
            work.carried.setdefault(function, {}).update(tuned.carried)

    def _refused(self, function: Function, addresses: Sequence[int], refused: Refused) -> None:
        at = addresses[refused.site.slot]
        self.work.leave(refused.technique, refused.site.kind, function, at, refused.reason)

    def _edit(self, function: Function, addresses: Sequence[int], accepted: Accepted) -> Edit:
        text = self.work.program.target.table.text
        both = enumerate(zip(accepted.before, accepted.after, strict=True))
        changed = [n for n, (a, b) in both if a is not b]
        address, start = addresses[accepted.rewrite.site], addresses[0]

        def lines(slots: Iterable[Insn | None]) -> str:
            return "; ".join(text(insn) for insn in slots if insn is not None)

        return Edit(
            id=edit_id(accepted.technique, function, address),
            technique=accepted.technique,
            kind=accepted.rewrite.kind,
            routine=function.name,
            address=address,
            old=lines(accepted.before[n] for n in changed),
            new=lines(accepted.after[n] for n in changed),
            evidence=accepted.evidence,
            gain=accepted.gain,
            cycles=self.work.saved(packed(start, accepted.before), packed(start, accepted.after)),
        )


def clues(program: Program, techniques: Iterable[Technique]) -> dict[int, list[int]]:
    """Functions by number, each with the positions that some technique asks to see."""
    graph, target = program.graph, program.target
    listing = graph.listing
    names = {n for t in techniques for n in target.spelling.CLUES.get(t.name, ())}
    rows = [n for n, op in enumerate(listing.table.rows) if op.name in names]
    stores = [n for n in rows if listing.table.effects(listing.table.rows[n]).stores]
    acts = listing.defs.any(axis=1) | np.isin(listing.rows, stores)  # the rest are fillers
    hits = np.flatnonzero(np.isin(listing.rows, rows) & acts)
    blocks = np.searchsorted(graph.first, hits, side="right") - 1
    owners = graph.function_of[blocks]
    found: dict[int, list[int]] = {}
    for owner, hit in zip(owners.tolist(), hits.tolist(), strict=True):
        if owner >= 0:
            found.setdefault(owner, []).append(hit)
    return found
