"""Two instructions with the halves of a number become one of two words, where they stand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from passes.lib.insert import Declined
from passes.lib.steps import Change, OwnPass, Steps
from passes.lib.technique import usable
from passes.scheduling.dependence import free
from passes.scheduling.shown import Shown
from rewriter.analysis.program import Program
from rewriter.core.code.groups import Slot
from rewriter.core.code.program import Function
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Evidence
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.idioms import Prefixing
from rewriter.core.target.protocol import Target
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Different

KIND = "number in two halves"


class Prefix(OwnPass):
    """Two instructions with the halves of a number become one of two words.

    Before    addis r9,r2,hi; ld r9,lo(r9)      After    pld r9,d34(r2)
              addis r9,r2,hi; addi r9,r9,lo              paddi r9,r2,d34
              lis r9,hi; ori r9,r9,lo                    paddi r9,0,d34
    Requires  The instruction; that both are in the way of the same control, one behind the other or
              with others between that can stand before or behind both; that the new one is not on
              both sides of a line's boundary, for which one more may change places with it.  Not
              where debug information tells the lines of the function, since a debugger's trap in
              the second word would be part of the first; and not in a kernel, which patches itself.
    Proof     The code that changed, for every input.  The verifier shows besides that nothing comes
              to a second word.

    It is the last step: no other moves such an instruction.
    """

    name = "prefix"
    change = Change.PLACES

    def offered(self, target: Target) -> bool:
        """Where instructions have two words."""
        return target.sequential is not None and target.sequential.prefixing is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.prefixes()


@dataclass(frozen=True)
class Placed:
    """An instruction where it stands now, and its address in the original; None of a nop.

    `stood` is the address in the original of what stood here before the last order was made.
    """

    now: int
    insn: Insn
    was: int | None
    stood: int | None


@dataclass(frozen=True)
class Prefixed:
    """Code with one more instruction of two words, by address where it stands now: all of a part.

    `start` is where the second of both was in the original.  What is made of one part may be made
    anew with the next pair.
    """

    start: int
    old: tuple[Insn, ...]
    new: tuple[Insn, ...]
    words: Mapping[int, Insn]
    evidence: Evidence


@dataclass
class Prefixer:
    """Finds what may be one instruction in functions of one program, for one CPU."""

    program: Program
    cpu: Cpu
    prover: Prover
    known: Prefixing
    _shown: Shown = field(init=False)

    def __post_init__(self) -> None:
        self.target = self.program.target
        self._shown = Shown(self.target, self.prover, self.program.is_kernel)

    def sites(
        self, function: Function, items: Sequence[Placed], wanted: Callable[[int], bool]
    ) -> Iterator[Prefixed | Declined]:
        """All of a function, whose code stands so, ascending, that are wanted by their address."""
        frame = self.program.frames.get(function.start)
        stays = frame is not None and (frame.lsda is not None or frame.cie.signal_frame)
        for run in self._runs(function, items):
            code, seen = list(run), set[int]()
            while pair := self._pair(code, seen):
                start = code[pair[1]].was
                assert start is not None, "what was there before is no new nop"
                seen.add(start)
                if wanted(start):
                    yield self._joined(code, pair, start, stays)

    def _runs(self, function: Function, items: Sequence[Placed]) -> Iterator[Sequence[Placed]]:
        """Stretches of instructions that control comes to at their first alone.

        What begins in the original behind one instruction, up to the next, may be at any nop
        between both: these are in no stretch then.
        """
        cuts, size = self._cuts(function, items), self.target.table.size
        kept = {*self.program.locked_between(function.start, function.end)}
        kept |= {fixup.access for fixup in self.program.fixups_of(function)}
        start, end, last = 0, 0, function.start
        for at, one in enumerate(items):
            if at > start and one.now != items[at - 1].now + size:
                yield items[start:end]
                start = at
            if one.stood is not None:
                if bisect_left(cuts, last + 1) < bisect_left(cuts, one.stood + 1):
                    yield items[start:end]
                    start = at
                last, end = one.stood, at + 1
            before = items[at - 1].insn.op if at else None
            if one.was in kept or not self._is_plain(one.insn) or self._stays(before, one.insn):
                yield items[start:at]
                start = end = at + 1
        yield items[start:end]

    def _stays(self, before: Op | None, insn: Insn) -> bool:
        """Whether an instruction has its place right behind the one before, a call."""
        if before is None or not before.flow.calls:
            return False
        is_kept_nop = self.target.is_nop(insn) and self.program.keeps_nop(before)
        return is_kept_nop or self.target.seen_behind(insn)

    def _is_plain(self, insn: Insn) -> bool:
        """Whether control goes on behind an instruction, which has one word."""
        table = self.target.table
        is_next = insn.op.flow is Flow.NEXT and insn.op is not table.data
        return is_next and insn.size == table.size

    def _cuts(self, function: Function, items: Sequence[Placed]) -> list[int]:
        """Where control may come to from elsewhere, and where unwind rows begin; ascending."""
        program, graph = self.program, self.program.graph
        blocks = graph.blocks_of(function)
        found: set[int] = {
            *program.listing.addresses[graph.first[blocks.start : blocks.stop]].tolist()
        }
        found |= {goal for one in items if (goal := _goal(one)) is not None}
        frame = program.frames.get(function.start)
        if frame is not None:
            found |= {address for address, _ in unwind_rows.rows(frame)}
        return sorted(found)

    def _pair(self, run: Sequence[Placed], seen: Collection[int]) -> tuple[int, int] | None:
        """Where both halves stand in a run, and nothing between has to do with them; none again."""
        for at, one in enumerate(run):
            if one.insn.name == self.known.FIRST:
                there = self._second(run, at)
                if there is not None and run[there].was not in seen:
                    return at, there
        return None

    def _second(self, run: Sequence[Placed], at: int) -> int | None:
        """Where the second half for a first one stands."""
        uses, defs, first = self.target.table.uses, self.target.table.defs, run[at].insn
        made, base = defs(first), uses(first)
        for there in range(at + 1, min(at + _REACH, len(run))):
            other = run[there].insn
            if (uses(other) | defs(other)) & made:
                return there if self._one(first, other) is not None else None
            if defs(other) & base:
                return None
        return None

    def _one(self, first: Insn, second: Insn) -> Insn | None:
        found = self.known.joined(first, second)
        return found if found is not None and usable(self.cpu, (found,)) else None

    def _joined(
        self, run: list[Placed], pair: tuple[int, int], start: int, stays: bool
    ) -> Prefixed | Declined:
        """The pair of a run as one instruction, with as few others in another place as can be.

        The run is then as it stands with it.
        """
        insn, reason = self._one(*(run[at].insn for at in pair)), _ACROSS
        assert insn is not None, "both halves are what becomes one"
        for window in _windows(pair, len(run)):
            part = run[window.start : window.end]
            others = [one for n, one in enumerate(part, window.start) if n not in pair]
            if others and (stays or not all(free(one.insn, self.target) for one in others)):
                continue
            new = [*others[: window.before], run[pair[1]], *others[window.before :]]
            new[window.before] = replace(new[window.before], insn=insn)
            new = _packed(part[0].now, new)
            if any(self._is_across(one) for one in new):
                continue
            try:
                found = self._shown_as(part, new, start)
            except Different as different:
                reason = different.what
                continue
            run[window.start : window.end] = new
            return found
        return Declined(KIND, start, reason)

    def _is_across(self, one: Placed) -> bool:
        """Whether an instruction is in two lines."""
        line = self.known.LINE
        return one.now // line != (one.now + one.insn.size - 1) // line

    def _shown_as(self, old: Sequence[Placed], new: Sequence[Placed], start: int) -> Prefixed:
        """Code that is shown to do the same; raises Different."""
        before, after = (
            Superblock(tuple(Slot(one.now, one.insn, False) for one in code)) for code in (old, new)
        )
        evidence = self._shown.with_meanings(before, after)
        words = {one.now: one.insn for one in new}
        return Prefixed(start, before.insns, after.insns, words, evidence)


def _goal(one: Placed) -> int | None:
    return None if one.was is None else one.insn.target(one.was)


class _Window(NamedTuple):
    """A part of a run that is laid out anew, and how many others come before the new one."""

    start: int
    end: int
    before: int


def _packed(place: int, code: Sequence[Placed]) -> list[Placed]:
    """The same, one behind the other from an address on."""
    found = []
    for one in code:
        found.append(replace(one, now=place))
        place += one.insn.size
    return found


def _windows(pair: tuple[int, int], length: int) -> Iterator[_Window]:
    """Where the new one may stand, those first in which little changes its place."""
    first, last = pair
    between = last - first - 1
    for start, end in ((first, last + 1), (first - 1, last + 1), (first, last + 2)):
        others = end - start - 2
        if start >= 0 and end <= length:
            yield from (_Window(start, end, n) for n in {between + first - start, 0, others})


_REACH = 12  # instructions
_ACROSS = "it would be on both sides of a line's boundary"
