"""A function of two files, walked in both at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

import numpy as np

from rewriter.analysis.exception_ranges import ExceptionRanges
from rewriter.analysis.program import Program
from rewriter.core.addresses import addresses
from rewriter.core.assumptions import RETURNS
from rewriter.core.code.extensions import lacking
from rewriter.core.code.listing import FLOWS, INLINE, Listing
from rewriter.core.code.program import Fixup, Function
from rewriter.core.edit import Evidence
from rewriter.core.isa.instruction import Flow, Insn, To
from rewriter.elf.image import Image
from rewriter.verify.line_check import Match, matches
from rewriter.verify.probes import Probes
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk import hints
from rewriter.verify.walk.courses.opposites import Opposites
from rewriter.verify.walk.courses.reading import Course, Courses
from rewriter.verify.walk.courses.rows import Passed
from rewriter.verify.walk.detours.reading import Detours
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.insn_classes import HINT, NOP, Kinds
from rewriter.verify.walk.landing_pads import Pads
from rewriter.verify.walk.lines.reading import EVIDENCE, Versions
from rewriter.verify.walk.links.made import without_again
from rewriter.verify.walk.pairs import PLAIN, Compared, Pair, Pairs, Shown
from rewriter.verify.walk.reservations import Reservations
from rewriter.verify.walk.segments import BlockCutter, Cutter, Lost, Segment, reads_place


@dataclass
class Walk:
    """Walks one function; `findings` say what was not shown, `evidence` what was.

    `image` is the new file, `new` its listing and `fixups` its exception entries; `tables` are the
    addresses of jump table bytes that were compared by where they lead, `resumed` pairs of
    exception entries that do the same; `covered` are the addresses of the old code that was
    compared, `visited` those of the new code, `matched` gets what stands for what, if it is a list;
    `detours` and `versions` are how the new listing was read, `alone` places of the new code that
    may stand for one of the old code only, `longer` the positions of branches
    that are several instructions; `ways` are the exception ranges of the new file where the
    function has others in it, `led` what each of its landing pads became; `opposites` are those of
    branches, as far as they were asked for; `passed` gets the ways
    that were compared and `jumps` the new code's that are no part of them; `inside` are places in
    the middle of instructions, at which a nop is read; `shown` gets what was compared, for other
    functions; `features` are those that every CPU has which runs the code.
    """

    program: Program
    image: Image
    new: Listing
    function: Function
    prover: Prover
    locked: frozenset[int]
    kinds: Kinds
    findings: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    visited: set[int] = field(default_factory=set)
    covered: set[int] = field(default_factory=set)
    tables: set[int] = field(default_factory=set)
    fixups: Mapping[int, Fixup] = field(default_factory=dict)
    others: Collection[int] = frozenset()
    resumed: set[tuple[Fixup, Fixup]] = field(default_factory=set)
    matched: list[Match] | None = None
    detours: Detours | None = None
    versions: Versions | None = None
    alone: Mapping[int, int] = field(default_factory=dict)
    longer: list[int] = field(default_factory=list)
    ways: ExceptionRanges | None = None
    led: Mapping[int, int] = field(default_factory=dict)
    opposites: Opposites | None = None
    passed: list[Passed] = field(default_factory=list)
    jumps: set[tuple[int, int]] = field(default_factory=set)
    inside: Collection[int] = frozenset()
    shown: Shown = field(default_factory=dict)
    features: frozenset[str] = frozenset()

    def run(self) -> None:
        """Walks from every entry until nothing new follows, then looks at what was not walked."""
        self.target = self.program.target
        program = self.program
        source = program.listing, program.fixups, self.kinds
        self.old_code = old = BlockCutter(*source, self.function, program.graph)
        there = self.new.span(self.function.start, self.function.end)
        self.new_code = Cutter(self.new, self.fixups, self.kinds, *there, like=old)
        if self.new_code.addresses != old.addresses:
            self.findings.append(f"{self.function.name}: its instructions are in other places")
            return
        pads = Pads(program, self.function, self.ways, self.led)
        shown, features = self.shown, self.features
        self.pairs = Pairs(program, self.function, self.prover, old, pads, shown, features)
        self.probes = Probes(program, self.function, features)
        self.size = program.listing.table.size
        encode = self.target.table.encode
        self._nops = {encode(insn) for insn in self.target.nops(self.size)}
        if self.detours is not None:
            self.visited.update(self.detours.away.get(self.function.start, ()))
            longer = self.detours.more.keys() & self.new_code.at.keys()
            self.longer = sorted(self.new_code.at[address] for address in longer)
        if self.versions is not None:
            self.visited.update(self.versions.away.get(self.function.start, ()))
        opposites = self.opposites or Opposites(self.target, self.prover)
        self.courses = Courses(old, self.new_code, opposites)
        self.reordered = not self.longer and _transfers(old) != _transfers(self.new_code)
        locked = self.locked.intersection(old.addresses)
        held = program.held_addresses
        self.reservations = Reservations(program.listing.table, old, self.new_code, locked, held)
        queue = [Pair(entry, entry) for entry in self._entries() if not self._is_same_data(entry)]
        queue += self._landings()
        seen: set[Pair] = set()
        self._walk(queue, seen)
        self._walk([Pair(start, start) for start in self._idle()], seen)
        if self.alone and any(self.alone.get(pair.new, pair.old) != pair.old for pair in seen):
            self.findings.append(f"{self.function.name}: a loop that flushes is come to otherwise")
        if self.versions is not None:
            places = ((pair.old, pair.new) for pair in seen)
            wrong = self.versions.allow(program, self.function, places)
            self.evidence += [EVIDENCE] * len(self.versions.spent.get(self.function.start, ()))
            self.findings += [f"{self.function.name}: {reason}" for reason in wrong]
        self._unvisited()
        self._new_writes()
        if problem := self.probes.problem():
            self.findings.append(f"{self.function.name}: {problem}")

    def _walk(self, queue: list[Pair], seen: set[Pair]) -> None:
        """From some pairs on, until nothing new follows."""
        while queue:
            pair = self._through_jumps(queue.pop())
            if pair in seen:
                continue
            seen.add(pair)
            try:
                queue += self._segments(pair)
            except (Lost, Different) as problem:
                self.findings.append(f"{self.function.name} at {pair.old:#x}: {problem}")

    def _idle(self) -> list[int]:
        """Where blocks start that nothing is seen to lead to, and in which a word is another one
        that no walk came to: they must do the same if control came there."""
        old, new, graph = self.old_code, self.new_code, self.program.graph
        words = enumerate(zip(old.words, new.words, strict=True))
        changed = (at for at, (word, other) in words if word != other and old.rows[at] >= 0)
        places = (old.addresses[at] for at in changed if not self._is_idle(at))
        blocks = {old.block_holding(at) for at in places if at not in self.visited}
        starts = graph.first[sorted(block for block in blocks if not graph.reached[block])]
        found: list[int] = self.program.listing.addresses[starts].tolist()
        return found

    def _new_writes(self) -> None:
        """A caller may keep a value in a register because nothing in the function writes it."""
        old, new = self.old_code, self.new_code
        same = new.words == old.words and new.defs == old.defs and not self.longer
        if same and self.visited <= new.at.keys():
            return  # most functions
        before = self._written(old.words, old.defs)
        more = reduce(or_, (self._more(at) for at in self.longer), 0)
        after = self._written(new.words, new.defs) | more
        if self.visited <= new.at.keys() and not after & ~before:
            return  # and so nothing that was walked does
        walked = np.searchsorted(self.new.addresses, addresses(self.visited))
        words: list[int] = self.new.words[walked].tolist()
        if (self._written(words, self.new.defs.numbers(walked)) | more) & ~before:
            self.findings.append(f"{self.function.name}: a register is written that was not before")

    def _written(self, words: Iterable[int], defs: Iterable[int]) -> int:
        """The mask of what instructions write; a nop may name a register, which stays as it is."""
        both = zip(words, defs, strict=True)
        return reduce(or_, (mask for word, mask in both if word not in self._nops), 0)

    def _more(self, at: int) -> int:
        """The mask of what a branch at a position of the new code writes beside its first move."""
        more = () if self.detours is None else self.detours.more[self.new_code.addresses[at]]
        return reduce(or_, map(self.target.table.defs, more), 0)

    def _entries(self) -> list[int]:
        """Where control may come from elsewhere: not data that code names, such as a table, nor
        what is come to by islands alone, through which a walk goes on."""
        graph, rows = self.program.graph, self.program.listing.rows
        blocks = graph.blocks_of(self.function)
        here = slice(blocks.start, blocks.stop)
        entered = graph.first[here][graph.entered[here] & ~graph.landed[here]]
        entered = entered[rows[entered] != INLINE]
        entries: list[int] = self.program.listing.addresses[entered].tolist()
        return [entry for entry in entries if entry not in self.program.islands.alone]

    def _landings(self) -> list[Pair]:
        """Where the unwinder leads, which leaves the place in a register."""
        pads = self.program.pads_of(self.function)
        return [Pair(pad, self.led.get(pad, pad), self.target.landing) for pad in pads]

    # One pair of segments -----------------------------------------------------------------

    def _segments(self, pair: Pair) -> list[Pair]:
        at = self.old_code.at.get(pair.old)
        if at is not None and self.old_code.rows[at] == INLINE:
            self._stopped(pair)
            return []
        if pair.new in self.inside:
            raise Different("control comes into the middle of an instruction")
        if self.detours is not None and pair.new in self.detours.inside:
            raise Different("control comes between a branch and what it leads over")
        first, exits = self.old_code.extent(pair.old)
        there = self._unchanged(pair, first, exits)
        if there is None:
            return self._changed(pair, first, exits)
        new, moved = self.new_code, there - first
        self.covered.update(self.old_code.addresses[first : exits[-1] + 1])
        self.visited.update(new.addresses[there : exits[-1] + moved + 1])
        self.evidence.append(PLAIN)
        end, old = exits[-1] + 1, self.old_code
        self.passed.append((old.addresses[first:end], new.addresses[there : end + moved]))
        if self.matched is not None:
            kept = [at for at in range(first, exits[-1] + 1) if not new.kinds[at + moved] & NOP]
            places = self.old_code.addresses, new.addresses
            self.matched += (((places[0][at],), places[1][at + moved]) for at in kept)
        others = [at + moved for at in exits]
        return self._successors(
            exits, [new.targets[at] for at in others], [new.addresses[at] for at in others]
        )

    def _unchanged(self, pair: Pair, first: int, exits: Sequence[int]) -> int | None:
        """Where the same words do what those from `first` did; None where more must be seen."""
        old, new, end = self.old_code, self.new_code, exits[-1] + 1
        there = new.at.get(pair.new)
        if there is None or not old.same(first, end, new, there):
            return None
        if bisect_left(self.longer, there) < bisect_left(self.longer, there + end - first):
            return None
        same = there == first and old.words[first:end] == new.words[first:end]
        if same and self.ways is None:
            return there
        if self.pairs.pads.any:  # it may be in another exception range
            return None
        linked = pair.link is not None and pair.old != pair.new
        locked = not self.reservations.locked.isdisjoint(old.addresses[first:end])
        placed = reads_place(FLOWS[old.flows[end - 1]], old.defs[end - 1], old.kinds[first:end])
        return None if linked or locked or placed else there

    def _changed(self, pair: Pair, first: int, exits: Sequence[int]) -> list[Pair]:
        if not self.reordered:
            return self._as_it_stands(pair, exits)
        try:
            return self._along(pair)
        except (Lost, Different) as problem:
            try:
                return self._as_it_stands(pair, exits)
            except (Lost, Different):
                raise problem from None

    def _as_it_stands(self, pair: Pair, exits: Sequence[int]) -> list[Pair]:
        """Code that ends in the same transfers as it did."""
        old = self.old_code.by_blocks(pair.old)
        new = self.new_code.by_transfers(pair.new, len(old.exits))
        if self.detours is not None:
            new = self.detours.whole(new)
        behind = [new.addresses[slot] for slot in new.exits]
        read = old.addresses, new.addresses
        return self._same(pair, Course(old, new, exits, new.targets, behind, *read, ()))

    def _along(self, pair: Pair) -> list[Pair]:
        """Code along the way that control takes, wherever its blocks stand."""
        return self._same(pair, self.courses.of(pair.old, pair.new))

    def _through_jumps(self, pair: Pair) -> Pair:
        """The same behind jumps that the new code has before what an old place stands for."""
        if not self.reordered or pair.link is not None or not self.reservations.begins(pair.old):
            return pair
        for at, to in self.courses.through(pair.old, pair.new):
            self.visited.add(at)
            self.jumps.add((at, to))
            pair = Pair(pair.old, to)
        return pair

    def _same(self, pair: Pair, course: Course) -> list[Pair]:
        """What follows two segments that are shown to do the same; raises Different."""
        old, new = course.old, course.new
        if not old.same_words(new):
            old = self._without_again(pair, old, new)
            new = self._without_hints(pair.old, old, new)
            if old.falls_out != new.falls_out:
                raise Different("control falls out of the function otherwise")
            for slot, other in zip(old.exits, new.exits, strict=True):
                _same_transfer(old.insns[slot], new.insns[other])
        if not self.reservations.locked.isdisjoint(old.addresses):
            self.reservations.same(course._replace(new=new), pair.new)
        evidence, resumed = self._compared(pair, old, new)
        if not old.same_words(new):
            code = (old.insns, old.exits), (new.insns, new.exits)
            self.probes.compare(*code, old.addresses)
        self.evidence.append(evidence)
        self.covered.update(course.covered)
        self.visited.update(course.visited)
        self.passed.append((old.addresses, new.addresses))
        self.jumps.update(course.jumps)
        if self.matched is not None:
            self.matched += matches(_proper(old), _proper(new))
        self.resumed.update(resumed)
        following = self._successors(course.exits, course.targets, course.behind)
        for before, after in resumed:
            self._same_before(before.access, after.access)
            following += self._targets(before.resume, after.resume)
        return following

    def _same_before(self, here: int, there: int) -> None:
        """What the handler of a fault looks at before an instruction has the same rows; raises
        Different."""
        old, new = self.program.listing, self.new
        at, to = old.index(here), new.index(there)
        name = old.table.rows[old.rows[at]].name
        count = dict(self.target.tables.looks_back).get(name, 0)
        rows = old.rows[max(at - count, old.index(self.function.start)) : at]
        if rows.tolist() != new.rows[to - len(rows) : to].tolist():
            raise Different(f"something else stands before the {name} with an exception entry")

    def _compared(self, pair: Pair, old: Segment, new: Segment) -> Compared:
        return self.pairs.compared(pair, old, new)

    def _without_again(self, pair: Pair, old: Segment, new: Segment) -> Segment:
        """The old segment without what puts into a register what a callee leaves there."""
        shared = self.target.shared_data
        if shared is None or pair.link is None:
            return old
        behind, program = pair.old, self.program
        return without_again(old, new, lambda: program.made_again.get(behind), shared.register)

    def _without_hints(self, start: int, old: Segment, new: Segment) -> Segment:
        """The new segment without loads that do nothing but ask for a line."""
        if not any(kind & HINT for kind in new.kinds):
            return new
        gone = {*hints.added(old.insns, new.insns, self.target)} - {*new.exits}
        if lacking((new.insns[slot] for slot in gone), self.features):
            raise Different("a hint was added that the CPU may lack; --cpu names the CPU")
        for slot in gone:
            stretch = bisect_left(new.exits, slot)
            first = old.exits[stretch - 1] + 1 if stretch else 0
            hints.allow(self.program, old.addresses[first : old.exits[stretch] + 1])
        if gone and self.program.is_kernel:
            hints.allow_in_kernel(self.program, self.function, start, (old, new), gone)
        return new.without(gone) if gone else new

    # What follows -------------------------------------------------------------------------

    def _successors(
        self, exits: Sequence[int], targets: Sequence[int], places: Sequence[int]
    ) -> list[Pair]:
        """What follows the old code's exits, by the new code's: what they lead to, and the address
        behind which each goes on."""
        old, last, found = self.old_code, exits[-1], list[Pair]()
        for at, target, place in zip(exits, targets, places, strict=True):
            flow = FLOWS[old.flows[at]]
            if flow.to is To.PLACE:
                found += self._targets(old.targets[at], target)
            elif flow.to is To.REGISTER and not flow.links:
                found += self._table_targets(old.addresses[at])
            if flow.links:
                found += self._following(old.addresses[at], place, self._link(at))
            elif flow is Flow.TRAP or (flow.conditional and at == last):
                found += self._following(old.addresses[at], place)
            elif flow is Flow.NEXT:
                found += self._falling(old.addresses[at], place)
        return found

    def _link(self, at: int) -> int | None:
        """The register in which an instruction of the old code leaves the address behind it."""
        insn = self.target.table.decode(self.old_code.words[at])
        assert insn is not None
        return self.target.table.link(insn)

    def _following(self, old: int, new: int, link: int | None = None) -> Iterable[Pair]:
        """What comes after an instruction; its end past the function's, or data, over nops."""
        pair = Pair(old + self.size, new + self.size, link)
        if link is not None and old != new and RETURNS not in self.program.assume:
            raise Different("a return address differs, which --assume does not allow")
        if pair.old >= self.function.end:
            return self._leaving(pair)
        if link is not None:
            self._same_behind(old, pair)
        old_code, new_code = self.old_code, self.new_code
        behind = Pair(self._over_nops(old_code, pair.old), self._over_nops(new_code, pair.new))
        if old_code.rows[old_code.at[behind.old]] != INLINE:
            return (pair,)
        self._same_data(behind)
        return ()

    def _over_nops(self, code: Cutter, place: int) -> int:
        """Where the first stands that is no nop, at a place or behind it in the function."""
        for at in range(code.at.get(place, len(code.words)), len(code.words)):
            if code.words[at] not in self._nops or code.rows[at] == INLINE:
                return code.addresses[at]
        return place

    def _leaving(self, pair: Pair) -> Iterable[Pair]:
        """Nothing in the function comes: control leaves over its end in both files, if it comes.

        Nobody says that a call at the end does not come back, nor that a trap there stops.
        """
        new = self.new_code
        first = new.at.get(pair.new, len(new.words) if pair.new == self.function.end else None)
        if first is None or not self._nops.issuperset(new.words[first:]):
            raise Different("control leaves over the function's end otherwise")
        self.visited.update(new.addresses[first:])
        return ()

    def _falling(self, old: int, new: int) -> Iterable[Pair]:
        """What comes where code ends without a transfer: data, or the end of both functions."""
        if (old + self.size >= self.function.end) != (new + self.size >= self.function.end):
            raise Different("control falls out of the function otherwise")
        return (
            (Pair(old + self.size, new + self.size),) if old + self.size < self.function.end else ()
        )

    def _stopped(self, pair: Pair) -> None:
        """What comes to data ends there, if the machine has no such instruction."""
        at = self.program.listing.index(pair.old)
        if not self.program.listing.stops(np.array([at]))[0]:
            raise Lost(f"no instruction at {pair.old:#x}")
        self._same_data(pair)

    def _same_behind(self, call: int, pair: Pair) -> None:
        """What has its place right behind a call stays: some nops, and what unwinders look for."""
        old, new, target = self.old_code, self.new_code, self.target
        at, there = old.at[pair.old], new.at.get(pair.new)
        if there is not None and new.words[there] == old.words[at]:
            return
        row, insn = old.rows[old.at[call]], target.table.decode(old.words[at])
        if insn is not None and target.is_nop(insn):
            if self.program.keeps_nop(target.table.rows[row]):
                raise Different(f"the nop at {pair.old:#x} is gone from behind its call")
        elif insn is not None and target.seen_behind(insn):
            raise Different(f"the {insn.name} at {pair.old:#x} is gone from behind its call")
        came = None if there is None else target.table.decode(new.words[there])
        if came is not None and target.seen_behind(came):
            raise Different(f"the {came.name} that unwinders look for came behind its call")

    def _is_same_data(self, place: int) -> bool:
        """Whether data stands at a place that code names, where no control goes, in both files."""
        if self.old_code.rows[self.old_code.at[place]] != INLINE:
            return False
        try:
            self._same_data(Pair(place, place))
        except Different as problem:
            self.findings.append(f"{self.function.name}: {problem}")
        return True

    def _same_data(self, pair: Pair) -> None:
        """Data behind a trap, from where control does not come back, or that code names."""
        old, new = self.program.listing, self.new
        at, there = old.index(pair.old), new.index(pair.new)
        while at < len(old) and (word := old.data(at)) is not None:
            if there >= len(new) or new.data(there) != word:
                raise Different(f"data at {int(old.addresses[at]):#x} changed")
            self.covered.add(int(old.addresses[at]))
            self.visited.add(int(new.addresses[there]))
            at, there = at + 1, there + 1

    def _targets(self, old: int, new: int) -> Iterable[Pair]:
        old, new = self._over_island(old, self.program.listing), self._over_island(new, self.new)
        if old in self.function:
            return (Pair(old, new),)
        if old != new:
            raise Different(f"a branch to {old:#x} became one to {new:#x}")
        return ()

    def _over_island(self, place: int, listing: Listing) -> int:
        """Where a jump outside of all functions leads, if this one alone comes there and back."""
        goal, before = self.program.islands.leads.get(place), self.program.listing
        if goal is None or goal not in self.function or not listing.has(place):
            return place
        words = (one.words[one.index(place)] for one in (before, listing))
        return goal if len({*words}) == 1 else place

    def _table_targets(self, jump: int) -> Iterator[Pair]:
        for table in self.program.tables_of(self.function):
            if table.jump == jump and table.exact:
                size, order = table.size, self.image.byteorder
                for n, old in enumerate(table.targets):
                    raw = self.image.read(table.address + size * n, size)
                    new = table.base + int.from_bytes(raw, order, signed=True)
                    yield from self._targets(old, new)
                    self.tables.update(
                        range(table.address, table.address + size * len(table.targets))
                    )
            elif table.jump == jump:
                yield from (Pair(t, t) for t in table.targets if t in self.function)

    def _unvisited(self) -> None:
        """What the new file has in the function beside what was walked.

        A nop may stand where control does not come any more, but not in the place of something
        that no walk came to: it is there for a reason that is not known.
        """
        old, new = self.old_code, self.new_code
        words = zip(old.words, new.words, strict=True)
        insns = map(
            self.target.table.decode,
            {w for w, kind in zip(old.words, old.kinds, strict=True) if kind & NOP},
        )
        ends = {
            self.target.table.encode(i)
            for i in insns
            if i is not None and self.target.ends_group(i)
        }
        for at in [at for at, (word, other) in enumerate(words) if word != other]:
            address, problem = new.addresses[at], ""
            seen = address in self.visited
            given_up = address in self.covered or self._is_idle(at)
            if old.rows[at] == new.rows[at] == INLINE and self._is_of_table(address):
                problem = ""  # an entry, by which the walk went on
            elif new.rows[at] < 0:
                problem = "" if seen else "no instruction any more"
            elif address in self.locked and not self._may_go(address):
                problem = "a change of what must stay"
            elif new.kinds[at] & NOP and new.words[at] not in self._nops | ends:
                problem = "an odd nop"
            elif not seen and address not in self.others:
                problem = "" if new.words[at] in self._nops and given_up else "unreachable change"
            if problem:
                self.findings.append(f"{self.function.name}: {problem} at {address:#x}")

    def _is_idle(self, at: int) -> bool:
        """Whether what was at a position is a nop, or leads over nops and control is not seen to
        come there."""
        old = self.old_code
        return bool(old.kinds[at] & NOP) or old.addresses[at] in self.program.padding_addresses

    def _may_go(self, address: int) -> bool:
        """Whether what is between load-locked and store-conditional was found elsewhere."""
        return address in self.covered and address not in self.program.held_addresses

    def _is_of_table(self, address: int) -> bool:
        """Whether all of the word at an address is in a jump table that was followed."""
        return self.tables.issuperset(range(address, address + self.size))


def _proper(segment: Segment) -> list[tuple[int, int]]:
    """Word, apart from how far it branches, and address of what is no nop."""
    return [(segment.placeless[slot], segment.addresses[slot]) for slot in segment.proper()]


def _transfers(code: Cutter) -> list[tuple[int, int]]:
    """The transfers of control in the order in which they stand, without how far they go.

    Each with how many stand before what it leads to in the function, or -1.
    """
    to = (code.at.get(code.targets[at]) for at in code.transfers)
    before = (-1 if there is None else bisect_left(code.transfers, there) for there in to)
    return list(zip((code.placeless[at] for at in code.transfers), before, strict=True))


def _same_transfer(old: Insn, new: Insn) -> None:
    """A transfer of control stays what it is, but for how far it goes.

    A branch may have another test: what it tests is compared.
    """
    if old.op.flow is Flow.NEXT or old.op.flow is new.op.flow is Flow.BRANCH:
        return
    if old.op is not new.op:
        raise Different(f"a transfer of control changed from {old.name} to {new.name}")
    if old.placeless != new.placeless:
        raise Different(f"an operand of {old.name} changed")
