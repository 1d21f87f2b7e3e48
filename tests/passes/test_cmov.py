"""Conditional moves that become branches: cases, worked out from the manual."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.elf.image import Image, load, parse
from rewriter.identify.profiles import Profile
from rewriter.identify.profiles.directions import MOVE
from rewriter.identify.profiles.samples import Direction
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from targets.alpha import Alpha, conditional
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE

CASES = sorted((Path(__file__).parents[2] / "fixtures" / "passes" / "cmov").glob("*.case"))
HEAD = """
	.set noreorder
	.set noat
	.arch ev67
	.text
	.fill 64, 4, 0x47ff041f
	.globl f
	.ent f
	.cfi_startproc
f:
"""
TAIL = """
	.cfi_endproc
	.end f
"""
NAMES = TABLE.register_names[:32]
REGISTER = re.compile(rf"\b({'|'.join(NAMES)})\b")


def assembled(folder: Path, name: str, code: str) -> Image:
    """A shared library with one function."""
    numbered = REGISTER.sub(lambda found: f"${NAMES.index(found[1])}", code)
    (folder / "f.s").write_text(HEAD + numbered + TAIL)
    assembler, linker = map(inputs.require_tool, ("alpha-linux-gnu-as", "alpha-linux-gnu-ld"))
    for command in ((assembler, "f.s", "-o", "f.o"), (linker, "-shared", "f.o", "-o", name)):
        subprocess.run(command, check=True, cwd=folder)
    return load(folder / name)


def words(data: bytes) -> list[str]:
    """The text, as the table prints it."""
    listing = Alpha().listing(parse(data, "f.so"))
    return [listing.table.text(insn) for insn in listing.insns_at(0, len(listing)) if insn]


def conditional_moves(image: Image) -> list[int]:
    """Their addresses."""
    listing = Alpha().listing(image)
    insns = zip(listing.addresses.tolist(), listing.insns_at(0, len(listing)), strict=True)
    return [at for at, insn in insns if insn is not None and conditional.is_conditional(insn)]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    lines = path.read_text().splitlines()
    said = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", lines[0])}
    refused = [line.partition(": ")[2] for line in lines if line.startswith("# refused")]
    middle = lines.index("# output")
    code = [
        "\n".join(x for x in part if x[:1] != "#") for part in (lines[1:middle], lines[middle:])
    ]
    before, after = (assembled(tmp_path, f"{n}.so", text) for n, text in enumerate(code))
    target, (at,) = Alpha(), conditional_moves(before)
    counts = {(MOVE, at): Direction(said["executed"], said["moved"], said["missed"])}
    profile = Profile("retune directions", "executed conditions", (), 0, counts)
    options = Options(passes=("cmov", "align"))
    done = tune(before, target, CPUS["ev67"], options, lambda *steps: None, profile)
    assert words(done.data) == words(after.data)
    skips = [f"{s.kind}: {s.reason}" for s in done.skips if s.technique == "cmov"]
    assert skips == refused
    starts = [f"{start:x}" for start in target.listing(before).addresses.tolist()]
    edits = (edit for edit in done.edits if edit.technique == "cmov")
    leading = [goal for edit in edits for goal in re.findall(r"^b\w+ \w+,(\w+)", edit.new)]
    assert {*leading} <= {"1f", *starts}, "where it leads is told by an address or a label"


SCARCE = """
	subq	a0,a1,t0
	cmovlt	t0,a1,a2
	beq	a2,1f
	addq	a2,a0,v0
	ret	zero,(ra),0x1
1:	subq	a0,a3,t1
	cmovlt	t1,a3,a4
	addq	a4,a0,v0
	ret	zero,(ra),0x1
	unop
	unop
	unop
"""


@pytest.mark.parametrize("more", (0, 1))
def test_where_room_is_for_one_it_is_the_better_one(more: int, tmp_path: Path) -> None:
    image, target = assembled(tmp_path, "f.so", SCARCE), Alpha()
    sites = conditional_moves(image)
    counts = {(MOVE, at): Direction((10, 1000)[n == more], 0, 0) for n, at in enumerate(sites)}
    profile = Profile("retune directions", "executed conditions", (), 0, counts)
    options = Options(passes=("cmov", "align"))
    done = tune(image, target, CPUS["ev67"], options, lambda *steps: None, profile)
    assert [e.address for e in done.edits if e.technique == "cmov"] == [sites[more]]
    skips = [(s.address, s.reason) for s in done.skips if s.technique == "cmov"]
    assert skips == [(sites[1 - more], "no room: no room")]


def test_there_are_cases() -> None:
    assert len(CASES) >= 8
