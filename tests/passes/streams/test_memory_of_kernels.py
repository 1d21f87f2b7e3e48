"""Where a kernel's pointers are shown to be to memory, and where a device may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, parse
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from targets.alpha import Alpha
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from tests.support.small_kernel import START, linked

ALPHA = Alpha()
ARRAY = 1  # the register that walks

CODE = """
        enter _start
        {}
        lda $2,4096($31)
        bis $31,$31,$0
1:      ldq $3,0($1)
        srl $3,32,$4
        addq $3,$0,$0
        lda $1,8($1)
        addq $4,$0,$0
        subq $2,1,$2
        unop
        bne $2,1b
        leave _start
        func __kmalloc
        addq $16,1,$0
        ret $31,($26),1
        end __kmalloc
        func ioremap
        addq $16,1,$0
        ret $31,($26),1
        end ioremap
        .data
        .globl pointer
pointer: .quad 0
        .comm array,65536,8
"""

KEPT = "lda $30,-64($30)\n lda $1,array\n stq $1,16($30)\n {}\n ldq $1,16($30)\n lda $30,64($30)"
MEMORY = {
    "data": "lda $1,array",
    "data by gp": "ldah $1,array($29) !gprelhigh\n lda $1,array($1) !gprellow",
    "stack": "lda $1,8($30)",
    "allocated": "call __kmalloc\n bis $31,$0,$1",
    "an index": "lda $1,array\n ldl $5,0($16)\n s8addq $5,$1,$1",
    "a part of a cell": "bis $31,$16,$1\n ldq_u $5,3($1)\n extbl $5,3,$5\n stq $5,8($30)",
    "locked": "bis $31,$16,$1\n ldq_l $5,0($1)\n stq_c $5,0($1)",
    "kept": KEPT.format("stq $16,24($30)\n stl $16,12($30)\n ldq $5,8($16)\n unop"),
    "kept on both ways": KEPT.format("beq $17,2f\n lda $5,array+8\n stq $5,16($30)\n2:"),
    "kept once more": KEPT.format("ldq $5,16($30)\n stq $5,56($30)\n stq $5,16($30)"),
    "kept where a call was": KEPT.format("call ioremap\n lda $1,array\n stq $1,16($30)"),
    "kept until the address is taken": KEPT.format("") + "\n lda $16,16($30)",
    "either": "lda $1,array\n beq $17,2f\n lda $1,8($30)\n2:",
}
DEVICE = {
    "an argument": "bis $31,$16,$1",
    "loaded": "ldq $1,pointer",
    "mapped": "call ioremap\n bis $31,$0,$1",
    "an address as index": "lda $1,array\n ldq $5,0($16)\n addq $5,$1,$1",
    "a difference": "lda $1,array\n subq $16,$1,$1",
    "on one way": "lda $1,array\n beq $17,2f\n bis $31,$16,$1\n2:",
    "kept by no call": "lda $1,array\n call ioremap",
    "a nop's": "bis $31,$16,$1\n ldq_u $31,0($1)",
    "before": "ldq_u $5,3($16)\n bis $31,$5,$1",
}
NOT_KEPT = {
    "another register": "stq $16,16($30)",
    "half": "stl $16,20($30)",
    "a byte": ".arch ev6\n stb $16,16($30)",
    "what crosses it": "stq $16,12($30)",
    "the cell beside it": "stq_u $16,24($30)",
    "a float": "stt $f2,16($30)",
    "if nobody else did": "bis $31,$16,$5\n stq_c $5,16($30)",
    "by a pointer": "stq $16,0($17)",
    "by a pointer to memory": "lda $5,array\n stl $16,0($5)",
    "on one way": "beq $17,2f\n stq $16,16($30)\n2:",
    "on the way back": "2: ldq $5,16($30)\n stq $16,16($30)\n blbs $17,2b\n stq $5,16($30)",
    "by a call": "call ioremap",
    "by PALcode": "call_pal 0x35",
    "behind a barrier": "mb",
}
"""What may store over what is kept."""
OTHERS = {
    "in another place": "ldq $5,16($30)\n stq $5,24($30)\n ldq $1,32($30)",
    "but half of it is read": "ldl $1,16($30)",
    "where the stack was": "lda $30,-16($30)\n ldq $1,16($30)\n lda $30,16($30)",
    "where the stack will be": "stq $1,32($30)\n lda $30,16($30)\n ldq $1,16($30)\n"
    " lda $30,-16($30)",
    "in a larger frame": "subq $30,$17,$30\n stq $1,16($30)\n ldq $1,16($30)\n addq $30,$17,$30",
    "below": "stq $1,-8($30)\n ldq $1,-8($30)",
    "in the caller's frame": "stq $1,80($30)\n ldq $1,80($30)",
    "across the frame's end": "stq $1,76($30)\n ldq $1,76($30)",
    "behind a frame that went": "lda $30,80($30)\n stq $1,0($30)\n ldq $1,0($30)\n"
    " lda $30,-80($30)",
}
"""What is read that is not what was kept; the function's frame is of 80 bytes."""
TAKEN = {
    "a place's": "lda $5,16($30)",
    "another place's": "lda $5,24($30)",
    "the frame's": "bis $31,$30,$15",
    "by a sum": "addq $30,$16,$5",
    "stored in the frame": "stq $30,24($30)",
    "stored elsewhere": "stq $30,0($16)",
    "on one way": "beq $17,2f\n lda $5,16($30)\n2:",
    "behind a loop": "2: beq $17,3f\n lda $5,16($30)\n stq $5,0($16)\n br $31,2b\n3:",
}
"""Ways in which others get the frame's address, and may write there at any time."""
DEVICE |= {f"kept, stored over {name}": KEPT.format(code) for name, code in NOT_KEPT.items()}
DEVICE |= {
    f"kept {name}": KEPT.format(f"{code}\n br $31,9f") + "\n9:" for name, code in OTHERS.items()
}
DEVICE |= {
    f"kept, address taken {name}": KEPT.format(f"{code}\n stq $1,16($30)")
    for name, code in TAKEN.items()
}


def _program(folder: Path, pointer: str) -> Program:
    return analyse(linked(folder, CODE.format(pointer)), ALPHA)


def _head(program: Program) -> tuple[int, int]:
    """The addresses of the loop and of its nop."""
    start = next(f for f in program.functions if f.name == "_start")
    insns = program.listing.insns(start.start, start.end)
    last = next(n for n, insn in enumerate(insns) if insn is not None and insn.name == "bne")
    return start.start + 4 * (last - 7), start.start + 4 * (last - 1)


def _shown(program: Program) -> bool:
    start = next(f for f in program.functions if f.name == "_start")
    found = program.in_memory(start)
    assert found is not None
    return bool(found[1][_head(program)[0]].memory >> ARRAY & 1)


@pytest.mark.parametrize("pointer", MEMORY.values(), ids=MEMORY)
def test_what_is_memory(pointer: str, tmp_path: Path) -> None:
    program = _program(tmp_path, pointer)
    assert _shown(program)
    if "ldq_l" not in pointer:
        assert not _hinted(program, 256)


@pytest.mark.parametrize("pointer", DEVICE.values(), ids=DEVICE)
def test_what_may_be_a_device(pointer: str, tmp_path: Path) -> None:
    """No hint is made, and the verifier refuses a file that has one."""
    program = _program(tmp_path, pointer)
    assert not _shown(program)
    assert "may ask a device" in _hinted(program, 256)


def test_a_hint_is_near_memory(tmp_path: Path) -> None:
    assert "may ask a device" in _hinted(_program(tmp_path, MEMORY["data"]), 8200)


def test_hints_are_made_for_memory_alone(tmp_path: Path) -> None:
    made = _tuned(_program(tmp_path, MEMORY["data"]))
    assert [edit.technique for edit in made.edits if edit.technique == "prefetch"]
    left = _tuned(_program(tmp_path, DEVICE["an argument"]))
    assert not [edit for edit in left.edits if edit.technique == "prefetch"]
    reasons = {skip.reason for skip in left.skips if skip.technique == "prefetch"}
    assert reasons == {"a kernel's loop may walk over a device"}


def _tuned(program: Program) -> Tuned:
    options = Options(passes=("prefetch", "align"), funcs=("_start",))
    return tune(program.image, ALPHA, CPUS["ev67"], options, lambda *_: None, program=program)


def _hinted(program: Program, ahead: int) -> str:
    """What the verifier says of a file with a hint in the place of the loop's nop."""
    data, place = bytearray(program.image.data), program.image.offset_of(_head(program)[1])
    hint = TABLE.find("ldl").match | 31 << 21 | ARRAY << 16 | ahead
    data[place : place + 4] = hint.to_bytes(4, "little")
    image = replace(program.image, data=bytes(with_old_identity(program.image, bytes(data))))
    return "; ".join(map(str, verify(program, image, lambda *_: None).findings))


FILL = """
        func _start
        ldgp $29,0($27)
        {}
        lda $2,4096($31)
1:      stq $31,0($1)
        lda $1,8($1)
        subq $2,1,$2
        bne $2,1b
        bis $31,$31,$5
        ret $31,($26),1
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        unop
        end _start
        .data
        .globl pointer
pointer: .quad 0
        .comm array,65536,8
"""


def _filling(program: Program) -> Tuned:
    options = Options(passes=("writehint", "align"), funcs=("_start",))
    return tune(program.image, ALPHA, CPUS["ev67"], options, lambda *_: None, program=program)


def test_no_line_is_given_up_that_may_be_a_device(tmp_path: Path) -> None:
    tuned = _filling(analyse(linked(tmp_path, FILL.format("bis $31,$16,$1")), ALPHA))
    assert not tuned.edits
    reasons = {skip.reason for skip in tuned.skips if skip.technique == "writehint"}
    assert reasons == {"a kernel's loop may walk over a device"}


def test_lines_of_memory_are_given_up(tmp_path: Path) -> None:
    """The verifier refuses the same version where the pointer is an argument in both files."""
    program = analyse(linked(tmp_path, FILL.format("lda $1,array")), ALPHA)
    move = TABLE.find("bis", "operate").match | 31 << 21 | 16 << 16 | ARRAY
    assert "may fill a device" in _filled_otherwise(program, _given_up(program), START + 8, move)


def _given_up(program: Program) -> bytes:
    tuned = _filling(program)
    assert "writehint" in [edit.technique for edit in tuned.edits]
    return with_old_identity(program.image, tuned.data)


def _filled_otherwise(program: Program, tuned: bytes, at: int, word: int) -> str:
    """What the verifier says of both files with another instruction, where they have the same."""
    place = program.image.offset_of(at)
    assert tuned[place : place + 4] == program.image.data[place : place + 4]
    old, new = (_with(data, place, word) for data in (program.image.data, tuned))
    verdict = verify(analyse(old, ALPHA), new, lambda *_: None, made_for=CPUS["ev67"])
    return "; ".join(map(str, verdict.findings))


def _with(data: bytes, place: int, word: int) -> Image:
    return parse(data[:place] + word.to_bytes(4, "little") + data[place + 4 :], "vmlinux")


FRAMED = """lda $30,-32($30)
        lda $1,array
        stq $1,16($30)
        stq $16,24($30)
        ldq $1,16($30)
        lda $30,32($30)"""
WRONG = {
    "another place": (4, "ldq $1,24($30)"),
    "half of it": (4, "ldl $1,16($30)"),
    "the caller's frame": (4, "ldq $1,48($30)"),
    "another pointer": (2, "stq $16,16($30)"),
    "stored over": (3, "stq $16,16($30)"),
    "stored over by a pointer": (3, "stq $16,0($17)"),
    "the address taken": (3, "lda $5,16($30)"),
    "the address stored": (3, "stq $30,24($30)"),
    "no frame": (0, "lda $5,-32($31)"),
}
"""Which instruction of those of the frame is another, and which."""


def test_lines_are_given_up_by_a_pointer_in_the_frame(tmp_path: Path) -> None:
    """Where the pointer is another one, no version is made, and the verifier refuses the same."""
    program = analyse(linked(tmp_path, FILL.format(FRAMED)), ALPHA)
    tuned = _given_up(program)
    new, cpu = parse(tuned, "vmlinux"), CPUS["ev67"]
    assert not verify(program, new, lambda *_: None, made_for=cpu).findings
    for name, (number, text) in WRONG.items():
        at, word = START + 8 + 4 * number, _word(text)
        finding = _filled_otherwise(program, tuned, at, word)
        assert "may fill a device" in finding, (name, finding)
        other = _with(program.image.data, program.image.offset_of(at), word)
        left = _filling(analyse(other, ALPHA)).skips
        assert "a kernel's loop may walk over a device" in [skip.reason for skip in left], name


def _word(text: str) -> int:
    """The word of an access or of `lda`."""
    name, operands = text.split()
    register, displacement, base = operands.strip("$)").replace("($", ",").split(",")
    registers = int(register) << 21 | int(base) << 16
    return TABLE.find(name).match | registers | int(displacement) & 0xFFFF
