"""Kinds of instructions: what is asked once of a row and registers holds for every such word."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import targets
from rewriter.core.code.listing import decode_words
from rewriter.core.isa.instruction import Op
from rewriter.core.isa.operands import Kind
from rewriter.verify.walk.insn_classes import HINT, IDLE, NOP, WHOLE, Kinds
from targets.alpha.isa.rows import TABLE

TARGET = targets.named("alpha")
KINDS = Kinds(TARGET)  # for all examples: a kind that one word gave is believed of the next

ASKED = ("bis", "cpys", "lda", "ldbu", "ldl", "ldq", "ldq_u", "lds", "ldt", "stq", "subq")
OPS = st.sampled_from([op for op in TABLE if op.name in ASKED]) | st.sampled_from(list(TABLE))
REGISTERS = st.sampled_from((0, 9, 15, 26, 30, 31))


@st.composite
def _words(draw: st.DrawFn) -> int:
    op: Op = draw(OPS)
    word = op.match
    for operand in op.format.operands:
        register = operand.kind is Kind.REGISTER
        bits = draw(REGISTERS if register else st.integers(0, (1 << operand.width) - 1))
        word |= bits << operand.pieces[0][0]
    return word


@given(st.lists(_words() | st.integers(0, (1 << 32) - 1), min_size=1, max_size=20))
def test_a_kind_is_what_the_target_says_of_each_instruction(words: list[int]) -> None:
    listing = decode_words(TABLE, [(0, np.array(words, dtype="<u4"))])
    for at, kind in enumerate(KINDS.of(listing, 0, len(listing))):
        insn = listing.insn(at)
        said = (False, False, False)
        if insn is not None:
            whole = TARGET.whole(insn) is not None
            said = TARGET.is_nop(insn), TARGET.spelling.is_hint(insn), whole
        assert bool(kind & NOP) == bool(kind & IDLE)
        assert (bool(kind & NOP), bool(kind & HINT), bool(kind & WHOLE)) == said


def test_all_kinds_are_met() -> None:
    words = np.array([0x47FF041F, 0xA3FE0000, 0xB53E0008, 0x40220403], dtype="<u4")
    listing = decode_words(TABLE, [(0, words)])  # nop; ldl zero,0(sp); stq s0,8(sp); addq t0,t1,t2
    assert list(KINDS.of(listing, 0, len(listing))) == [NOP | IDLE, HINT, WHOLE, 0]
    assert list(KINDS.of(listing, 1, 3)) == [HINT, WHOLE]
