"""Patterns to Z3: the only place where the symbolic reading meets the solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3


class Lowering:
    """The nodes of a pattern as Z3 expressions, in a context of their own.

    What Z3 does depends on all that its context has seen before, so a shared one would make an
    answer near the limit of effort depend on the claims that came earlier.
    """

    def __init__(self, width: int, granule: int) -> None:
        self.width, self.granule = width, granule
        self.context = z3.Context()

    def lower(self, nodes: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The expression of each node: a bit-vector, a Bool, or an array of granules."""
        done: list[Any] = []
        for number, (kind, data, *args) in enumerate(nodes):
            if kind == "?":
                done.append(self._free(f"x{number}", data))
            else:
                done.append(self._one(kind, data, [done[n] for n in args]))
        return done

    def _free(self, name: str, sort: str | int) -> Any:
        """Anything of a sort: a condition, a memory, or a word of at most so many bits."""
        if sort == "bool":
            return z3.Bool(name, self.context)
        if sort == "mem":
            return z3.Array(name, self._word(self.width), self._word(8 * self.granule))
        assert isinstance(sort, int)
        bits = max(sort, 1)
        free = z3.BitVec(name, bits, self.context)
        return free if bits == self.width else z3.ZeroExt(self.width - bits, free)

    def _word(self, bits: int) -> Any:
        return z3.BitVecSort(bits, self.context)

    def _one(self, kind: str, data: int | str, args: list[Any]) -> Any:
        if kind == "const":
            return z3.BitVecVal(data, self.width, self.context)
        if kind in ("true", "false"):
            return z3.BoolVal(kind == "true", self.context)
        if kind == "opaque":
            sorts = [a.sort() for a in args]
            name = f"{data}/{len(args)}"
            return z3.Function(name, *sorts, self._word(self.width))(*args)
        return _OPERATORS[kind](*args)


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
    "load": z3.Select,
    "store": z3.Store,
}
