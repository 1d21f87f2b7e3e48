"""What terms are on a few assignments: two that differ there are not equal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rewriter.core.edit import Grade
from rewriter.core.terms.term import Term
from rewriter.verify.terms.lane import evaluator
from rewriter.verify.terms.noise import Memory, Noise
from rewriter.verify.terms.patterns import MEMORIES

FEW = 64
"""Lanes of a signature."""


@cache
def _few(width: int) -> Noise:
    return Noise(FEW, width)


class Signatures:
    """What terms of one store are on a few assignments, as bytes: equal terms have equal ones.

    `on_one` gives the value on one more, which is quicker to find.  `answers` is what a prover has
    said of the store's terms: claim after claim is made of the same ones.
    """

    def __init__(self, width: int) -> None:
        self.noise = _few(width)
        self.known: dict[int, Any] = {}
        self.on_one = evaluator()
        self.answers: dict[tuple[Term, ...], tuple[Grade, str]] = {}

    def of(self, term: Term) -> bytes:
        """The signature of a value."""
        value = self._on(term)
        if isinstance(value, Memory):
            return b""
        found: bytes = value.tobytes()
        return found if len(value) == FEW else found * FEW

    def apart(self, a: Term, b: Term) -> bool:
        """Whether two values differ on one assignment, at once."""
        return a.kind not in MEMORIES and bool(self.on_one(a) != self.on_one(b))

    def differ(self, a: Term, b: Term, given: Sequence[Term]) -> bool:
        """Whether two terms differ on an assignment on which all that is given holds."""
        one, other = self._on(a), self._on(b)
        if isinstance(one, Memory):
            return False
        different = one != other
        for condition in given:
            different = different & self._on(condition)
        return bool(different.any())

    def hold(self, conditions: Sequence[Term]) -> bool:
        """Whether all conditions hold on one of the assignments."""
        holding = np.ones(FEW, dtype=bool)
        for condition in conditions:
            holding = holding & self._on(condition)
        return bool(holding.any())

    def _on(self, term: Term) -> Any:
        """What a term is on the assignments."""
        if term.number in self.known:
            return self.known[term.number]
        # An own stack: a term from a long block is deeper than Python's.
        stack = [term]
        while stack:
            top = stack[-1]
            missing = [a for a in top.args if a.number not in self.known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if top.number not in self.known:
                self.known[top.number] = self._value(top)
        return self.known[term.number]

    def _value(self, term: Term) -> Any:
        if term.kind == "var":
            return self.noise.value(str(term.data), self.noise.width)
        if term.kind == "mem":
            return self.noise.memory(str(term.data))
        return self.noise.apply(term.kind, term.data, [self.known[a.number] for a in term.args])
