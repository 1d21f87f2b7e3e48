"""Claims as patterns: what two terms share is anything, and what is left is a few nodes.

Two terms that must be equal usually share most of what they are made of.  Each largest shared
part is replaced by a free variable, which only makes the claim stronger, and what remains is a
pattern of a few nodes: thousands of sites are a few dozen patterns.
"""

from __future__ import annotations

import hashlib
import marshal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewriter.core.readings.extents import Extent
from rewriter.core.terms.term import Term, reached, rebuilt

_STEPS = 8  # of what is said to be made of other parts

_BY_VALUE = 2  # the last format of `marshal` in which equal values are equal bytes

_CONDITIONS = frozenset({"eq", "ult", "slt", "band", "bnot", "true", "false"})
MEMORIES = frozenset({"mem", "store", "write", "world"})
_LOADS = frozenset({"load", "read"})
_INPUTS = frozenset({"var", "mem", "world"})

_Cut = Mapping[int, Term]
"""Shared parts that are anything, by number."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A normalised obligation: nodes in order, each (kind, data, argument numbers).

    The two nodes that `roots` number must be equal when all that `given` number hold.
    """

    nodes: tuple[tuple[Any, ...], ...]
    roots: tuple[int, int]
    given: tuple[int, ...]

    @property
    def key(self) -> str:
        """A stable short name."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    @property
    def comparisons(self) -> int:
        """How often the addresses of its loads are compared with those of what is before them."""
        stores, loads, found = Counter[int](), Counter[int](), 0
        for number, (kind, data, *args) in enumerate(self.nodes):
            size = Extent.of(data).size if kind in ("read", "write") else 1
            if kind in ("store", "write"):
                stores[number] = stores[args[0]] + size
            elif kind in _LOADS:
                found += size * (stores[args[0]] + loads[args[0]])
                loads[args[0]] += size
        return found

    @property
    def digest(self) -> bytes:
        """What stands for it where many are remembered: a pattern takes some kilobytes."""
        written = marshal.dumps((self.nodes, self.roots, self.given), _BY_VALUE)
        return hashlib.blake2b(written, digest_size=16).digest()


def general(a: Term, b: Term, given: Sequence[Term]) -> Pattern:
    """The obligation with the largest shared parts free."""
    return _with_free(a, b, given, _shared(a, b))


def close(a: Term, b: Term, given: Sequence[Term]) -> Pattern:
    """The same, but nothing is free that is made of nothing but what else is free.

    With p and f(p) both free nobody would know what they have to do with one another.
    """
    shared = _shared(a, b)
    while True:
        met = _met((a, b), shared)
        made = {n for n, t in met.items() if _made_of(t, met)}
        if not made:
            return _with_free(a, b, given, met)
        shared = {n: t for n, t in shared.items() if n not in made}


def opened(a: Term, b: Term, given: Sequence[Term]) -> Pattern:
    """The obligation with free what both load, and what both are made of but a few steps away.

    Where one side is a part of the other that part is shared, and free it says nothing.  Of what it
    is made of the nearest may do; the memory that it was loaded from would bring all its stores.
    """
    near = _near((a, b))
    return _with_free(a, b, given, {n: t for n, t in _shared(a, b).items() if n not in near})


def _near(roots: Sequence[Term]) -> set[int]:
    """What few steps down lead to without a load, by number."""
    found = {root.number for root in roots}
    edge = [*roots]
    for _ in range(_STEPS - 1):
        down = (arg for term in edge for arg in term.args if arg.number not in found)
        edge = [term for term in down if term.kind not in _LOADS]
        found.update(term.number for term in edge)
    return found


def _shared(a: Term, b: Term) -> dict[int, Term]:
    """What two terms are both made of and may be free, by number."""
    one, other = reached((a,)), reached((b,))
    return {n: t for n, t in one.items() if n in other and _may_be_free(t)}


def _met(roots: Sequence[Term], shared: _Cut) -> dict[int, Term]:
    """The shared parts that are met first on the ways down."""
    found: dict[int, Term] = {}
    seen, stack = {root.number for root in roots}, [*roots]
    while stack:
        term = stack.pop()
        if term.number in shared:
            found[term.number] = term
            continue
        for arg in term.args:
            if arg.number not in seen:
                seen.add(arg.number)
                stack.append(arg)
    return found


def _made_of(term: Term, met: _Cut) -> bool:
    """Whether a term is made of others that are met, and constants, in a few steps."""
    left, steps = [*term.args], 0
    while left:
        part = left.pop()
        if part.kind == "const" or part.number in met:
            continue
        steps += 1
        if not part.args or steps == _STEPS:
            return False
        left += part.args
    return bool(term.args)


def _with_free(a: Term, b: Term, given: Sequence[Term], cut: _Cut) -> Pattern:
    """The obligation with parts free."""
    claim = (a, b, *_bearing((a, b), given, cut))
    moved, fresh = _moved(claim, cut)
    if moved:
        done = {n: moved.get(n, t) for n, t in cut.items()}
        claim = tuple(rebuilt(term, done) for term in claim)
        cut = {n: t for n, t in cut.items() if n not in moved}
        cut |= {t.number: t for t in fresh}
    one_, other_, *conditions = claim
    return _pattern(one_, other_, conditions, cut)


def exact(a: Term, b: Term, given: Sequence[Term]) -> Pattern:
    """The obligation with the inputs free."""
    return _pattern(a, b, _bearing((a, b), given, {}), {})


def contradiction(given: Sequence[Term]) -> Pattern:
    """That anything follows from what is given: refuted where it is possible."""
    store = given[0].store
    return _pattern(store.true, store.false, given, {})


def possibility(given: Sequence[Term]) -> tuple[Pattern, dict[int, Term]]:
    """The same, and the inputs by their nodes."""
    store = given[0].store
    pattern, numbers = _numbered(store.true, store.false, given, {})
    terms = reached(given)
    return pattern, {
        node: terms[number] for number, node in numbers.items() if pattern.nodes[node][0] == "?"
    }


def _moved(claim: Sequence[Term], cut: _Cut) -> tuple[dict[int, Term], list[Term]]:
    """What stands for cut parts so that their first sum is plain, and what is free in it.

    A free x may as well be y - c: with c chosen so that the first sum x + c becomes plain y, claims
    that differ in displacements only become the same.
    """
    store = claim[0].store
    moved: dict[int, Term] = {}
    fresh: list[Term] = []
    for term in _above(claim, cut):
        if term.kind == "add" and term.args[1].kind == "const" and term.args[0].number in cut:
            root = term.args[0]
            if root.number not in moved and store.bits(root) == store.width:
                # A name of its own: a sum of x must not meet a part that was cut with x in it.
                fresh.append(store.var(f"free {root.number}"))
                moved[root.number] = store.sub(fresh[-1], term.args[1])
    return moved, fresh


def _bearing(terms: Sequence[Term], given: Sequence[Term], cut: _Cut) -> list[Term]:
    """The conditions that say something of what is free in the terms, or of what those speak of.

    To leave one out makes the claim stronger; thousands of claims become the same.
    """
    bearing: list[Term] = []
    known = _free_in(terms, cut)
    waiting = {condition: _free_in((condition,), cut) for condition in given}
    while found := [c for c, free in waiting.items() if not known.isdisjoint(free)]:
        for condition in found:
            known |= waiting.pop(condition)
        bearing += found
    return bearing


def _free_in(terms: Sequence[Term], cut: _Cut) -> set[int]:
    """What is free and no memory, by number: all claims share the memory."""
    reached_ = [*terms, *(arg for term in _above(terms, cut) for arg in term.args)]
    return {t.number for t in reached_ if t.kind not in MEMORIES and _is_free(t, cut)}


def _is_free(term: Term, cut: _Cut) -> bool:
    return term.number in cut or term.kind in _INPUTS


def _may_be_free(term: Term) -> bool:
    """Whether a shared part may be anything; x + c and -x may not, as x may be shared by itself."""
    if term.kind == "add":
        return term.args[1].kind != "const"
    if term.kind == "sub":
        return term.args[0].kind != "const"
    return term.kind not in ("const", "true", "false")


def _above(terms: Sequence[Term], cut: _Cut) -> list[Term]:
    """All terms that are neither cut nor below a cut one, in a repeatable order."""
    found: dict[int, Term] = {}
    stack = list(reversed(terms))
    while stack:
        term = stack.pop()
        if term.number not in found and term.number not in cut:
            found[term.number] = term
            if term.kind not in _INPUTS:
                stack.extend(reversed(term.args))
    return list(found.values())


def _pattern(a: Term, b: Term, given: Sequence[Term], cut: _Cut) -> Pattern:
    """The obligation with every cut term and input a variable, nodes numbered as they are met."""
    return _numbered(a, b, given, cut)[0]


def _numbered(a: Term, b: Term, given: Sequence[Term], cut: _Cut) -> tuple[Pattern, dict[int, int]]:
    """The same, and the nodes by the numbers of terms."""
    number: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []

    def visit(root: Term) -> int:
        stack = [root]
        while stack:
            term = stack[-1]
            if term.number in number:
                stack.pop()
                continue
            if _is_free(term, cut):
                sort = (
                    "bool"
                    if term.kind in _CONDITIONS
                    else "mem"
                    if term.kind in MEMORIES
                    else term.store.bits(term)
                )
                node: tuple[Any, ...] = ("?", sort)
            else:
                missing = [x for x in reversed(term.args) if x.number not in number]
                if missing:
                    stack.extend(missing)
                    continue
                node = (term.kind, term.data, *(number[x.number] for x in term.args))
            number[term.number] = len(nodes)
            nodes.append(node)
            stack.pop()
        return number[root.number]

    roots = (visit(a), visit(b))
    conditions = tuple(visit(condition) for condition in given)
    return Pattern(tuple(nodes), roots, conditions), number
