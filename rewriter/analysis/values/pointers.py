"""Calls behind which the register for shared data holds already what is put there again.

A caller cannot know whether what it calls leaves the register as it was, so behind each call it
makes it anew.  Here the whole text is known: a callee that makes the same value itself, or leaves
the register alone, and calls nothing but such functions, comes back with it.  Whatever goes
elsewhere (calls of what is not known, code that is entered in its midst, faults) may change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import INSIDE
from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import Liveness
from rewriter.core.addresses import Sides, addresses, compact, contains, sides
from rewriter.core.code.listing import FLOWS, INLINE, among
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, To, leading
from rewriter.core.isa.registers import of_row
from rewriter.core.target.protocol import References, SharedPointer

UNSEEN, KEPT, UNKNOWN = -1, -2, -3
"""What the register holds, beside a number: nothing gets there; what it held when the function was
entered; anything."""


class Again(NamedTuple):
    """The addresses of the two instructions that make the value again."""

    high: int
    low: int


class _Call(NamedTuple):
    """A call: where its function starts, if the register holds `given`; None where it need not."""

    callee: int
    given: int | None


class _Block(NamedTuple):
    """What a block does to the register.

    `made` is what it becomes there, None where it stays.  At the end `calls` says that another
    function is called, `call` which, if that is known, `leaves` that control leaves the function.
    """

    made: int | None
    calls: bool = False
    call: _Call | None = None
    leaves: bool = False


_PLAIN = _Block(None)
"""What most blocks do: nothing."""


@dataclass(frozen=True)
class Text:
    """What is known of a whole text.

    `entries` gives where a function is entered with the register as the function makes it, `words`
    what the table of addresses holds, `resumed` where control goes on after faults that another
    function may have.
    """

    graph: Graph
    functions: Sequence[Function]
    references: References
    live: Liveness
    known: SharedPointer
    entries: Callable[[Function], tuple[int, ...]]
    words: Mapping[int, int]
    resumed: frozenset[int]

    @cached_property
    def writes(self) -> NDArray[np.int64]:
        """The positions that write the register, ascending."""
        return np.flatnonzero(self.graph.listing.defs.has(self.known.register))

    @cached_property
    def reads(self) -> bytes:
        """By position, whether it reads the register."""
        return self.graph.listing.uses.has(self.known.register).tobytes()

    @cached_property
    def written(self) -> tuple[Sequence[int], Sequence[int]]:
        """By block the first of the writes in it, and the first behind it."""
        graph, writes = self.graph, self.writes
        return compact(writes.searchsorted(graph.first)), compact(writes.searchsorted(graph.last))

    @cached_property
    def steps(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Of each write its position, the register of which it makes a sum, -1 for none, and what
        it adds."""
        bases, added = self.known.steps(self.graph.listing, self.writes)
        return compact(self.writes), compact(bases), compact(added)

    @cached_property
    def crossing(self) -> dict[int, list[int]]:
        """By block the others that lead there from another function, or outside all functions."""
        graph, found = self.graph, dict[int, list[int]]()
        inside = np.isin(graph.kind, INSIDE)
        inside &= graph.reached[np.minimum(graph.source, len(graph.first) - 1)]
        source, target = graph.source[inside], graph.target[inside]
        owner = graph.function_of
        crosses = (owner[source] != owner[target]) | (owner[target] < 0)
        pairs = zip(source[crosses].tolist(), target[crosses].tolist(), strict=True)
        for one, other in pairs:
            found.setdefault(other, []).append(one)
        return found

    @cached_property
    def sides(self) -> Sides:
        """Where each function starts and ends; the last is none."""
        return sides([*((function.start, function.end) for function in self.functions), (0, 0)])

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """By block where the edges from it begin that stay in its function, and by these where they
        lead, as places among the blocks of the function."""
        graph, count = self.graph, len(self.graph.first)
        source, target = graph.inner
        blocks = np.maximum(source, target) < count
        source, target = source[blocks], target[blocks]
        owner = graph.function_of[source]
        stays = (owner >= 0) & (owner == graph.function_of[target])
        firsts = graph.listing.addresses[graph.first].searchsorted(self.sides[0])
        leads = target[stays] - firsts[owner[stays]]
        return source[stays].searchsorted(np.arange(count + 1)), leads

    @cached_property
    def busy(self) -> NDArray[np.bool_]:
        """By block, whether it may do something to the register, call, leave its function or end
        there: most do not."""
        graph, listing = self.graph, self.graph.listing
        final, (before, behind) = graph.last - 1, map(np.asarray, self.written)
        ends = among(listing.flows[final], _ENDING) | (listing.rows[final] < 0)
        goes, to = among(listing.flows[final], leading(To.PLACE)), listing.targets[final]
        starts, stops = (side[graph.function_of] for side in self.sides)
        away = goes & ((to < starts) | (to >= stops))
        return np.asarray((before != behind) | ends | away | (np.diff(self.edges[0]) == 0))

    @cached_property
    def ways_in(self) -> NDArray[np.bool_]:
        """By block, whether it may be entered otherwise than from its function's other blocks."""
        graph, places = self.graph, self.graph.listing.addresses[self.graph.first]
        found = graph.named | contains(addresses(sorted(self.starts | self.resumed)), places)
        found[list(self.crossing)] = True
        return found

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """By block, whether a call stands right before it that leaves where it is in the link
        register, and writes no other."""
        listing, before = self.graph.listing, np.maximum(self.graph.first - 1, 0)
        alone = np.array([of_row(mask) == 1 << self.known.link for mask in listing.defs.distinct])
        found = alone[listing.defs.which[before]] & among(listing.flows[before], _LINKING)
        return np.asarray(found & (self.graph.first > 0))

    @cached_property
    def bounds(self) -> tuple[memoryview, memoryview]:
        """By block its first position, and the one behind its last."""
        return self.graph.first.data, self.graph.last.data

    def one(self, block: _Block) -> _Block:
        """One object for all that are equal: a text has half a million blocks."""
        return self._blocks.setdefault(block, block)

    def some(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """One object for all that are equal."""
        return self._places.setdefault(places, places)

    @cached_property
    def _blocks(self) -> dict[_Block, _Block]:
        return {_PLAIN: _PLAIN}

    @cached_property
    def _places(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        return {}

    @cached_property
    def starts(self) -> frozenset[int]:
        """Where functions start."""
        return frozenset(function.start for function in self.functions)


def made_again(text: Text) -> dict[int, Again]:
    """By the address behind a call, what makes there the value that the register holds already."""
    codes = {f.start: _Code(text, f) for f in text.functions}
    left = _left(codes)
    return {at: again for code in codes.values() for at, again in code.made_again(left)}


def _left(codes: Mapping[int, _Code]) -> dict[int, int]:
    """What each function leaves in the register: the most that no call of it contradicts."""
    callers: dict[int, set[int]] = {}
    for start, code in codes.items():
        for callee in code.callees:
            callers.setdefault(callee, set()).add(start)
    left, order = dict.fromkeys(codes, UNSEEN), _callees_first(codes)
    waiting = set(order)
    while waiting:
        for start in filter(waiting.__contains__, order):
            waiting.remove(start)
            found = codes[start].left(left)
            if found != left[start]:
                left[start] = found
                waiting |= callers.get(start, set())
    return left


def _callees_first(codes: Mapping[int, _Code]) -> list[int]:
    """Functions in an order in which callees stand before their callers, but for recursion."""
    order: list[int] = []
    seen = set[int]()
    for root in codes:
        stack = [(root, iter(codes[root].callees))] if root not in seen else []
        seen.add(root)
        while stack:
            _, callees = stack[-1]
            callee = next((c for c in callees if c not in seen and c in codes), None)
            if callee is None:
                order.append(stack.pop()[0])
            else:
                seen.add(callee)
                stack.append((callee, iter(codes[callee].callees)))
    return order


def _joined(a: int, b: int) -> int:
    if a in (UNSEEN, b):
        return b
    return a if b == UNSEEN else UNKNOWN


class _Code:
    """One function; what is kept by block is in lists, from its first block on."""

    def __init__(self, text: Text, function: Function) -> None:
        self.text, self.function, self.graph = text, function, text.graph
        self.blocks = self.graph.blocks_of(function)
        self._islands = dict(self._beyond())
        self._following = self._edges()
        self._before = self._alone_before()
        self.shared = text.references.shared.get(function.start, UNKNOWN)
        self._understood = not any(at in function for at in text.references.unresolved)
        self._done = self._all_done()
        self._found: list[int] = []

    def _edges(self) -> list[tuple[int, ...]]:
        """The places of the blocks that follow each."""
        begins, leads = self.text.edges
        ends = begins[self.blocks.start : self.blocks.stop + 1]
        goals, ends = leads[ends[0] : ends[-1]].tolist(), (ends - ends[0]).tolist()
        found = [tuple(goals[begin:end]) for begin, end in pairwise(ends)]
        for island, goal in self._islands.items():
            for block in self.text.crossing.get(island, ()):
                if block in self.blocks:
                    found[block - self.blocks.start] += (goal - self.blocks.start,)
        return list(map(self.text.some, found))

    def _alone_before(self) -> bytes:
        """Of each block, whether none of the others leads there, or the one before it alone."""
        found = bytearray([_NONE]) * len(self.blocks)
        for at, following in enumerate(self._following):
            for after in following:
                alone = found[after] == _NONE and after == at + 1
                found[after] = _PREVIOUS if alone else _SOME
        return bytes(found)

    def _all_done(self) -> list[_Block]:
        """What each block does; most do nothing, and are not looked at one by one."""
        found, one = [_PLAIN] * len(self.blocks), self.text.one
        busy = self.text.busy[self.blocks.start : self.blocks.stop]
        for at in np.flatnonzero(busy).tolist():
            found[at] = one(self._block(self.blocks[at]))
        return found

    @property
    def callees(self) -> set[int]:
        """Where the functions start that it calls."""
        return {block.call.callee for block in self._done if block.call is not None}

    def left(self, of: Mapping[int, int]) -> int:
        """What it leaves in the register, given what others do."""
        if not self._understood or not self.blocks:
            return UNKNOWN
        self._found = found = [UNSEEN] * len(self.blocks)
        for at, held in self._entered.items():
            found[at] = held
        waiting, left = [*self._entered], UNSEEN
        while waiting:
            at = waiting.pop()
            done = self._done[at]
            after = found[at] if done is _PLAIN else _through(done, found[at], of)
            if done.leaves:
                left = _joined(left, self._returned(at, after))
            for following in self._following[at]:
                joined = _joined(found[following], after)
                if joined != found[following]:
                    found[following] = joined
                    waiting.append(following)
        return left

    def made_again(self, of: Mapping[int, int]) -> Iterator[tuple[int, Again]]:
        """The calls behind which it makes a value that is there."""
        for at, (block, done) in enumerate(zip(self.blocks, self._done, strict=True)):
            if done.call is None or done.leaves or not self._alone(block + 1):
                continue
            after = _through(done, self._found[at] if self._found else UNKNOWN, of)
            kept = self.text.live.out_of(block) >> self.text.known.register & 1
            again = self._again(block + 1, after) if kept and after >= 0 else None
            if again is not None:
                yield self._address(self._at(block + 1)), again

    def _alone(self, block: int) -> bool:
        """Whether control comes to a block from the one before it alone."""
        graph = self.graph
        if block not in self.blocks or graph.entered[block] or graph.resumed[block]:
            return False
        return self._before[block - self.blocks.start] == _PREVIOUS

    def _again(self, block: int, held: int) -> Again | None:
        """What makes in a block, behind a call, what the register holds, before anything else."""
        known, every = self.text.known, self._writes(block)
        writes, (places, bases, _) = every[:2], self.text.steps
        if [bases[n] for n in writes] != [known.link, known.register]:
            return None
        done = self._done[block - self.blocks.start]
        is_known = len(every) == 2 and not done.leaves  # what all of the block makes
        if (done.made if is_known else self._made(block, writes)) != held:
            return None
        high, low = (places[n] for n in writes)
        if any(self.text.reads[high:low]):
            return None
        return Again(self._address(high), self._address(low))

    def _beyond(self) -> Iterator[tuple[int, int]]:
        """Jumps outside all functions that lead back, each with the block where."""
        graph, listing = self.graph, self.graph.listing
        for block in self.blocks:
            for island in self.text.crossing.get(block, ()):
                alone = int(graph.last[island]) - int(graph.first[island]) == 1
                final = int(graph.last[island]) - 1
                jumps = alone and FLOWS[listing.flows[final]] is Flow.JUMP
                if graph.function_of[island] < 0 and jumps and not graph.named[island]:
                    yield island, block

    @cached_property
    def _entered(self) -> dict[int, int]:
        """What the register holds where control enters blocks from elsewhere, by their place."""
        found = dict[int, int]()
        ways_in = self.text.ways_in[self.blocks.start : self.blocks.stop]
        for at in np.flatnonzero(ways_in).tolist():
            block = self.blocks[at]
            address = self._address(self._at(block))
            if address in self.text.resumed or self._comes_elsewhere(block):
                found[at] = UNKNOWN
            elif address == self.function.start:
                found[at] = KEPT
            elif self.graph.named[block]:
                is_made = address in self.text.entries(self.function)
                found[at] = self.shared if is_made else UNKNOWN
        return found

    def _comes_elsewhere(self, block: int) -> bool:
        """Whether other code than a jump that only this function leads to leads to a block."""
        if self._address(self._at(block)) == self.function.start:
            return False
        crossing, own = self.text.crossing, self.blocks
        for source in crossing.get(block, ()):
            if self._islands.get(source) != block:
                return True
            if any(before not in own for before in crossing.get(source, ())):
                return True
        return False

    def _returned(self, at: int, held: int) -> int:
        """What a function leaves that ends with a block: only what callers may read is sure."""
        kept = self.text.live.out_of(self.blocks[at]) >> self.text.known.register & 1
        return held if kept or self._done[at].calls else UNKNOWN

    # One block ----------------------------------------------------------------------------

    def _block(self, block: int) -> _Block:
        final = self._end(block) - 1
        row = int(self.graph.listing.rows[final])
        if row < 0:
            return _Block(UNKNOWN if row != INLINE else None, leaves=row != INLINE)
        writes = self._writes(block)
        made = self._made(block, writes) if writes else None
        flow = FLOWS[self.graph.listing.flows[final]]
        following = self._following[block - self.blocks.start]
        if flow.links:
            return _Block(made, True, self._call(block, final))
        if flow is Flow.RETURN:
            return _Block(made, leaves=True)
        target = int(self.graph.listing.targets[final])
        if flow.to is To.PLACE and target not in self.function and not self._leads_back(target):
            if flow.conditional:
                return _Block(UNKNOWN, leaves=True)
            return _Block(made, True, self._started(target), True)
        if following or (flow is Flow.TRAP and self._stops(final)):
            return _Block(made)
        return _Block(made, True, self._call(block, final), True)

    def _leads_back(self, target: int) -> bool:
        """Whether there is one of its jumps outside all functions."""
        return target in {self._address(int(self.graph.first[one])) for one in self._islands}

    def _stops(self, at: int) -> bool:
        """Whether data follows, so that control does not go on there."""
        rows = self.graph.listing.rows
        return at + 1 < len(rows) and int(rows[at + 1]) == INLINE

    def _call(self, block: int, at: int) -> _Call | None:
        """The call at a position that ends a block."""
        listing, known = self.graph.listing, self.text.known
        flow = FLOWS[listing.flows[at]]
        if flow.to is To.PLACE:
            return self._started(int(listing.targets[at]))
        place = known.called(listing, at, self._at(block)) if flow.to is To.REGISTER else None
        if place is None or self.shared < 0:
            return None
        word = self.text.words.get((self.shared + place) % (1 << 64))
        started = None if word is None else self._started(word)
        return None if started is None else started._replace(given=self.shared)

    def _started(self, target: int) -> _Call | None:
        return _Call(target, None) if target in self.text.starts else None

    def _made(self, block: int, writes: range) -> int:
        """What some of its writes in a block make of the register, if it is known."""
        register, held = self.text.known.register, UNKNOWN
        places, bases, added = self.text.steps
        for n in writes:
            base = bases[n]
            if base != register:
                held = self._address_in(base, block, places[n]) if base >= 0 else UNKNOWN
            if held < 0:
                return UNKNOWN
            held = (held + added[n]) % (1 << 64)
        return held

    def _address_in(self, register: int, block: int, at: int) -> int:
        """The address that a register holds: of the function, or behind a call."""
        known, first = self.text.known, self._at(block)
        if any(self._defs(place) >> register & 1 for place in range(first, at)):
            return UNKNOWN
        if register == known.callee and self._address(first) == self.function.start:
            led = self._before[block - self.blocks.start] != _NONE
            return UNKNOWN if led else self.function.start
        if register == known.link and self.text.linked[block] and self._alone(block):
            return self._address(first)
        return UNKNOWN

    def _writes(self, block: int) -> range:
        """The writes of the register in a block."""
        first, behind = self.text.written
        return range(first[block], behind[block])

    def _at(self, block: int) -> int:
        return int(self.text.bounds[0][block])

    def _end(self, block: int) -> int:
        return int(self.text.bounds[1][block])

    def _defs(self, at: int) -> int:
        return of_row(self.graph.listing.defs[at])

    def _address(self, at: int) -> int:
        return int(self.graph.listing.addresses[at])


def _through(block: _Block, held: int, of: Mapping[int, int]) -> int:
    """What the register holds behind a block, given what it held before and what callees leave."""
    if held == UNSEEN:
        return UNSEEN
    if block.made is not None:
        held = block.made
    if not block.calls:
        return held
    if block.call is None or block.call.given not in (None, held):
        return UNKNOWN
    left = of[block.call.callee]
    return held if left == KEPT else left


_NONE, _PREVIOUS, _SOME = range(3)
"""Which blocks of its function lead to one: none, the one before it alone, or others."""

_LINKING = frozenset(flow for flow in Flow if flow.links)
"""Flows of calls."""
_ENDING = _LINKING | {Flow.RETURN}
"""Flows of calls and of returns."""
