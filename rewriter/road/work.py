"""The edits of one file as they are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from passes.combining.prefix import Prefixed
from passes.lib.insert import Inserted
from passes.lib.move import Moved
from passes.lib.nops import Nops
from passes.schedule import Item, Reordered
from passes.substitute import Substitute
from rewriter.analysis.program import Program
from rewriter.core.code.program import Function, Refusal
from rewriter.core.edit import Edit, Skip
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.identify.profiles import Direction
from rewriter.road.options import LINES, Options
from rewriter.road.outcome import Done
from rewriter.road.source_lines import Described
from rewriter.timing.described import NotDescribed
from rewriter.timing.saved import Savings
from rewriter.timing.straight import Code
from rewriter.verify.routines.replaceable import Known
from rewriter.verify.terms.prover import Prover


@dataclass
class Work:
    """What is done to a file: `done` function by function, the rest is about the one in hand.

    `slots` are instructions that changed in place, by address; `carried` exception entries that
    went to another access; the others are what each pass left behind.  `described` says what debug
    information tells of functions, `directions` which way conditional moves went, `branched` which
    way branches did, as far as a profile says so, `profiled` that this is the user's; `savings`
    times edits; `room` is what routines in pieces found and took, in bytes, by kind.
    """

    program: Program
    cpu: Cpu
    options: Options
    directions: Mapping[int, Direction] = field(default_factory=dict)
    branched: Mapping[int, Direction] = field(default_factory=dict)
    profiled: bool = False
    prover: Prover = field(init=False)
    known: Known = field(init=False)
    nops: Nops = field(init=False)
    described: Described = field(init=False)
    savings: Savings | None = None
    done: dict[Function, Done] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    slots: dict[Function, dict[int, Insn | None]] = field(default_factory=dict)
    inserted: dict[Function, Inserted] = field(default_factory=dict)
    carried: dict[Function, dict[int, int | None]] = field(default_factory=dict)
    moved: dict[Function, Moved] = field(default_factory=dict)
    reordered: dict[Function, list[Reordered]] = field(default_factory=dict)
    prefixed: dict[Function, list[Prefixed]] = field(default_factory=dict)
    room: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    _made: int = 0

    def __post_init__(self) -> None:
        target = self.program.target
        self.prover = Prover.of(target)
        self.known = Known(self.program)
        self.nops = Nops(self.program, self.cpu)
        self.described = Described(self.program.image, self.options.debug == LINES)
        if self.options.cycles:
            self.savings = Savings(self.cpu, target.table, target.system(self.cpu))

    def standing(self, function: Function) -> Sequence[Item]:
        """What does something in a function, where its layout put it, before orders were made."""
        if function in self.moved:
            return self.moved[function].layout.items
        kept = self.nops.standing(self.slots.get(function, {}), function.start, function.end)
        return [(at, at, insn) for at, insn in kept]

    def add(self, done: Done) -> None:
        """What became of a function; with what was known of it before."""
        before = self.done.get(done.function)
        if before is not None:
            done.skips[:0] = before.skips
        self._made += done.count
        self.done[done.function] = done.packed()

    def homeless(self, function: Function) -> None:
        """A routine lost its place, and another is looked for: nothing is said of it yet."""
        done = self.done[function]
        self._made -= sum(edit.technique == Substitute.name for edit in done.edits)
        done.edits = [edit for edit in done.edits if edit.technique != Substitute.name]
        done.substitution = None

    def taken(self) -> tuple[list[Edit], list[Skip]]:
        """The edits and skips of the function in hand, for its `Done`."""
        taken = self.edits, self.skips
        self.edits, self.skips = [], []
        return taken

    def given_up(self, function: Function, reason: str) -> Done:
        """A function that is left alone after all: nothing that was done to it stays."""
        self.taken()
        made = self.slots, self.inserted, self.carried, self.moved, self.reordered, self.prefixed
        for kept in made:
            kept.pop(function, None)
        return Done(function, refusal=Refusal(function, reason))

    def wants(self, edit: str, made: int = 0) -> bool:
        """Whether the user wants an edit, when `made` more than those here are there already."""
        return self.options.wants_edit(edit, self._made + len(self.edits) + made)

    def leave(self, technique: str, kind: str, function: Function, at: int, reason: str) -> None:
        """A site is left alone."""
        self.skips.append(Skip(technique, kind, function.name, at, reason))

    def take_back(self, gone: Collection[Edit], reason: str) -> None:
        """Edits that were made and are left alone after all."""
        self.edits = [edit for edit in self.edits if edit not in gone]
        self.skips += [Skip(e.technique, e.kind, e.routine, e.address, reason) for e in gone]

    def without_room(self, function: Function, reason: str, prefix: str = "") -> bool:
        """Takes back what was inserted and needs a new layout; whether there was any."""
        inserted = self.inserted.get(function)
        gone = inserted.crowded(prefix) if inserted is not None else set()
        if inserted is not None and gone:
            inserted.take_back(gone)
            self.take_back([edit for edit in self.edits if edit.id in gone], reason)
        return bool(gone)

    def with_less(
        self, function: Function, reason: str, prefix: str, places: Collection[int] = ()
    ) -> bool:
        """Takes back insertions of those that need room; whether there was any.

        They are those of which something went from some places; if there are none the least one, by
        what it saves and, where that was counted, how often it is executed.
        """
        inserted = self.inserted.get(function)
        crowded = inserted.crowded(prefix) if inserted is not None else set()
        found = [edit for edit in self.edits if edit.id in crowded]
        if inserted is None or not found:
            return False
        there = [edit for edit in found if not inserted.gone[edit.id].keys().isdisjoint(places)]
        gone = there or [min(found, key=self._worth)]
        inserted.take_back([edit.id for edit in gone])
        self.take_back(gone, reason)
        return True

    def _worth(self, edit: Edit) -> tuple[Fraction, int]:
        counted = self.directions.get(edit.address)
        executed = 1 if counted is None else counted.executed
        return (edit.cycles or Fraction(0)) * executed, -edit.address

    def saved(self, before: Code, after: Code) -> Fraction | None:
        """Modelled cycles that new code takes fewer; None where nobody asked or no model is."""
        if self.savings is None:
            return None
        try:
            return Fraction(self.savings.cycles(before, after))
        except NotDescribed:
            return None

    def proofs(self) -> Mapping[str, int]:
        """How many equalities were asked for, how many patterns decided, and how."""
        grades = Counter(one.grade.value for one in self.prover.decided.values())
        return {
            "asked": self.prover.asked,
            "patterns": self.prover.solved,
            **dict(sorted(grades.items())),
        }


def edit_id(technique: str, function: Function, address: int) -> str:
    """The name of an edit: pass, function and the offset of its site in the original."""
    return f"{technique}:{function.name}+{address - function.start:x}"
