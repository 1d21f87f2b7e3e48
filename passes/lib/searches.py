"""Searches for a bit by what they compute: a table of chains of counts, and what equals one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from rewriter.core.terms.evaluate import FUNCTIONS
from rewriter.core.terms.term import Term

WIDTH = 64
"""Bits, of the counts in the table below."""
TESTS = 3
"""Of some bits against zero: what every cascade has."""

_ONES = (1 << WIDTH) - 1

Step = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Search:
    """A function of one value x: a chain of steps, each with a literal or None.

    `cmoveq` looks at x itself; every other step at what the one before it gave.
    """

    kind: str
    steps: tuple[Step, ...]

    def __call__(self, x: int) -> int:
        value = x
        for name, literal in self.steps:
            value = _MEANINGS[name](value, literal or 0, x) % (1 << WIDTH)
        return value


_MEANINGS: dict[str, Callable[[int, int, int], int]] = {
    "cttz": lambda v, n, x: (v & -v).bit_length() - 1 if v else WIDTH,
    "ctlz": lambda v, n, x: WIDTH - v.bit_length(),
    "ctpop": lambda v, n, x: v.bit_count(),
    "not": lambda v, n, x: ~v,
    "and": lambda v, n, x: v & n,
    "bis": lambda v, n, x: v | n,
    "xor": lambda v, n, x: v ^ n,
    "addq": lambda v, n, x: v + n,
    "subq": lambda v, n, x: v - n,
    "srl": lambda v, n, x: v >> n,
    "cmoveq": lambda v, n, x: v if x else n,
}

LOWEST, _CLEAR = "search for the lowest bit", "search for the lowest clear bit"
_HIGHEST = "search for the highest bit"
# The counts are 64 for zero (Alpha Architecture Handbook v4, 4.13); what a cascade gives then
# comes out of the steps after them.  Of rows that do the same the first counts.
SEARCHES = (
    #      kind      steps                                                       at zero
    Search(LOWEST, (("cttz", None),)),  # 64
    Search(_HIGHEST, (("ctlz", None),)),  # 64
    Search("count of the bits", (("ctpop", None),)),  # 0
    Search(LOWEST, (("cttz", None), ("and", 7))),  # 0
    Search(LOWEST, (("cttz", None), ("and", 63))),  # 0
    Search(LOWEST, (("cttz", None), ("cmoveq", 0))),  # 0, one more at others: ffs
    Search(LOWEST, (("cttz", None), ("addq", 1), ("cmoveq", 0))),  # 0
    Search("search for the lowest byte", (("cttz", None), ("srl", 3))),  # 8
    Search("search for the lowest byte", (("cttz", None), ("srl", 3), ("and", 7))),  # 0
    Search("search for the lowest byte", (("cttz", None), ("and", 56))),  # 0
    Search(LOWEST, (("and", 255), ("cttz", None), ("and", 7))),  # 0
    Search(_CLEAR, (("not", None), ("cttz", None))),  # 0
    Search(_CLEAR, (("not", None), ("cttz", None), ("and", 63))),  # 0, and at ~0
    Search(_CLEAR, (("not", None), ("cttz", None), ("and", 7))),  # 0, and at 0xff
    Search(_HIGHEST, (("ctlz", None), ("xor", 63))),  # 127
    Search(_HIGHEST, (("bis", 1), ("ctlz", None), ("xor", 63))),  # 0
    Search(_HIGHEST, (("and", 255), ("bis", 1), ("ctlz", None), ("xor", 63))),  # 0
    Search(_HIGHEST, (("ctlz", None), ("not", None), ("addq", 65))),  # 0: 64 - ctlz
    Search(_HIGHEST, (("ctlz", None), ("not", None), ("and", 63))),  # 63: 63 - ctlz modulo 64
)


def _words() -> tuple[int, ...]:
    generator = random.Random(WIDTH)
    bits = [1 << i for i in range(WIDTH)]
    masks = [(1 << i) - 1 for i in range(1, WIDTH + 1)]
    dense = [generator.getrandbits(WIDTH) for _ in range(24)]
    sparse = [a & b << n for n, (a, b) in enumerate(pairwise(dense))]
    shifted = [word << 2 * n for n, word in enumerate(dense)]
    every = [*range(16), *bits, *masks, *dense, *sparse, *shifted]
    return tuple(dict.fromkeys(word % (1 << WIDTH) for word in every))


_WORDS = _words()
_BYTES = tuple(range(256))
_PROBES = {True: (1, 2, 8, 64), False: (1, 2, 8, 64, 1 << 20, 1 << 61)}

Behaviour = tuple[int, ...]


def _behaviour(function: Callable[[int], int], inputs: tuple[int, ...]) -> tuple[int, Behaviour]:
    """What a function gives at 1, and at `inputs` relative to that."""
    first = function(1)
    return first, tuple((function(x) - first) % (1 << WIDTH) for x in inputs)


class _Known:
    """The searches by what they do on some inputs."""

    def __init__(self, inputs: tuple[int, ...]) -> None:
        self.inputs = inputs
        self._rows: dict[Behaviour, tuple[int, Search]] = {}
        for search in SEARCHES:
            first, behaviour = _behaviour(search, inputs)
            if len(set(behaviour)) > 1:  # not where all these inputs are the same to it
                self._rows.setdefault(behaviour, (first, search))

    def find(self, function: Callable[[int], int]) -> Search | None:
        """The search that does the same, with a constant added where they differ by one."""
        first = function(1)
        left = list(self._rows.items())
        for at, x in enumerate(self.inputs):
            given = (function(x) - first) % (1 << WIDTH)
            left = [row for row in left if row[0][at] == given]
            if not left:
                return None
        _, (known, search) = left[0]
        more = (first - known) % (1 << WIDTH)
        if more < 256:
            added: tuple[Step, ...] = (("addq", more),) if more else ()
        elif (less := -more % (1 << WIDTH)) < 256:
            added = (("subq", less),)
        else:
            return None
        return Search(search.kind, (*search.steps, *added))


def _stages(inputs: tuple[int, ...]) -> tuple[_Known, ...]:
    """The searches by what they do on one bit, on one or none, on all but zero, and on all."""
    one = tuple(x for x in inputs if x.bit_count() == 1)
    nonzero = tuple(x for x in inputs if x)
    return tuple(map(_Known, (one, (0, *one), nonzero, inputs)))


class Searches:
    """Which search a value is; what is found out is remembered by the shape of the value."""

    def __init__(self) -> None:
        self._probes = {byte: _Known(inputs) for byte, inputs in _PROBES.items()}
        self._known: dict[tuple[bool, bool, _Shape], Search | str | None] = {}
        self._stages = {byte: _stages(inputs) for byte, inputs in ((True, _BYTES), (False, _WORDS))}

    def recognise(self, value: Term, x: Term) -> Search | str | None:
        """The search that a value is of x, or what it nearly is; remembered by its shape."""
        byte, single, shape = value.store.bits(x) <= 8, _has_one_bit(x), _shape(value, x)
        key = byte, single, shape
        if key not in self._known:
            self._known[key] = self._find(_Function(shape), byte, single)
        return self._known[key]

    def _find(self, function: _Function, byte: bool, single: bool) -> Search | str | None:
        """As `recognise`; x may be known to be a `byte`, and to have at most a `single` bit."""
        if self._probes[byte].find(function) is None:
            return None
        one, one_or_none, nonzero, every = self._stages[byte]
        if one.find(function) is None:
            return None
        if (search := (one_or_none if single else every).find(function)) is not None:
            return search
        if len({function(x) for x in one.inputs}) < TESTS:
            return None
        if single or nonzero.find(function) is not None:
            return "differs at zero only"
        return "a search only where a single bit is set, which the block does not show"


class _Function:
    """A shape as a function of x, whose nodes are looked up once: it is called for many x."""

    def __init__(self, shape: _Shape) -> None:
        self._nodes = [(FUNCTIONS.get(kind), data, args) for kind, data, *args in shape]

    def __call__(self, x: int) -> int:
        known = [x]
        for function, data, args in self._nodes:
            if function is None:  # a constant
                known.append(data)
            else:  # a mask leaves a condition what it is
                known.append(function(WIDTH, *[known[n] for n in args]) & _ONES)
        return known[-1]


_Shape: TypeAlias = tuple[tuple[Any, ...], ...]


def _shape(value: Term, x: Term) -> _Shape:
    """What makes `value` from x, with nothing of what x is: its nodes in order."""
    number, nodes, stack = {x.number: 0}, [], [value]
    while stack:
        top = stack[-1]
        missing = [a for a in top.args if a.number not in number]
        if top.number not in number and missing:
            stack.extend(missing)
            continue
        stack.pop()
        if top.number not in number:
            number[top.number] = len(number)
            nodes.append((top.kind, top.data, *(number[a.number] for a in top.args)))
    return tuple(nodes)


def _has_one_bit(value: Term) -> bool:
    """Whether a value shows that it has at most one bit set: x & -x, (x + 1) & ~x."""
    if value.kind != "and":
        return False
    store, one = value.store, value.store.const(1)
    a, b = value.args
    return any(
        y is store.sub(store.const(0), x) or (x is store.add(z, one) and y is store.not_(z))
        for x, y in ((a, b), (b, a))
        for z in y.args[:1]
    )
