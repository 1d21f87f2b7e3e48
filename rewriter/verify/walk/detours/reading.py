"""Branches that lead around plain moves, read as the conditional moves that they are.

A branch to moves that come back right behind it does what conditional moves with its test do, and
so does a branch over moves, with the opposite test.  Where new code has one that the old code of
the function does not have, it is read so: the walk compares what is read.

    bne t0,1f        is   cmovne t0,t1,t2          beq t0,1f        is   cmovne t0,t1,t2
    ...                   ...                      mov t1,t2             (nothing)
 1: mov t1,t2             (no code)             1: ...                   ...
    br back

Where a plain move stands before the branch, another instruction may be done instead of it:

    mov t1,t2        is   subq t3,t4,t2
    beq t0,1f             cmovne t0,t1,t2
    ...                   ...
 1: subq t3,t4,t2         (no code)
    br back

What keeps this true: control comes to the moves by the branch alone (what stands there is no
instruction to the walk, or no place to begin), and unwinders find the same frame at them as at
the branch, and the same landing pad.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from rewriter.analysis.exception_ranges import ExceptionRanges
from rewriter.analysis.program import Program
from rewriter.core.code.listing import Listing
from rewriter.core.code.nops import nops
from rewriter.core.code.program import Function
from rewriter.core.code.shadows import in_shadow
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.idioms import ConditionalMoves
from rewriter.elf.unwind.entries import Fde
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.detours.choices import branches
from rewriter.verify.walk.detours.meaning import instead, means
from rewriter.verify.walk.detours.shapes import Detour, detours, key
from rewriter.verify.walk.frames import one_frame
from rewriter.verify.walk.segments import Segment


@dataclass(frozen=True)
class Detours:
    """A new file's text in which some branches are conditional moves.

    `away` are the addresses of what is no code any more, by the start of their function; at those
    `inside` no walk may begin.  `more` are the conditional moves of a branch behind its first.
    """

    listing: Listing
    away: Mapping[int, Collection[int]] = field(default_factory=dict)
    inside: Collection[int] = frozenset()
    more: Mapping[int, tuple[Insn, ...]] = field(default_factory=dict)
    _placeless: dict[Insn, int] = field(default_factory=dict)

    def whole(self, segment: Segment) -> Segment:
        """A segment with all conditional moves of its branches."""
        found = [at for at, address in enumerate(segment.addresses) if address in self.more]
        for slot in reversed(found):
            segment = self._longer(segment, slot, self.more[segment.addresses[slot]])
        return segment

    def _longer(self, segment: Segment, slot: int, insns: tuple[Insn, ...]) -> Segment:
        """A segment with more instructions behind a slot, at its address."""
        table, count, here = self.listing.table, len(insns), slot + 1

        def moved(at: int) -> int:
            return at + count if at > slot else at

        return segment._replace(
            exits=tuple(map(moved, segment.exits)),
            fixups={moved(at): fixup for at, fixup in segment.fixups.items()},
            insns=[*segment.insns[:here], *insns, *segment.insns[here:]],
            addresses=_with(segment.addresses, here, [segment.addresses[slot]] * count),
            placeless=_with(segment.placeless, here, map(self._compared, insns)),
            kinds=segment.kinds[:here] + bytes(count) + segment.kinds[here:],
            uses=_with(segment.uses, here, map(table.uses, insns)),
            defs=_with(segment.defs, here, map(table.defs, insns)),
        )

    def _compared(self, insn: Insn) -> int:
        """What segments are compared by: the word of an instruction, and its row."""
        if insn not in self._placeless:
            table, word = self.listing.table, self.listing.table.encode(insn)
            (row,) = table.classify(np.array([word], dtype=self.listing.words.dtype)).tolist()
            self._placeless[insn] = word << 16 | row
        return self._placeless[insn]


def _with(values: Iterable[int], at: int, more: Iterable[int]) -> list[int]:
    found = list(values)
    found[at:at] = more
    return found


def read(
    program: Program,
    new: Listing,
    frames: Mapping[int, Fde],
    ways: ExceptionRanges,
    functions: Collection[Function],
    prover: Prover,
    features: Collection[str],
) -> Detours:
    """The text of a new file, in which functions may have branches for conditional moves.

    `frames` are its unwind entries by where they start, `ways` its exception ranges.  Every CPU
    that runs it has `features`.
    """
    choosing, known = program.target.choosing, program.target.conditional_moves
    if choosing is not None:
        new, more = branches(program, new, functions, choosing, prover, features)
        return Detours(new, more=more)
    if known is None or not functions:
        return Detours(new)
    return _Reader(program, new, frames, ways, known, prover).read(functions)


_Form = tuple[Insn, Insn, bool]
"""A branch to nowhere, a move, and whether the move is done where the branch is not taken."""


@dataclass
class _Reader:
    program: Program
    new: Listing
    frames: Mapping[int, Fde]
    ways: ExceptionRanges
    known: ConditionalMoves
    prover: Prover
    away: dict[int, set[int]] = field(default_factory=dict)
    inside: set[int] = field(default_factory=set)
    more: dict[int, tuple[Insn, ...]] = field(default_factory=dict)

    def read(self, functions: Collection[Function]) -> Detours:
        """All functions."""
        self.words = self.new.words.copy()
        self.nop = self._nop()
        self._read = set[int]()
        target = self.program.target
        idle = nops(self.new, target.is_nop, self.program.keeps_nop, (), {self.nop})
        self.proved: dict[_Form, bool] = {}
        found, old = detours(self.new, functions, idle), self.program.listing
        before = detours(old, found, self.program.nops)
        for function in filter(found.__contains__, functions):
            natural = {key(old, one) for one in before.get(function, ())}
            words = {*old.words[slice(*old.span(function.start, function.end))].tolist()}
            for one in found[function]:
                if key(self.new, one) not in natural:
                    self._one(function, one, words)
        if not self.away and not self.inside:
            return Detours(self.new)
        listing = self.new.with_code(self.words)
        return Detours(listing, self.away, self.inside, self.more)

    def _nop(self) -> int:
        target = self.program.target
        return target.table.encode(next(iter(target.nops(self.new.table.size))))

    def _one(self, function: Function, one: Detour, words: Set[int]) -> None:
        """Reads one, if it is what it looks like, and the function had such `words`."""
        made, encode = self._conditional(one), self.program.target.table.encode
        places, insns = self._places(one), [insn for _, insn in made]
        had = bool(made) and words >= set(map(encode, insns))
        if not had or not all(self._means(form, insn) for form, insn in made):
            self._instead(function, one, words, places)
            return
        if not self._alike(function, one, places):
            return
        gone = places[1:]
        if one.back is not None:
            self._aside(function, one, gone)
        else:
            self.words[list(one.moves)] = self.nop
            size = self.new.table.size
            self.inside.update(range(places[0] + size, places[-1] + 1, size))
        self.words[one.branch] = encode(insns[0])
        if len(insns) > 1:
            self.more[places[0]] = tuple(insns[1:])

    def _instead(
        self, function: Function, one: Detour, words: Set[int], places: Sequence[int]
    ) -> None:
        """Reads one that does something instead of the plain move before the branch."""
        encode, before = self.program.target.table.encode, one.branch - 1
        move = self.new.insn(before) if before >= 0 else None
        test, aside = self.new.insn(one.branch), self.new.insn(one.moves[0])
        if move is None or test is None or aside is None or len(one.moves) > 1:
            return
        if not self._comes_back(one) or test.op.flow is not Flow.BRANCH:
            return
        form = test.replace(target=0), move, True
        insn = self.known.conditional(*form)
        place = places[0] - self.new.table.size
        if insn is None or not words >= {encode(insn), encode(aside)} or place < function.start:
            return
        if not instead(self.new.table, self.prover, *form[:2], aside, insn):
            return
        if self._alike(function, one, (place, *places)):
            self.words[before], self.words[one.branch] = encode(aside), encode(insn)
            self.inside.add(places[0])
            self._aside(function, one, places[1:])

    def _aside(self, function: Function, one: Detour, gone: Collection[int]) -> None:
        """What stands aside is no code to the walk."""
        assert one.back is not None, "what is aside comes back"
        self.words[[*one.moves, one.back]] = self.known.NOTHING
        self.away.setdefault(function.start, set()).update(gone)

    def _comes_back(self, one: Detour) -> bool:
        back = None if one.back is None else self.new.insn(one.back)
        return back is not None and self.known.is_jump(back)

    def _alike(self, function: Function, one: Detour, places: Collection[int]) -> bool:
        """Whether places are alike to whoever looks at a thread that stands there.

        What is part of another detour is none of this one.
        """
        if not self._read.isdisjoint(places):
            return False
        if not self.program.locked_addresses.isdisjoint(places):
            return False
        if in_shadow(self.new, one.branch, self.new.index(function.start), self.program.target):
            return False
        # A thread may be cancelled at any of them.
        if len({self.ways.way(at) for at in places}) > 1:
            return False
        size = self.new.table.size
        behind = set() if one.back is None else {int(self.new.addresses[one.branch]) + size}
        if not one_frame(self.frames.get(function.start), {*places, *behind}):
            return False
        self._read.update(places)
        return True

    def _places(self, one: Detour) -> list[int]:
        """The addresses: the branch's, and those of all else."""
        back = () if one.back is None else (one.back,)
        found: list[int] = self.new.addresses[[one.branch, *one.moves, *back]].tolist()
        return found

    def _conditional(self, one: Detour) -> list[tuple[_Form, Insn]]:
        """The conditional moves that a detour may be; none where it is something else."""
        table, test, opposite = self.new.table, self.new.insn(one.branch), one.back is None
        if test is None or test.op.flow is not Flow.BRANCH:
            return []  # a table says that it may become one
        if one.back is not None and not self._comes_back(one):
            return []
        found: list[tuple[_Form, Insn]] = []
        for move in map(self.new.insn, one.moves):
            if move is None:
                return []
            form = test.replace(target=0), move, opposite
            insn = self.known.conditional(*form)
            # What the first one writes must not be what the next one asks.
            if insn is None or (found and table.defs(found[-1][1]) & self._asked(test)):
                return []
            found.append((form, insn))
        return found

    def _asked(self, test: Insn) -> int:
        return self.new.table.uses(test)

    def _means(self, form: _Form, insn: Insn) -> bool:
        """Whether a branch and a move mean a conditional move."""
        if form not in self.proved:
            self.proved[form] = means(self.new.table, self.prover, *form, insn)
        return self.proved[form]
