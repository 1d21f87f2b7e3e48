"""The page of one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from passes import ORDER
from rewriter.elf.headers import printable
from rewriter.report.grid import in_order
from rewriter.report.html import charts
from rewriter.report.html.chapters import TIMED, Entry, Progress, chapters, entries, modelled
from rewriter.report.html.curves import curves
from rewriter.report.html.render import packed, rendered
from rewriter.report.html.sides import Sketch
from rewriter.report.html.subject import Subject
from rewriter.report.html.table import tables
from rewriter.report.html.texts import text_of
from rewriter.report.html.words import GRADES, sentences


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of edit of a pass."""

    name: str
    edits: int
    saved: int


@dataclass(frozen=True, slots=True)
class Technique:
    """A pass: what it is, what it did by kind, and how many sites it left alone for what reason."""

    name: str
    what: str
    edits: int
    saved: int
    share: float
    cycles: float | None
    kinds: tuple[Kind, ...]
    left: Mapping[str, int]


def page(subject: Subject, progress: Progress, jobs: int = 1, limit: int | None = TIMED) -> bytes:
    """The page as UTF-8, the same for the same subject.

    `jobs` processes share the work.  At most `limit` instructions are timed: those of functions
    that are hot, or where most was done in few bytes; None times all.
    """
    progress("read", 0, 1)
    text = text_of(subject)
    found = entries(subject, text.functions)
    timed = modelled(found, limit, max(1, subject.target.table.size))
    progress("read", 1, 1)
    parts: list[str] = []
    sketches: list[Sketch] = []
    for part, figures in chapters(text, found, timed, progress, jobs):
        parts.append(part)
        sketches += figures
    measured = curves(subject, progress)
    return rendered(
        "page.html",
        ("unpack.js", "table.js", "sides.js", "page.js"),
        title=printable(subject.before.name.rpartition("/")[2]),
        figures=_figures(subject, found, len(text.functions), text.instructions),
        cpu=subject.cpu,
        machine=subject.target.name,
        block=text.block,
        grades=in_order(subject.grades),
        grade_words=GRADES,
        assumed=_assumed(subject),
        techniques=list(_techniques(subject)),
        left=_left(subject),
        refused=in_order(Counter(printable(r.reason) for r in subject.refusals)),
        map=charts.address_map(text.functions, subject.edits),
        curves=[charts.drawn(curve) for curve in measured if curve.points],
        untimed=[curve for curve in measured if not curve.points],
        stalls=charts.stalls(sketches),
        modelled=_modelled(sketches),
        heat=subject.heat,
        hot=_hot(subject),
        options=_options(subject),
        remarks=[printable(remark) for remark in subject.remarks],
        retune=printable(subject.retune),
        tables=packed(tables(subject, found, sketches)),
        chapters=parts,
        one_by_one=bool(subject.sites),
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures at the head of the page; sizes in bytes."""

    edits: int
    changed: int
    functions: int
    instructions: int
    saved: int
    bytes: int
    size: int


def _figures(
    subject: Subject, found: Sequence[Entry], functions: int, instructions: int
) -> Figures:
    return Figures(
        edits=len(subject.edits),
        changed=len(found),
        functions=functions,
        instructions=instructions,
        saved=subject.saved,
        bytes=subject.changed_bytes,
        size=len(subject.before.data),
    )


def _techniques(subject: Subject) -> Iterator[Technique]:
    """The passes in the order in which they run, without those that found nothing."""
    most = max(Counter(edit.technique for edit in subject.edits).values(), default=1)
    ours = [one.name for one in ORDER]
    others = sorted({edit.technique for edit in subject.edits} - {*ours})
    words = sentences((*ours, *others))
    for name in (*ours, *others):
        edits = [edit for edit in subject.edits if edit.technique == name]
        left = {
            printable(why): number
            for (technique, why), number in sorted(subject.left.items(), key=lambda i: -i[1])
            if technique == name
        }
        if not edits and not left:
            continue
        kinds = Counter(edit.kind for edit in edits)
        saved = Counter[str]()
        for edit in edits:
            saved[edit.kind] += edit.gain
        timed = [edit.cycles for edit in edits if edit.cycles is not None]
        yield Technique(
            name,
            words[name],
            len(edits),
            sum(saved.values()),
            100 * len(edits) / most,
            float(sum(timed)) if timed else None,
            tuple(Kind(printable(k), n, saved[k]) for k, n in in_order(kinds).items()),
            left,
        )


def _left(subject: Subject) -> list[tuple[str, str, int]]:
    """(Pass, reason, sites), the most frequent first."""
    rows = sorted(subject.left.items(), key=lambda item: (-item[1], item[0]))
    return [(technique, printable(why), number) for (technique, why), number in rows]


def _assumed(subject: Subject) -> dict[str, int]:
    every = Counter(p for edit in subject.edits for p in edit.evidence.preconditions)
    return {printable(text): number for text, number in in_order(every).items()}


def _modelled(sketches: Sequence[Sketch]) -> tuple[int, int, int]:
    """How many functions were timed, and their cycles before and after."""
    pairs = [sketch.cycles for sketch in sketches if sketch.cycles]
    return len(pairs), sum(old for old, _ in pairs), sum(new for _, new in pairs)


def _hot(subject: Subject) -> list[charts.Hot]:
    if subject.heat is None:
        return []
    return charts.hottest(subject.heat, subject.edits, subject.refusals)


def _options(subject: Subject) -> list[tuple[str, str]]:
    def shown(value: Any) -> str:
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    return [(printable(k), printable(shown(v))) for k, v in sorted(subject.options.items()) if v]
