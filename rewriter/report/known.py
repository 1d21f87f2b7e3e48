"""Known routines of a file, and what a compilation of signatures gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.identify.compiler import Compiled
from rewriter.identify.signatures import Database, Signature, Source
from rewriter.report.grid import Grid, in_order, joined
from rewriter.verify.routines.known import Identification


@dataclass(frozen=True)
class Known:
    """What `identify --known` found, by address."""

    target: str
    identified: tuple[Identification, ...]

    @property
    def return_code(self) -> int:
        """0 when any routine is known, else 4: nothing that could be replaced."""
        return 0 if any(one.known for one in self.identified) else 4

    @property
    def counts(self) -> dict[str, int]:
        """How many routines, by what is known of them."""
        return in_order(Counter(one.status.value for one in self.identified))

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs; sizes in bytes."""
        return {
            "target": self.target,
            "counts": self.counts,
            "findings": [
                {
                    "address": f.address,
                    "size": f.size,
                    "routine": f.routine,
                    "status": f.status.value,
                    "evidence": str(f.evidence) if f.evidence else None,
                    "detail": f.detail,
                    "normal": f.signature.digest if f.signature else None,
                    "sources": [_source_json(s) for s in f.signature.sources]
                    if f.signature
                    else [],
                }
                for f in self.identified
            ],
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """One line a routine; with a verbosity of 1 each source of its signature."""
        yield self._title()
        for f in self.identified:
            yield " ".join(_cells(f))
            for source in f.signature.sources if f.signature and verbosity > 0 else ():
                yield f"{f.address:#x} {f.routine} from {_shown(source)}"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same as tables."""
        columns = ("address", "routine", "how", "bytes", "signature from", "evidence")
        rows = tuple(_cells(f) for f in self.identified)
        yield Grid(self._title(), columns, rows, frozenset({"address", "bytes"}))
        sources = tuple(
            (f.routine, _shown(source))
            for f in self.identified
            for source in (f.signature.sources if f.signature and verbosity > 0 else ())
        )
        if sources:
            yield Grid("sources", ("routine", "seen in"), sources)

    def _title(self) -> str:
        return f"{self.target}: {joined(self.counts) or 'no known routine'}"


def _cells(f: Identification) -> tuple[str, ...]:
    sources = f.signature.sources if f.signature else ()
    first = sources[0].place if sources else "-"
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    said = f"{f.evidence} {f.detail}" if f.evidence else f.detail
    return (
        f"{f.address:#x}", f.routine, f.status.value, str(f.size),
        printable(first + more), printable(said),
    )  # fmt: skip


def _shown(source: Source) -> str:
    said = ", ".join(text for text in (source.file.compiler, source.file.note) if text)
    return printable(f"{source}, SHA-256 {source.file.sha256}" + (f" ({said})" if said else ""))


def _source_json(source: Source) -> dict[str, str]:
    return {
        "file": source.file.name, "sha256": source.file.sha256, "inside": source.inside,
        "symbol": source.symbol, "compiler": source.file.compiler, "note": source.file.note,
    }  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What `signatures make` made of each file."""

    database: Database
    files: Sequence[Compiled]

    @property
    def return_code(self) -> int:
        """0 when there is any signature, else 4: there was nothing to write."""
        return 0 if self.database.signatures else 4

    def as_json(self) -> dict[str, Any]:
        """Figures of each file, and what was refused with the reason."""
        return {
            "target": self.database.target,
            "signatures": len(self.database.signatures),
            "routines": list(self.database.routines()),
            "files": [
                {
                    "name": c.file.name, "sha256": c.file.sha256, "compiler": c.file.compiler,
                    "functions": c.functions, "signatures": len(c.signatures),
                    "refused": [
                        {"inside": r.inside, "symbol": r.symbol, "reason": r.reason}
                        for r in c.refused
                    ],
                }
                for c in self.files
            ],
        }  # fmt: skip

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """One line a file and a total; with a verbosity of 1 what was refused, of 2 signatures."""
        for c in self.files:
            functions = counted(c.functions, "function")
            made = counted(len(c.signatures), "signature")
            yield printable(f"{c.file.name}: {functions}, {made}, {len(c.refused)} refused")
            for r in c.refused if verbosity > 0 else ():
                yield f"{printable(c.file.name)}{r.inside} {r.symbol}: refused: {r.reason}"
        yield self._title()
        for s in self.database.signatures if verbosity > 1 else ():
            yield _described(s)

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same as tables."""
        rows = tuple(
            (printable(c.file.name), str(c.functions), str(len(c.signatures)), str(len(c.refused)))
            for c in self.files
        )
        columns = ("file", "functions", "signatures", "refused")
        yield Grid(self._title(), columns, rows, frozenset(columns[1:]))
        yield from list(self.lines(verbosity))[len(self.files) + 1 :] if verbosity > 1 else ()

    def _title(self) -> str:
        made = counted(len(self.database.signatures), "signature")
        routines = counted(len(self.database.routines()), "routine")
        return f"{self.database.target}: {made} of {routines}"


def _described(signature: Signature) -> str:
    seen = counted(len(signature.sources), "source")
    return f"{signature.routine} {signature.words} words {signature.digest[:16]} ({seen})"
