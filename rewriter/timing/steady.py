"""How many cycles a pass of a loop takes once it runs, when nothing misses.

The engines (`engine`) run a trace with everything around it.  A scheduler asks about thousands of
orders of a few instructions each, so this is the core of their pipelines only, over one pass that
is repeated: fetch blocks, renaming, slotting, issue, latencies, queues.  Every branch but the last
falls through, and every access hits.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import REMEMBERED, Table
from rewriter.core.target.cpu import Cpu, InOrder, Pipeline, Sched, Traits
from rewriter.timing.described import CONTROL, Bypasses, sched_of, traits_of
from rewriter.timing.steady_node import Node, Placed

Times = tuple[int, int]
"""When an instruction issues, and when its results are there."""


State = tuple[Hashable, ...]
"""All that what a pipeline does next depends on, with times counted from now."""


def ends(run: Callable[[], int], state: Callable[[], State]) -> Iterator[int]:
    """When each pass ends, for ever; `run` runs one, `state` is the pipeline's behind it.

    In a state that it was in before, a pipeline does again what it did then, so much later: from
    there on nothing is run.
    """
    found, seen, period = list[int](), dict[State, int](), 0
    while not period:
        found.append(run())
        yield found[-1]
        period = len(found) - seen.setdefault(state(), len(found))
    while True:
        found.append(found[-1] + found[-period] - found[-period - 1])
        yield found[-1]


class Stepper(metaclass=ABCMeta):
    """A pipeline that takes instructions in order and is given those of some code one at a time,
    each by its number at a place."""

    @abstractmethod
    def loop(self) -> None:
        """Runs all the code in its order, from whose end control goes back to its start."""

    @abstractmethod
    def start(self, place: int, number: int) -> int:
        """When an instruction would issue if it were the next."""

    @abstractmethod
    def put(self, place: int, number: int) -> int:
        """Issues an instruction; returns its cycle."""


class Line(metaclass=ABCMeta):
    """Straight code on a pipeline that takes instructions in order: looked up once, it may be run
    in many orders."""

    @abstractmethod
    def times(self, order: Sequence[int]) -> list[Times]:
        """When what stands at each place issues, and has its results, if the code runs once with
        the instructions of these numbers at its places."""

    @abstractmethod
    def stepper(self) -> Stepper:
        """A pipeline that has not run yet."""

    @abstractmethod
    def spread(self) -> int:
        """Cycles from the first issue to the last, if only so many went at a time."""

    @abstractmethod
    def latency(self, made: int, used: int, register: int) -> int:
        """Cycles from the first issue of one to that of another, by number, that reads its result
        in a register."""


class Slotted(Protocol):
    """A pipeline in two halves; where an instruction stands in its block decides which it gets.

    `upper` and `lower` are the pipes of the halves.
    """

    @property
    def upper(self) -> tuple[str, ...]: ...
    @property
    def lower(self) -> tuple[str, ...]: ...

    def letter(self, insn: Insn) -> str:
        """Upper, lower or either half, as the slotting rule writes it: U, L or E."""

    def slotting(self, letters: str) -> str:
        """The half of each instruction of a block by their letters; the highest address first."""

    def busier(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass that the busier half takes."""


class Steady(metaclass=ABCMeta):
    """The steady state of loops on one CPU.  Raises NotDescribed.

    Schedulers ask what kind of order helps: a `line` where instructions issue in order, `slotted`
    where their places decide; `in_order` is the description where it is all that an order of
    issue depends on, so that an exact scheduler may go by it.
    """

    def __init__(self, cpu: Cpu, pipeline: Pipeline, table: Table) -> None:
        self.cpu, self.table, self._bypasses = cpu, table, Bypasses(pipeline)
        self.slotted: Slotted | None = None
        self.in_order: InOrder | None = None
        self.block = cpu.fetch_block.value
        self._nodes: dict[tuple[Insn, str], Node] = {}
        self._alike: dict[tuple[Traits, bool, bool, str], Node] = {}  # but for numbers
        self._made = 0

    @abstractmethod
    def cycles(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass of the code, which goes back from its end to its start.

        `text` has what else shares a fetch block with it.
        """

    @abstractmethod
    def least(self, code: Sequence[Placed]) -> int:
        """Cycles a pass that no order of the same instructions between the same branches saves."""

    def line(self, code: Sequence[Placed]) -> Line | None:
        """Straight code that runs once.

        None where order hardly matters: a window of instructions hides it.
        """
        return None

    def latency(self, producer: Insn, consumer: Insn, register: int) -> int:
        """Cycles from the first issue of one to that of another that reads its result there."""
        return between(self.node(producer), self.node(consumer), register)

    def node(self, insn: Insn, half: str = "") -> Node:
        """An instruction that its block's slotting sends to a half of the integer unit."""
        found = self._nodes.get((insn, half))
        if found is None:
            if len(self._nodes) == REMEMBERED:
                self._nodes.clear()
            effects = self.table.effects(insn.op)
            named = traits_of(self.cpu, insn), effects.loads, effects.stores, half
            found = self._nodes[insn, half] = self._with(named)
        return found

    def _with(self, named: tuple[Traits, bool, bool, str]) -> Node:
        found = self._alike.get(named)
        if found is None:
            if len(self._alike) == REMEMBERED:
                self._alike.clear()
            found = self._alike[named] = self._node(*named)
        return found

    def _node(self, traits: Traits, loads: bool, stores: bool, half: str) -> Node:
        sched = sched_of(self.cpu, traits)
        reads = [
            (register, self._bypasses.to(traits.sched, role), role in sched.late)
            for register, role in zip(traits.reads, traits.roles, strict=True)
        ]
        self._made += 1
        pipes, then = self._narrowed(sched.pipes, half), self._narrowed(sched.then, half)
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
            loads=loads,
            stores=stores,
            number=self._made,
        )

    def _narrowed(self, pipes: tuple[str, ...], half: str) -> tuple[str, ...]:
        """Of pipes in both halves only those of the one."""
        return pipes

    def _stage(self, sched: Sched) -> int:
        """Cycles from issue to the earliest retirement."""
        return 0

    def _floating(self, pipes: tuple[str, ...]) -> bool:
        """Whether instructions for these pipes wait in the floating-point queue."""
        return False


def between(made: Node, used: Node, register: int) -> int:
    """Cycles from the first issue of one to that of another that reads its result there."""
    for read, special in used.reads:
        if read == register:
            return made.after + special.get(made.name, made.latency)
    # It is read at the second issue only.
    specials = [special for read, special in used.late if read == register]
    took = max(special.get(made.name, made.latency) for special in specials)
    return max(0, made.after + took - used.after)
