"""One function before and after, with the edits where they stand.

Instructions are matched by what they are, not by where: one that only moved, or a branch whose
distance changed with it, is the same instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Skip
from rewriter.core.isa.instruction import Insn
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.report.edits import edit_json, gained
from rewriter.report.grid import Grid
from rewriter.report.summary.report import Outcome


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction of a listing: `word` in hexadecimal, `text` in assembler."""

    address: int
    word: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """`mark` is "-" for a line that went, "+" for one that came, " " for one that stayed."""

    mark: str
    line: Line
    note: str = ""


@dataclass(frozen=True)
class Explanation:
    """A function, what was done to it, and what was not."""

    function: Function
    cpu: str
    rows: tuple[Row, ...]
    edits: tuple[Edit, ...]
    skips: tuple[Skip, ...] = ()
    refusal: str = ""

    @property
    def return_code(self) -> int:
        """0: a function without edits is explained too."""
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "function": self.function.name,
            "start": self.function.start,
            "end": self.function.end,
            "cpu": self.cpu,
            "refusal": self.refusal,
            "edits": [edit_json(edit) for edit in self.edits],
            "skips": [
                {"pass": s.technique, "kind": s.kind, "address": s.address, "reason": s.reason}
                for s in self.skips
            ],
            "listing": [
                {
                    "mark": r.mark,
                    "address": r.line.address,
                    "word": r.line.word,
                    "text": r.line.text,
                }
                for r in self.rows
            ],
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """The listing in the manner of a diff, then each edit with its evidence."""
        yield from self._heading()
        for row in self.rows:
            note = f"  ; {row.note}" if row.note else ""
            yield f"{row.mark} {row.line.address:x}: {row.line.word}  {row.line.text}{note}"
        yield from self._reasons()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same with the listing as a table."""
        yield from self._heading()
        rows = tuple(
            (row.mark, f"{row.line.address:x}", row.line.word, row.line.text, row.note)
            for row in self.rows
        )
        yield Grid("", ("", "address", "word", "instruction", "edit"), rows, frozenset({"address"}))
        yield from self._reasons()

    def _heading(self) -> Iterator[str]:
        f = self.function
        yield f"{printable(f.name)}: {f.start:#x} to {f.end:#x}, known from: {f.source}"

    def _reasons(self) -> Iterator[str]:
        if self.refusal:
            yield f"left alone: {printable(self.refusal)}"
        for edit in self.edits:
            yield f"{printable(edit.id)}: {edit.kind}, {gained(edit)}"
            yield f"  evidence: {replace(edit.evidence, preconditions=())}"
            yield from (f"  assumes: {printable(p)}" for p in edit.evidence.preconditions)
            if edit.evidence.patterns:
                yield f"  proved patterns: {', '.join(edit.evidence.patterns)}"
        for skip in self.skips:
            where = f"{skip.technique} at {skip.address:#x}"
            yield f"left alone: {where}: {skip.kind}: {printable(skip.reason)}"
        saved = counted(sum(edit.gain for edit in self.edits), "instruction")
        yield f"for {self.cpu}: {counted(len(self.edits), 'edit')}, {saved} saved"


def explain(
    function: Function,
    old: Listing,
    new: Listing,
    outcome: Outcome,
) -> Explanation:
    """Return what happened to `function`, whose text is in the same place in both listings."""
    inside = tuple(edit for edit in outcome.edits if edit.address in function)
    reasons = [r.reason for r in outcome.refusals if r.function.start == function.start]
    return Explanation(
        function=function,
        cpu=outcome.cpu.name,
        rows=tuple(matched(instructions(old, function), instructions(new, function), inside)),
        edits=inside,
        skips=tuple(skip for skip in outcome.skips if skip.address in function),
        refusal="; ".join(reasons),
    )


def instructions(listing: Listing, function: Function) -> list[tuple[object, Line]]:
    """(what it is, how it looks) of each instruction of the function."""
    table = listing.table
    first, last = listing.span(function.start, function.end)
    found: list[tuple[object, Line]] = []
    for at in range(first, last):
        address, word = int(listing.addresses[at]), int(listing.words[at])
        insn = listing.insn(at)
        text = table.text(insn, address) if insn is not None else "(data)"
        key = _key(insn) if insn is not None else word
        digits = 2 * (table.size if insn is None else insn.size)
        found.append((key, Line(address, f"{word:0{digits}x}", text)))
    return found


def _key(insn: Insn) -> object:
    """The instruction without the distance of its target, which changes when code moves."""
    return insn.op, insn.placeless


def matched(
    old: list[tuple[object, Line]], new: list[tuple[object, Line]], edits: Sequence[Edit]
) -> Iterator[Row]:
    """The lines of two listings in the manner of a diff; what is the same is known by its key."""
    names: dict[int, list[str]] = {}
    for edit in edits:
        names.setdefault(edit.address, []).append(printable(edit.id))
    # Junk is a guess about prose: instructions that occur often are no junk.
    matcher = SequenceMatcher(None, [k for k, _ in old], [k for k, _ in new], autojunk=False)
    for tag, i, j, m, n in matcher.get_opcodes():
        for _, line in old[i:j]:
            mark = " " if tag == "equal" else "-"
            yield Row(mark, line, " ".join(names.get(line.address, ())))
        if tag != "equal":
            yield from (Row("+", line) for _, line in new[m:n])
