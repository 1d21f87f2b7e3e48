"""The road, as one readable function: load, identify, lift, propose, prove, place, emit, check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Protocol

from passes import chosen, lacking
from passes.lib.steps import Pass
from passes.substitute import Substitute
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function, Refusal
from rewriter.core.edit import Edit, Skip
from rewriter.core.run.garbage import seldom_collected
from rewriter.core.run.guard import guarded
from rewriter.core.run.ledger import spending
from rewriter.core.run.workers import Apart, Together, each, each_apart
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.capability import either
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential, Target
from rewriter.elf.emit import APART, Patch, difference
from rewriter.elf.image import Image
from rewriter.identify.profiles import (
    BRANCH,
    MOVE,
    NONE,
    Counts,
    Direction,
    Heat,
    Profile,
    known,
    of_kind,
)
from rewriter.identify.profiles import heat as heat_of
from rewriter.report.summary.expected import Expected, expected
from rewriter.road.acceptance import accepted
from rewriter.road.emission import moved, stages
from rewriter.road.options import Options
from rewriter.road.outcome import Done
from rewriter.road.remembered.recalled import Recalled
from rewriter.road.remembered.results import Results
from rewriter.road.steps import Step, Steps
from rewriter.road.work import Work
from rewriter.verify.routines.replaceable import Named
from rewriter.verify.terms.exchange import Exchange, Outcomes

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Tuned:
    """What the road gives: the new bytes (without a manifest) and what was done and left alone.

    `patches` are the bytes of the original that changed, by file offset (what stands behind its end
    is new); `proofs` counts (asked, solved, by grade); `room` has
    the bytes that routines in pieces found and took, by kind; `debug` is what is to be said of
    debug information; `names` are those of all functions; `expected` is None where nothing can say
    it.
    """

    data: bytes
    cpu: Cpu
    options: Options
    edits: tuple[Edit, ...]
    skips: tuple[Skip, ...]
    refusals: tuple[Refusal, ...]
    patches: tuple[Patch, ...]
    functions: int
    instructions: int
    proofs: Mapping[str, int] = field(default_factory=dict)
    heat: Heat | None = None
    room: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    debug: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    expected: Expected | None = None


@seldom_collected()
def tune(
    image: Image,
    target: Target,
    cpu: Cpu,
    options: Options,
    progress: Progress,
    profile: Profile | None = None,
    jobs: int = 1,
    program: Program | None = None,
    results: Results | None = None,
) -> Tuned:
    """Tunes an image to a CPU; every edit is proved, or tried where its pass says so.

    The work is shared by `jobs` processes; the result is the same for any number.  `program` is the
    image analysed already: it is not read again if the options assume the same.  With a profile
    the hottest functions come first: they get the room and the edits that are limited, and stand
    first in what is reported.  `results` are what functions became in other runs: what would become
    the same again is not worked on, and what is new is kept there.
    """
    progress("analyse", 0, 1)
    with spending("analyse"):
        counts = _directions(image, target, profile)
        counted = of_kind(counts, MOVE), of_kind(counts, BRANCH)
        given = profile is not None and bool(profile.directions)
        road = _road_of(image, target, cpu, options, jobs, *counted, given, program, results)
    progress("analyse", 1, 1)
    heat = heat_of(profile, road.functions) if profile is not None else None
    data = road.run(_order(road.functions, heat), progress)
    return Tuned(
        data=data,
        cpu=cpu,
        options=options,
        edits=tuple(road.edits),
        skips=tuple(road.skips),
        refusals=tuple(road.refusals),
        patches=difference(image.data, data[: len(image.data)], APART),
        functions=len(road.functions),
        instructions=road.instructions,
        proofs=road.proofs(),
        heat=heat,
        room=road.room,
        debug=road.told(),
        names=frozenset(function.name for function in road.functions),
        expected=road.expected(heat),
    )


class Road(Protocol):
    """What a file goes through, function by function, after it was analysed."""

    @property
    def functions(self) -> Sequence[Function]:
        """All functions, as they stand."""
        ...

    @property
    def instructions(self) -> int:
        """How many instructions the file's text has."""
        ...

    @property
    def edits(self) -> Sequence[Edit]: ...
    @property
    def skips(self) -> Sequence[Skip]: ...
    @property
    def refusals(self) -> Sequence[Refusal]: ...

    @property
    def room(self) -> Mapping[str, tuple[int, int]]:
        """Bytes that routines in pieces found and took, by kind."""
        ...

    def run(self, order: Sequence[Function], progress: Progress) -> bytes:
        """Goes through what is wanted, in this order; the new file, as the verifier accepts it."""
        ...

    def proofs(self) -> Mapping[str, int]:
        """How much was asked for and shown."""
        ...

    def told(self) -> tuple[str, ...]:
        """What is to be said of debug information."""
        ...

    def expected(self, heat: Heat | None) -> Expected | None:
        """How many executed instructions fewer the edits promise; None where nothing can say it."""
        ...


def _directions(image: Image, target: Target, profile: Profile | None) -> Counts:
    """Which way conditions went: by the profile, else by one that comes with retune."""
    if target.sequential is None:
        return NONE
    if profile is not None and profile.directions:
        return profile.directions
    return NONE if target.sequential.conditional_moves is None else known(image)


def _road_of(
    image: Image,
    target: Target,
    cpu: Cpu,
    options: Options,
    jobs: int,
    directions: Mapping[int, Direction],
    branched: Mapping[int, Direction],
    profiled: bool,
    program: Program | None,
    results: Results | None,
) -> Road:
    """Bundles take their road, all else that of superblocks."""

    def bundled(code: Bundling) -> Road:
        from rewriter.road.bundled.road import BundledRoad, prepared  # other code has no use for it

        return BundledRoad(prepared(image, code, cpu, options), jobs)

    def sequential(code: Sequential) -> Road:
        read = program
        if read is None or read.assume != options.assume:
            read = analyse(image, code, options.assume, jobs)
        work = Work(read, cpu, options, directions, branched, profiled)
        # What is the first N edits is known only when functions are done one by one.
        shares = options.max_edits is None
        recalled = Recalled.of(work, results) if results is not None and shares else None
        passes = tuple(_passes(options, code, cpu))
        return _Sequential(work, passes, jobs if shares else 1, recalled)

    return either(target, "tuning", image.name, bundled=bundled, sequential=sequential)


def _passes(options: Options, target: Target, cpu: Cpu) -> Iterator[Pass]:
    for one in chosen(options.passes):
        if not lacking(one, target, cpu):
            yield one


def _order(functions: Sequence[Function], heat: Heat | None) -> Sequence[Function]:
    """Functions, the hottest first, else as they stand."""
    if heat is None:
        return functions
    return sorted(functions, key=lambda function: -heat.of(function.name))


class _Sequential:
    """The road of superblocks, and the steps that a function goes through on it."""

    def __init__(
        self, work: Work, passes: tuple[Pass, ...], jobs: int, recalled: Recalled | None
    ) -> None:
        self.work, self.jobs, self.recalled = work, jobs, recalled
        self.functions, self.instructions = work.program.functions, len(work.program.listing)
        prepared = Steps(work, passes)
        self.routines, self.scatter = prepared.routines, prepared.scatter
        self.steps: Sequence[Step] = prepared.all()
        self._share = prepared.share

    def run(self, order: Sequence[Function], progress: Progress) -> bytes:
        """Goes through what is wanted, in this order; the new file, as the verifier accepts it."""
        wants = self.work.options.wants_function
        wanted = [function for function in order if wants(function.name)]
        with spending("functions"):
            self._travel(wanted, progress)
        again = self.scatter.again if self.scatter is not None else set
        self.steps = ()  # with all that passes remember, which the verifier has no use for
        with spending("verify"):
            return accepted(self.work, progress, self.jobs, again)

    @property
    def edits(self) -> Sequence[Edit]:
        """What was done."""
        return [edit for one in self.work.done.values() for edit in one.edits]

    @property
    def skips(self) -> Sequence[Skip]:
        """What was left alone, with the reasons."""
        return [skip for one in self.work.done.values() for skip in one.skips]

    @property
    def refusals(self) -> Sequence[Refusal]:
        """The functions that were left alone, with the reasons."""
        done = self.work.done.values()
        return [one.refusal for one in done if one.refusal is not None]

    @property
    def room(self) -> Mapping[str, tuple[int, int]]:
        """Bytes that routines in pieces found and took, by kind."""
        return self.work.room

    def proofs(self) -> Mapping[str, int]:
        """Equalities asked for, patterns decided, by grade."""
        return self.work.proofs()

    def told(self) -> tuple[str, ...]:
        """What is to be said of debug information."""
        return self.work.described.told(moved(self.work))

    def expected(self, heat: Heat | None) -> Expected | None:
        """How many executed instructions fewer the edits promise."""
        edits = (one.edits for one in self.work.done.values() if one.edits)
        with spending("expected"):
            return expected(self.work.program, edits, heat, self.jobs)

    def _travel(self, wanted: Sequence[Function], progress: Progress) -> None:
        """Every function: those that wait for room that others leave come last."""
        work = self.work
        if self.recalled is not None and self.routines is not None:
            self.recalled.recall(self.routines.choices, work.known.named)
        entered = self._with_routines(wanted)
        later = [function for function in entered if self._waits(function)]
        waiting = frozenset(later)
        if any(map(self._untried, entered)):
            # All processes ask for it, and what finds it takes much memory.
            guarded(Substitute.name, work.known.prepare, lambda reason: None)
        left = (one for one in wanted if one not in waiting and not self._settled(one))
        if self.scatter is None:
            if work.options.max_edits is None:
                self._look(entered)
            self._functions(left, frozenset(), progress)
            stay = [function for function in later if not self._settled(function)]
        else:
            self._functions(chain(later, left), waiting, progress)
            self.scatter.run(later)
            stay = [one for one in later if work.done[one].substitution is None]
        self._functions(stay, frozenset(), progress)
        if self.recalled is not None and self.routines is not None:
            self.recalled.keep(self.routines.choices)
        progress("prove", len(self.functions), len(self.functions))
        work.done = {one: work.done[one] for one in wanted if one in work.done}

    def _functions(
        self, wanted: Iterable[Function], waiting: frozenset[Function], progress: Progress
    ) -> None:
        """Functions, in this order; those that wait are only looked at."""
        learning = Together(
            Exchange(self.work.prover),
            Outcomes(self.work.known),
            Apart() if self.routines is None else self.routines.choices,
        )

        def worked(functions: Sequence[Function]) -> Iterator[Done]:
            self._share(functions)
            task = partial(self._first, waiting)
            return each(task, functions, self.jobs, learning, attrgetter("size"))

        recalled = self.recalled
        found = (
            worked(tuple(wanted)) if recalled is None else recalled.through(wanted, waiting, worked)
        )
        for at, done in enumerate(found):
            if at % 50 == 0:
                progress("prove", at, len(self.functions))
            self.work.add(done)

    def _look(self, named: Sequence[Function]) -> None:
        """Known routines are tried by all processes, before one gives them places in order.

        `named` are the functions in which they are entered.
        """
        if self.routines is not None:
            choices = self.routines.choices
            learning = Together(Outcomes(self.work.known), choices)
            with spending(f"{Substitute.name}: trials"):
                for _ in each(choices.look, named, self.jobs, learning, attrgetter("size")):
                    pass
                find = partial(self.routines.crowded, named)
                crowded = guarded(Substitute.name, find, lambda reason: [])
                found = each_apart(choices.behind, crowded, self.jobs)
                addresses = (one.address for one, _ in crowded)
                choices.learn(dict(zip(addresses, found, strict=True)))

    def _with_routines(self, functions: Iterable[Function]) -> Sequence[Function]:
        """Those of some functions in which known routines are entered that may become others."""
        known = () if self.routines is None else functions
        return [function for function in known if self._entered(function)]

    def _entered(self, function: Function) -> Sequence[Named]:
        """The known routines that are entered in a function."""
        within = partial(self.work.known.within, function)
        return guarded(Substitute.name, within, lambda reason: [])

    def _untried(self, function: Function) -> bool:
        """Whether nobody looked for what may stand for the known routines entered there."""
        known = {} if self.routines is None else self.routines.choices.first
        return not any(one.address in known for one in self._entered(function))

    def _waits(self, function: Function) -> bool:
        """Whether a known routine waits for the room that others leave: in a kernel each, elsewhere
        one that calls another, which makes it faster where it stands."""
        work = self.work

        def waits() -> bool:
            if work.program.not_understood(function):
                return False
            return self.scatter is not None or work.known.calls_another(function)

        return guarded(Substitute.name, waits, lambda reason: False)

    def _settled(self, function: Function) -> bool:
        """Whether nothing is left to do: it is not understood, or has a tuned routine now.

        Routines share one room, so they are placed in order and by one process.
        """
        with spending(Substitute.name):
            done = guarded(
                Substitute.name,
                partial(self._substituted, function),
                partial(self.work.given_up, function),
            )
        settled = done.refusal is not None or done.substitution is not None
        if settled or done.skips:
            self.work.add(done)
        return settled

    def _substituted(self, function: Function) -> Done:
        """What a function became as a routine; or why nothing is done to it."""
        done = Done(function)
        reason = self.work.program.not_understood(function)
        if reason:
            done.refusal = Refusal(function, reason)
        elif self.routines is not None:
            done.substitution = self.routines.run(function)
            done.edits, done.skips = self.work.taken()
        return done

    def _first(self, waiting: Collection[Function], function: Function) -> Done:
        """A function, or no more than a look at one that waits."""
        if function not in waiting:
            return self._function(function)
        assert self.routines is not None, "only routines wait"
        with spending(f"{Substitute.name}: trials"):
            self.routines.choices.look(function)
        return Done(function)

    def _function(self, function: Function) -> Done:
        work = self.work
        for name, run in self.steps:
            with spending(name):
                reason = guarded(name, partial(run, function), str)
            if reason is not None:
                return work.given_up(function, reason)
        with spending("emission"):
            made = guarded("emission", lambda: list(stages(work, function)), str)
        if isinstance(made, str):
            return work.given_up(function, made)
        edits, skips = work.taken()
        return Done(function, edits, skips, stages=made).packed()
