"""The road of code that says what issues together: functions, regions, new orders, new places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from passes.lib.insert import Declined
from passes.scheduling.bundled_model import Model
from passes.streams.bundled import KIND as LOOP
from passes.streams.bundled import Hinted
from rewriter.analysis.functions import bundled_code
from rewriter.core.code.program import Function, Refusal
from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.errors import BadUsage, VerificationFailed
from rewriter.core.run.guard import guarded
from rewriter.core.run.ledger import spending
from rewriter.core.run.workers import Apart, each
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.core.target.bundling import Bundling, Code, Routine
from rewriter.core.target.cpu import Cpu
from rewriter.elf.image import Image
from rewriter.identify.profiles import Heat
from rewriter.road.bundled.function import Placing, Reordered, behind, bounded, edits_of
from rewriter.road.bundled.hints import PASS as HINT
from rewriter.road.bundled.hints import hint_edit, hinting
from rewriter.road.bundled.regions import Reordering
from rewriter.road.bundled.routines import PASS as ROUTINE
from rewriter.road.bundled.routines import BundledRoutines, Replacement
from rewriter.road.options import Options
from rewriter.road.source_lines import Described
from rewriter.road.work import edit_id
from rewriter.verify.regions.check import Verdict, verify
from rewriter.verify.regions.proof import Regions
from rewriter.verify.routines.bundled_known import KnownBundled

Progress = Callable[[str, int, int], None]
ORDER, PLACE = "schedule", "align"
"""The passes' names: a new order within regions, and regions that move up."""

_SAME = Evidence(Grade.PROVED, detail="the same instructions in the same slots")
KIND, END, MOVED = "straight region", "end of a group before one", "layout"


@dataclass(frozen=True)
class Prepared:
    """What is known of a file before the first of its functions is looked at."""

    image: Image
    target: Bundling
    cpu: BundledCpu
    options: Options
    known: KnownBundled
    reordering: Reordering
    routines: BundledRoutines
    described: Described

    @property
    def code(self) -> Code:
        """The code of the file."""
        return self.known.code

    @property
    def functions(self) -> Sequence[Function]:
        """All functions, as they stand."""
        return self.code.functions


def prepared(image: Image, target: Bundling, cpu: Cpu, options: Options) -> Prepared:
    """Finds all that the road asks of a file; BadUsage for a CPU without a model."""
    if cpu.bundled is None:
        raise BadUsage(f"--cpu {cpu.name}: no model of its pipeline is there")
    code = bundled_code(image, target)
    model = target.scheduling(Model(cpu.bundled))
    known, described = KnownBundled(image, target, code, options.assume), Described(image)
    hints = hinting(target, cpu.bundled, model) if HINT in options.passes else None
    block = cpu.bundled.issue.front.fetch_bytes.value
    return Prepared(
        image,
        target,
        cpu.bundled,
        options,
        known,
        Reordering(
            *(target, code, image, model, known.liveness, known.beyond, block, hints),
            options.wants_exact,
        ),
        BundledRoutines(known, cpu, options, described),
        described,
    )


@dataclass
class BundledRoad:
    """What was done to a file, and the edits that say so; `jobs` processes share the work."""

    prepared: Prepared
    jobs: int = 1
    edits: list[Edit] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    replaced: tuple[Replacement, ...] = ()
    unreplaced: list[Skip] = field(default_factory=list)
    settled: set[Function] = field(default_factory=set)
    placings: dict[Function, Placing] = field(default_factory=dict)
    hints: dict[Function, Mapping[int, Hinted | Declined]] = field(default_factory=dict)
    evidence: dict[int, Evidence] = field(default_factory=dict)

    @property
    def functions(self) -> Sequence[Function]:
        """All functions, as they stand."""
        return self.prepared.functions

    @property
    def instructions(self) -> int:
        """How many instructions the file's text has: three a bundle."""
        return 3 * self.prepared.code.bundles

    @property
    def room(self) -> Mapping[str, tuple[int, int]]:
        """Nothing: no routine is put in pieces."""
        return {}

    def told(self) -> tuple[str, ...]:
        """What is to be said of debug information."""
        return self.prepared.described.told(self._moved())

    def expected(self, heat: Heat | None) -> None:
        """Nothing: a new order saves cycles, and instructions only where a nop goes."""

    def _moved(self) -> list[Function]:
        """The functions whose instructions are in other places, or those of another routine."""
        replaced = [one.candidate.function for one in self.replaced]
        return replaced + [function for function, one in self.placings.items() if one.made]

    def run(self, order: Sequence[Function], progress: Progress) -> bytes:
        """Goes through what is wanted, in this order; the new file, as the verifier accepts it."""
        with spending(ROUTINE):
            self._substitute(progress)
        with spending(ORDER):
            self._order(order, progress)
        with spending("verify"):
            data = self._accepted(progress)
            self._record(data)
        return data

    def _order(self, order: Sequence[Function], progress: Progress) -> None:
        """Puts the regions of functions in another order, the largest functions first."""
        wants = self.prepared.options.wants_function
        order = [one for one in order if wants(one.name) and one not in self.settled]
        code, passes = self.prepared.code, self.prepared.options.passes
        routines = [self._described(code.routine(function)) for function in order]
        self.refusals += [Refusal(r.function, r.reason) for r in routines if r.reason]
        moves = {ORDER, PLACE, HINT} & set(passes)
        routines = [routine for routine in routines if moves and not routine.reason]
        made = each(self._scheduled, routines, self.jobs, Apart(), lambda one: one.function.size)
        edits = len(self.replaced)
        for done, one in enumerate(made):
            if done % 50 == 0:
                progress("schedule", done, len(routines))
            edits += self._kept(one, edits)
        progress("schedule", len(routines), len(routines))

    def _substitute(self, progress: Progress) -> None:
        """Routines that become others; nothing else is done to these, nor to tuned ones."""
        if ROUTINE not in self.prepared.options.passes:
            return
        routines = self.prepared.routines
        progress("substitute", 0, 1)
        self.replaced, self.unreplaced = routines.run()
        self.settled = {one.candidate.function for one in self.replaced} | routines.tuned()
        progress("substitute", 1, 1)

    def _described(self, routine: Routine) -> Routine:
        """A function; with the reason why it stays where debug information describes it."""
        reason = routine.reason or self.prepared.described.stays(routine.function)
        return routine if reason == routine.reason else replace(routine, reason=reason)

    def _scheduled(self, routine: Routine) -> Placing | Refusal:
        """A function with all its regions that gain in a new order; changes nothing here."""
        wanted = {r.start for r in routine.regions if ORDER in self.prepared.options.passes}
        moves = PLACE in self.prepared.options.passes
        found = partial(self.prepared.reordering.function, routine, wanted, moves)
        return guarded(ORDER, found, partial(Refusal, routine.function))

    def _kept(self, one: Placing | Refusal, made: int) -> int:
        """Keeps what the user wants of a function when so many edits are made; how many more."""
        if isinstance(one, Refusal):
            self.refusals.append(one)
            return 0
        function = one.routine.function
        chosen = guarded(ORDER, partial(self._chosen, one, made), partial(Refusal, function))
        if isinstance(chosen, Refusal):
            self.refusals.append(chosen)
            return 0
        self._keep(chosen)
        self.hints[function] = one.hints
        return edits_of(chosen.made) + chosen.moved

    def _chosen(self, placing: Placing, made: int) -> Placing:
        """With those edits only that the user wants, when so many are made."""
        routine, options = placing.routine, self.prepared.options
        kept: dict[int, Reordered] = {}
        for start, found in placing.made.items():
            one = self._wanted(routine.function, start, found, made + edits_of(kept))
            if one is not None:
                kept[start] = one
        layout = edit_id(PLACE, routine.function, routine.function.start)
        moves = placing.moved and options.wants_edit(layout, made + edits_of(kept))
        if kept == placing.made and moves == placing.moved:
            return placing
        return self.prepared.reordering.placed(routine, kept, placing.left, moves)

    def _wanted(
        self, function: Function, start: int, one: Reordered, made: int
    ) -> Reordered | None:
        """A region with what of its new order and its hints the user wants."""
        wants = self.prepared.options.wants_edit
        plain = one if one.hinted is None else one.plain
        if plain is not None and not wants(edit_id(ORDER, function, start), made):
            plain = None
        hint = edit_id(HINT, function, start)
        if one.hinted is not None and wants(hint, made + (plain is not None)):
            return one if plain is one.plain else replace(one, plain=plain)
        return plain

    def _keep(self, placing: Placing) -> None:
        self.placings[placing.routine.function] = placing

    def _emitted(self) -> bytes:
        """The new file, without its note."""
        data = bytearray(self.prepared.image.data)
        for address, code in self.prepared.routines.written(self.replaced):
            offset = self.prepared.image.offset_of(address)
            data[offset : offset + len(code)] = code
        for placing in self.placings.values():
            if not placing.made:
                continue
            changed = [(place.new, place.code) for place in placing.laid.places]
            for address, code in (*changed, *placing.laid.others):
                offset = self.prepared.image.offset_of(address)
                data[offset : offset + len(code)] = code
        return self.prepared.described.apart(bytes(data), self._moved())

    def _accepted(self, progress: Progress) -> bytes:
        """The file as the verifier accepts it: regions that it does not show equal go back."""
        only: frozenset[Function] | None = None
        known = self.prepared.routines.known
        prover = Regions(known.target.proving, known.assume)
        while True:
            data = self._emitted()
            new = replace(self.prepared.image, data=data)
            verdict = verify(known, new, progress, only, prover, self.jobs)
            self.evidence.update(verdict.shown)
            if verdict.ok:
                return data
            if not verdict.wrong:
                raise VerificationFailed(verdict.findings[0])
            only = self._taken_back(verdict)

    def _taken_back(self, verdict: Verdict) -> frozenset[Function] | None:
        """Lays the functions out again without what was not shown equal; which they are.

        None where that changes routines that share their places.
        """
        against: dict[Function, dict[int | None, str]] = {}
        for finding in verdict.wrong:
            against.setdefault(finding.function, {})[finding.region] = finding.reason
        replaced = {one.candidate.function for one in self.replaced} & against.keys()
        if replaced:
            self.prepared.routines.refused.update(
                (f, next(iter(against[f].values()))) for f in replaced
            )
            self.replaced, self.unreplaced = self.prepared.routines.run()
            return None
        for function, found in against.items():
            placing = self.placings.get(function)
            if placing is None or not placing.made:
                raise VerificationFailed(verdict.findings[0])
            again = guarded(
                PLACE, partial(self._without, placing, found), partial(Refusal, function)
            )
            if isinstance(again, Refusal):
                self.refusals.append(again)
                del self.placings[function]
            else:
                self._keep(again)
        return frozenset(against)

    def _without(self, placing: Placing, found: Mapping[int | None, str]) -> Placing:
        """A function laid out again without what the verifier found."""
        starts = {start for start in found if start is not None} & placing.made.keys()
        named = {start: found[start] for start in starts}
        named |= behind(placing, found)
        if not named and placing.moved:  # its places are wrong, not a region
            return self.prepared.reordering.placed(
                placing.routine, placing.made, placing.left, False
            )
        gone: dict[int, str] = named
        if not named:
            gone = {start: next(iter(found.values())) for start in placing.made}
        kept = {start: one for start, one in placing.made.items() if start not in gone}
        left = {**placing.left, **{start: f"not verified: {r}" for start, r in gone.items()}}
        return self.prepared.reordering.placed(placing.routine, kept, left, placing.moved)

    def _record(self, data: bytes) -> None:
        """The edits and what was left alone."""
        self.skips += self.unreplaced
        for one in self.replaced:
            evidence = self.evidence[one.candidate.function.start]
            self.edits.append(self.prepared.routines.edit(one, evidence))
        for function, placing in self.placings.items():
            plain = [one.plain if one.hinted else one for one in placing.made.values()]
            self.edits += [self._edit(function, one, KIND) for one in plain if one is not None]
            self._record_hints(placing)
            self.edits += [self._edit(function, one, END) for one in placing.closed.values()]
            if placing.moved:
                self.edits.append(self._layout(placing))
            if ORDER in self.prepared.options.passes or PLACE in self.prepared.options.passes:
                self.skips += [
                    Skip(ORDER, KIND, function.name, start, reason)
                    for start, reason in placing.left.items()
                ]

    def _record_hints(self, placing: Placing) -> None:
        """The loops with hints, and those that were left alone."""
        function = placing.routine.function
        for start, found in self.hints[function].items():
            one = placing.made.get(start)
            if one is not None and one.hinted is not None:
                evidence = self.evidence[start]
                self.edits.append(
                    hint_edit(self.prepared.target, function, start, one.hinted, evidence)
                )
                continue
            reason = found.reason if isinstance(found, Declined) else "it was not asked for"
            reason = placing.left.get(start, reason) if isinstance(found, Hinted) else reason
            self.skips.append(Skip(HINT, LOOP, function.name, start, reason))

    def _edit(self, function: Function, one: Reordered, kind: str) -> Edit:
        before, after = one.before, one.after
        return Edit(
            id=edit_id(ORDER, function, one.region.start),
            technique=ORDER,
            kind=kind,
            routine=function.name,
            address=one.region.start,
            old=str(before),
            new=str(after) + bounded(one.least),
            evidence=self.evidence.get(one.region.start, _SAME),
            gain=before.nops - after.nops,
            cycles=Fraction(before.cycles - after.cycles),
        )

    def _layout(self, placing: Placing) -> Edit:
        function = placing.routine.function
        last = placing.laid.places[-1]
        free = (len(last.code) if last.old == function.end else 0) // self.prepared.target.bundle
        return Edit(
            id=edit_id(PLACE, function, function.start),
            technique=PLACE,
            kind=MOVED,
            routine=function.name,
            address=function.start,
            old="",
            new="; ".join(_laid_out(free, placing.dense)),
            evidence=Evidence(Grade.PROVED, detail="regions one behind another"),
            gain=0,
        )

    def proofs(self) -> Mapping[str, int]:
        """How many regions were compared."""
        return {"regions": len(self.evidence)}


def _laid_out(free: int, dense: int) -> Iterator[str]:
    """What a layout gave."""
    yield f"{free} bundle{'s' * (free != 1)} free behind it"
    if dense:
        yield f"heads of dense loops on fetch boundaries: {dense}"
