"""What goes into values that nobody looks at may go: where that ends, and every way to be wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import targets
from fixtures import inputs
from rewriter.analysis.program import analyse
from rewriter.elf.image import Image, parse
from rewriter.verify.check import verify

LOOP = """	mov 0,$1
	mov 0,$2
	mov 0,$3
	{}
1:	{}
	addq $2,$17,$4
	cmovne $17,$4,$2
	subq $16,1,$16
	addq $3,$16,$3
	bgt $16,1b
	{}
	mov $3,$0
	ret $31,($26),1
2:	stq $2,0($18)
	ret $31,($26),1
	unop
"""
MOVE = "cmovne $17,$4,$2"


def loop(first: str = "", inside: str = "", behind: str = "") -> str:
    """A loop in which $2 and $4 are made of themselves, and $3 is what comes of it."""
    return LOOP.format(first, inside, behind)


def without(code: str, gone: str = MOVE, then: str = "unop") -> str:
    """The same with something else in the place of one instruction."""
    assert code.count(gone) == 1
    return code.replace(gone, then)


PLAIN = loop()

SAME = {
    "the move": (PLAIN, without(PLAIN)),
    "another move": (PLAIN, without(PLAIN, then="cmoveq $17,$4,$2")),
    "what it is made of": (PLAIN, without(without(PLAIN), "addq $2,$17,$4")),
    "another value": (PLAIN, without(PLAIN, "addq $2,$17,$4", "addq $2,$16,$4")),
    "through others": tuple(
        f(loop(inside="xor $2,$4,$5\n s8addq $5,$2,$2")) for f in (str, without)
    ),
    "where another loop keeps it for itself": tuple(
        f(loop(behind="3: addq $2,1,$2\n subq $17,1,$17\n bgt $17,3b")) for f in (str, without)
    ),
}

USES = {
    "it is stored behind the loop": ("", "", "stq $2,0($18)"),
    "it is stored in the loop": ("", "stq $2,0($18)", ""),
    "it is stored where the loop may leave": ("", "beq $19,2f", ""),
    "it says where to store": ("", "stq $16,0($2)", ""),
    "it says from where to load": ("", "ldq $5,0($2)", ""),
    "it is branched by": ("", "beq $2,2f", ""),
    "it is branched by behind the loop": ("", "", "bne $2,2f"),
    "it is given back": ("", "", "addq $2,$3,$3"),
    "it goes into what is given back, the next time": ("", "addq $2,$3,$3", ""),
    "it goes there through others": ("", "", "xor $2,$4,$5\n s8addq $5,$3,$3"),
    "it may trap": ("", "addq/v $2,$17,$5", ""),
    "it goes to a call": ("", "", "mov $2,$16\n mov $26,$9\n jsr $26,($27),0\n mov $9,$26"),
    "what is called reads it": ("", "", "mov $26,$9\n bsr $26,reads\n mov $9,$26"),
    "what is called behind its start reads it": (
        *("", ""),
        "mov $26,$9\n bsr $26,reads+8\n mov $9,$26",
    ),
    "what is gone on with reads it": ("", "", "bne $17,reads"),
    "it is read behind a call that leaves it alone": (
        *("", ""),
        "mov $26,$9\n bsr $26,leaves\n mov $9,$26\n stq $2,0($18)",
    ),
    "it is called": ("", "", "mov $2,$27\n mov $26,$9\n jsr $26,($27),0\n mov $9,$26"),
    "it is jumped to": ("", "", "jmp $31,($2),0"),
    "it chooses what is given back": ("", "", "cmovne $2,$17,$3"),
    "it is a number of the other kind": ("", "", "stq $2,0($30)\n ldt $f0,0($30)"),
    "system calls see it": ("", "", "mov $2,$16\n call_pal 0x83"),
}


def changed(register: str) -> tuple[str, str]:
    """The same where the register is one that not only its user knows."""
    old = PLAIN.replace("$2,", register + ",")
    old = old.replace("$4,$2", f"$4,{register}").replace("mov 0,$2", f"mov 0,{register}")
    return old, without(old, f"cmovne $17,$4,{register}")


APART = """lda $2,8($3)
 unop
 beq $17,3f
 addq $19,1,$19
 br $31,3f
 ret $31,($26),1
3: mov $2,$5"""
"""Behind it $2 is read, for nobody, and known to be $3 and 8."""

DIFFERENT = {
    **{name: (loop(*uses), without(loop(*uses))) for name, uses in USES.items()},
    "the count of the loop": (PLAIN, without(PLAIN, "subq $16,1,$16", "subq $16,2,$16")),
    "what is given back": (PLAIN, without(PLAIN, "addq $3,$16,$3")),
    "a register that others know": changed("$29"),
    "a register that callers keep": changed("$9"),
    "another register is written": (PLAIN, without(PLAIN, then="cmovne $17,$4,$3")),
    "a register is written that was not": (PLAIN, without(PLAIN, then="cmovne $17,$4,$9")),
    "an access comes": (PLAIN, without(PLAIN, then="ldq $2,0($4)")),
    "a trap comes": (PLAIN, without(PLAIN, then="addq/v $2,$4,$2")),
    "what is needed is made of what went": (
        PLAIN,
        without(without(PLAIN), "addq $3,$16,$3", "addq $3,$2,$3"),
    ),
    "what was a distance apart": (
        loop(behind=APART),
        loop(behind=APART.replace("unop", "addq $2,1,$2")).replace("mov $3,$0", "lda $0,-8($2)"),
    ),
}


OTHERS = {
    "reads": "unop\n unop\n stq $2,0($18)\n ret $31,($26),1\n unop",
    "leaves": "stq $3,0($18)\n ret $31,($26),1",
}
FUNCTION = """
	.globl {0}
	.ent {0}
	.cfi_startproc
{0}:
{1}
	.cfi_endproc
	.end {0}
"""


def library(folder: Path, name: str, codes: list[str]) -> Image:
    """A shared library with functions f0, f1 and so on."""
    assembler, linker = map(inputs.require_tool, ("alpha-linux-gnu-as", "alpha-linux-gnu-ld"))
    functions = {**OTHERS, **{f"f{n}": code for n, code in enumerate(codes)}}
    text = "\n".join(FUNCTION.format(*one) for one in functions.items())
    (folder / "f.s").write_text(
        f"\t.set noreorder\n\t.set noat\n\t.hidden reads, leaves\n\t.text\n{text}"
    )
    for command in ((assembler, "f.s", "-o", "f.o"), (linker, "-shared", "f.o", "-o", name)):
        subprocess.run(command, check=True, cwd=folder)
    return parse((folder / name).read_bytes(), "f.so")


def test_only_what_is_for_nobody_may_go(tmp_path: Path) -> None:
    """All in one file, a function each: what is refused is refused for itself."""
    cases = [*SAME.values(), *DIFFERENT.values()]
    assert all(old != new for old, new in cases)
    old, new = (
        library(tmp_path, f"{n}", list(codes)) for n, codes in enumerate(zip(*cases, strict=True))
    )
    target = targets.of(old).sequential
    assert target is not None
    verdict = verify(analyse(old, target), new, lambda *progress: None)
    names = [f"f{n}" for n in range(len(cases))]
    told = dict(zip(names, (*SAME, *DIFFERENT), strict=True))
    assert {told[one.name] for one in verdict.failed} == {*DIFFERENT}, verdict.findings
