"""Whether two straight runs from the same state do the same: registers, memory, events, accesses.

What is compared, and in this order, because what is shown equal is then used:
- events (barriers, traps, system calls, hints), each with its operands and the memory it sees;
- stores, in order, each granule and value; so that memory at the end is equal;
- the branch condition;
- every register that is live afterwards;
- the granules accessed: a rewrite touches exactly those that the original touched, so it faults
  where the original would fault and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa import Reg
from rewriter.core.symbolic import Symbolic
from rewriter.core.term import Term
from rewriter.core.trace import registers_of
from rewriter.verify.prove import Prover


class Different(Exception):
    """The runs are not shown to do the same; the text says what differs."""

    def __init__(self, what: str, grade: Grade = Grade.REFUTED) -> None:
        super().__init__(what)
        self.what, self.grade = what, grade


@dataclass
class Comparison:
    """Compares `new` with `old`, two runs over one store of terms.

    `names` are register names for messages; `assumed` are conditions that may be used.
    """

    prover: Prover
    old: Symbolic
    new: Symbolic
    names: tuple[str, ...]
    assumed: tuple[Term, ...] = ()
    patterns: set[str] = field(default_factory=set)
    used_assumptions: bool = False
    _alias: dict[int, Term] = field(default_factory=dict)
    _rebuilt: dict[int, Term] = field(default_factory=dict)

    def check(self, live: int) -> Evidence:
        """Evidence that the runs agree, with `live` registers read afterwards; or Different."""
        self._events()
        self._memories(self.old.memory, self.new.memory, "memory")
        self._conditions()
        for register in registers_of(live):
            old, new = self.old.get(Reg(register)), self.new.get(Reg(register))
            self.same(old, new, f"register {self.names[register]}")
        self._accesses()
        preconditions = ("natural alignment shown by the idiom",) if self.used_assumptions else ()
        return Evidence(Grade.PROVED, preconditions, tuple(sorted(self.patterns)))

    def same(self, old: Term, new: Term, what: str) -> None:
        """Shows two terms equal, or raises Different."""
        new = self._through(new)
        if old is new:
            return
        grade, key = self.prover.equal(old, new)
        if grade is not Grade.PROVED and self.assumed:
            grade, key = self.prover.equal(old, new, self.assumed)
            self.used_assumptions |= grade is Grade.PROVED
        if grade is not Grade.PROVED:
            raise Different(f"{what} differs: {old} became {new}"[:300], grade)
        self.patterns.add(key)
        self._alias[new.number] = old
        self._rebuilt.clear()

    def _through(self, term: Term) -> Term:
        """The new run's term with every part that was shown equal replaced by the old one's."""
        if not self._alias:
            return term
        done = self._rebuilt
        stack = [term]
        while stack:
            top = stack[-1]
            if top.number in done:
                stack.pop()
                continue
            missing = [a for a in top.args if a.number not in done]
            if missing:
                stack.extend(missing)
                continue
            built = top.store.rebuild(top, tuple(done[a.number] for a in top.args))
            done[top.number] = self._alias.get(built.number, self._alias.get(top.number, built))
            stack.pop()
        return done[term.number]

    def _events(self) -> None:
        old, new = self.old.events, self.new.events
        if [e[0] for e in old] != [e[0] for e in new]:
            raise Different(f"events differ: {[e[0] for e in old]} became {[e[0] for e in new]}")
        for (name, values, memory), (_, new_values, new_memory) in zip(old, new, strict=True):
            self._memories(memory, new_memory, f"memory at {name}")
            for value, other in zip(values, new_values, strict=True):
                self.same(value, other, f"operand of {name}")

    def _memories(self, old: Term, new: Term, what: str) -> None:
        new = self._through(new)
        if old is new:
            return
        (base, stores), (new_base, new_stores) = _history(old), _history(new)
        if base is not new_base or len(stores) != len(new_stores):
            raise Different(f"{what} differs: {len(stores)} stores became {len(new_stores)}")
        for (place, value, state), (new_place, new_value, new_state) in zip(
            stores, new_stores, strict=True
        ):
            self.same(place, new_place, f"{what}: address of a store")
            self.same(value, new_value, f"{what}: stored value")
            if state is not new_state:
                self._alias[new_state.number] = state
                self._rebuilt.clear()

    def _conditions(self) -> None:
        old, new = self.old.control, self.new.control
        if (old is None) != (new is None):
            raise Different("a branch appeared or went")
        if old is not None and new is not None:
            self.same(old[0], new[0], "branch condition")

    def _accesses(self) -> None:
        old = _places(self.old)
        new = {self._through(place) for place in _places(self.new)}
        if old - new:
            raise Different(f"an access is lost: {_first(old - new)}")
        if new - old:
            raise Different(f"an access is new: {_first(new - old)}")


def _places(state: Symbolic) -> set[Term]:
    return state.loaded | {place for place, _ in state.stored}


def _first(terms: Iterable[Term]) -> Term:
    return min(terms, key=lambda term: term.number)


def _history(memory: Term) -> tuple[Term, list[tuple[Term, Term, Term]]]:
    """The memory under a chain of stores, and the stores in order with the state after each."""
    stores = []
    while memory.kind == "store":
        stores.append((memory.args[1], memory.args[2], memory))
        memory = memory.args[0]
    return memory, stores[::-1]
