"""The 21264's slotting: the manual's table of 81 patterns, and what it does in the engine."""

from __future__ import annotations

from itertools import product

import pytest

from rewriter.core.isa.instruction import Insn
from rewriter.timing import NotDescribed
from rewriter.timing.static import slots
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.cpus.slotting import slot
from targets.alpha.isa.rows import TABLE

# 21264 Hardware Reference Manual, section "Ebox Slotting", as GNU MP's slot.pl has it too:
# what a block becomes, and the patterns that become it.  Highest address first.
MANUAL = {
    "LLLL": "LLLL",
    "LLLU": "LLLE LLLU",
    "LLUL": "LLEL LLUL",
    "LLUU": "EEUU ELUU LEUU LLEE LLEU LLUE LLUU",
    "LULL": "LELL LULL",
    "LULU": "EUEE EUEU EULE EULU LEEE LEEU LELE LELU LUEE LUEU LULE LULU",
    "LUUL": "EUEL EUUE EUUL LEEL LEUE LEUL LUEL LUUE LUUL",
    "LUUU": "EUUU LUUU",
    "ULLL": "ELLL ULLL",
    "ULLU": "EEEU EELE EELU ELEU ELLE ELLU UEEU UELE UELU ULEU ULLE ULLU",
    "ULUL": "EEEE EEEL EEUE EEUL ELEE ELEL ELUE ELUL UEEE UEEL UEUE UEUL ULEE ULEL ULUE ULUL",
    "ULUU": "UEUU ULUU",
    "UULL": "EELL EULL UELL UUEE UUEL UULE UULL",
    "UULU": "UUEU UULU",
    "UUUL": "UUUE UUUL",
    "UUUU": "UUUU",
}


def test_the_manuals_table_is_whole() -> None:
    patterns = [p for row in MANUAL.values() for p in row.split()]
    assert sorted(patterns) == sorted("".join(p) for p in product("ELU", repeat=4))


@pytest.mark.parametrize(
    ("pattern", "expected"), [(p, made) for made, row in MANUAL.items() for p in row.split()]
)
def test_slotting_is_the_manuals(pattern: str, expected: str) -> None:
    assert slot(pattern) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("addq t0,t1,t2; addq t0,t1,t2; addq t0,t1,t2; addq t0,t1,t2", "LULU"),
        ("ldq t0,0(a0); ldq t1,8(a0); addq t0,t1,t2; addq t0,t1,t2", "LLUU"),
        ("sll t0,1,t1; srl t0,1,t1; stq t0,0(a0); unop", "UULL"),
        ("addt $f1,$f2,$f3; beq t0,.; br .; wh64 (a0)", "UULL"),
    ],
)
def test_blocks_are_slotted_by_what_they_hold(block: str, expected: str) -> None:
    code = assemble(block.replace(";", "\n")).code
    words = [int.from_bytes(code[i : i + 4], "little") for i in range(0, 16, 4)]
    insns = [insn for word in words if (insn := TABLE.decode(word))]
    assert slots(CPUS["ev67"], insns) == expected
    assert slots(CPUS["ev5"], insns) == ""


def test_data_in_a_block_is_not_slotted() -> None:
    """Such as the operands of a trap in a kernel's text: the reason names it."""
    block = [TABLE.decode(0x47FF041F), Insn(TABLE.data, (0x1234,))]
    with pytest.raises(NotDescribed, match="data stands beside the code of a fetch block"):
        slots(CPUS["ev67"], [insn for insn in block if insn is not None])
