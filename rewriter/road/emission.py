"""The bytes of a function in each of its stages, and the file with everything in its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from passes.align import Align
from passes.combining.prefix import Prefix, Prefixed
from passes.layout import ByProfile
from passes.lib.move import Moved, rewritten_fixups
from passes.schedule import Reordered, Schedule
from rewriter.core.code.program import Function
from rewriter.elf.caves.build import with_bodies
from rewriter.elf.gap import covering, text_gap
from rewriter.elf.image import Image
from rewriter.road.outcome import Stage, changed
from rewriter.road.work import Work


def emitted(work: Work) -> bytes:
    """The new file, without its note, and with the original's identity."""
    whole = _with_code(work)
    placed = ((d.function, d.stages[-1].places) for d in work.done.values() if d.stages)
    return work.described.written(whole, [(f, places) for f, places in placed if places])


def identified(work: Work, data: bytes) -> bytes:
    """The new file with an identity of its own, where debuggers shall refuse the old one's."""
    return work.described.apart(data, moved(work))


def _with_code(work: Work) -> bytes:
    """The file with all that was done to its code."""
    image, target = work.program.image, work.program.target
    data, bodies = bytearray(image.data), []
    code: dict[int, bytes] = {}
    for done in work.done.values():
        runs = done.stages[-1].changed if done.stages else ()
        if done.substitution is not None:
            runs = changed(image, done.substitution.words, done.substitution.unwind)
            if done.substitution.scattered is not None:
                code |= done.substitution.scattered.code
            bodies += [done.substitution.body] if done.substitution.body is not None else []
        for offset, new in runs:
            data[offset : offset + len(new)] = new
    _put(image, data, code)
    return with_bodies(image, target, bytes(data), bodies)


def moved(work: Work) -> list[Function]:
    """The functions whose instructions are in other places, or those of another routine."""
    return [done.function for done in work.done.values() if done.moved]


def _put(image: Image, data: bytearray, code: Mapping[int, bytes]) -> None:
    """Pieces of routines by address, in room that functions gave up; the gap's get a section."""
    for address, word in code.items():
        offset = image.offset_of(address)
        data[offset : offset + len(word)] = word
    gap = text_gap(image)
    ends = [at + len(w) for at, w in code.items() if gap and gap.start <= at < gap.end]
    if gap is not None and ends:
        offset, record = covering(image, gap, max(ends))
        data[offset : offset + len(record)] = record


def stages(work: Work, function: Function) -> Iterator[Stage]:
    """What was made of a function, pass by pass; takes it out of the work."""
    image = work.program.image
    moved = work.moved.pop(function, None)
    reordered = work.reordered.pop(function, ())
    crowded = _without_crowded(work, function) if moved is not None else frozenset()
    items = _places(work, function, moved) if moved is not None or reordered else []
    words, patches = _in_place(work, function), moved.unwind if moved is not None else ()
    yield Stage("", changed(image, words))
    if moved is not None:
        words = moved.words
        last = Align.name if moved.order is None else ByProfile.name
        yield Stage(last, changed(image, words, patches), crowded, tuple(items))
    if reordered:
        words = words | _in_order(work, reordered)
        went = dict(pair for loop in reordered for pair in loop.went)
        places = tuple((old, went.get(there, there)) for old, there in items)
        yield Stage(Schedule.name, changed(image, words, patches), places=places)
    if prefixed := work.prefixed.pop(function, ()):
        words = _with_two_words(work, words, prefixed)
        yield Stage(Prefix.name, changed(image, words, patches))


def _places(work: Work, function: Function, moved: Moved | None) -> list[tuple[int, int]]:
    """Old and new address of each instruction, if anything asks for it."""
    if not work.described.followed(function):
        return []
    if moved is not None:
        return [(old, there) for old, there, _ in moved.layout.items if old in function]
    kept = work.nops.standing(work.slots.get(function, {}), function.start, function.end)
    return [(at, at) for at, _ in kept]


def _without_crowded(work: Work, function: Function) -> frozenset[str]:
    """The edits that need the new layout's room; without it they are not there."""
    inserted = work.inserted.get(function)
    if inserted is None:
        return frozenset()
    crowded = frozenset(inserted.crowded())
    inserted.take_back(crowded)
    return crowded


def _in_place(work: Work, function: Function) -> dict[int, bytes]:
    """What changed with every instruction that stays where it was, by address.

    A nop takes the place of one that went.
    """
    program, target = work.program, work.program.target
    size = program.listing.table.size
    words: dict[int, bytes] = {}
    work.inserted.pop(function, None)
    slots, carried = work.slots.pop(function, {}), work.carried.pop(function, {})
    for address, insn in slots.items():
        new = (insn,) if insn is not None else target.nops(size)
        words[address] = b"".join(map(target.encode, new))
    words.update(rewritten_fixups(program, function, carried, int))
    return words


def _in_order(work: Work, loops: Sequence[Reordered]) -> dict[int, bytes]:
    encode = work.program.target.encode
    return {at: encode(insn) for loop in loops for at, insn in loop.words.items()}


def _with_two_words(
    work: Work, words: Mapping[int, bytes], prefixed: Sequence[Prefixed]
) -> dict[int, bytes]:
    """Words in which parts are what they became, one after another; none is inside another."""
    encode, size, found = work.program.target.encode, work.program.listing.table.size, {**words}
    for one in prefixed:
        for at, insn in one.words.items():
            for place in range(at, at + insn.size, size):
                found.pop(place, None)
            found[at] = encode(insn)
    return found
