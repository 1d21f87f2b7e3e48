"""Rows of code in bundles: ports, issue cycles and bubbles."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from rewriter.analysis.functions import bundled_functions
from rewriter.core.code.groups import Slot
from rewriter.core.code.program import Function, Refusal
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.cpu import Cpu
from rewriter.elf.image import Image
from rewriter.report.html.text import Row, Stretch
from rewriter.timing.bundled.run import run


class BundledText:
    """Both images, read bundle by bundle."""

    def __init__(self, before: Image, after: Image, target: Bundling, cpu: Cpu) -> None:
        self.images = before, after
        self.target = target
        self.cpu = cpu.bundled
        self.block = target.bundle
        self.functions: Sequence[Function] = bundled_functions(before, target)
        self._code = target.code(before, self.functions)
        self.instructions = 3 * self._code.bundles

    def refusals(self) -> Sequence[Refusal]:
        """The functions that stay as they are."""
        found = (self._code.routine(function) for function in self.functions)
        return [Refusal(one.function, one.reason) for one in found if one.reason]

    def before(self, start: int, end: int, timed: bool) -> Sequence[Stretch]:
        """The code of a range as it was."""
        return list(self._stretches(self.images[0], start, end, timed))

    def after(self, start: int, end: int, timed: bool) -> Sequence[Stretch]:
        """The code of a range as it is."""
        return list(self._stretches(self.images[1], start, end, timed))

    def _stretches(self, image: Image, start: int, end: int, timed: bool) -> Iterator[Stretch]:
        try:
            slots = list(self.target.straight(image.read(start, end - start), start))
        except ValueError:
            yield Stretch((Row(start, "data", "(not all of this is code)"),))
            return
        for stretch in self._cut(slots):
            yield self._one(stretch, timed)

    def _cut(self, slots: Sequence[Slot]) -> Iterator[Sequence[Slot]]:
        """Whole bundles, cut before those that are branched to and behind those that branch."""
        bundles: dict[int, list[Slot]] = {}
        for slot in slots:
            bundles.setdefault(slot.address // self.block * self.block, []).append(slot)
        targets = {
            slot.insn.target(slot.address // self.block * self.block)
            for slot in slots
            if slot.insn.op.flow is not Flow.NEXT
        }
        stretch: list[Slot] = []
        for address, bundle in bundles.items():
            if stretch and address in targets:
                yield stretch
                stretch = []
            stretch += bundle
            if any(slot.insn.op.flow is not Flow.NEXT for slot in bundle):
                yield stretch
                stretch = []
        if stretch:
            yield stretch

    def _one(self, stretch: Sequence[Slot], timed: bool) -> Stretch:
        if self.cpu is None or not timed:
            return Stretch(tuple(self._row(slot) for slot in stretch))
        timing = run(self.cpu, stretch)
        rows = (
            self._row(issued.slot, issued.port, issued.cycle, issued.waited, issued.cause)
            for issued in timing.timeline
        )
        return Stretch(tuple(rows), timing.cycles, dict(timing.bubbles))

    def _row(
        self, slot: Slot, port: str = "", cycle: int = -1, waited: int = 0, cause: str = ""
    ) -> Row:
        target = self.target
        bundle = slot.address // self.block * self.block
        said = target.table.text(slot.insn, bundle) + (" ;;" if slot.stop else "")
        key: Hashable = target.place_free(slot.insn), slot.stop
        return Row(slot.address, key, said, "", port, cycle, waited, cause)
