"""The place of a function, as room for other code: what else enters it, and how far it reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.groups import Slot
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.protocol import CannotMove
from rewriter.core.target.substitution import PlacedRoutine, Room
from targets.ia64.image import saves, tables, unwind
from targets.ia64.image.facts import PROBED, Facts, unwind_entries
from targets.ia64.isa.bundles import straight
from targets.ia64.isa.fields import BUNDLE

_FUNCTION = 2  # STT_FUNC
_BEFORE = 8  # bundles in front of a function that are looked at


def room(code: Facts, function: Function) -> Room:
    """The place of a function; CannotMove says why nothing else may stand there."""
    text = code.text
    first, last = text.index(function.start), text.index(function.end - 1)
    if first is None or last is None or function.start % BUNDLE or function.end % BUNDLE:
        raise CannotMove("it is no whole number of bundles")
    if int(text.starts[last]) - function.start != BUNDLE * (last - first):
        raise CannotMove("it has a hole")
    if code.is_probed(function):
        raise CannotMove(PROBED)
    for held in tables.held(code.image):
        if held.start < function.end and function.start < held.end:
            raise CannotMove(held.reason)
    following = next((f.start for f in code.functions if f.start >= function.end), function.end)
    entry = code.described.get(function.start)
    # The size that a symbol has is often less than the code: no unwind entry, no known end.
    own = range(function.start, following if entry is None else function.end)
    entered = sorted(_entered(code, own, following))
    if entered and entered[0] < function.end:
        raise CannotMove(f"something else may enter it at {entered[0]:#x}")
    if _is_open_before(code, first):
        raise CannotMove("a group is open where control comes to it")
    limit = min([following, *entered])
    if entry is None:
        return Room(function, limit, False)
    _check_described(code, function, entry)
    return Room(function, _end(code, last, limit), True)


def _check_described(code: Facts, function: Function, entry: unwind.Entry) -> None:
    if entry.end != function.end:
        raise CannotMove("its unwind entry covers something else")
    if unwind.unwinding(code.image, entry).handled:
        raise CannotMove("it has a table of exception ranges")
    if sum(other.info == entry.info for other in code.described.values()) > 1:
        raise CannotMove("its unwind information is another function's, too")


def _end(code: Facts, last: int, limit: int) -> int:
    """Where what fills behind a function ends."""
    text = code.text
    at = int(text.starts[last]) + BUNDLE
    while at < limit:
        number = text.index(at)
        slots = _slots(code, at)
        if number is None or not slots or not all(s.insn.name.startswith("nop.") for s in slots):
            break
        at += BUNDLE
    return at


def _slots(code: Facts, address: int) -> list[Slot]:
    try:
        return list(straight(code.image.read(address, BUNDLE), address))
    except ValueError:
        return []


def _is_open_before(code: Facts, first: int) -> bool:
    """Whether a group goes on from the code in front of a bundle to it."""
    starts = code.text.starts
    for at in range(first - 1, max(first - 1 - _BEFORE, -1), -1):
        if int(starts[at + 1]) - int(starts[at]) != BUNDLE:
            return False
        slots = _slots(code, int(starts[at]))
        if not slots:
            return False
        for slot in reversed(slots):
            if slot.stop or slot.insn.op.flow not in (Flow.NEXT, Flow.BRANCH):
                return False
            if not slot.insn.name.startswith("nop."):
                return True
    return False


def _entered(code: Facts, own: range, limit: int) -> Iterator[int]:
    """Addresses behind a function's start and before `limit` that other code may come to.

    What only the function itself makes, from the range `own`, goes with it.
    """
    text, low, high = code.text, own.start, limit
    source = np.flatnonzero((text.targets > low) & (text.targets < high))
    yield from text.targets[_outside(code, own, source)].tolist()
    for symbol in code.image.symbols:
        is_entry = symbol.dynamic or symbol.st_type == _FUNCTION
        if is_entry and symbol.st_shndx and low < symbol.st_value < high:
            yield symbol.st_value
    made = text.constants(code.gp, excluded=own)
    yield from made[(made > low) & (made < high)].tolist()
    _, targets = code.distances
    yield from targets[(targets > low) & (targets < high)].tolist()
    yield from (place for place in tables.called(code.image) if low < place < high)
    for place, value in tables.words_into(code.image, code.slots, low, high):
        if not _is_own(code, own, place):
            yield value


def _outside(code: Facts, own: range, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    at = code.text.addresses[positions]
    return positions[(at < own.start) | (at >= own.stop)]


def _is_own(code: Facts, own: range, place: int) -> bool:
    """Whether a word of the linker's table of addresses is one that only a function reads."""
    if code.gp is None or place not in code.image.table(".got"):
        return False
    makers = code.text.makers(code.gp, place)
    return len(makers) > 0 and not len(_outside(code, own, makers))


def described(code: Facts, room: Room, placed: Sequence[PlacedRoutine]) -> dict[int, bytes]:
    """What unwind information must say of a room; CannotMove where it cannot."""
    if not room.described:
        if any(saves.saves(one.routine.code).registers for one in placed):
            raise CannotMove("no unwind entry can say what it saves")
        return {}
    entry = code.described[room.start]
    old = unwind.unwinding(code.image, entry).raw
    new = saves.descriptors(room, placed)
    if len(new) > len(old):
        raise CannotMove("its unwind information has no room")
    return {
        entry.info + unwind.HEADER: new.ljust(len(old), b"\0"),
        **_row(code, entry, room.end),
    }


def _row(code: Facts, entry: unwind.Entry, end: int) -> dict[int, bytes]:
    """The row of the unwind table, up to another end."""
    number = unwind_entries(code.image).index(entry)
    table = code.image.table(".IA_64.unwind")
    place = table.start + number * unwind.ENTRY.size
    start, old, info = unwind.ENTRY.unpack(code.image.read(place, unwind.ENTRY.size))
    return {place: unwind.ENTRY.pack(start, old + end - entry.end, info)}
