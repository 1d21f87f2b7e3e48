"""Code that asks where it stands moves with its block, and room that is filled is room."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.isa.instruction import Flow
from rewriter.elf.image import Image, parse
from rewriter.identify.profiles import Direction
from rewriter.identify.profiles import parse as read
from rewriter.identify.profiles.directions import BRANCH, Directions, text_hash
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from targets.ppc.target import Ppc
from tests.passes.layout.test_one_way import FUNCTION
from tests.passes.layout.test_order import pair

PPC = Ppc(32, "big", "sysv")
ASKED = """
	mflr 0
	bcl 20,31,2f
2:	mflr 9
	addis 9,9,(d-2b)@ha
	addi 9,9,(d-2b)@l
	mtlr 0
	lwz 3,0(9)
	blr
"""
ASKING = f"""
	cmpwi 3,0
	beq 1f
	stw 3,0(4)
	blr
1:{ASKED}"""
MOVED = f"""
	cmpwi 3,0
	bne 1f{ASKED}1:	stw 3,0(4)
	blr
"""
OTHERS = {
    "the sum is another": MOVED.replace("(d-2b)@l", "(d-2b+4)@l"),
    "the sum is as far from the place": MOVED.replace("(d-2b)", "(d-2b-8)"),
    "its other half is another": MOVED.replace("(d-2b)@ha", "(d-2b+65536)@ha"),
}
STAYING = {
    "the place itself is read": ASKING.replace("lwz 3,0(9)", "lwz 3,0(9)\n	stw 5,4(4)").replace(
        "mtlr 0", "mflr 5\n	mtlr 0"
    ),
    "what it is made of is read": ASKING.replace("addi 9", "stw 9,4(4)\n	addi 9"),
    "the sum is in another register": ASKING.replace("addis 9,9", "addis 8,9")
    .replace("addi 9,9", "addi 8,8")
    .replace("0(9)", "0(8)"),
    "a branch comes between": ASKING.replace("addi 9", "bne 1b\n	addi 9"),
}
FILLED = """
	cmpwi 3,0
	beq 1f
	blr
	{}
1:	stw 3,0(4)
	blr
"""
FILL = "b 1f\n" + "	nop\n" * 4
NO_FILL = {
    "it is no boundary": "b 1f\n" + "	nop\n" * 5,
    "it leads over something": FILL.replace("nop", "li 3,0", 1),
    "control comes to it": FILL.replace("b 1f", "1: b 1f", 1),
    "it leads elsewhere": FILL.replace("b 1f", "b .-12"),
}


def small_library(folder: Path, codes: Mapping[str, Sequence[str]]) -> Image:
    """As `library`, of 32-bit PowerPC, and with a word of data `d`."""
    text = "".join(FUNCTION.format(name, "\n".join(code)) for name, code in codes.items())
    data = "\t.data\nd:\t.long 7, 8\n"
    (folder / "f.s").write_text(f"\t.text\n\t.balign 32\n{text}{data}")
    assembler, linker = map(inputs.require_tool, ("powerpc-linux-gnu-as", "powerpc-linux-gnu-ld"))
    commands = (assembler, "f.s", "-o", "f.o"), (linker, "-shared", "-s", "f.o", "-o", "f.so")
    for command in commands:
        subprocess.run(command, check=True, cwd=folder)
    return parse((folder / "f.so").read_bytes(), "f.so")


def mostly_taken(folder: Path, code: str) -> tuple[Program, Tuned]:
    """A function, and what becomes of it where 99 of 100 passes of its first branch are taken."""
    image = small_library(folder, {"f": code.splitlines()})
    program = analyse(image, PPC)
    listing = program.listing
    at = listing.addresses[listing.flows == FLOW_CODE[Flow.BRANCH]].tolist()
    counts = {(BRANCH, address): Direction(100, 99, 0) for address in at[:1]}
    profile = read(Directions(text_hash(image), counts).written().encode(), "p.txt", image)
    options, cpu = Options(passes=("layout", "align")), PPC.cpus["7450"]
    return program, tune(image, PPC, cpu, options, lambda *_: None, profile, 1, program)


def asking(program: Program) -> int:
    """The position of what asks where it stands."""
    return program.listing.flows.tolist().index(FLOW_CODE[Flow.HERE])


def test_what_asks_where_it_stands_moves(tmp_path: Path) -> None:
    """What is added to that makes the same address."""
    program, tuned = mostly_taken(tmp_path, ASKING)
    assert [edit.technique for edit in tuned.edits] == ["layout"], tuned.skips
    new = replace(program.image, data=tuned.data)
    assert verify(program, new, lambda *_: None).findings == ()
    assert asking(program) != asking(analyse(new, PPC))


def test_the_same_sum_is_accepted(tmp_path: Path) -> None:
    """By hand, too."""
    program, new = pair(tmp_path, ASKING, MOVED, small_library, PPC)
    assert verify(program, new, lambda *_: None).findings == ()


@pytest.mark.parametrize("what", OTHERS)
def test_another_sum_is_refused(what: str, tmp_path: Path) -> None:
    """Each half counts."""
    program, new = pair(tmp_path, ASKING, OTHERS[what], small_library, PPC)
    assert not verify(program, new, lambda *_: None).ok


@pytest.mark.parametrize("what", STAYING)
def test_it_stays_where_more_is_read(what: str, tmp_path: Path) -> None:
    """No order is made in which something would differ."""
    program, tuned = mostly_taken(tmp_path, STAYING[what])
    new = replace(program.image, data=tuned.data)
    assert verify(program, new, lambda *_: None).findings == ()
    assert asking(program) == asking(analyse(new, PPC))
    assert not [skip for skip in tuned.skips if "not verified" in skip.reason], tuned.skips


def test_a_jump_over_nops_to_a_boundary_fills_room(tmp_path: Path) -> None:
    """Nothing keeps its place, and its room is used."""
    program, tuned = mostly_taken(tmp_path, FILLED.format(FILL))
    (at,) = program.padding_jumps.tolist()
    assert [edit.technique for edit in tuned.edits] == ["layout"], tuned.skips
    new = replace(program.image, data=tuned.data)
    assert verify(program, new, lambda *_: None).findings == ()
    place = int(program.listing.addresses[at])
    assert new.read(place, 4) != program.image.read(place, 4)


@pytest.mark.parametrize("what", NO_FILL)
def test_other_jumps_are_no_filling(what: str, tmp_path: Path) -> None:
    """They are there for a reason that is not known."""
    image = small_library(tmp_path, {"f": FILLED.format(NO_FILL[what]).splitlines()})
    assert not len(analyse(image, PPC).padding_jumps)


@pytest.mark.parametrize("other", ["stw 5,0(4)", "b 1f+4"])
def test_nothing_but_nops_comes_in_its_place(other: str, tmp_path: Path) -> None:
    """What no control comes to is refused there."""
    before, after = FILLED.format(FILL), FILLED.format(FILL.replace("b 1f", other))
    program, new = pair(tmp_path, before, after, small_library, PPC)
    assert not verify(program, new, lambda *_: None).ok
