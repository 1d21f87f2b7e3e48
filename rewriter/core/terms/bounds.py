"""How large the value of a term can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.core.readings.extents import Extent

if TYPE_CHECKING:
    from rewriter.core.terms.term import Term

_DEPTH = 12
"""Of a term's arguments, and theirs: what lies deeper may be anything."""


def most(term: Term, depth: int = _DEPTH) -> int:
    """An upper bound of a value, read without a sign."""
    kind, args, ones = term.kind, term.args, term.store.ones
    if kind == "const":
        return term.value
    if kind not in _OF_TWO or not depth:
        if kind == "read":
            return min(Extent.of(term.data).mask, ones)
        return _shifted(term, depth) if kind in ("lshr", "shl") and depth else ones
    first = most(args[-2], depth - 1)  # an `ite` has a condition before its values
    if first == ones and kind != "and":
        return ones
    second = most(args[-1], depth - 1)
    if kind == "and":
        return min(first, second)
    if kind == "add":
        return min(first + second, ones)
    larger = max(first, second)
    return larger if kind == "ite" else (1 << larger.bit_length()) - 1


_OF_TWO = frozenset({"and", "or", "xor", "add", "ite"})


def _shifted(term: Term, depth: int) -> int:
    """The same for a shift."""
    value, amount = term.args
    if amount.kind != "const":
        return term.store.ones
    bound = most(value, depth - 1)
    shifted = bound >> amount.value if term.kind == "lshr" else bound << amount.value
    return min(shifted, term.store.ones)
