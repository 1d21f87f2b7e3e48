"""The road, as one readable function: load, identify, lift, propose, prove, place, emit, check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from passes import Pass, chosen
from passes.align import Align
from passes.lib.insert import Inserter, Setting
from passes.lib.technique import Technique
from passes.schedule import Schedule, Scheduler
from passes.substitute import Substitute
from rewriter.analysis.loops import innermost
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function, Refusal
from rewriter.core.edit import Edit, Skip
from rewriter.core.run.garbage import seldom_collected
from rewriter.core.run.guard import guarded
from rewriter.core.run.workers import Together, each
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.capability import needed
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target
from rewriter.elf.caves.build import caves_of
from rewriter.elf.emit import APART, Patch, difference
from rewriter.elf.image import Image
from rewriter.identify.profiles import Heat, Profile
from rewriter.identify.profiles import heat as heat_of
from rewriter.road.acceptance import accepted
from rewriter.road.emission import stages
from rewriter.road.insertions import Insertions
from rewriter.road.layout import Layout
from rewriter.road.loops import Loops
from rewriter.road.options import Options
from rewriter.road.outcome import Done
from rewriter.road.routines.kernel_placement import Scatter
from rewriter.road.routines.routine import Routines
from rewriter.road.windows import Windows, clues
from rewriter.road.work import Work
from rewriter.verify.routines.rules import in_pieces
from rewriter.verify.terms.exchange import Exchange, Outcomes

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Tuned:
    """What the road gives: the new bytes (without a manifest) and what was done and left alone.

    `patches` are the bytes of the original that changed, by file offset (what stands behind its end
    is new); `proofs` counts (asked, solved, by grade); `room` has
    the bytes that routines in pieces found and took, by kind; `debug` is what is to be said of
    debug information; `names` are those of all functions.
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


@seldom_collected()
def tune(
    image: Image,
    target: Target,
    cpu: Cpu,
    options: Options,
    progress: Progress,
    profile: Profile | None = None,
    jobs: int = 1,
) -> Tuned:
    """Tunes an image to a CPU; every edit is proved, or tried where its pass says so.

    The work is shared by `jobs` processes; the result is the same for any number.  With a profile
    the hottest functions come first: they get the room and the edits that are limited, and stand
    first in what is reported.
    """
    if target.bundling is not None:
        return _tune_grouped(image, target.bundling, cpu, options, progress, profile, jobs)
    words = needed(target.sequential, "tuning", target, image.name)
    progress("analyse", 0, 1)
    program = analyse(image, words, options.assume)
    progress("analyse", 1, 1)
    heat = heat_of(profile, program.functions) if profile is not None else None
    work = Work(program, cpu, options)
    _Road(work, tuple(_passes(options, cpu))).run(_order(program, heat), progress, jobs)
    data = accepted(work, progress, jobs)
    done = work.done.values()
    return Tuned(
        data=data,
        cpu=cpu,
        options=options,
        edits=tuple(edit for one in done for edit in one.edits),
        skips=tuple(skip for one in done for skip in one.skips),
        refusals=tuple(one.refusal for one in done if one.refusal is not None),
        patches=difference(image.data, data[: len(image.data)], APART),
        functions=len(program.functions),
        instructions=len(program.listing),
        proofs=work.proofs(),
        heat=heat,
        room=work.room,
        debug=work.described.told([one.function for one in done if _moved(one)]),
        names=frozenset(function.name for function in program.functions),
    )


def _tune_grouped(
    image: Image,
    target: Bundling,
    cpu: Cpu,
    options: Options,
    progress: Progress,
    profile: Profile | None,
    jobs: int,
) -> Tuned:
    """The same for code that says what issues together."""
    from rewriter.road.bundled.road import GroupedRoad  # its passes are of no use to other code

    road = GroupedRoad(image, target, cpu, options, profile, jobs)
    data = road.run(progress)
    return Tuned(
        data=data,
        cpu=cpu,
        options=options,
        edits=tuple(road.edits),
        skips=tuple(road.skips),
        refusals=tuple(road.refusals),
        patches=difference(image.data, data, APART),
        functions=len(road.functions),
        instructions=road.instructions,
        proofs=road.proofs(),
        heat=road.heat,
        debug=road.described.told([f for f, placing in road.placings.items() if placing.made]),
        names=frozenset(function.name for function in road.functions),
    )


def _moved(done: Done) -> bool:
    """Whether instructions of a function are in other places."""
    return any(edit.technique in (Align.name, Schedule.name) for edit in done.edits)


def _passes(options: Options, cpu: Cpu) -> Iterator[Pass]:
    for one in chosen(options.passes):
        if not one.needs or one.needs & cpu.features:
            yield one


def _order(program: Program, heat: Heat | None) -> Sequence[int]:
    """Functions by number, the hottest first, else as they stand."""
    functions = program.functions
    if heat is None:
        return range(len(functions))
    return sorted(range(len(functions)), key=lambda number: -heat.of(functions[number].name))


class _Road:
    """The steps that a function goes through."""

    def __init__(self, work: Work, passes: tuple[Pass, ...]) -> None:
        program, target = work.program, work.program.target
        self.work = work
        align = next((p for p in passes if isinstance(p, Align)), None)
        substitute = next((p for p in passes if isinstance(p, Substitute)), None)
        inserters = [p for p in passes if isinstance(p, Inserter)]
        techniques = tuple(p for p in passes if isinstance(p, Technique))
        names = ", ".join(p.name for p in techniques), ", ".join(p.name for p in inserters)
        system, locked = target.system(work.cpu), program.locked_addresses
        looped = any(isinstance(p, Inserter | Schedule) for p in passes)
        loops = innermost(program) if looped else {}
        setting = Setting(target, work.cpu, system, work.prover, locked, loops)
        windows = Windows(work, techniques, setting, clues(program, techniques))
        finders = {p.name: p.finder(program, setting) for p in inserters if p.offered(target)}
        insertions = Insertions(work, finders, align is not None)
        self.steps: list[tuple[str, Callable[[Function], None]]]
        self.steps = [(names[0], windows.run), (names[1], insertions.run)]
        if align is not None:
            self.steps.append((Align.name, Layout(work, align).run))
        self.routines = self.scatter = None
        if substitute is not None:
            caves = caves_of(program.image, target, len(work.known.named))
            self.routines = Routines(work, substitute, caves)
            if in_pieces(work.known):
                self.scatter = Scatter(self.routines)
        if any(isinstance(p, Schedule) for p in passes):
            scheduler = Scheduler(program, work.cpu, work.prover)
            self.steps.append((Schedule.name, Loops(work, scheduler, loops).run))

    def run(self, order: Sequence[int], progress: Progress, jobs: int) -> None:
        """Goes through every function."""
        work, functions = self.work, self.work.program.functions
        wanted = [n for n in order if work.options.wants_function(functions[n].name)]
        # What is the first N edits is known only when functions are done one by one.
        jobs = 1 if work.options.max_edits is not None else jobs
        later = [n for n in wanted if self._waits(functions[n])]
        waiting = frozenset(later)
        left = (n for n in wanted if n not in waiting and not self._settled(functions[n]))
        first = partial(self._first, waiting)
        self._functions(first, chain(later, left), len(wanted), progress, jobs)
        if self.scatter is not None:
            for done in self.scatter.run([functions[n] for n in later]):
                work.add(done)
            stay = [n for n in later if work.done[functions[n]].substitution is None]
            self._functions(self._function, stay, len(wanted), progress, jobs)
        progress("prove", len(wanted), len(wanted))
        found = (work.done.get(functions[number]) for number in wanted)
        work.done = {one.function: one for one in found if one is not None}

    def _functions(
        self,
        task: Callable[[int], Done],
        numbers: Iterable[int],
        count: int,
        progress: Progress,
        jobs: int,
    ) -> None:
        learning = Together(Exchange(self.work.prover), Outcomes(self.work.known))
        for at, done in enumerate(each(task, numbers, jobs, learning)):
            if at % 50 == 0:
                progress("prove", at, count)
            self.work.add(done)

    def _waits(self, function: Function) -> bool:
        """Whether a routine waits for the room that others leave."""
        work = self.work

        def waits() -> bool:
            named = self.scatter is not None and work.known.within(function)
            return bool(named) and not work.program.not_understood(function)

        return guarded(Substitute.name, waits, lambda reason: False)

    def _settled(self, function: Function) -> bool:
        """Whether nothing is left to do: it is not understood, or has a tuned routine now.

        Routines share one room, so they are placed in order and by one process.
        """
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

    def _first(self, waiting: frozenset[int], number: int) -> Done:
        """A function, or no more than a look at one that waits."""
        if self.scatter is None or number not in waiting:
            return self._function(number)
        function = self.work.program.functions[number]
        # What goes wrong here goes wrong again when its turn comes.
        guarded(Substitute.name, partial(self.scatter.look, function), str)
        return Done(function)

    def _function(self, number: int) -> Done:
        work, function = self.work, self.work.program.functions[number]
        for name, run in self.steps:
            reason = guarded(name, partial(run, function), str)
            if reason is not None:
                return work.given_up(function, reason)
        made = guarded("emission", lambda: list(stages(work, function)), str)
        if isinstance(made, str):
            return work.given_up(function, made)
        edits, skips = work.taken()
        return Done(function, edits, skips, stages=made)
