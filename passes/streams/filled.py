"""Versions of loops for long counts, which store whole lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from passes.streams.accesses import Stream, streams
from rewriter.core.code.dataflow import inputs, registers_of
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.idioms import WholeLines
from rewriter.core.target.protocol import Sequential
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.lines.proof import spent
from rewriter.verify.walk.lines.shapes import Part, Version

_LINES = 4
"""A count of fewer lines is short, as far as a literal can say so."""

_LARGEST = 255
"""The largest number that a test takes."""


class NoVersion(Exception):
    """Why a loop gets no version."""


@dataclass(frozen=True)
class Long:
    """A version of a loop, and the test that asks for a long count; its branch leads there."""

    version: Version
    test: Part
    stream: Stream

    @property
    def parts(self) -> tuple[Part, ...]:
        """The version's, in the order in which they stand; the jump back comes behind."""
        version = self.version
        return (version.lead, version.starts, *version.guards, version.body)


@dataclass(frozen=True)
class Filled:
    """A loop of one block, its last instruction the branch back.

    `spare` are registers that may be written: dead at its head, and written in the function.
    """

    insns: tuple[Insn, ...]
    spare: int
    target: Sequential
    known: WholeLines
    prover: Prover

    def long(self) -> Long:
        """The version that is shown to do the same; or NoVersion."""
        reason = "what counts its passes is not understood"
        for test, limited in self._tests():
            version = self._version(test)
            try:
                mask = spent(version, self.target, self.known, self.prover)
            except Different as problem:
                reason = problem.what
                continue
            if mask & ~self.spare:
                raise NoVersion("no register is free")
            return Long(version, limited, self.stream)
        raise NoVersion(reason)

    # What the loop is ---------------------------------------------------------------------

    @cached_property
    def stream(self) -> Stream:
        """What it fills."""
        table = self.target.table
        if any(table.effects(insn.op).loads for insn in self.insns):
            raise NoVersion("it also reads memory, which may overlap")
        found = [one for one in streams(self.insns, self.target) if one.accesses]
        stores = sum(table.effects(insn.op).stores for insn in self.insns)
        if len(found) != 1 or len(found[0].accesses) != stores:
            raise NoVersion("it stores to several places")
        (stream,) = found
        if stream.step < 0:
            raise NoVersion("it goes downwards")
        stored = {a.offset + n for a in stream.accesses if a.exact for n in range(a.size)}
        low = min(stored, default=0)
        if stored != {*range(low, low + stream.step)}:
            raise NoVersion("a pass does not store all that it moves over")
        if stream.step < 4 or self.known.LINE % stream.step:
            raise NoVersion("no number of passes stores a line")
        return stream

    @property
    def passes(self) -> int:
        """Passes that store a line."""
        return self.known.LINE // self.stream.step

    @cached_property
    def _free(self) -> int:
        """A register for tests; nothing that the loop reads before it writes it."""
        table, target = self.target.table, self.target
        stay = inputs(table, self.insns) | self._needed
        free = registers_of(self.spare & target.spelling.SCRATCH & ~stay)
        if not free:
            raise NoVersion("no register is free")
        own = [r for r in free if any(table.defs(insn) >> r & 1 for insn in self.insns)]
        return (own or list(free))[0]

    @property
    def _needed(self) -> int:
        """What the body of a line writes and reads again."""
        table, mask = self.target.table, 0
        for insn in self._body:
            mask |= table.defs(insn)
        return mask

    @cached_property
    def _steps(self) -> Mapping[int, tuple[int, int]]:
        """Distance and bits of registers that a pass changes by a number, and by nothing else."""
        found: dict[int, tuple[int, int]] = {}
        for insn in self.insns:
            one = self.known.stepping(insn)
            if one is not None and self._changes(one[0]) == 1:
                found[one[0]] = one[1:]
        return found

    def _changes(self, register: int) -> int:
        return sum(self.target.table.defs(insn) >> register & 1 for insn in self.insns)

    @cached_property
    def _compare(self) -> Insn | None:
        """What the branch back asks, if that is the result of an instruction that is for that."""
        uses, defs = self.target.table.uses, self.target.table.defs
        asked = uses(self.insns[-1])
        made = [insn for insn in self.insns[:-1] if defs(insn) & asked]
        others = [insn for insn in self.insns[:-1] if uses(insn) & asked]
        if len(made) != 1 or others or asked & ~self.spare or defs(made[0]) != asked:
            return None
        return made[0]

    @cached_property
    def _folded(self) -> frozenset[int]:
        """Registers that only accesses go by, so that a line's passes need them once."""
        table, known, found = self.target.table, self.known, set[int]()
        for register, (_, bits) in self._steps.items():
            others = [
                insn
                for insn in self.insns
                if table.uses(insn) >> register & 1 and insn is not self._compare
            ]
            steps = [insn for insn in others if known.stepping(insn) is not None]
            bases = [
                insn
                for insn in others
                if table.accesses(insn)
                and known.displaced(insn, register, 0) == insn
                and not self._stored(insn, register)
            ]
            asked = table.uses(self.insns[-1]) >> register & 1
            if bits == table.width and len(steps) + len(bases) + asked == len(others):
                found.add(register)
        return frozenset(found)

    def _stored(self, insn: Insn, register: int) -> bool:
        """Whether an access reads a register for more than its address."""
        return self.target.spelling.address(insn) is not None and insn.operands[0] == register

    # The version --------------------------------------------------------------------------

    def _version(self, test: Part) -> Version:
        branch = self.known.opposite(self.insns[-1], 0)
        if branch is None:
            raise NoVersion("its branch back has no opposite")
        lead = (*self.insns[:-1], branch)
        again = self.known.branch("ne", self._free, 0)
        starts = *self._line(), self.known.low_bits(self._at, self.known.LINE - 1, self._free)
        given = (*self._line(), self.known.give_up(self._at))
        return Version(self.insns, lead, (*starts, again), (test,), (*given, *self._body))

    @property
    def _low(self) -> int:
        return min(access.offset for access in self.stream.accesses)

    @property
    def _at(self) -> int:
        """The register with the place that a pass begins to store at."""
        return self._free if self._low else self.stream.base

    def _line(self) -> Part:
        """What makes that place."""
        if not self._low:
            return ()
        return (self._plus(self.stream.base, self._low, self._free),)

    def _plus(self, source: int, distance: int, target: int) -> Insn:
        insn = self.known.plus(source, distance, target)
        if insn is None:
            raise NoVersion("too far for a displacement")
        return insn

    @cached_property
    def _body(self) -> Part:
        """The passes of a line, without what only single passes need."""
        found, moved = list[Insn](), dict.fromkeys(self._folded, 0)
        for _ in range(self.passes):
            for insn in self.insns[:-1]:
                step = self.known.stepping(insn)
                if insn is self._compare:
                    continue
                if step is not None and step[0] in moved:
                    moved[step[0]] += step[1]
                else:
                    found.append(self._displaced(insn, moved))
        for register, distance in sorted(moved.items()):
            found.append(self._plus(register, distance, register))
        return tuple(found)

    def _displaced(self, insn: Insn, moved: Mapping[int, int]) -> Insn:
        """An instruction with registers as they were where a line begins."""
        if not self.target.table.accesses(insn):
            return insn
        spelled = self.target.spelling.address(insn)
        if spelled is None or not moved.get(spelled[0]):
            return insn
        found = self.known.displaced(insn, spelled[0], moved[spelled[0]])
        if found is None:
            raise NoVersion("too far for a displacement")
        return found

    def _tests(self) -> Iterator[tuple[Part, Part]]:
        """Tests whose branch is taken where no whole line may be left, each with that of a count.

        The branch of the other is taken where a count is long.
        """
        for makes, counted, step in self._counts():
            line, short = self.passes * step, _LINES * self.passes * step
            for signed in (False, True):
                few = self.known.at_most(counted, line, self._free, signed)
                less = self.known.at_most(counted, min(_LARGEST, short), self._free, signed)
                if few is not None and less is not None:
                    no, yes = (self.known.branch(test, self._free, 0) for test in ("ne", "eq"))
                    yield (*makes, few, no), (*makes, less, yes)
            few, less = (self.known.plus(counted, -n, self._free) for n in (line, short))
            if few is not None and less is not None:
                no, yes = (self.known.branch(test, self._free, 0) for test in ("le", "gt"))
                yield (*makes, few, no), (*makes, less, yes)

    def _counts(self) -> Iterator[tuple[Part, int, int]]:
        """What makes a number that says how far it is to the end, and how much a pass is of that.

        The number is in the register that follows.
        """
        uses, compare = self.target.table.uses, self._compare
        asked = registers_of(uses(self.insns[-1]))
        sides = asked if compare is None else registers_of(uses(compare))
        if len(sides) == 1 and sides[0] in self._steps:
            yield (), sides[0], abs(self._steps[sides[0]][0])
        for register in sides:
            others = [other for other in sides if other != register and not self._changes(other)]
            if register in self._steps and len(others) == 1:
                step, bits = self._steps[register]
                pair = (others[0], register) if step > 0 else (register, others[0])
                made = self.known.difference(*pair, self._free, bits)
                yield (made,), self._free, abs(step)
