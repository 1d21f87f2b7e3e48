"""Moves a function's code inside its own footprint, with everything that points into it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from passes.align import LONGEST_LOOP, Align, Code, Layout
from passes.insert import Slots
from rewriter.core.cpu import Cpu
from rewriter.core.isa import Flow, Insn
from rewriter.core.program import Function, JumpTable
from rewriter.core.target import CannotMove
from rewriter.elf import unwind_rows
from rewriter.elf.emit import Patch
from rewriter.identify.program import Program

Added = Mapping[int, Sequence[Insn]]
"""What stands right behind the instruction at an address, and was not there before.

Its own addresses are between that one and the next.
"""


@dataclass(frozen=True)
class Moved:
    """A function in its new layout: bytes by address, unwind patches by file offset."""

    function: Function
    words: dict[int, bytes]
    unwind: tuple[Patch, ...]
    layout: Layout
    dropped: int


def move(
    program: Program,
    function: Function,
    slots: Slots,
    added: Added,
    align: Align,
    cpu: Cpu,
    carried: Mapping[int, int | None],
) -> Moved | None:
    """The function in its best layout; None if it is in it already, CannotMove if it must stay."""
    code = _code(program, function, slots, added)
    layout = align.layout(code, cpu)
    if layout is None:
        raise CannotMove("no room")
    places = _Places(layout, function)
    insns = program.target.moved(code.items, function, program.references.shared, places.start)
    words = _words(program, function, layout, insns)
    for table in program.tables_of(function):
        words.update(_entries(program, table, places))
    words.update(rewritten_fixups(program, function, carried, places.start))
    if all(program.image.read(address, len(new)) == new for address, new in words.items()):
        return None
    frame = program.frames[function.start]
    try:
        rows = unwind_rows.retime(frame, places.end_of_before)
    except ValueError as error:
        raise CannotMove("unwind rows do not follow") from error
    if rows is None:
        raise CannotMove("unwind rows do not fit")
    dropped = _executed_fillers(program, function) - layout.executed
    return Moved(function, words, tuple(rows), layout, dropped)


class _Places:
    """Old addresses to new ones."""

    def __init__(self, layout: Layout, function: Function) -> None:
        self.function = function
        self.old = [address for address, _, _ in layout.items]
        self.new = [there for _, there, _ in layout.items]
        self.sizes = [insn.size for _, _, insn in layout.items]

    def start(self, address: int) -> int:
        """Where the instruction at an address, or the next that is left, begins."""
        at = bisect_left(self.old, address)
        return self.new[at] if at < len(self.new) else self.new[-1] + self.sizes[-1]

    def end_of_before(self, address: int) -> int:
        """Where the last instruction before an address ends: an unwind row begins there."""
        at = bisect_left(self.old, address) - 1
        return self.function.start if at < 0 else self.new[at] + self.sizes[at]


def _code(program: Program, function: Function, slots: Slots, added: Added) -> Code:
    _check(program, function)
    items = standing(program, slots, function.start, function.end, added)
    if not items:
        raise CannotMove("nothing but fillers")
    entries = program.target.entries(program.listing, function)
    bound = max((function.start, *entries))
    fixed = {address for address, _ in items if address < bound} | {function.start, *entries}
    fixed |= _locked(program, function, items)
    targets, loops = set[int](), set[int]()
    places = [address for address, _ in items]
    for n, (address, insn) in enumerate(items):
        target = insn.target(address)
        if target is not None and target in function and insn.op.flow is not Flow.CALL:
            targets.add(target)
            # Without fillers, so that a second run sees the same loop.
            if 0 <= (n - bisect_left(places, target)) * insn.size < LONGEST_LOOP:
                loops.add(target)
    for table in program.tables_of(function):
        targets.update(t for t in table.targets if t in function)
    return Code(function, tuple(items), fixed, loops, targets)


def _locked(program: Program, function: Function, items: Sequence[tuple[int, Insn]]) -> set[int]:
    """Code between load-locked and store-conditional stays, and so does where it branches to."""
    if not program.has_locked(function):
        return set()
    locked = [(at, insn) for at, insn in items if at in program.locked_addresses]
    targets = {insn.target(address) for address, insn in locked}
    return {at for at, _ in locked} | {t for t in targets if t is not None and t in function}


def standing(
    program: Program, slots: Slots, start: int, end: int, added: Added | None = None
) -> list[tuple[int, Insn]]:
    """The instructions in [start, end) that do something, as earlier passes left them."""
    first, last = program.listing.span(start, end)
    listing, items = program.listing, []
    addresses, insns = listing.addresses[first:last].tolist(), listing.insns_at(first, last)
    for at, address, now in zip(range(first, last), addresses, insns, strict=True):
        insn = slots.get(address, now) or listing.data(at)
        if insn is not None and not program.target.is_filler(insn):
            items.append((address, insn))
        items += enumerate((added or {}).get(address, ()), address + 1)
    return items


def _check(program: Program, function: Function) -> None:
    """That nothing outside relies on an address in the function but its entries."""
    graph, target = program.graph, program.target
    allowed = {function.start, *target.entries(program.listing, function)}
    frame = program.frames.get(function.start)
    if frame is None or frame.end != function.end:
        raise CannotMove("no unwind entry of its own")
    if frame.lsda is not None:
        raise CannotMove("has a table of exception ranges")
    if frame.cie.signal_frame:
        raise CannotMove("unwinders know its bytes")
    for table in program.tables_of(function):
        if not table.exact or table.base != program.references.shared.get(function.start):
            raise CannotMove("a jump table whose length or base is not known")
    if any(fixup.resume not in function for fixup in program.fixups_of(function)):
        raise CannotMove("an access resumes in another function")
    starts = program.listing.addresses
    for block in graph.blocks_of(function):
        start = int(starts[graph.first[block]])
        # What is between load-locked and store-conditional stays where it is.
        if graph.entered[block] and start not in allowed and start not in program.locked_addresses:
            raise CannotMove("something outside leads into it")


def _words(
    program: Program, function: Function, layout: Layout, insns: list[Insn]
) -> dict[int, bytes]:
    """The whole footprint, fillers where nothing is."""
    target = program.target
    size = program.listing.insn(program.listing.index(function.start)).size  # type: ignore[union-attr]
    filler = b"".join(target.encode(insn) for insn in target.fillers(size))
    words = dict.fromkeys(range(function.start, function.end, size), filler)
    for (_, there, _), insn in zip(layout.items, insns, strict=True):
        words[there] = target.encode(insn)
    return words


def _entries(program: Program, table: JumpTable, places: _Places) -> dict[int, bytes]:
    order = program.image.byteorder
    return {
        table.address + table.size * n: (places.start(t) - table.base).to_bytes(
            table.size, order, signed=True
        )
        for n, t in enumerate(table.targets)
        if t in places.function
    }


def rewritten_fixups(
    program: Program,
    function: Function,
    carried: Mapping[int, int | None],
    place: Callable[[int], int],
) -> dict[int, bytes]:
    """The exception entries of a function's accesses, by address; CannotMove if one is too far.

    `carried` says which access has another's entry now (`TunedWindow.carried`), and `place` gives
    an old address' new one.
    """
    found = {}
    for fixup in program.fixups_of(function):
        access = carried.get(fixup.access, fixup.access)
        if access is None:
            found[fixup.entry] = program.target.dead_fixup(fixup.entry)
        else:
            moved = replace(fixup, access=place(access), resume=place(fixup.resume))
            found[fixup.entry] = program.target.fixup_bytes(moved)
    return found


def _executed_fillers(program: Program, function: Function) -> int:
    """How many fillers of the original stand where control passes through."""
    graph, listing = program.graph, program.listing
    count = 0
    for block in graph.blocks_of(function):
        first, last = int(graph.first[block]), int(graph.last[block])
        insns = listing.insns_at(first, last) if graph.reached[block] else []
        count += sum(insn is not None and program.target.is_filler(insn) for insn in insns)
    return count
