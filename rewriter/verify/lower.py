"""Terms to Z3: the only place where the symbolic reading meets the solver."""

from __future__ import annotations

from typing import Any

import z3

from rewriter.core.term import Term


class Lowering:
    """Lowers terms of one width; `leaves` has Z3 expressions for terms that stand for anything."""

    def __init__(self, width: int, granule: int, leaves: dict[int, Any]) -> None:
        self.width, self.granule = width, granule
        self.done = leaves

    def lower(self, term: Term) -> Any:
        """The Z3 expression of a term: a bit-vector, a Bool, or an array of granules."""
        stack = [term]
        while stack:
            top = stack[-1]
            if top.number in self.done:
                stack.pop()
                continue
            missing = [a for a in top.args if a.number not in self.done]
            if missing:
                stack.extend(missing)
            else:
                self.done[top.number] = self._one(top, [self.done[a.number] for a in top.args])
                stack.pop()
        return self.done[term.number]

    def _one(self, term: Term, args: list[Any]) -> Any:
        kind = term.kind
        if kind == "const":
            return z3.BitVecVal(term.value, self.width)
        if kind == "var":
            return z3.BitVec(str(term.data), self.width)
        if kind in ("mem", "world"):
            index, value = z3.BitVecSort(self.width), z3.BitVecSort(8 * self.granule)
            return z3.Array(f"{kind}{term.number}", index, value)
        if kind == "opaque":
            sorts = [a.sort() for a in args]
            return z3.Function(f"{term.data}/{len(args)}", *sorts, z3.BitVecSort(self.width))(*args)
        return _OPERATORS[kind](*args)


def _popcount(value: Any) -> Any:
    width = value.size()
    bits = [z3.ZeroExt(width - 1, z3.Extract(i, i, value)) for i in range(width)]
    return sum(bits[1:], bits[0])


def _leading_zeros(value: Any) -> Any:
    width = value.size()
    result = z3.BitVecVal(width, width)
    for i in range(width):
        result = z3.If(z3.Extract(i, i, value) == 1, z3.BitVecVal(width - 1 - i, width), result)
    return result


def _trailing_zeros(value: Any) -> Any:
    width = value.size()
    result = z3.BitVecVal(width, width)
    for i in reversed(range(width)):
        result = z3.If(z3.Extract(i, i, value) == 1, z3.BitVecVal(i, width), result)
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
    "true": lambda: z3.BoolVal(True),
    "false": lambda: z3.BoolVal(False),
    "load": z3.Select,
    "store": z3.Store,
}
