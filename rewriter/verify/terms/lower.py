"""Patterns to Z3: the only place where the symbolic reading meets the solver.

Everything becomes bit-vectors.  A load is what the stores before it leave, as choices by whether
their addresses are the load's; what a load finds in a memory that is free, and what an
uninterpreted function gives, are free values that are equal where all that they depend on is
(Ackermann 1954).  A solver of arrays needs twice as long for the same claims.  Where accesses may
stand anywhere, all of this is said of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

from rewriter.core.readings.extents import Extent
from rewriter.verify.terms.witness import Said

Node = tuple[Any, ...]
"""(kind, data, argument numbers)."""

_Byte = tuple[int | None, int]
"""An address: the node that it is reached from, None for nothing, and how far."""


class Lowering:
    """The nodes of a pattern as Z3 expressions, in a context of their own if none is given.

    What Z3 does depends on all that its context has seen before, so a shared one would make an
    answer near the limit of effort depend on the claims that came earlier.
    """

    def __init__(self, width: int, cell: int, context: z3.Context | None = None) -> None:
        self.width, self.cell = width, cell
        self.context = z3.Context() if context is None else context
        self.nodes: Sequence[Node] = ()
        self.done: list[Any] = []
        self._read: dict[tuple[int, int], Any] = {}
        self._applied: dict[tuple[Any, ...], list[tuple[tuple[int, ...], Any]]] = {}
        self._bytes: dict[int, list[tuple[_Byte, Any]]] = {}

    def lower(self, nodes: Sequence[Node]) -> list[Any]:
        """The expression of each node, a bit-vector or a Bool; None for a memory."""
        self.nodes = nodes
        for number in range(len(nodes)):
            self.done.append(self._one(number))
        return self.done

    def said(self, model: Any) -> Said:
        """What a model gives to what is free, by node."""

        def value(expression: Any) -> int:
            found = model.eval(expression, model_completion=True)
            return int(z3.is_true(found)) if z3.is_bool(found) else int(found.as_long())

        values, ones = dict[int, int](), (1 << self.width) - 1
        for number, (kind, data, *_) in enumerate(self.nodes):
            if kind == "?" and data != "mem":
                values[number] = value(self.done[number])
        cells, results = dict[int, dict[int, int]](), dict[str, dict[tuple[int, ...], int]]()
        for (name, which), applied in self._applied.items():
            for args, given in applied:  # what came before counts where the arguments are equal
                at = tuple(value(self.done[n]) for n in args if self.done[n] is not None)
                if name == "load":
                    cells.setdefault(which, {}).setdefault(at[0], value(given))
                else:
                    results.setdefault(name, {}).setdefault(at, value(given))
        for memory, held in self._bytes.items():
            for byte, given in held:
                at_ = value(self._root(byte)) + byte[1] & ones
                cells.setdefault(memory, {}).setdefault(at_, value(given))
        return Said(values, cells, results)

    def _one(self, number: int) -> Any:
        kind, data, *args = self.nodes[number]
        if kind == "?":
            return self._free(f"x{number}", data)
        if kind == "const":
            return z3.BitVecVal(data, self.width, self.context)
        if kind in ("true", "false"):
            return z3.BoolVal(kind == "true", self.context)
        if kind in ("store", "write"):
            return None
        if kind == "read":
            return self._number(args[0], args[1], Extent.of(data))
        if kind == "load":
            return self._load(args[0], args[1])
        if kind == "opaque":
            return self._apply((data, len(args)), tuple(args))
        return _OPERATORS[kind](*(self.done[n] for n in args))

    def _free(self, name: str, sort: str | int) -> Any:
        """Anything of a sort: a condition, a memory, or a word of at most so many bits."""
        if sort == "mem":
            return None
        if sort == "bool":
            return z3.Bool(name, self.context)
        assert isinstance(sort, int)
        bits = max(sort, 1)
        free = z3.BitVec(name, bits, self.context)
        return free if bits == self.width else z3.ZeroExt(self.width - bits, free)

    # Memory and functions -----------------------------------------------------------------

    def _load(self, memory: int, place: int) -> Any:
        """The cell at a place: of the last store there, or of the memory before all."""
        stores = []
        while self.nodes[memory][0] == "store" and (memory, place) not in self._read:
            _, _, older, address, value = self.nodes[memory]
            stores.append((memory, self._meet(address, place), self.done[value]))
            memory = older
        found = self._read.get((memory, place))
        if found is None:
            found = self._read[memory, place] = self._apply(("load", memory), (place,))
        for after, here, value in reversed(stores):
            found = self._read[after, place] = _choice(here, value, found)
        return found

    def _apply(self, function: tuple[Any, ...], args: tuple[int, ...]) -> Any:
        """What a function gives: the same as before for the same arguments."""
        before = self._applied.setdefault(function, [])
        name = f"{function[0]}/{function[1]}/{len(before)}"
        found = z3.BitVec(name, self.width, self.context)
        for others, value in before:
            meet = [self._meet(a, b) for a, b in zip(others, args, strict=True)]
            found = _choice(_all(meet), value, found)
        before.append((args, found))
        return found

    # Memory of bytes -----------------------------------------------------------------------

    def _number(self, memory: int, address: int, extent: Extent) -> Any:
        """What stands at an address, of its bytes."""
        root, first = self._located(address)
        parts = [self._byte(memory, (root, first + n)) for n in range(extent.size)]
        most_first = parts[::-1] if extent.order == "little" else parts
        number = z3.Concat(*most_first) if len(parts) > 1 else parts[0]
        above = self.width - number.size()
        return z3.ZeroExt(above, number) if above else number

    def _byte(self, memory: int, byte: _Byte) -> Any:
        """A byte: of the last write there, or of the memory before all."""
        writes = []
        while self.nodes[memory][0] == "write":
            _, data, older, address, value = self.nodes[memory]
            writes.append((self._located(address), self.done[value], Extent.of(data)))
            memory = older
        found = self._unwritten(memory, byte)
        for (root, first), value, extent in reversed(writes):
            for n in range(extent.size):
                low = extent.significance(n)
                here = self._same_byte(byte, (root, first + n))
                found = _choice(here, z3.Extract(low + 7, low, value), found)
        return found

    def _unwritten(self, memory: int, byte: _Byte) -> Any:
        """A byte of a memory that is free."""
        before = self._bytes.setdefault(memory, [])
        found = z3.BitVec(f"byte/{memory}/{len(before)}", 8, self.context)
        for other, value in before:
            found = _choice(self._same_byte(byte, other), value, found)
        before.append((byte, found))
        return found

    def _located(self, number: int) -> _Byte:
        """(x, c) of an address x + c; (None, c) of a number."""
        if (fixed := self._constant(number)) is not None:
            return None, fixed
        kind, _, *sum_ = self.nodes[number]
        if kind == "add" and (added := self._constant(sum_[1])) is not None:
            return sum_[0], added
        return number, 0

    def _same_byte(self, one: _Byte, other: _Byte) -> Any:
        """Whether two addresses are one, modulo two to the power of the width."""
        distance = other[1] - one[1]
        if one[0] == other[0]:
            return distance % (1 << self.width) == 0
        apart = z3.BitVecVal(distance, self.width, self.context)
        return self._root(one) - self._root(other) == apart

    def _root(self, byte: _Byte) -> Any:
        root = byte[0]
        return z3.BitVecVal(0, self.width, self.context) if root is None else self.done[root]

    # Whether what two things depend on is equal ----------------------------------------------

    def _meet(self, a: int, b: int) -> Any:
        """Whether two nodes are equal; cells at a known distance look at low bits only."""
        if a == b:
            return True
        if self.done[a] is None or self.done[b] is None:
            return False  # memories that are not one: whatever depends on them is free
        one, other = self._cell(a), self._cell(b)
        if one is None or other is None or one[0] != other[0]:
            return self.done[a] == self.done[b]
        near, far = sorted((one[1], other[1]))
        return self._same_cell(one[0], near, far - near)

    def _cell(self, number: int) -> tuple[int, int] | None:
        """(x, c) of a cell's address `x + c & -cell`."""
        kind, _, *args = self.nodes[number]
        if kind != "and" or self._constant(args[1]) != (1 << self.width) - self.cell:
            return None
        kind, _, *sum_ = self.nodes[args[0]]
        if kind == "add" and (added := self._constant(sum_[1])) is not None:
            return sum_[0], added
        return args[0], 0

    def _constant(self, number: int) -> int | None:
        kind, data, *_ = self.nodes[number]
        return int(data) if kind == "const" else None

    def _same_cell(self, root: int, displacement: int, distance: int) -> Any:
        """Whether x + c and x + c + d, d not negative, lie in one cell."""
        if distance > (1 << self.width) - self.cell:
            displacement, distance = displacement + distance, (1 << self.width) - distance
        if distance >= self.cell:
            return False
        bits = self.cell.bit_length() - 1
        low = z3.Extract(bits - 1, 0, self.done[root])
        inside = low + z3.BitVecVal(displacement % self.cell, bits, self.context)
        last = z3.BitVecVal(self.cell - 1 - distance, bits, self.context)
        return z3.ULE(inside, last)


def _choice(condition: Any, value: Any, other: Any) -> Any:
    if condition is True or condition is False:
        return value if condition else other
    return z3.If(condition, value, other)


def _all(conditions: Sequence[Any]) -> Any:
    """That all hold; each is a Bool of Z3 or a plain one."""
    open_ = [c for c in conditions if c is not True]
    if any(c is False for c in open_):
        return False
    return z3.And(*open_) if open_ else True


def _popcount(value: Any) -> Any:
    width = value.size()
    bits = [z3.ZeroExt(width - 1, z3.Extract(i, i, value)) for i in range(width)]
    return sum(bits[1:], bits[0])


def _leading_zeros(value: Any) -> Any:
    width = value.size()
    result = z3.BitVecVal(width, width, value.ctx)
    for i in range(width):
        count = z3.BitVecVal(width - 1 - i, width, value.ctx)
        result = z3.If(z3.Extract(i, i, value) == 1, count, result)
    return result


def _trailing_zeros(value: Any) -> Any:
    width = value.size()
    result = z3.BitVecVal(width, width, value.ctx)
    for i in reversed(range(width)):
        count = z3.BitVecVal(i, width, value.ctx)
        result = z3.If(z3.Extract(i, i, value) == 1, count, result)
    return result


def _high_product(a: Any, b: Any) -> Any:
    width = a.size()
    return z3.Extract(2 * width - 1, width, z3.ZeroExt(width, a) * z3.ZeroExt(width, b))


_OPERATORS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "shl": lambda a, b: a << b,
    "lshr": z3.LShR,
    "ashr": lambda a, b: a >> b,
    "umulh": _high_product,
    "ctpop": _popcount,
    "cttz": _trailing_zeros,
    "ctlz": _leading_zeros,
    "ite": z3.If,
    "eq": lambda a, b: a == b,
    "ult": z3.ULT,
    "slt": lambda a, b: a < b,
    "band": z3.And,
    "bnot": z3.Not,
}
