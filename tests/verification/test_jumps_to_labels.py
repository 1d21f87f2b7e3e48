"""Where a jump through a pointer leads: to labels of all parts of its function, wherever data holds
them; and how far a bound on an index reaches.

gcc puts what is seldom executed of a function in a part of its own, which a `goto *` enters and
leaves like any other code of it.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf.image import load
from rewriter.verify.check import verify
from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

PARTS = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
    mflr 0
    std 0, 16(1)
    stdu 1, -64(1)
    .cfi_def_cfa_offset 64
    .cfi_offset 65, 16
    std 30, 48(1)
    .cfi_offset 30, -16
    {hot}
    ld 12, 0(3)
    mtctr 12
    bctr
.Lone:
    fmr 1, 0
.Lback:
    ld 30, 48(1)
    .cfi_remember_state
    addi 1, 1, 64
    .cfi_def_cfa_offset 0
    ld 0, 16(1)
    mtlr 0
    blr
.Lother:
    .cfi_restore_state
    li 3, 1
    b .Lback
    .cfi_endproc
    .size run, .-run
    .type {name}, @function
{name}:
    .cfi_startproc
    .cfi_def_cfa_offset 64
    .cfi_offset 65, 16
    .cfi_offset 30, -16
    mr 3, 30
    {cold}
    {end}
    .cfi_endproc
    .size {name}, .-{name}
    .section .data.rel.ro, "aw"
    .balign 8
    .quad .Lone, .Lother{between}, {name}
"""

JUMP = "ld 12, 8(4)\nmtctr 12\nbctr"

JOINED = (
    {"name": "run.cold", "end": JUMP, "between": "\n.quad 0"},
    {"name": "apart", "end": "b .Lback", "between": "\n.quad 0"},
    {"name": "apart", "end": JUMP, "between": ""},
)
"""By the name of the part, by a branch into the middle, and by labels of both in one table."""


def changed(folder: Path, place: str, code: tuple[str, str], parts: dict[str, str]) -> str:
    """What the verifier says where some code of a function in two parts became other code."""
    pair = []
    for name, text in zip(("old", "new"), code, strict=True):
        (folder / name).mkdir()
        source = PARTS.format(**{"hot": "nop", "cold": "nop"} | parts | {place: text})
        pair.append(assembled(source, folder / name, "powerpc64le"))
    return said_of(pair[0], changed_text(*pair))


@pytest.mark.parametrize("parts", JOINED, ids=("name", "branch", "table"))
def test_a_jump_leads_to_labels_of_other_parts(parts: dict[str, str], tmp_path: Path) -> None:
    """What the other part alone reads is read behind the jump."""
    assert changed(tmp_path, "hot", ("li 30, 1", "li 30, 2"), parts)


@pytest.mark.parametrize("parts", JOINED, ids=("name", "branch", "table"))
def test_what_no_part_reads_may_be_lost(parts: dict[str, str], tmp_path: Path) -> None:
    assert not changed(tmp_path, "hot", ("li 11, 1", "li 11, 2"), parts)


@pytest.mark.parametrize("parts", (JOINED[0], JOINED[2]), ids=("name", "table"))
def test_a_part_jumps_back_and_calls_nobody(parts: dict[str, str], tmp_path: Path) -> None:
    """It never writes the stack pointer, but begins with a frame of its function."""
    assert changed(tmp_path, "cold", ("fneg 0, 2", "fabs 0, 2"), parts)


def test_a_part_that_nobody_knows_is_left_alone(tmp_path: Path) -> None:
    """It begins with a frame, and its jump may go to any label of whose part it is."""
    parts = {"name": "apart", "end": JUMP, "between": "\n.quad 0"}
    source = PARTS.format(hot="nop", cold="nop", **parts)
    program = assembled(source, tmp_path, "powerpc64le")
    run, apart = (program.function_at(_symbol(program, name)) for name in ("run", "apart"))
    assert run is not None and apart is not None
    assert program.not_understood(apart) and not program.not_understood(run)
    (table,) = program.tables_of(run)
    assert apart.start in table.targets


def _symbol(program: Program, name: str) -> int:
    return next(s.st_value for s in program.image.symbols if s.name == name)


NAMELESS = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
    fadd 0, 1, 2
.Lnext:
    lbzu 4, 1(3)
    cmpwi 4, 200
    {branch}
    sldi 4, 4, 3
    ldx 12, 5, 4
    mtctr 12
    bctr
.Lone:
    fmr 1, 0
    blr
    .cfi_endproc
    .size run, .-run
    .globl other
    .type other, @function
other:
    .cfi_startproc
    {other}
    blr
    .cfi_endproc
    .size other, .-other
    .cfi_startproc
.Lcold:
    lbzu 4, 1(3)
.Linside:
    fadd 0, 3, 3
    {cold}
    sldi 4, 4, 3
    ldx 12, 5, 4
    mtctr 12
    bctr
    .cfi_endproc
    .cfi_startproc
.Llast:
    blr
    .cfi_endproc
    .section .data.rel.ro, "aw"
    .balign 8
    .quad .Lone, {table}
"""
"""Of a function and a part of it that no symbol names and that is entered without a frame."""

USUAL = dict.fromkeys(("branch", "other", "cold"), "nop")

NAMELESS_PARTS = (
    {"branch": "beq .Lcold", "table": "0"},
    {"branch": "beq .Lcold", "table": "0, .Lcold"},
    {"table": ".Lcold"},
    {"table": ".Linside"},
)
NAMELESS_IDS = ("branch", "branch and label", "start beside a label", "two labels")

NAMELESS_FUNCTIONS = (
    {"branch": "beq .Lcold", "other": "bl .Lcold", "table": "0"},
    {"table": "0, .Lcold, .Llast"},
    {"table": "0, other, .Lcold"},
)


def altered(folder: Path, parts: dict[str, str]) -> str:
    """What the verifier says where the part leaves something else in f0."""
    pair = []
    for name, cold in (("old", "nop"), ("new", "fmr 0, 3")):
        (folder / name).mkdir()
        source = NAMELESS.format(**{**USUAL, **parts, "cold": cold})
        pair.append(assembled(source, folder / name, "powerpc64le"))
    return said_of(pair[0], changed_text(*pair))


@pytest.mark.parametrize("parts", NAMELESS_PARTS, ids=NAMELESS_IDS)
def test_a_part_without_a_name_or_a_frame_jumps_back(parts: dict[str, str], tmp_path: Path) -> None:
    """What the function reads at its label is read behind the part's jump, which is no call."""
    assert altered(tmp_path, parts)


@pytest.mark.parametrize("parts", NAMELESS_FUNCTIONS, ids=("called", "table", "symbol"))
def test_a_function_without_a_name_is_no_part(parts: dict[str, str], tmp_path: Path) -> None:
    """It is called, or in a table of functions: its jump is a call."""
    assert not altered(tmp_path, parts)


ON_ALPHA = """
    .set noreorder
    .set noat
    .text
    .globl run
    .ent run
run:
    .cfi_startproc
    lda $5, 1($31)
    lda $6, 1($31)
$Lnext:
    ldq $1, 0($16)
    bne $1, {branch}
    {hot}
    ldq $1, 0($17)
    jmp $31, ($1), 0
$Lone:
    addq $0, {one}, $0
    br $31, $Lnext
    .cfi_endproc
    .end run
    .cfi_startproc
$Lcold:
    {cold}
    ldq $1, 8($17)
    jmp $31, ($1), 0
$Lother:
    ret
    .cfi_endproc
    .section .data.rel.ro, "aw"
    .balign 8
    .quad $Lone, {label}
"""


def altered_on_alpha(folder: Path, place: str, gaps: dict[str, str]) -> str:
    """What the verifier says where the code at a place has another constant."""
    pair = []
    for name, value in (("old", 100), ("new", 7)):
        (folder / name).mkdir()
        text = gaps[place].format(value=value)
        source = ON_ALPHA.format(**{**gaps, place: text})
        pair.append(assembled(source, folder / name, "alpha"))
    return said_of(pair[0], changed_text(*pair))


@pytest.mark.parametrize("register", ("$5", "$6"))
def test_a_part_without_a_name_on_alpha(register: str, tmp_path: Path) -> None:
    """It has a label of its own, but its jump leads to those of its function as well."""
    gaps = {"branch": "$Lcold", "hot": "nop", "one": "$5", "label": "$Lother"}
    gaps["cold"] = f"lda {register}, {{value}}($31)"
    assert bool(altered_on_alpha(tmp_path, "cold", gaps)) is (register == "$5")


@pytest.mark.parametrize("register", ("$5", "$6"))
def test_a_label_at_the_start_of_a_part_without_a_name(register: str, tmp_path: Path) -> None:
    """The function's jump leads there: nothing else does."""
    gaps = {"branch": "$Lone", "one": "$16", "label": "$Lcold, $Lother"}
    gaps["cold"], gaps["hot"] = "addq $0, $5, $0", f"lda {register}, {{value}}($31)"
    assert bool(altered_on_alpha(tmp_path, "hot", gaps)) is (register == "$5")


BOUND = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
0:  addis 2, 12, .TOC.-0b@ha
    addi 2, 2, .TOC.-0b@l
    addis 9, 2, .Ltable@toc@ha
    addi 9, 9, .Ltable@toc@l
    {cut}
    cmplwi 6, 2
    bgt .Lout
    {scaled}
    lwax 5, 9, 5
    add 5, 5, 9
    mtctr 5
    bctr
.La:
    li 3, 1
    blr
.Lb:
    li 3, 2
    blr
.Lout:
    li 3, 3
    blr
    .cfi_endproc
    .size run, .-run
    .section .rodata
    .balign 4
.Ltable:
    .long .La-.Ltable, .Lb-.Ltable, .La-.Ltable{more}
"""


@pytest.mark.parametrize(
    ("cut", "scaled", "is_bound"),
    [
        ("clrlwi 6, 3, 24", "sldi 5, 3, 2", False),
        ("clrlwi 6, 3, 24", "rldic 5, 3, 2, 53", False),
        ("clrlwi 6, 3, 24", "rldic 5, 3, 2, 54", True),
        ("clrlwi 6, 3, 24", "rlwinm 5, 3, 2, 22, 29", True),
        ("clrlwi 6, 3, 24", "clrlwi 5, 3, 25\nsldi 5, 5, 2", True),
        ("clrldi 6, 3, 32", "sldi 5, 3, 2", True),
        ("mr 6, 3", "sldi 5, 6, 2", True),
    ],
)
def test_a_bound_on_some_bits_bounds_no_others(
    cut: str, scaled: str, is_bound: bool, tmp_path: Path
) -> None:
    """A table is as long as a comparison says only if it looks at all that the entry is found by;
    a table of more than 32 bits' entries there is not."""
    program = assembled(BOUND.format(cut=cut, scaled=scaled, more=""), tmp_path, "powerpc64le")
    assert any(table.exact for table in program.references.tables) is is_bound


@pytest.mark.parametrize("more", [", .Lb-.Ltable, .Lout+4-.Ltable", ", .Lb-.Ltable, .Lout-.Ltable"])
def test_entries_behind_the_bound(more: str, tmp_path: Path) -> None:
    """One that leads to code which nothing else leads to is an entry, and the bound is none."""
    only = "+4" in more
    source = BOUND.format(cut="mr 6, 3", scaled="sldi 5, 6, 2", more=more)
    source = source.replace(".Lout:\n", ".Lout:\n    blr\n") if only else source
    program = assembled(source, tmp_path, "powerpc64le")
    assert any(table.exact for table in program.references.tables) is not only


WORDS = """
    .globl _start
    .type _start, @function
_start:
    bl run
    trap
    .size _start, .-_start
    .type run, @function
run:
    li 5, 1
    ld 12, 0(3)
    mtctr 12
    bctr
inner:
    mr 3, 5
    blr
    .size run, .-run
    .data
    {before}
    .quad inner
"""


def placed(source: str, folder: Path) -> Path:
    """A program of fixed addresses."""
    (folder / "f.s").write_text(source)
    gcc = inputs.require_tool("powerpc64le-linux-gnu-gcc")
    command = (gcc, "-nostdlib", "-static", "-no-pie", "f.s", "-o", "f")
    subprocess.run(command, cwd=folder, check=True)
    return folder / "f"


def labels(path: Path) -> set[int]:
    """Where jumps through pointers lead."""
    image = load(path)
    program = analyse(image, targets.of(image))
    return {place for table in program.references.tables for place in table.targets}


@pytest.mark.parametrize("before", [".balign 8", ".balign 8\n.byte 1", ".balign 8\n.long 1"])
def test_labels_in_packed_data(before: str, tmp_path: Path) -> None:
    path = placed(WORDS.format(before=before), tmp_path)
    inner = next(s.st_value for s in load(path).symbols if s.name == "inner")
    assert labels(path) == {inner}


def test_labels_of_a_file_without_sections(tmp_path: Path) -> None:
    """What is loaded is data and code."""
    path = placed(WORDS.format(before=".balign 8"), tmp_path)
    known, data = labels(path), bytearray(path.read_bytes())
    data[0x28:0x30], data[0x3C:0x40] = bytes(8), bytes(4)  # e_shoff; e_shnum, e_shstrndx
    path.write_bytes(data)
    assert not load(path).sections
    assert known and known <= labels(path)


SMALL = """
    .set noreorder
    .text
    .globl run
    .ent run
run:
    .frame $30, 0, $26, 0
    ldgp $29, 0($27)
    lda $1, 1($31)
    {loaded}
    jmp $31, ($27)
.Linner:
    mov $1, $0
    ret
    .end run
    .section .sdata, "aws"
    .align 3
next:
    .quad {held}
"""


@pytest.mark.parametrize(
    ("loaded", "held", "calls"),
    [
        ("ldq $27, next($29) !gprel", ".Linner", False),
        ("ldq $27, other($29) !literal", "0", True),
    ],
    ids=("small data", "shared table"),
)
def test_a_label_in_small_data(loaded: str, held: str, calls: bool, tmp_path: Path) -> None:
    """What is loaded off $29 is a function's address only where the function has no label."""
    source = SMALL.format(loaded=loaded, held=held)
    program = assembled(source, tmp_path, "alpha")
    (function,) = (f for f in program.functions if f.name == "run")
    assert bool(program.tables_of(function)) is not calls
    assert not program.not_understood(function)


OTHER = """
    .text
    .globl other
    .ent other
other:
    .frame $30, 0, $26, 0
    ldgp $29, 0($27)
    mov $16, $0
    ret
    .end other
"""
FIRST = """
    ldah $2, .Linner($29) !gprelhigh
    lda $2, .Linner($2) !gprellow
    ldq $27, next($29) !gprel
    stq $2, next($29) !gprel"""


def linked(source: str, folder: Path) -> Program:
    """A program at fixed addresses, whose words of data hold them."""
    (folder / "f.s").write_text(source)
    gcc = inputs.require_tool("alpha-linux-gnu-gcc")
    options = ("-nostdlib", "-static", "-no-pie", "-Wl,-e,run", "-Wl,--no-relax")
    file = folder / "f"
    subprocess.run((gcc, *options, str(folder / "f.s"), "-o", str(file)), check=True)
    image = load(str(file))
    return analyse(image, targets.of(image))


@pytest.mark.parametrize(("held", "understood"), [("run + 8", False), ("other", True)])
def test_a_label_where_callers_enter(held: str, understood: bool, tmp_path: Path) -> None:
    """The first instruction behind those that set $29: a function does not call itself so."""
    source = SMALL.format(loaded=FIRST, held=held) + OTHER
    program = linked(source, tmp_path)
    (function,) = (f for f in program.functions if f.name == "run")
    assert bool(program.not_understood(function)) is not understood


CALLED = """
    .set noreorder
    .text
    .globl run
    .ent run
run:
    .frame $30, 0, $26, 0
    ldgp $29, 0($27)
    ldah $16, .Linner($29) !gprelhigh
    lda $16, .Linner($16) !gprellow
.Linner:
    ldq $27, other($29) !literal
    jmp $31, ($27)
    .end run
"""


def test_a_function_is_called_that_the_linkers_table_holds(tmp_path: Path) -> None:
    """Also where code gives an address of its own to what it calls, as kernels give theirs."""
    program = linked(CALLED + OTHER, tmp_path)
    (function,) = (one for one in program.functions if one.name == "run")
    assert not program.not_understood(function)
    assert not program.tables_of(function)


VARYING = """
    .globl _start, varied
    .text
    .type _start, @function
_start:
    .cfi_startproc
    li 5, 1
    cmplwi 3, 2
    bgt 3f
    lis 9, table@ha
    la 9, table@l(9)
    slwi 3, 3, 2
    lwzx 0, 9, 3
    add 9, 9, 0
    mtctr 9
    bctr
1:  li 5, 1
    blr
2:  li 5, 2
    blr
3:  li 5, 3
4:  mr 3, 5
    blr
    .cfi_endproc
    .size _start, .-_start
    .type varied, @function
varied:
    lis 9, table@ha
    la 9, table@l(9)
    lwz 0, 12(9)
    stw 0, 0(9)
    blr
    .size varied, .-varied
    .section {section}
    .balign 4
table:
    .long 1b - table, 2b - table, 3b - table
    .long 4b - table    # put in the first place, where that can be written
"""


@pytest.mark.parametrize(
    ("section", "reads"), [(".rodata", 1), (".data", 0), ('.data.rel.ro, "aw"', 1)]
)
def test_a_table_that_may_be_written_over_is_not_read(
    section: str, reads: int, tmp_path: Path
) -> None:
    """What the function sets at first is read where only the last entry leads."""
    (tmp_path / "f.s").write_text(VARYING.format(section=section))
    gcc = inputs.require_tool("powerpc-linux-gnu-gcc")
    command = (gcc, "-nostdlib", "-no-pie", "-Wl,-z,relro,-z,now", "f.s", "-o", "f")
    subprocess.run(command, cwd=tmp_path, check=True)
    image = load(tmp_path / "f")
    program = analyse(image, targets.of(image))
    assert len(program.references.tables) == reads
    assert len(program.references.unresolved) == 1 - reads
    data = bytearray(image.data)
    data[image.offset_of(image.entry) + 3] = 2  # li 5, 2
    new = replace(image, data=bytes(data))
    assert bool(verify(program, new, lambda *progress: None).findings) is (reads == 0)
