"""Registers that PowerPC code saves others in: what may be written there where rows say nothing."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf.image import Image, load
from rewriter.verify.check import verify
from rewriter.verify.walk.courses.rows import agree
from rewriter.verify.walk.insn_classes import Kinds

SOURCE = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    li 11, 1            # written again, and no row says anything in between
    li 0, 101
    li 11, 2            # mflr writes it
    mflr 0
    .cfi_register lr, r0
    li 11, 3            # here a row finds the return address in r0
    addi 3, 3, 1
    .cfi_same_value lr
    li 11, 4            # written again
    addi 3, 3, 2
    li 0, 102
    li 11, 5            # written again, but behind a row of a nop
    .cfi_register lr, r0
    nop
    .cfi_same_value lr
    mflr 0
    .cfi_register lr, r0
    addi 3, 3, 2
    li 11, 9            # written again, and all the time a row finds the return address there
    mflr 0
    addi 3, 3, 2
    .cfi_same_value lr
    li 0, 103
    cmpwi 3, 0
    beq 1f
    li 11, 6            # written again, but control may go elsewhere before
    cmpwi 3, 1
    beq 1f
    li 0, 104
1:  mflr 0              # what is kept, if no row says so yet
    li 11, 7
    cmpwi 3, 2
    beq 2f
    li 11, 8            # never written again
2:
    addi 3, 3, 3
    .cfi_same_value r13 # the last row: what is compared is before it
    blr
    .cfi_endproc
    .size f, .-f
"""
ENDLESS = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    stwu 1, -16(1)
    .cfi_def_cfa_offset 16
    stw 31, 12(1)
    .cfi_offset r31, -4
    mr 31, 1
    .cfi_def_cfa_register r31
    li 11, 1
    bl g
1:  li 11, 2
    trap
    b 1b
    .cfi_endproc
    .size f, .-f
    .type g, @function
g:  .cfi_startproc
1:  b 1b
    .cfi_endproc
    .size g, .-g
"""
"""Nothing ever reads r31, but unwinders: the last row finds the frame by it."""
BEHIND_A_CALL = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    mflr 0
    .cfi_register lr, r0
    std 0, 16(1)
    .cfi_offset lr, 16
    stdu 1, -32(1)
    .cfi_def_cfa_offset 32
    bl g
    {}                  # in place of what nothing reads
    cmpdi 3, 0
    beq 1f
    addi 3, 3, 1
1:  addi 1, 1, 32
    .cfi_def_cfa_offset 0
    ld 0, 16(1)
    mtlr 0
    .cfi_restore lr
    blr
    .cfi_endproc
    .size f, .-f
    .type g, @function
g:  .cfi_startproc
    blr
    .cfi_endproc
    .size g, .-g
"""
"""Where a nop has its place; rows find the return address in r0 elsewhere in the function."""
SAVED = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    stdu 1, -48(1)
    .cfi_def_cfa_offset 48
    std 31, 40(1)
    .cfi_offset r31, -8
    {}
    addi 11, 30, 1      # r30 is the caller's, and no row says where it is kept
    li 0, 2
    cmpwi 3, 0
    beq 1f
    mflr 0
    .cfi_register lr, r0
    {}
    addi 3, 3, 1
    .cfi_same_value lr
    ori 1, 1, 0         # a nop, which may go
1:  ld 31, 40(1)
    addi 1, 1, 48
    .cfi_def_cfa_offset 0
    .cfi_restore r31
    nop
    blr
    .cfi_endproc
    .size f, .-f
"""
"""What may be in place of scratch results that are made of a register that the code saves."""
RESTORED = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    mflr 0
    std 0, 16(1)
    .cfi_offset lr, 16
    stdu 1, -32(1)
    .cfi_def_cfa_offset 32
    bl g
    addi 1, 1, 32
    .cfi_def_cfa_offset 0
    ld 0, 16(1)
    {}
    blr
    .cfi_endproc
    .size f, .-f
    .type g, @function
g:  .cfi_startproc
    blr
    .cfi_endproc
    .size g, .-g
"""
"""How the return address comes back, and where a row says so."""
HOLDING = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    mflr 12
    mr 0, 12
    {}
    addi 3, 3, 1
    .cfi_register lr, r0
    addi 3, 3, 2
    .cfi_same_value lr
    blr
    .cfi_endproc
    .size f, .-f
"""
MANY = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    stwu 1, -32(1)
    .cfi_def_cfa_offset 32
    {}
    bl g
    mr 30, 3
    {}
    addi 1, 1, 32
    .cfi_def_cfa_offset 0
    blr
    .cfi_endproc
    .size f, .-f
    .type g, @function
g:  .cfi_startproc
    blr
    .cfi_endproc
    .size g, .-g
"""
"""Where two registers are saved, and where they are restored."""
LI = 0x38000000
FREE, HELD = (1, 2, 4), (3, 5, 6, 7, 8, 9)
"""Places by what r11 is set to: r0 may be written there, or not."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The function in a shared library."""
    return assembled(SOURCE, tmp_path_factory.mktemp("rows"))


def assembled(source: str, folder: Path, machine: str = "powerpc") -> Program:
    """A library of this."""
    (folder / "f.s").write_text(source)
    gcc = inputs.require_tool(f"{machine}-linux-gnu-gcc")
    command = (gcc, "-shared", "-nostdlib", str(folder / "f.s"), "-o", str(folder / "f.so"))
    subprocess.run(command, check=True)
    image = load(str(folder / "f.so"))
    return analyse(image, targets.of(image))


def changed(image: Image, old: int, new: int) -> Image:
    """The file with another word for one that it has once."""
    was, becomes = old.to_bytes(4, "big"), new.to_bytes(4, "big")
    assert image.data.count(was) == 1
    return replace(image, data=image.data.replace(was, becomes))


def changed_text(old: Program, new: Program) -> Image:
    """The file with the text of another, which is as long."""
    image, data = old.image, bytearray(old.image.data)
    for start, end in image.executable_ranges():
        first = image.offset_of(start)
        data[first : first + end - start] = new.image.read(start, end - start)
    return replace(image, data=bytes(data))


def finding(program: Program, old: int, new: int) -> str:
    """What the verifier says of the change."""
    return said_of(program, changed(program.image, old, new))


def said_of(program: Program, new: Image, cpu: str = "") -> str:
    """What the verifier says of another file, made for a CPU."""
    made_for = program.target.cpus[cpu] if cpu else None
    verdict = verify(program, new, lambda stage, done, count: None, made_for=made_for)
    return " ".join(map(str, verdict.findings))


@pytest.mark.parametrize("place", (*FREE, *HELD))
def test_another_write(program: Program, place: int) -> None:
    """r0 is written where r11 was, which nothing reads."""
    said = finding(program, LI | 11 << 21 | place, LI | place)
    assert said == "" if place in FREE else "unwind rows" in said


@pytest.mark.parametrize("number", (101, 102, 103, 104))
def test_a_write_less(program: Program, number: int) -> None:
    """r11 is written where r0 was: 101 and 104 are written again, and no row looks before."""
    said = finding(program, LI | number, LI | 11 << 21 | number)
    assert said == "" if number in (101, 104) else "unwind rows" in said


@pytest.mark.parametrize("place", (1, 2))
def test_a_write_behind_the_last_row(tmp_path: Path, place: int) -> None:
    """Of the frame pointer, by which the last row finds the frame."""
    program = assembled(ENDLESS, tmp_path)
    assert "unwind rows" in finding(program, LI | 11 << 21 | place, LI | 31 << 21 | place)


@pytest.mark.parametrize(("written", "wrong"), [("nop", ""), ("ori 0, 0, 1", "unwind rows")])
def test_a_nop_behind_a_call_writes_nothing(tmp_path: Path, written: str, wrong: str) -> None:
    """The word of a nop names r0, too, as that of a real write does."""
    folders = [tmp_path / "old", tmp_path / "new"]
    for folder in folders:
        folder.mkdir()
    sources = map(BEHIND_A_CALL.format, ("li 11, 1", written))
    old, new = (
        assembled(source, folder, "powerpc64le")
        for source, folder in zip(sources, folders, strict=True)
    )
    said = said_of(old, changed_text(old, new))
    assert wrong in said if wrong else not said


@pytest.mark.parametrize("last", ["saved", "restored"])
def test_many_registers_are_saved_at_once(last: str, tmp_path: Path) -> None:
    """What stands on the other side of the row that says so stays there."""
    rows = {"saved": ".cfi_rel_offset r30, 24\n.cfi_rel_offset r31, 28"}
    rows["restored"] = ".cfi_restore r30\n.cfi_restore r31"
    bodies = {"saved": "stmw 30, 24(1)", "restored": "lmw 30, 24(1)"}
    programs = []
    for number, other in enumerate(("{body}\n{row}\naddi 5, 3, 1", "addi 5, 3, 1\n{row}\n{body}")):
        parts = [
            (other if name == last else "{body}\n{row}").format(body=body, row=rows[name])
            for name, body in bodies.items()
        ]
        (tmp_path / str(number)).mkdir()
        programs.append(assembled(MANY.format(*parts), tmp_path / str(number)))
    old, new = programs
    assert "unwind rows" in said_of(old, changed_text(old, new))


def pair(source: str, folder: Path, *bodies: str) -> tuple[Program, Image]:
    """A file, and the same with another function and its unwind rows."""
    made = []
    for number, body in enumerate(bodies):
        (folder / str(number)).mkdir()
        made.append(assembled(source.format(*body.split(";")), folder / str(number), "powerpc64le"))
    old, new = made
    return old, with_section(changed_text(old, new), new, ".eh_frame")


def with_section(image: Image, new: Program, name: str) -> Image:
    """The file with a section of another, which is as long."""
    section, other = image.section(name), new.image.section(name)
    assert section is not None and other is not None and section.sh_size == other.sh_size
    first, last = section.sh_offset, section.sh_offset + section.sh_size
    held = new.image.data[other.sh_offset : other.sh_offset + other.sh_size]
    return replace(image, data=image.data[:first] + held + image.data[last:])


def check(source: str, folder: Path, old: str, new: str, wrong: str) -> None:
    """That the verifier finds this wrong with new code and rows, or nothing."""
    said = said_of(*pair(source, folder, old, new))
    assert wrong in said if wrong else not said


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("addi 11, 31, 1;li 11, 3", "addi 0, 31, 1;li 11, 3", ""),  # written again, as r0 is
        ("addi 0, 31, 1;li 11, 3", "addi 11, 31, 1;li 11, 3", ""),
        ("addi 11, 30, 1;li 11, 3", "addi 0, 30, 1;li 11, 3", "unwind rows"),  # it may be a save
        ("li 11, 1;addi 11, 31, 1", "li 11, 1;addi 0, 31, 1", "unwind rows"),  # a row looks there
    ],
)
def test_results_made_of_saved_registers(old: str, new: str, wrong: str, tmp_path: Path) -> None:
    check(SAVED, tmp_path, old, new, wrong)


def test_a_register_that_rows_find_in_another_is_not_free(tmp_path: Path) -> None:
    source = SAVED.replace("mflr 0", "mr 0, 31").replace("lr, r0", "r31, r0")
    source = source.replace(".cfi_same_value lr", ".cfi_offset r31, -8")
    check(source, tmp_path, "addi 11, 31, 1;li 11, 3", "addi 0, 31, 1;li 11, 3", "unwind rows")


def test_a_nop_that_names_the_stack_pointer_may_go(tmp_path: Path) -> None:
    """Behind the last row, as anywhere else."""
    source = SAVED.replace("    nop\n", "    ori 1, 1, 0\n").replace("{}", "nop")
    (tmp_path / "old").mkdir()
    program = assembled(source, tmp_path / "old", "powerpc64le")
    was, becomes = (word.to_bytes(4, "little") for word in (0x60210000, 0x60000000))
    assert program.image.data.count(was) == 2
    new = replace(program.image, data=program.image.data.replace(was, becomes))
    assert not said_of(program, new)


ROW = ".cfi_restore lr"
MOVED = [
    (f"addi 3, 3, 1\n mtlr 0\n {ROW}", f"addi 3, 3, 1\n {ROW}\n mtlr 0", "unwind rows"),
    (f"mtlr 0\n {ROW}", f"{ROW}\n mtlr 0", "unwind rows"),
    (f"mtlr 0\n {ROW}\n addi 3, 3, 1", f"mtlr 0\n addi 3, 3, 1\n {ROW}", "unwind rows"),
    (f"mtlr 0\n addi 3, 3, 1\n {ROW}", f"mtlr 0\n {ROW}\n addi 3, 3, 1", ""),
]
"""The return address is back behind the last instruction that writes it, and not before it."""


BACK = ".cfi_restore r31"
GONE = [
    (f"mtlr 0\n {ROW}\n li 11, 1\n {BACK}", f"mtlr 0\n {ROW}\n {BACK}\n nop", ""),
    (f"mtlr 0\n {ROW}\n li 11, 1\n {BACK}", f"mtlr 0\n li 11, 1\n {ROW}\n {BACK}", "unwind"),
    (f"{BACK}\n mtlr 0\n {ROW}\n li 11, 1", f"mtlr 0\n {BACK}\n {ROW}\n li 11, 1", "unwind"),
    (f"li 11, 1\n {BACK}\n mtlr 0\n {ROW}", f"nop\n mtlr 0\n {BACK}\n {ROW}", "unwind"),
]
"""A row may go with all that it was said of, and not where that is said something else of."""
SAVING = RESTORED.replace(
    "    bl g\n", "    std 31, 24(1)\n    .cfi_offset r31, -8\n    bl g\n"
).replace("    addi 1, 1, 32\n", "    ld 31, 24(1)\n    addi 1, 1, 32\n")
"""The same of a function that saves r31, too."""


@pytest.mark.parametrize(
    ("source", "old", "new", "wrong"),
    [*((RESTORED, *one) for one in MOVED), *((SAVING, *one) for one in GONE)],
)
def test_where_rows_may_stand(source: str, old: str, new: str, wrong: str, tmp_path: Path) -> None:
    check(source, tmp_path, old, new, wrong)


@pytest.mark.parametrize(("old", "new", "wrong"), MOVED)
def test_the_same_on_a_way(old: str, new: str, wrong: str, tmp_path: Path) -> None:
    """Where blocks may change places it is asked of each way: there the place is the same, too."""
    program, image = pair(RESTORED, tmp_path, old, new)
    other, start = analyse(image, program.target), program.functions[0].start
    sides = [(one.frames[start], one.listing) for one in (program, other)]
    way = [*range(start, sides[0][0].end, 4)]
    kinds = Kinds(program.target)
    assert not agree(*sides, kinds, [(way, way)], (), {})
    assert agree(sides[0], sides[0], kinds, [(way, way)], (), {})


@pytest.mark.parametrize(("old", "new"), [("li 11, 1", "li 0, 1"), ("mr 0, 12", "li 0, 1")])
def test_what_a_row_finds_is_put_there_by_the_same(old: str, new: str, tmp_path: Path) -> None:
    """Nobody but an unwinder reads it; the move before it is made of a scratch register alone."""
    check(HOLDING, tmp_path, old, new, "unwind rows")


PUSHED = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    {}
    stdu 1, -112(1)
    .cfi_def_cfa_offset 112
    .cfi_escape {}
    addi 1, 1, 112
    .cfi_def_cfa_offset 0
    blr
    .cfi_endproc
    .size f, .-f
"""


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("li 11, 1;0x2e, 80", "li 11, 2;0x2e, 80", ""),
        ("li 11, 1;0x2e, 80", "li 11, 2;0x2e, 64", "unwind rows"),
        ("li 11, 1;0, 0", "li 11, 1;0x2e, 80", "unwind rows"),
    ],
)
def test_bytes_of_arguments_that_a_landing_pad_takes_away(
    old: str, new: str, wrong: str, tmp_path: Path
) -> None:
    """DW_CFA_GNU_args_size: unwinders add it to the stack pointer before they go to a pad."""
    check(PUSHED, tmp_path, old, new, wrong)


SWITCH = """
    .globl f
    .type f, @function
f:  .cfi_startproc
0:  addis 2, 12, .TOC.-0b@ha
    addi 2, 2, .TOC.-0b@l
    .localentry f, .-f
    cmplwi 3, 2
    bgt .Lout
    mflr 0
    std 0, 16(1)
    stdu 1, -64(1)
    {cfi}_def_cfa_offset 64
    {cfi}_offset lr, 16
    addis 9, 2, .Ltable@toc@ha
    addi 9, 9, .Ltable@toc@l
    rldic 3, 3, 2, 30
    lwax 10, 9, 3
    add 10, 10, 9
    mtctr 10
    bctr
.Lchanged:
    {changed}
    bl g
    nop
    b .Lback
.Lone:
    {cfi}_offset r31, {row}
    bl g
    nop
    b .Lback
.Lother:
    {cfi}_offset r31, -16
    bl g
    nop
    b .Lback
.Lback:
    addi 1, 1, 64
    {cfi}_def_cfa_offset 0
    ld 0, 16(1)
    mtlr 0
    {cfi}_restore lr
    blr
.Lout:
    li 3, 0
    blr
    .cfi_endproc
    .size f, .-f
    .type g, @function
g:  .cfi_startproc
    {cfi}_def_cfa_offset 64
    blr
.Labroad:
    bl g
    nop
    b .Lback
    .cfi_endproc
    .size g, .-g
    .section .rodata
    .balign 4
.Ltable:
    .long .Lchanged-.Ltable, {led}-.Ltable, .Lother-.Ltable
"""


@pytest.mark.parametrize(
    ("led", "row", "cfi", "wrong"),
    [
        (".Lother", "-8", ".cfi", "unwind rows"),
        (".Lother", "-16", ".cfi", ""),
        (".Labroad", "-16", "#", "outside of the function"),
        (".Lother", "-8", "#", ""),
    ],
    ids=("other rows", "the same rows", "another function", "no rows"),
)
def test_where_a_changed_table_leads(
    led: str, row: str, cfi: str, wrong: str, tmp_path: Path
) -> None:
    """To the same code, of which unwinders may find something else."""
    made = []
    for changed, to in (("li 4, 1\n li 5, 2", ".Lone"), ("li 5, 2\n li 4, 1", led)):
        folder = tmp_path / to
        folder.mkdir()
        source = SWITCH.format(changed=changed, led=to, row=row, cfi=cfi)
        made.append(assembled(source, folder, "powerpc64le"))
    old, new = made
    said = said_of(old, with_section(changed_text(old, new), new, ".rodata"))
    assert wrong in said if wrong else not said


PADS = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    .cfi_personality 0x1b, personality
    .cfi_lsda 0x1b, .Lranges
    mflr 0
    std 0, 16(1)
    stdu 1, -64(1)
    .cfi_def_cfa_offset 64
    .cfi_offset lr, 16
.Lfirst:
    bl g
.Lsecond:
    bl g
.Lcalled:
    {changed}
.Lback:
    addi 1, 1, 64
    .cfi_remember_state
    .cfi_def_cfa_offset 0
    ld 0, 16(1)
    mtlr 0
    .cfi_restore lr
    blr
.Lone:
    .cfi_restore_state
    .cfi_offset r31, {row}
    bl resume
    b .Lback
.Lother:
    .cfi_offset r31, -16
    bl resume
    b .Lback
    .cfi_endproc
    .size f, .-f
    .type g, @function
g:  .cfi_startproc
    blr
    .cfi_endproc
    .size g, .-g
    .type resume, @function
resume:
    .cfi_startproc
    b resume
    .cfi_endproc
    .size resume, .-resume
    .type personality, @function
personality:
    blr
    .size personality, .-personality
    .section .gcc_except_table, "a", @progbits
.Lranges:
    .byte 0xff, 0xff, 1
    .uleb128 .Lend-.Lbegin
.Lbegin:
    .uleb128 .Lfirst-f, .Lsecond-.Lfirst, {pads[0]}-f, 0
    .uleb128 .Lsecond-f, .Lcalled-.Lsecond, {pads[1]}-f, 0
.Lend:
"""


@pytest.mark.parametrize(("row", "wrong"), [(-8, "unwind rows"), (-16, "")])
def test_where_landing_pads_change_places(row: int, wrong: str, tmp_path: Path) -> None:
    """Both are the same code; what unwinders find of their caller may not be."""
    made, pads = [], (".Lone", ".Lother")
    for changed in (("li 4, 1\n li 5, 2", pads), ("li 5, 2\n li 4, 1", pads[::-1])):
        folder = tmp_path / changed[1][0]
        folder.mkdir()
        source = PADS.format(changed=changed[0], pads=changed[1], row=row)
        made.append(assembled(source, folder, "powerpc64le"))
    old, new = made
    said = said_of(old, with_section(changed_text(old, new), new, ".gcc_except_table"))
    assert wrong in said if wrong else not said


BOTH = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    mr 12, 1
    .cfi_def_cfa_register r12
    addi 3, 3, 1
    .cfi_def_cfa_register r1
    mflr 12
    {}
    .cfi_register lr, r12
    addi 3, 3, 2
    .cfi_same_value lr
    blr
    .cfi_endproc
    .size f, .-f
"""


@pytest.mark.parametrize(("new", "wrong"), [("li 11, 2", ""), ("li 12, 1", "unwind rows")])
def test_what_a_row_finds_where_another_finds_the_frame(
    new: str, wrong: str, tmp_path: Path
) -> None:
    check(BOTH, tmp_path, "li 11, 1", new, wrong)
