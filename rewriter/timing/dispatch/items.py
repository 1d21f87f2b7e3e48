"""An instruction as a pipeline of dispatch groups sees it; looked up once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import REMEMBERED
from rewriter.core.target.cpu import Cpu, Traits
from rewriter.core.target.dispatched_cpu import Dispatched
from rewriter.timing.described import CONTROL, Bypasses, sched_of, traits_of

Ports = tuple[tuple[str, ...], ...]
"""Alternatives, each of pipes that are all taken."""


BASE = "base"
"""The name of a result that the first issue makes: an address that is moved."""

Reads = tuple[tuple[int, Mapping[str, int]], ...]
"""Registers, each with the latency from classes of producers that is not their usual one."""


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """What does not change about an instruction.

    It issues to one of `ports`, and again to one of `then` `after` cycles later at least; either
    keeps what it took for `busy` cycles.  `late` is what only the second issue needs; `writes` are
    registers with the latency of each, `bases` those whose value the first issue makes.  `places`
    are those of a group that it takes.
    """

    name: str
    traits: Traits
    ports: Ports
    then: Ports
    after: int
    busy: int
    unit: str
    reads: Reads
    late: Reads
    writes: tuple[tuple[int, int], ...]
    bases: tuple[tuple[int, int], ...]
    latency: int
    places: int
    alone: bool
    first: bool
    last: bool
    folded: bool
    control: bool
    waiting: bool


class Items:
    """The items of one CPU.  Raises NotDescribed for an instruction of no class."""

    def __init__(self, cpu: Cpu, pipeline: Dispatched) -> None:
        self._cpu, self._pipeline = cpu, pipeline
        self._known: dict[Insn, Item] = {}
        self._alike: dict[Traits, Item] = {}  # many instructions differ in a number alone
        self._bypasses = Bypasses(pipeline)

    def of(self, insn: Insn) -> Item:
        """The item of an instruction."""
        found = self._known.get(insn)
        if found is None:
            if len(self._known) == REMEMBERED:
                self._known.clear()
            found = self._known[insn] = self._with(traits_of(self._cpu, insn))
        return found

    def _with(self, traits: Traits) -> Item:
        found = self._alike.get(traits)
        if found is None:
            if len(self._alike) == REMEMBERED:
                self._alike.clear()
            found = self._alike[traits] = self._made(traits)
        return found

    def _made(self, traits: Traits) -> Item:
        sched, grouping = sched_of(self._cpu, traits), self._pipeline.grouping
        name = traits.sched
        takes = grouping.takes.get(name)
        reads = [
            (register, self._bypasses.to(name, role), role in sched.late)
            for register, role in zip(traits.reads, traits.roles, strict=True)
        ]
        roles = traits.results or ("",) * len(traits.writes)
        writes = [
            (register, sched.results.get(role, sched.latency).value, role == BASE)
            for register, role in zip(traits.writes, roles, strict=True)
        ]
        return Item(
            *(name, traits),
            ports=tuple(tuple(port.split("+")) for port in sched.pipes),
            then=tuple(tuple(port.split("+")) for port in sched.then),
            after=sched.after.value if sched.after else 0,
            busy=sched.busy.value if sched.busy else 1,
            unit=sched.unit,
            reads=tuple((register, special) for register, special, late in reads if not late),
            late=tuple((register, special) for register, special, late in reads if late),
            writes=tuple((register, took) for register, took, base in writes if not base),
            bases=tuple((register, took) for register, took, base in writes if base),
            latency=sched.latency.value,
            places=takes.value if takes else 1,
            alone=name in grouping.alone,
            first=name in grouping.first,
            last=name in grouping.last,
            folded=name in grouping.folded,
            control=traits.flow in CONTROL,
            waiting=name in self._pipeline.waiting,
        )
