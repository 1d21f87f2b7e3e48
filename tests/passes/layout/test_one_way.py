"""What `dead` and `sink` make of whole functions, and what `verify` refuses of the kind.

The cases, `fixtures/passes/{dead,sink}/*.case`, are written as those of `test_cases.py`, of a whole
function.  A branch says how far it goes without nops.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import inputs, programs
from passes.dead import Dead
from passes.sink import Sink
from rewriter.analysis.program import Program, analyse
from rewriter.core.isa.instruction import Insn
from rewriter.elf import manifest
from rewriter.elf.image import Image, parse
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from tests.passes.test_cases import ALPHA, FOLDER, decoded, read

CASES = sorted(path for name in ("dead", "sink") for path in FOLDER.glob(f"{name}/*.case"))
ROOM = 8  # nops behind each function
FUNCTION = """
	.globl {0}
	.type {0}, @function
{0}:	.cfi_startproc
{1}
	.cfi_endproc
	.size {0}, .-{0}
"""


def library(folder: Path, codes: Mapping[str, Sequence[str]]) -> Image:
    """A shared library with functions: lines of the assembler by name."""
    text = "".join(FUNCTION.format(name, "\n".join(code)) for name, code in codes.items())
    (folder / "f.s").write_text(f"\t.arch ev67\n\t.set noreorder\n\t.set noat\n\t.text\n{text}")
    assembler, linker = map(inputs.require_tool, ("alpha-linux-gnu-as", "alpha-linux-gnu-ld"))
    for command in (
        (assembler, "f.s", "-o", "f.o"),
        (linker, "-shared", "-s", "f.o", "-o", "f.so"),
    ):
        subprocess.run(command, check=True, cwd=folder)
    return parse((folder / "f.so").read_bytes(), "f.so")


def words(lines: list[str]) -> list[str]:
    """Instructions as a case writes them, for the assembler."""
    return [f"\t.long {ALPHA.table.encode(insn)}" for insn in decoded(lines)]


def standing(program: Program, image: Image, name: str = "f") -> list[str]:
    """What a function does in a file, without nops."""
    (function,) = (one for one in program.functions if one.name == name)
    code: dict[int, Insn] = {}
    for at in range(function.start, function.end, 4):
        insn = ALPHA.table.decode(int.from_bytes(image.read(at, 4), "little"))
        assert insn is not None
        if not ALPHA.is_nop(insn):
            code[at] = insn
    places, lines = list(code), list[str]()
    for number, (at, insn) in enumerate(code.items()):
        goal = insn.target(at)
        if goal is not None:
            next_there = next(n for n, place in enumerate(places) if place >= goal)
            insn = insn.replace(target=4 * (next_there - number - 1))
        lines.append(ALPHA.table.text(insn))
    return lines


def tuned(program: Program, cpu: str, *passes: str) -> Tuned:
    return tune(
        program.image,
        ALPHA,
        ALPHA.cpus[cpu],
        Options(passes=passes),
        lambda *_: None,
        program=program,
    )


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_case(path: Path, tmp_path: Path) -> None:
    case = read(path)
    image = library(tmp_path, {"f": words(case.before + ["unop"] * ROOM)})
    program = analyse(image, ALPHA)
    done = tuned(program, case.flags["cpu"], *case.flags["passes"].split(","))
    new = replace(image, data=done.data)
    assert standing(program, new) == case.after, done.skips
    assert verify(program, new, lambda *_: None, made_for=ALPHA.cpus["ev67"]).ok
    assert [f"{skip.kind}: {skip.reason}" for skip in done.skips] == case.refused


def test_there_are_cases() -> None:
    assert {path.parent.name for path in CASES} == {Dead.name, Sink.name}
    assert len(CASES) >= 16


# In frames ---------------------------------------------------------------------------------------

FRAMED = """
	lda $30,-16($30)
	.cfi_adjust_cfa_offset 16
	stq $9,0($30)
{}
	.cfi_offset 9,-16
{}
	ldq $1,0($17)
	beq $1,1f
	stq $9,8($17)
	stq $2,16($17)
1:	ldq $9,0($30)
	lda $30,16($30)
	.cfi_restore 9
	.cfi_adjust_cfa_offset -16
	ret $31,($26),1
"""


@pytest.mark.parametrize(
    ("before", "behind", "gone"),
    [
        ("", "bis $31,$16,$9\n addq $16,8,$2", ["bis zero,a0,s0", "addq a0,8,t1"]),
        ("addq $16,8,$2", "bis $31,$16,$9", ["bis zero,a0,s0"]),
    ],
    ids=["behind the row", "right before the row"],
)
def test_rows_follow_what_they_followed(
    before: str, behind: str, gone: list[str], tmp_path: Path
) -> None:
    """What a row says is kept may be written on one way; what stands before a row stays."""
    image = library(tmp_path, {"f": [FRAMED.format(before, behind), *["unop"] * ROOM]})
    program = analyse(image, ALPHA)
    new = replace(image, data=tuned(program, "ev67", "sink", "align").data)
    code = standing(program, new)
    branch = next(n for n, line in enumerate(code) if line.startswith("beq"))
    assert code[branch + 1 : branch + 1 + len(gone)] == gone
    assert verify(program, new, lambda *_: None, made_for=ALPHA.cpus["ev67"]).ok


def test_no_row_begins_behind_what_comes_behind_a_branch(tmp_path: Path) -> None:
    """The row right behind the branch would begin an instruction later."""
    code = FRAMED.replace(
        "	beq $1,1f\n", "	beq $1,1f\n	.cfi_remember_state\n	.cfi_undefined 9\n"
    )
    code = code.replace("1:	ldq", "	.cfi_restore_state\n1:	ldq").format(
        "", "addq $16,8,$2"
    )
    image = library(tmp_path, {"f": [code, *["unop"] * ROOM]})
    program = analyse(image, ALPHA)
    new = replace(image, data=tuned(program, "ev67", "sink", "align").data)
    assert standing(program, new) == standing(program, image)


# Wrong ways --------------------------------------------------------------------------------------

SINK = """
	addq $16,8,$2
	addq $2,$17,$3
	cmpeq $17,1,$1
	bne $1,1f
	beq $18,2f
	stq $3,0($18)
	ret $31,($26),1
1:	{}
	ret $31,($26),1
2:	bis $31,$3,$0
	ret $31,($26),1
"""
"""$2 and $3 are dead at 1; $3 is read at 2."""
DEAD = """
	beq $17,1f
	addq $17,1,$2
	and $2,255,$2
	ldq_u $3,0($16)
	br $31,2f
1:	srl $17,6,$2
	and $2,255,$2
	ldq_u $3,0($16)
2:	{}
	{}
	ret $31,($26),1
"""
LONG = "insbl $2,$16,$4\n mskbl $3,$16,$5\n bis $4,$5,$5\n stq_u $5,0($16)"
SHORT = "stb $2,0($16)\n unop\n unop\n unop"
FALLS = "	ldq_u $3,0($16)\n2:"
CUTS = "	and $2,255,$2\n	ldq_u $3,0($16)\n2:"


def down(code: str, *lines: str) -> str:
    """Code in which the first of some neighbouring lines stands behind the others."""
    first, *others = (f"	{line}\n" for line in lines)
    assert code.count("".join([first, *others])) == 1
    return code.replace("".join([first, *others]), "".join([*others, first]))


Pair = tuple[str, str]
"""Old code and new."""
PLAIN = SINK.format("unop")
MOVES = ("addq $2,$17,$3", "cmpeq $17,1,$1", "bne $1,1f")
MADE = "addq $16,8,$2"  # what it is made of


def sunk(*lines: str, reads: str = "unop") -> Pair:
    """The first of some lines goes behind the others; `reads` is where the first branch leads."""
    code = SINK.format(reads)
    return code, down(code, *lines)


def short(gone: str, behind: str = "unop", store: str = SHORT) -> Pair:
    """A byte is stored alone, and some lines above the label go."""
    left = gone.replace("	ldq_u $3,0($16)", "	unop").replace("	and $2,255,$2", "	unop")
    return DEAD.format(LONG, behind), DEAD.format(store, behind).replace(gone, left)


SAME: dict[str, Pair] = {
    "sunk": sunk(*MOVES),
    "sunk, with what it is made of": (
        PLAIN,
        down(down(PLAIN, *MOVES), MADE, *MOVES[1:]).replace(
            f"	{MOVES[0]}\n	{MADE}\n", f"	{MADE}\n	{MOVES[0]}\n"
        ),
    ),
    "not loaded": short(FALLS),
    "not cut": short(CUTS),
}
READS = {
    "given back": "bis $31,$3,$0",
    "stored": "stq $3,0($18)",
    "where to store": "stq $16,0($3)",
    "branched by": "bne $3,2f",
    "given to a call": "bis $31,$3,$16\n jsr $26,($27),0",
}
LEAVES = "beq $18,3f\n ret $31,($26),1\n3: bis $31,$3,$0"
OVER = SINK.format("unop").replace("cmpeq $17,1,$1", "cmpeq $17,1,$17")
DIFFERENT: dict[str, Pair] = {
    **{
        f"sunk, {name} where the branch leads": sunk(*MOVES, reads=reads)
        for name, reads in READS.items()
    },
    "sunk behind a branch that leads to its reader": sunk(*MOVES, "beq $18,2f"),
    "what it is made of sunk behind it": sunk(MADE, *MOVES),
    "sunk behind its reader": sunk(*MOVES, "beq $18,2f", "stq $3,0($18)"),
    "sunk behind a write of what it is made of": (
        OVER,
        down(OVER, MOVES[0], "cmpeq $17,1,$17", MOVES[2]),
    ),
    "gone from one way": (PLAIN, PLAIN.replace(MOVES[0], "unop")),
    "not loaded for what still merges it": short(FALLS, store=LONG),
    "not cut for a store of two bytes": short(CUTS, "stw $2,8($16)"),
    "not cut, given back": short(CUTS, "bis $31,$2,$0"),
    "not cut, branched by": short(CUTS, "bne $2,1b"),
    "not loaded, given back": short(FALLS, "bis $31,$3,$0"),
    "not loaded, given back where control may leave": short(FALLS, LEAVES),
}


def test_only_what_is_so_is_accepted(tmp_path: Path) -> None:
    """All in one file, a function each: what is refused is refused for itself."""
    cases = {**SAME, **DIFFERENT}
    names = {f"f{n}": case for n, case in enumerate(cases)}
    assert all(old != new for old, new in cases.values())
    old, new = (
        library(tmp_path, {name: [cases[case][n]] for name, case in names.items()}) for n in (0, 1)
    )
    verdict = verify(analyse(old, ALPHA), new, lambda *_: None, made_for=ALPHA.cpus["ev67"])
    assert {names[one.name] for one in verdict.failed} == {*DIFFERENT}, verdict.findings


# The libc ----------------------------------------------------------------------------------------


def test_sites_of_the_libc(libc_ev67: Path) -> None:
    """How many there are, each proved; what is sunk is not counted as saved."""
    record = manifest.read(libc_ev67.read_bytes(), libc_ev67.name)
    assert record is not None
    found = {name: [e for e in record.edits if e.technique == name] for name in ("dead", "sink")}
    assert len(found["dead"]) >= 20 and len(found["sink"]) >= 1400
    assert all(edit.evidence.grade.value == "PROVED" for each in found.values() for edit in each)
    assert {edit.gain for edit in found["dead"]} == {1}
    assert {edit.gain for edit in found["sink"]} == {0}


def test_a_conversion_executes_less(libc: Path, libc_ev67: Path) -> None:
    """Without the two passes 0.884 of the original's instructions: each byte was cut and merged."""
    try:
        old, new = (programs.count("iconv-ucs2", path).libc for path in (libc, libc_ev67))
    except inputs.Missing as missing:
        pytest.skip(str(missing))
    assert new < 0.872 * old
