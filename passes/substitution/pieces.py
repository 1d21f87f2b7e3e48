"""A tuned routine in pieces: where a kernel has room, no piece is too small to be used."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from rewriter.core.code.program import Fixup, Function
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import CannotMove, Sequential, Tuned
from rewriter.verify.routines.pieces import Piece, cuts, insns_of, pieces
from rewriter.verify.routines.replaceable import Known, Named
from rewriter.verify.routines.rules import room_in_place

_SHORTEST = 64  # bytes in front of a cut: the branch to the rest should be seldom


@dataclass(frozen=True, slots=True)
class Space:
    """Addresses [start, end) that control does not come to, in `host` or in no function."""

    start: int
    end: int
    host: Function | None

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start


@dataclass
class Spaces:
    """What is free, by size: the smallest space that fits is used, of several the first."""

    free: list[Space] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free.sort(key=_by_size)

    def take(
        self, size: int, phase: int, block: int, fits: Callable[[int], bool]
    ) -> tuple[int, Function | None] | None:
        """A place for `size` bytes that is `phase` modulo `block`, and whose it was."""
        for number in range(bisect_left(self.free, (size, 0), key=_by_size), len(self.free)):
            space = self.free[number]
            at = space.start + (phase - space.start) % block
            if at + size <= space.end and fits(at):
                del self.free[number]
                self.give(replace(space, end=at))
                self.give(replace(space, start=at + size))
                return at, space.host
        return None

    def give(self, space: Space) -> None:
        """More that is free."""
        if space.size > 0:
            insort(self.free, space, key=_by_size)


def _by_size(space: Space) -> tuple[int, int]:
    return space.size, space.start


@dataclass(frozen=True)
class Scattered:
    """A routine in its places.

    `words` is what stands where the old one stood, `code` the pieces, `fixups` exception entries;
    all of it by address.  `hosts` are functions whose room it uses, `given_up` is how many bytes of
    its own place it had.
    """

    places: dict[int, int]
    words: dict[int, bytes]
    code: dict[int, bytes]
    fixups: dict[int, bytes]
    hosts: frozenset[Function]
    given_up: int


@dataclass
class Scattering:
    """Puts the pieces of one routine into spaces; raises CannotMove where they do not fit."""

    known: Known
    named: Named
    function: Function
    routine: Tuned
    cpu: Cpu
    spaces: Spaces

    def __post_init__(self) -> None:
        program = self.known.program
        self.target: Sequential = program.target
        self.insns = insns_of(self.target, self.routine.code, program.image.byteorder)
        self.pieces = pieces(self.routine, self.target, program.image.byteorder)
        self.resumes = dict(self.routine.resumes)
        self.places: dict[int, int] = {}
        self.block = self.cpu.fetch_block.value
        self.ways: dict[int, int] = {}
        self.hosts: set[Function] = set()

    def run(self) -> Scattered:
        """Everything in its place; the spaces are as they were when it does not fit."""
        before = list(self.spaces.free)
        try:
            return self._run()
        except CannotMove:
            self.spaces.free = before
            raise

    def _run(self) -> Scattered:
        own = room_in_place(self.known, self.named, self.function)
        if own:
            self._own(own)
        waiting = [p for p in sorted(self.pieces, key=self._order) if p.offset not in self.places]
        while waiting:
            piece = waiting.pop(0)
            if not self._put(piece, piece.size):
                waiting.insert(0, self._cut(piece))
        code = self._code()
        words = self._ways(own)
        fixups = self._fixups(own)
        hosts = frozenset(self.hosts - {self.function})
        return Scattered(self.places, words, code, fixups, hosts, own)

    def _order(self, piece: Piece) -> tuple[bool, bool, int]:
        """Where faults resume comes first, because that is near; then what may fault."""
        inside = range(piece.offset, piece.offset + piece.size)
        resumed = any(to in inside for to in self.resumes.values())
        return not resumed, not any(at in inside for at in self.resumes), -piece.size

    def _own(self, size: int) -> None:
        """The old routine's place: the piece that is entered goes there, or a way to it."""
        start, first = self.named.address, self._piece(self.routine.entry)
        step = self.target.table.size
        if first.offset == self.routine.entry and first.size <= size:
            self._at(first, start)
            step = first.size
        self.spaces.give(Space(start + step, start + size, self.function))

    def _piece(self, offset: int) -> Piece:
        return next(p for p in self.pieces if p.offset <= offset < p.offset + p.size)

    def _put(self, piece: Piece, size: int) -> bool:
        """Takes `size` bytes for a piece; whether there are."""
        phase = piece.offset % self.block
        found = self.spaces.take(size, phase, self.block, lambda at: self._fits(piece, at))
        if found is None:
            return False
        at, host = found
        if host is not None:
            self.hosts.add(host)
        self._at(piece, at)
        return True

    def _cut(self, piece: Piece) -> Piece:
        """Puts as much of a piece as there is room for, with a branch to the rest; the rest."""
        step = self.target.table.size
        for at in cuts(piece, self.insns, self.block):
            front = Piece(piece.offset, at - piece.offset)
            if front.size >= _SHORTEST and self._put(front, front.size + step):
                self.ways[self.places[at - step] + step] = at
                return Piece(at, piece.offset + piece.size - at)
        raise CannotMove("no room")

    def _at(self, piece: Piece, address: int) -> None:
        for offset in range(piece.offset, piece.offset + piece.size):
            if offset in self.insns:
                self.places[offset] = address + offset - piece.offset

    def _fits(self, piece: Piece, address: int) -> bool:
        """Whether branches and exception entries reach from and to a place."""
        try:
            for other in (self.named.address, *self._ends()):
                for here in (address, address + piece.size):
                    self.target.branch(here, other)
                    self.target.branch(other, here)
            inside = range(piece.offset, piece.offset + piece.size)
            placed = self.places | {at: address + at - piece.offset for at in inside}
            for at, to in self.resumes.items():
                if (at in inside or to in inside) and at in placed and to in placed:
                    self.target.tables.exceptions.entry(
                        Fixup(placed[at], placed[at], placed[to], ())
                    )
        except CannotMove:
            return False
        return True

    def _ends(self) -> Iterable[int]:
        if self.places:
            yield min(self.places.values())
            yield max(self.places.values())

    # Bytes --------------------------------------------------------------------------------

    def _code(self) -> dict[int, bytes]:
        """The instructions at their addresses."""
        offsets = sorted(self.places)
        whole = Function(0, len(self.routine.code), self.routine.name, "")
        items = [(offset, self.insns[offset]) for offset in offsets]
        moved = self.target.moved(items, whole, {}, self.places.__getitem__)
        encoded = zip(offsets, map(self.target.encode, moved), strict=True)
        on = {at: self.target.branch(at, self.places[to]) for at, to in self.ways.items()}
        return {self.places[offset]: word for offset, word in encoded} | on

    def _ways(self, own: int) -> dict[int, bytes]:
        """What stands where the routine is entered, and nops in the rest of its own place."""
        entry, start = self.places[self.routine.entry], self.named.address
        step = self.target.table.size
        nop = b"".join(map(self.target.encode, self.target.nops(step)))
        words = dict.fromkeys(range(start, start + own, step), nop)
        ways = self.known.entries(self.named) if entry != start else ()
        return words | {at: self.target.branch(at, entry) for at in ways}

    def _fixups(self, own: int) -> dict[int, bytes]:
        """Entries of the exception table: the old routine's become the new one's, or dead."""
        old = self.known.program.fixups_of(self.function) if own else []
        found = {fixup.entry: self.target.tables.exceptions.dead(fixup.entry) for fixup in old}
        accesses = sorted((self.places[at], self.places[to]) for at, to in self.resumes.items())
        for entry, (at, to) in zip(sorted(found), accesses, strict=False):
            found[entry] = self.target.tables.exceptions.entry(Fixup(entry, at, to, ()))
        return found
