"""What Alpha instructions need when a function's code moves inside its own footprint."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import CannotMove
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import GP, PV, RA, ZERO

Placed = tuple[int, Insn]
"""An instruction and its address in the original."""

_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_LDAH, _LDA = TABLE.find("ldah"), TABLE.find("lda")
_PAIR_APART = 24  # instructions between the two halves of a gp set-up, at most


def moved(
    items: Sequence[Placed],
    function: Function,
    gp: int | None,
    place: Callable[[int], int],
    pads: Collection[int] = (),
) -> list[Insn]:
    """The instructions as they must be at their new places; `place` maps old addresses.

    `pads` are those of landing pads: control comes there with the pad's own address in RA.
    """
    result = [insn for _, insn in items]
    for index, (address, insn) in enumerate(items):
        if insn.op.format.target is not None:
            result[index] = _retargeted(address, insn, function, place)
        elif insn.op is _LDAH and insn.operand("ra") == GP and insn.operand("rb") not in (GP, PV):
            low = _low_half(items, index)
            origin, behind = _origin(items, index, insn.operand("rb"), pads)
            halves = (insn.operand("disp") << 16) + items[low][1].operand("disp")
            if gp is None or origin + behind + halves != gp:
                raise CannotMove(f"gp set-up at {address:#x} not understood")
            there = place(origin)
            if there != origin:
                high, rest = split(gp - there - behind)
                result[index] = insn.replace(disp=high)
                result[low] = items[low][1].replace(disp=rest)
    return result


def split(value: int) -> tuple[int, int]:
    """(high, low) for `ldah` and `lda`: value = high * 65536 + low, low signed."""
    high = (value + 0x8000) >> 16
    return high, value - (high << 16)


def _retargeted(address: int, insn: Insn, function: Function, place: Callable[[int], int]) -> Insn:
    target = insn.target(address)
    assert target is not None
    if insn.op.flow is Flow.JUMP and insn.operand("ra") != ZERO:
        raise CannotMove(f"the code at {address:#x} reads its own address")
    goal = place(target) if function.gets(target) else target
    distance = goal - place(address) - insn.size
    return insn if distance == insn.operand("target") else insn.replace(target=distance)


def _low_half(items: Sequence[Placed], high: int) -> int:
    for index in range(high + 1, min(high + _PAIR_APART, len(items))):
        insn = items[index][1]
        if insn.op is _LDA and (insn.operand("ra"), insn.operand("rb")) == (GP, GP):
            return index
    raise CannotMove(f"half a gp set-up at {items[high][0]:#x}")


def _origin(
    items: Sequence[Placed], index: int, link: int, pads: Collection[int]
) -> tuple[int, int]:
    """Of the address in a link register: what it is the address of, and how far behind that.

    The nearest call that leaves its return address there, or a landing pad that is nearer.
    """
    pad = max((pad for pad in pads if pad <= items[index][0] and link == RA), default=-1)
    for before in range(index - 1, -1, -1):
        address, insn = items[before]
        if address < pad:
            break
        if insn.op.flow in _CALLS and insn.operand("ra") == link:
            return address, insn.size
    if pad >= 0:
        return pad, 0
    raise CannotMove(f"no call before the gp set-up at {items[index][0]:#x}")
