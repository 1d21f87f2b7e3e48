"""The Alpha assembler: the table's own text, GNU as, and errors that say what is wrong."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.concrete import Concrete
from targets.alpha.assembler import REGISTERS, assemble, load_constant
from targets.alpha.isa.rows import TABLE
from targets.assembly import AssemblyError
from tests.targets.alpha.operands import random_insn
from tests.targets.alpha.test_alpha_table import executable_words

# Both assemblers read this; GNU as must not insert its own $gp and $at code.
PROGRAM = """
entry:  ldah    $29,8($27)
        lda     $29,-32752($29)
        .set_is_not_used = 1
loop:   ldq_u   $1,0($16)
        ldq     $2,8($16)
        extbl   $1,$16,$1
        cmpbge  $31,$2,$3
        mov     $1,$0
        mov     255,$4
        clr     $5
        negq    $2,$6
        negl    $2,$7
        not     $2,$8
        sextl   $2,$9
        or      $1,$2,$3
        andnot  $1,7,$3
        xornot  $1,$2,$3
        s8addq  $1,$2,$3
        subq    $17,1,$17
        cttz    $1,$2
        sextb   $1,$2
        stb     $2,1($16)
        lda     $16,1($16)
        bne     $17,loop
        fmov    $f1,$f2
        fneg    $f1,$f2
        fabs    $f1,$f2
        fclr    $f3
        addt/su $f1,$f2,$f3
        cvtqt   $f3,$f4
        fbeq    $f3,loop
        itoft   $1,$f5
        ftoit   $f5,$1
        lds     $f31,64($16)
        wh64    ($16)
        mb
        wmb
        trapb
        nop
        unop
        fnop
        rpcc    $0
        implver $0
        amask   1,$0
        bsr     $26,entry
        br      after
        jsr     $26,($27)
        jmp     $31,($1)
        call_pal 0x9e
after:  callsys
        ldl_l   $1,0($16)
        stl_c   $1,0($16)
        ret     $31,($26),1
data:   .quad   0x123456789abcdef0
        .long   1
        .long   0xffffffff
        .quad   2
""".replace("        .set_is_not_used = 1\n", "")


def test_the_tables_text_assembles_to_the_same_words() -> None:
    words = np.unique(executable_words(inputs.require("alpha-libc"))[0])
    insns = [(word, TABLE.decode(word)) for word in words.tolist()]
    straight = [
        (word, TABLE.text(insn))
        for word, insn in insns
        if insn is not None and all(o.kind is not Kind.TARGET for o in insn.op.format.operands)
    ]
    code = assemble("\n".join(text for _, text in straight)).code
    assert np.frombuffer(code, dtype="<u4").tolist() == [word for word, _ in straight]


def test_every_row_assembles() -> None:
    source = random.Random(8)
    for op in TABLE:
        if op.format.name == "barrier":  # its register fields have no text
            continue
        insn = random_insn(op, source)
        word = TABLE.encode(insn)
        address = 1 << 30
        text = TABLE.text(insn, address)
        if insn.target(address) is not None:
            text = f"{text.rpartition(',')[0]},{insn.target(address):#x}"
        assert assemble(text, address).code == word.to_bytes(4, "little"), text


def test_gnu_as_gives_the_same_bytes(tmp_path: Path) -> None:
    gas = inputs.require_tool("alpha-linux-gnu-as")
    objcopy = inputs.require_tool("alpha-linux-gnu-objcopy")
    program, relocatable, blob = (tmp_path / name for name in ("a.s", "a.o", "a.bin"))
    program.write_text(f".set noat\n.set noreorder\n.set nomacro\n.arch ev67\n.text\n{PROGRAM}")
    subprocess.run([gas, "-o", relocatable, program], check=True)
    subprocess.run([objcopy, "-O", "binary", "-j", ".text", relocatable, blob], check=True)
    ours = assemble(PROGRAM).code
    theirs = blob.read_bytes()
    assert [*_lines(ours)] == [*_lines(theirs[: len(ours)])]
    assert set(_lines(theirs[len(ours) :])) <= {"ldq_u zero,0(sp)"}  # its padding


def _lines(code: bytes) -> list[str]:
    words = np.frombuffer(code, dtype="<u4").tolist()
    decoded = ((word, TABLE.decode(word)) for word in words)
    return [f"{word:#x}" if insn is None else TABLE.text(insn) for word, insn in decoded]


def test_labels_and_data() -> None:
    result = assemble(
        """
        size = 3 * 1 """.replace("3 * 1", "2 + 1")
        + """
start:  br      zero,end
table:  .quad   start, end - table, outside
        .long   -1
        .word   0x1234
        .byte   1, 2, size
        .space  1
        .align  4
end:    lda     t0,end-start(t1)
        """,
        0x1000,
        {"outside": 99},
    )
    assert result.labels == {"size": 3, "start": 0x1000, "table": 0x1004, "end": 0x1030}
    assert len(result.code) == 0x34
    quads = np.frombuffer(result.code[4:28], dtype="<u8").tolist()
    assert quads == [0x1000, 0x2C, 99]
    assert result.code[28:40] == b"\xff\xff\xff\xff\x34\x12\x01\x02\x03\x00" + b"\x00\x00"
    assert _lines(result.code[40:]) == ["ldq_u zero,0(sp)"] * 2 + ["lda t0,48(t1)"]


@given(st.one_of(st.integers(0, (1 << 64) - 1), st.integers(-(1 << 33), 1 << 33)))
def test_any_constant_is_loaded(value: int) -> None:
    machine = Concrete(width=64, byteorder="little", aligned=True, constants=TABLE.constants)
    insns = load_constant(Reg(1), value)
    for insn in insns:
        machine.execute(insn, 0)
    assert machine.get(Reg(1)) == value % (1 << 64)
    assert len(insns) <= 5


def test_register_names_agree_with_the_tables() -> None:
    for number, name in enumerate(TABLE.register_names):
        assert REGISTERS[name] == number


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("frob t0", "there is no instruction frob"),
        ("mov 1", "there is no instruction mov"),
        ("addq t0,256,t1", "operand rb=256 does not fit its 8-bit field"),
        ("addq t0,t1", "operands are not of the form {ra},{rb},{rc}"),
        ("addt $f1,t0,$f2", "t0 is no floating register"),
        ("addq $f1,t0,t2", "$f1 is no integer register"),
        ("addq t0,nowhere,t2", "nowhere is not defined"),
        ("br nowhere", "nowhere is not defined"),
        ("beq t0,.+2", "operand target=-2 does not fit its 21-bit field"),
        ("ldq t0,40000(t1)", "operand disp=40000 does not fit its 16-bit field"),
        (".frob 1", "there is no directive .frob"),
        ("x: x: nop", "x is already defined"),
        ("t0: nop", "t0 is a register"),
        ("lda t0,1 2(t1)", "'1 2' is no value"),
        (".long", "'' is no value"),
    ],
)
def test_errors_say_where_and_what(text: str, problem: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble(f"nop\n{text}  # comment\nnop")
    assert caught.value.line == 2
    assert caught.value.problem == problem
    assert str(caught.value) == f"line 2: {problem}: {text}"
