"""A routine on a CPU before and after: fetch blocks, slots, issue cycles, and what waits for what.

Figures are a timing model's, never a machine's, and each straight stretch is timed by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.table import Table
from rewriter.core.plural import counted
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.cpu import Cpu, System
from rewriter.elf.headers import printable
from rewriter.elf.image import Image
from rewriter.report.grid import Grid
from rewriter.report.html.bundled import BundledText
from rewriter.report.html.text import Stretch as Rows
from rewriter.timing.described import NotDescribed
from rewriter.timing.static import letters
from rewriter.timing.straight import Stretch, timed

_COLUMNS = ("", "address", "slot", "pipe", "cycle", "instruction", "waits", "for")
_RIGHT = frozenset({"address", "cycle", "waits"})


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction: `cycle` is its issue from the stretch's first, `starts` a fetch block."""

    starts: bool
    address: int
    slot: str
    pipe: str
    cycle: int
    text: str
    waited: int
    cause: str

    def cells(self) -> tuple[str, ...]:
        """As text; what is never issued has no cycle."""
        issued = bool(self.pipe)
        waits = (str(self.waited), self.cause) if self.waited else ("", "")
        place = ("|" if self.starts else "", f"{self.address:x}", self.slot, self.pipe)
        return (*place, str(self.cycle) if issued else "", self.text, *waits)


@dataclass(frozen=True)
class Side:
    """One version of the routine: stretches, each with its rows and its cycles."""

    stretches: tuple[tuple[tuple[Row, ...], int], ...]

    def as_json(self) -> list[dict[str, Any]]:
        """Every stretch, for programs."""
        return [
            {
                "cycles": cycles,
                "instructions": [
                    {
                        "address": row.address,
                        "fetch_block": row.starts,
                        "slot": row.slot,
                        "pipe": row.pipe,
                        "cycle": row.cycle if row.pipe else None,
                        "text": row.text,
                        "waits": row.waited,
                        "for": row.cause,
                    }
                    for row in rows
                ],
            }
            for rows, cycles in self.stretches
        ]


@dataclass(frozen=True)
class Timed:
    """A routine before and after; `system` is empty where the CPU's description has it all."""

    function: Function
    cpu: str
    system: str
    before: Side
    after: Side

    @property
    def return_code(self) -> int:
        """Always 0."""
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "function": self.function.name,
            "model": self.cpu,
            "machine": self.system or None,
            "before": self.before.as_json(),
            "after": self.after.as_json(),
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """Plain lines: a bar before the first instruction of a fetch block."""
        for title, side in self._sides():
            yield title
            for rows, cycles in side.stretches:
                for row in rows:
                    bar, address, slot, pipe, cycle, text, waits, cause = row.cells()
                    note = f"  ; waits {waits} for {cause}" if waits else ""
                    yield f"{bar:1} {address} {slot:1} {pipe:5} {cycle:>3}  {text}{note}"
                yield f"  {counted(cycles, 'cycle')}"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """One table for each stretch."""
        for title, side in self._sides():
            yield title
            for rows, cycles in side.stretches:
                cells = tuple(row.cells() for row in rows)
                yield Grid(counted(cycles, "cycle"), _COLUMNS, cells, _RIGHT)

    def _sides(self) -> Iterator[tuple[str, Side]]:
        around = f" in a {self.system}" if self.system else ""
        for what, side in (("before", self.before), ("after", self.after)):
            yield (
                (
                    f"{printable(self.function.name)} {what}, by the model of {self.cpu}{around}:"
                    f" each straight stretch by itself, every access in the cache"
                ),
                side,
            )


def cycles(function: Function, old: Listing, new: Listing, cpu: Cpu, system: System) -> Timed:
    """The routine in both listings, timed on a CPU; NotDescribed for one without a model."""
    before, after = (_side(listing, function, cpu, system) for listing in (old, new))
    return Timed(function, cpu.name, system.name, before, after)


def bundled_cycles(function: Function, old: Image, new: Image, target: Bundling, cpu: Cpu) -> Timed:
    """The routine in both files, bundle by bundle; NotDescribed for a CPU without a model."""
    if cpu.bundled is None:
        raise NotDescribed(f"{cpu.name} has no timing description")
    text = BundledText(old, new, target, cpu)
    before, after = (
        Side(tuple((tuple(_in_bundles(s, target.bundle)), s.cycles) for s in side))
        for side in (
            text.before(function.start, function.end, True),
            text.after(function.start, function.end, True),
        )
    )
    return Timed(function, cpu.name, "", before, after)


def _in_bundles(stretch: Rows, bundle: int) -> Iterator[Row]:
    """The rows of a stretch: a bundle is what is fetched, its first slot starts one."""
    for row in stretch.rows:
        starts = row.address % bundle == 0
        place = starts, row.address, row.slot, row.pipe, row.cycle
        yield Row(*place, row.text, row.waited, row.cause)


def _side(listing: Listing, function: Function, cpu: Cpu, system: System) -> Side:
    first, last = listing.span(function.start, function.end)
    places = listing.addresses[first:last].tolist()
    insns = [listing.insn(at) for at in range(first, last)]
    code = [(a, insn) for a, insn in zip(places, insns, strict=True) if insn is not None]
    in_slots = letters(code, cpu)
    size = cpu.fetch_block.value
    found = timed(code, listing.table, cpu, system)
    return Side(tuple((_rows(s, in_slots, size, listing.table), s.cycles) for s in found))


def _rows(stretch: Stretch, in_slots: dict[int, str], size: int, table: Table) -> tuple[Row, ...]:
    return tuple(
        Row(
            starts=moment.address % size == 0,
            address=moment.address,
            slot=in_slots.get(moment.address, ""),
            pipe=moment.pipe,
            cycle=cycle,
            text=table.text(insn, moment.address),
            waited=moment.waited if moment.pipe else 0,
            cause=moment.cause,
        )
        for insn, moment, cycle in stretch.moments()
    )
