"""A branch over a move becomes an instruction that chooses: where, and what `verify` refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.courses.rows import agree
from rewriter.verify.walk.detours.choices import branches
from rewriter.verify.walk.insn_classes import Kinds
from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

HEAD = ".machine power9\n .text\n .p2align 5\n"


def source(body: str, name: str = "f") -> str:
    """A function that compares r3 with r4 and returns."""
    return f"""
    .globl {name}
    .type {name}, @function
{name}:
    .cfi_startproc
    cmpd 3, 4
{body}
    blr
    .cfi_endproc
    .size {name}, .-{name}
    .p2align 5
"""


BODIES = {
    "stays where the bit is set": ("blt 1f\n mr 3, 4\n1:", "isel r3,r3,r4,lt"),
    "stays where it is not": ("bge 1f\n mr 3, 4\n1:", "isel r3,r4,r3,lt"),
    "another field": ("cmpd 7, 3, 5\n bne 7, 1f\n mr 3, 4\n1:", "isel r3,r4,r3,4*cr7+eq"),
    "zero": ("bne 1f\n li 3, 0\n1:", "isel r3,0,r3,eq"),
    "zero by r0": ("beq 1f\n li 3, 0\n1:", None),  # RB is no zero, and r0 may be anything
    "r0 where RA is zero": ("bne 1f\n mr 3, 0\n1:", None),
    "r0 stays": ("beq 1f\n mr 0, 4\n1: mr 3, 0", None),
    "another number": ("bne 1f\n li 3, 1\n1:", None),
    "a sum": ("bne 1f\n addi 3, 4, 0\n addi 3, 3, 1\n1:", None),
    "a count": ("mtctr 5\n bdnz 1f\n mr 3, 4\n1:", None),
    "entered": ("beq 2f\n blt 1f\n2: mr 3, 4\n1:", None),
    "before a barrier": ("blt 1f\n mr 3, 4\n1: isync", None),  # loads wait for branches there
    "there already": ("isel 3, 3, 4, 0\n blt 1f\n mr 3, 4\n1:", None),
    "nothing closes up": (  # the head would leave its boundary, or the way around it gets a nop
        "nop\n nop\n add 5, 3, 4\n sub 5, 5, 4\n mtctr 3\n beq 1f\n mr 3, 4\n"
        "1: lbzu 5, 1(3)\n add 4, 4, 5\n bdnz 1b",
        None,
    ),
    "only what is behind closes up": (  # nothing else goes back for what cannot
        "nop\n nop\n add 5, 3, 4\n sub 5, 5, 4\n mtctr 3\n beq 1f\n mr 3, 4\n"
        "1: lbzu 5, 1(3)\n add 4, 4, 5\n bdnz 1b\n cmpd 4, 5\n blt 1f\n mr 4, 5\n1: mr 3, 4",
        "isel r4,r4,r5,lt",
    ),
}
"""The code behind the comparison, and the instruction that comes; None where none does."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    names = (f"f{number}" for number in range(len(BODIES)))
    code = (source(body, name) for name, (body, _) in zip(names, BODIES.values(), strict=True))
    return assembled(HEAD + "".join(code), tmp_path_factory.mktemp("all"), "powerpc64le")


def _tuned(program: Program, cpu: str, *passes: str) -> Tuned:
    target = program.target
    return tune(program.image, target, target.cpus[cpu], Options(passes), lambda *_: None)


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    return _tuned(program, "power9", "choose", "align")


@pytest.mark.parametrize("which", BODIES)
def test_what_becomes_a_choice(which: str, program: Program, tuned: Tuned) -> None:
    """The road verifies what it writes: an edit that is there is right."""
    wanted, function = BODIES[which][1], program.functions[[*BODIES].index(which)]
    edits = [edit for edit in tuned.edits if edit.address in function]
    assert [edit.new for edit in edits if edit.technique == "choose"] == [wanted] * bool(wanted)
    if wanted is not None:
        assert [edit.technique for edit in edits] == ["choose", "align"]
        assert wanted in (texts := _texts(program, tuned, function))
        assert texts[texts.index(wanted) + 1] != "nop"


def _texts(program: Program, tuned: Tuned, function: Function) -> list[str]:
    """The new code, as it is read from the file."""
    listing = program.target.listing(replace(program.image, data=tuned.data))
    insns = listing.insns(function.start, function.end)
    return [listing.table.text(insn) for insn in insns if insn is not None]


def test_the_reasons_for_what_stays(tuned: Tuned) -> None:
    assert sorted(skip.reason for skip in tuned.skips if skip.technique == "choose") == [
        "control comes to the move otherwise, too",
        "loads may wait for the branch at a barrier",
        "the function has such a choice already",
        "what is behind would not close up",
        "what is behind would not close up",
    ]


@pytest.mark.parametrize(
    ("cpu", "passes"), [("power8", ("choose", "align")), ("power9", ("choose",))]
)
def test_it_takes_the_chip_and_a_layout(
    cpu: str, passes: tuple[str, ...], program: Program
) -> None:
    """Without a new layout a nop would run where the branch led over the move."""
    assert not [edit for edit in _tuned(program, cpu, *passes).edits if edit.technique == "choose"]


# What the verifier says --------------------------------------------------------------------------

OLD = "blt 1f\n mr 3, 4\n1: add 3, 3, 5"
REFUSED = {
    "right": ("isel 3, 3, 4, 0\n add 3, 3, 5\n nop", ""),
    "with a nop": ("isel 3, 3, 4, 0\n nop\n add 3, 3, 5", ""),
    "the other way": ("isel 3, 4, 3, 0\n add 3, 3, 5\n nop", "differs"),
    "by another bit": ("isel 3, 3, 4, 1\n add 3, 3, 5\n nop", "differs"),
    "another value": ("isel 3, 3, 6, 0\n add 3, 3, 5\n nop", "read that nothing keeps"),
    "another register": ("isel 6, 6, 4, 0\n add 3, 3, 5\n nop", "differs"),
    "of two others": ("isel 3, 5, 4, 0\n add 3, 3, 5\n nop", "goes on outside of the function"),
    "one more": ("isel 3, 3, 4, 0\n isel 5, 5, 6, 0\n add 3, 3, 5", "transfer of control changed"),
}
"""New code for the old, and the finding."""


SAVED = """
    mflr 0
    .cfi_register 65, 0
    std 0, 16(1)
    stdu 1, -32(1)
    .cfi_def_cfa_offset 32
    .cfi_offset 65, 16
{}
    mr 3, 0
    addi 1, 1, 32
    .cfi_def_cfa_offset 0
    ld 0, 16(1)
    mtlr 0
    .cfi_restore 65"""
"""A function whose rows find the return address in r0, before they find it in the frame."""

HELD = """
    mflr 0
    .cfi_register 65, 0
{}
    li 6, 0
    nop
    nop
    {}"""
"""One whose rows find it there up to its end, or not quite."""


def _both(tmp_path: Path, *bodies: str) -> tuple[Program, Program]:
    """The old function and the new one."""
    made = []
    for name, body in zip(("old", "new"), bodies, strict=True):
        (tmp_path / name).mkdir()
        made.append(assembled(HEAD + source(body), tmp_path / name, "powerpc64le"))
    return made[0], made[1]


def _said(tmp_path: Path, *bodies: str) -> str:
    old, new = _both(tmp_path, *bodies)
    return said_of(old, changed_text(old, new))


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_refused(which: str, tmp_path: Path) -> None:
    new, wanted = REFUSED[which]
    found = _said(tmp_path, OLD, new)
    assert wanted in found if wanted else not found, found


def test_control_that_comes_to_the_move_is_seen(tmp_path: Path) -> None:
    """The choice would be made there by a bit that the other way does not know."""
    old = "beq 2f\n cmpd 5, 6\n blt 1f\n2: mr 3, 4\n1: add 3, 3, 5"
    new = "beq 2f\n cmpd 5, 6\n2: isel 3, 3, 4, 0\n add 3, 3, 5\n nop"
    assert "read that nothing keeps" in _said(tmp_path, old, new)


def test_a_choice_writes_what_rows_find_the_return_address_in(tmp_path: Path) -> None:
    """As the move behind the branch did: in the midst of the function, where they find none."""
    body = "mr 0, 5\n bge 1f\n mr 0, 4\n1: cmpd 7, 4, 5\n beq 7, 2f\n std 4, 0(6)\n2:"
    program = assembled(HEAD + source(SAVED.format(body)), tmp_path, "powerpc64le")
    edits = _tuned(program, "power9", "choose", "align").edits
    assert [edit.new for edit in edits if edit.technique == "choose"] == ["isel r0,r4,r0,lt"]


@pytest.mark.parametrize("last", [".cfi_restore 65", ""], ids=("between rows", "behind them"))
@pytest.mark.parametrize(("register", "wanted"), [(6, ""), (0, "unwind rows")])
def test_a_choice_spoils_no_return_address(
    register: int, wanted: str, last: str, tmp_path: Path
) -> None:
    """Nothing reads either register but unwinders, who find the return address in r0."""
    new = f"isel {register}, 4, {register}, 0\n nop"
    said = _said(tmp_path, *(HELD.format(one, last) for one in ("bge 1f\n mr 6, 4\n1:", new)))
    assert wanted in said if wanted else not said, said


@pytest.mark.parametrize(("register", "agrees"), [(6, True), (0, False)])
def test_the_same_on_a_way(register: int, agrees: bool, tmp_path: Path) -> None:
    """Where blocks may change places a way passes the branch, and at its address the move."""
    bodies = "bge 1f\n mr 6, 4\n1:", f"isel {register}, 4, {register}, 0\n nop"
    old, new = _both(tmp_path, *(HELD.format(body, ".cfi_restore 65") for body in bodies))
    function = old.functions[0]
    choosing, prover = old.target.choosing, Prover.of(old.target)
    assert choosing is not None
    listing, more = branches(old, new.listing, old.functions, choosing, prover, {"ISEL"})
    (choice,) = more
    way = [*range(function.start, function.end, 4)]
    there = [*range(function.start, choice + 4, 4), choice, *range(choice + 4, function.end, 4)]
    sides = (old.frames[function.start], old.listing), (new.frames[function.start], listing)
    assert agree(*sides, Kinds(old.target), [(way, there)], (), more) is agrees
