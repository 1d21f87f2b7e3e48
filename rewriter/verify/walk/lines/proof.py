"""Whether a version of a loop does what passes of it do, and gives up only what it stores.

What is shown, on terms, from any state at the loop's head:
- the lead-in is a pass of the loop, and leaves it where that does;
- behind the lead-in and all tests, so many passes follow as the body stores, for certain: each
  branch back is taken; the body leaves memory and registers as they do, accesses nothing else, and
  stores in their order;
- what is given up is a whole line: its address is a multiple of the line's size, in the first
  body and in each that follows;
- all its bytes are stored by the body afterwards.  In between nothing is read that may be in it,
  nothing waits for the world, and, since all stores are to one page until the line is whole and
  what is read was reached before, nothing faults that did not fault before the line was given up.

Registers that the version leaves otherwise must be dead at the loop's head.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rewriter.core.code.dataflow import inputs, machine, registers_of
from rewriter.core.edit import Grade
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.target.idioms import WholeLines
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Comparison, Different
from rewriter.verify.walk.lines.shapes import Part, Version

_MOST = 64
"""Passes of a body: one for each byte of a line."""


def spent(version: Version, target: Sequential, known: WholeLines, prover: Prover) -> int:
    """The mask of the registers that a version leaves otherwise than its loop; or Different."""
    with target.table.terms() as terms:
        return _Proof(version, target, known, prover, terms).spent()


@dataclass
class _Proof:
    version: Version
    target: Sequential
    known: WholeLines
    prover: Prover
    terms: Terms
    facts: list[Term] = field(default_factory=list)

    def spent(self) -> int:
        version, table = self.version, self.target.table
        loop = version.loop
        parts = (loop, version.lead, version.starts, *version.guards, version.body)
        insns = [insn for part in parts for insn in part if self.known.given_up(insn) is None]
        written = _written(table.defs(insn) for insn in insns)
        read = inputs(table, loop)
        every = written | _written(map(table.uses, insns))
        self.stale = registers_of(written & ~read)
        one, led = self._new(), self._new()
        goes_on, leaves = self._run(one, loop), self._run(led, version.lead)
        self._same(one, led, every)
        self._always(self.terms.eq(goes_on, self.terms.bnot(leaves)), "the way out of the loop")
        new = one.snapshot()
        self._forgotten(new)
        began = self._passed(new, version.starts)
        self._forgotten(new)
        self.facts = [goes_on, *(self._passed(new, guard) for guard in version.guards)]
        at, stored = self._stored(new)
        begins = self.terms.eq(at & self.terms.const(self.known.LINE - 1), self.terms.const(0))
        what = "that a line begins where one is given up"
        self._always(begins, what, (*self.facts, began))
        # The next body comes without a test where its line begins: of that only this is known.
        self.facts.append(begins)
        old = self._passes(one, stored)
        differing = self._differing(old, new, written)
        if differing & read:
            raise Different("what the loop reads is not as its passes leave it")
        self._same(old, new, every & ~differing)
        self._next(new, at)
        return differing

    def _new(self) -> Symbolic:
        return machine(self.target.table, self.terms)

    def _run(self, state: Symbolic, insns: Part) -> Term:
        """Runs a part that ends with a branch; the branch's condition."""
        for insn in insns:
            state.execute(insn, 0)
        if state.events or state.control is None:
            raise Different("an event, or no branch, in a version of a loop")
        condition, state.control = state.control[0], None
        return condition

    def _passed(self, state: Symbolic, test: Part) -> Term:
        """Runs a test; what is true where control goes on behind its branch."""
        if any(self.target.table.accesses(insn) for insn in test):
            raise Different("a test of a version accesses memory")
        return self.terms.bnot(self._run(state, test))

    def _forgotten(self, state: Symbolic) -> None:
        """What registers hold that a version may leave otherwise is not known any more."""
        for register in self.stale:
            state.set(register, self.terms.var(f"stale r{register:d}"))

    def _same(self, old: Symbolic, new: Symbolic, live: int) -> None:
        comparison = Comparison(self.prover, self.terms, self.target.table.register_names)
        comparison.check(old, new, live)

    def _always(self, condition: Term, what: str, given: Sequence[Term] = ()) -> None:
        if self.prover.equal(condition, self.terms.true, given)[0] is not Grade.PROVED:
            raise Different(f"{what} is not shown")

    # The body -----------------------------------------------------------------------------

    def _stored(self, state: Symbolic) -> tuple[Term, int]:
        """Runs the body; the line that it gives up, and how many stores it has."""
        line, stores, covered = None, 0, set[int]()
        for insn in self.version.body:
            register = self.known.given_up(insn)
            if register is not None:
                if line is not None:
                    raise Different("two lines are given up")
                line = state.get(Reg(register))
                continue
            if self.target.table.accesses(insn):
                effects = self.target.table.effects(insn.op)
                stores += effects.stores
                if line is not None:
                    covered |= self._covered(state, insn, line)
            state.execute(insn, 0)
            if state.events or state.control is not None:
                raise Different("an event in the body of a version")
        size = self.known.LINE
        if line is None or not covered >= {*range(size)}:
            raise Different("a line is given up that is not wholly stored")
        return line, stores

    def _covered(self, state: Symbolic, insn: Insn, line: Term) -> set[int]:
        """The bytes from a line's start that an instruction stores."""
        effects, spelled = self.target.table.effects(insn.op), self.target.spelling.address(insn)
        if effects.loads or not effects.stores:
            raise Different("something is read before a line that was given up is stored")
        if spelled is None or insn.name in self.target.spelling.CELL_ACCESSES:
            raise Different("a store to a place that is not known")
        base, displacement = spelled
        root, distance = self.terms.linear(state.get(Reg(base)))
        start, before = self.terms.linear(line)
        first, size = distance + displacement - before, self.target.table.accessed(insn)
        if root is not start or not 0 <= first <= self.known.LINE - size:
            raise Different("a store elsewhere, before a line that was given up is stored")
        return {*range(first, first + size)}

    def _passes(self, state: Symbolic, stores: int) -> Symbolic:
        """As many passes as have the body's stores; each goes on to the next."""
        table = self.target.table
        each = sum(table.effects(insn.op).stores for insn in self.version.loop)
        if not each or stores % each or not 0 < stores // each <= _MOST:
            raise Different("the body is no number of passes")
        old = state.snapshot()
        for _ in range(stores // each):
            goes_on = self._run(old, self.version.loop)
            self._always(goes_on, "that all passes of a line follow", self.facts)
        return old

    def _differing(self, old: Symbolic, new: Symbolic, written: int) -> int:
        """The registers that are not plainly the same."""
        return _written(
            1 << register
            for register in registers_of(written)
            if old.get(register) is not new.get(register)
        )

    def _next(self, state: Symbolic, line: Term) -> None:
        """That the next body gives up a line that begins as far as whole lines behind this one."""
        after = state.snapshot()
        self._forgotten(after)
        for guard in self.version.guards:
            self._passed(after, guard)
        for insn in self.version.body:
            register = self.known.given_up(insn)
            if register is not None:
                root, distance = self.terms.linear(after.get(Reg(register)))
                start, before = self.terms.linear(line)
                if root is start and (distance - before) % self.known.LINE == 0:
                    return
                break
            after.execute(insn, 0)
        raise Different("the next line that is given up begins elsewhere")


def _written(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
