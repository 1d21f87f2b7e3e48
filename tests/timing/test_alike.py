"""What timing is told of an instruction is kept for all that differ in a number alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Traits
from targets.alpha.cpus import traits as alpha
from targets.alpha.isa.rows import TABLE as ALPHA
from targets.ppc.cpus import traits as ppc
from targets.ppc.isa import table

Told = Callable[[Insn], Traits]

_KEPT = {
    "alpha": (alpha.plain, alpha._plain, ALPHA),
    "alpha without nops": (alpha.discarding, alpha._discarding, ALPHA),
    "ppc": (ppc.plain, ppc._traits, table(64, "big")),
}
_DRAWN = 40  # words of each row


@pytest.mark.parametrize(("kept", "asked", "rows"), _KEPT.values(), ids=_KEPT)
def test_kept_traits_are_those_that_an_instruction_is_asked_for(
    kept: Told, asked: Told, rows: Table
) -> None:
    """Numbers that matter do: a nop's, a hint, how many registers are stored, a bit that is moved.

    Of each word another one follows with one bit changed that the row leaves free.
    """
    random = Random(1)
    for op in rows:
        free = [bit for bit in range(rows.word_bits) if not op.mask >> bit & 1] or [0]
        for _ in range(_DRAWN):
            word = op.match | random.getrandbits(rows.word_bits) & ~op.mask
            for one in (op.match, word, word ^ 1 << random.choice(free)):
                insn = rows.decode(one)
                assert insn is None or kept(insn) == asked(insn)


@pytest.mark.parametrize("text", ["ori", "cr_logical"])
def test_a_number_that_tells_instructions_apart_is_seen(text: str) -> None:
    """Without it a nop and an `ori` of the same registers would be told the same."""
    rows = table(64, "big")
    op = next(row for row in rows if text in (row.name, row.sched))
    zeros = Insn(op, (0,) * len(op.format.operands))
    others = (Insn(op, (*zeros.operands[:-1], 1)), Insn(op, (0, 1, *zeros.operands[2:])))
    assert [ppc.plain(one) for one in (zeros, *others)] == [
        ppc._traits(one) for one in (zeros, *others)
    ]
