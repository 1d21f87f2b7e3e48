"""Equality of terms, proved by Z3 once per normalised pattern.

Two terms that must be equal usually share most of what they are made of.  Each largest shared
part is replaced by a free variable, which only makes the claim stronger, and what remains is a
pattern of a few nodes: thousands of sites are a few dozen patterns.  Where the stronger claim does
not hold, the terms are compared as they are.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewriter.core.edit import Grade
from rewriter.core.term import Term, Terms, reached, rebuilt
from rewriter.verify.assumed import under
from rewriter.verify.noise import Memory, Noise, Signatures, pool_of

EFFORT = 6_000_000
"""Z3's own count of work: unlike seconds, the same on every machine.

The hardest claims about the Debian libc (glibc 2.36) and the sample that are proved take 2.6 and
2.2 million.
"""

_LANES = (64, 1024, 4096)
"""Assignments that are tried, few and then many: most claims that do not hold fail the few.

95 % of those about the Debian libc fail one of the many.
"""

_BY_VALUE = 2  # the last format of `marshal` in which equal values are equal bytes

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

    @property
    def digest(self) -> bytes:
        """What stands for it where many are remembered: a pattern takes some kilobytes."""
        written = marshal.dumps((self.nodes, self.roots, self.given), _BY_VALUE)
        return hashlib.blake2b(written, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Decided:
    """What is known of a pattern; one that is proved has its name."""

    grade: Grade
    key: str = ""


@dataclass
class Prover:
    """Proves equalities and remembers the patterns that it has decided, by their digests."""

    width: int = 64
    granule: int = 8
    decided: dict[bytes, Decided] = field(default_factory=dict)
    asked: int = 0
    solved: int = 0
    _signatures: tuple[Terms, Signatures] | None = None

    def equal(self, a: Term, b: Term, given: Sequence[Term] = ()) -> tuple[Grade, str]:
        """Whether a == b for every value of what they are made of; and the proved pattern's key."""
        if a is b:
            return Grade.PROVED, ""
        self.asked += 1
        if self.signatures(a.store).differ(a, b, given):
            return Grade.REFUTED, ""
        a, b = under(given, (a, b))
        claim, cut = _generalised((a, b, *given))
        one, other, *conditions = claim
        general = _pattern(one, other, conditions, cut)
        decided = self._decide(general)
        if decided.grade is not Grade.PROVED:
            decided = self._decide(_pattern(a, b, given, _leaves((a, b, *given))))
        return decided.grade, decided.key

    def signatures(self, store: Terms) -> Signatures:
        """Those of the store that is in hand: claims about one store come one after the other."""
        if self._signatures is None or self._signatures[0] is not store:
            self._signatures = store, Signatures(store.width)
        return self._signatures[1]

    def _decide(self, pattern: Pattern) -> Decided:
        digest = pattern.digest
        if digest not in self.decided:
            self.solved += 1
            refuted = any(_differs(pattern, self.width, lanes) for lanes in _LANES)
            grade = Grade.REFUTED if refuted else self._solve(pattern)
            self.decided[digest] = Decided(grade, pattern.key if grade is Grade.PROVED else "")
        return self.decided[digest]

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


def _differs(pattern: Pattern, width: int, lanes: int) -> bool:
    """Whether one of the assignments refutes the pattern; a solver needs far longer to say so."""
    constants = (node[1] for node in pattern.nodes if node[0] == "const")
    noise = Noise(lanes, width, pool_of(constants))
    values: list[Any] = []
    for number, (kind, data, *args) in enumerate(pattern.nodes):
        if kind == "?":
            values.append(_free(noise, str(number), data))
        else:
            values.append(noise.apply(kind, data, [values[n] for n in args]))
    a, b = (values[n] for n in pattern.roots)
    if isinstance(a, Memory):
        return False
    different = a != b
    for condition in pattern.given:
        different = different & values[condition]
    return bool(different.any())


def _free(noise: Noise, name: str, sort: str | int) -> Any:
    if sort == "mem":
        return noise.memory(name)
    return noise.condition(name) if sort == "bool" else noise.value(name, int(sort))


def _generalised(claim: tuple[Term, ...]) -> tuple[tuple[Term, ...], dict[int, Term]]:
    """The claim with its largest shared parts free, and these parts.

    A free x may as well be y - c: with c chosen so that the first sum x + c becomes plain y, claims
    that differ in displacements only become the same.
    """
    a, b = (reached((term,)) for term in claim[:2])
    cut = {n: t for n, t in a.items() if n in b and _may_be_free(t)}
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
    return tuple(rebuilt(term, done) for term in claim), kept | {
        t.number: t for t in fresh.values()
    }


def _may_be_free(term: Term) -> bool:
    """Whether a shared part may be anything; x + c may not be, as x may be shared by itself."""
    if term.kind == "add":
        return term.args[1].kind != "const"
    return term.kind not in ("const", "true", "false")


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


def _leaves(terms: Iterable[Term]) -> dict[int, Term]:
    return {n: t for n, t in reached(terms).items() if t.kind in _INPUTS}


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
