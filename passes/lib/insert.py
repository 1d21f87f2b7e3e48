"""What a pass may do that needs more instructions than are there: room comes from a new layout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from rewriter.analysis.loops import Loop
from rewriter.analysis.program import Program
from rewriter.core.code.program import BEHIND, BEYOND, Function
from rewriter.core.edit import Evidence
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, System
from rewriter.core.target.protocol import Sequential, Target
from rewriter.identify.profiles.samples import Direction
from rewriter.timing.model import simulate
from rewriter.timing.straight import Probe
from rewriter.verify.terms.prover import Prover

Slots = Mapping[int, Insn | None]
"""What earlier passes changed, by address; None for an instruction that went."""


@dataclass(frozen=True)
class Insertion:
    """Instructions in the place of one (or of a nop, or of one that went).

    The first stands where that stood, the others right behind it; those need room.  Without any
    that one goes.  `saves` are
    modelled cycles, each time that it runs.  `elsewhere` are instructions, by address, in the place
    of nops; `behind` those that come right behind the instruction at another address, and `tail`
    those that come behind the function's last, from `tail_place` on.  `moved` are instructions that
    go right behind the one at another address: each with its own address, and that.  `gone` are the
    addresses of others that go with the one here; what `closes_up` needs a new layout that leaves
    nothing in their places, which not every way to what is behind them passed.
    """

    kind: str
    address: int
    insns: tuple[Insn, ...]
    evidence: Evidence
    saves: Fraction
    elsewhere: tuple[tuple[int, Insn], ...] = ()
    behind: tuple[int, tuple[Insn, ...]] | None = None
    tail: tuple[Insn, ...] = ()
    moved: tuple[tuple[int, Insn, int], ...] = ()
    gone: tuple[int, ...] = ()
    closes_up: bool = False

    @property
    def added(self) -> dict[int, tuple[Insn, ...]]:
        """What needs room, by the instruction behind which it comes."""
        found = {self.address: self.insns[1:]} if len(self.insns) > 1 else {}
        if self.behind is not None:
            found |= dict([self.behind])
        for _, insn, place in self.moved:
            found[place] = (*found.get(place, ()), insn)
        return found | ({tail_place(self.address) - 1: self.tail} if self.tail else {})

    @property
    def passed(self) -> range:
        """The addresses that what goes behind others passes."""
        places = [place for _, _, place in self.moved]
        return range(self.address, max(places) + 1) if places else range(0)


def tail_place(address: int) -> int:
    """Where the tail of an insertion at an address begins, until it has a place."""
    return BEYOND + BEHIND * address + 1


@dataclass(frozen=True)
class Declined:
    """A site that is left alone, and why."""

    kind: str
    address: int
    reason: str


@dataclass(frozen=True)
class Setting:
    """What such a pass works with.

    `locked` are addresses between a load-locked and its store-conditional: nothing there changes.
    `loops` are the innermost loops by the start of their function; `directions` say which way
    conditional moves went, by address, `branched` which way branches did; `lays_out` that functions
    may get a new layout.
    """

    target: Sequential
    cpu: Cpu
    system: System
    prover: Prover
    locked: frozenset[int]
    loops: Mapping[int, Sequence[Loop]] = field(default_factory=dict)
    directions: Mapping[int, Direction] = field(default_factory=dict)
    branched: Mapping[int, Direction] = field(default_factory=dict)
    lays_out: bool = True


@dataclass
class Inserted:
    """What was inserted into one function.

    `slots` are the function's, `added` what stands right behind the instruction at an address;
    `done` has each edit's id with what was at its address before, `elsewhere` with the addresses
    of nops that it took, `needing` with those behind which something was added, `gone` with what
    else an earlier pass had left at addresses whose instruction went (nothing where none had);
    `closing` are those that need a layout in which nothing stays there.
    """

    slots: dict[int, Insn | None]
    added: dict[int, tuple[Insn, ...]] = field(default_factory=dict)
    done: dict[str, tuple[int, Insn | None]] = field(default_factory=dict)
    elsewhere: dict[str, tuple[int, ...]] = field(default_factory=dict)
    needing: dict[str, tuple[int, ...]] = field(default_factory=dict)
    gone: dict[str, dict[int, tuple[Insn, ...]]] = field(default_factory=dict)
    closing: set[str] = field(default_factory=set)

    def put(self, edit: str, insertion: Insertion, before: Insn | None) -> None:
        """An insertion, where `before` was."""
        self.done[edit] = insertion.address, before
        self.slots[insertion.address] = insertion.insns[0] if insertion.insns else None
        self.slots.update(insertion.elsewhere)
        self.elsewhere[edit] = tuple(address for address, _ in insertion.elsewhere)
        others = {address for address, _, _ in insertion.moved} - {insertion.address}
        self.gone[edit] = {at: self._emptied(at) for at in (*sorted(others), *insertion.gone)}
        added = insertion.added
        if added or insertion.closes_up:
            self.added |= added
            self.needing[edit] = tuple(added)
        if insertion.closes_up:
            self.closing.add(edit)

    @property
    def closed(self) -> frozenset[int]:
        """The addresses where nothing may stay."""
        return frozenset(address for edit in self.closing for address in self.gone[edit])

    def within(self, places: range) -> bool:
        """Whether something was added behind one of some addresses."""
        return any(place in places for place in self.added)

    def _emptied(self, address: int) -> tuple[Insn, ...]:
        """What an earlier pass left at an address, where nothing is now."""
        left, self.slots[address] = self.slots.get(address), None
        return () if left is None else (left,)

    def crowded(self, prefix: str = "") -> set[str]:
        """The ids of the edits that need room, and begin so."""
        return {edit for edit in self.needing if edit.startswith(prefix)}

    def take_back(self, gone: Collection[str]) -> None:
        """Edits of these ids are not made after all."""
        for edit in gone:
            address, before = self.done.pop(edit)
            self.closing.discard(edit)
            self.slots[address] = before
            for place in self.needing.pop(edit, ()):
                del self.added[place]
            for place in self.elsewhere.pop(edit):
                del self.slots[place]
            for place, left in self.gone.pop(edit).items():
                del self.slots[place]
                self.slots.update((place, insn) for insn in left)


Finder = Callable[[Function, Slots], Iterator[Insertion | Declined]]
"""The sites of a function as earlier passes left it."""


class Inserter(Protocol):
    """A pass that inserts."""

    name: str

    def offered(self, target: Target) -> bool:
        """Whether a target offers what the pass works with."""
        ...

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions; all that is known of the whole text is found once."""
        ...


def cycles(insns: Sequence[Insn], setting: Setting) -> int:
    """What straight code takes on the CPU, warm, from a fetch block's start, when it runs again.

    The first time a load that passes a store which it depends on teaches the chip to let it wait.
    Nothing is known of registers: what they point at is far apart.
    """
    probe = Probe.of(setting.target.table)
    steps: list[Step] = []
    at = 0
    for insn in insns:
        steps.append(probe.step(insn, at))
        at += insn.size
    once, twice = (simulate(code, setting.cpu, setting.system) for code in (steps, steps * 2))
    return twice.cycles - once.cycles
