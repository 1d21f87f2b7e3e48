"""Where computed jumps go, once the flow of control is known as far as it must be.

A target reads a switch from the instructions that may have made what the jump goes by.  Which
these are depends on the flow of control, and that on where jumps go: so the first graph has the
tables as code reads in order of address, and each further one what was found on all paths of the
one before, until nothing new comes.  A table is as long as the bounds say only if control cannot
come to the jump but past one; a jump through a pointer is a call in tail position only if the
pointer comes from memory and the stack pointer is back.  Where that cannot be seen it may do
either: call, or go to a label of its function that data holds; it does not call where unwinders
find a frame that its block does not give back.  Labels are those of all parts of a function
(`parts`).  What does not hold is not understood, and its function is left alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise

from rewriter.analysis.flow import Graph
from rewriter.analysis.labels import Pairs, made
from rewriter.analysis.parts import Parts
from rewriter.analysis.relations import LinearEffects
from rewriter.analysis.values.heights import Heights
from rewriter.analysis.values.reaching import Reaching
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function, JumpTable, Origin, TableRead
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Masks
from rewriter.core.target.protocol import Memory, References, Sequential, entered_at

_ROUNDS = 6
"""Graphs that are looked at until what is found is all: real files need two or three."""

_WAYS = 1 << 18
"""From the jumps through pointers of one function to its labels, each from each: more take minutes
to follow.  CPython 3.11's interpreter has 44,652, Gforth's engines have a million and more."""

_HELD = frozenset((Origin.SHARED, Origin.MEMORY))
"""How a jump comes by an address that data holds."""


def followed(
    graph_of: Callable[[References], Graph],
    pairs: Pairs,
    memory: Memory,
    fixed: Callable[[int], bool],
    target: Sequential,
    references: References,
    named: Collection[int],
    alone: Collection[int],
    parts: Parts,
) -> tuple[References, Graph, frozenset[tuple[int, int]]]:
    """The references with every computed jump settled, and the graph by them; and the calls, with
    the registers that they were taken to keep for that.

    A table is read where memory is `fixed`: what the program may write over leads anywhere.
    `pairs` are what may make its labels, of which those go that no path makes; `named` are
    addresses in text that data holds, `alone` those of them that nothing else names, `parts` what
    functions are parts of one.
    """
    assumed, names = references, (frozenset(named), frozenset(alone))
    effects, relied = LinearEffects(target), set[tuple[int, int]]()

    def settled(graph: Graph) -> References:
        known = made(graph, pairs, references)
        settle = _Settle(graph, memory, fixed, target, known, *names, parts, effects)
        found = settle.run()
        relied.update(settle.reaching.relied)
        return found

    for _ in range(_ROUNDS):
        functions, found = _round(graph_of, settled, assumed)
        more = _more(assumed.tables, found.tables)
        labels = _in_the_way(functions, assumed, found)
        if not more and labels == assumed.labels:
            break
        assumed = replace(assumed, tables=(*assumed.tables, *more), labels=labels)
    else:
        assumed = replace(assumed, labels=references.labels)
        _, found = _round(graph_of, settled, assumed)
        found = without(found, {table.jump for table in _more(assumed.tables, found.tables)})
    graph = graph_of(found)
    open_ended = _unreached(graph, memory, target, found) | _unnamed(graph, effects, parts, found)
    if open_ended:
        found = without(found, open_ended)
        graph = graph_of(found)
    return found, graph, frozenset(relied)


def _round(
    graph_of: Callable[[References], Graph],
    settled: Callable[[Graph], References],
    assumed: References,
) -> tuple[Sequence[Function], References]:
    """The functions, and what one graph says: nobody holds it while the next is made."""
    graph = graph_of(assumed)
    return graph.functions, settled(graph)


def _in_the_way(
    functions: Sequence[Function], assumed: References, found: References
) -> frozenset[int]:
    """The labels of the next graph: all, until a jump is not understood beside one that is unmade.

    A label that no path makes still begins a block that control may enter from outside, and what
    a jump goes by is not followed past one.  Without it the next graph has fewer ways, but all
    that there are as long as no label comes back that this one was without.
    """
    unmade = assumed.labels - found.labels
    starts = [function.start for function in functions]
    owners = {bisect_right(starts, jump) for jump in found.unresolved}
    if any(bisect_right(starts, label) in owners for label in unmade):
        return found.labels
    return assumed.labels | found.labels


def _more(known: Sequence[JumpTable], found: Sequence[JumpTable]) -> list[JumpTable]:
    """The tables that lead where nobody thought."""
    places = {(table.jump, target) for table in known for target in table.targets}
    return [t for t in found if any((t.jump, target) not in places for target in t.targets)]


def misled(
    graph: Graph, references: References, relied: Collection[tuple[int, int]], spoiled: Masks
) -> frozenset[int]:
    """The jumps of functions in which a register was followed back over a call that does not keep
    it: `relied` are such calls and registers, `spoiled` is by block what a call may change."""
    calls = {at: graph.block_holding(at) for at, _ in relied}
    lost = {calls[at] for at, register in relied if int(spoiled[calls[at]]) >> register & 1}
    owners = {int(graph.function_of[block]) for block in lost}
    tables = references.tables if owners else ()
    return frozenset(
        table.jump
        for table in tables
        if int(graph.function_of[graph.block_holding(table.jump)]) in owners
    )


def without(references: References, jumps: Collection[int]) -> References:
    """The references without the tables of jumps that are not understood after all."""
    tables = tuple(table for table in references.tables if table.jump not in jumps)
    return replace(
        references,
        tables=tables,
        unresolved=references.unresolved | frozenset(jumps),
        leaving=references.leaving - frozenset(jumps),
    )


def _unreached(
    graph: Graph, memory: Memory, target: Sequential, references: References
) -> frozenset[int]:
    """The jumps whose table goes on behind its bound, to code that nothing else leads to."""
    found, starts = set[int](), sorted({table.address for table in references.tables})
    for table in references.tables:
        if not table.exact:
            continue
        entries = target.table_entries(memory, graph.listing, table.address, table.base)
        function = graph.functions[graph.function_of[graph.block_holding(table.jump)]]
        following = bisect_right(starts, table.address)
        if following < len(starts):
            entries = entries[: (starts[following] - table.address) // table.size]
        behind = {place for place in entries[len(table.targets) :] if place in function}
        if not all(graph.reached[graph.block_holding(place)] for place in behind):
            found.add(table.jump)
    return frozenset(found)


def _unnamed(
    graph: Graph, effects: LinearEffects, parts: Parts, references: References
) -> frozenset[int]:
    """The jumps by a pointer from memory in a function with code that nothing leads to.

    It may have labels that nothing names: distances from another one, added while it runs.
    """
    found = set[int]()
    for table in references.tables:
        if not table.address and table.jump not in references.made:
            function = graph.functions[graph.function_of[graph.block_holding(table.jump)]]
            if any(_idle(graph, effects, part) for part in parts.of(function)):
                found.add(table.jump)
    return frozenset(found)


def _idle(graph: Graph, effects: LinearEffects, function: Function) -> bool:
    """Whether a function has instructions that no path comes to and that do something."""
    listing, target = graph.listing, effects.target
    for block in graph.blocks_of(function):
        if not graph.reached[block]:
            first, last = int(graph.first[block]), int(graph.last[block])
            words = listing.words[first:last].tolist()
            for word, insn in zip(words, listing.insns_at(first, last), strict=True):
                if insn is not None and not (target.is_nop(insn) or _fills(effects, word)):
                    return True
    return False


def _fills(effects: LinearEffects, word: int) -> bool:
    """Whether an instruction leaves every register as it is, as those that fill a group do."""
    step = effects.of(word).step
    return step is not None and step[0] == step[1] and not step[2]


@dataclass
class _Settle:
    """One round: what the paths of a graph say of each computed jump."""

    graph: Graph
    memory: Memory
    fixed: Callable[[int], bool]
    target: Sequential
    references: References
    named: frozenset[int]
    alone: frozenset[int]
    parts: Parts
    effects: LinearEffects
    _reads: dict[int, list[TableRead]] = field(default_factory=dict)
    _spills: dict[int, list[tuple[int, tuple[int, int], int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.listing, self.functions = self.graph.listing, self.graph.functions
        self.starts = [function.start for function in self.functions]
        # What `reaching` asks holds no `_Settle`: a circle would keep the graph when it is settled.
        inner = partial(_is_inner, self.graph, self.alone, self.parts)
        self.reaching = Reaching(self.graph, self.target, inner)
        self.heights = Heights(self.graph, self.effects, self.parts.depth, self.parts.entered)

    def run(self) -> References:
        """The references with tables and unresolved jumps as paths have it."""
        jumps = self.listing.addresses[self.listing.flows == FLOW_CODE[Flow.INDIRECT]].tolist()
        jumps = [jump for jump in jumps if jump not in self.references.unresolved]
        for jump in jumps:
            insn, function = self._insn(jump), self._owner(jump)
            shared = self.references.pointers(function)
            reads = self.target.table_reads(jump, insn, self, shared)
            self._reads[jump] = list(dict.fromkeys(reads))
        made = {jump: targets for jump in jumps if (targets := self._made(jump))}
        tables = [self._anywhere(jump, targets) for jump, targets in made.items()]
        leaving, crowded = set[int](), self._crowded(made)
        unresolved = {*self.references.unresolved, *crowded}
        for jump in [jump for jump in jumps if jump not in crowded and jump not in made]:
            found = self._switch(jump) if self._reads[jump] else self._pointer(jump)
            if found is None and not self._reads[jump]:
                found = self._either(jump)
                leaving.update(() if found is None or self._has_frame(jump) else (jump,))
            if found is None:
                unresolved.add(jump)
            elif found.targets:
                tables.append(found)
        return replace(
            self.references,
            tables=tuple(tables),
            unresolved=frozenset(unresolved),
            leaving=frozenset(leaving),
            made=frozenset(made),
        )

    def _crowded(self, made: Collection[int]) -> set[int]:
        """The jumps through pointers of functions in which these have too many ways.

        Those that code has `made` have few.
        """
        pointers: dict[Function, set[int]] = {}
        for jump, reads in self._reads.items():
            if not reads and jump not in made:
                pointers.setdefault(self._owner(jump), set()).add(jump)
        many = (j for f, j in pointers.items() if len(j) * len(self._labels(f)) > _WAYS)
        return set[int]().union(*many)

    def _insn(self, address: int) -> Insn:
        insn = self.listing.insn(self.listing.index(address))
        assert insn is not None
        return insn

    def _owner(self, address: int) -> Function:
        return self.functions[bisect_right(self.starts, address) - 1]

    # What a target asks -------------------------------------------------------------------

    def made(self, register: int, use: int) -> Sequence[tuple[int, Insn]]:
        """The instructions that may have made what the one at `use` reads in a register."""
        places = self.reaching.definitions(register, use) or ()
        return [(place, self._insn(place)) for place in sorted(places)]

    def stored(self, base: int, displacement: int, use: int) -> Sequence[tuple[int, int]]:
        """Where the function stores a register in such a place of its stack."""
        function = self._owner(use)
        if function.start not in self._spills:
            self._spills[function.start] = list(self._stores(function))
        wanted = (base, displacement)
        return [
            (at, source) for at, place, source in self._spills[function.start] if place == wanted
        ]

    def held(self, place: int) -> int | None:
        """The address that a word of data holds, where nothing writes it later."""
        return self.references.words.get(place)

    def _stores(self, function: Function) -> Iterator[tuple[int, tuple[int, int], int]]:
        first, last = self.listing.span(function.start, function.end)
        places = self.listing.addresses[first:last].tolist()
        for at, insn in zip(places, self.listing.insns_at(first, last), strict=True):
            spill = self.target.spill(insn) if insn is not None else None
            if spill is not None:
                yield at, spill[:2], spill[2]

    # Switches -----------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> list[int]:
        """Where tables start that some jump goes by, ascending."""
        found = set[int]()
        for jump, reads in self._reads.items():
            for read in reads:
                places = self._places(read, self._owner(jump))
                found.update(places if len(places) == 1 else ())
        return sorted(found)

    def _switch(self, jump: int) -> JumpTable | None:
        """A switch's table, or all that its tables lead to; None where that is not known."""
        reads, function = self._reads[jump], self._owner(jump)
        counts = [self.reaching.bounded(read) for read in reads]
        if len(reads) == 1 and reads[0].address is not None and counts[0] is not None:
            return self._exact(jump, reads[0].address, reads[0].base, counts[0])
        every = set[int]()
        for read, count in dict.fromkeys(zip(reads, counts, strict=True)):
            for place in self._places(read, function):
                targets = self._all(place, read.base, count)
                inside = sum(target in function for target in targets)
                if 0 < inside < len(targets):
                    return None  # it may be of this function's code elsewhere, or of another table
                every.update(targets if inside else ())
        return self._anywhere(jump, every) if every else None

    def _exact(self, jump: int, place: int, base: int, count: int) -> JumpTable | None:
        """The table, where a bound says how many entries it has."""
        targets, function = self._entries(place, base)[:count], self._owner(jump)
        if len(targets) < count:
            return None
        inside = all(target in function for target in targets)
        return JumpTable(jump, place, self.target.entry_size, base, targets, exact=inside)

    def _places(self, read: TableRead, function: Function) -> Sequence[int]:
        """Where the table of a read may be: if that is not seen, anywhere that the function names.

        What names no code of the function is no table of its own.
        """
        if read.address is not None:
            return (read.address,)
        made = self.references.constants.get(function.start, frozenset())
        places = sorted(place for place in made if not self.listing.has(place))
        return [at for at in places if self._leads_into(at, read.base, function)]

    def _leads_into(self, place: int, base: int, function: Function) -> bool:
        return any(target in function for target in self._entries(place, base)[:1])

    def _all(self, place: int, base: int, count: int | None) -> tuple[int, ...]:
        """All entries that a table may have: up to a bound, or else to the next table."""
        entries = self._entries(place, base)
        if count is not None:
            return entries[:count] if len(entries) >= count else ()
        following = bisect_right(self._tables, place)
        if following < len(self._tables):
            entries = entries[: (self._tables[following] - place) // self.target.entry_size]
        return entries

    def _entries(self, place: int, base: int) -> tuple[int, ...]:
        if not self.fixed(place):
            return ()
        entries = self.target.table_entries(self.memory, self.listing, place, base)
        last = place + self.target.entry_size * len(entries) - 1
        return entries if not entries or self.fixed(last) else ()

    def _anywhere(self, jump: int, targets: Collection[int]) -> JumpTable:
        return JumpTable(jump, 0, self.target.entry_size, 0, tuple(sorted(targets)), exact=False)

    # Pointers -----------------------------------------------------------------------------

    def _made(self, jump: int) -> frozenset[int]:
        """Where a jump goes whose address is a sum that code makes, on all ways: to a function of
        another unit in tail position, mostly; nowhere where that is not seen."""
        insn = self._insn(jump)
        register, _ = self.target.jumps_through(insn)
        if self._reads[jump] or set(self._origins(register, jump, frozenset())) != {Origin.SUM}:
            return frozenset()
        shared = self.references.pointers(self._owner(jump))
        places = self.target.pointed(jump, insn, self, shared)
        return places if all(map(self.listing.has, places)) else frozenset()

    def _pointer(self, jump: int) -> JumpTable | None:
        """Where a jump through a pointer goes: a table without targets is a call."""
        insn, function = self._insn(jump), self._owner(jump)
        register, calls = self.target.jumps_through(insn)
        origins = set(self._origins(register, jump, frozenset()))
        if None in origins or not origins:
            return None
        if function.start in self.parts.loose:
            return None
        labels = self._labels(function)
        if not calls:
            return self._led(jump, labels) if labels else None
        if origins == {Origin.SHARED}:  # small data of the file's own may be there, too
            leaves = not labels or self._holds_functions(register, jump)
            return self._anywhere(jump, ()) if leaves else None
        height = self.heights.at(function, jump)
        if height == 0 and not labels:
            return self._anywhere(jump, ())
        # With a frame of its own on the stack a function does not call another for the last time.
        return self._led(jump, labels) if height and labels else None

    def _holds_functions(self, register: int, jump: int) -> bool:
        """Whether the words of shared data that a jump may go by hold, in the file, where callers
        enter other functions: a linker's table does, and no variable for labels, though one of them
        may stand where the jump's own function is entered."""
        shared = self.references.pointers(self._owner(jump))
        loads = [self._insn(place) for place in self.reaching.definitions(register, jump) or ()]
        spelled = [self.target.spelling.address(load) for load in loads]
        if None in spelled or not spelled:
            return False
        places = [gp + place[1] for gp in shared for place in spelled if place is not None]
        held = [*map(self._word, places)]
        own = {part.start for part in self.parts.of(self._owner(jump))}
        return bool(held) and all(
            self._is_entered(place) and self._owner(place).start not in own for place in held
        )

    def _word(self, place: int) -> int:
        """What a word of data holds in the file; 0 where there is none."""
        size, order = self.target.table.cell, self.target.table.byteorder
        here = self.memory.is_mapped(place) and self.memory.is_mapped(place + size - 1)
        return int.from_bytes(self.memory.read(place, size), order) if here else 0

    def _is_entered(self, place: int) -> bool:
        """Whether callers enter a function at an address."""
        # In front of all functions the last one is asked, which holds no such place.
        return place in entered_at(self._owner(place), self.listing, self.target)

    def _either(self, jump: int) -> JumpTable | None:
        """The labels that a jump through a word of memory may go to, if it does not leave instead.

        Only labels that data holds: what code makes of one may be the address of another.
        """
        register, _ = self.target.jumps_through(self._insn(jump))
        labels = [place for place in self._labels(self._owner(jump)) if self.listing.has(place)]
        origins = set(self._origins(register, jump, frozenset()))
        held = bool(origins) and origins <= _HELD and self.references.labels.isdisjoint(labels)
        known = held and self._owner(jump).start not in self.parts.loose
        return self._led(jump, labels) if known and labels else None

    def _led(self, jump: int, labels: Collection[int]) -> JumpTable:
        """A jump to labels, or to those of parts of which nobody knows whose they are."""
        return self._anywhere(jump, {*labels, *self._unowned})

    @cached_property
    def _unowned(self) -> frozenset[int]:
        """The labels of such parts."""
        loose = (function for function in self.functions if function.start in self.parts.loose)
        return frozenset(place for part in loose for place in self._inside(part))

    def _has_frame(self, jump: int) -> bool:
        """Whether unwinders find a frame at a jump, and its block leaves the stack pointer alone.

        With a frame of its own on the stack a function does not call another for the last time.
        A table that tells nowhere that a frame is given back is one for calls alone, and says
        nothing of what stands between them.
        """
        framed = self.parts.frames.of(self._owner(jump).start)
        is_told = any(before and not behind for (_, before), (_, behind) in pairwise(framed))
        if not is_told or not _last(framed, jump):
            return False
        first = int(self.graph.first[self.graph.block_holding(jump)])
        before = slice(first, self.listing.index(jump))
        return not self.listing.defs.has(self.target.stack, before).any()

    @cached_property
    def _names(self) -> list[int]:
        """What code makes and what data holds, but for tables in text that no data names."""
        return sorted(self.references.labels.difference(self._tables) | self.named)

    def _labels(self, function: Function) -> list[int]:
        """The addresses inside a function, all its parts, that code makes or that data holds."""
        return [place for part in self.parts.of(function) for place in self._inside(part)]

    def _inside(self, part: Function) -> list[int]:
        """Those in one part: not where callers enter it, if they do."""
        first, last = (bisect_left(self._names, at) for at in (part.start, part.end))
        entries = entered_at(part, self.listing, self.target) - self.parts.inner
        return [place for place in self._names[first:last] if place not in entries]

    def _origins(
        self, register: int, use: int, seen: frozenset[tuple[int, int]]
    ) -> Iterator[Origin | None]:
        """How each value that a register may have at a place came about; None for what is odd."""
        found = self.reaching.definitions(register, use)
        if found is None:
            # What nothing wrote is what a caller gave: if it is copied from there, a pointer.
            yield Origin.MEMORY if seen else None
            return
        for place in found if (register, use) not in seen else ():
            made = self.target.origin(self._insn(place))
            ways = seen | {(register, use)}
            if made is None:
                yield None
            elif made[0] is Origin.COPY:
                yield from self._origins(made[1], place, ways)
            elif made[0] is Origin.SUM:
                parts = set(self._origins(made[1], place, ways))
                yield Origin.SUM if parts == {Origin.HIGH} else None
            else:
                yield made[0]


def _is_inner(graph: Graph, alone: Collection[int], parts: Parts, block: int) -> bool:
    """Whether nothing but computed jumps of its function comes to a block that data names.

    With a frame on the stack it is no place that is called: a label, of a `goto *`.  One in
    another part may lead there, too.
    """
    place = int(graph.listing.addresses[graph.first[block]])
    if place not in alone or graph.elsewhere[block] or parts.loose:
        return False
    function = graph.functions[int(graph.function_of[block])]
    if len(parts.of(function)) > 1:
        return False
    return _last(parts.frames.of(function.start), place)


def _last(framed: Sequence[tuple[int, bool]], place: int) -> bool:
    """What the last of some rows says that begins at a place or before it; False if none does."""
    return next((one for at, one in reversed(framed) if at <= place), False)
