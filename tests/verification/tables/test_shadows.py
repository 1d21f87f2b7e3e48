"""Code behind a trap that comes late, which a handler executes again when it has completed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.tables.test_detours import compared

TRIGGER = "addt/su $f16,$f17,$f10\n"
END = """	trapb
	stq $16,0($17)
	stt $f10,8($17)
	ret $31,($26),1
	unop
"""
BEHIND = END.replace("trapb", "trapb\n {}", 1)

TWICE = {
    "an increment comes from behind the barrier": (
        TRIGGER + BEHIND.format("addq $16,1,$16"),
        TRIGGER + "addq $16,1,$16\n" + END,
    ),
    "an increment comes from before the trap": (
        "addq $16,1,$16\n" + TRIGGER + END,
        TRIGGER + "addq $16,1,$16\n" + END,
    ),
    "what an instruction reads is written behind it": (
        TRIGGER + "addq $18,$16,$0\n" + BEHIND.format("lda $16,9($31)"),
        TRIGGER + "addq $18,$16,$0\n lda $16,9($31)\n" + END,
    ),
    "a load of two instructions leaves its result in its address": (
        "ldl $1,0($16)\n" + TRIGGER + "extbl $1,0,$16\n" + END,
        "unop\n" + TRIGGER + "ldbu $16,0($16)\n" + END,
    ),
    "a load of what is stored behind it": (
        "ldl $1,0($19)\n" + TRIGGER + "extbl $1,0,$16\n stb $18,0($19)\n" + END,
        "unop\n" + TRIGGER + "ldbu $16,0($19)\n stb $18,0($19)\n" + END,
    ),
    "a branch ends the way back": (
        TRIGGER + "1: cmovlt $18,$19,$16\n" + END + "2: unop\n unop\n",
        TRIGGER + "blt $18,2f\n 1:" + END + "2: mov $19,$16\n br $31,1b\n",
    ),
}

ONCE = {
    "behind the barrier": (
        TRIGGER + "trapb\n addq $18,1,$18\n bis $31,7,$0\n" + END,
        TRIGGER + "trapb\n bis $31,7,$0\n addq $18,1,$18\n" + END,
    ),
    "the same twice": (
        TRIGGER + BEHIND.format("addq $18,1,$16"),
        TRIGGER + "addq $18,1,$16\n" + END,
    ),
    "without completion": (
        "addq $16,1,$16\n" + TRIGGER.replace("/su", "") + END,
        TRIGGER.replace("/su", "") + "addq $16,1,$16\n" + END,
    ),
    "as it was": (
        TRIGGER + "addq $16,1,$16\n ldl $1,0($19)\n extbl $1,0,$0\n" + END,
        TRIGGER + "addq $16,1,$16\n ldbu $0,0($19)\n unop\n" + END,
    ),
    "a branch behind the barrier": (
        TRIGGER + "trapb\n 1: cmovlt $18,$19,$16\n" + END + "2: unop\n unop\n",
        TRIGGER + "trapb\n blt $18,2f\n 1:" + END + "2: mov $19,$16\n br $31,1b\n",
    ),
}


@pytest.mark.parametrize(("old", "new"), TWICE.values(), ids=TWICE)
def test_what_does_something_else_when_done_twice_is_refused(
    old: str, new: str, tmp_path: Path
) -> None:
    assert not compared(tmp_path, old, new).ok


@pytest.mark.parametrize(("old", "new"), ONCE.values(), ids=ONCE)
def test_what_is_done_once_may_change(old: str, new: str, tmp_path: Path) -> None:
    assert compared(tmp_path, old, new).findings == ()
