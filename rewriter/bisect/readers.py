"""What a search asks of two files: units, what they need, their superblocks and listings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from passes import IN_PLACE
from passes.substitute import Substitute
from rewriter.analysis.functions import bundled_code
from rewriter.analysis.program import Program, analyse
from rewriter.bisect.units import NOBODY, Changes, Offsets, Unit, by_function, pieces
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
from rewriter.core.run.guard import guarded
from rewriter.core.target.bundling import Bundling, Code
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image, parse
from rewriter.elf.manifest import Manifest
from rewriter.report import regions
from rewriter.report.listing import Explanation, instructions, matched

Span = tuple[int, int, int]
Ranges = Sequence[tuple[int, int]]


class Reader(Protocol):
    """An original, its patched file without the note, and the manifest."""

    old: Image
    changes: Changes

    @property
    def program(self) -> Program | None:
        """The original analysed, where instructions stand alone."""
        ...

    def needs(self) -> dict[int, frozenset[int]]:
        """The units that a unit needs."""
        ...

    def superblocks(self, unit: Unit, offsets: Offsets) -> Ranges:
        """The parts of a unit that can be told apart, as addresses; none where none can."""
        ...

    def explained(self, units: Sequence[Unit], chosen: Sequence[Unit]) -> Iterator[Explanation]:
        """The functions of units before and after, with the edits of those that were chosen."""
        ...


class PlainReader:
    """Instructions that stand alone."""

    def __init__(self, old: Image, new: bytes, record: Manifest, target: Sequential) -> None:
        self.old, self.new, self.record, self.target = old, new, record, target
        self.program = analyse(old, target)
        functions = self.program.functions
        self.changes = by_function(old, new, functions, self._spans(), record.edits)

    def _spans(self) -> Iterator[Span]:
        """Jump tables, unwind instructions, exception entries: by the function's number."""
        program, offset_of = self.program, self.old.offset_of
        numbers = {function.start: n for n, function in enumerate(program.functions)}
        for function in program.functions:
            for table in program.tables_of(function):
                if table.exact and table.targets:
                    first = offset_of(table.address)
                    size = table.size * len(table.targets)
                    yield numbers[function.start], first, first + size
        for frame in program.frames.values():
            owner = program.function_at(frame.start)
            if owner is not None:
                yield numbers[owner.start], *frame.instructions
        for fixup in program.fixups.values():
            owner = program.function_at(fixup.access)
            if owner is not None:
                first = offset_of(fixup.entry)
                yield numbers[owner.start], first, first + self.target.tables.exceptions.size

    @cached_property
    def _after(self) -> Image:
        return parse(self.new, self.old.name)

    def needs(self) -> dict[int, frozenset[int]]:
        """Routines in pieces need the functions that left the room in which they stand."""
        units = self.changes.units
        if not any(map(_substituted, units)):
            return {}
        found = pieces(self.changes, self.program.listing, self.target.listing(self._after))
        shared = found.pop(NOBODY, frozenset())
        for number, unit in enumerate(units):
            if _substituted(unit):
                found[number] = (found.get(number, frozenset()) | shared) - {number}
        return found

    def superblocks(self, unit: Unit, offsets: Offsets) -> Ranges:
        """Superblocks, where every edit stays in one."""
        if not unit.edits or {edit.technique for edit in unit.edits} - IN_PLACE:
            return ()
        start, end = unit.function.start, unit.function.end
        first, last = self.old.offset_of(start), self.old.offset_of(end - 1)
        if offsets[0] < first or offsets[-1] > last:
            return ()
        return [(block.address, block.end) for block in self.program.superblocks(unit.function)]

    def explained(self, units: Sequence[Unit], chosen: Sequence[Unit]) -> Iterator[Explanation]:
        """A listing of each function."""
        before, after = self.program.listing, self.target.listing(self._after)
        for unit in units:
            function = unit.function
            edits = _edits(function, chosen)
            rows = matched(instructions(before, function), instructions(after, function), edits)
            yield Explanation(function, self.record.cpu, tuple(rows), edits)


class BundledReader:
    """Code that says what issues together."""

    program = None

    def __init__(self, old: Image, new: bytes, record: Manifest, target: Bundling) -> None:
        self.old, self.new, self.record, self.target = old, new, record, target
        code = bundled_code(old, target)
        changes = by_function(old, new, code.functions, self._spans(code), record.edits)
        self._pool = frozenset(n for n, unit in enumerate(changes.units) if _substituted(unit))
        if self._pool:  # what describes its routines to unwinders goes with them
            owners = np.where(changes.owners == NOBODY, min(self._pool), changes.owners)
            changes = replace(changes, owners=owners)
        self.changes = changes

    def _spans(self, code: Code) -> Iterator[Span]:
        """Jump tables and what describes a function to unwinders, by the function's number."""
        offset_of, size = self.old.offset_of, self.target.jump_word
        for number, function in enumerate(code.functions):
            described = partial(code.unwind_bytes, function)
            places = [guarded("comparison", described, lambda reason: range(0))]
            places += [range(place, place + size) for place, _ in code.routine(function).words]
            for place in filter(len, places):
                first = offset_of(place.start)
                yield number, first, first + len(place)

    def needs(self) -> dict[int, frozenset[int]]:
        """Tuned routines share the room of all that were replaced."""
        return {n: self._pool - {n} for n in self._pool}

    def superblocks(self, unit: Unit, offsets: Offsets) -> Ranges:
        """None: regions of a function may have moved together."""
        return ()

    def explained(self, units: Sequence[Unit], chosen: Sequence[Unit]) -> Iterator[Explanation]:
        """A listing of each function."""
        after = parse(self.new, self.old.name)
        for unit in units:
            function = unit.function
            edits = _edits(function, chosen)
            old, new = (regions.slots(self.target, image, function) for image in (self.old, after))
            yield Explanation(function, self.record.cpu, tuple(matched(old, new, edits)), edits)


def _substituted(unit: Unit) -> bool:
    return any(edit.technique == Substitute.name for edit in unit.edits)


def _edits(function: Function, chosen: Sequence[Unit]) -> tuple[Edit, ...]:
    return tuple(edit for unit in chosen if unit.function == function for edit in unit.edits)
