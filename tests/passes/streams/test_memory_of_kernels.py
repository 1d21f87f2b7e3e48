"""Where a kernel's pointers are shown to be to memory, and where a device may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import parse
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

MEMORY = {
    "data": "lda $1,array",
    "data by gp": "ldah $1,array($29) !gprelhigh\n lda $1,array($1) !gprellow",
    "stack": "lda $1,8($30)",
    "allocated": "call __kmalloc\n bis $31,$0,$1",
    "an index": "lda $1,array\n ldl $5,0($16)\n s8addq $5,$1,$1",
    "a part of a cell": "bis $31,$16,$1\n ldq_u $5,3($1)\n extbl $5,3,$5\n stq $5,8($30)",
    "locked": "bis $31,$16,$1\n ldq_l $5,0($1)\n stq_c $5,0($1)",
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
    return tune(program.image, ALPHA, CPUS["ev67"], options, lambda *_: None)


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
    return tune(program.image, ALPHA, CPUS["ev67"], options, lambda *_: None)


def test_no_line_is_given_up_that_may_be_a_device(tmp_path: Path) -> None:
    tuned = _filling(analyse(linked(tmp_path, FILL.format("bis $31,$16,$1")), ALPHA))
    assert not tuned.edits
    reasons = {skip.reason for skip in tuned.skips if skip.technique == "writehint"}
    assert reasons == {"a kernel's loop may walk over a device"}


def test_lines_of_memory_are_given_up(tmp_path: Path) -> None:
    """The verifier refuses the same version where the pointer is an argument in both files."""
    program = analyse(linked(tmp_path, FILL.format("lda $1,array")), ALPHA)
    tuned = _filling(program)
    assert "writehint" in [edit.technique for edit in tuned.edits]
    datas = []
    for data in (program.image.data, with_old_identity(program.image, tuned.data)):
        place = program.image.offset_of(START + 8)
        assert data[place : place + 4] == program.image.data[place : place + 4]
        move = TABLE.find("bis", "operate").match | 31 << 21 | 16 << 16 | ARRAY
        datas.append(data[:place] + move.to_bytes(4, "little") + data[place + 4 :])
    old, new = (parse(bytes(data), "vmlinux") for data in datas)
    findings = verify(analyse(old, ALPHA), new, lambda *_: None).findings
    assert any("may fill a device" in str(finding) for finding in findings), findings
