"""Branch targets on fetch-block boundaries, in the room that nops and other passes left."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from passes.lib.fetch_slots import Wish, cheapest
from passes.lib.steps import Change, OwnPass, Steps
from passes.lib.weights import Counted, Guessed, Numbers, Weights
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import AWAY, BRANCHING, Flow, Insn
from rewriter.core.target.cpu import Cpu, Placing
from rewriter.core.target.protocol import Target
from rewriter.identify.profiles import Direction
from rewriter.timing.engine import Engine
from rewriter.timing.engines import engine_of

LONGEST_LOOP = 128
"""Bytes: a fetch slot lost in each round of a longer loop is less than nops on the way in."""

_NOP = 2
"""What a nop costs where control passes, in slots of a fetch block: its own, and what executing it
takes besides."""

_DEARER = (2, 4, 8, 16, None)
"""So many times as much nops cost where control passes, where less room or time is left for them;
at last there are none."""

_HIDDEN = 2
"""Cycles before a call that other work hides: for no more of them nops are executed."""


@dataclass(frozen=True)
class Layout:
    """Where each instruction of a function goes: (old address, new address, instruction).

    `aligned` and `targets` count branch targets on a boundary, and all of them; `executed` is how
    many nops stand where control passes through.  `saved` are the modelled cycles fewer that a
    pass of each loop takes, where that was asked.
    """

    items: tuple[tuple[int, int, Insn], ...]
    aligned: int
    targets: int
    executed: int
    saved: Fraction = Fraction(0)


@dataclass(frozen=True)
class Code:
    """A function's instructions that do something, by original address, and what is known of them.

    They are all of one size, and in the order in which they are to stand, which need not be that
    of their addresses (`reordered`).  `fixed` are addresses that must stay; `loops` are heads of
    loops of at most `LONGEST_LOOP`, and `targets` all addresses that branches go to.  `aside` are
    those of instructions where control seldom comes, and no loop is made by a way back from there.
    `branches` say which way conditional branches went, where that was counted.  `closed` are
    addresses whose instruction went and that some way did not pass: no nop stays there.
    """

    function: Function
    items: tuple[tuple[int, Insn], ...]
    fixed: Collection[int]
    loops: Collection[int]
    targets: Collection[int]
    aside: Collection[int] = frozenset()
    branches: Mapping[int, Direction] = field(default_factory=dict)
    closed: Collection[int] = ()

    @cached_property
    def weights(self) -> Weights:
        """How often control comes to instructions."""
        if any(address in self.branches for address in self.places):
            return Counted(self.items, self.branches)
        return Guessed(self.heads(self.loops).keys())

    @cached_property
    def size(self) -> int:
        """Bytes of an instruction."""
        return next((insn.size for _, insn in self.items), 1)

    @cached_property
    def places(self) -> list[int]:
        """The original addresses."""
        return [address for address, _ in self.items]

    @cached_property
    def reordered(self) -> bool:
        """Whether the instructions are in another order than their original addresses."""
        return any(before > address for before, address in pairwise(self.places))

    @cached_property
    def numbers(self) -> Numbers:
        """The number of the instruction at an original address."""
        return Numbers.of(self.items)

    @cached_property
    def staying(self) -> frozenset[int]:
        """The numbers of the instructions that must stay."""
        numbers = ((self.numbers(address), address) for address in self.fixed)
        return frozenset(n for n, address in numbers if self.places[n : n + 1] == [address])

    @cached_property
    def loops_around(self) -> list[tuple[int, int]]:
        """Of each loop the numbers of its first and its last instruction.

        A branch back, however far, makes a loop of what is between its target and itself.
        """
        branches = transfers(self.function, self.items, self.aside)
        loops = ((self.numbers(target), n) for n, target in branches)
        return [(first, last) for first, last in loops if first < last]

    def heads(self, targets: Collection[int]) -> dict[int, set[int]]:
        """By number, instructions that targets lead to, perhaps over dropped nops."""
        found: dict[int, set[int]] = {}
        for target in targets:
            found.setdefault(self.numbers(target), set()).add(target)
        found.pop(len(self.places), None)
        return found

    def inside(self, number: int) -> bool:
        """Whether a loop passes through an instruction after its head."""
        return any(first < number <= last for first, last in self.loops_around)

    def length(self, number: int) -> int:
        """The bytes of the shortest loop that begins with an instruction; 0 where none does."""
        last = self._shortest.get(number)
        return 0 if last is None else self.size * (last - number + 1)

    @cached_property
    def _shortest(self) -> Mapping[int, int]:
        """By the number of its first instruction that of the last one of the shortest loop."""
        return dict(sorted(self.loops_around, reverse=True))

    @cached_property
    def target_heads(self) -> Mapping[int, set[int]]:
        """The heads of all targets."""
        return self.heads(self.targets)

    def falls_in(self, number: int) -> bool:
        """Whether control comes to an instruction from the one before it, or from outside."""
        return self._falling[number]

    @cached_property
    def _falling(self) -> list[bool]:
        """The same by number, and for what is behind the last one: asked for each layout."""
        return [True, *(insn.op.flow not in AWAY for _, insn in self.items)]

    def passed(self, places: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Nops that control passes through, where the instructions stand at some places.

        The number of an instruction with such before it, and how many.
        """
        size, falling, end = self.size, self._falling, self.function.start
        for number, at in enumerate(places):
            if at > end and falling[number]:
                yield number, (at - end) // size
            end = at + size

    def executed(self, layout: Layout) -> int:
        """How many nops are executed in a layout, by the counts of branches."""
        counted = Counted(self.items, self.branches)
        passed = self.passed([there for _, there, _ in layout.items])
        return sum(nops * counted.leaving(number - 1)[1] for number, nops in passed if number)

    @cached_property
    def passed_now(self) -> Mapping[int, int]:
        """The nops that control passes through where the instructions stand, on each way to the
        one behind them, by its number; none where others stood before them."""
        found = {} if self.reordered else dict(self.passed(self.places))
        for number in map(self.numbers, self.closed):
            if number in found:
                found[number] -= 1
        return found

    @cached_property
    def nops_passed(self) -> int:
        """How many nops control passes through where the instructions stand."""
        return sum(nops for _, nops in self.passed(self.places))

    def spare(self, number: int, spare: int, used: int) -> int:
        """The nops by which each way to an instruction that falls into the next one is shorter.

        Before it stand `used`, where each way to those was shorter by `spare` and passed some.
        """
        return 0 if number in self._open else spare + self.passed_now.get(number, 0) - used

    def spare_at(self, number: int, first: int, spare: int) -> int:
        """The nops by which each way to an instruction is shorter, where it was so by `spare` at
        the `first` before it and none stand between them."""
        begun = self._begun[number]
        if begun >= first:
            first, spare = begun, 0
        return spare + self._passed_before[number] - self._passed_before[first]

    @cached_property
    def _begun(self) -> list[int]:
        """For each number that of the last one, up to it, to which control does not come from the
        one before alone."""
        free = (n and falls and n - 1 not in self._open for n, falls in enumerate(self._falling))
        return list(accumulate((0 if is_free else n for n, is_free in enumerate(free)), max))

    @cached_property
    def _passed_before(self) -> list[int]:
        """For each number how many nops control passes through before those in front of it."""
        return [0, *accumulate(self.passed_now.get(n, 0) for n in range(len(self.items)))]

    @cached_property
    def _open(self) -> frozenset[int]:
        """The numbers of the instructions to which control may come on other ways."""
        return self.reached | self.staying

    @cached_property
    def reached(self) -> frozenset[int]:
        """The numbers of the instructions that branches lead to."""
        return frozenset(self.target_heads)

    def longer(self, places: Sequence[int]) -> Iterator[int]:
        """Where some way comes through more nops if the instructions stand at some places: the
        numbers of those behind them.
        """
        before, spare = dict(self.passed(places)), 0
        if all(used <= self.passed_now.get(number, 0) for number, used in before.items()):
            return
        for number in range(len(places)):
            spare = spare if self.falls_in(number) else 0
            used = before.get(number, 0)
            if used > spare + self.passed_now.get(number, 0):
                yield number
            spare = max(self.spare(number, spare, used), 0)

    def unclosed(self, places: Sequence[int]) -> frozenset[int]:
        """Where the instructions stand at some places: by each way that comes through more nops the
        last of the `closed` addresses before them."""
        closed = sorted(self.closed, key=self.numbers)
        numbers = [self.numbers(address) for address in closed]
        behind = {bisect_right(numbers, number) for number in self.longer(places)}
        return frozenset(closed[n - 1] for n in behind if n)


def transfers(
    function: Function, items: Sequence[tuple[int, Insn]], aside: Collection[int] = frozenset()
) -> Iterator[tuple[int, int]]:
    """Branches and jumps inside a function: the number of each, and its target.

    Without those that lead to what stands `aside`, and back.
    """
    for n, (address, insn) in enumerate(items):
        if insn.op.flow in BRANCHING and address not in aside:
            target = insn.target(address)
            if target is not None and target in function and target not in aside:
                yield n, target


class Align(OwnPass):
    """A function's blocks slide together over its nops; branch targets get their boundary.

    Before    bne t0,head          After    bne t0,head
              nop                           (head is the next fetch block's first instruction;
              unop                           unreachable nops stand before it)
              unop
              ...
    Requires  Every way into the function known; entries stay where they are.  Unwind rows, jump
              tables and gp set-ups follow their instructions.
    Proof     Both files are walked at once from every entry (`rewriter/verify/walk`).

    A boundary costs nothing behind a jump or return.  Before a loop's head that control also
    falls into, nops run once for an entry and pay in every iteration; but not inside another
    loop, where they would run in each of its passes.  Where branches were counted, nops stand
    wherever they cost less than what is lost without them: the slots before a branch target in its
    block, and the cycle of a second transfer of control that is reached in one block.

              ldq t12,x(gp)                 ldq t12,x(gp)
              jsr ra,(t12)                  unop
              ldah gp,y(ra)                 jsr ra,(t12)
                                            (the next fetch block) ldah gp,y(ra)

    A chip that remembers one successor of each fetch block foresees a call without a hint only
    where it ends its block: else the block goes on, and is remembered to go on, behind the call.
    """

    name = "align"
    change = Change.PLACES

    def offered(self, target: Target) -> bool:
        """Where code moves: of instructions or of regions."""
        return target.sequential is not None or target.bundling is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.lays_out()

    def layouts(self, code: Code, cpu: Cpu) -> Iterator[Layout]:
        """The layouts that fit the function's footprint, the one with most boundaries first.

        Between instructions that stay, each part has as many as fit there.
        """
        parts = _parts(code)
        if not all(part.has_room(code.size) for part in parts):
            return
        found, every = set[tuple[int, ...]](), [_Arranged(code, g, parts) for g in _gaps(code, cpu)]
        for first in range(max(len(one.gaps.levels) for one in every)):
            for one in every:
                places = one.places(first)
                if places not in found:
                    found.add(places)
                    yield _layout(code, places, one.gaps.boundary)


class _Level(NamedTuple):
    """Addresses that are wanted at good places; nops that are executed cost so many times as much
    as else, or there are none where that is None."""

    wanted: frozenset[int]
    dearer: int | None = 1


_NOTHING = _Level(frozenset())


class _Gaps(Protocol):
    """Leaves room before instructions, so that they stand where they should."""

    @property
    def boundary(self) -> int:
        """Bytes, of what counts as aligned."""
        ...

    @property
    def levels(self) -> tuple[_Level, ...]:
        """What is wanted, each of them with fewer nops."""
        ...

    def placed(
        self, part: _Part, heads: Mapping[int, set[int]], dearer: int | None
    ) -> list[int] | None:
        """Where a part's instructions stand, by what is wanted of its `heads`, which ascend and
        may move; None without room."""
        ...


def _gaps(code: Code, cpu: Cpu) -> tuple[_Gaps, ...]:
    if cpu.placing is None:
        return (_ToBlocks(code, cpu),)
    placing = cpu.placing
    several = tuple(_ToSectors(code, placing, nested) for nested in (True, False))
    return (*several, _ToSectors(code, placing, True, keeps=True))


@dataclass(frozen=True)
class _ToBlocks:
    """To a fetch block's start what branches lead to, and to its end calls that lose time inside.

    Nops are executed before the head of a loop that is not inside another, before a call where
    control goes on elsewhere than the chip expects, and where counts of branches say that they pay;
    what is left moves where control does not pass.
    """

    code: Code
    cpu: Cpu

    @property
    def boundary(self) -> int:
        """Bytes, of what counts as aligned."""
        return self.cpu.fetch_block.value

    @cached_property
    def levels(self) -> tuple[_Level, ...]:
        """All that branches lead to, calls and second transfers; loops and calls; all with fewer
        nops where control passes, and with none; nothing."""
        code = self.code
        calls = {address for address, insn in code.items if insn.op.flow.calls}
        seconds = {code.places[number] for number in self._seconds}
        every = frozenset().union(code.targets, code.loops, calls, seconds)
        fewer = (_Level(every, dearer) for dearer in _DEARER)
        return _Level(every), _Level(frozenset(calls.union(code.loops))), *fewer, _NOTHING

    def placed(
        self, part: _Part, heads: Mapping[int, set[int]], dearer: int | None
    ) -> list[int] | None:
        """Where a part's instructions stand, with the nops that cost least."""
        size = self.code.size
        wishes = [wish for n, wanted in heads.items() for wish in self._wishes(n, wanted)]
        if dearer != 1:
            wishes = [wish.dearer(dearer) for wish in wishes]
        slot, room = part.start % self.boundary // size, (part.limit - part.start) // size
        nops = cheapest(wishes, part.numbers, slot, room)
        if nops is None:
            return None
        before = accumulate(nops.get(n, 0) for n in part.numbers)
        return [part.start + size * (n + gone) for n, gone in enumerate(before)]

    def _wishes(self, number: int, wanted: Collection[int]) -> Iterator[Wish]:
        """What the place of an instruction costs that is wanted as a head, or as a call."""
        code, slots = self.code, self.boundary // self.code.size
        weights, nop = code.weights, _NOP * code.weights.passed(number)
        if any(address in code.targets for address in wanted):
            is_loop = any(address in code.loops for address in wanted)
            passed = code.falls_in(number)
            may = not passed or weights.counted or (is_loop and not code.inside(number))
            costs = tuple(weights.entered(number) * slot for slot in range(slots))
            yield Wish(number, costs, passed * nop if may else None)
        if number in self._seconds:
            gap, lost = self._seconds[number], slots * weights.passed(number)
            costs = (*[0] * gap, *[lost] * (slots - gap))
            yield Wish(number, costs, nop)
        lost = self._lost(number)
        if lost:
            often = weights.passed(number)
            costs = (*[slots * lost * often] * (slots - 1), 0)
            yield Wish(number, costs, nop if lost > _HIDDEN else None)

    @cached_property
    def _seconds(self) -> Mapping[int, int]:
        """Transfers that may be reached in one block with a branch that is not taken: by number,
        how many instructions the branch stands before.

        None where nothing was counted: a guess costs more than it gains by the 21264's model, since
        branch targets lose their places for it.
        """
        counted = self.code.weights.counted
        if self._engine is None or not self._engine.second_transfer or not counted:
            return {}
        found, last, slots = dict[int, int](), None, self.boundary // self.code.size
        for number, (_, insn) in enumerate(self.code.items):
            if insn.op.flow is Flow.NEXT:
                continue
            if last is not None and number - last < slots:
                found[number] = number - last
            last = number if insn.op.flow is Flow.BRANCH else None
        return found

    def _lost(self, number: int) -> int:
        """Cycles that a call loses where it does not end its block."""
        insn = self.code.items[number][1]
        if self._engine is None or not insn.op.flow.calls:
            return 0
        return self._engine.inside_block(insn)

    @cached_property
    def _engine(self) -> Engine | None:
        return engine_of(self.cpu) if self.cpu.pipeline is not None else None


@dataclass(frozen=True)
class _ToSectors:
    """To a boundary, and of short loops so that they stand in one sector; `nested` ones, too.

    Nops that control passes through stand before a head, or where a way joins that leads to it,
    where as many are gone from every way to them: a compiler has placed the loops that it knew to
    pay, and no way gets longer.  One that `keeps` puts on a boundary what was put there before.
    """

    code: Code
    placing: Placing
    nested: bool
    keeps: bool = False

    @property
    def boundary(self) -> int:
        """Bytes, of what counts as aligned."""
        return self.placing.boundary.value

    @cached_property
    def levels(self) -> tuple[_Level, ...]:
        """All that branches lead to, heads of loops, nothing."""
        loops = frozenset(self.code.loops)
        return _Level(loops.union(self.code.targets)), _Level(loops), _NOTHING

    def placed(
        self, part: _Part, heads: Mapping[int, set[int]], dearer: int | None
    ) -> list[int] | None:
        """Where a part's instructions stand, each head as soon as it may."""
        code, at, new, spare = self.code, part.start, list[int](), 0
        size, first = code.size, part.numbers.start
        for n, wanted in heads.items():
            new += range(at, at + size * (n - first), size)
            at += size * (n - first)
            spare = code.spare_at(n, first, spare)
            room = spare + code.passed_now.get(n, 0)
            used = self._before(n, at, not wanted.isdisjoint(code.loops), room)
            new.append(at + used)
            at += used + size
            spare = code.spare(n, spare, used // size if code.falls_in(n) else 0)
            first = n + 1
        new += range(at, at + size * (part.numbers.stop - first), size)
        at += size * (part.numbers.stop - first)
        if at > part.limit:
            return None
        return self._ended(part, new) if at < part.limit else new

    def _ended(self, part: _Part, places: list[int]) -> list[int]:
        """With the room that is left behind the last jump away, if control passes the part's end.

        What stands behind that jump keeps the places that it has; all of the part without one.  In
        another order it stands at the end.
        """
        code, first, after = self.code, part.numbers.start, part.numbers.stop
        if after == len(code.items) or not code.falls_in(after):
            return places
        tail = next((n for n in reversed(part.numbers[1:]) if not code.falls_in(n)), first)
        packed, kept = places[: tail - first], code.places[tail:after]
        if code.reordered:
            later = part.limit - places[-1] - code.size if packed else 0
            return packed + [at + later for at in places[tail - first :]]
        return packed + kept if not packed or packed[-1] < kept[0] else places

    def _before(self, number: int, at: int, is_loop: bool, spare: int) -> int:
        """The bytes to leave before an instruction that would stand at `at`.

        Where control passes through, so many nops as are `spare`, for a loop's head: this one, or
        that which control falls into from here if this one has no boundary now.
        """
        code, sector = self.code, self.placing.sector.value
        passed = code.falls_in(number)
        head = self._head(number, is_loop)
        if head is None or (passed and not self.nested and code.inside(head)):
            return 0
        there, length = at + code.size * (head - number), code.length(head)
        gap = -there % self.boundary
        crosses = length <= sector < (there + gap) % sector + length
        most = spare * code.size if passed else sector
        fit = (room for room in ((-there % sector,) if crosses else ()) + (gap,) if room <= most)
        return next(fit, 0)

    def _head(self, number: int, is_loop: bool) -> int | None:
        """The number of what is to stand at a good place, this one or one behind; None if none."""
        code, passed = self.code, self.code.falls_in(number)
        stood = code.places[number] % self.boundary == 0
        if self.keeps:
            return number if stood and (not passed or number in code.passed_now) else None
        led_to = self._led_to(number) if passed and not (is_loop and stood) else None
        return number if led_to is None and (is_loop or not passed) else led_to

    def _led_to(self, number: int) -> int | None:
        """The first branch target behind an instruction, where control falls into it and it is the
        head of a loop."""
        for head in range(number + 1, len(self.code.items)):
            if not self.code.falls_in(head):
                return None
            if head in self.code.reached:
                return head if head in self._loops else None
        return None

    @cached_property
    def _loops(self) -> frozenset[int]:
        """The numbers of the heads of loops."""
        return frozenset(self.code.heads(self.code.loops))


@dataclass(frozen=True)
class _Part:
    """What stands between two instructions that stay, the first of them included.

    Numbers of instructions, where the first begins, and where the next part does or code ends.
    """

    numbers: range
    start: int
    limit: int

    def has_room(self, size: int) -> bool:
        """Whether its instructions, of so many bytes each, fit there without a nop."""
        return size * len(self.numbers) <= self.limit - self.start


def _parts(code: Code) -> list[_Part]:
    stays = sorted(code.staying - {0})
    starts = [code.places[0] if 0 in code.staying else code.function.start]
    starts += [code.places[n] for n in stays]
    limits = [*starts[1:], code.function.end]
    numbers = map(range, [0, *stays], [*stays, len(code.items)])
    return [_Part(*one) for one in zip(numbers, starts, limits, strict=True)]


@dataclass(frozen=True)
class _Arranged:
    """A function's parts where they may stand: what is wanted in each leaves the same room
    whatever is wanted elsewhere."""

    code: Code
    gaps: _Gaps
    parts: Sequence[_Part]
    _placed: dict[tuple[int, int], list[int] | None] = field(default_factory=dict)
    _led: dict[frozenset[int], list[dict[int, set[int]]]] = field(default_factory=dict)

    def places(self, first: int) -> tuple[int, ...]:
        """Each part with what is wanted at the first level, from `first` on, that fits there: at
        the last one nothing is, and every part fits."""
        new = list[int]()
        for number in range(len(self.parts)):
            tried = (self._at(number, level) for level in range(first, len(self.gaps.levels)))
            new += next(one for one in tried if one is not None)
        return tuple(new)

    def _at(self, number: int, level: int) -> list[int] | None:
        """A part with what is wanted at a level, or at a later one where that is the same."""
        wanted = self.gaps.levels
        while level + 1 < len(wanted) and self._is_same(number, wanted[level], wanted[level + 1]):
            level += 1
        if (number, level) not in self._placed:
            heads, dearer = self._heads(wanted[level])[number], wanted[level].dearer
            self._placed[number, level] = self.gaps.placed(self.parts[number], heads, dearer)
        return self._placed[number, level]

    def _is_same(self, number: int, level: _Level, later: _Level) -> bool:
        """Whether a part is the same at a later level."""
        is_as_dear = level.dearer == later.dearer
        return is_as_dear and self._heads(level)[number] == self._heads(later)[number]

    def _heads(self, level: _Level) -> list[dict[int, set[int]]]:
        """By part, the heads in it that a level wants and that may move."""
        if level.wanted not in self._led:
            self._led[level.wanted] = list(self._by_part(level.wanted))
        return self._led[level.wanted]

    def _by_part(self, wanted: Collection[int]) -> Iterator[dict[int, set[int]]]:
        heads, staying = self.code.heads(wanted), self.code.staying
        free = sorted(heads.keys() - staying)
        for part in self.parts:
            numbers = part.numbers
            first, last = bisect_left(free, numbers.start), bisect_left(free, numbers.stop)
            yield {n: heads[n] for n in free[first:last]}


def _layout(code: Code, places: Sequence[int], boundary: int) -> Layout:
    """The layout in which instructions stand at some places."""
    aligned = sum(places[n] % boundary == 0 for n in code.target_heads)
    items = tuple(zip(code.places, places, (insn for _, insn in code.items), strict=True))
    executed = sum(nops for _, nops in code.passed(places))
    return Layout(items, aligned, len(code.target_heads), executed)
