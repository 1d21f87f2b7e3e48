"""The value of a term under an assignment: what a counterexample or a random test needs.

Shifts by `width` or more follow SMT-LIB (zeros, or copies of the sign), as the prover reads them;
a table's meaning never makes such a shift.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewriter.core.readings.extents import Extent
from rewriter.core.terms.term import Term

Opaque = Callable[[str, tuple[Any, ...]], int]


@dataclass(frozen=True, slots=True)
class Cells:
    """A memory: `older`, with one cell replaced; the oldest one asks `initial`."""

    initial: Callable[[int], int]
    older: Cells | None = None
    address: int = 0
    value: int = 0

    def written(self, address: int, value: int, extent: Extent, ones: int) -> Cells:
        """The memory of bytes after a write at `address`; `ones` is the last address."""
        memory = self
        for byte in range(extent.size):
            part = value >> extent.significance(byte) & 0xFF
            memory = Cells(memory.initial, memory, address + byte & ones, part)
        return memory

    def number(self, address: int, extent: Extent, ones: int) -> int:
        """What a memory of bytes holds at `address`."""
        return sum(
            (self.read(address + byte & ones) & 0xFF) << extent.significance(byte)
            for byte in range(extent.size)
        )

    def read(self, address: int) -> int:
        """The cell at `address`."""
        memory: Cells = self
        while memory.older is not None:
            if memory.address == address:
                return memory.value
            memory = memory.older
        return memory.initial(address)


def _no_opaque(name: str, values: tuple[Any, ...]) -> int:
    raise NotImplementedError(f"{name} has no value")


@dataclass
class Evaluator:
    """Evaluates many terms of one store under one assignment, each distinct term once.

    `variables` gives values by name, `memory` the cell (an integer as wide as a register, or a
    byte where accesses may stand anywhere) at an address before the run.  `opaque` decides
    uninterpreted functions from their name and argument values (a memory argument comes as
    `Cells`).  Events ("world" terms) leave memory as it was.
    """

    variables: Mapping[str, int]
    memory: Callable[[int], int]
    opaque: Opaque = _no_opaque
    _known: dict[int, Any] = field(default_factory=dict)

    def __call__(self, term: Term) -> Any:
        """An int for a value, a bool for a condition, `Cells` for a memory."""
        if term.number in self._known:
            return self._known[term.number]
        # An own stack: a term from a long block is deeper than Python's.
        stack = [term]
        while stack:
            top = stack[-1]
            if top.number in self._known:
                stack.pop()
                continue
            missing = [a for a in top.args if a.number not in self._known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._known[top.number] = self._apply(top, [self._known[a.number] for a in top.args])
        return self._known[term.number]

    def _apply(self, term: Term, args: list[Any]) -> Any:
        function = FUNCTIONS.get(term.kind)
        if function is not None:
            width = term.store.width
            result = function(width, *args)
            return result if isinstance(result, bool) else result & ((1 << width) - 1)
        return _LEAVES[term.kind](self, term, args)


def evaluate(
    term: Term,
    variables: Mapping[str, int],
    memory: Callable[[int], int] = lambda address: 0,
    opaque: Opaque = _no_opaque,
) -> int | bool:
    """The value of one term; see `Evaluator`, which is quicker for several."""
    value: int | bool = Evaluator(variables, memory, opaque)(term)
    return value


def _signed(width: int, value: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


FUNCTIONS: dict[str, Callable[..., int | bool]] = {
    "add": lambda w, a, b: a + b,
    "sub": lambda w, a, b: a - b,
    "mul": lambda w, a, b: a * b,
    "and": lambda w, a, b: a & b,
    "or": lambda w, a, b: a | b,
    "xor": lambda w, a, b: a ^ b,
    "not": lambda w, a: ~a,
    "shl": lambda w, a, n: a << n if n < w else 0,
    "lshr": lambda w, a, n: a >> min(n, w),
    "ashr": lambda w, a, n: _signed(w, a) >> min(n, w),
    "umulh": lambda w, a, b: a * b >> w,
    "ctpop": lambda w, a: a.bit_count(),
    "cttz": lambda w, a: (a & -a).bit_length() - 1 if a else w,
    "ctlz": lambda w, a: w - a.bit_length(),
    "eq": lambda w, a, b: a == b,
    "ult": lambda w, a, b: a < b,
    "slt": lambda w, a, b: _signed(w, a) < _signed(w, b),
    "band": lambda w, a, b: a and b,
    "bnot": lambda w, a: not a,
    "true": lambda w: True,
    "false": lambda w: False,
    "ite": lambda w, c, a, b: a if c else b,
}
"""By kind, what a term is of its arguments: a condition, or a value modulo two to the power of w.

The first argument of each is the width w.
"""

_LEAVES: dict[str, Callable[[Evaluator, Term, list[Any]], Any]] = {
    "const": lambda e, term, args: term.value,
    "var": lambda e, term, args: e.variables[str(term.data)] & term.store.ones,
    "mem": lambda e, term, args: Cells(e.memory),
    "store": lambda e, term, args: Cells(e.memory, *args),
    "load": lambda e, term, args: args[0].read(args[1]) & term.store.ones,
    "write": lambda e, term, args: args[0].written(
        *args[1:], Extent.of(term.data), term.store.ones
    ),
    "read": lambda e, term, args: args[0].number(args[1], Extent.of(term.data), term.store.ones),
    "world": lambda e, term, args: args[0],
    "opaque": lambda e, term, args: e.opaque(str(term.data), tuple(args)) & term.store.ones,
}
