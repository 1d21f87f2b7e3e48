"""The page of many files: an archive, a build, a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.elf.headers import printable
from rewriter.report.grid import in_order, joined
from rewriter.report.html.render import packed, rendered
from rewriter.report.html.words import GRADES, sentences

LARGEST = 15
"""Files whose bars are drawn."""


@dataclass(frozen=True, slots=True)
class Row:
    """One file: what it was tuned for, and what became of it.

    `edits` are counted by pass ("" where that is not known), `grades` by evidence; `bytes` is the
    file's size, `saved` counts instructions.  `status` is a word, the same for all files that went
    the same way, and `reason` says more where it is not enough.
    """

    file: str
    machine: str = ""
    cpu: str = ""
    edits: Mapping[str, int] = field(default_factory=dict)
    grades: Mapping[str, int] = field(default_factory=dict)
    bytes: int = 0
    saved: int = 0
    status: str = ""
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """Something of the archive and how much of it: `share` in percent of the largest."""

    name: str
    what: str
    number: int
    share: float


def archive(rows: Iterable[Row], title: str, retune: str) -> bytes:
    """The page of files as UTF-8; `title` is the archive's name, `retune` the version."""
    files = list(rows)
    edits = Counter[str]()
    grades = Counter[str]()
    for row in files:
        edits.update(row.edits)
        grades.update(row.grades)
    seconds = sum(row.seconds for row in files)
    return rendered(
        "archive.html",
        ("unpack.js", "table.js", "archive.js"),
        title=printable(title),
        retune=printable(retune),
        files=len(files),
        changed=sum(1 for row in files if row.edits),
        edits=edits.total(),
        saved=sum(row.saved for row in files),
        bytes=sum(row.bytes for row in files),
        seconds=seconds,
        grades=in_order(grades),
        grade_words=GRADES,
        statuses=_parts(Counter(printable(row.status) for row in files), {}),
        reasons=in_order(Counter(printable(row.reason) for row in files if row.reason)),
        techniques=_parts(+edits, sentences(edits)),
        most=_most(files),
        tables=packed(_columns(files)),
    )


def _parts(counts: Counter[str], words: Mapping[str, str]) -> list[Part]:
    most = max(counts.values(), default=1)
    return [Part(n, words.get(n, ""), k, 100 * k / most) for n, k in in_order(counts).items()]


def _most(files: Sequence[Row]) -> list[Part]:
    """The files in which most instructions were saved."""
    best = sorted((f for f in files if f.saved > 0), key=lambda f: (-f.saved, f.file))[:LARGEST]
    most = max((f.saved for f in best), default=1)
    return [Part(printable(f.file), "", f.saved, 100 * f.saved / most) for f in best]


def _columns(files: Sequence[Row]) -> dict[str, list[object]]:
    return {
        "file": [printable(row.file) for row in files],
        "for": [printable(f"{row.machine} {row.cpu}".strip()) for row in files],
        "edits": [sum(row.edits.values()) for row in files],
        "passes": [
            joined({name: number for name, number in row.edits.items() if name and number})
            for row in files
        ],
        "saved": [row.saved for row in files],
        "bytes": [row.bytes for row in files],
        "seconds": [round(row.seconds, 1) for row in files],
        "status": [printable(row.status) for row in files],
        "reason": [printable(row.reason) for row in files],
    }
