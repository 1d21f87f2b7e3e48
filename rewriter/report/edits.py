"""Edits one by one, as a run made them or as a manifest lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rewriter.core.edit import Edit
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.elf.manifest import Manifest
from rewriter.report.grid import Grid, in_order, joined


def edit_json(edit: Edit) -> dict[str, Any]:
    """One edit for programs; `old` and `new` are assembler text."""
    return {
        "id": edit.id, "pass": edit.technique, "kind": edit.kind, "function": edit.routine,
        "address": edit.address, "old": edit.old, "new": edit.new, "saved": edit.gain,
        "grade": edit.evidence.grade.value, "cases": edit.evidence.cases,
        "preconditions": list(edit.evidence.preconditions),
        "patterns": list(edit.evidence.patterns), "detail": edit.evidence.detail,
        "cycles": None if edit.cycles is None else float(edit.cycles),
    }  # fmt: skip


def rounded(cycles: Fraction) -> str:
    """Cycles with at most one digit behind the point."""
    return f"{float(cycles):.1f}".removesuffix(".0")


def gain(instructions: int, cycles: Fraction | None) -> str:
    """What is saved, or added, in words; instructions always, cycles where they were modelled."""
    said = _amount(instructions, str(abs(instructions)), "instruction")
    if cycles is None:
        return said
    return f"{said}, {_amount(cycles, rounded(abs(cycles)), 'modelled cycle')}"


def amounts(instructions: int, cycles: Fraction) -> list[str]:
    """What is saved or added that is not nothing, in words."""
    said = [_amount(instructions, str(abs(instructions)), "instruction")] if instructions else []
    return [*said, *([_amount(cycles, rounded(abs(cycles)), "modelled cycle")] if cycles else [])]


def _amount(amount: int | Fraction, shown: str, what: str) -> str:
    return f"{counted(shown, what)} {_done(amount)}"


def _done(amount: int | Fraction) -> str:
    return "saved" if amount >= 0 else "added"


def gained(edit: Edit) -> str:
    """What an edit saves: instructions, or what its evidence says where it saves none."""
    if edit.gain > 0 or not edit.evidence.detail:
        return f"saves {counted(edit.gain, 'instruction')}"
    return printable(edit.evidence.detail)


def edit_lines(edits: Iterable[Edit]) -> Iterator[str]:
    """One line an edit: id, address, kind, what it saves, on what evidence."""
    for edit in edits:
        shown = printable(str(edit.evidence))
        kind = printable(edit.kind)
        yield f"{printable(edit.id)} at {edit.address:#x}: {kind}, {gained(edit)}, {shown}"


def edit_grid(edits: Iterable[Edit]) -> Grid:
    """The same as a table."""
    rows = tuple(
        (
            printable(e.id), f"{e.address:#x}", printable(e.kind), str(e.gain),
            printable(str(e.evidence)),
        )
        for e in edits
    )  # fmt: skip
    columns = ("id", "address", "kind", "saves", "evidence")
    return Grid("edits", columns, rows, frozenset({"address", "saves"}))


@dataclass(frozen=True)
class Listed:
    """A manifest, to be looked at."""

    manifest: Manifest

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs; bytes in hexadecimal, null if the file was laid out anew."""
        m = self.manifest
        return {
            "retune": m.retune, "target": m.target, "cpu": m.cpu, "options": dict(m.options),
            "original": m.file_digest, "patched": m.patched, "skips": in_order(m.skips),
            "edits": [edit_json(edit) for edit in m.edits],
            "patches": None if m.unread else [
                {"offset": p.offset, "old": p.old.hex(), "new": p.new.hex()} for p in m.patches
            ],
        }  # fmt: skip

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """One line an edit; quieter than that is `grep -c`."""
        yield from edit_lines(self.manifest.edits)
        yield from self._closing()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The edits as a table."""
        yield edit_grid(self.manifest.edits)
        yield from self._closing()

    def _closing(self) -> Iterator[str]:
        m = self.manifest
        yield printable(f"for {m.target} {m.cpu}, by retune {m.retune}")
        for reason, number in in_order(m.skips).items():
            yield f"left alone: {counted(number, 'site')}: {printable(reason)}"
        grades = joined(Counter(edit.evidence.grade.value for edit in m.edits))
        yield f"{counted(len(m.edits), 'edit')} in {counted(m.places, 'place')}: {grades}"


@dataclass(frozen=True)
class Reverted:
    """Edits that were taken back."""

    manifest: Manifest

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        m = self.manifest
        return {"original": m.file_digest, "edits": len(m.edits), "patches": m.places}

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """One line."""
        m = self.manifest
        yield f"{counted(len(m.edits), 'edit')} taken back; original SHA-256 {m.file_digest}"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same."""
        yield from self.lines(verbosity)
