"""What was read once is read once, whole; and what a load or a barrier waits for stays.

Memory may change between two loads of it: a bound is then checked of one value and another one
used, and of a value in parts each may be of another moment.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

SOURCE = """
    .text
    .machine power9
    .globl run
    .type run, @function
run:
    .cfi_startproc
    {code}
    blr
    .cfi_endproc
    .size run, .-run
"""

PPC, PPC32, ALPHA = "powerpc64le", "powerpc", "alpha"

BOUND = "lwz 9, 0(3)\ncmplwi 9, 7\nbgt 1f\n{use}\nslwi 9, 9, 2\nlwzx 3, 4, 9\n1:"
TWICE = "{load}\nstd 5, 0(4)\nstd {second}, 8(4)\nli 5, 0\nli 6, 0"
IN_PARTS, IN_PARTS_BESIDES = (
    TWICE.format(load="lwz 5, 0(3)\nlwz 6, 4(3)\nrldimi 5, 6, 32, 0", second=second)
    for second in (5, 6)
)
ACQUIRE = (
    "addi 9, 4, 8\nlwz 9, 0(3)\ncmpw 7, {one}, {one}\nbne- 7, 1f\n1: isync\nld 5, 0(4)\nadd 3, 5, 9"
)


def said(folder: Path, machine: str, *codes: str) -> str:
    """What the verifier says of the second code as the first one's rewrite."""
    pair = []
    for name, code in zip(("old", "new"), codes, strict=True):
        (folder / name).mkdir()
        source = SOURCE.format(code=code)
        if machine == ALPHA:
            source = source.replace("blr", "ret").replace(".machine power9", ".arch ev6")
            source = source.replace(".cfi_startproc", ".cfi_startproc\nunop\nunop")  # entry at +8
        pair.append(assembled(source, folder / name, machine))
    return said_of(pair[0], changed_text(*pair), "ev67" if machine == ALPHA else "")


@pytest.mark.parametrize(
    ("machine", "old", "new"),
    [
        (PPC, BOUND.format(use="nop"), BOUND.format(use="lwz 9, 0(3)")),
        (
            PPC,
            "ld 9, 0(3)\nli 10, 0\nadd 9, 9, 10\nmr 3, 9",
            "lwz 9, 0(3)\nlwz 10, 4(3)\nrldimi 9, 10, 32, 0\nmr 3, 9",
        ),
        (
            ALPHA,
            "ldl $1, 0($16)\ncmpule $1, 7, $2\nbeq $2, 1f\nunop\n"
            "s4addq $1, $17, $1\nldl $0, 0($1)\n1:",
            "ldl $1, 0($16)\ncmpule $1, 7, $2\nbeq $2, 1f\nldl $1, 0($16)\n"
            "s4addq $1, $17, $1\nldl $0, 0($1)\n1:",
        ),
        (
            ALPHA,
            "lda $1, 5($31)\nstl $1, 0($16)\nldq $0, 0($16)\nunop\nunop",
            "lda $1, 5($31)\nstl $1, 0($16)\nldl $0, 4($16)\nsll $0, 32, $0\nlda $0, 5($0)",
        ),
        (PPC, TWICE.format(load="ld 5, 0(3)\nld 6, 0(3)\nnop", second=6), IN_PARTS),
        (PPC, TWICE.format(load="ld 5, 0(3)\nlwz 6, 4(3)\nnop", second=6), IN_PARTS_BESIDES),
        (
            ALPHA,
            "ldq $1, 0($16)\nldq $2, 0($16)\nunop\nunop\nunop\nstq $1, 0($17)\nstq $2, 8($17)",
            "ldl $1, 0($16)\nldl $2, 4($16)\nsll $2, 32, $2\nzapnot $1, 15, $1\n"
            "bis $1, $2, $1\nstq $1, 0($17)\nstq $1, 8($17)",
        ),
        (
            PPC,
            "stw 10, 0(3)\nld 9, -4(3)\nnop\nmr 3, 9",
            "stw 10, 0(3)\nlwz 9, -4(3)\nrldimi 9, 10, 32, 0\nmr 3, 9",
        ),
    ],
    ids=(
        "checked and used",
        "in halves",
        "two in halves",
        "in halves, one of which is read besides",
        "two in halves, Alpha",
        "checked and used, Alpha",
        "half of it stored",
        "half of it stored, around the address",
    ),
)
def test_one_load_does_not_become_two(machine: str, old: str, new: str, tmp_path: Path) -> None:
    assert "memory is read once more" in said(tmp_path, machine, old, new)


@pytest.mark.parametrize(
    ("machine", "old", "new"),
    [
        (PPC, "lwz 5, 0(3)\nlwz 6, 0(3)\nadd 3, 5, 6", "lwz 5, 0(3)\nmr 6, 5\nadd 3, 5, 6"),
        (PPC, "lwz 9, 0(3)\nclrldi 3, 9, 56", "lbz 9, 0(3)\nclrldi 3, 9, 56"),
        (
            PPC,
            "lwz 9, 0(3)\nlwz 10, 4(3)\nclrldi 3, 9, 56",
            "lbz 9, 0(3)\nlwz 10, 4(3)\nclrldi 3, 9, 56",
        ),
        (
            ALPHA,
            "ldl $1, 4($16)\nldq_u $2, 7($16)\nlda $3, 7($16)\nextbl $2, $3, $2\naddq $1, $2, $0",
            "ldbu $2, 7($16)\nldl $1, 4($16)\nunop\nunop\naddq $1, $2, $0",
        ),
        (
            ALPHA,
            "ldl $1, 64($31)\nldq_u $2, 7($16)\nlda $3, 7($16)\nextbl $2, $3, $2\naddq $1, $2, $0",
            "ldbu $2, 7($16)\nldl $1, 64($31)\nunop\nunop\naddq $1, $2, $0",
        ),
        (
            PPC,
            "lwz 9, 0(3)\nlwz 10, 0(3)\nclrldi 9, 9, 56\nadd 3, 9, 10",
            "lbz 9, 0(3)\nlwz 10, 0(3)\nnop\nadd 3, 9, 10",
        ),
        (
            ALPHA,
            "ldl $1, 0($16)\nand $1, 255, $1\nldq_u $2, 1($16)\nlda $3, 1($16)\nextbl $2, $3, $2\n"
            "addq $1, $2, $0",
            "ldbu $1, 0($16)\nunop\nunop\nldbu $2, 1($16)\nunop\naddq $1, $2, $0",
        ),
        (
            ALPHA,
            "lda $30, -16($30)\nlda $1, 5($31)\nstl $1, 0($30)\nldq $0, 0($30)\nunop\nunop\n"
            "lda $30, 16($30)",
            "lda $30, -16($30)\nlda $1, 5($31)\nstl $1, 0($30)\nldl $0, 4($30)\nsll $0, 32, $0\n"
            "lda $0, 5($0)\nlda $30, 16($30)",
        ),
    ],
    ids=(
        "two become one",
        "a part",
        "a part, and its neighbour",
        "of a cell, before another",
        "at a number",
        "a part, and the whole",
        "a part, and another of its cell",
        "on the stack",
    ),
)
def test_fewer_and_narrower_loads_are_the_same(
    machine: str, old: str, new: str, tmp_path: Path
) -> None:
    assert not said(tmp_path, machine, old, new)


CHECKED = "{load}\ncmplwi 30, 10\nbge 1f\nlbzx 3, 7, {index}\n1:"


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (
            ("lwz 29, 0(3)\nlwz 30, 4(3)\nlwz 31, 8(3)", 30),
            ("lmw 29, 0(3)\nlwz 12, 4(3)\nnop", 12),
            True,
        ),
        (("lswi 29, 3, 12\nnop", 30), ("lswi 29, 3, 12\nlwz 12, 4(3)", 12), True),
        (("lmw 29, 0(3)\nlwz 12, 4(3)", 12), ("lmw 29, 0(3)\nmr 12, 30", 12), False),
    ],
    ids=("words, then many", "a string", "read once more before"),
)
def test_each_word_of_many_is_read_once(
    old: tuple[str, int], new: tuple[str, int], refused: bool, tmp_path: Path
) -> None:
    codes = (f"li 12, 0\n{CHECKED.format(load=load, index=index)}" for load, index in (old, new))
    found = said(tmp_path, PPC32, *codes)
    assert "memory is read once more" in found if refused else not found


PARTS = "ld 6, 0(3)\nstw 4, {at}(3)\nld 5, 0(3)\n{behind}\nstd 6, 8(8)\nstd 5, 0(8)"


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (
            PARTS.format(at=0, behind="nop"),
            ("ld 5, 0(3)\nnop", "mr 5, 6\nrldimi 5, 4, 0, 32"),
            True,
        ),
        (PARTS.format(at=0, behind="li 7, 1"), ("li 7, 1", "li 7, 2"), False),
        (PARTS.format(at=16, behind="nop"), ("ld 5, 0(3)", "mr 5, 6"), False),
        ("std 4, 0(3)\nld 5, 0(3)\nstd 5, 0(8)", ("ld 5, 0(3)", "mr 5, 4"), False),
        (
            "ld 6, 0(3)\nstw 4, 0(3)\nlwz 5, 0(3)\nadd 3, 5, 6",
            ("lwz 5, 0(3)", "clrldi 5, 4, 32"),
            False,
        ),
    ],
    ids=("from parts", "loaded again", "stored elsewhere", "stored whole", "as much as was stored"),
)
def test_a_load_behind_a_store_of_a_part_stays(
    old: str, new: tuple[str, str], refused: bool, tmp_path: Path
) -> None:
    """What was read before and what was stored are of two moments, and one load is of one."""
    found = said(tmp_path, PPC, old, old.replace(*new))
    assert "is read no more" in found if refused else not found


def test_a_branch_waits_for_the_load_before_a_barrier(tmp_path: Path) -> None:
    """A register is compared with itself for that: what it holds says nothing of the branch."""
    codes = (ACQUIRE.format(one=one) for one in (9, 4))
    assert "branch condition differs" in said(tmp_path, PPC, *codes)


@pytest.mark.parametrize(("barrier", "differs"), [("isync", True), ("nop", False)])
def test_no_choice_before_a_barrier_that_waits_for_branches(
    barrier: str, differs: bool, tmp_path: Path
) -> None:
    load, behind = "lwz 9, 0(3)\ncmpwi 9, 0", f"1: {barrier}\nld 3, 0(5)"
    old, new = "beq 1f\nmr 5, 4", "isel 5, 5, 4, 2\nnop"
    assert bool(said(tmp_path, PPC, *(f"{load}\n{one}\n{behind}" for one in (old, new)))) == differs
