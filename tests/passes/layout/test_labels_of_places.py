"""Alpha code that makes the address of a label out of its own place: the label stays."""

from __future__ import annotations

from pathlib import Path

import pytest

import targets
from rewriter.analysis.program import analyse
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from tests.verification.tables.test_detours import library

CODE = """
	{}
	stq $1,0($16)
	ret $31,($26),1
	.cfi_endproc
	.end f
	.globl g
	.ent g
g:	.cfi_startproc
	beq $17,4f
	bis $31,$31,$0
	unop
	unop
	unop
	br $31,2f
	unop
	unop
1:	ldbu $1,0($16)
	addq $0,$1,$0
	lda $16,1($16)
2:	lda $17,-1($17)
	bge $17,1b
	unop
	unop
	unop
$label:	cmpeq $16,7,$1
	bne $1,3f
	lda $16,1($16)
	unop
3:	addq $16,$0,$0
4:	ret $31,($26),1
	.cfi_endproc
	.end g
	.ent h
h:	.cfi_startproc
	ret $31,($26),1
"""
MARK = bytes.fromhex("a1f50042")  # cmpeq $16,7,$1
PLAIN = "lda $1,64($31)"
MADE = {
    "behind a branch": "br $1,9f\n9: lda $1,$label-9b($1)",
    "further on": "br $2,9f\n9: unop\n bis $31,1,$3\n lda $1,$label-9b($2)",
    "from the function's start": "unop\n lda $1,$label-f($27)",
    "at the function's start": "lda $1,$label-f($27)",
}


def _places(made: str, folder: Path) -> list[int]:
    """Where the label's instruction is in a library, and in what becomes of it."""
    before = library(folder, "old", CODE.format(made))
    target = targets.of(before)
    done = tune(before, target, target.cpus["ev67"], Options(("align",)), lambda *_: None)
    return [data.index(MARK) for data in (before.data, done.data)]


def test_without_such_code_it_moves(tmp_path: Path) -> None:
    old, new = _places(PLAIN, tmp_path)
    assert new < old


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_label_keeps_its_place(made: str, tmp_path: Path) -> None:
    old, new = _places(made, tmp_path)
    assert new == old


def test_another_value_in_the_register_makes_no_label(tmp_path: Path) -> None:
    """What it held at the function's start is gone."""
    made = "ldq $27,0($16)\n lda $1,$label-f($27)"
    loaded = library(tmp_path, "old", CODE.format("unop\n" + made))
    target = targets.of(loaded).sequential
    assert target is not None
    program = analyse(loaded, target)
    label = loaded.address_of(loaded.data.index(MARK))
    assert label not in program.references.labels
