"""Orders of PowerPC code: with meanings and for any meaning, both proofs refuse what is wrong."""

from __future__ import annotations

from functools import cache

import pytest

import targets
from passes.scheduling.shown import Shown
from rewriter.core.code.superblock import Superblock, straight
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.ident import Ident
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Different
from targets.machines import EM_PPC, EM_PPC64
from targets.ppc.asm.assembler import assemble

BASE = 0x1000
IDENTS = {
    "ppc": Ident(EM_PPC, 32, "big", 0),
    "ppc64": Ident(EM_PPC64, 64, "big", 1),
    "ppc64el": Ident(EM_PPC64, 64, "little", 2),
}


@cache
def shown(abi: str, devices: bool = False) -> Shown:
    target = targets.of_ident(IDENTS[abi]).sequential
    assert target is not None
    return Shown(target, Prover.of(target), devices)


def superblock(abi: str, text: str, order: str, live: int, exits: int) -> Superblock:
    """Lines of code in an order of their letters; at each branch `exits` may be read."""
    lines = [line.strip() for line in text.split(";")]
    found = [
        decoded(abi, lines[ord(letter) - ord("a")], BASE + 4 * at)
        for at, letter in enumerate(order)
    ]
    branches = [n for n, insn in enumerate(found[:-1]) if insn.name == "bc"]
    return straight(BASE, found, [*((n, exits) for n in branches), (len(found) - 1, live)])


def decoded(abi: str, line: str, at: int) -> Insn:
    ident, word = IDENTS[abi], SPELLED.get(line)
    if word is None:
        code = assemble(line, width=ident.bits, byteorder=ident.byteorder, base=at, symbols=GOALS)
        word = int.from_bytes(code.code, ident.byteorder)
    insn = shown(abi).target.table.decode(word)
    assert insn is not None
    return insn


SPELLED = {"sync": 0x7C0004AC, "lwarx r5,0,r6": 0x7CA03028}
"""What the assembler has no short form of."""

GOALS = {"out": 0x8000}
EVERYTHING, R3 = -1, 1 << 3

WRONG = {
    "store, store": ("stw r3,0(r4); stw r5,8(r6)", "ba"),
    "store, store, apart": ("stw r3,0(r4); stw r5,8(r4)", "ba"),
    "load over store": ("stw r3,0(r4); lwz r5,0(r6)", "ba"),
    "load over store, a byte shared": ("stw r3,0(r4); lwz r5,3(r4)", "ba"),
    "load over store, through a sum": ("addi r6,r4,4; stw r3,0(r4); lwz r5,-4(r6)", "acb"),
    "store over load": ("lwz r5,0(r6); stw r3,0(r4)", "ba"),
    "store over sync": ("stw r3,0(r4); sync", "ba"),
    "load over isync": ("isync; lwz r3,0(r4)", "ba"),
    "load over lwarx": ("lwarx r5,0,r6; lwz r3,0(r4)", "ba"),
    "store over stwcx.": ("stwcx. r5,0,r6; stw r3,0(r4)", "ba"),
    "stwcx. over lwarx": ("lwarx r5,0,r6; stwcx. r5,0,r6", "ba"),
    "what CTR gets": ("addi r3,r3,4; mtctr r3; bctr", "bac"),
    "what LR gets": ("lwz r0,4(r1); mtlr r0", "ba"),
    "a field of CR, twice": ("cmpwi cr0,r3,0; cmpwi cr0,r4,0", "ba"),
    "a field of CR that is combined": ("cmpwi cr1,r3,0; cror eq,4*cr1+eq,4*cr1+eq", "ba"),
    "all fields of CR": ("cmpwi cr5,r3,0; mfcr r4", "ba"),
    "a record bit": ("andi. r3,r4,1; cmpwi cr0,r5,0", "ba"),
    "the condition of a branch": ("cmpwi cr0,r3,0; beq cr0,out; nop", "bac"),
    "carry": ("addic r3,r3,1; addze r4,r4", "ba"),
    "carry, twice": ("addic r3,r3,1; subfic r5,r5,1", "ba"),
    "carry of a shift": ("srawi r3,r3,2; adde r4,r4,r5", "ba"),
    "the base of an update": ("lwzu r3,4(r4); lwz r5,0(r4)", "ba"),
    "an update, twice": ("stbu r3,1(r4); stbu r5,1(r4)", "ba"),
    "several registers": ("lmw r29,0(r4); addi r31,r5,1", "ba"),
    "a load behind a step of its base": ("lwz r3,0(r4); addi r4,r4,4", "ba"),
    "the source of a rotate": ("rlwimi r3,r4,8,0,7; rlwimi r3,r5,16,4,11", "ba"),
    "down past an exit that reads it": ("addi r3,r3,1; beq cr0,out; nop", "cba"),
    "up past an exit that reads it": ("nop; beq cr0,out; addi r3,r3,1", "cba"),
    "a load up past an exit": ("nop; beq cr0,out; lwz r5,0(r6)", "cba"),
    "a store down past an exit": ("stw r5,0(r6); beq cr0,out; nop", "cba"),
}  # fmt: skip
"""Code, and an order of it that does something else where r3 is read at an exit."""


def refused(one: Shown, old: Superblock, new: Superblock) -> tuple[bool, bool]:
    """Whether each of the proofs refuses."""
    found = []
    for proof in (one.with_meanings, one.for_any_meaning):
        try:
            proof(old, new)
            found.append(False)
        except Different:
            found.append(True)
    return found[0], found[1]


@pytest.mark.parametrize("abi", IDENTS)
@pytest.mark.parametrize("case", WRONG)
def test_both_refuse(case: str, abi: str) -> None:
    text, order = WRONG[case]
    old = superblock(abi, text, "".join(sorted(order)), EVERYTHING, R3)
    new = superblock(abi, text, order, EVERYTHING, R3)
    assert old != new
    assert refused(shown(abi), old, new) == (True, True)


RIGHT = {
    "arithmetic": ("add r3,r4,r5; sub r6,r7,r8; add r9,r3,r6", "bac"),
    "load over store, apart": ("stw r3,0(r4); lwz r5,4(r4)", "ba"),
    "load over store, apart by a sum": ("addi r6,r4,8; stw r3,0(r4); lwz r5,-4(r6)", "acb"),
    "loads": ("lwz r3,0(r4); lwz r5,0(r6)", "ba"),
    "a branch to the same place": ("nop; beq cr0,out; add r4,r5,r6", "bac"),
    "fields of CR": ("cmpwi cr0,r3,0; cmpwi cr1,r4,0", "ba"),
    "past a carry": ("addic r3,r3,1; add r5,r6,r7; addze r4,r4", "bac"),
    "past a sync": ("sync; add r3,r4,r5", "ba"),
    "down past an exit that does not read it": ("addi r4,r4,1; beq cr0,out; nop", "cba"),
    "up past an exit that does not read it": ("nop; beq cr0,out; addi r5,r4,1", "cba"),
}


@pytest.mark.parametrize("abi", IDENTS)
@pytest.mark.parametrize("case", RIGHT)
def test_both_accept(case: str, abi: str) -> None:
    text, order = RIGHT[case]
    old = superblock(abi, text, "".join(sorted(order)), EVERYTHING, R3)
    new = superblock(abi, text, order, EVERYTHING, R3)
    assert refused(shown(abi), old, new) == (False, False)
    shown(abi).evidence(old, new)


def test_loads_of_devices_keep_their_order() -> None:
    """Only the proof for any meaning is told: the walk asks about devices by itself."""
    old, new = (superblock("ppc", "lwz r3,0(r4); lwz r5,0(r6)", o, -1, 0) for o in ("ab", "ba"))
    assert refused(shown("ppc", devices=True), old, new)[1]
