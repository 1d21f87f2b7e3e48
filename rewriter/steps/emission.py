"""The file with everything in its place."""

from __future__ import annotations

from passes.move import rewritten_fixups
from rewriter.elf.caves_build import with_bodies
from rewriter.elf.emit import Patch, apply
from rewriter.steps.work import Work


def emitted(work: Work) -> bytes:
    """The new file, without its note.

    In a function that did not move, every instruction that stays keeps its address and a dropped
    one becomes a filler.
    """
    image, target = work.program.image, work.program.target
    words = _in_place(work)
    patches: list[Patch] = []
    for moved in work.moved.values():
        words.update(moved.words)
        patches += moved.unwind
    for loops in work.reordered.values():
        for loop in loops:
            words.update((at, target.encode(insn)) for at, insn in loop.words.items())
    for one in work.substituted.values():
        words.update(one.words)
        patches += one.unwind
    data = bytearray(image.data)
    for address, word in words.items():
        offset = image.offset_of(address)
        data[offset : offset + len(word)] = word
    tuned = apply(bytes(data), sorted(patches, key=lambda patch: patch.offset))
    bodies = [one.body for one in work.substituted.values() if one.body is not None]
    return with_bodies(image, target, tuned, bodies)


def _in_place(work: Work) -> dict[int, bytes]:
    """What changed in functions that keep their layout, by address."""
    program, target = work.program, work.program.target
    size = program.listing.table.rows[0].format.size
    words: dict[int, bytes] = {}
    for function in work.slots.keys() - work.moved.keys():
        for address, insn in work.slots[function].items():
            new = (insn,) if insn is not None else target.fillers(size)
            words[address] = b"".join(map(target.encode, new))
        words.update(rewritten_fixups(program, function, work.carried.get(function, {}), int))
    return words
