"""Whether a tuned routine gains by a CPU's model: both in the calls that programs make most.

How long what programs copy, fill and look at is was counted over SPEC2017 by Arm
(optimized-routines, string/bench/memcpy.c and strlen.c; glibc's benchtests have the same figures):
of 65,536 copies 34 % have 32 bytes, 43 % fewer, 10 % 256 or more; of 65,536 strings 49 % have 12 to
15 bytes, 29 % 16 to 19, 22 % fewer, and hardly any more.  Parts of a hundred here are those of the
classes that the sizes stand for; strings are not only of the lengths that these programs have most.

Strings are compared up to the first difference.  Where the calls of strcmp by six of the programs
in `fixtures/programs` end, each program counting as much as another, was recorded
(`benchmarks/comparisons.py`): half of them in the first three bytes.  As other programs find what
they look for, half of the calls here are as recorded, and half go through strings of those lengths.

How they stand: 13 % of a kernel's copies are to or from somewhere between words (Mackerras,
Low-Level Optimizations in the PowerPC/Linux Kernels); here an eighth is.

Calls of no more than 16 bytes, and differences there, are the most of all: where a target asks for
it (`slower`), a routine may not take longer at any of these lengths, in the mean of how operands
stand.

Everything is in the caches but what whole pages are made of: each page of a new process is another.

A routine that gains by these calls may still lose at a length that they do not have: no length from
0 to 32, and of those up to 1,500 none that stands for others, may take more than the original in
the mean over alignments; nor a page that is cleared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice

from rewriter.contracts import Contract
from rewriter.contracts.search import LIMITS
from rewriter.verify.routines.cases import spread

Point = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Run:
    """A call of a routine on a model: it takes at least so many cycles, and is modelled when it is
    asked how many they are."""

    least: int
    modelled: Callable[[], int]

    @cached_property
    def cycles(self) -> int:
        """What it takes."""
        return self.modelled()


Runs = Callable[[Iterable[Point], bool], Iterable[Run]]
"""Of a routine at points of its contract, each as if caches know it, or not."""
Side = Callable[[Contract], Runs]
"""A routine's, by the contract."""

_BLOCKS = {4: 7, 8: 14, 12: 4, 16: 18, 32: 35, 100: 3, 152: 10, 292: 5, 884: 4}
_STRINGS = {2: 2, 6: 12, 10: 7, 12: 30, 15: 19, 18: 29, 28: 1}
_ENDING = {0: 28, 1: 13, 2: 9, 3: 8, 4: 11, 5: 9, 7: 16, 11: 2, 12: 2, 15: 2}
_COMPARED = dict(Counter(_ENDING) + Counter(_STRINGS))
_STANDING = {(0, 0): 5, (4, 0): 2, (3, 6): 1}
"""Bytes behind a multiple of eight: of what is written, and of what is read; of two that are read,
or of one."""

_FIRST, _SECOND = ("to", "first"), ("source", "second")
_ALONE = 24  # calls of a routine whose contract has no size: each as good as another

_SURE = Fraction(98, 100)
"""A tuned routine that takes a larger part of the original's cycles does not gain: none of the
models says to two hundredths what a call takes."""

_SHORT = 16
"""Bytes: the longest call that no routine may make slower, whatever it gains in others."""

SHORT, LONG = tuple(range(33)), (64, 96, 128, 200, 256, 360, 512, 1024, 1500)
"""Lengths at which no tuned routine may take more than the original."""

_PAGE = 4096
_BY_LINES = frozenset(("memset", "bzero", "__clear_user"))
"""Routines that may clear lines of the cache at once: ours may do so by other lines than the chip
has, and then it shows where a whole page is cleared."""

_ALONE_AT = (0, 1, 4, 7)
_BOTH_AT = ((0, 0), (4, 4), (0, 4), (3, 0), (0, 3), (1, 6))

_COMPARED_BY = "strcmp"
_COLD = frozenset(("clear_page", "copy_page"))
WHOLE_BLOCKS = frozenset(
    ("memcpy", "mempcpy", "memmove", "bcopy", "memset", "bzero", "__copy_user", "__clear_user")
) | {"csum_partial"}
"""Routines whose count is a block's size; others end where a string does, or at a difference."""


@dataclass(frozen=True, slots=True)
class Call:
    """A point of a contract, and how often such a call is made."""

    point: Point
    weight: int


@dataclass(frozen=True, slots=True)
class Length:
    """Calls of one length, over alignments: the original's, and the tuned routine's."""

    contract: str
    size: int
    before: Sequence[Run]
    after: Sequence[Run]

    @property
    def old(self) -> int:
        """The original's modelled cycles."""
        return sum(run.cycles for run in self.before)

    @property
    def new(self) -> int:
        """The tuned routine's."""
        return sum(run.cycles for run in self.after)

    @property
    def loses(self) -> bool:
        """Whether the tuned routine takes more; of the original no more is modelled than it takes
        to know that."""
        new, least = self.new, sum(run.least for run in self.before)
        for run in self.before:
            if least >= new:
                return False
            least += run.cycles - run.least
        return least < new


def _none(long: Sequence[int]) -> Iterable[Length]:
    """Where calls have no length."""
    return ()


@dataclass(frozen=True, eq=False)
class Worth:
    """Modelled cycles of the calls by weight: of the original's and of the tuned routine's.

    `timed` gives the original's, of the calls that are made most first: whether a routine gains is
    known before the last of them.  `made` gives the tuned routine's, `lengths` both at each
    short length, and at long ones.  None is timed before it is asked for.
    """

    timed: Callable[[], Iterable[int]]
    made: Callable[[], Iterable[int]]
    weight: int
    lengths: Callable[[Sequence[int]], Iterable[Length]] = _none

    @cached_property
    def new(self) -> int:
        """The tuned routine's, all together."""
        return sum(self.made())

    @cached_property
    def old(self) -> int:
        """The original's, all together."""
        return sum(self.timed())

    @property
    def saved(self) -> Fraction:
        """Cycles that a call takes fewer."""
        return Fraction(self.old - self.new, self.weight)

    @cached_property
    def objection(self) -> str:
        """Why the original stays, by the calls that programs make most; or nothing."""
        old = 0
        for cycles in self.timed():
            old += cycles
            if _SURE * old >= self.new:
                return ""
        return f"model: {self.new / old:.2f} of the original's cycles"

    @cached_property
    def lost(self) -> str:
        """Why the original stays, by the first length at which it takes less; or nothing."""
        for one in self.lengths(LONG):
            if one.loses:
                part = f"{one.new / one.old:.2f} of the original's cycles"
                return f"model: {part} at {one.size} bytes"
        return ""


def calls(contract: Contract) -> Sequence[Call]:
    """The calls that are timed."""
    axes = contract.plans[0].axes
    if "count" not in axes:
        return [Call(point, 1) for _, point in spread(contract, _ALONE)]
    sizes = _BLOCKS if contract.name in WHOLE_BLOCKS else _STRINGS
    sizes = _COMPARED if contract.name == _COMPARED_BY else sizes
    usual = {axis: next(iter(values)) for axis, values in axes.items()}
    return [
        Call({**usual, "count": size, **skews}, often * part)
        for size, often in sizes.items()
        for skews, part in _standing(axes)
    ]


def _standing(axes: Mapping[str, Sequence[int]]) -> Iterator[tuple[Point, int]]:
    for (first, second), part in _STANDING.items():
        skews = {**dict.fromkeys(_FIRST, first), **dict.fromkeys(_SECOND, second)}
        if not any(axis in axes for axis in _FIRST):
            skews = dict.fromkeys(_SECOND, first)
        yield {axis: skew for axis, skew in skews.items() if axis in axes}, part


def worth(contracts: Sequence[Contract], both: Callable[[Contract], tuple[Runs, Runs]]) -> Worth:
    """What a routine is worth that keeps some contracts; `both` gives the two for each of them."""
    every = [
        (contract, sorted(calls(contract), key=lambda call: call.weight, reverse=True))
        for contract in contracts
    ]

    def timed(tuned: bool) -> Iterator[int]:
        sides = [
            (made, both(contract)[tuned]([call.point for call in made], contract.name not in _COLD))
            for contract, made in every
        ]
        for made, runs in sides:
            for call, run in zip(made, runs, strict=True):
                yield call.weight * run.cycles

    def lengths(long: Sequence[int]) -> Iterator[Length]:
        for contract in contracts:
            yield from _lengths(contract, both(contract), long)

    weight = sum(call.weight for _, made in every for call in made)
    return Worth(lambda: timed(False), lambda: timed(True), weight, lengths)


def once(runs: Runs) -> Runs:
    """The same calls, of which none is run twice."""
    made: dict[tuple[bool, frozenset[tuple[str, int]]], Run] = {}

    def remembered(points: Iterable[Point], warm: bool) -> Iterator[Run]:
        every = [((warm, frozenset(point.items())), point) for point in points]
        new = {key: point for key, point in every if key not in made}
        made.update(zip(new, runs(new.values(), warm), strict=True))
        return (made[key] for key, _ in every)

    return remembered


def _lengths(contract: Contract, sides: tuple[Runs, Runs], long: Sequence[int]) -> Iterator[Length]:
    """Both sides at each length, the short ones first; nothing where calls have no length."""
    axes = contract.plans[0].axes
    if contract.name in _BY_LINES:
        long = sorted({*long, _PAGE})
    for sizes in (SHORT, long) if "count" in axes else ():
        points = [_aligned(axes, size) for size in sizes]
        every = [point for some in points for point in some]
        old, new = (iter(runs(every, True)) for runs in sides)
        for size, some in zip(sizes, points, strict=True):
            before, after = (list(islice(side, len(some))) for side in (old, new))
            yield Length(contract.name, size, before, after)


def _aligned(axes: Mapping[str, Sequence[int]], size: int) -> Sequence[Point]:
    """Calls of one length, in other respects as usual: at several alignments."""
    usual = {**{axis: next(iter(values)) for axis, values in axes.items()}, "count": size}
    first, second = ([axis for axis in names if axis in axes] for names in (_FIRST, _SECOND))
    pairs = _BOTH_AT if first and second else [(one, one) for one in _ALONE_AT]
    return [
        {**usual, **dict.fromkeys(first, one), **dict.fromkeys(second, other)}
        for one, other in pairs
    ]


def slower(contracts: Sequence[Contract], old: Side, *new: Side) -> list[str]:
    """For each of some tuned routines the first kind of short call that takes longer, if any."""
    found = [""] * len(new)
    for contract in contracts:
        sides = [side(contract) for side in (old, *new)]
        for name, made in short_calls(contract).items():
            before, *after = (_weighted(made, runs) for runs in sides)
            for number, each in enumerate(after):
                if each > before and not found[number]:
                    found[number] = f"model: {each / before:.2f} of the original's cycles {name}"
    return found


def short_calls(contract: Contract) -> dict[str, Sequence[Call]]:
    """Calls of each short length, and of blocks that differ early or strings with a limit, by what
    they are."""
    axes = contract.plans[0].axes
    if "count" not in axes:
        return {}
    usual = {axis: next(iter(values)) for axis, values in axes.items()}
    kinds: dict[str, Point] = {
        f"at {size} bytes": {**usual, "count": size} for size in range(_SHORT + 1)
    }
    if any("at" in plan.axes for plan in contract.plans):
        kinds |= {
            f"where byte {at} differs": {**usual, "count": 2 * _SHORT, "at": at}
            for at in range(_SHORT + 1)
        }
    if "limit" in axes:
        kinds |= {
            f"with a limit of {size}": {**usual, "count": size, "limit": LIMITS.index(0)}
            for size in range(_SHORT + 1)
        }
    return {
        name: [Call({**point, **skews}, part) for skews, part in _standing(axes)]
        for name, point in kinds.items()
    }


def _weighted(made: Sequence[Call], runs: Runs) -> int:
    """What some calls take together, by weight."""
    every = runs([call.point for call in made], True)
    return sum(call.weight * run.cycles for call, run in zip(made, every, strict=True))
