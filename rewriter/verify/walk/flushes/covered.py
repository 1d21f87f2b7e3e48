"""Whether a loop flushes the blocks that another does, and leaves the same in registers."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, lcm

from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.flushes.shapes import FlushLoop, Place

_MOST = 1024
"""Rounds after which it must begin anew: blocks of 4096 bytes, words of four."""


def same_blocks(old: FlushLoop, new: FlushLoop, block: int, begins: int | None) -> None:
    """That both flush the same blocks, however often they go round; or Different.

    `begins` is where in a block the first round begins, None where that is not known.

    What the new loop flushes the old one flushes too, so that nothing else is.  That no block is
    left out is looked at for as many rounds as it takes until blocks and rounds begin anew: of any
    number of rounds the last ones, from where they begin anew, are so many or fewer.
    """
    step, count = old.step, len(new.rounds)
    if len(old.rounds) != 1 or new.name != old.name or new.walker != old.walker:
        raise Different("a loop flushes something else")
    wanted = old.rounds[0].flushed
    kept = [tuple(far - step * n for far in one.flushed) for n, one in enumerate(new.rounds)]
    if any(not {*one} <= {*wanted} for one in kept):
        raise Different("a loop flushes what was not flushed")
    again = lcm(count, block // gcd(step, block))
    if again > _MOST:
        raise Different("a loop that flushes takes steps of an odd size")
    for start in range(block) if begins is None else (begins,):
        before, after = set[int](), set[int]()
        for n in range(again):
            before |= _blocks(start + step * n, wanted, block)
            after |= _blocks(start + step * n, kept[n % count], block)
            if before != after:
                raise Different(f"a loop leaves out a block of {block} bytes")


def same_registers(old: FlushLoop, new: FlushLoop, live: int) -> None:
    """That both leave the same in `live` registers after each round, and write no others; or
    Different."""
    for n, one in enumerate(new.rounds):
        if not one.left.keys() <= old.rounds[0].left.keys():
            raise Different("a loop that flushes writes another register")
        for register in old.rounds[0].left:
            if not live >> register & 1 and register != old.walker:
                continue
            there = left_behind(old, register, n)
            if there is None or one.left.get(register, (register, 0)) != there:
                raise Different("a loop that flushes leaves something else in a register")


def left_behind(loop: FlushLoop, register: int, before: int) -> Place | None:
    """What a loop of one round leaves in a register when it went round so often before.

    None where that is made of what is no step from round to round.
    """
    left = loop.rounds[0].left
    root, far = left[register]
    again, step = left.get(root, (root, 0))
    return (root, far + step * before) if again == root else None


def _blocks(place: int, distances: Iterable[int], block: int) -> set[int]:
    return {(place + far) // block for far in distances}
