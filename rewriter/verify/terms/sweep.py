"""Sweeping: parts of a claim that agree on all that was tried are shown equal first.

A long claim is often true because short parts of it are equal, and a solver that is given all of
it at once does not see that.  Here each part of one side that agrees with a part of the other on
every assignment that was tried is taken for a claim of its own, small ones first, and where that
is proved the part gives way.  (SAT sweeping: Kuehlmann 2004.)  What is left is smaller, and the
small claims come again and again.

A mask that leaves all of a value is a part that agrees with another one of its own side.  It tells
of bits that are zero, so such masks go only where a claim is too hard with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.decided import Tried
from rewriter.verify.terms.patterns import Pattern

Shown = Callable[[Term, Term, Sequence[Term]], bool]
"""Whether two terms are proved equal under what is given."""

Smaller: TypeAlias = tuple[Term, Term, tuple[Term, ...]]


def swept(pattern: Pattern, store: Terms, tried: Tried, shown: Shown) -> Smaller | None:
    """The claim, in a store, with the parts that are shown equal made one; None where none is."""
    terms = _Rebuilt(pattern, store)
    first, second = pattern.roots
    mine, others = _below(pattern, first), _below(pattern, second) - {second}
    by_signature: dict[bytes, int] = {}
    for node in sorted(mine):
        if node != first and (signature := tried.signature(node)):
            by_signature.setdefault(signature, node)
    given = tuple(terms.of(node) for node in pattern.given)
    equal, failed = 0, set[int]()
    for node in sorted(others - mine):
        if not failed.isdisjoint(pattern.nodes[node][2:]):
            failed.add(node)  # what it is made of differs somewhere: so does this, most likely
            continue
        like = by_signature.get(tried.signature(node))
        if like is None:
            continue
        part, other = terms.of(like), terms.of(node)
        if part is not other:
            if shown(part, other, given):
                terms.done[node] = part
                equal += 1
            else:
                failed.add(node)
    return (terms.of(first), terms.of(second), given) if equal else None


def unmasked(pattern: Pattern, store: Terms, tried: Tried, shown: Shown) -> Smaller | None:
    """The claim, in a store, without the masks that are shown to leave all of a value; None where
    there is none."""
    terms = _Rebuilt(pattern, store)
    first, second = pattern.roots
    given, equal = tuple(terms.of(node) for node in pattern.given), 0
    for node in sorted(_below(pattern, first) | _below(pattern, second)):
        kind, _, *args = pattern.nodes[node]
        signature = tried.signature(node) if kind == "and" else b""
        for arg in args if signature else ():
            if tried.signature(arg) == signature:
                whole, masked = terms.of(arg), terms.of(node)
                if whole is not masked and shown(whole, masked, given):
                    terms.done[node] = whole
                    equal += 1
    return (terms.of(first), terms.of(second), given) if equal else None


def _below(pattern: Pattern, root: int) -> set[int]:
    """The nodes that a node is made of, and itself."""
    found, stack = {root}, [root]
    while stack:
        for arg in pattern.nodes[stack.pop()][2:]:
            if arg not in found:
                found.add(arg)
                stack.append(arg)
    return found


class _Rebuilt:
    """The nodes of a pattern as terms of a store of their own."""

    def __init__(self, pattern: Pattern, store: Terms) -> None:
        self.pattern, self.store = pattern, store
        self.done: dict[int, Term] = {}

    def of(self, node: int) -> Term:
        """The term of a node; its parts have smaller numbers."""
        stack = [node]
        while stack:
            top = stack[-1]
            kind, data, *args = self.pattern.nodes[top]
            missing = [a for a in args if a not in self.done]
            if top in self.done:
                stack.pop()
            elif missing:
                stack += missing
            else:
                self.done[top] = self._made(top, kind, data, [self.done[a] for a in args])
                stack.pop()
        return self.done[node]

    def _made(self, node: int, kind: str, data: int | str, args: Sequence[Term]) -> Term:
        if kind == "?":
            return self._free(f"x{node}", data)
        if kind == "const":
            return self.store.const(int(data))
        return self.store.rebuild(self.store.make(kind, data=data), tuple(args))

    def _free(self, name: str, sort: int | str) -> Term:
        store = self.store
        if sort == "mem":
            return store.make("mem", data=name)
        free = store.var(name)
        if sort == "bool":
            return store.eq(free, store.const(0))
        return store.and_(free, store.const((1 << max(int(sort), 1)) - 1))
