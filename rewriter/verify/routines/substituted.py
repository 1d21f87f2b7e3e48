"""Whether new code in a file is a known routine in tuned form, and all around it is in order.

Taken from the original alone: which routines it has, that they behave, what callers rely on.
Taken from the new file alone: its bytes.  New code must be, byte for byte, a tuned routine with a
contract of the old one, and keep that contract when it is entered where callers enter it.  The
file's new parts must be what they must be for that code: section headers, the grown segment and
unwind tables are built again and compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from rewriter.analysis.program import Program
from rewriter.contracts import CONTRACTS, Contract
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.errors import BadInput
from rewriter.core.target.protocol import CannotMove, Tuned
from rewriter.elf.caves.build import parts_for, room_of
from rewriter.elf.caves.sections import FRAMES, TEXT, Part, grow, new_parts
from rewriter.elf.caves.unwind import Body
from rewriter.elf.headers import read_headers
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries
from rewriter.elf.unwind.rows import rows as rows_of
from rewriter.verify.routines.pieces_rules import Pieces, Replaced
from rewriter.verify.routines.replaceable import CASES, Known, Named
from rewriter.verify.routines.rules import (
    in_pieces,
    objection,
    preconditions,
    room_in_place,
    unwinds_plainly,
)
from rewriter.verify.routines.trial import Trials, Untried
from rewriter.verify.routines.unwind import plain_records, table_problems, wanted_rules


@dataclass(frozen=True)
class Substituted:
    """The new parts of a file and the routines in them; `data` is the whole new file."""

    program: Program
    known: Known
    data: bytes

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is new in the room behind the code."""
        room = room_of(self.program.image, self.program.target)
        same = len(self.data) == len(self.program.image.data)
        return () if room is None or same else new_parts(self.data, room, self.program.image.name)

    def baseline(self) -> bytes | None:
        """The original with the new parts and what they need: where the rest must agree.

        None when the new file has another length for other reasons.
        """
        image = self.program.image
        room = room_of(image, self.program.target)
        if not self.parts or room is None:
            return image.data if len(self.data) == len(image.data) else None
        try:
            grown = grow(image.data, room, self.parts, image.name)
        except (BadInput, IndexError, ValueError):
            return None
        return grown if len(grown) == len(self.data) else None

    @cached_property
    def image(self) -> Image:
        """The new file as it is loaded; symbols and relocations are the original's."""
        headers = read_headers(self.data, self.program.image.name)
        return replace(
            self.program.image,
            data=self.data,
            sections=headers.sections,
            segments=headers.segments,
        )

    # Routines -----------------------------------------------------------------------------

    def of(self, function: Function) -> Replaced | None:
        """The substitution in a changed function, if its new code is a tuned routine."""
        for named in self.known.within(function):
            found = self._at(function, named)
            if found is not None:
                return found
        return None

    def strange(self, function: Function) -> bool:
        """Whether a routine in a function leads to new code that no tuned routine is."""
        away = any(self._goal(named) is not None for named in self.known.within(function))
        return away and self.of(function) is None

    def _at(self, function: Function, named: Named) -> Replaced | None:
        if in_pieces(self.known):
            return self._in_pieces(function, named)
        goal = self._goal(named)
        entry = named.address if goal is None else goal
        for routine in self._routines(named):
            start = entry - routine.entry
            if self._holds(start, routine.code) and (goal is not None or not routine.entry):
                return Replaced(function, named, routine, start)
        return None

    def _in_pieces(self, function: Function, named: Named) -> Replaced | None:
        for routine in self._routines(named):
            found = self.scattered.placed(named, routine)
            if found is not None:
                entry = found.places[routine.entry]
                return Replaced(function, named, routine, entry, found)
        return None

    def _goal(self, named: Named) -> int | None:
        """Where a routine's first instruction goes, if that is in the new code."""
        table = self.program.target.table
        word = self.image.read(named.address, table.size)
        insn = table.decode(int.from_bytes(word, self.program.image.byteorder))
        goal = table.leads(insn, named.address) if insn else None
        texts = (part for part in self.parts if part.name == TEXT)
        if goal is None or not any(part.address <= goal < part.end for part in texts):
            return None
        return goal

    def _routines(self, named: Named) -> Iterator[Tuned]:
        for name in named.contracts:
            yield from self.program.target.routines(name)

    def _holds(self, address: int, code: bytes) -> bool:
        try:
            return self.image.read(address, len(code)) == code
        except BadInput:
            return False

    # One routine --------------------------------------------------------------------------

    def problems(self, replaced: Replaced) -> Iterator[str]:
        """What speaks against a substitution, without running it."""
        known, named, function = self.known, replaced.named, replaced.function
        reason = objection(known, named, function)
        if reason:
            yield reason
        assumed = preconditions(known, named, function, replaced.routine)
        if isinstance(assumed, str):
            yield assumed
        if replaced.placement is not None:
            yield from self.scattered.odd_ways(replaced.named, replaced.placement, replaced.routine)
            yield from self._odd_rows(replaced)
            return
        if replaced.in_place:
            if len(replaced.routine.code) > room_in_place(known, named, function):
                yield "the new code has no room in the old one's place"
        else:
            if not unwinds_plainly(known, named, function):
                yield "unwinds otherwise where it is entered"
            if replaced.address % self.program.target.alignment:
                yield "the new code stands on no boundary"
        yield from self._odd_words(replaced)
        yield from self._odd_rows(replaced)

    def _odd_words(self, replaced: Replaced) -> Iterator[str]:
        """Changed words of the function must be the new code, its nops, or the way to it."""
        wanted = self._wanted(replaced)
        function, step = replaced.function, self.program.target.table.size
        end = max([function.end, *(at + step for at in wanted)])
        for at in range(function.start, end, step):
            new, old = self.image.read(at, step), self.program.image.read(at, step)
            if new != wanted.get(at, old):
                yield f"a word is neither the old one nor the new routine's at {at:#x}"

    def _wanted(self, replaced: Replaced) -> dict[int, bytes]:
        """What words of the function must be."""
        target, named = self.program.target, replaced.named
        if not replaced.in_place:
            entry = replaced.address + replaced.routine.entry
            try:
                return {at: target.branch(at, entry) for at in self.known.entries(named)}
            except CannotMove:
                return dict.fromkeys(self.known.entries(named), b"")
        step = target.table.size
        room = room_in_place(self.known, named, replaced.function)
        rest = target.nops(max(0, room - len(replaced.routine.code)))
        code = replaced.routine.code + b"".join(map(target.encode, rest))
        return {named.address + at: code[at : at + step] for at in range(0, len(code), step)}

    def _odd_rows(self, replaced: Replaced) -> Iterator[str]:
        """The old unwind entry must fit the code that stands there now."""
        old = self.program.frames.get(replaced.function.start)
        new = self.frames.get(replaced.function.start)
        if old is None:
            return
        if new is None or new.lsda != old.lsda or new.cie != old.cie:
            yield "its unwind entry is gone"
        elif not replaced.in_place or replaced.placement is not None:
            if (new.end, rows_of(new)) != (old.end, rows_of(old)):
                yield "its unwind entry changed"
        elif new.end != max(old.end, replaced.end):
            yield "its unwind entry covers something else"
        elif rows_of(new) != wanted_rules(self.program, new, new.start, replaced.routine.code):
            yield "its unwind rows are not those of the new code"

    @cached_property
    def frames(self) -> Mapping[int, entries.Fde]:
        """The unwind entries of the new file by where they start."""
        new = replace(self.program.image, data=self.data)
        return entries.frames_again(new, self.program.frames)

    def accounted(self, replaced: Collection[Replaced]) -> set[int]:
        """File offsets outside functions that were compared for substitutions."""
        image, found = self.program.image, self.scattered.gap(self.scattered.owned(replaced))
        for one in replaced:
            if one.placement is not None or one.in_place:
                first = image.offset_of(one.named.address)
                room = room_in_place(self.known, one.named, one.function)
                found.update(range(first, first + room))
            frame = self.program.frames.get(one.function.start)
            if frame is not None:
                found.update(range(frame.location_offset, frame.instructions[1]))
        return found

    def trial(self, replaced: Replaced) -> Evidence | str:
        """Runs the new code in the new file, from each entry, as the old was run in the old file.

        In every case of every contract it must give what the old code gave.
        """
        cases, ways = 0, set[str]()
        assumed = preconditions(self.known, replaced.named, replaced.function, replaced.routine)
        for entry in self.known.entries(replaced.named):
            for name in replaced.named.contracts:
                outcome = self._like(entry, replaced.named, CONTRACTS[name])
                if isinstance(outcome, str):
                    return f"the new code is not like the old {name}: {outcome}"
                cases, ways = cases + outcome.cases, ways | {outcome.detail}
        given = assumed if isinstance(assumed, tuple) else ()
        return Evidence(Grade.TESTED, given, cases=cases, detail=", ".join(sorted(ways)))

    def _like(self, entry: int, named: Named, contract: Contract) -> Evidence | str:
        original = self.known.outcome(named, contract)
        if isinstance(original, str):
            return original
        size = self.program.target.table.size
        try:
            return self._trials.like(entry, size, contract, CASES, original)
        except Untried as reason:
            return str(reason)

    @cached_property
    def _trials(self) -> Trials:
        target = self.program.target
        resumes = {
            f.access: f.resume for f in target.tables.exceptions.read(self.image) if not f.sets
        }
        return Trials(self.image, target, resumes=resumes)

    @cached_property
    def scattered(self) -> Pieces:
        """What is asked of a routine in pieces."""
        return Pieces(self.program, self.known, self.image)

    # All of them --------------------------------------------------------------------------

    def whole(self, replaced: Iterable[Replaced]) -> Iterator[str]:
        """What is wrong with the new parts, given the routines that lead into them."""
        moved = sorted({r.address: r for r in replaced if not r.in_place}.values(), key=_address)
        if not self.parts:
            return
        if not moved:
            yield "new code that nothing leads to"
            return
        bodies = [self._body(one) for one in moved]
        if list(self.parts) != parts_for(self.program.image, self.program.target, bodies):
            yield "the new sections hold more or less than what is for the new code"
            return
        yield from self._unwinding(moved)

    def _body(self, one: Replaced) -> Body:
        frame = self.program.frames.get(one.function.start)
        rows = self.program.target.frame_rows(one.routine.code)
        return Body(one.address, one.routine.code, rows, None if frame is None else frame.cie)

    def _unwinding(self, moved: list[Replaced]) -> Iterator[str]:
        """As an unwinder reads them: entries describe the new code, the table leads to all."""
        frames = self.program.frames
        wanted = [one for one in moved if one.function.start in frames]
        part = next((part for part in self.parts if part.name == FRAMES), None)
        if part is None:
            if wanted:
                yield "the new code has no unwind entries"
            return
        try:
            new = plain_records(self.image, part)
            yield from table_problems(self.program, self.image, part, new)
        except BadInput as error:
            yield str(error)
            return
        if [(f.start, f.end) for f in new] != [(one.address, one.end) for one in wanted]:
            yield "new unwind entries cover something else than the new code"
            return
        for frame, one in zip(new, wanted, strict=True):
            like = frames[one.function.start]
            rules = wanted_rules(self.program, frame, one.address, one.routine.code, like)
            if rows_of(frame) != rules or frame.lsda is not None:
                yield f"the unwind entry of {one.address:#x} is not that of the new code"


def _address(replaced: Replaced) -> int:
    return replaced.address
