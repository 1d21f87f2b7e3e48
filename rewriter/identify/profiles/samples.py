"""What every profile becomes: places in the image, each with a weight."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rewriter.core.errors import BadInput
from rewriter.elf.headers import printable
from rewriter.elf.image import Image

KERNEL = frozenset({"vmlinux", "no-vmlinux", "kallsyms", "[kernel.kallsyms]", "[kernel]"})
"""What perf and oprofile call the kernel, without the folder it is in."""
_DIGITS = 20
SHOWN = 60
"""Characters of a bad line that an error shows."""


@dataclass(frozen=True, slots=True)
class Place:
    """Addresses from `start` to before `end` that together weigh `weight`."""

    start: int
    end: int
    weight: int


@dataclass(frozen=True, slots=True)
class Direction:
    """How often something with a condition was executed, how often that held, and how often the
    chip's predictor would have been wrong."""

    executed: int
    held: int
    missed: int

    def __add__(self, other: Direction) -> Direction:
        return Direction(
            self.executed + other.executed, self.held + other.held, self.missed + other.missed
        )


Counts = Mapping[tuple[str, int], Direction]
"""By kind and address."""

NONE: Counts = MappingProxyType({})


@dataclass(frozen=True)
class Profile:
    """A profile of one image: `format` names the program, `unit` says what weighs.

    `outside` is the weight of what is of other files, or of names that the image does not have.
    `directions` are there if that was counted.
    """

    format: str
    unit: str
    places: tuple[Place, ...]
    outside: int
    directions: Counts = field(default_factory=dict)


@dataclass
class Gathered:
    """A profile while its lines are read."""

    image: Image
    files: set[str] = field(default_factory=set)
    weights: dict[tuple[int, int], int] = field(default_factory=dict)
    outside: int = 0

    def __post_init__(self) -> None:
        image = self.image
        symbols = [s for s in image.symbols if s.st_shndx and s.name]
        self._named: dict[str, int] = {s.name: image.code_address(s) for s in reversed(symbols)}
        self._kernel = bool({"_stext", "_text"} & self._named.keys())

    def at(self, address: int, weight: int, end: int | None = None) -> None:
        """Adds a weight to an address, or to all from it to before `end`."""
        if not self.image.is_mapped(address):
            self.outside += weight
            return
        place = (address, address + 1 if end is None else end)
        self.weights[place] = self.weights.get(place, 0) + weight

    def named(self, name: str, offset: int, weight: int) -> None:
        """Adds a weight to a symbol's address and an offset from there."""
        address = self._named.get(name)
        if address is None:
            self.outside += weight
        else:
            self.at(address + offset, weight)

    def is_of_image(self, file: str) -> bool:
        """Whether a profile speaks of the image by that name of a file."""
        self.files.add(file)
        name = base_name(file)
        return name == base_name(self.image.name) or (self._kernel and name in KERNEL)

    def symbol(self, name: str) -> int | None:
        """The address of a symbol of the image."""
        return self._named.get(name)

    def profile(self, kind: str, unit: str, label: str, directions: Counts = NONE) -> Profile:
        """What was gathered; BadInput when nothing of it is of the image."""
        places = tuple(Place(*place, weight) for place, weight in sorted(self.weights.items()))
        if not places:
            seen = ", ".join(sorted(map(printable, self.files))[:5])
            raise BadInput(
                f"{label}: no sample of this {kind} profile is in {self.image.name}",
                hint=f"it is of {seen}" if seen else "was it taken of another build?",
            )
        return Profile(kind, unit, places, self.outside, directions)


@dataclass(frozen=True)
class Heat:
    """A profile by function: `share` is a function's part of all that was sampled, 0 to 1."""

    format: str
    unit: str
    total: int
    inside: float
    share: Mapping[str, float]

    def of(self, function: str) -> float:
        """The share of a function; 0 where nothing was sampled."""
        return self.share.get(function, 0.0)


def bad_line(label: str, number: int, line: str, wanted: str) -> BadInput:
    """The error of a line that is not what its format wants."""
    return BadInput(f"{label}: line {number} is not {wanted}: {printable(line.strip()[:SHOWN])!r}")


def is_count(text: str) -> bool:
    """Whether a text is a number of samples: decimal digits, as many as 64 bits have at most."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def base_name(file: str) -> str:
    """The last part of a path."""
    return file.rstrip("/").rpartition("/")[2]


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from 1."""
    return enumerate(text.split("\n"), 1)


def shares(
    places: Iterable[Place], starts: list[int], ends: list[int]
) -> Iterator[tuple[int, float]]:
    """Number of each function that a place overlaps, and the part of its weight that falls there.

    Functions are given by ascending `starts` and their `ends`.
    """
    for place in places:
        at = max(bisect_right(starts, place.start) - 1, 0)
        while at < len(starts) and starts[at] < place.end:
            common = min(ends[at], place.end) - max(starts[at], place.start)
            if common > 0:
                yield at, place.weight * common / (place.end - place.start)
            at += 1
