"""A routine in pieces: each stretch of it that control does not fall out of may stand anywhere.

A stretch ends at a return or a branch that is always taken, so pieces need no instruction more;
where it is cut elsewhere, a branch at the cut leads on.  Only how far branches go depends on where
pieces stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rewriter.core.isa.instruction import AWAY, Flow, Insn
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.protocol import Sequential, Tuned
from rewriter.elf.image import Image


@dataclass(frozen=True, slots=True)
class Piece:
    """Instructions of a routine that stand together: from `offset` bytes in, `size` bytes."""

    offset: int
    size: int


def insns_of(target: Sequential, code: bytes, order: ByteOrder) -> dict[int, Insn]:
    """A routine's instructions by offset."""
    size = target.table.size
    words = {at: int.from_bytes(code[at : at + size], order) for at in range(0, len(code), size)}
    decoded = ((at, target.table.decode(word)) for at, word in words.items())
    return {at: insn for at, insn in decoded if insn is not None}


def reached(routine: Tuned, insns: Mapping[int, Insn]) -> set[int]:
    """The offsets that control comes to, after faults too."""
    resumes = dict(routine.resumes)
    seen, queue = set[int](), [routine.entry]
    while queue:
        at = queue.pop()
        if at in seen:
            continue
        seen.add(at)
        queue += _after(at, insns[at])
        queue += [resumes[at]] if at in resumes else []
    return seen


def _after(at: int, insn: Insn) -> Iterator[int]:
    goal = insn.target(at)
    if goal is not None:
        yield goal
    if insn.op.flow not in AWAY:
        yield at + insn.size


def pieces(routine: Tuned, target: Sequential, order: ByteOrder) -> tuple[Piece, ...]:
    """The pieces of a routine in its order, without what control does not come to."""
    insns = insns_of(target, routine.code, order)
    offsets = sorted(reached(routine, insns))
    found, first = [], offsets[0]
    for at, following in zip(offsets, [*offsets[1:], -1], strict=True):
        end = at + insns[at].size
        if following != end or insns[at].op.flow in AWAY:
            found.append(Piece(first, end - first))
            first = following
    return tuple(found)


def cuts(piece: Piece, insns: Mapping[int, Insn], block: int) -> list[int]:
    """Offsets at which a piece may be cut: on fetch blocks, in no loop; the last first."""
    loops = [
        (goal, at)
        for at, insn in insns.items()
        if (goal := insn.target(at)) is not None and goal <= at
    ]
    inside = range(piece.offset + block - piece.offset % block, piece.offset + piece.size, block)
    worth = (at for at in reversed(inside) if insns[at].op.flow not in AWAY)
    return [at for at in worth if not any(low < at <= high for low, high in loops)]


Read = Callable[[int], Insn | None]
"""The instruction at an address of a file; None where there is none."""


@dataclass(frozen=True)
class Placement:
    """Where a routine is in a file: `places` by offset; `ways` are branches that only lead on."""

    places: Mapping[int, int]
    ways: frozenset[int]

    @property
    def addresses(self) -> set[int]:
        """The address of each of its instructions, and of each branch that leads to it."""
        return {*self.places.values(), *self.ways}


def placement_at(image: Image, target: Sequential, routine: Tuned, entry: int) -> Placement | None:
    """Where a routine is in an image, by the exception table of that; None if it is another."""
    size = target.table.size

    def read(at: int) -> Insn | None:
        if not image.is_mapped(at):
            return None
        return target.table.decode(int.from_bytes(image.read(at, size), image.byteorder))

    resumes = (
        {f.access: f.resume for f in target.tables.exceptions.read(image)}
        if routine.resumes
        else {}
    )
    return placement(target, routine, image.byteorder, entry, read, resumes)


def placement(
    target: Sequential,
    routine: Tuned,
    order: ByteOrder,
    entry: int,
    read: Read,
    resumes: Mapping[int, int],
) -> Placement | None:
    """Follows a routine through a file from where it is entered; None if it is another one.

    `resumes` says where control goes on when the access at an address faults.
    """
    insns, faults = insns_of(target, routine.code, order), dict(routine.resumes)
    places, ways, queue = dict[int, int](), set[int](), [(routine.entry, entry)]
    while queue:
        offset, at = queue.pop()
        old, new = insns[offset], read(at)
        goal = target.table.leads(new, at) if new is not None else None
        if goal is not None and old.op.flow is not Flow.JUMP:
            ways.add(at)
            at, new = goal, read(goal)
        if offset in places:
            if places[offset] != at:
                return None
            continue
        if new is None or old.op is not new.op or old.placeless != new.placeless:
            return None
        places[offset] = at
        queue += zip(_after(offset, old), _after(at, new), strict=True)
        if offset in faults:
            if at not in resumes:
                return None
            queue.append((faults[offset], resumes[at]))
    apart = len(set(places.values())) == len(places) and ways.isdisjoint(places.values())
    return Placement(places, frozenset(ways)) if apart else None
