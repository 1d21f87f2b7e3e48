"""What fetching a layout takes: blocks, second transfers and calls inside them, as counted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from passes.align import Align, Code, Layout
from passes.ordering.fetched import fetched
from rewriter.core.code.program import Function
from rewriter.identify.profiles import Direction
from rewriter.timing.engines import engine_of
from tests.passes.layout.test_order import ALPHA, START, insns_of

EV67 = ALPHA.cpus["ev67"]
ENGINE = engine_of(EV67)
FOUR = """
        beq     a0,over
        addq    a1,1,a1
        addq    a1,2,a1
        addq    a1,3,a1
over:   addq    a1,4,v0
        ret
"""
SOON = FOUR.replace("addq    a1,1,a1", "ret")
CALL = FOUR.replace("addq    a1,2,a1", "jsr     ra,(pv)")
ROUND = """
head:   addq    a1,1,a1
        jsr     ra,(pv)
        bne     v0,head
        ret
"""
NEXT = tuple(range(6))


def cycles(text: str, slots: Sequence[int]) -> int:
    """What some code takes whose instructions stand in some slots from its start on."""
    code = code_of(text)
    places = [START + 4 * slot for slot in slots]
    items = tuple((at, to, insn) for (at, insn), to in zip(code.items, places, strict=True))
    return fetched(code, Layout(items, 0, 0, 0), EV67.fetch_block.value, ENGINE)


def code_of(text: str) -> Code:
    """Code whose first branch was taken by 25 of 100."""
    items = insns_of(text)[1]
    function, target = Function(START, START + 0x80, "f", "test"), items[0][1].target(START)
    assert target is not None
    return Code(function, items, {START}, (), {target}, branches={START: Direction(100, 25, 0)})


@pytest.mark.parametrize(
    ("text", "slots", "lost"),
    [
        (FOUR, NEXT, 0),
        (FOUR, (0, 1, 2, 3, 6, 7), 0),
        (FOUR, (0, 1, 2, 3, 8, 9), 75),
        (FOUR, (0, 1, 2, 3, 7, 8), 100),
        (SOON, NEXT, 75 * (ENGINE.second_transfer - 1)),
        (CALL, (0, 1, 3, 4, 5, 6), 75 * ENGINE.second_transfer),
    ],
    ids=("as it was", "nops in its block", "a block of nops", "parted", "two at once", "call last"),
)
def test_each_block_takes_a_cycle(text: str, slots: Sequence[int], lost: int) -> None:
    """As often as control comes to it, beside the two blocks that the code is long."""
    assert cycles(text, slots) == 200 + lost


def test_a_call_inside_a_block_loses_more() -> None:
    """What foresees the callee is the block's last."""
    call = code_of(CALL).items[2][1]
    assert cycles(CALL, NEXT) == 200 + 75 * (ENGINE.inside_block(call) + ENGINE.second_transfer)


def test_the_last_layouts_have_fewer_nops_on_the_way() -> None:
    """Those before had more, and the one without any keeps what gains where none are executed."""
    items = insns_of(ROUND)[1]
    function = Function(START, START + 0x80, "f", "test")
    counts = {START + 8: Direction(100, 90, 0)}
    code = Code(function, items, {START}, {START}, {START}, branches=counts)
    executed = [code.executed(layout) for layout in Align().layouts(code, EV67)]
    assert executed[0] > 0 == executed[-1] and executed == sorted(executed, reverse=True)
