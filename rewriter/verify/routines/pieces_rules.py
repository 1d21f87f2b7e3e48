"""What is asked of routines in pieces, beside their code and behaviour, of the two files alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.target.protocol import Tuned
from rewriter.elf.gap import covering, freed, text_gap
from rewriter.elf.image import Image
from rewriter.verify.routines.pieces import Placement, placement_at
from rewriter.verify.routines.replaceable import Known, Named
from rewriter.verify.routines.rules import room_in_place


@dataclass(frozen=True)
class Replaced:
    """A routine of the original whose new code was recognised; `address` is where that stands.

    `placement` says where its pieces are, in a kernel.
    """

    function: Function
    named: Named
    routine: Tuned
    address: int
    placement: Placement | None = None

    @property
    def in_place(self) -> bool:
        """Whether it stands where the old one stood."""
        return self.address == self.named.address

    @property
    def end(self) -> int:
        """The address behind the new code."""
        return self.address + len(self.routine.code)


@dataclass(frozen=True)
class Pieces:
    """Looks at the new file `image` for a program."""

    program: Program
    known: Known
    image: Image

    def placed(self, named: Named, routine: Tuned) -> Placement | None:
        """Where a tuned routine is that stands for an old one, with the ways from every entry."""
        found = self._at(routine, named.address)
        if found is None:
            return None
        others = (self._at(routine, entry) for entry in self.known.entries(named))
        same = (o.ways for o in others if o is not None and o.places == found.places)
        return replace(found, ways=found.ways.union(*same))

    def _at(self, routine: Tuned, entry: int) -> Placement | None:
        return placement_at(self.image, self.program.target, routine, entry)

    def odd_ways(self, named: Named, placement: Placement, routine: Tuned) -> Iterator[str]:
        """Every entry must lead to the same pieces."""
        for entry in self.known.entries(named):
            other = self._at(routine, entry)
            if other is None or other.places != placement.places:
                yield f"entered at {entry:#x} it is something else"
        image = self.program.image
        if not freed(image, named.address) and any(freed(image, at) for at in placement.addresses):
            yield "pieces of it are in memory that is given back"

    def odd_words(self, named: Named, function: Function, owned: Collection[int]) -> Iterator[str]:
        """Changed words of the old place are pieces, ways to them, or nops where it is given up.

        Where something else enters the old code, that stays but for the ways.
        """
        target, step = self.program.target, self.program.target.table.size
        room, ways = room_in_place(self.known, named, function), self.known.entries(named)
        nops = {target.encode(insn) for insn in target.nops(step)}
        for at in range(function.start, max(function.end, named.address + room), step):
            new, old = self.image.read(at, step), self.program.image.read(at, step)
            given_up = bool(room) and (at in owned or new in nops)
            if new != old and not given_up and not (at in ways and at in owned):
                yield f"a word is neither the old one nor the new routine's at {at:#x}"

    def gap(self, owned: Collection[int]) -> set[int]:
        """File offsets of pieces behind the text, and of the section header that covers them."""
        gap = text_gap(self.program.image)
        step = self.program.target.table.size
        inside = [at for at in owned if gap is not None and gap.start <= at < gap.end]
        if gap is None or not inside:
            return set()
        found = {self.program.image.offset_of(at) + n for at in inside for n in range(step)}
        offset, record = covering(self.program.image, gap, max(inside) + step)
        if self.image.data[offset : offset + len(record)] == record:
            found.update(range(offset, offset + len(record)))
        return found

    def owned(self, replaced: Iterable[Replaced]) -> frozenset[int]:
        """The addresses of the words of all routines in pieces."""
        placed = (one.placement for one in replaced)
        return frozenset(at for one in placed if one is not None for at in one.addresses)

    def accesses(self, replaced: Iterable[Replaced]) -> dict[int, Function | None]:
        """Where routines in pieces may fault; with the function that is given up for each."""
        found: dict[int, Function | None] = {}
        for one in replaced:
            if one.placement is not None:
                stays = not room_in_place(self.known, one.named, one.function)
                for at, _ in one.routine.resumes:
                    found[one.placement.places[at]] = None if stays else one.function
        return found
