"""Equality of terms, proved by Z3 once per normalised pattern.

Two terms that must be equal usually share most of what they are made of.  Each largest shared
part is replaced by a free variable, which only makes the claim stronger, and what remains is a
pattern of a few nodes: thousands of sites are a few dozen patterns.  Where the stronger claim does
not hold, the terms are compared as they are.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewriter.core.edit import Grade
from rewriter.core.evaluate import Evaluator, Granules
from rewriter.core.term import Term

EFFORT = 6_000_000
"""Z3's own count of work: unlike seconds, the same on every machine.

The hardest claims about the Debian libc (glibc 2.36) and the sample that are proved take 2.6 and
2.2 million.
"""

_SAMPLES = 12
_NARROW = 16
_CONDITIONS = frozenset({"eq", "ult", "slt", "band", "bnot", "true", "false"})
_MEMORIES = frozenset({"mem", "store", "world"})
_INPUTS = frozenset({"var", "mem", "world"})


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


@dataclass
class Prover:
    """Proves equalities and remembers the patterns that it has decided."""

    width: int = 64
    granule: int = 8
    decided: dict[Pattern, Grade] = field(default_factory=dict)
    asked: int = 0
    solved: int = 0

    def equal(self, a: Term, b: Term, given: Sequence[Term] = ()) -> tuple[Grade, str]:
        """Whether a == b for every value of what they are made of; and the pattern's key."""
        if a is b:
            return Grade.PROVED, ""
        self.asked += 1
        claim, cut = _generalised((a, b, *given))
        general = _pattern(*claim[:2], claim[2:], cut)
        grade = self._decide(general, cut, *claim)
        if grade is Grade.PROVED:
            return grade, general.key
        leaves = _leaves((a, b, *given))
        exact = _pattern(a, b, given, leaves)
        return self._decide(exact, leaves, a, b, *given), exact.key

    def _decide(
        self, pattern: Pattern, cut: dict[int, Term], a: Term, b: Term, *given: Term
    ) -> Grade:
        if pattern not in self.decided:
            self.solved += 1
            refuted = _counterexample(cut, a, b, given)
            self.decided[pattern] = Grade.REFUTED if refuted else self._solve(pattern)
        return self.decided[pattern]

    def _solve(self, pattern: Pattern) -> Grade:
        import z3

        from rewriter.verify.lower import Lowering

        lowering = Lowering(self.width, self.granule)
        terms = lowering.lower(pattern.nodes)
        solver = z3.SolverFor("QF_AUFBV", ctx=lowering.context)
        solver.set("rlimit", EFFORT)
        solver.add(*(terms[n] for n in pattern.given))
        if pattern.given and solver.check() != z3.sat:
            return Grade.REFUTED  # from the impossible everything would follow
        a, b = pattern.roots
        solver.add(terms[a] != terms[b])
        answer = solver.check()
        if answer == z3.unsat:
            return Grade.PROVED
        return Grade.REFUTED if answer == z3.sat else Grade.TIMEOUT


def _counterexample(cut: dict[int, Term], a: Term, b: Term, given: Sequence[Term]) -> bool:
    """Whether one of a few random assignments to the cut terms tells a and b apart.

    A solver needs a thousand times longer to say no.
    """
    for seed in range(_SAMPLES):
        noise = Noise(seed)
        known = {n: noise.value(n, t) for n, t in cut.items()}
        evaluate = Evaluator(noise, noise, noise.opaque, known)
        if all(evaluate(c) for c in given) and evaluate(a) != evaluate(b):
            return True
    return False


class Noise(dict[str, int]):
    """Random but repeatable values: of variables by name, of memory by address.

    Every other seed draws small multiples of a granule, so that addresses collide.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def __missing__(self, name: str) -> int:
        return self._bits(name, 64)

    def __call__(self, address: int) -> int:
        return self._bits(address, 64)

    def opaque(self, name: str, values: tuple[object, ...]) -> int:
        """What an uninterpreted function gives: one that does not look at memory."""
        return self._bits((name, [v for v in values if not isinstance(v, Granules)]), 64)

    def value(self, number: int, term: Term) -> int | bool | Granules:
        """What a cut term stands for."""
        if term.kind in _CONDITIONS:
            return bool(self._bits(number, 1))
        if term.kind in _MEMORIES:
            return Granules(lambda address: self._bits((number, address), 64))
        return self._bits(number, max(term.store.bits(term), 1))

    def _bits(self, key: object, bits: int) -> int:
        generator = random.Random(f"{self.seed} {key}")
        if self.seed % 2 and bits > _NARROW:
            return 8 * generator.randrange(3) + generator.choice((0, 0, 1, 7))
        return generator.getrandbits(bits)


def _reached(terms: Iterable[Term]) -> dict[int, Term]:
    return {t.number: t for term in terms for t in term.walk()}


def _generalised(claim: tuple[Term, ...]) -> tuple[tuple[Term, ...], dict[int, Term]]:
    """The claim with its largest shared parts free, and these parts.

    A free x may as well be y - c: with c chosen so that the first sum x + c becomes plain y, claims
    that differ in displacements only become the same.
    """
    a, b = (_reached((term,)) for term in claim[:2])
    cut = {n: t for n, t in a.items() if n in b and t.kind not in ("const", "true", "false")}
    store = claim[0].store
    moved: dict[int, Term] = {}
    fresh: dict[int, Term] = {}
    for term in _above(claim, cut):
        if term.kind == "add" and term.args[1].kind == "const" and term.args[0].number in cut:
            root = term.args[0]
            if root.number not in moved and store.bits(root) == store.width:
                # A name of its own: a sum of x must not meet a part that was cut with x in it.
                fresh[root.number] = store.var(f"free {root.number}")
                moved[root.number] = store.sub(fresh[root.number], term.args[1])
    if not moved:
        return claim, cut
    done = {n: moved.get(n, t) for n, t in cut.items()}
    kept = {n: t for n, t in cut.items() if n not in fresh}
    return tuple(_rebuilt(term, done) for term in claim), kept | {
        t.number: t for t in fresh.values()
    }


def _above(claim: tuple[Term, ...], cut: dict[int, Term]) -> list[Term]:
    """The terms of the claim that are not below a cut one, in a repeatable order."""
    found: dict[int, Term] = {}
    stack = list(reversed(claim))
    while stack:
        term = stack.pop()
        if term.number not in found and term.number not in cut:
            found[term.number] = term
            stack.extend(reversed(term.args))
    return list(found.values())


def _rebuilt(term: Term, done: dict[int, Term]) -> Term:
    """The term over replaced parts, folded anew."""
    stack = [term]
    while stack:
        top = stack[-1]
        missing = [x for x in top.args if x.number not in done]
        if top.number in done:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            done[top.number] = top.store.rebuild(top, tuple(done[x.number] for x in top.args))
            stack.pop()
    return done[term.number]


def _leaves(terms: Iterable[Term]) -> dict[int, Term]:
    return {n: t for n, t in _reached(terms).items() if t.kind in _INPUTS}


def _pattern(a: Term, b: Term, given: Sequence[Term], cut: dict[int, Term]) -> Pattern:
    """The obligation with every cut term and input a variable, nodes numbered as they are met."""
    number: dict[int, int] = {}
    nodes: list[tuple[Any, ...]] = []

    def visit(root: Term) -> int:
        stack = [root]
        while stack:
            term = stack[-1]
            if term.number in number:
                stack.pop()
                continue
            if term.number in cut or term.kind in _INPUTS:
                sort = (
                    "bool"
                    if term.kind in _CONDITIONS
                    else "mem"
                    if term.kind in _MEMORIES
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
    return Pattern(tuple(nodes), roots, conditions)
