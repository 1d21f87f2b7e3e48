"""The road, as one readable function: load, identify, lift, propose, prove, place, emit, check."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from passes import ORDER
from passes.align import Align
from passes.conflicts import Key, untrapped
from passes.insert import Declined, Inserted, Inserter, Insertion, Setting
from passes.move import Moved, move, rewritten_fixups, standing
from passes.prefetch import Prefetch
from passes.replay import Replay
from passes.schedule import Item, Loop, NotReordered, Reordered, Schedule, Scheduler
from passes.substitute import Substitute, Substitution
from passes.technique import UNRELATED, Technique
from passes.tune import Accepted, Refused, TunedWindow, tune_window
from rewriter.core.cpu import Cpu
from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.errors import VerificationFailed
from rewriter.core.isa import Insn
from rewriter.core.program import Function, Refusal, Window
from rewriter.core.target import CannotMove, Target
from rewriter.core.trace import Facts
from rewriter.elf.caves_build import caves_of, with_bodies
from rewriter.elf.emit import Patch, apply, difference
from rewriter.elf.image import Image
from rewriter.identify.profiles import Heat, Profile
from rewriter.identify.profiles import heat as heat_of
from rewriter.identify.program import Program, analyse
from rewriter.verify.check import verify
from rewriter.verify.prove import Prover
from rewriter.verify.substituted_known import Known

Pass = Technique | Inserter | Align | Schedule | Substitute

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Options:
    """What a user chooses.

    `passes` are names, in any order; `funcs` and `skip_funcs` are regular expressions that match
    whole function names (all functions when `funcs` is empty); `only` and `skip` are edit ids;
    `max_edits` keeps the first so many edits, function by function in address order, the hottest
    first where there is a profile.
    """

    passes: tuple[str, ...]
    funcs: tuple[str, ...] = ()
    skip_funcs: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    max_edits: int | None = None

    def wants_function(self, name: str) -> bool:
        """Whether a function may be edited."""
        if any(re.fullmatch(pattern, name) for pattern in self.skip_funcs):
            return False
        return not self.funcs or any(re.fullmatch(pattern, name) for pattern in self.funcs)

    def wants_edit(self, edit: str, made: int) -> bool:
        """Whether an edit may be made when `made` are there already."""
        if self.max_edits is not None and made >= self.max_edits:
            return False
        return edit not in self.skip and (not self.only or edit in self.only)


@dataclass(frozen=True)
class Tuned:
    """What the road gives: the new bytes (without a manifest) and what was done and left alone.

    `patches` are the bytes of the original that changed, by file offset (what stands behind its end
    is new); `proofs` counts (asked, solved, by grade).
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
    proofs: dict[str, int] = field(default_factory=dict)
    heat: Heat | None = None


def tune(
    image: Image,
    target: Target,
    cpu: Cpu,
    options: Options,
    progress: Progress,
    profile: Profile | None = None,
) -> Tuned:
    """Tunes an image to a CPU; every edit is proved, or tried where its pass says so.

    With a profile the hottest functions come first: they get the room and the edits that are
    limited, and stand first in what is reported.
    """
    progress("analyse", 0, 1)
    program = analyse(image, target)
    progress("analyse", 1, 1)
    passes = _passes(options, cpu)
    heat = heat_of(profile, program.functions) if profile is not None else None
    work = _Work(program, cpu, options, passes, heat)
    work.run(progress)
    data = work.checked(progress)
    return Tuned(
        data=data,
        cpu=cpu,
        options=options,
        edits=tuple(work.edits),
        skips=tuple(work.skips),
        refusals=tuple(work.refusals),
        patches=difference(image.data, data[: len(image.data)], _APART),
        functions=len(program.functions),
        instructions=len(program.listing),
        proofs=work.proofs(),
        heat=heat,
    )


def _passes(options: Options, cpu: Cpu) -> tuple[Pass, ...]:
    return tuple(
        p for p in ORDER if p.name in options.passes and (not p.needs or p.needs & cpu.features)
    )


@dataclass
class _Work:
    """The edits of one file as they are found."""

    program: Program
    cpu: Cpu
    options: Options
    passes: tuple[Pass, ...]
    heat: Heat | None
    prover: Prover = field(init=False)
    edits: list[Edit] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    slots: dict[Function, dict[int, Insn | None]] = field(default_factory=dict)
    inserted: dict[Function, Inserted] = field(default_factory=dict)
    carried: dict[Function, dict[int, int | None]] = field(default_factory=dict)
    moved: dict[Function, Moved] = field(default_factory=dict)
    reordered: dict[Function, list[Reordered]] = field(default_factory=dict)
    substituted: dict[Function, Substitution] = field(default_factory=dict)

    def __post_init__(self) -> None:
        others = (Align, Schedule, Substitute, *_INSERTERS)
        self.techniques = tuple(p for p in self.passes if not isinstance(p, others))
        spelled = self.program.target.spelling.CLUES
        inserters = (p for p in self.passes if isinstance(p, _INSERTERS))
        self.inserters = tuple(p for p in inserters if p.name in spelled)
        self.align = next((p for p in self.passes if isinstance(p, Align)), None)
        self.substitute = next((p for p in self.passes if isinstance(p, Substitute)), None)
        target = self.program.target
        self.known = Known(self.program)
        routines = len(self.known.named) if self.substitute is not None else 0
        self.caves = caves_of(self.program.image, target, routines)
        self.prover = Prover(target.granule * 8, target.granule)
        self.locked = self.program.locked_addresses
        system = target.system(self.cpu)
        self.setting = Setting(target, self.cpu, system, self.prover, self.locked)
        self.scheduler = None
        if any(isinstance(p, Schedule) for p in self.passes):
            self.scheduler = Scheduler(self.program, self.cpu, self.prover)

    def run(self, progress: Progress) -> None:
        """Goes through every function that has a clue for some pass, or that may move."""
        clues = self._with_clues()
        functions = self.program.functions
        for done, number in enumerate(self._order()):
            function = functions[number]
            if done % 50 == 0:
                progress("prove", done, len(functions))
            if self.options.wants_function(function.name):
                self._function(function, clues.get(number, ()))
        progress("prove", len(functions), len(functions))

    def _order(self) -> Sequence[int]:
        """Functions by number, the hottest first, else as they stand."""
        functions = self.program.functions
        if self.heat is None:
            return range(len(functions))
        share = self.heat.of
        return sorted(range(len(functions)), key=lambda number: -share(functions[number].name))

    def _with_clues(self) -> dict[int, list[int]]:
        """Functions by number, each with the positions that some pass asks to see."""
        graph, target = self.program.graph, self.program.target
        listing = graph.listing
        names = {n for t in self.techniques for n in target.spelling.CLUES.get(t.name, ())}
        rows = [n for n, op in enumerate(listing.table.rows) if op.name in names]
        stores = [n for n in rows if listing.table.effects(listing.table.rows[n]).stores]
        acts = listing.defs.any(axis=1) | np.isin(listing.rows, stores)  # the rest are fillers
        hits = np.flatnonzero(np.isin(listing.rows, rows) & acts)
        blocks = np.searchsorted(graph.first, hits, side="right") - 1
        owners = graph.function_of[blocks]
        found: dict[int, list[int]] = {}
        for owner, hit in zip(owners.tolist(), hits.tolist(), strict=True):
            if owner >= 0:
                found.setdefault(owner, []).append(hit)
        return found

    def _function(self, function: Function, clues: Sequence[int]) -> None:
        reason = self.program.not_understood(function)
        if reason:
            self.refusals.append(Refusal(function, reason))
            return
        if self.substitute is not None and self._substituted(function, self.substitute):
            return
        for window in self.program.windows(function) if clues else ():
            first, last = self.program.listing.span(window.address, window.end)
            if bisect_left(clues, first) < bisect_left(clues, last):
                self._window(function, window)
        for inserter in self.inserters:
            self._insert(function, inserter)
        if self.align is not None:
            self._move(function, self.align)
        if self.scheduler is not None:
            for loop in self.scheduler.loops(function):
                self._schedule(function, loop, self.scheduler)

    def _substituted(self, function: Function, substitute: Substitute) -> bool:
        """Whether a routine in a function became a tuned one: nothing else is done to it then."""
        for named in self.known.within(function):
            edit = _id(substitute.name, function, named.address)
            if not self.options.wants_edit(edit, len(self.edits)):
                continue
            try:
                found = substitute.place(self.known, named, self.cpu, self.caves)
            except CannotMove as reason:
                place = function.name, named.address, str(reason)
                self.skips.append(Skip(substitute.name, "routine", *place))
                continue
            self.substituted[function] = found
            self.edits.append(found.edit(edit, self.known))
            return True
        return False

    def _insert(self, function: Function, inserter: Inserter) -> None:
        name = inserter.name
        slots = self.slots.setdefault(function, {})
        for found in inserter.found(self.program, self.setting, function, slots):
            edit = _id(name, function, found.address)
            if not self.options.wants_edit(edit, len(self.edits)):
                continue
            reason = found.reason if isinstance(found, Declined) else ""
            if isinstance(found, Insertion) and len(found.insns) > 1 and self.align is None:
                reason = "no room without a new layout"
            taken = self.inserted[function].added if function in self.inserted else {}
            if isinstance(found, Insertion) and found.address in taken:
                reason = "something else was inserted there"
            if isinstance(found, Declined) or reason:
                skip = Skip(name, found.kind, function.name, found.address, reason)
                self.skips.append(skip)
                continue
            old = self.program.listing.insn(self.program.listing.index(found.address))
            before = slots.get(found.address, old)
            self.inserted.setdefault(function, Inserted(slots)).put(edit, found, before)
            self.edits.append(self._insertion(function, name, edit, found, before))

    def _insertion(
        self, function: Function, name: str, edit: str, found: Insertion, before: Insn | None
    ) -> Edit:
        target = self.program.target
        was = [before] if before is not None and not target.is_filler(before) else []
        return Edit(
            id=edit,
            technique=name,
            kind=found.kind,
            routine=function.name,
            address=found.address,
            old="; ".join(map(target.table.text, was)),
            new="; ".join(map(target.table.text, found.insns)),
            evidence=found.evidence,
            gain=len(was) - len(found.insns),
        )

    def _without_room(self, function: Function, reason: str, prefix: str = "") -> bool:
        """Takes back what was inserted and needs a new layout; whether there was any."""
        inserted = self.inserted.get(function)
        gone = inserted.crowded(prefix) if inserted is not None else set()
        if inserted is not None and gone:
            inserted.take_back(gone)
            self._skip_edits([edit for edit in self.edits if edit.id in gone], reason)
        return bool(gone)

    def _moved_for_hints(
        self, function: Function, moved: Moved | None, align: Align
    ) -> Moved | None:
        """A hint is not worth the boundary of a branch target: then the layout without it."""
        inserted, hint = self.inserted.get(function), f"{Prefetch.name}:"
        crowded = inserted.crowded(hint) if inserted is not None else set()
        if moved is None or inserted is None or not crowded:
            return moved
        hints = {inserted.done[edit][0] for edit in crowded}
        others = {at: new for at, new in inserted.added.items() if at not in hints}
        carried = self.carried.get(function, {})
        without = move(self.program, function, inserted.slots, others, align, self.cpu, carried)
        if without is None or without.layout.aligned <= moved.layout.aligned:
            return moved
        self._without_room(function, "a branch target would lose its boundary", hint)
        return without

    def _skip_edits(self, gone: Sequence[Edit], reason: str) -> None:
        """Edits that were made and are left alone after all."""
        self.edits = [edit for edit in self.edits if edit not in gone]
        self.skips += [Skip(e.technique, e.kind, e.routine, e.address, reason) for e in gone]

    def _move(self, function: Function, align: Align) -> None:
        edit = _id(align.name, function, function.start)
        if not self.options.wants_edit(edit, len(self.edits)):
            self._without_room(function, "the function keeps its layout")
            return
        slots, inserted = self.slots.get(function, {}), self.inserted.get(function)
        added = inserted.added if inserted is not None else {}
        try:
            carried = self.carried.get(function, {})
            moved = move(self.program, function, slots, added, align, self.cpu, carried)
            moved = self._moved_for_hints(function, moved, align)
        except CannotMove as reason:
            if self._without_room(function, f"no room: {reason}"):
                self._move(function, align)
                return
            self.skips.append(
                Skip(align.name, "layout", function.name, function.start, str(reason))
            )
            return
        if moved is None:
            return
        self.moved[function] = moved
        layout = moved.layout
        self.edits.append(
            Edit(
                id=edit,
                technique=align.name,
                kind="layout",
                routine=function.name,
                address=function.start,
                old=f"{layout.targets} branch targets",
                new=f"{layout.aligned} of them on a fetch-block boundary",
                evidence=Evidence(Grade.PROVED, detail="both files walked from every entry"),
                gain=moved.dropped,
            )
        )

    def _schedule(self, function: Function, loop: Loop, scheduler: Scheduler) -> None:
        edit = _id(Schedule.name, function, loop.head)
        if not self.options.wants_edit(edit, len(self.edits)):
            return
        kind = "loop body"
        try:
            found = scheduler.reordered(function, loop, self._items(function, loop))
        except NotReordered as reason:
            self.skips.append(Skip(Schedule.name, kind, function.name, loop.head, str(reason)))
            return
        if found is None:
            return
        self.reordered.setdefault(function, []).append(found)
        text = self.program.target.table.text
        self.edits.append(
            Edit(
                id=edit,
                technique=Schedule.name,
                kind=kind,
                routine=function.name,
                address=loop.head,
                old="; ".join(map(text, found.old)),
                new="; ".join(map(text, found.new)),
                evidence=found.evidence,
                gain=0,
            )
        )

    def _items(self, function: Function, loop: Loop) -> Sequence[Item]:
        """The instructions of a function where they stand now; at least those around a loop."""
        if function in self.moved:
            return self.moved[function].layout.items
        block = self.cpu.fetch_block.value
        start, end = max(function.start, loop.head - block), min(function.end, loop.latch + block)
        slots = self.slots.get(function, {})
        return [(at, at, insn) for at, insn in standing(self.program, slots, start, end)]

    def _window(self, function: Function, window: Window) -> None:
        avoided: set[Key] = set()

        def chosen(technique: str, address: int, made: int) -> bool:
            edit = _id(technique, function, address)
            wanted = self.options.wants_edit(edit, len(self.edits) + made)
            return wanted and (technique, address) not in avoided

        def attempt(facts: Facts) -> TunedWindow:
            return tune_window(
                window,
                self.techniques,
                self.program.target,
                self.cpu,
                self.prover,
                chosen,
                self.locked,
                facts,
                self.program.held,
                self.program.devices,
                self.program.fixups,
            )

        tuned = attempt({})
        if any(refused.reason == UNRELATED for refused in tuned.refused):
            facts = self.program.facts(function).get(window.address)
            tuned = attempt(facts) if facts else tuned
        addresses = window.addresses()

        def again(without: frozenset[Key]) -> TunedWindow:
            avoided.update(without)
            return attempt(tuned.facts)

        tuned = untrapped(tuned, again, self.setting) if tuned.accepted else tuned
        self.edits += [self._edit(function, addresses, a) for a in tuned.accepted]
        self.skips += [_skip(function, addresses, r) for r in tuned.refused]
        changed = zip(addresses, tuned.window.insns, tuned.slots, strict=True)
        slots = {address: new for address, old, new in changed if new is not old}
        if slots:
            self.slots.setdefault(function, {}).update(slots)
            self.carried.setdefault(function, {}).update(tuned.carried)

    def _edit(self, function: Function, addresses: Sequence[int], accepted: Accepted) -> Edit:
        text = self.program.target.table.text
        changed = [
            n
            for n, (a, b) in enumerate(zip(accepted.before, accepted.after, strict=True))
            if a is not b
        ]
        address = addresses[accepted.rewrite.site]

        def lines(slots: Iterable[Insn | None]) -> str:
            return "; ".join(text(insn) for insn in slots if insn is not None)

        return Edit(
            id=_id(accepted.technique, function, address),
            technique=accepted.technique,
            kind=accepted.rewrite.kind,
            routine=function.name,
            address=address,
            old=lines(accepted.before[n] for n in changed),
            new=lines(accepted.after[n] for n in changed),
            evidence=accepted.evidence,
            gain=accepted.gain,
        )

    def checked(self, progress: Progress) -> bytes:
        """The file as the independent verifier accepts it.

        A function that it does not accept goes back step by step: first its order, then its
        layout, then all; the edits are skipped.
        """
        doubtful: frozenset[Function] | None = None
        followed: frozenset[int] = frozenset()
        while True:
            data = self._emit()
            new = replace(self.program.image, data=data)
            verdict = verify(
                self.program, new, progress, doubtful, followed, self.prover, self.known
            )
            self._tried(verdict.tried)
            if verdict.ok:
                return data
            if not verdict.failed:
                raise VerificationFailed(verdict.findings[0])
            for function in verdict.failed:
                self._take_back(function, verdict.findings)
            doubtful, followed = frozenset(verdict.failed), verdict.followed

    def _tried(self, tried: Mapping[int, Evidence]) -> None:
        """The evidence of a substitution is the trial of the output."""
        owners = {self.substituted[f].named.address: tried.get(f.start) for f in self.substituted}
        found = ((e, owners.get(e.address)) for e in self.edits)
        self.edits = [
            replace(e, evidence=new) if new and e.technique == Substitute.name else e
            for e, new in found
        ]

    def _take_back(self, function: Function, findings: Sequence[str]) -> None:
        own = (f for f in findings if f.startswith((f"{function.name} ", f"{function.name}:")))
        reason = f"not verified: {next(own).partition(': ')[2]}"
        gone = self._techniques_back(function)
        own_edits = (edit for edit in self.edits if edit.routine == function.name)
        self._skip_edits([edit for edit in own_edits if edit.technique in gone], reason)

    def _techniques_back(self, function: Function) -> set[str]:
        """Takes back what was done to a function last; the names of the passes that did it."""
        if self.substituted.pop(function, None):
            return {Substitute.name}
        if self.reordered.pop(function, None):
            return {Schedule.name}
        if self.moved.pop(function, None):
            self._without_room(function, "not verified with its layout")
            return {Align.name}
        self.slots.pop(function, None)
        self.carried.pop(function, None)
        return {made.name for made in (*self.techniques, *self.inserters)}

    def _emit(self) -> bytes:
        """The file with everything in its place.

        In a function that did not move, every instruction that stays keeps its address and a
        dropped one becomes a filler.
        """
        image, target = self.program.image, self.program.target
        data = bytearray(image.data)
        words: dict[int, bytes] = {}
        for function, slots in self.slots.items():
            for address, insn in slots.items() if function not in self.moved else ():
                size = self.program.listing.table.rows[0].format.size
                new = (insn,) if insn is not None else target.fillers(size)
                words[address] = b"".join(map(target.encode, new))
            if function not in self.moved:
                carried = self.carried.get(function, {})
                words.update(rewritten_fixups(self.program, function, carried, int))
        patches: list[Patch] = []
        for moved in self.moved.values():
            words.update(moved.words)
            patches += moved.unwind
        for loops in self.reordered.values():
            for loop in loops:
                words.update((at, target.encode(insn)) for at, insn in loop.words.items())
        for one in self.substituted.values():
            words.update(one.words)
            patches += one.unwind
        for address, word in words.items():
            offset = image.offset_of(address)
            data[offset : offset + len(word)] = word
        tuned = apply(bytes(data), sorted(patches, key=lambda patch: patch.offset))
        bodies = [one.body for one in self.substituted.values() if one.body is not None]
        return with_bodies(image, target, tuned, bodies)

    def proofs(self) -> dict[str, int]:
        """How many equalities were asked for, how many patterns decided, and how."""
        grades = Counter(grade.value for grade in self.prover.decided.values())
        return {
            "asked": self.prover.asked,
            "patterns": self.prover.solved,
            **dict(sorted(grades.items())),
        }


_INSERTERS = (Replay, Prefetch)

_APART = 16
"""Bytes between changes that are recorded as one: a record costs more than the bytes."""


def _id(technique: str, function: Function, address: int) -> str:
    return f"{technique}:{function.name}+{address - function.start:x}"


def _skip(function: Function, addresses: Sequence[int], refused: Refused) -> Skip:
    return Skip(
        refused.technique,
        refused.site.kind,
        function.name,
        addresses[refused.site.slot],
        refused.reason,
    )
