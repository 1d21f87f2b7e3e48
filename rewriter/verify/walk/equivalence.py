"""Whether two straight runs from the same state do the same: registers, memory, events, accesses.

What is compared, and in this order, because what is shown equal is then used:
- events (barriers, traps, system calls, hints), each with its operands and the memory it sees;
- stores, in order, each cell and value; so that memory at the end is equal; and the bytes that
  each writes, which are none that the old one did not;
- whether control leaves, and where to;
- every register that is live afterwards;
- the cells accessed: a rewrite touches none that the original did not, so it faults nowhere
  else.  A load whose result nothing reads may go.

Code with side exits is compared exit by exit, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from rewriter.core.code.dataflow import Run, registers_of
from rewriter.core.edit import Evidence, Grade
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.terms.term import Term, Terms, rebuilt
from rewriter.verify.terms.prover import Prover

Likely = Callable[[int, Term], Iterable[Term]]
"""Given a slot of the new run and its value, old values that it is likely equal to."""

_CANDIDATES = 3


def agreeing(old: Collection[Term], comparison: Comparison) -> Likely:
    """Old values that agree with the new one on random inputs for which all that is known holds.

    Those first that are the value but for a mask, then those that were loaded from the same
    memories: others differ where addresses meet that hardly any input lets meet, and only a solver
    would say so.
    """
    known = {term.number for term in old}
    by_number: dict[int, dict[Term, None]] = {}
    terms = comparison.terms
    signatures = comparison.prover.signatures(terms)

    def likely(slot: int, value: Term) -> Iterable[Term]:
        value = comparison.through(value)
        if value.number in known:
            return ()
        if not by_number:  # most runs never get here
            for term in old:
                for reading in (term, terms.unsigned(term)):
                    by_number.setdefault(signatures.on_one(reading), {})[reading] = None
        near: Collection[Term] = by_number.get(signatures.on_one(value), ())
        if len(near) > 1:
            memories = _loaded_from(value)
            near = sorted(
                near, key=lambda one: (not _masked(one, value), _loaded_from(one) != memories)
            )
        same = (one for one in near if not signatures.differ(one, value, comparison.known))
        return islice(same, _CANDIDATES)

    return likely


def unsplit_stores(old: Run, new: Run) -> None:
    """That what one old instruction stores no two new ones store: another thread may see a part.

    Raises Different.  Both runs are shown to store the same, in the same order; a store that is
    wider than a register is several there.
    """
    ends, others = ({end for _, end in run.store.values()} for run in (old, new))
    if not others <= ends:
        raise Different("a store is made in parts")


class Different(Exception):
    """The runs are not shown to do the same; the text says what differs."""

    def __init__(self, what: str, grade: Grade = Grade.REFUTED) -> None:
        super().__init__(what)
        self.what, self.grade = what, grade


@dataclass
class Comparison:
    """Compares a new run with an old one, over one store of terms.

    `names` are register names for messages; `aligned` are accesses of the new run, address and
    size in bytes, that something shows to be naturally aligned; `known` are conditions that hold
    wherever the old run comes to what is compared.
    """

    prover: Prover
    terms: Terms
    names: tuple[str, ...]
    aligned: tuple[tuple[Term, int], ...] = ()
    known: tuple[Term, ...] = ()
    patterns: set[str] = field(default_factory=set)
    _natural: tuple[tuple[Term, int], ...] = ()
    _alias: dict[int, Term] = field(default_factory=dict)
    _rebuilt: dict[int, Term] = field(default_factory=dict)

    def check(self, old: Symbolic, new: Symbolic, live: int) -> None:
        """Shows that the states agree where `live` registers are read afterwards, or Different."""
        self._natural = tuple(self._bases(old, new))
        self._events(old, new)
        self._memories(old.memory, new.memory, "memory")
        self._written(old, new)
        if (old.control is None) != (new.control is None):
            raise Different("a branch appeared or went")
        if old.control is not None and new.control is not None:
            self.same(old.control[0], new.control[0], "branch condition")
            self.same(old.control[1], new.control[1], "target of a jump")
        for register in registers_of(live):
            if old.registers.get(register) is not new.registers.get(register):
                before, after = old.get(register), new.get(register)
                self.same(before, after, f"register {self.names[register]}")
        self._accesses(old, new)
        self._alignments(old, new)

    def evidence(self) -> Evidence:
        """What was shown by the checks so far."""
        preconditions = ("natural alignment shown by the idiom",) if self.aligned else ()
        return Evidence(Grade.PROVED, preconditions, tuple(sorted(self.patterns)))

    def follow(self, old: Symbolic, new: Run, likely: Likely, slots: range) -> bool:
        """Goes through some of the new run in order and shows each value equal to a likely old one.

        What is made from a value shown equal is then the same term, so that each difference is
        proved once, and small.  Stores are paired in order; whether all were shown equal.
        """
        for slot in sorted(slot for slot in new.made.keys() | new.store.keys() if slot in slots):
            numbers = range(*new.store[slot]) if slot in new.store else range(0)
            for number in numbers if numbers.stop <= len(old.stored) else ():
                try:
                    self._store(old.stored[number][:3], new.state.stored[number][:3], "")
                except Different:
                    return False  # the checks that follow say it better
            for value in new.made.get(slot, {}).values():
                self._pair(value, likely(slot, value))
        return True

    def _pair(self, value: Term, likely: Iterable[Term]) -> None:
        """Shows a value equal to one of the likely ones, if it is."""
        for old in likely:
            if any(self.suggest(reading, value) for reading in self._readings(old, value)):
                return

    def _readings(self, old: Term, new: Term) -> tuple[Term, ...]:
        """An old value, and the same without its sign; that first where the new one has none."""
        unsigned = self.terms.unsigned(old)
        if unsigned is old:
            return (old,)
        return (unsigned, old) if self.terms.bits(new) < self.terms.width else (old, unsigned)

    def _store(self, old: tuple[Term, Term, Term], new: tuple[Term, Term, Term], what: str) -> None:
        """Shows two stores the same; where memory before them was, it is after them too."""
        if old[2].data != new[2].data:
            raise Different(f"{what}: width of a store differs")
        self.same(old[0], new[0], f"{what}: address of a store")
        self.same(old[1], new[1], f"{what}: stored value")
        after = self.through(new[2])
        if after is not old[2] and self.through(new[2].args[0]) is old[2].args[0]:
            self._stands_for(after, old[2])

    def suggest(self, old: Term, new: Term) -> bool:
        """Whether two terms are equal; then what is made from them is too, at once."""
        try:
            self.same(old, new, "suggestion")
        except Different:
            return False
        return True

    def same(self, old: Term, new: Term, what: str) -> None:
        """Shows two terms equal, or raises Different."""
        new = self.through(new)
        if old is new:
            return
        grade, key = self.prover.equal(old, new)
        if grade is not Grade.PROVED and (self.aligned or self._natural):
            grade, key = self.prover.equal(old, new, self._assumed())
        if grade is not Grade.PROVED and self.known:
            grade, key = self.prover.equal(old, new, self.known)
        if grade is not Grade.PROVED:
            raise Different(f"{what} differs: {old} became {new}"[:300], grade)
        if key:
            self.patterns.add(key)
        self._learn(old, new)

    def same_places(self, old: Sequence[Term], new: Sequence[Term]) -> None:
        """Shows two accesses to touch the same memory, or raises Different."""
        if len(old) != len(new):
            raise Different("a load or store went elsewhere")
        for place, other in zip(old, new, strict=True):
            self.same(place, other, "place of an access")

    def _learn(self, old: Term, new: Term) -> None:
        """From now on `new` is `old`; where both are sign extensions, so is what they extend."""
        self._stands_for(new, old)
        part, other = self.terms.unsigned(old), self.terms.unsigned(new)
        if part is not old and other is not new and old.args[1] is new.args[1]:
            self._stands_for(other, part)

    def _stands_for(self, new: Term, old: Term) -> None:
        """From now on an old term stands for a new one; what has that in it is rebuilt again."""
        self._alias[new.number] = old
        first = new.number  # what a term is in was made after it
        done = self._rebuilt
        for number in [n for n, t in done.items() if t.number >= first or n == first]:
            del done[number]

    def _assumed(self) -> list[Term]:
        """That the shown accesses are aligned, as conditions; and what new accesses are part of."""
        zero = self.terms.const(0)
        return [
            self.terms.eq(self.through(address) & self.terms.const(size - 1), zero)
            for address, size in (*self.aligned, *self._natural)
        ]

    def _bases(self, old: Symbolic, new: Symbolic) -> Iterator[tuple[Term, int]]:
        """Wider accesses of the old run by which new ones are aligned: it would have trapped."""
        added = {(self.through(address), size) for address, size in new.narrow - old.narrow}
        for address, size in sorted(added - old.narrow, key=_place):
            bases = [base for base in old.narrow if self._part(address, size, base)]
            if bases:
                yield max(bases, key=_width)

    def _part(self, address: Term, size: int, base: tuple[Term, int]) -> bool:
        """Whether an access is aligned because another, wider one is."""
        root, distance = self.terms.linear(address)
        other, there = self.terms.linear(base[0])
        return root is other and base[1] % size == 0 and (distance - there) % size == 0

    def _alignments(self, old: Symbolic, new: Symbolic) -> None:
        """That no access may trap on its alignment unless the old run's would, or it is shown."""
        fresh = new.narrow - old.narrow
        if not fresh:
            return
        known = old.narrow | {(self.through(address), size) for address, size in self.aligned}
        added = {(self.through(address), size) for address, size in fresh} - known
        if any(not self._was(address, size, known) for address, size in added):
            raise Different("a new access may be misaligned", Grade.NO_SPEC)

    def _was(self, address: Term, size: int, known: set[tuple[Term, int]]) -> bool:
        """Whether an access is one of the known ones under another spelling."""
        if any(self._part(address, size, base) for base in known):
            return True
        same_size = sorted((a for a, n in known if n == size), key=_number)
        return any(self.prover.equal(a, address)[0] is Grade.PROVED for a in same_size)

    def through(self, term: Term) -> Term:
        """The new run's term with every part that was shown equal replaced by the old one's."""
        if not self._alias:
            return term
        return self._rebuilt.get(term.number) or rebuilt(term, self._rebuilt, self._alias)

    def _events(self, before: Symbolic, after: Symbolic) -> None:
        old, new = before.events, after.events
        if [e[0] for e in old] != [e[0] for e in new]:
            raise Different(f"events differ: {[e[0] for e in old]} became {[e[0] for e in new]}")
        for (name, values, memory), (_, new_values, new_memory) in zip(old, new, strict=True):
            if memory is not None and new_memory is not None:
                self._memories(memory, new_memory, f"memory at {name}")
            for value, other in zip(values, new_values, strict=True):
                self.same(value, other, f"operand of {name}")

    def _memories(self, old: Term, new: Term, what: str) -> None:
        new = self.through(new)
        if old is new:
            return
        (base, stores), (new_base, new_stores) = _history(old), _history(new)
        if base is not new_base or len(stores) != len(new_stores):
            raise Different(f"{what} differs: {len(stores)} stores became {len(new_stores)}")
        for before, after in zip(stores, new_stores, strict=True):
            self._store(before, after, what)

    def _written(self, before: Symbolic, after: Symbolic) -> None:
        """That no store writes a byte that the old one did not: another thread may own it."""
        zero = self.terms.const(0)
        for (*_, old), (*_, new) in zip(before.stored, after.stored, strict=True):
            new = self.through(new)
            if new is not old:
                self.same(zero, new & ~old, "bytes that a store writes")

    def _accesses(self, before: Symbolic, after: Symbolic) -> None:
        old = _places(before)
        added = {self.through(place) for place in _places(after) - old} - old
        for place in sorted(added, key=_number):
            # It may be an old one under another spelling.
            if not any(self._one(place, other) for other in sorted(old, key=_number)):
                raise Different(f"an access is new: {place}")

    def _one(self, place: Term, other: Term) -> bool:
        """Whether two cells are the same one."""
        if self.prover.equal(place, other)[0] is Grade.PROVED:
            return True
        if not self._natural or self._root(place) is not self._root(other):
            return False
        return self.prover.equal(place, other, self._assumed())[0] is Grade.PROVED

    def _root(self, place: Term) -> Term:
        """What a cell's address is reached from."""
        return self.terms.linear(place.args[0] if place.kind == "and" else place)[0]


_STORES = frozenset({"store", "write"})
"""Memories that are others but for what was stored."""

_LOADS = frozenset({"load", "read"})


def _number(term: Term) -> int:
    return term.number


def _place(access: tuple[Term, int]) -> tuple[int, int]:
    return access[0].number, access[1]


def _width(access: tuple[Term, int]) -> tuple[int, int]:
    return access[1], access[0].number


def _places(state: Symbolic) -> set[Term]:
    return state.loaded | {place for place, _, _, _ in state.stored}


def _loaded_from(value: Term) -> set[Term]:
    """The memories that a value was loaded from, without those that its addresses were."""
    found, seen, stack = set[Term](), {value.number}, [value]
    while stack:
        term = stack.pop()
        if term.kind in _LOADS:
            found.add(term.args[0])
            continue
        for arg in term.args:
            if arg.number not in seen:
                seen.add(arg.number)
                stack.append(arg)
    return found


def _masked(value: Term, part: Term) -> bool:
    """Whether a value is another one under a mask."""
    return value.kind == "and" and part in value.args


def _history(memory: Term) -> tuple[Term, list[tuple[Term, Term, Term]]]:
    """The memory under a chain of stores, and the stores in order with the state after each."""
    stores = []
    while memory.kind in _STORES:
        stores.append((memory.args[1], memory.args[2], memory))
        memory = memory.args[0]
    return memory, stores[::-1]
