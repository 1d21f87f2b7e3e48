"""Searches for a bit by what they compute: a table of chains of counts, and what equals one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from rewriter.core.target.idioms import Step
from rewriter.core.terms.evaluate import FUNCTIONS
from rewriter.core.terms.term import Term

TESTS = 3
"""Of some bits against zero: what every cascade has."""
_BYTE = 8
_ADDED = 256  # a constant below that may be added to a search


@dataclass(frozen=True, slots=True)
class Search:
    """A function of one value x: a chain of steps."""

    kind: str
    steps: tuple[Step, ...]

    def result(self, x: int, width: int) -> int:
        """What it gives, in registers of `width` bits."""
        value = x
        for name, literal in self.steps:
            value = _MEANINGS[name](value, literal or 0, x) % (1 << width)
        return value


_MEANINGS: dict[str, Callable[[int, int, int], int]] = {
    "trailing zeros": lambda v, n, x: ((v | 1 << n) & -(v | 1 << n)).bit_length() - 1,
    "leading zeros": lambda v, n, x: n - (v % (1 << n)).bit_length(),
    "ones": lambda v, n, x: (v % (1 << n)).bit_count(),
    "not": lambda v, n, x: ~v,
    "and": lambda v, n, x: v & n,
    "or": lambda v, n, x: v | n,
    "xor": lambda v, n, x: v ^ n,
    "add": lambda v, n, x: v + n,
    "subtract from": lambda v, n, x: n - v,
    "shift right": lambda v, n, x: v >> n,
    "clear": lambda v, n, x: v & ~x,
    "at zero": lambda v, n, x: v if x else n,
}

LOWEST, _CLEAR = "search for the lowest bit", "search for the lowest clear bit"
_HIGHEST, _LOWEST_BYTE = "search for the highest bit", "search for the lowest byte"


def searches(bits: int) -> tuple[Search, ...]:
    """What cascades compute of the low `bits` bits; of two as short the first counts.

    Counts of zeros are `bits` for zero; what a cascade gives then comes out of the steps after.
    """
    trailing, leading = Step("trailing zeros", bits), Step("leading zeros", bits)
    ones, top = Step("ones", bits), bits - 1
    from_top, low = Step("xor", top), Step("and", top)
    return (
        #      kind      steps                                             at zero
        Search(LOWEST, (trailing,)),  # bits
        Search(_HIGHEST, (leading,)),  # bits
        Search("count of the bits", (ones,)),  # 0
        Search(LOWEST, (trailing, Step("and", 7))),  # 0
        Search(LOWEST, (trailing, low)),  # 0
        Search(LOWEST, (trailing, Step("at zero", 0))),  # 0, one more at others: ffs
        Search(LOWEST, (trailing, Step("add", 1), Step("at zero", 0))),  # 0
        Search(_LOWEST_BYTE, (trailing, Step("shift right", 3))),  # bits / 8
        Search(_LOWEST_BYTE, (trailing, Step("shift right", 3), Step("and", 7))),  # 0
        Search(_LOWEST_BYTE, (trailing, Step("and", bits - 8))),  # 0
        Search(LOWEST, (trailing, Step("subtract from", top))),  # -1: from the other end
        Search(LOWEST, (Step("and", 255), trailing, Step("and", 7))),  # 0
        Search(_CLEAR, (Step("not"), trailing)),  # 0
        Search(_CLEAR, (Step("not"), trailing, low)),  # 0, and at ~0
        Search(_CLEAR, (Step("not"), trailing, Step("and", 7))),  # 0, and at 0xff
        Search(_HIGHEST, (leading, from_top)),  # 2 * bits - 1
        Search(_HIGHEST, (Step("or", 1), leading, from_top)),  # 0
        Search(_HIGHEST, (Step("and", 255), Step("or", 1), leading, from_top)),  # 0
        Search(_HIGHEST, (leading, Step("subtract from", bits))),  # 0
        Search(_HIGHEST, (leading, Step("not"), Step("add", bits + 1))),  # 0
        Search(_HIGHEST, (leading, Step("not"), low)),  # top
        Search(LOWEST, (Step("add", -1), Step("clear"), ones)),  # bits
        Search("count of the bits", (Step("and", (1 << bits) - 1), Step("ones", 2 * bits))),  # 0
    )


def _words(bits: int) -> tuple[int, ...]:
    """Numbers of so many bits."""
    generator = random.Random(bits)
    single = [1 << i for i in range(bits)]
    masks = [(1 << i) - 1 for i in range(1, bits + 1)]
    dense = [generator.getrandbits(bits) for _ in range(24)]
    sparse = [a & b << n for n, (a, b) in enumerate(pairwise(dense))]
    shifted = [word << 2 * n for n, word in enumerate(dense)]
    every = [*range(16), *single, *masks, *dense, *sparse, *shifted]
    return tuple(dict.fromkeys(word % (1 << bits) for word in every))


Behaviour = tuple[int, ...]
_Function: TypeAlias = Callable[[int], int]


def _behaviour(function: _Function, inputs: Sequence[int], width: int) -> tuple[int, Behaviour]:
    """What a function gives at 1, and at `inputs` relative to that."""
    first = function(1)
    return first, tuple((function(x) - first) % (1 << width) for x in inputs)


class _Known:
    """Searches by what they do on some inputs."""

    def __init__(self, rows: Iterable[Search], inputs: tuple[int, ...], width: int) -> None:
        self.inputs, self._width = inputs, width
        self._rows: dict[Behaviour, list[tuple[int, Search]]] = {}
        for search in rows:
            first, behaviour = _behaviour(partial(search.result, width=width), inputs, width)
            if len(set(behaviour)) > 1:  # not where all these inputs are the same to it
                self._rows.setdefault(behaviour, []).append((first, search))

    def find(self, function: _Function) -> Search | None:
        """The shortest search that does the same, with a constant added if they differ by one."""
        first = function(1)
        left = list(self._rows.items())
        for at, x in enumerate(self.inputs):
            given = (function(x) - first) % (1 << self._width)
            left = [row for row in left if row[0][at] == given]
            if not left:
                return None
        found = (self._added(search, first - known) for known, search in left[0][1])
        return min(filter(None, found), key=lambda one: len(one.steps), default=None)

    def _added(self, search: Search, constant: int) -> Search | None:
        """A search with a constant added, if that is small."""
        more = constant % (1 << self._width)
        more -= 1 << self._width if more >> self._width - 1 else 0
        if abs(more) >= _ADDED:
            return None
        return Search(search.kind, (*search.steps, *([Step("add", more)] if more else [])))


class _Domain:
    """The searches of numbers of so many bits, from the cheapest question on.

    By what they do on a few, on one bit, on one or none, on all but zero, and on all; and on
    `dense` ones, with all low bits: counts of ones are the same for any one bit.
    """

    def __init__(self, rows: Iterable[Search], bits: int, width: int) -> None:
        inputs = tuple(range(256)) if bits == _BYTE else _words(bits)
        one = tuple(x for x in inputs if x.bit_count() == 1)
        few = tuple(1 << n for n in (0, 1, 3, 6, 20, 29, 61) if n < bits)
        nonzero = tuple(x for x in inputs if x)
        dense = tuple((1 << n) - 1 for n in (1, 2, 3, 8, 32, 64) if n <= bits)
        stages = (few, one, (0, *one), nonzero, inputs, dense)
        found = (_Known(rows, stage, width) for stage in stages)
        self.few, self.one, self.one_or_none, self.nonzero, self.every, self.dense = found


@dataclass(frozen=True, slots=True)
class Recognised:
    """The search that a value is, or nearly is: then `but` says what it is not."""

    search: Search | None
    but: str = ""


class Searches:
    """Which search a value is; what is found out is remembered by the shape of the value.

    `has` says of a step whether there is an instruction for it.
    """

    def __init__(self, width: int, has: Callable[[Step], bool]) -> None:
        self._width = width
        every = [row for bits in dict.fromkeys((width, 32)) for row in searches(bits)]
        rows = [row for row in every if all(map(has, row.steps))]
        domains = dict.fromkeys((_BYTE, 32, width))
        self._domains = {bits: _Domain(rows, bits, width) for bits in domains}
        self._known: dict[tuple[int, bool, _Shape], Recognised | None] = {}

    def recognise(self, value: Term, x: Term) -> Recognised | None:
        """The search that a value is of x, or what it nearly is; remembered by its shape."""
        bits, single, shape = value.store.bits(x), _has_one_bit(x), _shape(value, x)
        domain = next(size for size in self._domains if bits <= size)
        key = domain, single, shape
        if key not in self._known:
            function = _ShapeFunction(shape, self._width)
            self._known[key] = self._find(function, self._domains[domain], single)
        return self._known[key]

    def _find(self, function: _Function, domain: _Domain, single: bool) -> Recognised | None:
        """As `recognise`; x may be known to have at most a `single` bit."""
        if domain.dense.find(function) is not None:
            search = domain.every.find(function)
            if search is not None:
                return Recognised(search)
        if domain.few.find(function) is None or domain.one.find(function) is None:
            return None
        exact = domain.one_or_none if single else domain.every
        if (search := exact.find(function)) is not None:
            return Recognised(search)
        if len({function(x) for x in domain.one.inputs}) < TESTS:
            return None
        search = (domain.one if single else domain.nonzero).find(function)
        if search is not None:
            return Recognised(search, "differs at zero only")
        return Recognised(
            None, "a search only where a single bit is set, which the block does not show"
        )


class _ShapeFunction:
    """A shape as a function of x, whose nodes are looked up once: it is called for many x."""

    def __init__(self, shape: _Shape, width: int) -> None:
        self._nodes = [(FUNCTIONS.get(kind), data, args) for kind, data, *args in shape]
        self._width, self._ones = width, (1 << width) - 1

    def __call__(self, x: int) -> int:
        known = [x]
        for function, data, args in self._nodes:
            if function is None:  # a constant
                known.append(data)
            else:  # a mask leaves a condition what it is
                known.append(function(self._width, *[known[n] for n in args]) & self._ones)
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
