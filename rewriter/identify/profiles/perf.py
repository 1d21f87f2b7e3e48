"""`perf script`: one sample a line, or a line and its call chain below.

    sh  7278 [001]  1357.190114:     250000 cpu-clock:  7fb6295063e0 name+0x270 (/lib/libc.so.6)

Process, number, CPU, time and period may be missing (`-F ip,sym,dso`). Lines of mappings
(`--show-mmap-events`) say where files are loaded; without them the symbol and its offset do.
(Linux, tools/perf/builtin-script.c and Documentation/perf-script.txt.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewriter.core.errors import BadInput
from rewriter.elf.headers import ET_EXEC
from rewriter.identify.profiles.samples import Gathered, Profile, bad_line, numbered

NAME = "perf script"
FRAME = re.compile(
    r"\s*(?P<ip>[0-9a-f]{1,16})"
    r"(?: (?P<sym>\S.*?)(?:\+0x(?P<off>[0-9a-f]{1,16}))?)?(?: \((?P<dso>[^\s()].*|\[.*\])\))?\s*"
)
"""An address, and what is there; also a whole line of `-F ip,sym,dso`."""
HEAD = re.compile(
    r"\s*(?P<comm>\S.*?)\s+(?P<pid>-?[0-9]+)(?:/-?[0-9]+)?\s+(?:\[[0-9]+\]\s+)?"
    r"(?:(?P<time>[0-9]+\.[0-9]+):\s+)?(?:(?P<period>[0-9]{1,18})\s+)?(?P<event>[^\s\[\]()]+):"
    r"(?:\s+(?P<frame>\S.*))?\s*"
)
MAPPED = re.compile(
    r".*PERF_RECORD_MMAP2? (?P<pid>-?[0-9]+)/-?[0-9]+: "
    r"\[0x(?P<start>[0-9a-f]+)\(0x(?P<size>[0-9a-f]+)\) @ (?:0x)?(?P<offset>[0-9a-f]+)"
    r"[^\]]*\]: \S+ (?P<file>\S.*)"
)
OTHER = re.compile(r".*PERF_RECORD_[A-Z_0-9]+.*")
INLINED = "inlined"
"""What stands for the file where a frame is of an inlined function."""


@dataclass(frozen=True)
class Mapping:
    """Where a process has a part of the image."""

    start: int
    end: int
    offset: int


@dataclass
class Reader:
    """The state of reading: mappings so far, and what the next line of a chain belongs to."""

    gathered: Gathered
    label: str
    mappings: dict[str, list[Mapping]] = field(default_factory=dict)
    pending: tuple[str, int] | None = None
    in_chain: bool = False
    periods: bool = False

    def line(self, number: int, line: str, chained: bool) -> None:
        """One line that is not empty."""
        mapped = MAPPED.fullmatch(line)
        if mapped:
            self._map(mapped)
            return
        if OTHER.fullmatch(line) or line.startswith("#"):
            return
        head, frame = HEAD.fullmatch(line), FRAME.fullmatch(line)
        if head is not None:
            self._head(number, line, head)
        elif frame is not None:
            self._frame(frame, chained)
        else:
            raise bad_line(self.label, number, line, "a sample of perf script")

    def end_of_chain(self) -> None:
        """An empty line."""
        self.pending, self.in_chain = None, False

    def _head(self, number: int, line: str, head: re.Match[str]) -> None:
        sample = head["pid"], int(head["period"] or 1)
        self.pending, self.in_chain = sample, True
        self.periods |= head["period"] is not None
        if head["frame"] is not None:
            frame = FRAME.fullmatch(head["frame"])
            if frame is None:
                raise bad_line(self.label, number, line, "a sample of perf script")
            self.pending = None
            self._sample(frame, *sample)

    def _frame(self, frame: re.Match[str], chained: bool) -> None:
        if self.pending is not None:
            sample, self.pending = self.pending, None
            self._sample(frame, *sample)
        elif not self.in_chain:
            # Without heads: one a line, or the first of each group where there are groups.
            self.in_chain = chained
            self._sample(frame, "", 1)

    def _map(self, mapped: re.Match[str]) -> None:
        if self.gathered.is_of_image(mapped["file"].strip()):
            start, size = int(mapped["start"], 16), int(mapped["size"], 16)
            part = Mapping(start, start + size, int(mapped["offset"], 16))
            self.mappings.setdefault(mapped["pid"], []).append(part)

    def _sample(self, frame: re.Match[str], pid: str, weight: int) -> None:
        gathered, ip = self.gathered, int(frame["ip"], 16)
        file = None if frame["dso"] == INLINED else frame["dso"]
        if file is not None and not gathered.is_of_image(file):
            gathered.outside += weight
            return
        for part in reversed(self.mappings.get(pid, [])):
            if part.start <= ip < part.end:
                self._at_offset(ip - part.start + part.offset, weight)
                return
        symbol = (frame["sym"] or "").partition("@")[0]
        fixed = gathered.image.e_type == ET_EXEC and gathered.image.is_mapped(ip)
        if fixed or gathered.symbol(symbol) is None:
            gathered.at(ip, weight)
        else:
            # A shared file is anywhere in memory, but its symbols move with it.
            gathered.named(symbol, int(frame["off"] or "0", 16), weight)

    def _at_offset(self, offset: int, weight: int) -> None:
        try:
            self.gathered.at(self.gathered.image.address_of(offset), weight)
        except BadInput:
            self.gathered.outside += weight


def claims(text: str) -> bool:
    """Whether the first line that is no comment is one of these."""
    first = next(_lines(text), "")
    return any(form.fullmatch(first) for form in (HEAD, FRAME, MAPPED, OTHER))


def read(text: str, label: str, gathered: Gathered) -> Profile:
    """Samples by address, each weighing its period where that is shown."""
    reader = Reader(gathered, label)
    chained = "\n\n" in text.strip()
    for number, line in numbered(text):
        if line.strip():
            reader.line(number, line, chained)
        else:
            reader.end_of_chain()
    return gathered.profile(NAME, "events" if reader.periods else "samples", label)


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line.strip() and not line.startswith("#"))
