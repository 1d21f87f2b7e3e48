"""Equality of terms, proved by Z3 once per normalised pattern.

A claim goes the way of the least work: assignments that its terms were tried on before, then its
pattern (`patterns`) on many, then the pattern's parts one by one (`sweep`), then Z3 for what is
left.  Where the pattern, which is a stronger claim, does not hold, the terms are compared as they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from rewriter.core.edit import Grade
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.assumed import under
from rewriter.verify.terms.decided import Tried
from rewriter.verify.terms.patterns import (
    Pattern,
    close,
    contradiction,
    exact,
    general,
    opened,
    possibility,
)
from rewriter.verify.terms.remembered import Decided, shared
from rewriter.verify.terms.samples import Signatures
from rewriter.verify.terms.sweep import swept, unmasked
from rewriter.verify.terms.witness import Said, Witness

if TYPE_CHECKING:
    import z3

    from rewriter.verify.terms.lower import Lowering

EFFORT = 2_000_000
"""Z3's own count of work: unlike seconds, the same on every machine.

The hardest claims that are proved take 1.4 million (an Alpha kernel, Linux 6.1) and 0.2 million
(the Debian libc, glibc 2.36).
"""

_EASY = 10
"""The part of the effort with which claims are asked together first."""

_TOGETHER = 64
"""Claims that are asked in one context."""

_LANES = (1024, 4096)
"""Assignments that are tried, many and then more: most claims that do not hold fail the many."""


_NEAR = 4
"""Assignments for other conditions on the same terms that are tried before a solver is asked."""

COMPARISONS = 1 << 13
"""Of addresses in one claim: the claims of a libc or a kernel have up to a sixteenth of that.

Each load is compared with each store before it, for every assignment and in every expression, so a
long straight run with thousands of both would take minutes.
"""


@dataclass
class Prover:
    """Proves equalities and remembers the patterns that it has decided, by their digests."""

    width: int
    cell: int
    decided: dict[bytes, Decided] = field(init=False)
    asked: int = 0
    solved: int = 0
    _signatures: tuple[Terms, Signatures] | None = None
    _witnesses: dict[tuple[Term, ...], Witness | None] = field(default_factory=dict)
    _said_of: dict[bytes, Said | None] = field(default_factory=dict)
    _common: z3.Context | None = None
    _asked_together: int = 0

    @classmethod
    def of(cls, target: Sequential) -> Prover:
        """One for the registers and the memory of a target."""
        return cls(target.table.width, target.table.cell)

    def __post_init__(self) -> None:
        self.decided = shared((self.width, self.cell))

    def equal(self, a: Term, b: Term, given: Sequence[Term] = ()) -> tuple[Grade, str]:
        """Whether a == b for every value of what they are made of; and the proved pattern's key."""
        if a is b:
            return Grade.PROVED, ""
        self.asked += 1
        signatures = self.signatures(a.store)
        if not given and signatures.apart(a, b):
            return Grade.REFUTED, ""
        claim = (a, b, *given)
        answer = signatures.answers.get(claim)
        if answer is None:
            answer = signatures.answers[claim] = self._said(a, b, given, signatures)
        return answer

    def _said(
        self, a: Term, b: Term, given: Sequence[Term], signatures: Signatures
    ) -> tuple[Grade, str]:
        if signatures.differ(a, b, given):
            return Grade.REFUTED, ""
        if given and not signatures.hold(given):
            witness = self._witness(tuple(given))
            if witness is None or not witness.hold(given):
                if not self._possible(given):
                    return Grade.REFUTED, ""
            elif witness.differ(a, b, given):
                return Grade.REFUTED, ""
        return self._equal(a, b, given)

    def _possible(self, given: Sequence[Term]) -> bool:
        """Whether conditions can hold together; from the impossible everything would follow."""
        return self._decide(contradiction(given)).grade is Grade.REFUTED

    def _witness(self, given: tuple[Term, ...]) -> Witness | None:
        """Assignments on which conditions hold, if they are found."""
        known = self._witnesses
        if given not in known:
            others = dict.fromkeys(filter(None, reversed(known.values())))
            near = (one for one in islice(others, _NEAR) if one.hold(given))
            known[given] = next(near, None) or self._found(given)
        return known[given]

    def _found(self, given: tuple[Term, ...]) -> Witness | None:
        """Assignments that Z3 finds, once for conditions that are the same pattern."""
        pattern, inputs = possibility(given)
        digest = pattern.digest
        if digest not in self._said_of:
            hard = pattern.comparisons > COMPARISONS
            self._said_of[digest] = None if hard else self._asked(pattern)
        said = self._said_of[digest]
        return Witness(self.width, said.of(inputs)) if said is not None else None

    def _equal(self, a: Term, b: Term, given: Sequence[Term]) -> tuple[Grade, str]:
        a, b = under(given, (a, b))
        if a is b:
            return Grade.PROVED, ""
        for pattern in (general, close, opened, exact):
            decided = self._decide(pattern(a, b, given))
            if decided.grade is not Grade.REFUTED:
                break  # one that is too hard is not easier with less of it free
        return decided.grade, decided.key

    def signatures(self, store: Terms) -> Signatures:
        """Those of the store that is in hand: claims about one store come one after the other."""
        if self._signatures is None or self._signatures[0] is not store:
            self._signatures = store, Signatures(store.width)
            self._witnesses = {}
        return self._signatures[1]

    def _decide(self, pattern: Pattern) -> Decided:
        digest = pattern.digest
        if digest not in self.decided:
            self.solved += 1
            self.decided[digest] = Decided(Grade.TIMEOUT)  # it cannot rest on itself
            grade = self._grade(pattern)
            self.decided[digest] = Decided(grade, pattern.key if grade is Grade.PROVED else "")
        return self.decided[digest]

    def _grade(self, pattern: Pattern) -> Grade:
        if pattern.comparisons > COMPARISONS:
            return Grade.TIMEOUT
        for lanes in _LANES:
            tried = Tried(pattern, self.width, lanes)
            if tried.refuted:
                return Grade.REFUTED
        with Terms(self.width) as store:
            smaller = swept(pattern, store, tried, self._shown)
            if smaller is not None:
                return self._equal(*smaller)[0]
        grade = self._solve(pattern)
        if grade is Grade.TIMEOUT:
            with Terms(self.width) as store:
                smaller = unmasked(pattern, store, tried, self._shown)
                return grade if smaller is None else self._equal(*smaller)[0]
        return grade

    def _shown(self, a: Term, b: Term, given: Sequence[Term]) -> bool:
        return self._equal(a, b, given)[0] is Grade.PROVED

    def _solve(self, pattern: Pattern) -> Grade:
        """What Z3 says, where all that is given is possible.

        Most claims take little of its effort, and a context of their own would take more than all
        else: they are asked in one that all share.  What is not said there with little effort is
        asked again by itself, so that no answer near the limit rests on what was asked before.
        """
        import z3

        if self._asked_together % _TOGETHER == 0:
            self._common = z3.Context()  # what one holds grows
        self._asked_together += 1
        grade = self._said_in(self._common, EFFORT // _EASY, pattern)
        return self._said_in(None, EFFORT, pattern) if grade is Grade.TIMEOUT else grade

    def _said_in(self, context: z3.Context | None, effort: int, pattern: Pattern) -> Grade:
        """What Z3 says of a claim in a context, or one of its own, with no more effort."""
        import z3

        lowering, solver = self._solver(context, effort, pattern)
        a, b = (lowering.done[n] for n in pattern.roots)
        if a is None or b is None:
            return Grade.REFUTED  # memories are compared store by store, not here
        solver.add(a != b)
        answer = solver.check()
        if answer == z3.unsat:
            return Grade.PROVED
        return Grade.REFUTED if answer == z3.sat else Grade.TIMEOUT

    def _asked(self, pattern: Pattern) -> Said | None:
        """An assignment on which all that is given holds, if Z3 has one.

        Which one it is must not rest on what was asked before.
        """
        import z3

        lowering, solver = self._solver(None, EFFORT, pattern)
        return lowering.said(solver.model()) if solver.check() == z3.sat else None

    def _solver(
        self, context: z3.Context | None, effort: int, pattern: Pattern
    ) -> tuple[Lowering, Any]:
        """A solver for which all that is given holds."""
        import z3

        from rewriter.verify.terms.lower import Lowering

        lowering = Lowering(self.width, self.cell, context)
        terms = lowering.lower(pattern.nodes)
        own = lowering.context
        logic = z3.to_symbol("QF_BV", own)  # SolverFor would make one more context for the name
        solver = z3.Solver(z3.Z3_mk_solver_for_logic(own.ref(), logic), own)
        solver.set("rlimit", effort)
        solver.add(*(terms[n] for n in pattern.given))
        return lowering, solver
