"""How often control comes to instructions: what follows from the counts of branches."""

from __future__ import annotations

from passes.lib.weights import Counted, Guessed
from rewriter.identify.profiles import Direction
from targets.alpha.assembler import assemble
from targets.alpha.isa.rows import TABLE

START = 0x1000
CODE = """
head:   beq     a0,other
        addq    a1,1,a1
        br      zero,both
other:  subq    a1,1,a1
both:   bne     a1,head
        ret
"""
ENTERED_100_TIMES = {START: Direction(100, 30, 0), START + 16: Direction(100, 90, 0)}


def _weights() -> Counted:
    code = assemble(CODE, START).code
    insns = (
        TABLE.decode(int.from_bytes(code[n : n + 4], "little")) for n in range(0, len(code), 4)
    )
    items = [(START + 4 * n, insn) for n, insn in enumerate(insns) if insn is not None]
    return Counted(items, ENTERED_100_TIMES)


def test_control_goes_where_branches_and_jumps_lead() -> None:
    """Of a hundred passes thirty go by `other`; the weight of what comes most is 64."""
    weights = _weights()
    entered = {0: 90, 1: 0, 2: 0, 3: 30, 4: 70, 5: 0}
    passed = {0: 0, 1: 70, 2: 70, 3: 0, 4: 30, 5: 10}
    assert {n: weights.entered(n) for n in entered} == {
        n: 1 + 63 * count // 90 for n, count in entered.items()
    }
    assert {n: weights.passed(n) for n in passed} == {
        n: 1 + 63 * count // 90 for n, count in passed.items()
    }


def test_without_counts_heads_of_loops_weigh_more() -> None:
    """What falls into an instruction counts once."""
    weights = Guessed({3})
    assert weights.entered(3) > weights.entered(2) == weights.passed(3) == 1
