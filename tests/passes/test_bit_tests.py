"""Tests of single bits, and orders, in a file: what `combine` makes, and `verify` refuses."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.isa.instruction import Insn
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, load
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.verify.check import verify
from targets.alpha.isa.rows import TABLE

BITS = (8, 12, 15, 16, 30)
SOURCE = "".join(
    f"""
    long f{bit}(int *x, long (*g)(long)) {{ return *x & 0x{1 << bit:x} ? g({bit}) : x[1]; }}
    long n{bit}(long *x, long (*g)(long)) {{ return *x & 0x{1 << bit:x} ? x[1] : g(3); }}
    """
    for bit in BITS
)
ORDERS = {
    "above": ("cmpult %2,%3,%0", "cmpule %2,%3,%1", "subq $31,%0,%0", "cmoveq %1,1,%0"),
    "below": ("cmplt %2,%3,%0", "cmplt %3,%2,%1", "subl $31,%0,%0", "cmovne %1,1,%0"),
}
"""As `cmp_ex_search` and `cmp_ex_sort` of Linux order addresses, and ints are ordered."""

for name, code in ORDERS.items():
    SOURCE += f"""
    long {name}(long a, long b)
    {{
        long r, t;
        asm("{"; ".join(code)}" : "=&r" (r), "=&r" (t) : "r" (a), "r" (b));
        return r;
    }}
    """


def quiet(stage: str, done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """What gcc makes for the oldest Alpha."""
    folder = tmp_path_factory.mktemp("bits")
    (folder / "bits.c").write_text(SOURCE)
    command = (inputs.require_tool("alpha-linux-gnu-gcc"), "-O2", "-mcpu=ev4", "-shared", "-fPIC",
               "-nostdlib", folder / "bits.c", "-o", folder / "bits.so")  # fmt: skip
    subprocess.run(command, check=True)
    image = load(str(folder / "bits.so"))
    return analyse(image, targets.of(image))


@pytest.fixture(scope="module")
def new(program: Program) -> Image:
    """The file with the pass, and no other."""
    cpu = program.target.cpus["ev67"]
    done = tune(program.image, program.target, cpu, Options(("combine",)), quiet, program=program)
    tests = {f"{k}{bit}" for k in "fn" for bit in BITS}
    assert {edit.routine for edit in done.edits} == {*tests, *ORDERS}
    return replace(program.image, data=done.data)


def changed(program: Program, new: Image) -> dict[int, Insn]:
    """By address, what stands where the files differ."""
    found: dict[int, Insn] = {}
    for function in program.functions:
        for at in range(function.start, function.end, 4):
            word = new.read(at, 4)
            if word != program.image.read(at, 4):
                insn = TABLE.decode(int.from_bytes(word, "little"))
                assert insn is not None
                found[at] = insn
    return found


def test_a_bit_is_shifted_down_and_branched_by(program: Program, new: Image) -> None:
    insns = changed(program, new).values()
    shifts = sorted(insn.operand("rb") for insn in insns if insn.name == "srl")
    assert shifts == sorted([*BITS, *BITS])
    bits, orders = {"srl", "blbs", "blbc"}, {"cmpult", "subq"}
    assert {insn.name for insn in insns} <= {*bits, *orders, "ldq_u"}
    assert verify(program, new, quiet).ok


def wrongs(insn: Insn) -> list[Insn]:
    """What must not stand in the place of a shift or a branch that the pass made."""
    if insn.name == "srl":
        bit, left = insn.operand("rb"), TABLE.find("sll", insn.op.format.name)
        return [insn.replace(rb=bit + 1), insn.replace(rb=bit - 1), Insn(left, insn.operands)]
    if insn.name in {"subq", "cmpult"}:
        first, second, target = insn.operands
        more = {"subq": ("addq", "cmplt"), "cmpult": ("cmpule", "cmplt", "cmpeq")}[insn.name]
        others = [Insn(TABLE.find(name, "operate"), insn.operands) for name in more]
        return [*others, Insn(insn.op, (second, first, target))]
    opposite = {"blbs": "blbc", "blbc": "blbs"}[insn.name]
    others = [Insn(TABLE.find(name), insn.operands) for name in (opposite, "bge", "beq")]
    return [*others, insn.replace(target=insn.operand("target") + 4)]


def test_another_bit_or_sense_is_refused(program: Program, new: Image) -> None:
    """In each function one word wrong, each in turn."""
    made = ((at, insn) for at, insn in changed(program, new).items() if insn.name != "ldq_u")
    left = {(at, other) for at, insn in made for other in wrongs(insn)}
    assert len(left) == len(BITS) * 2 * 7 + len(ORDERS) * 3 + 4
    while left:
        data, functions = bytearray(with_old_identity(program.image, new.data)), set()
        for at, other in sorted(left, key=str):
            function = program.function_at(at)
            if function not in functions:
                offset = new.offset_of(at)
                data[offset : offset + 4] = TABLE.encode(other).to_bytes(4, "little")
                functions.add(function)
                left.remove((at, other))
        verdict = verify(program, replace(new, data=bytes(data)), quiet)
        assert functions == {*verdict.failed}
