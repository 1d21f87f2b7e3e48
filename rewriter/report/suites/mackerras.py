"""The suite of Mackerras' talk: its tables beside ours, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rewriter.core.target.cpu import System
from rewriter.report.grid import Grid
from rewriter.suites.mackerras import (
    COPIES,
    ENTRIES,
    EXEC,
    FLUSHED,
    MANY,
    MEASURED,
    PAGE_COPY,
    POWER4,
    SIZES,
    SOURCE,
    UNSEEN,
    Row,
)

_COLUMNS = ("what", "as it is", "otherwise", "cycles", "then", "ratio", "least")
_TALK = ("the talk", "machine", "before", "after", "ratio", "not reproduced, because")
_RIGHT = frozenset({"cycles", "then", "ratio", "least", "before", "after"})
_NEAR = 0.10
"""How near a ratio must be to the talk's."""


@dataclass(frozen=True)
class Talk:
    """The rows on one machine; `banks` are ratios of the page copies by how long a bank is busy,
    `left` sites of flushes that stay, with the reason."""

    cpu: str
    system: System
    rows: tuple[Row, ...]
    banks: tuple[tuple[int, float], ...]
    left: tuple[tuple[str, str], ...] = ()

    @property
    def return_code(self) -> int:
        """Always 0."""
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        sizes = ("routine", "below_128", "unaligned")
        return {
            "model": self.cpu,
            "machine": self.system.name,
            "rows": [asdict(row) | {"ratio": row.ratio} for row in self.rows],
            "page_copies_by_cycles_of_a_bank": dict(self.banks),
            "left_alone": [list(one) for one in self.left],
            "why": [*self._reasons()],
            "unseen": UNSEEN,
            "measured": [asdict(row) | {"ratio": row.ratio} for row in MEASURED],
            "sizes": [dict(zip(sizes, row, strict=True)) for row in SIZES],
            "power4": dict(POWER4),
            "measured_source": SOURCE,
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """Tab-separated rows, then what follows."""
        yield self._machine()
        yield "\t".join(_COLUMNS)
        yield from ("\t".join(cells) for cells in self._cells())
        yield from self._notes()
        yield "\t".join(_TALK)
        yield from ("\t".join(cells) for cells in _talk())
        yield from _sizes()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same with the rows as tables."""
        yield self._machine()
        yield Grid("", _COLUMNS, tuple(self._cells()), _RIGHT)
        yield from self._notes()
        yield Grid("", _TALK, tuple(_talk()), _RIGHT)
        yield from _sizes()

    def _machine(self) -> str:
        system = self.system
        return (
            f"cycles by the model of {self.cpu} in a {system.name}: {system.description};"
            f" {system.clock.value} MHz, {system.line_time.value} ns to move a line,"
            f" {system.latency.value} ns to reach memory; `retune cpus -v` has their sources"
        )

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for row in self.rows:
            least = "-" if row.least is None else str(row.least)
            figures = (str(row.before), str(row.after), f"{row.ratio:.3f}", least)
            yield (row.what, *row.names, *figures)

    def _notes(self) -> Iterator[str]:
        yield from (f"left alone: {name}: {why}" for name, why in self.left)
        yield from self._reasons()
        yield from (f"not seen: {what}" for what in UNSEEN)
        yield f"measured on machines: {SOURCE}"

    def _reasons(self) -> Iterator[str]:
        """What each row says of the talk's."""
        for row in self.rows:
            if row.what == COPIES:
                yield _copies(row)
                for busy, ratio in self.banks:
                    yield f"with {busy} cycles of a bank for a store, a parameter: {ratio:.3f}"
            elif row.what == ENTRIES:
                yield _entries(row, self.system)
            elif row.what == FLUSHED:
                yield from _flushes(row)


def _talk() -> Iterator[tuple[str, ...]]:
    for row in MEASURED:
        figures = (f"{row.before:g} {row.unit}", f"{row.after:g} {row.unit}")
        yield (row.what, row.machine, *figures, f"{row.ratio:.3f}", row.why)


def _sizes() -> Iterator[str]:
    for name, below, unaligned in SIZES:
        yield f"calls of {name}: {below:.0%} below 128 bytes, {unaligned:.0%} not aligned to 8"
    yield from (f"{what}: {gain:.2%} less" for what, gain in POWER4)


def _copies(row: Row) -> str:
    said = "so it is here" if row.ratio <= PAGE_COPY * (1 + _NEAR) else "not so here"
    return (
        f"{row.names[1]}: {row.ratio:.3f} of the simple loop; the talk's is more than 50 % faster,"
        f" {PAGE_COPY:.3f} or less: {said}"
    )


def _flushes(row: Row) -> Iterator[str]:
    talk, name = MEASURED[0].ratio, row.names[0]
    if abs(row.ratio / talk - 1) <= _NEAR:
        yield f"{name}: {row.ratio:.3f}, the talk's {talk:.3f}"
        return
    if row.least is not None:
        yield (
            f"{name}: what flushes each block takes {row.least} cycles at least, by the"
            f" description's cycles for a block: {row.least / row.before:.3f}"
        )
    if row.ratio > talk:
        yield (
            f"{name}: the talk's {talk:.3f} (and {EXEC}'s {MEASURED[-1].ratio:.3f}) is of flushes"
            f" that are not made: {1 - talk / row.ratio:.0%} of them, if each takes what it does"
            " here"
        )


def _entries(row: Row, system: System) -> str:
    each = (row.before - row.after) / MANY
    executed = MEASURED[-1].after * system.clock.value
    return (
        f"{row.names[1]}: an entry takes {each:.0f} cycles less, of barriers, so that 1 % of an"
        f" exec of {MEASURED[-1].after:g} {MEASURED[-1].unit} at {system.clock.value} MHz is"
        f" {executed / 100 / each:.0f} entries: the talk found no gain on 32 bits and little on a"
        " POWER4, and there is no pass for it"
        if each > 0
        else f"{row.names[1]}: no cycles less"
    )
