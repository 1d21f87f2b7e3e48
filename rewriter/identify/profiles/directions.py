"""Which way conditional moves and branches went: what `retune profile` counts.

    retune directions 1                            the first line
    text SHA256                                    of the file's code (`text_hash`)
    move ADDRESS executed moved missed             a conditional move
    branch ADDRESS executed taken missed           a conditional branch

Addresses are hexadecimal, counts decimal; `missed` says how often the 21264's predictor would have
been wrong.  Lines that begin with # say where a profile comes from.  Profiles of one text are
merged by adding their counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from rewriter.core.errors import BadInput
from rewriter.elf.image import Image
from rewriter.identify.profiles.samples import (
    Counts,
    Direction,
    Gathered,
    Profile,
    bad_line,
    numbered,
)

NAME = "retune directions"
FIRST = f"{NAME} 1"
MOVE, BRANCH = "move", "branch"
_COUNT = "([0-9]{1,18})"
_LINE = re.compile(rf"({MOVE}|{BRANCH}) ([0-9a-f]{{1,16}}) {_COUNT} {_COUNT} {_COUNT}")
_TEXT = re.compile(r"text ([0-9a-f]{64})")


@dataclass(frozen=True)
class Directions:
    """The counts of one text; `notes` say where they come from."""

    text: str
    counts: Counts
    notes: tuple[str, ...] = field(default=(), compare=False)

    def written(self) -> str:
        """As a file."""
        lines = [f"# {note}" for note in self.notes]
        for (kind, address), one in sorted(self.counts.items(), key=lambda item: item[0][::-1]):
            lines.append(f"{kind} {address:x} {one.executed} {one.held} {one.missed}")
        return "\n".join([FIRST, f"text {self.text}", *lines, ""])


def text_hash(image: Image) -> str:
    """The SHA-256 of what a file may execute, each part with its address."""
    digest = hashlib.sha256()
    for start, end in image.executable_ranges():
        digest.update(f"{start:x} {end:x} ".encode())
        digest.update(image.read(start, end - start))
    return digest.hexdigest()


def claims(text: str) -> bool:
    """Whether the first line is this format's."""
    return text.startswith(FIRST + "\n")


def parse(text: str, label: str) -> Directions:
    """The counts in a file; BadInput in one line, by number."""
    found, counts, notes = "", dict[tuple[str, int], Direction](), list[str]()
    for number, line in numbered(text):
        said, counted = _TEXT.fullmatch(line), _LINE.fullmatch(line)
        if number == 1 or not line.strip():
            continue
        if line.startswith("#"):
            notes.append(line[1:].strip())
        elif said is not None and not found:
            found = said[1]
        elif counted is not None:
            one = Direction(*map(int, counted.groups()[2:]))
            if max(one.held, one.missed) > one.executed:
                raise bad_line(label, number, line, "a line of counts that can be")
            where = counted[1], int(counted[2], 16)
            counts[where] = counts.get(where, Direction(0, 0, 0)) + one
        else:
            raise bad_line(label, number, line, f"of a profile of {NAME}")
    if not found:
        raise BadInput(f"{label}: does not say which text was counted", hint="`text` and a SHA-256")
    return Directions(found, counts, tuple(notes))


def read(text: str, label: str, gathered: Gathered) -> Profile:
    """The directions, and each address by how often it was executed."""
    found = parse(text, label)
    if found.text != text_hash(gathered.image):
        raise BadInput(
            f"{label}: is of another text than {gathered.image.name}",
            hint="addresses of another build say nothing: profile this file",
        )
    for (_, address), one in found.counts.items():
        gathered.at(address, one.executed)
    return gathered.profile(NAME, "executed conditions", label, found.counts)


def merged(profiles: Iterable[Directions]) -> Directions:
    """Profiles of one text as one; BadInput where they are of several."""
    every = list(profiles)
    if len({one.text for one in every}) != 1:
        raise BadInput("profiles of different texts have nothing in common to merge")
    counts: dict[tuple[str, int], Direction] = {}
    for where, one in _all(every):
        counts[where] = counts.get(where, Direction(0, 0, 0)) + one
    return Directions(
        every[0].text, counts, tuple(dict.fromkeys(n for p in every for n in p.notes))
    )


def alike(profiles: Iterable[Directions]) -> list[Directions]:
    """Profiles each of which counts as much as the one that counted most."""
    every = list(profiles)
    totals = [sum(one.executed for one in profile.counts.values()) for profile in every]
    most = max(totals, default=0)
    return [_times(one, most, total) for one, total in zip(every, totals, strict=True)]


def _times(profile: Directions, most: int, total: int) -> Directions:
    """The counts of a profile, which are a `total`, brought to another one."""
    counts = {
        where: Direction(*(n * most // total for n in (one.executed, one.held, one.missed)))
        for where, one in profile.counts.items()
        if total
    }
    return replace(profile, counts=counts)


def _all(every: Iterable[Directions]) -> Iterator[tuple[tuple[str, int], Direction]]:
    for one in every:
        yield from one.counts.items()
