"""The model of a CPU that issues bundles, as schedulers ask it; answers are kept."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.bundled_cpu import ANY, BundledCpu
from rewriter.timing.bundled import latencies
from rewriter.timing.bundled.dispersal import apart, assign, closes, splits
from rewriter.timing.bundled.run import cycles


class Model:
    """A CPU's answers about instructions and straight code."""

    def __init__(self, cpu: BundledCpu) -> None:
        self.cpu = cpu
        self._kept_apart: dict[tuple[frozenset[str], str, frozenset[str], str], int] = {}
        self._kinds: dict[str, int] = {}  # by class
        self._ways: dict[object, int] = {}
        self._examples: list[str] = []
        self._ports: dict[str, frozenset[str]] = {}  # by class

    def distance(self, earlier: Insn, later: Insn, registers: int) -> int:
        """Cycles from the issue of one to that of the other, which reads its `registers`."""
        issue = self.cpu.issue
        one, other = issue.traits(earlier), issue.traits(later)
        key = one.kinds, one.unit, other.kinds, other.unit
        found = self._kept_apart.get(key)
        if found is None:
            found = self._kept_apart[key] = self._between(earlier, later)
        while registers:
            low = registers & -registers
            registers ^= low
            cycles = latencies.role_latency(issue, one, other, low.bit_length() - 1)
            if cycles > found:
                found = cycles
        return found

    def _between(self, earlier: Insn, later: Insn) -> int:
        """Cycles from one to the other whatever registers they have."""
        apart = latencies.system_latency(self.cpu, earlier, later)
        return max(apart, not self._together(earlier, later))

    def _together(self, earlier: Insn, later: Insn) -> bool:
        """Whether one cycle may take both in this order, if each has but one kind of slot."""
        if splits(self.cpu, earlier, later):
            return False
        units = [self.cpu.issue.traits(insn).unit for insn in (earlier, later)]
        classes = [
            self.cpu.issue.class_of(self.cpu.issue.traits(i).sched) for i in (earlier, later)
        ]
        if any(len(each.ports) > 1 for each in classes):
            return True
        return self.fits(list(zip(map(self.kind, (earlier, later)), units, strict=True)))

    def kind(self, insn: Insn) -> int:
        """A number that is the same for instructions which the same ports take."""
        sched = self.cpu.issue.traits(insn).sched
        if sched not in self._kinds:
            described = self.cpu.issue.class_of(sched)
            ways = (
                tuple(described.ports.items()), tuple(described.rank.items()), described.all_ports
            )  # fmt: skip
            if ways not in self._ways:
                self._ways[ways] = len(self._examples)
                self._examples.append(sched)
            self._kinds[sched] = self._ways[ways]
        return self._kinds[sched]

    def fits(self, issued: Sequence[tuple[int, str]]) -> bool:
        """Whether ports take instructions of these kinds, in slots of these units, in a cycle."""
        asked = tuple((self._examples[kind], unit, "", 0) for kind, unit in issued)
        return len(assign(self.cpu.issue, asked)) == len(asked)

    def closes(self, shape: str, is_busy: bool) -> bool:
        """Whether the cycle ends behind a bundle of a shape, with something in its last slot or
        not."""
        return closes(self.cpu, shape, is_busy)

    def apart(self, first: str, second: str) -> bool:
        """Whether bundles of two shapes, in this order, never share a cycle."""
        return apart(self.cpu, first, second)

    def cycles(self, slots: Sequence[Slot]) -> int:
        """Modelled cycles of straight code."""
        return cycles(self.cpu, slots)

    def ports(self, insn: Insn) -> frozenset[str]:
        """The ports that may take an instruction, wherever it stands."""
        sched = self.cpu.issue.traits(insn).sched
        found = self._ports.get(sched)
        if found is None:
            ways = self.cpu.issue.class_of(sched).ports.values()
            found = self._ports[sched] = frozenset(port for ports in ways for port in ports)
        return found

    def alone(self, insn: Insn) -> tuple[tuple[int, int], ...]:
        """Cycles in which nothing else issues: from, counted from the instruction, and how many."""
        issue = self.cpu.issue
        kinds = issue.traits(insn).kinds
        found = []
        for pair in issue.pairs:
            cycles = pair.cycles.value - 1
            if cycles and pair.later == {ANY} and pair.earlier & kinds:
                found.append((1, cycles))
            if cycles and pair.earlier == {ANY} and pair.later & kinds:
                found.append((-cycles, cycles))
        for echo in issue.echoes:
            if echo.kind in kinds:
                found.append((echo.after.value, echo.bubbles.value))
        return tuple(found)
