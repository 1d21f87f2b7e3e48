"""Recognising what a value is by what it does, whatever instructions spell it.

A value made from one cell load is a function of the cell's content and of where in it the
address points.  Written down with those two as variables it is a *shape*; what the shape computes
is found once, by evaluating it, and remembered.  The prover has the last word on every use.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from rewriter.core.terms.evaluate import Evaluator
from rewriter.core.terms.term import Term, Terms

_DEEPEST = 12  # nodes between a value and its load


@dataclass(frozen=True, slots=True)
class Narrow:
    """A value that is `size` bytes at the address of a cell load, sign-extended or not."""

    size: int
    signed: bool


def cell_load(term: Term, cell: int) -> Term | None:
    """The one cell load that a value is made from, if it is not far below.

    What says where in the cell to look (x & cell - 1) is not looked into.
    """
    found: Term | None = None
    stack, seen = [(term, 0)], set()
    while stack:
        top, depth = stack.pop()
        if top.number in seen:
            continue
        seen.add(top.number)
        if top.kind == "load":
            if found is not None and found is not top:
                return None
            found = top
        elif top.kind == "and" and top.args[1].data == cell - 1:
            continue
        elif depth < _DEEPEST and top.kind not in ("opaque", "world"):
            for argument in top.args:
                stack.append((argument, depth + 1))
    return found


def unmasked(place: Term, cell: int) -> Term | None:
    """The address that a cell's place was made from: x in x & -cell."""
    masked = place.kind == "and" and place.args[1].data == (1 << place.store.width) - cell
    return place.args[0] if masked else None


class Shapes:
    """What shapes compute, remembered."""

    def __init__(self, cell: int) -> None:
        self.cell = cell
        self._known: dict[tuple[Any, ...], Narrow | None] = {}

    def narrow(self, value: Term, load: Term) -> tuple[Narrow | None, bool]:
        """What `value` is of the memory at the address of `load`, if it is a narrow access.

        Or what it would be if the address and where it looks were related as they must be, and
        whether they are.
        """
        address = unmasked(load.args[1], self.cell)
        if address is None:
            return None, False
        guessed = _Writing(load, address, self.cell, related=False)
        if guessed.visit(value, 0) is None:
            return None, False
        if guessed.related:
            return self._what(guessed), True
        sure = _Writing(load, address, self.cell, related=True)
        found = self._what(sure) if sure.visit(value, 0) is not None else None
        return (found, True) if found is not None else (self._what(guessed), False)

    def _what(self, writing: _Writing) -> Narrow | None:
        key = tuple(writing.nodes)
        if key not in self._known:
            self._known[key] = self._find(key)
        return self._known[key]

    def _find(self, key: tuple[Any, ...]) -> Narrow | None:
        generator = random.Random(len(key))
        width = 8 * self.cell
        contents = [generator.getrandbits(width) for _ in range(6)]
        samples = [(content, at) for content in contents for at in range(self.cell)]

        @cache  # most shapes are no access, and few samples say so
        def result(content: int, at: int) -> int:
            return _compute(key, content, at, self.cell)

        for size in (1, 2):
            for signed in (False, True):
                wanted = [(c, at) for c, at in samples if at % size == 0]
                if all(result(*s) == _access(*s, size, signed, width) for s in wanted):
                    return Narrow(size, signed)
        return None


def _access(content: int, at: int, size: int, signed: bool, width: int) -> int:
    value = content >> 8 * at & (1 << 8 * size) - 1
    if signed and value >> (8 * size - 1):
        value -= 1 << 8 * size
    return value % (1 << width)


class _Writing:
    """The nodes of a value, as far as they are written: its load is "content", low bits are "at".

    Only those of the address are `related`; else any are taken for those of the address, or of the
    next one where they count down from the top.
    """

    def __init__(self, load: Term, address: Term, cell: int, related: bool) -> None:
        self.load, self.cell = load, cell
        self.related, self._strictly = True, related
        self.root, self.displacement = load.store.linear(address)
        self.nodes: list[tuple[Any, ...]] = []
        self.number: dict[int, int] = {}

    def visit(self, term: Term, depth: int) -> int | None:
        """The number of a term's node; None if it is of more than the load and the low bits."""
        known = self.number.get(term.number)
        if known is not None:
            return known
        node = None if depth > _DEEPEST else self._leaf(term) or self._inner(term, depth)
        if node is None:
            return None
        self.number[term.number] = number = len(self.nodes)
        self.nodes.append(node)
        return number

    def _leaf(self, term: Term) -> tuple[Any, ...] | None:
        if term is self.load:
            return ("content",)
        if term.kind == "const":
            return ("const", term.data)
        if term.kind != "and":
            return None
        residue = _residue(term, self.root, self.displacement, self.cell)
        if residue is None and not self._strictly:
            residue = _unrelated(term, self.cell)
            self.related = self.related and residue is None
        return ("at", *residue) if residue is not None else None

    def _inner(self, term: Term, depth: int) -> tuple[Any, ...] | None:
        if not term.args or term.kind in ("load", "opaque"):
            return None
        inner: list[Any] = [term.kind]
        for argument in term.args:
            seen = self.visit(argument, depth + 1)
            if seen is None:
                return None
            inner.append(seen)
        return tuple(inner)


def _residue(term: Term, root: Term, displacement: int, cell: int) -> tuple[int, int] | None:
    """(sign, offset) when `term` is (sign * address + offset) modulo the cell."""
    if term.kind != "and" or term.args[1].kind != "const" or term.args[1].value != cell - 1:
        return None
    inner, offset = term.store.linear(term.args[0])
    if inner is root:
        return 1, (offset - displacement) % cell
    if inner.kind == "sub" and inner.args[0].kind == "const" and inner.args[1] is root:
        return -1, (offset + inner.args[0].value + displacement) % cell
    return None


def _unrelated(term: Term, cell: int) -> tuple[int, int] | None:
    """As `_residue`, of whatever address."""
    if term.kind != "and" or term.args[1].data != cell - 1:
        return None
    inner, _ = term.store.linear(term.args[0])
    return (-1, cell - 1) if inner.kind == "sub" else (1, 0)


def _compute(key: tuple[Any, ...], content: int, at: int, cell: int) -> int:
    """The value of a written shape."""
    with Terms(8 * cell) as terms:
        built: list[Term] = []
        for kind, *rest in key:
            if kind == "content":
                built.append(terms.const(content))
            elif kind == "at":
                sign, offset = rest
                built.append(terms.const((sign * at + offset) % cell))
            elif kind == "const":
                built.append(terms.const(rest[0]))
            else:
                built.append(terms.make(kind, *(built[n] for n in rest)))
        result: int = Evaluator({}, lambda _: 0)(built[-1])
    return result
