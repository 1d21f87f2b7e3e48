"""Versions of loops that give up whole lines: what is the same, and every way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.verify.check import Verdict
from tests.verification.tables.test_detours import compared

UNOPS = "unop\n" * 34

OLD = """	lda $1,0($16)
	{guard}
1:	stq $18,0($1)
	lda $1,8($1)
	cmpeq $1,$17,$2
	beq $2,1b
	bis $31,$1,$0
	ret $31,($26),1
	{version}
	unop
"""

VERSION = """
3:	stq $18,0($1)
	lda $1,8($1)
	cmpeq $1,$17,$2
	bne $2,2b
	and $1,63,$2
	bne $2,3b
4:	subq $17,$1,$2
	cmpule $2,64,$2
	bne $2,1b
	wh64 ($1)
	stq $18,0($1)
	stq $18,8($1)
	stq $18,16($1)
	stq $18,24($1)
	stq $18,32($1)
	stq $18,40($1)
	stq $18,48($1)
	stq $18,56($1)
	lda $1,64($1)
	br $31,4b
"""

GUARD = """	subq $17,$1,$2
	cmpule $2,255,$2
	beq $2,3f
"""


def old() -> str:
    """The loop as it was, with room."""
    return OLD.format(guard="unop\n" * 3, version="unop\n" * VERSION.count("\n\t"))


def new(version: str = VERSION, guard: str = GUARD) -> str:
    """The loop with a version for long counts, and as much code as the old one."""
    return OLD.format(guard=guard, version=version).replace("bis $31,$1,$0", "2: bis $31,$1,$0")


def instructions(code: str) -> int:
    """How many instructions some text has."""
    lines = (line.strip() for line in code.splitlines())
    return sum(bool(line) and not line.endswith(":") for line in lines)


def texts(after: str, before: str = "") -> tuple[str, str]:
    """The loop and a new text, both made of one length."""
    both = before or old(), after
    longest = max(map(instructions, both))
    first, second = (text + "\tunop\n" * (longest - instructions(text)) for text in both)
    return first, second


def said(folder: Path, after: str, before: str = "", cpu: str = "ev67") -> Verdict:
    """What the verifier says of the loop and of a new text."""
    return compared(folder, *texts(after, before), cpu)


def test_a_version_does_what_its_loop_does(tmp_path: Path) -> None:
    verdict = said(tmp_path, new())
    assert verdict.ok, verdict.findings
    assert verdict.changed_bytes


@pytest.mark.parametrize(("cpu", "may"), [("ev6", True), ("ev56", False), ("ev4", False)])
def test_a_version_is_for_cpus_that_have_what_it_is(cpu: str, may: bool, tmp_path: Path) -> None:
    """WH64 came with the 21264."""
    verdict = said(tmp_path, new(), cpu=cpu)
    assert verdict.ok is may
    assert may or any("the CPU may lack" in one for one in verdict.findings)


@pytest.mark.parametrize(
    ("hint", "cpu", "may"),
    [
        ("ldbu $31,64($1)", "ev6", True),
        ("ldbu $31,64($1)", "ev5", False),
        ("ldl $31,64($1)", "ev5", True),
    ],
)
def test_a_hint_is_for_cpus_that_have_it(hint: str, cpu: str, may: bool, tmp_path: Path) -> None:
    """One that loads a byte traps on others, though it does nothing else."""
    after = old().replace("\tunop\n", f"\t{hint}\n", 1)
    assert after != old()
    verdict = said(tmp_path, after, cpu=cpu)
    assert verdict.ok is may
    assert may or any("the CPU may lack" in one for one in verdict.findings)


LAST = "stq $18,56($1)"
DOWN = VERSION.replace("cmpule $2,64,$2", "cmpule $2,56,$2")
WRONG = {
    "a line that is not wholly stored": (VERSION.replace(LAST, "stq $18,48($1)"), "wholly stored"),
    "and one store less": (VERSION.replace(f"\t{LAST}\n", ""), "wholly stored"),
    "the line behind": (
        VERSION.replace("\twh64 ($1)", "\tlda $2,64($1)\n\twh64 ($2)"),
        "a store elsewhere, before a line",
    ),
    "a line that begins elsewhere": (VERSION.replace("and $1,63", "and $1,31"), "a line begins"),
    "a line with what is before it": (VERSION.replace("and $1,63", "and $1,7"), "a line begins"),
    "the line is given up when some of it is stored": (
        VERSION.replace("\twh64 ($1)\n\tstq $18,0($1)", "\tstq $18,0($1)\n\twh64 ($1)"),
        "wholly stored",
    ),
    "a count too short for a line": (DOWN.replace("56,$2", "48,$2"), "all passes of a line follow"),
    "a count that ends with the line": (DOWN, "all passes of a line follow"),
    "no test of what is left": (
        VERSION.replace("cmpule $2,64,$2", "cmpule $31,0,$2").replace("bne $2,1b", "beq $2,1b"),
        "all passes of a line follow",
    ),
    "the wrong sense": (VERSION.replace("\tbne $2,1b", "\tbeq $2,1b"), "passes of a line follow"),
    "another value": (VERSION.replace("stq $18,24", "stq $19,24"), "stored value"),
    "the next line begins too early": (VERSION.replace("lda $1,64", "lda $1,56"), "reads is not"),
    "a read of the line": (
        VERSION.replace(f"\t{LAST}\n", f"\tldq $2,0($1)\n\t{LAST}\n"),
        "something is read before a line",
    ),
    "the way out is another": (VERSION.replace("bne $2,2b", "beq $2,2b"), "way out of the loop"),
    "another register": (
        VERSION.replace("$1,63,$2", "$1,63,$3").replace("$2,3b", "$3,3b"),
        "a register that was not written",
    ),
    "the value itself": (
        VERSION.replace("$1,63,$2", "$1,63,$18").replace("bne $2,3b", "bne $18,3b"),
        "what the loop reads",
    ),
    "a count that only the first line is tested for": (
        VERSION.replace(
            "\tand $1,63,$2\n",
            "\tsubq $17,$1,$0\n\tcmpule $0,64,$0\n\tand $1,63,$2\n\tbis $0,$2,$2\n",
        ).replace("\tsubq $17,$1,$2\n\tcmpule $2,64,$2\n\tbne", "\tcmpule $31,0,$2\n\tbeq"),
        "all passes of a line follow",
    ),
    "two lines at once": (
        VERSION.replace("\twh64 ($1)\n", "\twh64 ($1)\n\twh64 ($1)\n"),
        "two lines",
    ),
    "a barrier": (VERSION.replace("\twh64", "\twmb\n\twh64"), "an event"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_version_is_refused(tmp_path: Path, what: str) -> None:
    version, reason = WRONG[what]
    assert version != VERSION
    verdict = said(tmp_path, new(version))
    assert not verdict.ok
    assert any(reason in finding for finding in verdict.findings), verdict.findings


def test_what_else_is_true_of_the_place(tmp_path: Path) -> None:
    def findings(after: str, before: str) -> str:
        return " ".join(said(tmp_path, after, before).findings)

    # A register that is read behind the loop must be what it was.
    other = VERSION.replace("$1,63,$2", "$1,63,$0").replace("bne $2,3b", "bne $0,3b")
    both = new(other), old()
    assert not findings(*both)
    kept = [text.replace("\tlda $1,0($16)", "\tlda $0,0($17)\n\tlda $1,0($16)") for text in both]
    kept = [text.replace("bis $31,$1,$0", "bis $31,$1,$2") for text in kept]
    assert "leaves a register otherwise" in findings(*kept)
    # Control comes from right before the loop, and to the first instruction.
    early = GUARD + "\tlda $1,8($1)\n"
    assert findings(
        new(guard=early), old().replace("unop\n" * 3, "unop\n" * 3 + "\tlda $1,8($1)\n")
    )
    assert findings(new(guard=GUARD.replace("3f", "4f")), old())
    # No lock may be held near it.
    both = new(), old()
    lock = "\tldq_l $0,0($19)\n\tstq_c $0,0($19)\n\tlda $1,0($16)"
    locked = [text.replace("\tlda $1,0($16)", lock) for text in both]
    assert "near a load-locked" in findings(*locked)
    # Unwinders find the same frame there as in the loop.
    framed = [
        text.replace("ret $31,($26),1", "ret $31,($26),1\n .cfi_adjust_cfa_offset 16")
        for text in both
    ]
    assert "another frame" in findings(*framed)
