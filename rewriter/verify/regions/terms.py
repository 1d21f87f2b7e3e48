"""Terms over values at the entry of a region, each stored once: equal terms are one number.

A term is a kind and its parts.  The kinds: `in` the value of a register at the entry; `const` a
number; `sum` a term and a constant; `add` several terms; `fn` a part of an unknown function of
terms; `test` the same, where parts 0 and 1 are predicates that are never both true; `of` a part of
what an event gave; `if` one term or another; `both` a conjunction; `clear`, `set` and `gather` a
term changed by items in any order, each of which is a condition and a term.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

Term = int
Parts = tuple[Any, ...]


class Terms:
    """The terms of one proof, and what is known of predicates; sums are of `width` bits."""

    def __init__(self, width: int) -> None:
        self.ones = (1 << width) - 1
        self._parts: list[Parts] = []
        self._numbers: dict[Parts, Term] = {}
        self._assumed: set[tuple[Term, Term]] = set()
        self._excluded: dict[tuple[Term, Term], bool] = {}
        self._known: dict[tuple[Term, Term], Term] = {}  # terms where a predicate is true
        self.false, self.true = self.const(0), self.const(1)

    def term(self, *parts: Hashable) -> Term:
        """The term of a kind with these parts."""
        number = self._numbers.get(parts)
        if number is None:
            number = self._numbers[parts] = len(self._parts)
            self._parts.append(parts)
        return number

    def parts(self, term: Term) -> Parts:
        """The kind of a term and its parts."""
        return self._parts[term]

    # Sums -------------------------------------------------------------------------------------

    def const(self, value: int) -> Term:
        """A number, modulo two to the power of the width."""
        return self.term("const", value & self.ones)

    def offset(self, term: Term) -> tuple[Term | None, int]:
        """The term as a base and a constant; the base of a number is None."""
        kind, *rest = self._parts[term]
        if kind == "const":
            return None, rest[0]
        if kind == "sum":
            return rest[0], rest[1]
        return term, 0

    def add(self, addends: Iterable[Term], constant: int) -> Term:
        """The sum of terms and a number; like an addition it carries NaT from each of them."""
        bases: list[Term] = []
        for addend in addends:
            base, more = self.offset(addend)
            constant += more
            if base is not None:
                kind, *parts = self._parts[base]
                bases += parts if kind == "add" else (base,)
        constant &= self.ones
        if not bases:
            return self.const(constant)
        base = bases[0] if len(bases) == 1 else self.term("add", *sorted(bases))
        return self.term("sum", base, constant) if constant else base

    # Predicates -------------------------------------------------------------------------------

    def assume_exclusive(self, a: Term, b: Term) -> None:
        """Takes two predicates for never both true."""
        self._assumed |= {(a, b) if a < b else (b, a)}
        self._excluded.clear()
        self._known.clear()

    @property
    def assumed(self) -> int:
        """How many pairs of predicates are taken for exclusive."""
        return len(self._assumed)

    def exclusive(self, a: Term, b: Term) -> bool:
        """Whether two predicates are known to be never both true."""
        if a == b:
            return a == self.false
        key = (a, b) if a < b else (b, a)
        known = self._excluded.get(key)
        if known is None:
            known = key in self._assumed or self._excludes(a, b) or self._excludes(b, a)
            self._excluded[key] = known
        return known

    def _excludes(self, a: Term, b: Term) -> bool:
        """Whether what `a` is made of shows that `b` is false when it is true."""
        kind, *parts = self.parts(a)
        if kind == "const":
            return a == self.false
        if kind == "test":
            other, *others = self.parts(b)
            return other == kind and parts[0] != others[0] and parts[1:] == others[1:]
        if kind == "both":
            return any(self.exclusive(part, b) for part in parts)
        if kind == "if":
            return self._if_excludes(parts, b)
        if kind == "set":
            return self._set_excludes(parts, b)
        return kind == "clear" and self.exclusive(parts[0], b)

    def _if_excludes(self, parts: Sequence[Term], b: Term) -> bool:
        guard, value, other = parts
        kind, *others = self.parts(b)
        if kind == "if" and others[0] == guard:
            return self.exclusive(value, others[1]) and self.exclusive(other, others[2])
        inside = self.exclusive(guard, b) or self.exclusive(value, b)
        return inside and (self.implies(b, guard) or self.exclusive(other, b))

    def _set_excludes(self, parts: Sequence[Term], b: Term) -> bool:
        """`a` is set by some items; a compare of type or.andcm clears `b` by the same."""
        base, *items = parts
        kind, *others = self.parts(b)
        cleared = others[1:] if kind == "clear" else ()
        for item in items:
            if item not in cleared and not any(
                self.exclusive(part, b) for part in self.parts(item)[1:]
            ):
                return False
        return self.exclusive(base, others[0] if kind == "clear" else b)

    def implies(self, a: Term, b: Term) -> bool:
        """Whether `b` is known to be true when `a` is."""
        if a == b or b == self.true or a == self.false:
            return True
        kind, *parts = self.parts(a)
        if kind == "both":
            return any(self.implies(part, b) for part in parts)
        return kind == "clear" and self.implies(parts[0], b)

    def both(self, a: Term, b: Term) -> Term:
        """Whether both predicates are true."""
        if self.implies(a, b):
            return a
        if self.implies(b, a):
            return b
        return self.false if self.exclusive(a, b) else self.term("both", a, b)

    # Changes under a predicate ----------------------------------------------------------------

    def given(self, term: Term, guard: Term) -> Term:
        """The term where the predicate `guard` is known to be true."""
        key = term, guard
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._where(term, guard)
        return found

    def _where(self, term: Term, guard: Term) -> Term:
        kind, *parts = self.parts(term)
        if kind == "sum":
            base = self.given(parts[0], guard)
            return term if base == parts[0] else self.add((base,), parts[1])
        if kind == "both":
            left = [part for part in parts if not self.implies(guard, part)]
            if len(left) < len(parts):
                return left[0] if left else self.true
            return term
        if kind != "if":
            return term
        condition, value, other = parts
        if self.implies(guard, condition):
            return self.given(value, guard)
        if self.exclusive(guard, condition):
            return self.given(other, guard)
        value, rest = self.given(value, guard), self.given(other, guard)
        return self.changed(rest, condition, value)

    def changed(self, old: Term, guard: Term, value: Term) -> Term:
        """`value` if the predicate is true, else `old`.

        Changes under predicates that are never both true are kept in one order (the lexical
        normal form of a trace), whatever the order of the instructions.
        """
        if guard == self.true:
            return value
        if guard == self.false or value == old or self.given(old, guard) == value:
            return old
        below: list[tuple[Term, Term]] = []
        base = old
        while self.parts(base)[0] == "if":
            _, condition, content, base = self.parts(base)
            below.append((condition, content))
        kept = [each for each in reversed(below) if not self.implies(each[0], guard)]
        ordered = kept if len(kept) == len(below) else self._ordered(kept)
        self._insert(ordered, (guard, value))
        for condition, content in ordered:
            base = self.term("if", condition, content, base)
        return base

    def _ordered(self, changes: Iterable[tuple[Term, Term]]) -> list[tuple[Term, Term]]:
        ordered: list[tuple[Term, Term]] = []
        for change in changes:
            self._insert(ordered, change)
        return ordered

    def _insert(self, ordered: list[tuple[Term, Term]], change: tuple[Term, Term]) -> None:
        """Puts a later change where it goes among earlier ones in normal form."""
        start = len(ordered)
        while start and self.exclusive(ordered[start - 1][0], change[0]):
            start -= 1
        larger = (n for n in range(start, len(ordered)) if ordered[n] > change)
        ordered.insert(next(larger, len(ordered)), change)

    def gathered(self, kind: str, old: Term, guard: Term, item: Term) -> Term:
        """`old` with one more item, in any order and once."""
        if guard == self.false:
            return old
        entry = self.term("item", guard, item)
        if self.parts(old)[0] == kind:
            _, base, *items = self.parts(old)
            return self.term(kind, base, *sorted({*items, entry}))
        return self.term(kind, old, entry)
