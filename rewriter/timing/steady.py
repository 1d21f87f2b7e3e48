"""How many cycles a pass of a loop takes once it runs, when nothing misses.

The engines (`model`) run a trace with everything around it.  A scheduler asks about thousands of
orders of a few instructions each, so this is the core of their pipelines only, over one pass that
is repeated: fetch blocks, renaming, slotting, issue, latencies, queues.  Every branch but the last
falls through, and every access hits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, InOrder, OutOfOrder, Sched
from rewriter.timing.inorder.pipeline import assign
from rewriter.timing.inorder.steady import RepeatedInOrder
from rewriter.timing.outoforder.places import CONTROL, letter, sched_of, traits_of
from rewriter.timing.outoforder.steady import RepeatedOutOfOrder
from rewriter.timing.static import pipeline_of
from rewriter.timing.steady_node import Node, Placed

_EARLY, _FEW = 56, 4
"""Instructions, and passes at least, that are enough where the last few passes are alike."""

_WARM, _MEASURED = 96, 8
"""Else: instructions before it is measured (a window full), and passes while it is."""


class Steady:
    """The steady state of loops on one CPU.  Raises NotDescribed."""

    def __init__(self, cpu: Cpu, table: Table) -> None:
        self.cpu, self.table, self.pipeline = cpu, table, pipeline_of(cpu)
        self.block = cpu.fetch_block.value
        self._nodes: dict[tuple[Insn, str], Node] = {}
        self._halves: dict[tuple[Insn | None, ...], str] = {}
        self._letters: dict[Insn, str] = {}
        self._fits: dict[tuple[str, ...], bool] = {}
        self._known: dict[tuple[tuple[int, bool], ...], Fraction] = {}

    def cycles(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass of the code, which goes back from its end to its start.

        `text` has what else shares a fetch block with it.
        """
        if isinstance(self.pipeline, InOrder):
            # Nothing is in flight but what the next pass reads: one pass is enough to warm it.
            ends = self.repeated().run(self.nodes(code), 1 + _MEASURED)
            return Fraction(ends[-1] - ends[0], _MEASURED)
        steps = self.sent(code, text)
        key = tuple([(id(node), starts) for node, starts in steps])  # a node is made once
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._repeated(RepeatedOutOfOrder(self.pipeline), steps)
        return found

    def _repeated(
        self, pipeline: RepeatedOutOfOrder, steps: Sequence[tuple[Node, bool]]
    ) -> Fraction:
        early = max(_FEW, -(-_EARLY // len(steps)))
        ends = pipeline.run(steps, early)
        took = {b - a for a, b in pairwise(ends[-_FEW:])}
        if len(took) == 1:
            return Fraction(took.pop())
        warm = max(early, -(-_WARM // len(steps)))
        ends += pipeline.run(steps, warm - early + _MEASURED)
        return Fraction(ends[-1] - ends[warm - 1], _MEASURED)

    def least(self, code: Sequence[Placed]) -> int:
        """Cycles a pass that no order of the same instructions between the same branches saves.

        Each fetch block takes a cycle, each split instruction one more, and so does each transfer
        of control after a block's first; in order, the branch back its bubbles.
        """
        blocks: dict[int, int] = {}
        splits = 0
        for address, insn, _ in code:
            node, block = self.node(insn), address & -self.block
            blocks[block] = blocks.get(block, 0) + node.control
            splits += node.split
        if isinstance(self.pipeline, InOrder):
            return len(blocks) + self.pipeline.taken.value
        return len(blocks) + splits + sum(max(controls - 1, 0) for controls in blocks.values())

    def busier(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass that the busier half of an out-of-order integer unit takes."""
        assert isinstance(self.pipeline, OutOfOrder)
        upper, lower = self.pipeline.window.upper, self.pipeline.window.lower
        sent = [p for node, _ in self.sent(code, text) for p in (node.pipes, node.then) if p]
        loads = (Fraction(sum({*p} <= {*half} for p in sent), len(half)) for half in (upper, lower))
        return max(loads)

    def repeated(self) -> RepeatedInOrder:
        """An in-order pipeline that has not run yet."""
        assert isinstance(self.pipeline, InOrder)
        return RepeatedInOrder(self.pipeline, self.fits)

    def nodes(self, code: Sequence[Placed]) -> list[tuple[int, Node, Placed]]:
        """Each instruction with its fetch block."""
        return [(placed[0] & -self.block, self.node(placed[1]), placed) for placed in code]

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
        key = tuple(block)
        found = self._halves.get(key)
        if found is None:
            assert isinstance(self.pipeline, OutOfOrder)
            letters = "".join("E" if i is None else self.letter(i) for i in reversed(key))
            found = self._halves[key] = self.pipeline.window.slotting(letters)[::-1]
        return found

    def letter(self, insn: Insn) -> str:
        """Upper, lower or either half, as the slotting rule writes it."""
        found = self._letters.get(insn)
        if found is None:
            assert isinstance(self.pipeline, OutOfOrder)
            found = self._letters[insn] = letter(self.cpu, self.pipeline, insn)
        return found

    def fits(self, members: Sequence[Node]) -> bool:
        """Whether instructions may issue together on an in-order pipeline."""
        classes = tuple([node.name for node in members])
        found = self._fits.get(classes)
        if found is None:
            assert isinstance(self.pipeline, InOrder)
            found = len(classes) <= self.pipeline.width.value
            for one, other in self.pipeline.exclusions:
                found = found and not (one & {*classes} and other & {*classes})
            found = found and assign([node.pipes for node in members]) is not None
            self._fits[classes] = found
        return found

    def node(self, insn: Insn, half: str = "") -> Node:
        """An instruction that its block's slotting sends to a half of the integer unit."""
        found = self._nodes.get((insn, half))
        if found is None:
            found = self._nodes[insn, half] = self._node(insn, half)
        return found

    def _node(self, insn: Insn, half: str) -> Node:
        traits = traits_of(self.cpu, insn)
        sched = sched_of(self.cpu, traits)
        reads = [
            (register, self._special(traits.sched, role), role in sched.late)
            for register, role in zip(traits.reads, traits.roles, strict=True)
        ]
        pipes, then = self._narrowed(sched.pipes, half), self._narrowed(sched.then, half)
        effects = self.table.effects(insn.op)
        return Node(
            name=traits.sched,
            pipes=pipes,
            then=then,
            reads=tuple((register, special) for register, special, late in reads if not late),
            late=tuple((register, special) for register, special, late in reads if late),
            writes=traits.writes,
            latency=sched.latency.value,
            after=sched.after.value if sched.after else 0,
            split=sched.split,
            unit=sched.unit,
            busy=sched.busy.value if sched.busy else 1,
            stage=self._stage(sched),
            control=traits.flow in CONTROL,
            queues=tuple(self._floating(p) for p in (pipes, then) if p),
            loads=effects.loads,
            stores=effects.stores,
        )

    def _narrowed(self, pipes: tuple[str, ...], half: str) -> tuple[str, ...]:
        """Of pipes in both halves only those of the one."""
        if not isinstance(self.pipeline, OutOfOrder):
            return pipes
        window = self.pipeline.window
        allowed = window.upper if half == "U" else window.lower
        return tuple(p for p in pipes if p in allowed) or pipes

    def _stage(self, sched: Sched) -> int:
        """Cycles from issue to the earliest retirement."""
        if not isinstance(self.pipeline, OutOfOrder):
            return 0
        window = self.pipeline.window
        return (sched.retire or window.retire_stage).value - window.issue_stage.value

    def _floating(self, pipes: tuple[str, ...]) -> bool:
        """Whether instructions for these pipes wait in the floating-point queue."""
        if not isinstance(self.pipeline, OutOfOrder):
            return False
        return not {*pipes} <= {*self.pipeline.window.upper, *self.pipeline.window.lower}

    def _special(self, name: str, role: str) -> Mapping[str, int]:
        """Latencies to an operand of a class from producers where it is not their usual one."""
        found: dict[str, int] = {}
        for bypass in self.pipeline.bypasses:
            if name in bypass.consumers and bypass.operand in ("", role):
                found.update(dict.fromkeys(bypass.producers, bypass.latency.value))
        return found
