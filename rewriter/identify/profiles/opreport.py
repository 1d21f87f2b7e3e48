"""`opreport -l`: samples by symbol.

Some lines on the CPU and the events, a line of headings, then a line a symbol:

    samples  %        image name               symbol name
    1353     24.9447  vmlinux                  sidtab_context_to_sid

`image name` and `app name` are there when there are several; with more events there are more pairs
of samples and %, of which the first counts; `-w` puts the address (vma) first. (OProfile manual,
"Image summaries and symbol summaries".)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewriter.core.errors import BadInput
from rewriter.identify.profiles.samples import Gathered, Profile, bad_line, is_count, numbered

NAME = "opreport"
HEADING = re.compile(r"(?P<vma>vma\s+)?(?P<pairs>(?:samples\s*\|?\s*%\s*\|?\s*)+)(?P<rest>.*)")
NO_SYMBOLS = "(no symbols)"


@dataclass(frozen=True)
class Columns:
    """What stands on a line: an address first or not, pairs of figures, names of files."""

    vma: bool
    pairs: int
    image: bool
    app: bool
    symbol: bool

    @property
    def before(self) -> int:
        """Fields before the symbol's name."""
        return self.vma + 2 * self.pairs + self.image + self.app


def claims(text: str) -> bool:
    """Whether there is a line of headings, near the top."""
    return any(_columns(line) for line in text.split("\n", 40)[:40])


def read(text: str, label: str, gathered: Gathered) -> Profile:
    """Samples by symbol of the image."""
    columns = None
    for number, line in numbered(text):
        found = _columns(line)
        if found is not None and not found.symbol:
            raise BadInput(
                f"{label}: line {number}: this opreport summary lists no symbols",
                hint="use `opreport -l`",
            )
        if found is not None:
            columns = found
        elif columns is not None and line.strip():
            _row(number, line, columns, label, gathered)
    return gathered.profile(NAME, "samples", label)


def _columns(line: str) -> Columns | None:
    found = HEADING.fullmatch(line.strip())
    if found is None:
        return None
    rest = found["rest"]
    pairs = found["pairs"].count("%")
    names = ("image name" in rest, "app name" in rest, "symbol name" in rest)
    return Columns(bool(found["vma"]), pairs, *names)


def _row(number: int, line: str, columns: Columns, label: str, gathered: Gathered) -> None:
    fields = line.split(None, columns.before)
    wanted = "a row of opreport: samples, %, " + ("image, " if columns.image else "") + "symbol"
    if len(fields) <= columns.before:
        raise bad_line(label, number, line, wanted)
    samples, percent = fields[columns.vma : columns.vma + 2]
    symbol = fields[-1].strip()
    if not is_count(samples) or not _is_number(percent):
        raise bad_line(label, number, line, wanted)
    image = fields[columns.vma + 2 * columns.pairs] if columns.image else None
    if symbol == NO_SYMBOLS or (image is not None and not gathered.is_of_image(image)):
        gathered.outside += int(samples)
    else:
        gathered.named(symbol.partition("@")[0], 0, int(samples))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]+(?:[.,][0-9]+)?(?:e[-+]?[0-9]+)?", text) is not None
