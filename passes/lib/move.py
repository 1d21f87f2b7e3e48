"""Moves a function's code inside its own footprint, with everything that points into it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from operator import attrgetter, itemgetter

import numpy as np

from passes.align import LONGEST_LOOP, Align, Code, Layout, transfers
from passes.layout import orders
from passes.lib.entered import other_entries
from passes.lib.insert import Slots
from passes.lib.judged import Judge
from passes.lib.nops import Added, Nops
from passes.ordering.arranged import Order, leading
from passes.ordering.fetched import fetched
from passes.ordering.sequences import run_starts, starts_of_runs
from rewriter.analysis.program import Program
from rewriter.core.assumptions import RETURNS
from rewriter.core.code.listing import FLOWS, INLINE
from rewriter.core.code.program import BEYOND, Fixup, Function, JumpTable
from rewriter.core.isa.instruction import AWAY, COMING_BACK, Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.cpu import Cpu, Placing
from rewriter.core.target.idioms import Inverting
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.emit import Patch
from rewriter.elf.unwind import lsda
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.rewritten import rewritten
from rewriter.identify.profiles import Direction
from rewriter.timing.described import NotDescribed
from rewriter.timing.engine import Engine
from rewriter.timing.engines import engine_of
from rewriter.verify.walk.links.over_the_end import Reading


class NoRoom(CannotMove):
    """What was inserted does not fit in the function's footprint."""


class NotClosed(CannotMove):
    """Nothing may stay in some places, and no layout that is better closes up there.

    `places` are those at which the way is longer in the last one that was tried, if it is known.
    """

    def __init__(self, places: Collection[int] = ()) -> None:
        super().__init__("what is behind would not close up")
        self.places = places


@dataclass(frozen=True)
class Moved:
    """A function in its new layout: the bytes that changed by address, patches by offset of its
    unwind rows and exception ranges.

    `dropped` is how many nops fewer control passes through, `order` what was said of the order
    where blocks changed places.
    """

    function: Function
    words: dict[int, bytes]
    unwind: tuple[Patch, ...]
    layout: Layout
    dropped: int
    order: Order | None = None


def move(
    nops: Nops,
    function: Function,
    slots: Slots,
    added: Added,
    align: Align,
    cpu: Cpu,
    carried: Mapping[int, int | None],
    judge: Judge,
    branches: Mapping[int, Direction],
    inverting: Inverting | None = None,
    closed: Collection[int] = (),
    told: Callable[[str], None] = lambda reason: None,
) -> Moved | None:
    """The function in its best layout; None if it is in it already, CannotMove if it must stay, of
    which NotClosed says what would have to go for another layout.

    With `inverting` its blocks may change places; `told` hears why those of a function with counted
    branches do not.  Nothing may stay in places that are `closed`.
    """
    program = nops.program
    entries = program.target.entries(program.listing, function)
    others = frozenset[int]() if inverting is None else other_entries(program, function)
    check_ways_in(program, function, {*entries, *others})
    items = nops.standing(slots, function.start, function.end, added)
    shared, pads = program.references.shared, program.pads_of(function)
    by_jumps = held_by_jumps(program, function)
    held = by_jumps | others
    items = _with_nops(program, _apart(program, items, pads), held)
    if not slots and not added and not nops.within(function) and inverting is None:
        program.target.moved(items, function, shared, int, pads)
        return None  # nothing can slide; what must stay was said
    aside, locked = _aside(program, slots, added), _locked(program, function, items)
    asking = _asking(program, items)
    code = _code(program, function, (entries, held), items, aside, locked | asking)
    code = replace(code, branches=branches, closed=closed)
    moving = _Moving(nops, code, align, cpu, carried, slots.keys() | added.keys())
    if inverting is not None:
        loose, led = moving, _led_into(program, function, {*entries, *by_jumps})
        stay, back = held, dict[int, Insn]()
        if locked and led <= program.islands.alone and _may_move(program, function, items):
            back = _without_islands(program, function, items)
            items = [(address, back.get(address, insn)) for address, insn in items]
            stay, locked = by_jumps | (others - program.islands.alone), set()
        if asking or not locked:
            freed = _code(program, function, (entries, stay), items, aside, locked)
            freed = replace(freed, branches=branches, closed=closed)
            loose = replace(moving, code=freed, changed={*moving.changed, *back})
        found = "code was inserted" if added or code.aside else loose.in_order(inverting)
        if isinstance(found, Moved):
            return found
        if not branches.keys().isdisjoint(code.places):
            told(found)
    if cpu.placing is None or added:
        layout = next(_unwound_layouts(program, code, align, cpu), None)
        if layout is None:
            raise NoRoom("no room")
    else:
        layout = _better(program, code, align, cpu, cpu.placing, judge)
        if layout is None:
            return None
    return moving.moved(code, layout, _Places(layout, function))


_NOP_MORE = 4
"""Cycles that a nop must save which is executed beyond those that jumps save."""

_TRIES = 4
"""So often loops that a layout spoils are held, and the rest is laid out again."""


def _better(
    program: Program, code: Code, align: Align, cpu: Cpu, placing: Placing, judge: Judge
) -> Layout | None:
    """The best layout by a judge; None where none is better than what stands, or NotClosed.

    Loops that the layout with most boundaries spoils stay where they are.
    """
    unclosed = frozenset[int]()
    try:
        for _ in range(_TRIES):
            layouts = tuple(_unwound_layouts(program, code, align, cpu))
            best = judge.best(code, layouts, placing)
            if best is not None:
                return best
            if not layouts:
                break
            unclosed = code.unclosed([there for _, there, _ in layouts[0].items])
            spoiled = judge.spoiled(code, layouts[0], placing)
            if spoiled <= {*code.fixed}:
                break
            code = replace(code, fixed={*code.fixed, *spoiled})
    except NotDescribed as missing:
        raise CannotMove(str(missing)) from missing
    if code.closed:
        raise NotClosed(unclosed)
    return None


@dataclass(frozen=True)
class _Moving:
    """What a function's code and all that names it become in a layout.

    `changed` are addresses at which earlier passes left something else.
    """

    nops: Nops
    code: Code
    align: Align
    cpu: Cpu
    carried: Mapping[int, int | None]
    changed: Collection[int]

    def in_order(self, inverting: Inverting) -> Moved | str:
        """With its blocks in another order, or why that is not done."""
        program, function = self.nops.program, self.code.function
        said = _Said.of(program, function)
        labels = [said.both(address) for address in self.code.places]
        pads, joined = program.pads_of(function), _joined(program, self.code.items)
        reason = "no order of its blocks that has room is better"
        for one in orders(self.code, labels, pads, joined, inverting):
            changed, code = {*self.changed, *one.inverted}, one.code
            most = self._executed_now + max(-one.jumped, 0)
            for layout in self._layouts(code, most):
                if _torn(program, layout):
                    reason = "nops would come between load-locked and store-conditional"
                    continue
                if self._engine is None and code.executed(layout) > most:
                    reason = "nops would be executed in a better order of blocks"
                    continue  # what jumps save would go to nops
                try:
                    places = _Places(layout, function, said)
                    moved = replace(self, changed=changed).moved(code, layout, places)
                except CannotMove as problem:  # a branch too far, or a row: another order may do
                    reason = f"in a better order of blocks {problem}"
                    continue
                return reason if moved is None else replace(moved, order=one.told)
        return reason

    def _layouts(self, code: Code, most: int) -> Iterable[Layout]:
        """The layouts of an order, the best first.

        Where fetch blocks are known that is the one whose fetching takes least, with a slot for
        each nop that is executed, and `_NOP_MORE` cycles for each beyond so many.
        """
        layouts, engine = self.align.layouts(code, self.cpu), self._engine
        if engine is None:
            return layouts
        block = self.cpu.fetch_block.value

        def cost(layout: Layout) -> int:
            nops = code.executed(layout)
            cycles = fetched(code, layout, block, engine) + _NOP_MORE * max(nops - most, 0)
            return nops + cycles * (block // code.size)

        return sorted(layouts, key=cost)

    @cached_property
    def _engine(self) -> Engine | None:
        """The model of the CPU, where code is placed by its fetch blocks."""
        cpu = self.cpu
        return engine_of(cpu) if cpu.placing is None and cpu.pipeline is not None else None

    @cached_property
    def _executed_now(self) -> int:
        """How many nops are executed in the layout in the order that it has."""
        layout = next(self.align.layouts(self.code, self.cpu), None)
        return 0 if layout is None else self.code.executed(layout)

    def moved(self, code: Code, layout: Layout, places: _Places) -> Moved | None:
        """The function in a layout; None where that changes nothing."""
        program, function = self.nops.program, code.function
        shared, pads = program.references.shared, program.pads_of(function)
        items = sorted(code.items, key=itemgetter(0))
        moved = program.target.moved(items, function, shared, places.start, pads)
        by_address = {address: insn for (address, _), insn in zip(items, moved, strict=True)}
        insns = [by_address[address] for address in code.places]
        words = _words(program, layout, insns, function, self.changed)
        for table in program.tables_of(function):
            if _follows(program, table, function):
                words.update(_entries(program, table, places))
        words.update(rewritten_fixups(program, function, self.carried, places.start))
        if all(program.image.read(address, len(new)) == new for address, new in words.items()):
            return None
        dropped = self.nops.executed(function) - layout.executed
        return Moved(function, words, _unwound(program, function, places), layout, dropped)


@dataclass(frozen=True)
class _Said:
    """What is said of code at an address of a function: how frames are found there, and where it
    throws to."""

    starts: Sequence[int]
    frames: Sequence[unwind_rows.Rules]
    ways: Mapping[tuple[int, int], Hashable]

    @classmethod
    def of(cls, program: Program, function: Function) -> _Said:
        """What its unwind entry says, if it has one."""
        entry = program.frames.get(function.start)
        if entry is None:
            return cls((), (), {})
        rows = unwind_rows.rows(entry)
        sites = lsda.lsda_ranges(program.image, entry)
        ways = {(s.start, s.end): (s.landing_pad, s.action) for s in sites}
        return cls([address for address, _ in rows], [rules for _, rules in rows], ways)

    def frame(self, address: int) -> unwind_rows.Rules | None:
        """How frames are found there."""
        return self.frames[bisect_right(self.starts, address) - 1] if self.frames else None

    def both(self, address: int) -> tuple[Hashable, Hashable]:
        """Both."""
        return self.frame(address), self.way(address)

    def way(self, address: int) -> Hashable:
        """Where it throws to."""
        ways = self.ways.items()
        return next((way for (start, end), way in ways if start <= address < end), None)


def _apart(
    program: Program, items: list[tuple[int, Insn]], pads: Collection[int]
) -> list[tuple[int, Insn]]:
    """With the nops between a call and a landing pad behind it.

    Nobody says that the call does not come back, and the code at the pad counts from either place.
    """
    places, kept = [address for address, _ in items], list[tuple[int, Insn]]()
    for pad in pads:
        before = bisect_left(places, pad) - 1
        if before >= 0 and items[before][1].op.flow in COMING_BACK:
            first, last = program.listing.span(places[before] + 1, pad)
            insns = program.listing.insns_at(first, last)
            addresses = program.listing.addresses[first:last].tolist()
            kept += [(at, i) for at, i in zip(addresses, insns, strict=True) if i is not None]
    return sorted([*items, *kept], key=itemgetter(0)) if kept else items


def _with_nops(
    program: Program, items: list[tuple[int, Insn]], places: Collection[int]
) -> list[tuple[int, Insn]]:
    """With the nops at some places: what comes there goes on with the code behind."""
    listing, standing = program.listing, {address for address, _ in items}
    absent = (place for place in places if place not in standing and listing.has(place))
    nops = ((place, listing.insn(listing.index(place))) for place in absent)
    return sorted([*items, *((at, nop) for at, nop in nops if nop is not None)], key=itemgetter(0))


class _Places:
    """Old addresses to new ones.

    Where instructions are in another order, the sequence of what is `said` of them is the same,
    but that there may be others of `rows`: of where frames are found otherwise from then on.
    """

    def __init__(self, layout: Layout, function: Function, said: _Said | None = None) -> None:
        self.function = function
        ordered = sorted(layout.items, key=itemgetter(0))
        self.old = [address for address, _, _ in ordered]
        self.new = [there for _, there, _ in ordered]
        self.size = layout.items[0][2].size
        self.standing = [there for _, there, _ in layout.items]
        self.runs: tuple[list[int], list[int]] | None = None
        self.rows: list[tuple[int, unwind_rows.Rules]] | None = None
        if said is not None:
            frames = [said.frame(self._told(old, insn)) for old, _, insn in layout.items]
            is_told_apart = frames != [said.frame(old) for old, _, _ in layout.items]
            self.runs = None if is_told_apart else self._runs(layout, said.both)
            if self.runs is None:
                self.rows = list(self._rows(frames))
                self.runs = self._runs(layout, said.way)
            if self.runs is None:
                raise CannotMove("what is said of it would come in another order")

    def _told(self, address: int, insn: Insn) -> int:
        """The address at which frames are found as at an instruction: a new jump's is its goal."""
        goal = insn.target(address) if address % self.size else None
        return address if goal is None else goal

    def _runs(
        self, layout: Layout, label: Callable[[int], Hashable]
    ) -> tuple[list[int], list[int]] | None:
        """Where runs of one label begin, and began; None where they would come in another order."""
        before = list(map(label, self.old))
        after = starts_of_runs(before, [label(address) for address, _, _ in layout.items])
        return None if after is None else (run_starts(before), after)

    def _rows(
        self, frames: Sequence[unwind_rows.Rules | None]
    ) -> Iterator[tuple[int, unwind_rows.Rules]]:
        """Where frames are found otherwise, behind the instruction before, by how they are found
        at each."""
        before, here = None, self.function.start
        for frame, there in zip(frames, self.standing, strict=True):
            if frame is not None and frame != before:
                yield here, frame
            before, here = frame, there + self.size

    def _number(self, address: int) -> int:
        """How many instructions stand before a boundary that was at an old address."""
        number = bisect_left(self.old, address)
        if self.runs is None or number == len(self.old):
            return number
        before, after = self.runs
        return after[bisect_right(before, number) - 1]

    def begin(self, address: int) -> int:
        """Where what began at an old address, and ends at another, begins."""
        number = self._number(address)
        return self.standing[number] if number < len(self.standing) else self._end

    @property
    def _end(self) -> int:
        return self.standing[-1] + self.size

    def start(self, address: int) -> int:
        """Where the instruction at an address, or the next that is left, begins."""
        at = bisect_left(self.old, address)
        return self.new[at] if at < len(self.new) else self._end

    def end_of_before(self, address: int) -> int:
        """Where the last instruction before an address ends: an unwind row begins there."""
        at = self._number(address) - 1
        return self.function.start if at < 0 else self.standing[at] + self.size


def _unwound_layouts(program: Program, code: Code, align: Align, cpu: Cpu) -> Iterator[Layout]:
    """The layouts in which unwind rows and exception ranges fit their tables.

    What lies further apart than before may be too far for its field: then ranges begin where they
    did, and rows stand behind the same instructions in the same places.
    """
    frame = program.frames.get(code.function.start)
    if frame is None:
        yield from align.layouts(code, cpu)
        return
    fit, known = partial(_unwinds, code.function, unwind_rows.Timing(frame)), False
    for layout in filter(fit, align.layouts(code, cpu)):
        known = True
        yield layout
    if not known:
        starts = (bisect_left(code.places, s.start) for s in lsda.lsda_ranges(program.image, frame))
        rows = (bisect_left(code.places, at) - 1 for at, _ in unwind_rows.rows(frame)[1:])
        named = {place for n in (*starts, *rows) for place in code.places[max(n, 0) :][:1]}
        held = replace(code, fixed={*code.fixed, *named})
        yield from filter(fit, align.layouts(held, cpu))


def _unwinds(function: Function, timing: unwind_rows.Timing, layout: Layout) -> bool:
    """Whether the unwind rows and the exception ranges fit their tables in a layout."""
    places = _Places(layout, function)
    try:
        rows = timing.moved(places.end_of_before)
    except ValueError:
        return True  # rows that do not follow are said of the layout that is taken
    if rows is None:
        return False
    ends = places.end_of_before
    return lsda.retime(timing.fde, places.begin, ends, places.start) is not None


def _unwound(program: Program, function: Function, places: _Places) -> tuple[Patch, ...]:
    """What the unwinder is told of a function in its new places."""
    frame = program.frames.get(function.start)
    if frame is None:
        return ()
    try:
        if places.rows is None:
            rows = unwind_rows.retime(frame, places.end_of_before)
        else:
            rows = rewritten(frame, places.rows)
    except ValueError as error:
        raise CannotMove("unwind rows do not follow") from error
    if rows is None:
        raise CannotMove("unwind rows do not fit")
    ranges = lsda.retime(frame, places.begin, places.end_of_before, places.start)
    if ranges is None:
        raise CannotMove("exception ranges do not fit")
    return (*rows, *ranges)


def _code(
    program: Program,
    function: Function,
    ways_in: tuple[Collection[int], Collection[int]],
    items: Sequence[tuple[int, Insn]],
    aside: Collection[int],
    locked: Collection[int],
) -> Code:
    """The code to lay out; `ways_in` are entries, before which all stays, and other addresses.

    What is `locked` stays.
    """
    if not items:
        raise CannotMove("nothing but nops")
    if any(insn.size != program.listing.table.size for _, insn in items):
        raise CannotMove("an instruction of two words")  # which must not cross some boundaries
    entries, others = ways_in
    places = [address for address, _ in items]
    fixed = {*places[: bisect_left(places, max((function.start, *entries)))]}
    fixed |= {function.start, *entries, *others, *locked}
    fixed |= {address for address, insn in items if program.target.stays(insn)}
    # A table behind its jump is known by that.
    fixed |= {
        address
        for (address, insn), (_, behind) in pairwise(items)
        if insn.op.flow is Flow.INDIRECT and behind.op is program.listing.table.data
    }
    fixed |= {address for address in places if address in program.switched_to}
    fixed |= _unreached(program, function)
    fixed.update(_keeping_links(program, function, items))
    targets, loops = set[int](), set[int]()
    for n, target in transfers(function, items, aside):
        targets.add(target)
        # Without nops, so that a second run sees the same loop.
        if 0 <= (n - bisect_left(places, target)) * items[n][1].size < LONGEST_LOOP:
            loops.add(target)
    for table in program.tables_of(function):
        targets.update(t for t in table.targets if t in function)
    return Code(function, tuple(items), fixed, loops, targets, aside)


def _unreached(program: Program, function: Function) -> set[int]:
    """Code that no control is seen to come to: it is there for a reason that is not known.

    Data goes with what is before it.
    """
    graph, listing, found = program.graph, program.listing, set[int]()
    blocks = graph.blocks_of(function)
    for block in blocks.start + np.flatnonzero(~graph.reached[blocks.start : blocks.stop]):
        here = slice(int(graph.first[block]), int(graph.last[block]))
        found.update(listing.addresses[here][listing.rows[here] != INLINE].tolist())
    return found


def _keeping_links(
    program: Program, function: Function, items: Sequence[tuple[int, Insn]]
) -> Iterator[int]:
    """Calls behind which the place that they leave in a register may be read, and what is there.

    Such code stands behind calls that do not come back, which nobody says of them; elsewhere it
    would be left another place.  Where gp is made of it, the new place does as well.
    """
    table = program.target.table
    if program.target.shared_data is not None:
        return
    for number, ((address, insn), (behind, _)) in enumerate(pairwise(items)):
        link = table.link(insn) if insn.op.flow.links else None
        place = address + insn.size
        if link is None or not program.live_into(place) >> link & 1:
            continue
        if _placed_anew(program, items, number):
            continue
        if Reading(program, function, link).at(place):
            yield from (address, behind)


def _aside(program: Program, slots: Slots, added: Added) -> frozenset[int]:
    """The addresses of new instructions that control only comes to by a branch.

    They stand in the place of a nop that control does not come to, or behind a jump.
    """
    listing, graph, found = program.listing, program.graph, set[int]()
    for at, insn in slots.items():
        position = listing.index(at)
        if insn is not None and program.nops[position]:
            found |= set() if graph.reached[graph.block_holding(at)] else {at}
    for at, insns in added.items():
        if at >= BEYOND or FLOWS[listing.flows[listing.index(at)]] in AWAY:
            found.update(range(at + 1, at + 1 + len(insns)))
    return frozenset(found)


def _locked(program: Program, function: Function, items: Sequence[tuple[int, Insn]]) -> set[int]:
    """Code between load-locked and store-conditional stays, and so does where it branches to."""
    if not program.has_locked(function):
        return set()
    locked = [(at, insn) for at, insn in items if at in program.locked_addresses]
    targets = {insn.target(address) for address, insn in locked}
    return {at for at, _ in locked} | {t for t in targets if t is not None and t in function}


def _asking(program: Program, items: Sequence[tuple[int, Insn]]) -> set[int]:
    """What asks where it stands, where that may be another place: it moves where blocks do."""
    here = (n for n, (_, insn) in enumerate(items) if insn.op.flow is Flow.HERE)
    return {items[n][0] for n in here if _placed_anew(program, items, n)}


def _placed_anew(program: Program, items: Sequence[tuple[int, Insn]], number: int) -> bool:
    """Whether all that is made of the address behind an instruction follows another place."""
    table, listing, graph = program.target.table, program.listing, program.graph
    taken, link = program.target.placed_anew(items, number), table.link(items[number][1])
    if taken is None or link is None:
        return False
    block, mask = graph.block_holding(taken), register_mask((link,))
    for insn in listing.insns_at(listing.index(taken) + 1, int(graph.last[block])):
        if insn is None or table.uses(insn) & mask:
            return False
        if table.defs(insn) & mask:
            return True
    return not program.live.out_of(block) & mask


def _may_move(program: Program, function: Function, items: Sequence[tuple[int, Insn]]) -> bool:
    """Whether what is between load-locked and store-conditional may stand elsewhere, as it is.

    No table of the system names it, and no nop in it goes.
    """
    here = program.locked_between(function.start, function.end - 1)
    return program.held_addresses.isdisjoint(here) and {*here} <= {at for at, _ in items}


def _without_islands(
    program: Program, function: Function, items: Sequence[tuple[int, Insn]]
) -> dict[int, Insn]:
    """Branches to jumps outside of the function, leading to where these lead in it."""
    leads, found = program.islands.leads, dict[int, Insn]()
    for address, insn in items:
        goal = leads.get(insn.target(address) or 0)
        if goal is not None and goal in function:
            found[address] = leading(insn, address, goal)
    return found


def _torn(program: Program, layout: Layout) -> bool:
    """Whether something comes between what follows one another from a load-locked to a
    store-conditional."""
    locked = program.locked_addresses
    return any(
        before in locked and address in locked and there - place != address - before
        for (before, place, _), (address, there, _) in pairwise(layout.items)
    )


def _joined(program: Program, items: Sequence[tuple[int, Insn]]) -> frozenset[int]:
    """Instructions that keep what stands behind them: data, such as a trap's, if it is not such
    that has its own place, and what follows one between load-locked and store-conditional."""
    locked, data, stays = program.locked_addresses, program.listing.table.data, program.target.stays
    return frozenset(
        address
        for (address, _), (_, behind) in pairwise(items)
        if address in locked or (behind.op is data and not stays(behind))
    )


def check_ways_in(program: Program, function: Function, entries: Collection[int]) -> None:
    """That nothing outside relies on an address in the function but its entries."""
    if RETURNS not in program.assume:
        raise CannotMove("--assume does not allow other return addresses")
    frame = program.frames.get(function.start)
    if frame is not None:
        _check_unwound(program, function, frame)
    elif not _known_by_chain(program, function):
        raise CannotMove("no unwind entry of its own")
    if any(fixup.resume not in function for fixup in program.fixups_of(function)):
        raise CannotMove("an access resumes in another function")
    entries = {*entries, *held_by_jumps(program, function)}
    # What is between load-locked and store-conditional stays where it is, or can do without.
    if not _led_into(program, function, entries) <= program.locked_addresses:
        raise CannotMove("something outside leads into it")


def _led_into(program: Program, function: Function, entries: Collection[int]) -> set[int]:
    """The places that something outside leads to, beside the entries."""
    graph, blocks = program.graph, program.graph.blocks_of(function)
    here = slice(blocks.start, blocks.stop)
    entered = blocks.start + np.flatnonzero(graph.entered[here] & ~graph.landed[here])
    starts = {*program.listing.addresses[graph.first[entered]].tolist()}
    return starts - {function.start, *entries}


def _known_by_chain(program: Program, function: Function) -> bool:
    """Whether its symbol says where a function ends, in a system that needs no unwind entries."""
    return function.source == "symbol" and program.is_kernel and program.target.tables.chained


def _check_unwound(program: Program, function: Function, frame: Fde) -> None:
    """That what unwinders are told of a function is of it alone."""
    if frame.end != function.end:
        raise CannotMove("no unwind entry of its own")
    if frame.cie.signal_frame:
        raise CannotMove("unwinders know its bytes")
    ranges = lsda.lsda_ranges(program.image, frame)
    if any(not function.start <= site.start <= site.end <= function.end for site in ranges):
        raise CannotMove("exception ranges beyond its end")
    if any(site.landing_pad not in (None, *program.pads_of(function)) for site in ranges):
        raise CannotMove("a landing pad of its exception ranges is not its own")


def held_by_jumps(program: Program, function: Function) -> frozenset[int]:
    """Addresses in the function that its computed jumps may lead to, and that cannot be changed.

    They are in tables whose length is not known, or made by code.
    """
    tables = (t for t in program.tables_of(function) if not _follows(program, t, function))
    named = (place for table in tables for place in table.targets if place in function)
    return frozenset((*named, *program.labels_of(function)))


def _follows(program: Program, table: JumpTable, function: Function) -> bool:
    """Whether a table's entries can be made to lead to new places.

    What they count from is outside the function, or keeps its place: a label, or the table itself.
    """
    stays = {table.address, *program.labels_of(function)}
    return table.exact and (table.base not in function or table.base in stays)


def _words(
    program: Program,
    layout: Layout,
    insns: Sequence[Insn],
    function: Function,
    changed: Collection[int],
) -> dict[int, bytes]:
    """What the whole footprint changes to, nops where nothing is.

    `changed` are addresses at which earlier passes left something else.
    """
    target, start, size = program.target, function.start, insns[0].size
    was = program.image.read(start, function.end - start)
    nop = b"".join(map(target.encode, target.nops(size)))
    now = bytearray(nop * (len(was) // size))
    begin = end = distance = 0  # what stays as it is and goes the same way is copied at once
    for (old, there, before), insn in zip(layout.items, insns, strict=True):
        at, to = old - start, there - start
        if insn is before and at % size == 0 and old in function and old not in changed:
            if at != end or to - at != distance:
                now[begin + distance : end + distance] = was[begin:end]
                begin, distance = at, to - at
            end = at + size
        else:
            now[to : to + size] = target.encode(insn)
    now[begin + distance : end + distance] = was[begin:end]
    words = (np.frombuffer(code, f"u{size}") for code in (was, now))
    differing = (size * np.flatnonzero(np.not_equal(*words))).tolist()
    return {start + at: bytes(now[at : at + size]) for at in differing}


def _entries(program: Program, table: JumpTable, places: _Places) -> dict[int, bytes]:
    order = program.image.byteorder
    return {
        table.address + table.size * n: (places.start(t) - table.base).to_bytes(
            table.size, order, signed=True
        )
        for n, t in enumerate(table.targets)
        if t in places.function
    }


def rewritten_fixups(
    program: Program,
    function: Function,
    carried: Mapping[int, int | None],
    place: Callable[[int], int],
) -> dict[int, bytes]:
    """The exception entries of a function's accesses, by address; CannotMove if one is too far.

    `carried` says which access has another's entry now (`Rewritten.carried`), and `place` gives
    an old address' new one.  Where accesses of a table ascend, they do so again.
    """
    table, old, new = program.target.tables.exceptions, program.fixups_of(function), list[Fixup]()
    entries, dead = sorted(fixup.entry for fixup in old), dict[int, bytes]()
    for fixup in old:
        access = carried.get(fixup.access, fixup.access)
        if access is not None:
            new.append(replace(fixup, access=place(access), resume=place(fixup.resume)))
        elif table.sorted:
            raise CannotMove("an entry of an exception table that is in order must stay")
        else:
            dead[fixup.entry] = table.dead(fixup.entry)
    if table.sorted:
        ascending = zip(entries, sorted(new, key=attrgetter("access")), strict=True)
        new = [replace(fixup, entry=entry) for entry, fixup in ascending]
    return dead | {fixup.entry: table.entry(fixup) for fixup in new}
