"""Branches in the place of conditional moves: what is the same, and every way to get it wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import analyse
from rewriter.core.code.listing import decode_words
from rewriter.core.isa.instruction import Insn
from rewriter.elf import image
from rewriter.verify.check import Verdict, verify
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.detours.meaning import means
from targets.alpha import Alpha, conditional
from targets.alpha.isa.rows import TABLE

HEAD = """
	.set noreorder
	.set noat
	.arch ev67
	.text
	.fill 64, 4, 0x47ff041f
	.globl f
	.ent f
	.cfi_startproc
f:"""
TAIL = """
	.cfi_endproc
	.end f
"""

OLD = """	subq $16,$17,$1
	{}
	addq $16,$18,$0
	beq $0,2f
	ret $31,($26),1
	{}
2:	stq $16,0($19)
	ret $31,($26),1
	unop
	unop
"""
UNOPS = "unop\n" * 3
PLAIN = OLD.format("cmovlt $1,$17,$16", UNOPS)
SEVERAL = OLD.format("cmovlt $1,$17,$16\n cmovlt $1,$18,$17", UNOPS)
ASKED = OLD.format("cmovlt $1,$17,$1\n cmovlt $1,$18,$17", UNOPS)
LITERAL = OLD.format("cmoveq $1,7,$16", UNOPS)


def aside(move: str, test: str = "blt $1,3f", back: str = "br $31,1b") -> str:
    """The code with a branch to a move, and the way back."""
    return OLD.format(f"{test}\n1:", f"3: {move}\n {back}\n unop")


def library(folder: Path, name: str, code: str) -> image.Image:
    """A shared library with one function."""
    assembler, linker = map(inputs.require_tool, ("alpha-linux-gnu-as", "alpha-linux-gnu-ld"))
    (folder / "f.s").write_text(HEAD + code + TAIL)
    made = folder / name
    for command in ((assembler, "f.s", "-o", "f.o"), (linker, "-shared", "f.o", "-o", name)):
        subprocess.run(command, check=True, cwd=folder)
    return image.parse(made.read_bytes(), "f.so")


def compared(folder: Path, old: str, new: str, cpu: str = "ev67") -> Verdict:
    """What the verifier says of two versions of a function, for a 21264 or another CPU."""
    before, after = library(folder, "old", old), library(folder, "new", new)
    target = targets.of(before).sequential
    assert target is not None
    made_for = target.cpus[cpu]
    return verify(analyse(before, target), after, lambda *progress: None, made_for=made_for)


FRAMED = PLAIN.replace("subq", "lda $30,-16($30)\n.cfi_adjust_cfa_offset 16\n subq", 1).replace(
    "beq $0,2f", "lda $30,16($30)\n .cfi_adjust_cfa_offset -16\n beq $0,2f"
)

RANGED = """
	.section .gcc_except_table,"a",@progbits
9:	.byte 0xff, 0xff, 1
	.uleb128 8f-7f
7:	.uleb128 {}-f, {}, 2b-f, 0
8:
	.text"""


def ranged(code: str, start: str, count: int) -> str:
    """A function in which a landing pad is named for so many instructions from a label on."""
    head = "10:\n.cfi_personality 0x1b,10b\n.cfi_lsda 0x1b,9f\n"
    return head + code + RANGED.format(start, 4 * count)


INSTEAD = """	subq $16,$17,$1
	{}
	stq $1,8($19)
	{}
	addq $16,$3,$0
	beq $0,2f
	ret $31,($26),1
	{}
2:	stq $16,0($19)
	ret $31,($26),1
	unop
"""
COMPUTED = INSTEAD.format("subq $17,$18,$3", "cmovlt $1,$16,$3", UNOPS)
LOADED = INSTEAD.format("ldq $3,16($19)", "cmovlt $1,$16,$3", UNOPS)


def otherwise(
    aside: str = "subq $17,$18,$3",
    move: str = "mov $16,$3",
    test: str = "bge $1,3f",
    back: str = "br $31,1b",
) -> str:
    """The code with the move of what is usual, and a branch to what is done instead."""
    new = INSTEAD.format("", f"{move}\n4: {test}\n1:", f"3: {aside}\n {back}\n unop")
    return new.replace("stq $1", "7: stq $1", 1)


IN_RANGE = aside("mov $17,$16").replace("blt", "5: blt").replace("3:", "6: 3:")
STOOD = PLAIN.replace("cmovlt", "5: cmovlt").replace("unop", "6: unop", 1)

SAME = {
    "aside": (PLAIN, aside("mov $17,$16")),
    "a literal": (LITERAL, aside("mov 7,$16", "beq $1,3f")),
    "aside, and nops behind the branch": (
        PLAIN,
        OLD.format("blt $1,3f\n unop\n1:", "3: mov $17,$16\n br $31,1b"),
    ),
    "over a nop": (PLAIN, OLD.format("bge $1,1f\n unop\n mov $17,$16\n1:", "unop")),
    "instead of a move": (COMPUTED, otherwise()),
    "a move instead of a move": (
        COMPUTED.replace("subq $17,$18", "mov $17"),
        otherwise("mov $17,$3"),
    ),
    "over": (
        PLAIN,
        OLD.format("bge $1,1f\n mov $17,$16\n1:", "unop\n" * 2),
    ),
    "aside in an exception range": (ranged(STOOD, "f", 9), ranged(IN_RANGE, "f", 9)),
    "several": (
        SEVERAL,
        OLD.format("blt $1,3f\n1: unop", "3: mov $17,$16\n mov $18,$17\n br $31,1b"),
    ),
    "a branch of the old code": (
        OLD.format("blt $1,3f\n1: unop", "3: mov $17,$16\n br $31,1b\n unop"),
        OLD.format("unop\n blt $1,3f\n1:", "3: mov $17,$16\n br $31,1b\n unop"),
    ),
}

DIFFERENT = {
    "the other sense": (PLAIN, aside("mov $17,$16", "bge $1,3f")),
    "another test": (PLAIN, aside("mov $17,$16", "bne $1,3f")),
    "another register is tested": (PLAIN, aside("mov $17,$16", "blt $0,3f")),
    "another value": (PLAIN, aside("mov $18,$16")),
    "another register": (PLAIN, aside("mov $17,$0")),
    "another literal": (LITERAL, aside("mov 6,$16", "beq $1,3f")),
    "back behind the next instruction": (
        PLAIN,
        aside("mov $17,$16").replace("beq $0,2f", "5: beq $0,2f").replace("1b", "5b"),
    ),
    "back to the branch": (
        PLAIN,
        aside("mov $17,$16").replace("blt", "5: blt").replace("1b", "5b"),
    ),
    "the way back leaves its place": (PLAIN, aside("mov $17,$16", back="br $1,1b")),
    "more is done aside": (PLAIN, aside("mov $17,$16\n addq $0,1,$0")),
    "a store aside": (PLAIN, aside("mov $17,$16\n stq $16,0($19)")),
    "no move": (PLAIN, aside("addq $17,1,$16")),
    "moves that the old code does not make": (
        PLAIN,
        OLD.format("blt $1,3f\n1:", "3: mov $17,$16\n mov $18,$17\n br $31,1b"),
    ),
    "what is asked was moved": (
        ASKED,
        OLD.format("blt $1,3f\n1: unop", "3: mov $17,$1\n mov $18,$17\n br $31,1b"),
    ),
    "another way to the move": (PLAIN, aside("mov $17,$16").replace("beq $0,2f", "beq $0,3f")),
    "control falls into the move": (
        PLAIN,
        aside("mov $17,$16").replace("ret $31,($26),1", "unop", 1),
    ),
    "control comes between branch and move": (
        PLAIN,
        OLD.format("bge $1,1f\n5: mov $17,$16\n1:", "unop\n" * 2).replace("beq $0,2f", "beq $0,5b"),
    ),
    "control comes to a nop before the move": (
        PLAIN,
        OLD.format("bge $1,1f\n5: unop\n mov $17,$16\n1:", "unop").replace(
            "beq $0,2f", "beq $0,5b"
        ),
    ),
    "over with the test of the move": (
        PLAIN,
        OLD.format("blt $1,1f\n mov $17,$16\n1:", "unop\n" * 2),
    ),
    "between load-locked and store-conditional": tuple(
        code.replace("subq", "ldq_l $2,0($19)\n subq", 1).replace(
            "addq $16,$18,$0", "addq $16,$18,$0\n stq_c $0,0($19)"
        )
        for code in (PLAIN, aside("mov $17,$16"))
    ),
    "instead, with the other sense": (COMPUTED, otherwise(test="blt $1,3f")),
    "instead, and another test": (COMPUTED, otherwise(test="beq $1,3f")),
    "instead of another value": (COMPUTED, otherwise(move="mov $17,$3")),
    "something else instead": (COMPUTED, otherwise("subq $18,$17,$3")),
    "instead, to another register": (COMPUTED, otherwise("subq $17,$18,$4")),
    "instead, and back before the move": (COMPUTED, otherwise(back="br $31,7b")),
    "instead, and back to the branch": (COMPUTED, otherwise(back="br $31,4b")),
    "a load instead": (LOADED, otherwise("ldq $3,16($19)")),
    "what is done instead reads the move": (
        COMPUTED.replace("subq $17,$18,$3", "subq $3,$18,$3"),
        otherwise("subq $3,$18,$3"),
    ),
    "what is asked was moved instead": (
        COMPUTED.replace("cmovlt $1,$16,$3", "cmovlt $3,$16,$3"),
        otherwise(test="bge $3,3f"),
    ),
    "another way to the branch": (COMPUTED, otherwise().replace("beq $0,2f", "beq $0,4b")),
    "a jump to the branch": (
        COMPUTED.replace("2:\tstq $16,0($19)", "2:\tbr $31,1b").replace("cmovlt", "1: cmovlt"),
        otherwise().replace("2:\tstq $16,0($19)", "2:\tbr $31,4b"),
    ),
    "the move is in a branch's way": (
        COMPUTED.replace("cmovlt", "cmoveq $2,$16,$3\n cmovlt"),
        otherwise(move="bne $2,4f\n mov $16,$3"),
    ),
    "aside from an exception range": (ranged(STOOD, "5b", 2), ranged(IN_RANGE, "5b", 2)),
    "aside into an exception range": (ranged(STOOD, "6b", 3), ranged(IN_RANGE, "6b", 3)),
    "the way back from an exception range": (ranged(STOOD, "f", 6), ranged(IN_RANGE, "f", 6)),
    "over out of an exception range": tuple(
        ranged(code, "f", 2)
        for code in (PLAIN, OLD.format("bge $1,1f\n mov $17,$16\n1:", "unop\n" * 2))
    ),
    "a frame that unwinders do not find": (
        FRAMED,
        FRAMED.replace("cmovlt $1,$17,$16", "blt $1,3f\n1:").replace(
            UNOPS, "3: mov $17,$16\n br $31,1b\n unop\n", 1
        ),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_it_is_the_same(name: str, tmp_path: Path) -> None:
    verdict = compared(tmp_path, *SAME[name])
    assert verdict.ok, verdict.findings
    assert verdict.changed_bytes


@pytest.mark.parametrize("name", DIFFERENT)
def test_it_is_refused(name: str, tmp_path: Path) -> None:
    old, new = DIFFERENT[name]
    assert not compared(tmp_path, old, new).ok


def test_every_test_and_form() -> None:
    """Each conditional move is its branch around its move, and none of the other moves is."""
    target = Alpha()
    prover = Prover.of(target)
    rows = [op for op in TABLE.rows if op.name in conditional.MOVES]
    assert len(rows) == 16
    for op in rows:
        insn = TABLE.decode(op.match | 1 << 21 | 2 << 16 | 3)
        assert insn is not None and insn.op is op
        for over in (False, True):
            test, move = conditional.branch(insn, 8, over), conditional.moving(insn)
            assert conditional.conditional(test, move, over) == insn
            found = [
                other
                for other in rows
                if means(target.table, prover, test, move, over, Insn(other, insn.operands))
            ]
            assert found == [op]


def test_data_stays_data() -> None:
    """Where one instruction becomes another, what a trap leaves behind is no instruction still."""
    move, trap, nop = 0x47F10410, 0x00000081, 0x47FF041F
    words = np.array([move, trap, move, nop], dtype=np.uint32)
    listing = decode_words(TABLE, [(0x1000, words)], lambda text: np.array([2]))
    assert listing.data(2) is not None
    other = words.copy()
    other[0] = nop
    changed = listing.with_code(other)
    assert changed.data(2) == listing.data(2)
    assert changed.insn(0) == changed.insn(3) == listing.insn(3)
    assert listing.insn(0) != listing.insn(3)
