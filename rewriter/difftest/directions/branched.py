"""A copy of a file in which each conditional move is a branch, so that its way can be seen.

An emulator's plugin sees where control goes, and no registers.  The copy does what the file does;
its moves stand in the places of nops, two for each, which control comes to by the branch alone.
It is run to be counted, and not kept: unwinders may find another frame at a move.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rewriter.analysis.program import Program
from rewriter.core.addresses import NOWHERE
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.idioms import ConditionalMoves

_REACH = 1 << 21
"""Bytes from a branch to its move, at most: half of what any of the file's own branches reaches."""


@dataclass(frozen=True)
class Branched:
    """The copy.

    `moves` are conditional moves that are branches in it, `branches` the file's own: by address,
    how far the target is from the next instruction.  `left` counts conditional moves for which no
    room is.
    """

    data: bytes
    moves: dict[int, int]
    branches: dict[int, int]
    left: int


def branched(program: Program, known: ConditionalMoves | None) -> Branched:
    """The copy of an analysed file; functions that are not understood stay, and are not counted.

    It is the file where the target has no conditional moves.
    """
    data, size = bytearray(program.image.data), program.listing.table.size
    functions = [one for one in program.functions if not program.not_understood(one)]
    rooms = list(_rooms(program, functions)) if known is not None else []
    moves, branches, left = dict[int, int](), dict[int, int](), 0
    for function in functions:
        branches.update(_branches(program, function))
        if known is None:
            continue
        for address, insn in _moves(program, known, function):
            room = _nearest(rooms, address)
            if room is None:
                left += 1
                continue
            moves[address] = room - address - size
            code = known.branch(insn, moves[address]), known.moving(insn)
            back = known.jump(address + size - room - 2 * size)
            places = address, room, room + size
            for place, new in zip(places, (*code, back), strict=True):
                offset = program.image.offset_of(place)
                data[offset : offset + size] = program.target.encode(new)
    return Branched(bytes(data), moves, branches, left)


def _moves(
    program: Program, known: ConditionalMoves, function: Function
) -> Iterator[tuple[int, Insn]]:
    """A function's conditional moves that may become branches."""
    listing = program.listing
    first, last = listing.span(function.start, function.end)
    addresses = listing.addresses[first:last].tolist()
    for address, insn in zip(addresses, listing.insns_at(first, last), strict=True):
        stays = insn is None or address in program.locked_addresses
        if not stays and insn is not None and known.is_conditional(insn):
            yield address, insn


def _branches(program: Program, function: Function) -> dict[int, int]:
    """A function's own conditional branches."""
    listing, size = program.listing, program.listing.table.size
    first, last = listing.span(function.start, function.end)
    at = np.flatnonzero(listing.flows[first:last] == FLOW_CODE[Flow.BRANCH]) + first
    at = at[listing.targets[at] != NOWHERE]
    places, targets = listing.addresses[at].tolist(), listing.targets[at].tolist()
    pairs = zip(places, targets, strict=True)
    return {place: target - place - size for place, target in pairs if target != place + size}


def _rooms(program: Program, functions: list[Function]) -> Iterator[int]:
    """Addresses of two nops in a row that control does not come to, ascending."""
    listing, graph, size = program.listing, program.graph, program.listing.table.size
    blocks = np.searchsorted(graph.first, np.arange(len(listing)), side="right") - 1
    idle = program.nops & ~graph.reached[blocks]
    for function in functions:
        first, last = listing.span(function.start, function.end)
        before = 0
        for address in listing.addresses[first:last][idle[first:last]].tolist():
            if address in program.locked_addresses:
                continue
            if address - before == size:
                yield before
                before = 0
            else:
                before = address


def _nearest(rooms: list[int], address: int) -> int | None:
    """Takes the room nearest to an address."""
    at = bisect_left(rooms, address)
    near = [n for n in (at - 1, at) if 0 <= n < len(rooms)]
    if not near:
        return None
    best = min(near, key=lambda n: abs(rooms[n] - address))
    return rooms.pop(best) if abs(rooms[best] - address) <= _REACH else None
