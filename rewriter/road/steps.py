"""What a function goes through on the road of superblocks, as the passes prepare it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from passes.align import Align
from passes.combining.prefix import Prefix, Prefixer
from passes.lib.insert import Finder, Inserter, Setting
from passes.lib.steps import Pass
from passes.lib.technique import Technique
from passes.schedule import Schedule, Scheduler
from passes.scheduling.exact import asked
from passes.scheduling.solver import solver
from passes.substitute import Substitute
from rewriter.analysis.loops import Loop, innermost
from rewriter.core.code.program import Function
from rewriter.core.target.protocol import Trigger
from rewriter.elf.caves.build import caves_of
from rewriter.road.insertions import Insertions
from rewriter.road.layout import Layout
from rewriter.road.loops import Loops
from rewriter.road.prefixes import Prefixes
from rewriter.road.routines.choices import Choices
from rewriter.road.routines.kernel_placement import Scatter
from rewriter.road.routines.routine import Routines
from rewriter.road.superblocks import Superblocks, triggered
from rewriter.road.work import Work
from rewriter.verify.routines.rules import in_pieces

Step = tuple[str, Callable[[Function], None]]
"""The names of the passes of a step, and what it does to a function."""


_MANY = 200
"""Functions with loops: one of so many has a loop for the exact scheduler."""


def _solving(loops: Container[int], functions: Iterable[Function]) -> None:
    """Loads the exact scheduler's solver where so many of some functions have loops."""
    if sum(function.start in loops for function in functions) >= _MANY:
        solver()


def _nothing(functions: Iterable[Function]) -> None:
    """What functions need is there."""


class Steps:
    """Takes passes in their order; each says by `prepare` what it does.

    All that a pass asks about the whole file is found here, once, before functions are shared out.
    `routines` and `scatter` are there where known routines become others; `share` is told of
    functions that processes are about to share.
    """

    def __init__(self, work: Work, passes: Iterable[Pass]) -> None:
        self.work = work
        self.routines: Routines | None = None
        self.scatter: Scatter | None = None
        self.share: Callable[[Iterable[Function]], None] = _nothing
        self._techniques: list[Technique] = []
        self._triggers: list[Trigger] = []
        self._cleaning: list[Technique] = []
        self._finders: dict[str, Finder] = {}
        self._inserting: list[str] = []
        self._layout: Layout | None = None
        self._last: list[Step] = []
        for one in passes:
            one.prepare(self)

    # What passes say ----------------------------------------------------------------------

    def rewrites(self, technique: Technique, triggers: Sequence[Trigger] | None = None) -> None:
        """Instructions become others, inside a superblock."""
        given = self.work.program.target.spelling.TRIGGERS
        self._techniques.append(technique)
        self._triggers += given.get(technique.name, ()) if triggers is None else triggers

    def cleans(self, technique: Technique) -> None:
        """What rewrites left before the labels of code that they changed goes."""
        self._cleaning.append(technique)

    def inserts(self, inserter: Inserter) -> None:
        """Instructions come in."""
        self._inserting.append(inserter.name)
        if inserter.offered(self.work.program.target):
            setting = replace(self._setting, loops=self._loops)
            self._finders[inserter.name] = inserter.finder(self.work.program, setting)

    def orders(self) -> None:
        """Blocks go to other places among those of their function, by a profile."""
        if self.work.profiled:
            self._layout = Layout(self.work, Align(), aligns=False, orders=True)

    def lays_out(self) -> None:
        """Instructions go to other places, and keep their order."""
        orders = self._layout is not None
        self._layout = Layout(self.work, Align(), aligns=True, orders=orders)

    def reorders(self) -> None:
        """Instructions change places, where the layout has put them."""
        scheduler = Scheduler(self.work.program, self.work.cpu, self.work.prover)
        if asked(scheduler.steady):
            self.share = partial(_solving, frozenset(self._loops))
        self._last.append((Schedule.name, Loops(self.work, scheduler, self._loops).run))

    def prefixes(self) -> None:
        """Two instructions become one of two words, where the last order has put them."""
        known = self.work.program.target.prefixing
        if known is not None:
            prefixer = Prefixer(self.work.program, self.work.cpu, self.work.prover, known)
            self._last.append((Prefix.name, Prefixes(self.work, prefixer).run))

    def substitutes(self) -> None:
        """Known routines become others; nothing else is done to what becomes one."""
        work = self.work
        caves = caves_of(work.program.image, work.program.target)
        self.routines = Routines(work, Choices(work, Substitute()), caves)
        if in_pieces(work.known):
            self.scatter = Scatter(self.routines)

    # What comes of it ---------------------------------------------------------------------

    def all(self) -> Sequence[Step]:
        """All steps but for known routines, in their order."""
        work, techniques = self.work, tuple(self._techniques)
        found = triggered(work.program, self._triggers)
        superblocks = Superblocks(work, techniques, self._setting, found)
        insertions = Insertions(work, self._finders, self._layout is not None)
        rewriting = ", ".join(one.name for one in techniques)
        steps: list[Step] = [(rewriting, superblocks.run)]
        if self._cleaning:
            cleaning = ", ".join(one.name for one in self._cleaning)
            steps.append((cleaning, replace(superblocks, techniques=tuple(self._cleaning)).clean))
        steps.append((", ".join(self._inserting), insertions.run))
        if self._layout is not None:
            steps.append((self._layout.names, self._layout.run))
        return steps + self._last

    @cached_property
    def _loops(self) -> Mapping[int, Sequence[Loop]]:
        return innermost(self.work.program)

    @cached_property
    def _setting(self) -> Setting:
        """What a pass works with, without the loops."""
        work, program = self.work, self.work.program
        system = program.target.system(work.cpu)
        known = program.target, work.cpu, system, work.prover, program.locked_addresses
        lays_out = Align.name in work.options.passes
        return Setting(
            *known, directions=work.directions, branched=work.branched, lays_out=lays_out
        )
