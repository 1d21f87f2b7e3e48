"""Conditional moves that nearly always go one way become branches that are foreseen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots
from passes.lib.move import check_ways_in
from passes.lib.steps import Change, OwnPass, Steps
from rewriter.analysis.exception_ranges import throws
from rewriter.analysis.program import Program
from rewriter.core.code.listing import FLOW_CODE, among
from rewriter.core.code.program import Function
from rewriter.core.code.shadows import in_shadow
from rewriter.core.edit import Evidence, Grade
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import AWAY, STRAIGHT, Flow, Insn
from rewriter.core.target.idioms import ConditionalMoves
from rewriter.core.target.protocol import CannotMove, Target
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.identify.profiles.samples import Direction
from rewriter.timing.described import NotDescribed
from rewriter.timing.engines import engine_of
from rewriter.timing.steady import Steady
from rewriter.timing.steady_node import Placed
from rewriter.verify.walk.detours.meaning import instead, means
from rewriter.verify.walk.detours.shapes import detours, key

_AROUND = 16
"""Instructions before and behind a conditional move that are timed with it."""

_NEAR = 8
"""Instructions behind a conditional move in which a nop is looked for."""

_MOST = 3
"""Cycles that a branch in the place of a conditional move may save: two of latency, one to map."""

_SHARE = Fraction(1, 500)
"""Of all conditional moves that were executed, how many must be at one that pushes code aside.

What stands behind it comes to other lines of the cache, and to other places in them: at what is
seldom executed, that may cost more than the move did.
"""

FOR_NOBODY = "for nobody"
"""The kind of those that only feed values of which nothing comes."""

_BASE, _ASIDE = 1 << 20, 1 << 21
"""Where code that is timed begins, and where the way that is seldom gone stands."""

_Standing = tuple[int, Insn]
_Aside = tuple[Insn, tuple[_Standing, ...], tuple[int, tuple[Insn, ...]] | None]

_TRACE = "moved {0.held} of {0.executed} times, {0.missed} not foreseen"


class Cmov(OwnPass):
    """A conditional move of which a profile says that it nearly always goes one way.

    Before    cmovne t0,t1,t2      After    bne t0,1f         or, always:   beq t0,1f
              ...                           ...                             mov t1,t2
                                         1: mov t1,t2                    1: ...
                                            br back

              subq t3,t4,t2          always:   mov t1,t2
              cmovne t0,t1,t2                  beq t0,1f
              ...                              ...
                                            1: subq t3,t4,t2
                                               br back
              cmovne t0,t1,t2          of which nothing comes that is seen: nothing

    Requires  A profile with directions (`retune profile`).  Where it nearly never moves: room for
              two instructions where control does not pass, whose unwind row is that of the move.
    Proof     Branch, moves and way back mean the conditional move (`verify/walk/detours/`), which
              is shown on terms; the walk reads them as that.  Of what goes, the walk finds for
              itself that nothing comes.

    On the 21264 a conditional move takes two places in the mapper and two cycles, and ties what
    it may move into the chain; a branch that is foreseen takes one place.  Made where the model
    of the CPU says that both ways together, by how often each is gone, and what is not foreseen
    take fewer cycles.
    """

    name = "cmov"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where there are conditional moves with the tests of branches."""
        return target.sequential is not None and target.sequential.conditional_moves is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions."""
        known = setting.target.conditional_moves
        if known is None or not setting.directions:
            return lambda function, slots: iter(())
        return _Finder(program, setting, known).found


class _Finder:
    """Finds the sites of functions."""

    def __init__(self, program: Program, setting: Setting, known: ConditionalMoves) -> None:
        self.program, self.setting, self.known = program, setting, known
        self.places = sorted(setting.directions)
        self.model = _Model(setting, known)
        self.least = _SHARE * sum(one.executed for one in setting.directions.values())

    def found(self, function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
        """The sites of a function that were executed."""
        first, last = (bisect_right(self.places, at - 1) for at in (function.start, function.end))
        sites = [at for at in self.places[first:last] if self._is_site(at, slots)]
        if not sites:
            return
        here = _Here(self.program, self.known, function, slots, self.setting.lays_out)
        for at in sites:
            yield self._one(here, at)

    def _is_site(self, address: int, slots: Slots) -> bool:
        """Whether a conditional move stands there still."""
        listing = self.program.listing
        if address in slots or not listing.has(address):
            return False
        insn = listing.insn(listing.index(address))
        return insn is not None and self.known.is_conditional(insn)

    def _one(self, here: _Here, at: int) -> Insertion | Declined:
        """The better way of the two, or why neither."""
        counted = self.setting.directions[at]
        kind = "mostly moved" if 2 * counted.held > counted.executed else "seldom moved"
        if at in self.setting.locked:
            return Declined(kind, at, "between load-locked and store-conditional")
        if here.in_shadow(at):
            return Declined(kind, at, "where a trap may come late")
        if not here.needs(at):
            return self._gone(here, at)
        insn, over = here.insn(at), kind == "mostly moved"
        usual = here.instead(at) if over else None
        try:
            if self.model.unforeseen(counted):
                return Declined(kind, at, "it is seldom foreseen which way it goes")
            before, after = self.model.cycles(here, at, counted, usual)
        except NotDescribed as missing:
            return Declined(kind, at, str(missing))
        if after >= before:
            return Declined(kind, at, "not faster in the model")
        if over and usual is None and counted.executed < self.least:
            return Declined(kind, at, "executed too seldom to push what is behind it")
        if self._natural(here, insn, over, usual):
            return Declined(kind, at, "the function has such a branch already")
        if not self._means(insn, over, usual):
            return Declined(kind, at, "the branch does not mean the conditional move")
        said = f"{float(before):.2f} cycles became {float(after):.2f} in the model"
        detail = f"{said} of {self.setting.cpu.name}: {_TRACE.format(counted)}"
        evidence, saves = Evidence(Grade.PROVED, detail=detail), before - after
        if over and usual is None:
            code = self.known.branch(insn, 0, over), self.known.moving(insn)
            return _over(here, Insertion(kind, at, code, evidence, saves))
        aside = self.known.moving(insn) if usual is None else usual.insn
        found = self._aside(here, at, self.known.branch(insn, 0, over), aside)
        if found is None:
            return Declined(kind, at, "no room where control does not pass")
        test, elsewhere, behind = found
        if usual is not None:
            elsewhere = (*usual.moved(at, self.known.moving(insn)), *elsewhere)
        return Insertion(kind, at, (test,), evidence, saves, elsewhere, behind)

    def _gone(self, here: _Here, at: int) -> Insertion | Declined:
        """Nothing in the place of what moves for nobody."""
        try:
            saves = self.model.without(here, at)
        except NotDescribed as missing:
            return Declined(FOR_NOBODY, at, str(missing))
        if saves < 0:
            return Declined(FOR_NOBODY, at, "not faster in the model")
        detail = f"nothing comes of what it may move: {float(saves):.2f} cycles in the model"
        return Insertion(FOR_NOBODY, at, (), Evidence(Grade.PROVED, detail=detail), saves)

    def _means(self, insn: Insn, over: bool, usual: _Usual | None) -> bool:
        """Whether the branch with what it leads to or over means the conditional move."""
        table, prover = self.setting.target.table, self.setting.prover
        test, move = self.known.branch(insn, 0, over), self.known.moving(insn)
        if usual is None:
            return means(table, prover, test, move, over, insn)
        return instead(table, prover, test, move, usual.insn, insn)

    def _natural(self, here: _Here, insn: Insn, over: bool, usual: _Usual | None) -> bool:
        """Whether the old code has the same already: the verifier leaves that what it is."""
        encode, table = self.setting.target.table.encode, self.setting.target.table
        test, move = self.known.branch(insn, insn.size, over), self.known.moving(insn)
        words = np.array([encode(test)], dtype=self.program.listing.words.dtype)
        target = test.op.format.operands[test.op.format.target or 0]
        branch = int(words[0]) & ~target.mask & (1 << table.word_bits) - 1
        if usual is not None:
            return (branch, 0, encode(usual.insn)) in here.natural
        return (branch, int(over), encode(move)) in here.natural

    def _aside(self, here: _Here, at: int, test: Insn, insn: Insn) -> _Aside | None:
        """An instruction where control does not pass, and the way back; the branch to it."""
        size, behind = insn.size, here.behind(at) if here.moves else None
        if behind is not None:
            # What is added behind an instruction has the addresses behind that one's.
            added = behind, (insn, self.known.jump(at - behind - 2))
            return test.replace(target=behind + 1 - at - size), (), added
        room = here.room(at)
        if room is None:
            return None
        elsewhere = (room, insn), (room + size, self.known.jump(at - room - size))
        return test.replace(target=room - at - size), elsewhere, None


def _over(here: _Here, insertion: Insertion) -> Insertion:
    """A branch over a move; where a nop stands soon behind it, all up to there moves on."""
    test, move = insertion.insns
    between = here.up_to_nop(insertion.address)
    if between is None:
        return insertion
    there = range(insertion.address + test.size, 1 << 64, test.size)
    moved = tuple(zip(there, (move, *between), strict=False))
    return replace(insertion, insns=(test.replace(target=move.size),), elsewhere=moved)


@dataclass(frozen=True)
class _Usual:
    """What computes the value that a conditional move replaces: at `address`, and for it alone.

    `between` is what stands between it and the conditional move.
    """

    address: int
    insn: Insn
    between: tuple[Insn, ...]

    def moved(self, at: int, move: Insn) -> tuple[_Standing, ...]:
        """What stands there without it, and with a plain move right before an address."""
        return tuple(zip(range(self.address, at, move.size), (*self.between, move), strict=True))


class _Here:
    """A function as earlier passes left it, and where in it control does not pass."""

    def __init__(
        self,
        program: Program,
        known: ConditionalMoves,
        function: Function,
        slots: Slots,
        lays_out: bool,
    ) -> None:
        self.program, self.known, self.function, self.slots = program, known, function, slots
        listing = program.listing
        self.first, self.last = listing.span(function.start, function.end)
        shapes = detours(listing, (function,), program.nops).get(function, ())
        self.natural = {key(listing, one) for one in shapes}
        self.moves = lays_out and _may_move(program, function)
        self._taken = set[int]()
        self._free = self._unreached()
        self._rows = self._of_frames()

    def insn(self, at: int) -> Insn:
        """What stands at an address."""
        insn = self.slots.get(at) or self.program.listing.insn(self.program.listing.index(at))
        assert insn is not None
        return insn

    def needs(self, at: int) -> bool:
        """Whether anything that is seen may come of what an instruction puts in its registers."""
        program, graph = self.program, self.program.graph
        position, block = program.listing.index(at), graph.block_holding(at)
        count = position + 1 - int(graph.first[block])
        needed = program.needed(self.function).behind(block, count)
        scratch, writes = program.target.spelling.SCRATCH, program.listing.table.defs(self.insn(at))
        held = at in program.locked_addresses or at in program.fixups
        return held or bool(writes & (needed | ~scratch))

    def in_shadow(self, at: int) -> bool:
        """Whether what stands there may be executed again, when a trap comes late."""
        listing, first = self.program.listing, self.function.start
        return in_shadow(listing, listing.index(at), listing.index(first), self.program.target)

    def up_to_nop(self, at: int) -> list[Insn] | None:
        """What stands between an instruction and a nop in its block, if all of it may move on.

        None where no nop is near, or something rests on the place of what is between.
        """
        program, listing = self.program, self.program.listing
        graph, size = program.graph, listing.table.size
        position, row = listing.index(at), self._row(at)
        last = min(int(graph.last[graph.block_holding(at)]), position + _NEAR)
        found: list[Insn] = []
        frame = program.frames.get(self.function.start)
        ranges = frame is not None and frame.lsda is not None
        for n in range(position + 1, last):
            address, insn = at + size * (n - position), listing.insn(n)
            held = address in program.locked_addresses or address in program.fixups
            if address in self.slots or held or insn is None or self._row(address) != row:
                return None
            if program.nops[n]:
                stays = address not in self._taken and self._same(at, address)
                return found if stays else None
            if ranges or insn.op.flow is not Flow.NEXT or self.known.is_conditional(insn):
                return None
            found.append(insn)
        return None

    def instead(self, at: int) -> _Usual | None:
        """What a conditional move that always moves makes superfluous, if it may stand elsewhere.

        It only computes, from what the conditional move has as well, what nothing reads before.
        """
        program, listing = self.program, self.program.listing
        table, graph, row = listing.table, program.graph, self._row(at)
        position, insn = listing.index(at), self.insn(at)
        written, changed, found = table.defs(insn), 0, list[Insn]()
        if table.uses(self.known.branch(insn, 0)) & written:
            return None
        first = max(int(graph.first[graph.block_holding(at)]), position - _NEAR)
        for n in range(position - 1, first - 1, -1):
            address, one = at - table.size * (position - n), listing.insn(n)
            held = address in program.locked_addresses or address in program.fixups
            stays = address in self.slots or held or not self._same(at, address)
            if stays or one is None or self._row(address) != row or row is None:
                return None
            if one.op.flow is not Flow.NEXT or self.known.is_conditional(one):
                return None
            reads, writes = table.uses(one), table.defs(one)
            if not writes & written:
                if reads & written:
                    return None
                changed |= writes
                found[:0] = [one]
            elif writes != written or throws(one, table) or table.effects(one.op).placed:
                return None
            else:
                needed = reads & (written | changed)
                return None if needed else _Usual(address, one, tuple(found))
        return None

    def around(self, at: int) -> tuple[list[Insn], list[Insn]]:
        """What runs before an instruction and behind it, as straight code."""
        position = self.program.listing.index(at)
        before: list[Insn] = []
        for n in range(position - 1, self.first - 1, -1):
            if not self._goes_on(n) or len(before) == _AROUND:
                break
            before[:0] = self._standing(n)
        behind: list[Insn] = []
        for n in range(position + 1, self.last):
            if not self._goes_on(n) or len(behind) == _AROUND:
                break
            behind += self._standing(n)
        return before, behind

    def _goes_on(self, position: int) -> bool:
        return int(self.program.listing.flows[position]) in _GOES_ON

    def _standing(self, position: int) -> list[Insn]:
        listing = self.program.listing
        insn = self.slots.get(int(listing.addresses[position]), listing.insn(position))
        return [] if insn is None or self.program.target.is_nop(insn) else [insn]

    def room(self, at: int) -> int | None:
        """Where two instructions fit, nearest behind an address; they are taken."""
        size = self.program.listing.table.size
        row = self._row(at)
        if row is None or self._row(at + size) != row:
            return None
        fits = [
            place
            for place in self._free
            if {place, place + size}.isdisjoint(self._taken)
            and self._row(place) == row == self._row(place + size)
            and self._same(at, place)
            and self._same(at, place + size)
        ]
        if not fits:
            return None
        best = min(fits, key=lambda place: (place < at, abs(place - at)))
        self._taken |= {best, best + size}
        return best

    def behind(self, at: int) -> int | None:
        """The last jump behind which a new layout may put something; it is taken.

        Unwinders find the same frame behind the jump as at the address.  The last, so that what
        seldom runs pushes nothing that runs to other lines of the cache.
        """
        listing, size = self.program.listing, self.program.listing.table.size
        row = self._row(at)
        if row is None or self._row(at + size) != row:
            return None
        here = slice(self.first, self.last)
        jumps = listing.addresses[here][among(listing.flows[here], AWAY)].tolist()
        fits = [
            place
            for place in jumps
            if place not in self._taken
            and place not in self.program.locked_addresses
            and self._row(place) == row == self._row(place + size)
            and self._same(at, place)
        ]
        if not fits:
            return None
        self._taken.add(max(fits))
        return int(max(fits))

    def _same(self, at: int, place: int) -> bool:
        """Whether control goes on at the same landing pad from two addresses."""
        ways = self.program.exceptions.way
        return ways(at) == ways(place)

    def _unreached(self) -> list[int]:
        """Addresses of two nops in a row that control does not come to."""
        program, here = self.program, slice(self.first, self.last)
        positions = np.arange(self.first, self.last)
        blocks = np.searchsorted(program.graph.first, positions, side="right") - 1
        idle = program.nops[here] & ~program.graph.reached[blocks]
        places = program.listing.addresses[here][idle].tolist()
        size, known = program.listing.table.size, {*places} - program.locked_addresses
        free = {at for at in known if at not in self.slots}
        return sorted(at for at in free if at + size in free)

    def _of_frames(self) -> list[tuple[int, unwind_rows.Rules]] | None:
        frame = self.program.frames.get(self.function.start)
        try:
            return unwind_rows.rows(frame) if frame is not None else []
        except BadInput:
            return None

    def _row(self, at: int) -> object:
        """What unwinders find at an address; None where that is not known."""
        if self._rows is None:
            return None
        if not self._rows:
            return ()
        return self._rows[bisect_right([start for start, _ in self._rows], at) - 1][1]


def _may_move(program: Program, function: Function) -> bool:
    """Whether a function may get a new layout, as far as the ways into it say."""
    try:
        check_ways_in(program, function, program.target.entries(program.listing, function))
    except CannotMove:
        return False
    return True


_GOES_ON = {FLOW_CODE[flow] for flow in STRAIGHT}


@dataclass
class _Model:
    """Cycles of straight code with a conditional move, and with branches in its place.

    They are those of the code again and again, with nothing missing: what it takes in the middle
    of other code.
    """

    setting: Setting
    known: ConditionalMoves

    @cached_property
    def steady(self) -> Steady:
        """The CPU's; raises NotDescribed for one without a pipeline."""
        return engine_of(self.setting.cpu).steady(self.setting.target.table)

    def unforeseen(self, counted: Direction) -> bool:
        """Whether what is not foreseen costs more than any conditional move does."""
        wrong = counted.missed * engine_of(self.setting.cpu).mispredicted
        return wrong >= _MOST * counted.executed

    def cycles(
        self, here: _Here, at: int, counted: Direction, usual: _Usual | None
    ) -> tuple[Fraction, Fraction]:
        """Cycles before, and after on the average of both ways; raises NotDescribed.

        Where in a fetch block the code will stand is not known yet: each place counts as much.
        """
        insn, around = here.insn(at), here.around(at)
        over = 2 * counted.held > counted.executed
        share = Fraction(min(counted.held, counted.executed - counted.held), counted.executed)
        old = new = Fraction(0)
        places = range(_BASE, _BASE + self.steady.block, insn.size)
        for place in places:
            if usual is None:
                one, often, seldom = self._ways(insn, *around, over, place)
            else:
                one, often, seldom = self._instead(insn, *around, usual, place)
            old += one
            new += often + share * (seldom - often)
        missed = Fraction(counted.missed, counted.executed)
        wrong = missed * engine_of(self.setting.cpu).mispredicted
        return old / len(places), new / len(places) + wrong

    def without(self, here: _Here, at: int) -> Fraction:
        """Cycles that go with a conditional move; raises NotDescribed."""
        before, behind = here.around(at)
        codes = [*before, here.insn(at), *behind], [*before, *behind]
        places = range(_BASE, _BASE + self.steady.block, here.insn(at).size)
        old, new = (sum(self._timed(_placed(code, at)) for at in places) for code in codes)
        return Fraction(old - new, len(places))

    def _ways(
        self, insn: Insn, before: Sequence[Insn], behind: Sequence[Insn], over: bool, start: int
    ) -> tuple[Fraction, Fraction, Fraction]:
        """Cycles from a place on: as it is, and the usual and the seldom way with a branch."""
        size = insn.size
        test, move = self.known.branch(insn, 0, over), self.known.moving(insn)
        site = start + size * len(before)
        lead = _placed(before, start)
        old = [*lead, *_placed([insn, *behind], site)]
        if over:
            usual = [*lead, *_placed([test, move, *behind], site)]
            seldom = [*lead, *_placed([test], site), *_placed(behind, site + 2 * size)]
        else:
            usual = [*lead, *_placed([test, *behind], site)]
            aside = _placed([move, self.known.jump(0)], _ASIDE)
            seldom = [*lead, *_placed([test], site), *aside, *_placed(behind, site + size)]
        return self._timed(old), self._timed(usual), self._timed(seldom)

    def _instead(
        self, insn: Insn, before: Sequence[Insn], behind: Sequence[Insn], usual: _Usual, start: int
    ) -> tuple[Fraction, Fraction, Fraction]:
        """The same where the usual way moves, and something is done instead on the seldom way."""
        size, last = insn.size, len(before) - 1
        at = max(n for n in range(last + 1) if before[n] == usual.insn)
        code = [*before[:at], *before[at + 1 :], self.known.moving(insn)]
        lead = _placed([*code, self.known.branch(insn, 0, True)], start)
        after = _placed(behind, start + size * (last + 2))
        aside = _placed([usual.insn, self.known.jump(0)], _ASIDE)
        old = _placed([*before, insn, *behind], start)
        ways = old, [*lead, *after], [*lead, *aside, *after]
        return self._timed(ways[0]), self._timed(ways[1]), self._timed(ways[2])

    def _timed(self, code: Sequence[Placed]) -> Fraction:
        return self.steady.cycles(code, {address: insn for address, insn, _ in code})


def _placed(insns: Sequence[Insn], address: int) -> list[Placed]:
    """Straight code from an address on."""
    found = list[Placed]()
    for insn in insns:
        found.append((address, insn, None))
        address += insn.size
    return found
