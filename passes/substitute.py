"""A known routine is replaced by the tuned one for the CPU, where it stands or in new room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from passes.lib.steps import Change, OwnPass, Steps
from passes.substitution.pieces import Scattered, Scattering, Spaces
from passes.substitution.weighing import Weighing
from passes.substitution.worth import Worth
from rewriter.contracts import CONTRACTS
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Evidence
from rewriter.core.errors import RetuneError
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import CannotMove, FrameRow, Sequential, Target, Tuned, suited
from rewriter.elf.caves.room import Caves
from rewriter.elf.caves.unwind import Body, replaced
from rewriter.elf.emit import Patch
from rewriter.verify.routines.pieces import placement_at
from rewriter.verify.routines.replaceable import Known, Named
from rewriter.verify.routines.rules import (
    in_pieces,
    objection,
    preconditions,
    room_in_place,
    unwinds_plainly,
)


@dataclass(frozen=True)
class Chosen:
    """A tuned routine that may stand for an old one, what it is worth, and what that rests on.

    `tried` is how the old one behaved.
    """

    function: Function
    named: Named
    routine: Tuned
    worth: Worth
    assumed: tuple[str, ...]
    tried: Evidence


@dataclass(frozen=True)
class Seen:
    """A choice without what it was made from: the routine's number of those that suit, what it
    rests on, and how the old one behaved; and by number what those behind it rest on, None where
    they do not do."""

    number: int
    assumed: tuple[str, ...]
    tried: Evidence
    behind: tuple[tuple[int, tuple[str, ...] | None], ...] = ()


@dataclass(frozen=True)
class Substitution:
    """A tuned routine in its place.

    `words` are new bytes by address, `unwind` patches of the old unwind entry; `body` is code
    outside all functions, None where the routine stands in place of the old one or `scattered`.
    """

    chosen: Chosen
    address: int
    words: dict[int, bytes]
    unwind: tuple[Patch, ...]
    body: Body | None
    scattered: Scattered | None = None

    @property
    def function(self) -> Function:
        """Whose code it replaces."""
        return self.chosen.function

    @property
    def named(self) -> Named:
        """The old routine."""
        return self.chosen.named

    @property
    def routine(self) -> Tuned:
        """The new one."""
        return self.chosen.routine

    @property
    def kind(self) -> str:
        """Where it stands."""
        if self.scattered is not None:
            return "in pieces"
        return "in place" if self.body is None else "in a cave"

    def edit(self, name: str) -> Edit:
        """What is recorded of it, with what is known before the new code was tried."""
        place = "at" if self.address == self.named.address else f"at {self.address:#x}, from"
        return Edit(
            id=name,
            technique=Substitute.name,
            kind=self.kind,
            routine=self.function.name,
            address=self.named.address,
            old=f"{'/'.join(self.named.contracts)} (named by a {self.named.provenance})",
            new=f"{self.routine.folder}/{self.routine.name} {place} {self.named.address:#x}",
            evidence=replace(self.chosen.tried, preconditions=self.chosen.assumed),
            gain=0,
        )


class Substitute(OwnPass):
    """A routine that has a name and behaves like it becomes one that is made for the CPU.

    Before    strlen: <EV4 code>   After    strlen: <EV67 code>, nops behind it
                                   or       strlen: br cave   (at its second entry, too)
                                            cave:   <EV67 code>
    Requires  Every name that the routine has is a contract, and the original keeps it; entered
              inside, the old code stays where it is.  The new code writes no register that a caller
              keeps a value in.  Unwinding finds an entry for every new instruction.  On the CPU's
              model the calls that programs make most (`passes/substitution/worth.py`) take less,
              and none of 0 to 32 bytes, or of some lengths up to 1,500, takes more in the mean over
              alignments, nor a cleared page; in bundled code none of 0 to 16 bytes.
    Proof     None: TESTED.  In the output, code that is byte for byte the tuned routine keeps each
              contract, entered where callers enter it (`rewriter/verify/routines/substituted`);
              sweeps of millions of cases over the routines are part of the tests.

    In place costs nothing; the branch to a cave is one instruction a call.
    """

    name = "substitute"
    change = Change.ROUTINE

    def offered(self, target: Target) -> bool:
        """Where routines can be tried."""
        code = target.sequential
        return target.bundling is not None or (code is not None and code.trials is not None)

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.substitutes()

    def place(self, known: Known, choices: Iterable[Chosen], caves: Caves) -> Substitution:
        """The best routine that has a place, in the best place; CannotMove says why none has."""
        reasons = []
        for chosen in choices:
            try:
                return _placed(known, chosen, caves)
            except CannotMove as reason:
                reasons.append(reason)
        raise reasons[0]

    def scatter(self, known: Known, chosen: Chosen, cpu: Cpu, spaces: Spaces) -> Substitution:
        """The routine in pieces, in its own place and in spaces; CannotMove if they do not do."""
        function, named, routine = chosen.function, chosen.named, chosen.routine
        done = Scattering(known, named, function, routine, cpu, spaces).run()
        address = done.places[routine.entry]
        words = {**done.words, **done.fixups}
        return Substitution(chosen, address, words, (), None, done)

    def chosen(self, known: Known, named: Named, cpu: Cpu) -> Chosen:
        """The routine for an old one, without a place; CannotMove if that one stays."""
        return next(self.choices(known, named, cpu))

    def choices(self, known: Known, named: Named, cpu: Cpu) -> Iterator[Chosen]:
        """The routines for an old one, the best first, without a place; CannotMove if it stays."""
        reasons, found = [], False
        for function, routine, gain in self.behaving(known, named, cpu):
            chosen = _assumed(known, named, function, routine, gain)
            if isinstance(chosen, str):
                reasons.append(chosen)
                continue
            found = True
            yield chosen
        if not found:
            raise CannotMove(reasons[0])

    def behind(self, weighing: Weighing, best: Chosen, caves: Caves) -> list[int]:
        """The numbers of the routines behind the best that have a place."""
        known, named = weighing.known, weighing.named
        every = list(enumerate(_suited(known.program.target, named, weighing.cpu)))
        behind = every[[one for _, one in every].index(best.routine) + 1 :]
        function = best.function
        return [n for n, one in behind if _has_place(known, named, function, one, caves)]

    def another(self, weighing: Weighing, number: int) -> Chosen | None:
        """The routine of a number, if it does the same and gains; it is timed for that."""
        known, named = weighing.known, weighing.named
        routine = _suited(known.program.target, named, weighing.cpu)[number]
        gain = None if known.unlike(named, routine) else weighing.gain(routine)
        if not isinstance(gain, Worth):
            return None
        chosen = _assumed(known, named, weighing.function, routine, gain)
        return chosen if isinstance(chosen, Chosen) else None

    def suited(self, known: Known, address: int, cpu: Cpu) -> int:
        """How many tuned routines are for the known one at an address."""
        try:
            return len(_suited(known.program.target, known.named[address], cpu))
        except CannotMove:
            return 0

    def remade(self, known: Known, named: Named, cpu: Cpu, seen: Seen) -> Chosen:
        """What another process chose: nothing is tried and timed again."""
        function, target = known.program.function_at(named.address), known.program.target
        assert function is not None, "it was chosen for one"
        routine = _suited(target, named, cpu)[seen.number]
        gain = Weighing(known, named, function, cpu).worth(routine)
        return Chosen(function, named, routine, gain, seen.assumed, seen.tried)

    def seen(self, known: Known, chosen: Chosen, cpu: Cpu) -> Seen:
        """A choice as other processes are told of it."""
        candidates = _suited(known.program.target, chosen.named, cpu)
        return Seen(candidates.index(chosen.routine), chosen.assumed, chosen.tried)

    def behaving(
        self, known: Known, named: Named, cpu: Cpu
    ) -> Iterator[tuple[Function, Tuned, Worth]]:
        """The function of a routine that was tried, and better ones; CannotMove if it stays."""
        target, function = known.program.target, known.program.function_at(named.address)
        if function is None:
            raise CannotMove("in no function")
        if named.cpus and cpu.name not in named.cpus:
            raise CannotMove(f"another variant is picked on {cpu.name}")
        candidates = _suited(target, named, cpu)
        if _is_tuned(known, named):
            raise CannotMove("a tuned routine already")
        reason = objection(known, named, function)
        if reason:
            raise CannotMove(reason)
        for routine, gain in _better(known, named, function, candidates, cpu):
            yield function, routine, gain


_Placed = tuple[dict[int, bytes], tuple[Patch, ...], Body | None]


def _is_tuned(known: Known, named: Named) -> bool:
    """Whether a tuned routine stands there, or where control goes at once."""
    image, target = known.program.image, known.program.target
    if in_pieces(known):
        routines = (r for name in named.contracts for r in target.routines(name))
        return any(placement_at(image, target, r, named.address) is not None for r in routines)
    insn = known.program.listing.insn(known.program.listing.index(named.address))
    goal = target.table.leads(insn, named.address) if insn else None
    for routine in (r for name in named.contracts for r in target.routines(name)):
        start = (named.address if goal is None else goal) - routine.entry
        inside = image.is_mapped(start) and image.is_mapped(start + len(routine.code) - 1)
        if inside and image.read(start, len(routine.code)) == routine.code:
            return True
    return False


def _suited(target: Sequential, named: Named, cpu: Cpu) -> list[Tuned]:
    """The routines for the CPU that are made for some contract of the old one, the best first."""
    try:
        found = [routine for name in named.contracts for routine in suited(target, name, cpu)]
    except RetuneError as missing:  # an assembler that not every machine has
        raise CannotMove(str(missing)) from missing
    if not found:
        raise CannotMove(f"no tuned routine for {cpu.name}")
    return found


def _better(
    known: Known, named: Named, function: Function, candidates: Sequence[Tuned], cpu: Cpu
) -> Iterator[tuple[Tuned, Worth]]:
    """Those of some routines that do in every case what the old one does, and gain; CannotMove if
    none does."""
    reasons, weighing = [], Weighing(known, named, function, cpu)
    for routine in candidates:
        if reason := known.unlike(named, routine):
            reasons.append(f"no tuned routine does the same: {reason}")
            continue
        gain = weighing.gain(routine)
        if isinstance(gain, str):
            reasons.insert(0, gain)
            continue
        yield routine, gain
    if len(reasons) == len(candidates):
        raise CannotMove(reasons[0])


def _assumed(
    known: Known, named: Named, function: Function, routine: Tuned, gain: Worth
) -> Chosen | str:
    """A tuned routine with what it rests on, or why it cannot be taken."""
    assumed = preconditions(known, named, function, routine)
    if isinstance(assumed, str):
        return assumed
    old = known.outcome(named, CONTRACTS[named.contracts[0]])
    assert not isinstance(old, str), "it behaves"
    return Chosen(function, named, routine, gain, assumed, old.evidence)


def _has_place(
    known: Known, named: Named, function: Function, routine: Tuned, caves: Caves
) -> bool:
    """Whether a routine may stand in place of the old one or in a cave."""
    target = known.program.target
    if _in_place(known, named, function, routine, target.frame_rows(routine.code)) is not None:
        return True
    plain = unwinds_plainly(known, named, function)
    return plain and caves.has(len(routine.code), target.alignment)


def _placed(known: Known, chosen: Chosen, caves: Caves) -> Substitution:
    """A routine where the old one stands, or else in a cave; CannotMove if it has no place."""
    named, function, routine = chosen.named, chosen.function, chosen.routine
    rows = known.program.target.frame_rows(routine.code)
    found = _in_place(known, named, function, routine, rows)
    if found is None:
        found = _in_cave(known, named, function, routine, rows, caves)
    words, unwind, body = found
    address = body.address if body is not None else named.address
    return Substitution(chosen, address, words, unwind, body)


def _in_place(
    known: Known, named: Named, function: Function, routine: Tuned, rows: tuple[FrameRow, ...]
) -> _Placed | None:
    """The routine over the old one, with nops up to the next function; None if it cannot be."""
    target, room = known.program.target, room_in_place(known, named, function)
    if len(routine.code) > room or routine.entry:
        return None
    frame = known.program.frames.get(function.start)
    patches: tuple[Patch, ...] = ()
    if frame is not None:
        end = max(frame.end, function.start + len(routine.code))
        made = replaced(frame, rows, end)
        if made is None:
            return None
        patches = made
    rest = target.nops(room - len(routine.code))
    code = routine.code + b"".join(map(target.encode, rest))
    return {named.address: code}, patches, None


def _in_cave(
    known: Known,
    named: Named,
    function: Function,
    routine: Tuned,
    rows: tuple[FrameRow, ...],
    caves: Caves,
) -> _Placed:
    """The routine elsewhere, and branches to it where the old one is entered."""
    target, frame = known.program.target, known.program.frames.get(function.start)
    if not unwinds_plainly(known, named, function):
        raise CannotMove("unwinds otherwise where it is entered")
    address = caves.take(len(routine.code), target.alignment)
    if address is None:
        raise CannotMove("no room")
    entry = address + routine.entry
    words = {at: target.branch(at, entry) for at in known.entries(named)}
    body = Body(address, routine.code, rows, None if frame is None else frame.cie)
    return words, (), body
