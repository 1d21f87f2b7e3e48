"""Code behind a call that moved: what is made from the return address, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

import targets
from rewriter.core.code.listing import decode_words
from rewriter.core.isa.registers import register_mask
from rewriter.verify.walk.insn_classes import Kinds
from rewriter.verify.walk.links.made import same_but_for_place
from rewriter.verify.walk.segments import Cutter, Segment
from targets.alpha.assembler import assemble
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import GP, RA

TARGET = targets.named("alpha")
OLD, NEW = 0x1_2000_0100, 0x1_2000_0080  # 128 bytes apart

MADE = "ldah gp,2({0}); lda gp,{1}(gp)"


def _segment(text: str) -> Segment:
    words = np.frombuffer(assemble(text.replace(";", "\n")).code, "<u4")
    listing = decode_words(TABLE, [(0, words)])
    exits = len({*listing.transfers.tolist(), len(listing) - 1})
    return Cutter(listing, {}, Kinds(TARGET), 0, len(listing)).by_transfers(0, exits)


def _same(old: str, new: str, live: int = register_mask((GP,))) -> bool:
    return same_but_for_place(TARGET, _segment(old), _segment(new), RA, (OLD, NEW), lambda _: live)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ldah gp,2(ra); lda gp,16(gp); ret", "ldah gp,2(ra); lda gp,144(gp); ret"),
        (
            "ldah gp,2(ra); mov v0,s0; lda gp,16(gp); ldq t0,8(gp); jsr ra,(pv)",
            "ldah gp,2(ra); mov v0,s0; lda gp,144(gp); ldq t0,8(gp); jsr ra,(pv)",
        ),
        (
            "unop; ldah gp,2(ra); lda gp,32760(gp); jsr ra,(pv)",
            "ldah gp,3(ra); unop; lda gp,-32648(gp); jsr ra,(pv)",
        ),
        ("mov v0,a0; ldq ra,0(sp); ret", "mov v0,a0; ldq ra,0(sp); ret"),
    ],
    ids=["pair", "with others between", "another high part", "address not used"],
)
def test_one_gp_from_two_places_is_the_same(old: str, new: str) -> None:
    assert _same(old.replace("ret", "ldq ra,0(sp); ret"), new.replace("ret", "ldq ra,0(sp); ret"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ldah gp,2(ra); lda gp,16(gp)", "ldah gp,2(ra); lda gp,140(gp)"),
        ("ldah gp,2(ra); lda gp,16(gp)", "ldah gp,2(ra); lda gp,16(gp)"),
        ("ldah gp,2(ra); lda gp,16(gp)", "ldah gp,2(ra); lda t0,144(gp)"),
        (
            "ldah gp,2(ra); ldq t0,8(gp); lda gp,16(gp)",
            "ldah gp,2(ra); ldq t0,8(gp); lda gp,144(gp)",
        ),
        ("stq ra,8(sp)", "stq ra,8(sp)"),
        ("mov v0,s0; ldah gp,2(ra); lda gp,16(gp)", "mov v0,s1; ldah gp,2(ra); lda gp,144(gp)"),
        ("ldah gp,2(ra); lda gp,16(gp); addq a0,1,a0", "ldah gp,2(ra); lda gp,144(gp)"),
    ],
    ids=["4 off", "not adjusted", "elsewhere", "read between", "stored", "other operand", "gone"],
)
def test_what_differs_is_not_the_same(old: str, new: str) -> None:
    assert not _same(f"{old}; jsr ra,(pv)", f"{new}; jsr ra,(pv)")


def test_an_address_that_may_be_read_later_differs() -> None:
    code = "beq v0,8; mov v0,s0; jsr ra,(pv)"
    assert _same(code, code)
    assert not _same(code, code, register_mask((RA,)))
    assert not _same("mov v0,s0", "mov v0,s0")  # control falls out: all may be read
