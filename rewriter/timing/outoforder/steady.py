"""An out-of-order pipeline that repeats one pass of a loop; see `outoforder` for the whole."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice, pairwise

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import REMEMBERED, Table
from rewriter.core.target.cpu import Cpu, OutOfOrder, Sched
from rewriter.timing.outoforder.places import Halves
from rewriter.timing.steady import State, Steady, ends
from rewriter.timing.steady_node import Node, Placed, Reads

_EVERYWHERE = -1  # no cluster: a result that both see at once

_EARLY, _FEW = 56, 4
"""Instructions, and passes at least, that are enough where the last few passes are alike."""

_WARM, _MEASURED = 96, 8
"""Else: instructions before it is measured (a window full), and passes while it is."""


class RepeatedOutOfOrder:
    """One run from an empty pipeline.  Times are cycles of the map stage."""

    def __init__(self, pipeline: OutOfOrder) -> None:
        window = pipeline.window
        pipes = {p for s in pipeline.classes.values() for p in (*s.pipes, *s.then)}
        ranked = sorted(pipes, key=lambda p: (p not in window.prefer, p))
        self._booked: dict[str, set[int]] = {pipe: set() for pipe in ranked}  # the preferred first
        self._cluster = {pipe: window.cluster.get(pipe, _EVERYWHERE) for pipe in pipes}
        self._ranked: dict[tuple[str, ...], list[str]] = {}
        self._crossing = window.crossing.value
        self._depth = window.issue_stage.value - window.map_stage.value
        self._room = (window.integer_queue.value, window.floating_queue.value)
        self._queues: tuple[list[int], list[int]] = ([], [])
        self._blocks: deque[int] = deque(maxlen=window.blocks.value)
        reserve = window.map_reserve.value
        self._free = (
            window.integer_registers.value - reserve,
            window.floating_registers.value - reserve,
        )
        self._taken: tuple[deque[int], deque[int]] = (deque(), deque())
        self._floating = window.floating
        self._units: dict[str, int] = {}
        self._values: dict[int, tuple[int, int, int, str]] = {}
        self._mapped = self._retired = 0
        # No result is there later than so many cycles behind its issue, or than its own latency.
        self._longest = max((bypass.latency.value for bypass in pipeline.bypasses), default=0)

    def run(self, steps: Sequence[tuple[Node, bool]]) -> int:
        """Runs one pass; when its last instruction retires."""
        controls = 0
        for node, starts in steps:
            if starts:
                # One transfer of control is predicted a cycle.
                self._mapped += max(controls - 1, 0)
                self._group()
                controls = 0
            controls += node.control
            self._step(node)
        self._mapped += max(controls - 1, 0)
        return self._retired

    def state(self) -> State:
        """What the next pass depends on.

        Nothing of it is mapped or issued in this cycle: what is over by then is left out, and it is
        the same which places of a queue are free.
        """
        now = self._mapped
        return (
            self._retired - now,
            *(tuple(sorted([at - now for at in one if at > now])) for one in self._queues),
            *(tuple([at - now for at in one if at > now]) for one in (self._blocks, *self._taken)),
            *(frozenset([at - now for at in one if at > now]) for one in self._booked.values()),
            tuple([(unit, at - now) for unit, at in self._units.items() if at > now]),
            tuple(
                [
                    (register, issued - now, latency, cluster, name)
                    for register, (issued, latency, cluster, name) in self._values.items()
                    if issued + max(latency + self._crossing, self._longest) > now
                ]
            ),
        )

    def _group(self) -> None:
        """The mapper's next cycle, when there is room behind it."""
        self._mapped += 1
        if len(self._blocks) == self._blocks.maxlen:
            self._mapped = max(self._mapped, self._blocks[0] + 1)
        for taken, free in zip(self._taken, self._free, strict=True):
            while len(taken) > free:
                self._mapped = max(self._mapped, taken.popleft() + 1)
        self._blocks.append(self._retired)

    def _step(self, node: Node) -> None:
        """One instruction; one without a pipe is thrown away behind the mapper."""
        for floating in node.queues[:1] if node.split else node.queues:
            self._enter(floating)
        first = last = self._mapped + self._depth
        if node.pipes:
            pipe, first = self._issue(node, node.pipes, node.reads, first)
            last = first
            if node.then:
                least = first + node.after
                if node.split:
                    self._group()
                    self._enter(node.queues[-1])
                    least = max(least, self._mapped + self._depth)
                pipe, last = self._issue(node, node.then, node.late, least)
            cluster = _EVERYWHERE if node.loads else self._cluster[pipe]
            for register in node.writes:
                self._values[register] = (last, node.latency, cluster, node.name)
        for floating, left in zip(node.queues, (first, last), strict=False):
            heappush(self._queues[floating], left)
        self._retire(node, last)

    def _enter(self, floating: bool) -> None:
        """A place in an issue queue is taken, as soon as one is free."""
        queue = self._queues[floating]
        if len(queue) >= self._room[floating]:
            self._mapped = max(self._mapped, heappop(queue) + 1)

    def _issue(
        self, node: Node, pipes: tuple[str, ...], reads: Reads, least: int
    ) -> tuple[str, int]:
        """The pipe and cycle of the first issue possible."""
        if node.unit:
            least = max(least, self._units.get(node.unit, 0))
        ranked = self._ranked.get(pipes)
        if ranked is None:
            ranked = self._ranked[pipes] = [pipe for pipe in self._booked if pipe in pipes]
        best, chosen = -1, ""
        known: dict[int, int] = {}
        for pipe in ranked:
            cluster = self._cluster[pipe]
            start = known.get(cluster)
            if start is None:
                start = known[cluster] = max(least, self._ready(reads, cluster))
            booked = self._booked[pipe]
            while start in booked:
                start += 1
            if best < 0 or start < best:
                best, chosen = start, pipe
                if start == least:
                    break
        self._booked[chosen].add(best)
        if node.unit:
            self._units[node.unit] = best + node.busy
        return chosen, best

    def _ready(self, reads: Reads, cluster: int) -> int:
        """When operands can be read in a cluster."""
        latest = 0
        for register, special in reads:
            value = self._values.get(register)
            if value is None:
                continue
            issued, latency, there, name = value
            if name in special:
                at = issued + special[name]
            else:
                at = issued + latency
                if there != cluster and there != _EVERYWHERE and cluster != _EVERYWHERE:
                    at += self._crossing
            if at > latest:
                latest = at
        return latest

    def _retire(self, node: Node, issued: int) -> None:
        # What writes a register is done no sooner than that is there.
        took = node.latency if node.writes and node.latency > node.stage else node.stage
        if issued + took > self._retired:
            self._retired = issued + took
        self._blocks[-1] = self._retired
        for register in node.writes:
            self._taken[register in self._floating].append(self._retired)


class SteadyOutOfOrder(Steady):
    """Loops on a CPU that issues whatever is ready, from two halves of an integer unit."""

    def __init__(self, cpu: Cpu, pipeline: OutOfOrder, table: Table, halves: Halves) -> None:
        super().__init__(cpu, pipeline, table)
        self.slotted = self
        self.upper, self.lower = pipeline.window.upper, pipeline.window.lower
        self._pipeline = pipeline
        self._halves = halves
        self._known: dict[bytes, Fraction] = {}

    def cycles(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass, once the window is full of passes."""
        steps = self.sent(code, text)
        # As many numbers in a tuple would take four times the memory.
        key = array("i", [-n.number if starts else n.number for n, starts in steps]).tobytes()
        found = self._known.get(key)
        if found is None:
            if len(self._known) == REMEMBERED:
                self._known.clear()
            seen = _repeated(RepeatedOutOfOrder(self._pipeline), steps)
            # Over some passes of a longer period it may seem to be less than can be.
            found = self._known[key] = max(seen, Fraction(self.least(code)))
        return found

    def least(self, code: Sequence[Placed]) -> int:
        """Each fetch block takes a cycle, each split instruction one more, and so does each
        transfer of control after a block's first."""
        blocks: dict[int, int] = {}
        splits = 0
        for address, insn, _ in code:
            node, block = self.node(insn), address & -self.block
            blocks[block] = blocks.get(block, 0) + node.control
            splits += node.split
        return len(blocks) + splits + sum(max(controls - 1, 0) for controls in blocks.values())

    def busier(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass that the busier half of the integer unit takes."""
        sent = [p for node, _ in self.sent(code, text) for p in (node.pipes, node.then) if p]
        halves = self.upper, self.lower
        return max(Fraction(sum({*p} <= {*half} for p in sent), len(half)) for half in halves)

    def sent(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> list[tuple[Node, bool]]:
        """Each instruction in its half of the integer unit, and whether it starts a fetch block."""
        size, found, last, halves = code[0][1].size, [], -1, ""
        for address, insn, _ in code:
            block = address & -self.block
            if block != last:
                halves = self.halves([text.get(block + at) for at in range(0, self.block, size)])
            found.append((self.node(insn, halves[(address - block) // size]), block != last))
            last = block
        return found

    def halves(self, block: Sequence[Insn | None]) -> str:
        """The halves that a whole block's instructions go to; what is not known goes to either."""
        return self._halves.block(block)

    def slotting(self, letters: str) -> str:
        """The half of each instruction of a block by their letters; the highest address first."""
        return self._pipeline.window.slotting(letters)

    def letter(self, insn: Insn) -> str:
        """Upper, lower or either half, as the slotting rule writes it."""
        return self._halves.letter(insn)

    def _narrowed(self, pipes: tuple[str, ...], half: str) -> tuple[str, ...]:
        """Of pipes in both halves only those of the one."""
        allowed = self.upper if half == "U" else self.lower
        return tuple(p for p in pipes if p in allowed) or pipes

    def _stage(self, sched: Sched) -> int:
        """Cycles from issue to the earliest retirement."""
        window = self._pipeline.window
        return (sched.retire or window.retire_stage).value - window.issue_stage.value

    def _floating(self, pipes: tuple[str, ...]) -> bool:
        """Whether instructions for these pipes wait in the floating-point queue."""
        return not {*pipes} <= {*self.upper, *self.lower}


def _repeated(pipeline: RepeatedOutOfOrder, steps: Sequence[tuple[Node, bool]]) -> Fraction:
    """Cycles a pass of the steps, as soon as that can be said."""
    early = max(_FEW, -(-_EARLY // len(steps)))
    following = ends(lambda: pipeline.run(steps), pipeline.state)
    found = list(islice(following, early))
    took = {b - a for a, b in pairwise(found[-_FEW:])}
    if len(took) == 1:
        return Fraction(took.pop())
    warm = max(early, -(-_WARM // len(steps)))
    found += islice(following, warm - early + _MEASURED)
    return Fraction(found[-1] - found[warm - 1], _MEASURED)
