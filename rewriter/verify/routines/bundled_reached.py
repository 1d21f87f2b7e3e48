"""Whether trials of a routine of bundled code have been everywhere that it can go.

As `reached`, slot by slot: each that does something must have been executed with its predicate on,
and control must have come to each that transfers it.  A branch to a register is taken to lead
anywhere in its function.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from rewriter.core.code.groups import Slot
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.bundling import Bundling, Code
from rewriter.elf.image import Image
from rewriter.verify.regions.placement import leads_to
from rewriter.verify.routines.reached import Unreached

Went = Collection[tuple[int, bool]]
"""Slots that control came to, each with its qualifying predicate."""

_ON = (Flow.NEXT, Flow.TRAP, Flow.RETURN)


def unreached(image: Image, target: Bundling, code: Code, entry: int, went: Went) -> str:
    """What of a routine no case came to; nothing when they have been everywhere."""
    looking, seen = [entry], set[int]()
    functions = [(f.start, f.end) for f in code.functions]
    try:
        while looking:
            at = looking.pop()
            if at not in seen:
                seen.add(at)
                looking += _following(image, target, functions, at, went)
    except Unreached as reason:
        return str(reason)
    return ""


def _following(
    image: Image, target: Bundling, functions: Sequence[tuple[int, int]], at: int, went: Went
) -> Iterator[int]:
    """The bundles to which control may go from one; raises Unreached."""
    try:
        slots = list(target.straight(image.read(at, target.bundle), at))
    except (BadInput, ValueError):
        raise Unreached(f"control comes to {at:#x}, where no instruction is") from None
    for slot in slots:
        if slot.insn.op.flow is Flow.INDIRECT:
            start, end = functions[bisect_right(functions, (at, at)) - 1]
            yield from range(start, end, target.bundle)
        elif not target.is_nop(slot.insn):
            yield from _gone(target, slot, went)
        if target.ends(slot.insn):
            return
    yield at + target.bundle


def _gone(target: Bundling, slot: Slot, went: Went) -> Iterator[int]:
    flow, on = slot.insn.op.flow, (slot.address, True) in went
    came = on or (slot.address, False) in went
    if not on and (flow is Flow.NEXT or not came):
        raise Unreached(f"no case comes to {slot.address:#x}")
    if flow not in _ON:
        goal = leads_to(slot, target.bundle)
        if goal is None:
            raise Unreached(f"where control goes at {slot.address:#x} is not known")
        yield goal
