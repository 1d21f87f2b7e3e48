"""A known routine is replaced by the tuned one for the CPU, where it stands or in new room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from passes.lib.pieces import Scattered, Scattering, Spaces
from passes.lib.steps import Change, OwnPass, Steps
from rewriter.contracts import CONTRACTS
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
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
    """A tuned routine that may stand for an old one; `assumed` is what that rests on."""

    function: Function
    named: Named
    routine: Tuned
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class Substitution:
    """A tuned routine in its place.

    `words` are new bytes by address, `unwind` patches of the old unwind entry; `body` is code
    outside all functions, None where the routine stands in place of the old one or `scattered`.
    """

    function: Function
    named: Named
    routine: Tuned
    address: int
    words: dict[int, bytes]
    unwind: tuple[Patch, ...]
    body: Body | None
    assumed: tuple[str, ...]
    scattered: Scattered | None = None

    @property
    def kind(self) -> str:
        """Where it stands."""
        if self.scattered is not None:
            return "in pieces"
        return "in place" if self.body is None else "in a cave"

    def edit(self, name: str, known: Known) -> Edit:
        """What is recorded of it, with what is known before the new code was tried."""
        old = known.outcome(self.named, CONTRACTS[self.named.contracts[0]])
        assert not isinstance(old, str)
        place = "at" if self.address == self.named.address else f"at {self.address:#x}, from"
        return Edit(
            id=name,
            technique=Substitute.name,
            kind=self.kind,
            routine=self.function.name,
            address=self.named.address,
            old=f"{'/'.join(self.named.contracts)} (named by a {self.named.provenance})",
            new=f"{self.routine.folder}/{self.routine.name} {place} {self.named.address:#x}",
            evidence=replace(old.evidence, preconditions=self.assumed),
            gain=0,
        )


class Substitute(OwnPass):
    """A routine that has a name and behaves like it becomes one that is made for the CPU.

    Before    strlen: <EV4 code>   After    strlen: <EV67 code>, nops behind it
                                   or       strlen: br cave   (at its second entry, too)
                                            cave:   <EV67 code>
    Requires  Every name that the routine has is a contract, and the original keeps it; entered
              inside, the old code stays where it is.  The new code writes no register that a
              caller keeps a value in.  Unwinding finds an entry for every new instruction.
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
        steps.substitutes(self)

    def place(self, known: Known, named: Named, cpu: Cpu, caves: Caves) -> Substitution:
        """The routine in the best place that there is; CannotMove says why there is none."""
        chosen = self.chosen(known, named, cpu)
        function, routine, assumed = chosen.function, chosen.routine, chosen.assumed
        rows = known.program.target.frame_rows(routine.code)
        found = _in_place(known, named, function, routine, rows)
        if found is None:
            found = _in_cave(known, named, function, routine, rows, caves)
        words, unwind, body = found
        address = body.address if body is not None else named.address
        return Substitution(function, named, routine, address, words, unwind, body, assumed)

    def scatter(self, known: Known, chosen: Chosen, cpu: Cpu, spaces: Spaces) -> Substitution:
        """The routine in pieces, in its own place and in spaces; CannotMove if they do not do."""
        function, named, routine = chosen.function, chosen.named, chosen.routine
        done = Scattering(known, named, function, routine, cpu, spaces).run()
        address = done.places[routine.entry]
        words = {**done.words, **done.fixups}
        return Substitution(
            function, named, routine, address, words, (), None, chosen.assumed, done
        )

    def chosen(self, known: Known, named: Named, cpu: Cpu) -> Chosen:
        """The routine for an old one, without a place; CannotMove if that one stays."""
        function, routine = self.behaving(known, named, cpu)
        assumed = preconditions(known, named, function, routine)
        if isinstance(assumed, str):
            raise CannotMove(assumed)
        return Chosen(function, named, routine, assumed)

    def behaving(self, known: Known, named: Named, cpu: Cpu) -> tuple[Function, Tuned]:
        """The function of a routine that was tried, and a better one; CannotMove if it stays."""
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
        return function, _like(known, named, candidates)


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


def _like(known: Known, named: Named, candidates: Sequence[Tuned]) -> Tuned:
    """The best of some routines that does in every case what the old one does."""
    reasons = []
    for routine in candidates:
        reason = known.unlike(named, routine)
        if not reason:
            return routine
        reasons.append(reason)
    raise CannotMove(f"no tuned routine does the same: {reasons[0]}")


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
