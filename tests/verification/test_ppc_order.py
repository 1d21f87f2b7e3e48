"""What PowerPC code must not pass, though its operands would allow it, and who reads what is left.

Each change is of one word or two; `li 14,1` is written again at once, so that without it the
instructions are no longer the same ones in another order.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

FRAME = """
    .globl f
    .type f, @function
f:  stwu 1, -48(1)
    mflr 0
    stw 0, 52(1)
    stw 14, 8(1)
    stw 27, 12(1)
    stw 29, 16(1)
    mr 27, 1
    stwux 27, 1, 3
    addi 29, 1, 8
    mr 3, 29
    bl g
    {first}
    li 14, 2
    {second}
    lwz 14, 8(1)
    lwz 27, 12(1)
    lwz 29, 16(1)
    lwz 0, 52(1)
    addi 1, 1, 48
    mtlr 0
    blr
    .size f, .-f
    .type g, @function
g:  stw 3, 0(3)
    blr
    .size g, .-g
"""
"""The second half of a function that gives a part of its stack back."""

LOAD, BACK, OTHER = "lwz 3, 0(29)", "mr 1, 27", "li 14, 1"

STUB = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    addi 0, 12, -44
    lwz 12, 0(11)
    srwi 0, 0, 2
    mtctr 12
    lwz 11, 4(11)
    bctr
    .cfi_endproc
    .size f, .-f
"""

GUARDED = """
    .globl f
    .type f, @function
f:  li 14, 1
    li 14, 2
    cmplwi 4, 16
    bgelr
    {first}
    {second}
    blr
    .size f, .-f
"""


def said(tmp_path: Path, old: str, new: str, machine: str = "powerpc") -> str:
    """What the verifier says of code in the place of other code."""
    programs = []
    for name, text in (("old", old), ("new", new)):
        (tmp_path / name).mkdir()
        programs.append(assembled(text, tmp_path / name, machine))
    return said_of(programs[0], changed_text(*programs))


@pytest.mark.parametrize("other", [OTHER, "nop"])
def test_a_load_stays_before_the_end_of_its_frame(tmp_path: Path, other: str) -> None:
    """In 32-bit code a signal handler may write there; whether or not something else is gone."""
    old = FRAME.format(first=OTHER, second=f"{LOAD}\n {BACK}")
    new = FRAME.format(first=other, second=f"{BACK}\n {LOAD}")
    found = said(tmp_path, old, new)
    assert "another order" in found or "move of the stack pointer" in found


def test_what_is_written_again_may_go(tmp_path: Path) -> None:
    """Where the load keeps its place, nothing is said."""
    texts = (FRAME.format(first=one, second=f"{LOAD}\n {BACK}") for one in (OTHER, "nop"))
    assert said(tmp_path, *texts) == ""


MADE = """
    .globl f
    .type f, @function
f:  {code}
    lwz 1, 0(1)
    blr
    .size f, .-f
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nop\n stwu 1, -4000(1)", "stw 1, -4000(1)\n addi 1, 1, -4000"),
        ("nop\n stwux 1, 1, 9", "stwx 1, 1, 9\n add 1, 1, 9"),
        (
            "stwu 1, -64(1)\n lwz 11, 0(1)\n addi 1, 1, 64",
            "stwu 1, -64(1)\n addi 1, 1, 64\n lwz 11, -64(1)",
        ),
    ],
    ids=("made in two steps", "of a length in a register", "read when it is gone"),
)
def test_nothing_is_below_a_frame_that_a_store_makes(tmp_path: Path, old: str, new: str) -> None:
    """The store that makes it moves the stack pointer at once: of two steps, a signal may come
    between."""
    found = said(tmp_path, *(MADE.format(code=code) for code in (old, new)))
    assert "stack pointer" in found


READ = "addi 11, 1, 1024\n {first}\n {second}\n mr 3, 4"


@pytest.mark.parametrize(
    ("machine", "insn", "operands"),
    [
        ("powerpc64le", "lq 4", ("-512(11)", "-512(1)")),
        ("powerpc64le", "lqarx 4", ("0, 11", "0, 1")),
        ("powerpc", "lwarx 4", ("0, 11", "0, 1")),
        ("powerpc", "dcbz 0", ("11", "1")),
    ],
)
def test_an_event_that_accesses_memory_passes_no_move_of_the_stack_pointer(
    tmp_path: Path, machine: str, insn: str, operands: tuple[str, str]
) -> None:
    """Else it may be below the stack pointer for once, where a signal may write."""
    before, behind = (f"{insn}, {one}" for one in operands)
    old = READ.format(first=before, second="mr 1, 11")
    new = READ.format(first="mr 1, 11", second=behind)
    found = said(
        tmp_path, *(f".machine power9\n{MADE.format(code=code)}" for code in (old, new)), machine
    )
    assert "an event on the other side" in found


def test_an_event_may_be_made_from_another_base_before_it(tmp_path: Path) -> None:
    texts = (
        f"addi 12, 1, 1024\n {READ.format(first=f'lwarx 4, 0, {base}', second='mr 1, 11')}"
        for base in (11, 12)
    )
    assert said(tmp_path, *(MADE.format(code=code) for code in texts)) == ""


def test_two_steps_may_become_one_store_that_makes_a_frame(tmp_path: Path) -> None:
    texts = ("stw 1, -64(1)\n addi 1, 1, -64", "nop\n stwu 1, -64(1)")
    assert said(tmp_path, *(MADE.format(code=code) for code in texts)) == ""


@pytest.mark.parametrize(("was", "other"), [("-44", "-40"), ("srwi 0, 0, 2", "nop")])
def test_a_stub_says_in_r0_which_function_is_wanted(tmp_path: Path, was: str, other: str) -> None:
    """The dynamic linker reads it, of which a file shows nothing."""
    assert "register r0 differs" in said(tmp_path, STUB, STUB.replace(was, other))


@pytest.mark.parametrize("gone", [False, True])
def test_nothing_passes_a_barrier_for_speculation(tmp_path: Path, gone: bool) -> None:
    """ori 31,31,0 computes nothing, and is there all the same."""
    old = GUARDED.format(first="ori 31, 31, 0", second="lbzx 3, 3, 4")
    new = GUARDED.format(first="lbzx 3, 3, 4", second="nop" if gone else "ori 31, 31, 0")
    assert "f at" in said(tmp_path, old, new)


MARKED = """
    .globl f
    .type f, @function
f:  mfspr 4, 256
    oris 5, 4, 0x8000
    {first}
    vaddubm 0, 2, 3
    stvx 0, 0, 3
    mtspr 256, 4
    blr
    .size f, .-f
"""


def test_a_register_is_marked_as_used_while_it_is(tmp_path: Path) -> None:
    """A system saves the vector registers that VRSAVE names: nobody in the file reads that."""
    texts = (MARKED.format(first=one) for one in ("mtvrsave 5", "nop"))
    assert "mtvrsave" in said(tmp_path, *texts)


SEVERAL = """
    .globl f
    .type f, @function
f:  mr 11, 30
    mr 12, 31
    addi 30, 5, {first}
    addi 31, 5, {second}
    stmw 30, 0(4)
    stw 9, 0(10)
    mr 30, 11
    mr 31, 12
    blr
    .size f, .-f
"""


@pytest.mark.parametrize(("first", "second"), [(1, 3), (3, 2)])
def test_all_that_one_instruction_stores_is_compared(
    tmp_path: Path, first: int, second: int
) -> None:
    """Though another store follows, before which memory would else be taken for equal."""
    texts = (SEVERAL.format(first=one, second=two) for one, two in ((1, 2), (first, second)))
    assert "stored value differs" in said(tmp_path, *texts)


COPIED = """
    .globl f
    .type f, @function
f:  lwz 5, 0(3)
    lwz 6, 4(3)
    lfd 0, 0(3)
    {code}
    blr
    .size f, .-f
"""

DOUBLE, WORDS = "stfd 0, 0(4)", "stw 5, 0(4)\n stw 6, 4(4)"


def test_a_double_is_not_stored_as_two_words(tmp_path: Path) -> None:
    """Another thread may see the first word before the second is stored."""
    texts = (COPIED.format(code=code) for code in (f"{DOUBLE}\n nop", WORDS))
    assert "made in parts" in said(tmp_path, *texts)


def test_two_words_may_be_stored_as_a_double(tmp_path: Path) -> None:
    """What a thread sees then it could have seen before."""
    texts = (COPIED.format(code=code) for code in (WORDS, f"nop\n {DOUBLE}"))
    assert said(tmp_path, *texts) == ""


def test_what_reads_the_condition_stays_behind_the_search_for_a_segment(tmp_path: Path) -> None:
    """slbfee. says in CR0 whether it found one."""
    search, read = "slbfee. 4, 5", "mfcr 3"
    orders = (f"{search}\n {read}", f"{read}\n {search}")
    texts = (MADE.format(code=f"cmpdi 3, 0\n {order}") for order in orders)
    assert "f at" in said(tmp_path, *texts, "powerpc64le")


POINTED = """
    .abiversion 2
    .globl f
    .type f, @function
f:  addis 2, 12, .TOC.-f@ha
    addi 2, 2, .TOC.-f@l
    .localentry f, .-f
    mflr 0
    std 0, 16(1)
    stdu 1, -48(1)
    std 2, 24(1)
    mr 12, 3
    mtctr 12
    bctrl
    {first}
    {second}
    nop
    addi 1, 1, 48
    ld 0, 16(1)
    mtlr 0
    blr
    .size f, .-f
"""


@pytest.mark.parametrize("first", ["li 5, 1", "nop"])
def test_what_restores_r2_stays_behind_the_call(tmp_path: Path, first: str) -> None:
    """libgcc looks for it there: else what catches an exception gets the r2 of another file."""
    restore = "ld 2, 24(1)"
    old = POINTED.format(first=restore, second="li 5, 1" if first != "nop" else "nop")
    new = POINTED.format(first=first, second=restore)
    assert "gone from behind its call" in said(tmp_path, old, new, "powerpc64le")


def test_it_comes_behind_no_other_call(tmp_path: Path) -> None:
    """Where libgcc did not look it would find it: it takes r2 from the stack then."""
    places = {"first": "li 5, 1", "second": "ld 2, 24(1)"}
    old = POINTED.format(**places)
    new = POINTED.format(first=places["second"], second=places["first"])
    assert "came behind its call" in said(tmp_path, old, new, "powerpc64le")


@pytest.mark.parametrize("abi", ["powerpc", "powerpc64le"])
def test_a_nop_behind_a_call_goes(tmp_path: Path, abi: str) -> None:
    """No linker comes to a file that can be loaded, and nothing else writes there."""
    texts = (CALLING.format(behind=behind) for behind in ("nop\n li 5, 1", "li 5, 1\n nop"))
    assert said(tmp_path, *texts, abi) == ""


CALLING = """
    .globl f
    .type f, @function
f:  mflr 0
    bl g
    {behind}
    add 3, 3, 5
    mtlr 0
    blr
    .size f, .-f
    .type g, @function
g:  li 3, 1
    blr
    .size g, .-g
"""


@pytest.mark.parametrize(
    ("ending", "finding"),
    [
        ("nop\n bl g\n .long 0, 0x900", ""),
        ("nop\n bl g\n .long 0, 0x901", "data"),
        ("bl g\n nop\n .long 0, 0x901", "data"),
        ("bl g\n li 4, 1\n .long 0, 0x900", "data"),
        ("bl g\n blr\n .long 0, 0x900", "data"),
    ],
)
def test_behind_a_call_and_nops_the_same_data_stands(
    tmp_path: Path, ending: str, finding: str
) -> None:
    """If the call came back, control would come to it in both files."""
    old, new = (LAST.format(each) for each in ("bl g\n nop\n .long 0, 0x900", ending))
    found = said(tmp_path, old, new, "powerpc64le")
    assert finding in found
    assert bool(found) is bool(finding)


LAST = """
    .globl f
    .type f, @function
f:  cmpdi 3, 0
    beqlr
    mflr 0
    {}
    .size f, .-f
    .type g, @function
g:  li 3, 1
    blr
    .size g, .-g
"""
