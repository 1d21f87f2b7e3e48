"""Numbers in two halves become one instruction of two words: where, and what `verify` refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

HEAD = """
    .machine power10
    .text
    .p2align 6
"""


def source(body: str, name: str = "f") -> str:
    """A function."""
    return f"""
    .globl {name}
    .type {name}, @function
{name}:
{body}
    blr
    .size {name}, .-{name}
    .p2align 6
"""


BODIES = {
    "load": ("addis 9, 2, 3\n ld 3, -8(9)", None),  # r9 stays
    "loaded": ("addis 9, 2, 3\n ld 9, -8(9)\n mr 3, 9", "pld r9,196600(r2),0"),
    "negative": ("addis 9, 2, -3\n lwa 9, 8(9)\n mr 3, 9", "plwa r9,-196600(r2),0"),
    "address": ("addis 3, 2, 1\n addi 3, 3, -32768", "paddi r3,r2,32768,0"),
    "constant": ("lis 3, -1\n ori 3, 3, 65535", "paddi r3,0,-1,0"),
    "apart": (
        "addis 9, 2, 1\n add 4, 4, 5\n lbz 9, 8(9)\n add 3, 4, 9",
        "plbz r9,65544(r2),0",
    ),
    "two at once": (
        "addis 9, 2, 1\n addis 10, 2, 2\n ld 9, 8(9)\n ld 10, 8(10)\n add 3, 9, 10",
        "pld r10,131080(r2),0",
    ),
    "base that changes": ("addis 9, 4, 1\n li 4, 0\n ld 3, 0(9)\n mr 9, 3", None),
    "entered": ("addis 9, 2, 1\n1: ld 9, 8(9)\n cmpdi 9, 0\n bne 1b\n mr 3, 9", None),
    "line": (  # one of what stands around it changes places with it
        "nop\n" * 14 + "add 4, 4, 5\n addis 9, 2, 1\n ld 9, 8(9)\n add 3, 4, 9",
        "pld r9,65544(r2),0",
    ),
    "line alone": ("cmpdi 3, 0\n beqlr\n" * 7 + "cmpdi 3, 0\n addis 3, 2, 1\n lwz 3, 8(3)", None),
}
"""The code of a function, and the instruction that comes; None where none does."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    names = (f"f{number}" for number in range(len(BODIES)))
    code = (source(body, name) for name, (body, _) in zip(names, BODIES.values(), strict=True))
    return assembled(HEAD + "".join(code), tmp_path_factory.mktemp("all"), "powerpc64le")


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    target = program.target
    options = Options(("prefix",))
    return tune(
        program.image, target, target.cpus["power10"], options, lambda *_: None, program=program
    )


@pytest.mark.parametrize("which", BODIES)
def test_what_becomes_one(which: str, program: Program, tuned: Tuned) -> None:
    """The road verifies what it writes: an edit that is there is right."""
    wanted, function = BODIES[which][1], program.functions[[*BODIES].index(which)]
    edits = [edit for edit in tuned.edits if edit.address in function]
    assert bool(edits) == bool(wanted)
    if wanted is None:
        return
    assert any(wanted in edit.new for edit in edits)
    assert wanted in _texts(program, tuned, function)


def _texts(program: Program, tuned: Tuned, function: Function) -> list[str]:
    """The new code, as it is read from the file."""
    listing = program.target.listing(replace(program.image, data=tuned.data))
    insns = listing.insns(function.start, function.end)
    places = listing.addresses[slice(*listing.span(function.start, function.end))].tolist()
    assert all(at % 64 != 60 for at, i in zip(places, insns, strict=True) if i and i.size == 8)
    return [listing.table.text(insn) for insn in insns if insn is not None]


def test_an_older_chip_has_none(program: Program) -> None:
    target = program.target
    done = tune(
        program.image,
        target,
        target.cpus["power9"],
        Options(("prefix",)),
        lambda *_: None,
        program=program,
    )
    assert not done.edits


TOC = """
    .globl f
    .type f, @function
f:  addis 2, 12, .TOC. - f@ha
    addi 2, 2, .TOC. - f@l
    .localentry f, . - f
    lis 3, 1
    blr
    .size f, . - f
"""


def test_r2_is_known_again(tmp_path: Path) -> None:
    """What makes r2 at once says where it points as two instructions did."""
    program = assembled(HEAD + TOC, tmp_path, "powerpc64le")
    target, (function,) = program.target, program.functions
    cpu = target.cpus["power10"]
    done = tune(program.image, target, cpu, Options(("prefix",)), lambda *_: None, program=program)
    assert any("paddi r2,r12," in edit.new for edit in done.edits)
    new = analyse(replace(program.image, data=done.data), target)
    shared = program.references.shared[function.start]
    assert new.references.shared[function.start] == shared
    entries = target.entries(program.listing, function)
    assert entries == target.entries(new.listing, function) == (function.start + 8,)
    place = program.image.offset_of(function.start)
    raw = np.frombuffer(done.data[place : place + 8], dtype="<u4")
    assert target.shared_pointer(raw, function.start) == shared


def test_described_code_keeps_two(tmp_path: Path) -> None:
    """A debugger would put its trap for the second line into the first's instruction."""
    code = source('.file 1 "f.c"\n .loc 1 1\n lis 3, 1\n .loc 1 2\n ori 3, 3, 1')
    program = assembled(HEAD + code, tmp_path, "powerpc64le")
    cpu = program.target.cpus["power10"]
    done = tune(
        program.image, program.target, cpu, Options(("prefix",)), lambda *_: None, program=program
    )
    assert not done.edits
    assert [skip.reason for skip in done.skips] == ["debug information describes it"]


# What the verifier says --------------------------------------------------------------------------

PLD = ".long 0x04000001\n1: .long 0xe5220008\n"  # pld r9,65544(r2)
OLD = "addis 9, 2, 1\n1: ld 9, 8(9)\n"
REFUSED = {
    "right": (f"{OLD} mr 3, 9", f"{PLD} mr 3, 9", ""),
    "another carry": (
        f"{OLD} mr 3, 9",
        ".long 0x04000002, 0xe5220008\n mr 3, 9",
        "register r3 differs",
    ),
    "what the first made is read": (
        "addis 10, 2, 1\n ld 9, 8(10)\n add 3, 9, 10",
        f"{PLD} add 3, 9, 10",
        "a register is read that nothing keeps",
    ),
    "in two lines": (
        "nop\n" * 15 + f"{OLD} mr 3, 9",
        "nop\n" * 15 + f"{PLD} mr 3, 9",
        "its instructions are in other places",
    ),
    "a branch to the second word": (
        f"{OLD} mr 3, 9\n cmpdi 3, 0\n beqlr\n mr 9, 3\n b 1b",
        f"{PLD} mr 3, 9\n cmpdi 3, 0\n beqlr\n mr 9, 3\n b 1b",
        "its instructions are in other places",
    ),
    "a pointer to the second word": (
        f'{OLD} mr 3, 9\n .section .data.rel.ro, "aw"\n .quad 1b\n .text',
        f'{PLD} mr 3, 9\n .section .data.rel.ro, "aw"\n .quad 1b\n .text',
        "control comes into the middle of an instruction",
    ),
    "two for one": (f"{PLD} mr 3, 9", f"{OLD} mr 3, 9", "its instructions are in other places"),
}
"""The old code, the new, and the finding."""


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_verified(which: str, tmp_path: Path) -> None:
    old, new, said = REFUSED[which]
    programs = []
    for number, body in enumerate((old, new)):
        folder = tmp_path / str(number)
        folder.mkdir()
        programs.append(assembled(HEAD + source(body), folder, "powerpc64le"))
    found = said_of(programs[0], changed_text(*programs), "power10")
    assert said in found if said else not found, found
