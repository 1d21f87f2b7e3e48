"""What became of mutants, counted by file and kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tests.support.mutants.changes import KINDS, Outcome

_LAST = ("refused", "UNEXPLAINED")


def table(outcomes: Iterable[Outcome]) -> str:
    """A table in Markdown: file, base and kind; drawn, refused, explained by what, unexplained."""
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        counts[one.file, one.base, one.change.kind][one.what] += 1
    reasons = sorted({what for count in counts.values() for what in count if what not in _LAST})
    header = ("file", "base", "kind", "drawn", "refused", *reasons, "unexplained")
    lines = [_line(header), _line(["---"] * len(header))]
    lines += [_line(cells) for cells in _rows(counts, reasons)]
    return "\n".join(lines) + "\n"


def _rows(
    counts: dict[tuple[str, str, str], Counter[str]], reasons: list[str]
) -> Iterator[list[str]]:
    total = sum(counts.values(), Counter[str]())
    keys = sorted(counts, key=lambda key: (key[0], key[1], KINDS.index(key[2])))
    for key in keys:
        yield [*key, *_cells(counts[key], reasons)]
    yield ["all", "", "", *_cells(total, reasons)]


def _cells(count: Counter[str], reasons: list[str]) -> list[str]:
    every = (count.total(), *(count[what] for what in ("refused", *reasons, "UNEXPLAINED")))
    return [f"{number:,}" if number else "" for number in every]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
