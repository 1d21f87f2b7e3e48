"""Small pairs of code that differ in one thing, and what the comparison says of each."""

from __future__ import annotations

import pytest

from rewriter.core.code.dataflow import Run, run
from rewriter.core.edit import Grade
from rewriter.core.isa.registers import register_mask
from rewriter.core.terms.term import Terms
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Comparison, Different, agreeing
from targets.alpha.assembler import REGISTERS, assemble
from targets.alpha.isa.rows import TABLE

LIVE = register_mask(range(31))
EARLY_BYTE = "ldq_u t0,0(a0); extbl t0,a0,t0"
WORD = "ldq_u t0,0(a0); extwl t0,a0,t0"
BYTE_STORE = """
    insbl a1,a0,t0; ldq_u t1,0(a0); mskbl t1,a0,t1; bis t0,t1,t1; stq_u t1,0(a0)"""


def _run(terms: Terms, text: str) -> Run:
    code = assemble(text.replace(";", "\n")).code
    words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4)]
    insns = [TABLE.decode(word) for word in words]
    addresses = [4 * n for n in range(len(insns))]
    return run(TABLE, terms, insns, addresses, [len(insns) - 1])


def compare(old: str, new: str, dead: str = "", aligned: bool = False) -> Grade:
    """Compares two texts; all registers are live but the `dead` ones."""
    terms = Terms(64)
    before, after = _run(terms, old), _run(terms, new)
    shown = tuple(after.narrow.values()) if aligned else ()
    comparison = Comparison(Prover(64, 8), terms, TABLE.register_names, shown)
    comparison.follow(before.state, after, agreeing(before.values, comparison), range(1000))
    live = LIVE & ~register_mask(REGISTERS[name] for name in dead.split())
    (old_exit,), (new_exit,) = before.exits.values(), after.exits.values()
    comparison.check(old_exit, new_exit, live)
    return comparison.evidence().grade


@pytest.mark.parametrize(
    ("old", "new", "dead"),
    [
        ("addq a0,a1,t0", "addq a1,a0,t0", ""),
        ("s8addq a0,a1,t0", "sll a0,3,t0; addq t0,a1,t0", ""),
        ("mov a0,t0; addq t0,1,t1", "addq a0,1,t1", "t0"),
        ("sll a0,56,t0; sra t0,56,t0", "sextb a0,t0", ""),
        ("sll a0,48,t0; sra t0,48,t0", "sextw a0,t0", ""),
        (EARLY_BYTE, "ldbu t0,0(a0)", ""),
        ("ldq_u t0,0(a0); lda t1,1(a0); extqh t0,t1,t0; sra t0,56,t0",
         "ldbu t0,0(a0); sextb t0,t0", "t1"),
        (BYTE_STORE, "stb a1,0(a0)", "t0 t1"),
        ("ldq_u t1,0(a0); mskbl t1,a0,t1; stq_u t1,0(a0)", "stb zero,0(a0)", "t1"),
        ("ldq t0,0(a0); mov a1,t0", "mov a1,t0", ""),  # a load that nothing reads may go
        ("stq a1,0(a0); ldq t0,8(a0)", "ldq t0,8(a0); stq a1,0(a0)", ""),
        ("beq a0,0x40", "beq a0,0x40", ""),
        ("mb; wmb", "mb; wmb", ""),
        # The old quadword trapped where the new longword would.
        ("stl a1,0(a0); ldq t0,0(a0)",
         "stl a1,0(a0); ldl t0,4(a0); sll t0,32,t0; zapnot a1,15,t1; bis t0,t1,t0", "t1"),
        ("ldq t0,8(a0); srl t0,32,t0; sextl t0,t0", "ldl t0,12(a0)", ""),
    ],
)  # fmt: skip
def test_equal(old: str, new: str, dead: str) -> None:
    assert compare(old, new, dead) is Grade.PROVED


@pytest.mark.parametrize(
    ("old", "new", "dead", "message"),
    [
        ("addq a0,a1,t0", "subq a0,a1,t0", "", "register t0 differs"),
        ("addq a0,1,t0", "addq a0,2,t0", "", "register t0 differs"),
        ("mov a0,t0", "mov a0,t1", "", "register t0 differs"),
        ("mov a0,t0", "mov a0,t0; mov a0,t1", "", "register t1 differs"),
        ("sll a0,56,t0; sra t0,56,t0", "sextw a0,t0", "", "register t0 differs"),
        (EARLY_BYTE, "ldbu t0,1(a0)", "", "register t0 differs"),
        (EARLY_BYTE, "ldbu t0,0(a1)", "", "register t0 differs"),
        (BYTE_STORE, "stb a2,0(a0)", "t0 t1", "memory: stored value differs"),
        # No old access shows that the new one is aligned, or it is another one.
        ("ldl t0,0(a0); ldl t1,4(a0)", "ldq t0,0(a0); srl t0,32,t1; sextl t0,t0; sextl t1,t1", "",
         "register t0 differs"),
        ("ldq t0,8(a0)", "ldq t0,8(a0); ldl t1,10(a0)", "t1", "an access is new"),
        ("ldq t0,8(a0)", "ldq t0,8(a0); ldl t1,16(a0)", "t1", "an access is new"),
        (BYTE_STORE, "stb a1,8(a0)", "t0 t1", "memory: address of a store differs"),
        (BYTE_STORE, "unop", "t0 t1", "memory differs: 1 stores became 0"),
        ("stq a1,0(a0)", "stq a1,0(a0); stq a1,0(a0)", "", "memory differs: 1 stores became 2"),
        ("stq a1,0(a0); stq a2,0(a3)", "stq a2,0(a3); stq a1,0(a0)", "",
         "memory: address of a store differs"),
        ("mb; wmb", "wmb; mb", "", "events differ"),
        ("mb", "unop", "", "events differ"),
        ("stq a1,0(a0); mb", "mb; stq a1,0(a0)", "", "memory at .* differs"),
        ("mov a1,t0", "ldq t1,64(a0); mov a1,t0", "t1", "an access is new"),
        ("beq a0,0x40", "beq a1,0x40", "", "branch condition differs"),
        ("beq a0,0x40", "bne a0,0x40", "", "branch condition differs"),
        ("beq a0,0x40", "unop", "", "a branch appeared or went"),
        ("ldq_u t0,0(a0); mov a1,t0", "ldwu t0,0(a0); mov a1,t0", "",
         "a new access may be misaligned"),
        (WORD, "ldwu t0,0(a0)", "", "a new access may be misaligned"),
    ],
)  # fmt: skip
def test_different(old: str, new: str, dead: str, message: str) -> None:
    with pytest.raises(Different, match=f"^{message}") as raised:
        compare(old, new, dead)
    assert raised.value.grade is not Grade.PROVED


def test_a_word_is_equal_where_it_is_aligned() -> None:
    assert compare(WORD, "ldwu t0,0(a0)", aligned=True) is Grade.PROVED


def test_alignment_does_not_make_other_bytes_equal() -> None:
    with pytest.raises(Different, match="register t0 differs"):
        compare(WORD, "ldwu t0,2(a0)", aligned=True)


def test_from_the_impossible_nothing_follows() -> None:
    """a0 and a0 + 1 are not both even, so nothing may be proved from that."""
    old = f"{WORD}; inswl a2,a0,t1; ldq_u t2,0(a0); mskwl t2,a0,t2; bis t1,t2,t2; stq_u t2,0(a0)"
    good = "ldwu t0,0(a0); stw a2,0(a0)"
    assert compare(old, good, "t1 t2", aligned=True) is Grade.PROVED
    with pytest.raises(Different):
        compare(old, good.replace("stw a2,0", "stw a2,1"), "t1 t2", aligned=True)


def test_what_is_less_than_a_cell_is_narrow_whatever_chip_has_it() -> None:
    """`ldl` is as old as the architecture, `ldwu` came with BWX; of a byte none is misaligned."""
    with Terms(TABLE.width) as terms:
        found = _run(terms, "ldl t0,4(a0); ldwu t1,2(a0); ldbu t2,1(a0); ldq t3,8(a0)")
    assert {slot: size for slot, (_, size) in found.narrow.items()} == {0: 4, 1: 2}


def test_likely_values_from_the_same_memory_come_first() -> None:
    """A store that hardly any input lets meet the loads is between two that agree everywhere."""
    store, old = (
        "stq a1,0x1238(a2)",
        "ldq_u t0,0(a0); lda t2,1(a0); extqh t0,t2,{0}; sra {0},56,{0}",
    )
    new, terms = "ldbu {0},0(a0); sextb {0},{0}", Terms(64)
    before = _run(terms, "; ".join((old.format("t0"), store, old.format("t1"))))
    after = _run(terms, "; ".join((new.format("t0"), store, new.format("t1"))))
    likely = agreeing(before.values, Comparison(Prover(64, 8), terms, TABLE.register_names))
    first, second = before.made[3][REGISTERS["t0"]], before.made[8][REGISTERS["t1"]]
    for slot, register, own in ((1, "t0", first), (4, "t1", second)):
        candidates = list(likely(slot, after.made[slot][REGISTERS[register]]))
        assert set(candidates) >= {first, second}
        assert candidates[0] is own
