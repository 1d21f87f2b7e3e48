"""Machine code that is data, as a program to be copied elsewhere: it stays what it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.api import files
from rewriter.api.choose import Wanted
from rewriter.api.patch import patch
from rewriter.elf.image import load, parse
from tests.verification.tables.test_ppc_rows import assembled, changed_text, said_of

WORK = """
    {numbers}
    add 3, 5, 6
    lwz 5, 0(4)
    lwz 6, 4(4)
    mullw 5, 5, 6
    stw 5, 8(4)
    lwz 7, 12(4)
    lwz 8, 16(4)
    mullw 7, 7, 8
    stw 7, 20(4)
"""
"""What a scheduler puts in another order."""
NUMBERS, OTHERWISE = "li 5, 1\nli 6, 2", "li 6, 2\nli 5, 1"
WITHIN = "mflr 0\nbl {}\nmtlr 0\nblr\n"
"""A call of something in a function."""

CODE = """
    .text
first:
    {first}
second:
    WORK
    blr
    .globl run
    .type run, @function
run:
    .cfi_startproc
    mflr 0
    bl first
    mtlr 0
    blr
    .cfi_endproc
    .size run, .-run
"""
BLOB = f"""
blob:
    {WITHIN.format("inner")}
inner:
    WORK
    blr
behind:
"""
LAST = """
    .globl last
    .type last, @function
last:
    .cfi_startproc
    {}
    .cfi_endproc
    .size last, .-last
"""
"""A function, with what it ends with."""
BEGUN = WITHIN.format("inner").join(("{}:\n", "inner:\nWORK\nblr\n"))
"""Code that calls a function, at a label."""
ARRAY = '\n.section {}, "aw"\n.long begun\n.text\n'


def _program(folder: Path, more: str, first: str = NUMBERS, inner: str = NUMBERS) -> Program:
    """A library of the code with something behind it."""
    folder.mkdir(exist_ok=True)
    code = CODE.replace("WORK", WORK.format(numbers=first)).format(first=WITHIN.format("second"))
    return assembled(code + more.replace("WORK", WORK.format(numbers=inner)), folder)


def _left(program: Program) -> set[str]:
    """Labels of the functions that are left alone."""
    named = {symbol.st_value: symbol.name for symbol in program.image.symbols}
    left = (f for f in program.functions if program.not_understood(f))
    assert {"first", "second", "inner"} <= {named.get(f.start) for f in program.functions}
    return {named[f.start] for f in left}


@pytest.mark.parametrize("is_sectioned", [True, False], ids=["sections", "segments"])
def test_only_what_known_code_comes_to_is_code(is_sectioned: bool, tmp_path: Path) -> None:
    """A call in a blob speaks for nothing; one in a function speaks for another, and so on."""
    program = _program(tmp_path, BLOB + LAST.format("blr"))
    if not is_sectioned:
        program = analyse(replace(program.image, sections=()), program.target)
    assert _left(program) == {"inner"}


def test_a_change_of_what_may_be_data_is_refused(tmp_path: Path) -> None:
    old = _program(tmp_path / "old", BLOB)
    code, data = (
        changed_text(old, _program(tmp_path / str(n), BLOB, *numbers))
        for n, numbers in enumerate(((OTHERWISE, NUMBERS), (NUMBERS, OTHERWISE)))
    )
    assert code.data != old.image.data != data.data
    assert not said_of(old, code)
    assert "it may be data" in said_of(old, data)


def test_patching_leaves_it(tmp_path: Path) -> None:
    """All of it is as it was, while the same instructions get another order in a function."""
    old = _program(tmp_path, BLOB).image
    new = parse(patch(files.load(tmp_path / "f.so"), Wanted(cpu="7450")).data(), "new")
    places = {symbol.name: symbol.st_value for symbol in old.symbols}
    parts = [(places[start], places[end]) for start, end in (("second", "run"), ("blob", "behind"))]
    kept = [old.read(start, end - start) == new.read(start, end - start) for start, end in parts]
    assert kept == [False, True]


@pytest.mark.parametrize(
    ("begin", "is_code"),
    [
        (".globl _init\n" + BEGUN.format("_init"), True),
        (BEGUN.format("begun") + "\n.type begun, @function\n", True),
        (BEGUN.format("begun") + ARRAY.format(".init_array"), True),
        (BEGUN.format("begun") + ARRAY.format(".fini_array"), True),
        (BEGUN.format("begun") + ARRAY.format(".data"), False),
        (BEGUN.format("begun"), False),
    ],
    ids=["init", "function", "init array", "fini array", "data", "label"],
)
def test_what_the_loader_calls_is_code(begin: str, is_code: bool, tmp_path: Path) -> None:
    """Words of data may lead to what is copied, and so may symbols without a type."""
    program = _program(tmp_path, begin + LAST.format("blr"))
    assert ("inner" in _left(program)) is not is_code
    bare = analyse(replace(program.image, sections=()), program.target)
    assert ("inner" in _left(bare)) is not is_code


@pytest.mark.parametrize("end", ["bl unknown", "li 3, 1", "trap", "twi 31, 0, 0"])
def test_control_does_not_run_over_the_end_of_a_function(end: str, tmp_path: Path) -> None:
    """It ends with a call that never comes back, or where its writer said that nothing comes."""
    assert "inner" in _left(_program(tmp_path, LAST.format(end) + BLOB))


def test_a_function_behind_which_a_blob_may_be_is_left_alone(tmp_path: Path) -> None:
    """Nobody says where a function ends for which only a call speaks."""
    program = _program(tmp_path, LAST.format("b called") + "called:\nWORK\nblr\n" + BLOB)
    assert _left(program) == {"inner"}  # what is only branched to is no function
    program = _program(tmp_path, LAST.format("bl called\nblr") + "called:\nWORK\nblr\n" + BLOB)
    assert _left(program) == {"called", "inner"}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("alpha-libgcc_s", []),
        ("ppc64-libgcc_s", []),
        ("ppc64el-libgcc_s", []),
        ("ppc-libgcc_s", [24]),
    ],
)
def test_what_real_files_have(name: str, sizes: list[int]) -> None:
    """Stubs for calls of other files, what runs at start and end, and one blob: the instructions
    that libgcc copies to the stack, for pointers to functions inside of functions (GNU C)."""
    image = load(inputs.require(name))
    target = targets.of(image).sequential
    assert target is not None
    program = analyse(image, target)
    assert any(function.source == "call" for function in program.functions)
    doubtful = (f for f in program.functions if "may be data" in program.not_understood(f))
    assert [function.size for function in doubtful] == sizes
