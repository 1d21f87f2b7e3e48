"""What `combine` does in a whole file, and wrong ways to do it, all of which `verify` refuses.

Each function of the file is written by hand, with ways to write it for a later CPU: one that does
the same, and others that do not.  And what the pass makes of its cases, run on numbers.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.cli import main
from rewriter.core.code.dataflow import registers_of
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.concrete import Concrete
from rewriter.elf.image import Image, load
from rewriter.verify.check import verify
from targets import of
from targets.ppc.asm.assembler import assemble
from targets.ppc.meanings.answers import answer
from targets.ppc.registers import CR
from tests.passes.test_cases import CASES, Case, read, tuned


@dataclass(frozen=True)
class Written:
    """A function without its return: as it was, how it may be, and how it may not be.

    An instruction that stays is written -; `behind` is what stands in the place of the return.
    """

    before: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    behind: str = ""


FUNCTIONS: Mapping[str, Written] = {
    "shift": Written(
        "extsw r3,r3; sldi r3,r3,3",
        ("nop; extswsli r3,r3,3", "extswsli r3,r3,3; nop"),
        (
            *("nop; extswsli r3,r3,4", "nop; extswsli r3,r4,3", "nop; sldi r3,r3,3"),
            *("extswsli r3,r3,3; extswsli r3,r3,3", "nop; extswsli r4,r3,3"),
        ),
    ),
    "shift_read": Written(
        "extsw r9,r3; sldi r3,r9,3; add r3,r3,r9",
        ("extsw r9,r3; extswsli r3,r3,3; add r3,r3,r9",),
        ("nop; extswsli r3,r3,3; add r3,r3,r9",),
    ),
    "shift_recorded": Written(
        "extsw r9,r3; sldi r3,r9,3; cmpdi cr0,r4,0; beqlr cr0; li r3,0",
        ("nop; extswsli r3,r3,3; cmpdi cr0,r4,0; beqlr cr0; li r3,0",),
        ("nop; cmpdi cr0,r4,0; extswsli. r3,r3,3; beqlr cr0; li r3,0",),
    ),
    "product": Written(
        "mulld r9,r4,r5; add r3,r9,r6",
        ("nop; maddld r3,r4,r5,r6", "nop; maddld r3,r5,r4,r6"),
        ("nop; maddld r3,r4,r6,r5", "nop; maddhd r3,r4,r5,r6", "nop; maddld r3,r4,r5,r4"),
    ),
    "rest": Written(
        "divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3", (), ("nop; nop; modud r3,r3,r4",)
    ),
    "rest_of_ten": Written(
        "li r4,10; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        ("li r4,10; nop; nop; modud r3,r3,r4",),
        (
            *("li r4,10; nop; nop; modsd r3,r3,r4", "li r4,10; nop; nop; modud r3,r4,r3"),
            *("li r4,10; nop; nop; moduw r3,r3,r4", "li r4,9; nop; nop; modud r3,r3,r4"),
        ),
    ),
    "rest_signed": Written(
        "li r4,-1; divd r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        (),
        ("li r4,-1; nop; nop; modsd r3,r3,r4",),
    ),
    "rest_tested": Written(
        "cmpdi cr0,r4,0; beqlr cr0; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        ("-; -; nop; nop; modud r3,r3,r4", "-; -; modud r3,r3,r4; nop; nop"),
        (
            *("-; nop; nop; nop; modud r3,r3,r4", "modud r3,r3,r4; -; -; nop; nop; nop"),
            *("-; -; nop; nop; modud r3,r4,r4", "-; bnelr cr0; nop; nop; modud r3,r3,r4"),
        ),
    ),
    "rest_tested_otherwise": Written(
        "cmpdi cr0,r4,0; bnelr cr0; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        (),
        ("-; -; nop; nop; modud r3,r3,r4",),
    ),
    "rest_tested_by_half": Written(  # a word that is no zero is in a register that is none
        "cmpwi cr0,r4,0; beqlr cr0; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        ("-; -; nop; nop; modud r3,r3,r4",),
        ("-; -; nop; nop; moduw r3,r3,r4",),
    ),
    "rest_of_half_tested": Written(  # the lower half may be zero where the register is not
        "cmpdi cr0,r4,0; beqlr cr0; divwu r9,r3,r4; mullw r9,r9,r4; subf r3,r9,r3; "
        "rldicl r3,r3,0,32",
        (),
        ("-; -; nop; nop; moduw r3,r3,r4; -",),
    ),
    "rest_of_another": Written(
        "cmpdi cr0,r5,0; beqlr cr0; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        (),
        ("-; -; nop; nop; modud r3,r3,r4",),
    ),
    "rest_changed": Written(
        "cmpdi cr0,r4,0; addi r4,r4,1; beqlr cr0; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        (),
        ("-; -; -; nop; nop; modud r3,r3,r4",),
    ),
    "rest_by_other_flags": Written(
        "cmpdi cr0,r4,0; crxor eq,lt,gt; beqlr cr0; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        (),
        ("-; -; -; nop; nop; modud r3,r3,r4",),
    ),
    "rest_positive": Written(
        "cmpdi cr0,r4,0; blelr cr0; divd r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        ("-; -; nop; nop; modsd r3,r3,r4",),
        ("-; bltlr cr0; nop; nop; modsd r3,r3,r4", "-; -; nop; nop; modud r3,r3,r4"),
    ),
    "rest_not_positive": Written(  # the least number by -1 has no quotient
        "cmpdi cr0,r4,0; beqlr cr0; divd r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        (),
        ("-; -; nop; nop; modsd r3,r3,r4",),
    ),
    "rest_above": Written(
        "cmpldi cr6,r4,1; blelr cr6; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        ("-; -; nop; nop; modud r3,r3,r4",),
        ("-; bltlr cr6; nop; modud r3,r3,r4; nop", "cmpldi cr6,r4,0; -; nop; modud r3,r3,r4; nop"),
    ),
    "rest_recorded": Written(
        "or. r4,r5,r5; beqlr cr0; divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        ("-; -; nop; nop; modud r3,r3,r4",),
        ("or r4,r5,r5; -; nop; nop; modud r3,r3,r4",),
    ),
    "rest_in_a_loop": Written(  # as Euclid's algorithm does it
        "cmpdi cr0,r4,0; beqlr cr0; 1: divdu r9,r3,r4; mr r8,r4; mulld r4,r9,r4; subf r4,r4,r3; "
        "mr r3,r8; cmpdi cr0,r4,0; bne cr0,1b",
        ("-; -; nop; -; nop; modud r4,r3,r4; -; -; -",),
        (
            "-; -; nop; -; nop; modud r4,r3,r8; nop; -; -",
            "-; -; nop; nop; nop; modud r4,r3,r4; -; -; -",
        ),
    ),
    "rest_in_a_loop_not_tested": Written(  # where control first comes to it
        "nop; nop; 1: divdu r9,r3,r4; mr r8,r4; mulld r4,r9,r4; subf r4,r4,r3; "
        "mr r3,r8; cmpdi cr0,r4,0; bne cr0,1b",
        (),
        ("-; -; nop; -; nop; modud r4,r3,r4; -; -; -",),
    ),
    "rest_in_a_loop_tested_before": Written(  # what is new in each pass
        "cmpdi cr0,r4,0; beqlr cr0; 1: divdu r9,r3,r4; mulld r9,r9,r4; subf r9,r9,r3; "
        "addi r4,r4,-1; cmpdi cr0,r9,0; mr r3,r9; bne cr0,1b",
        (),
        ("-; -; nop; nop; modud r9,r3,r4; -; -; -; -",),
    ),
    "rest_of_what_stays": Written(
        "cmpldi cr0,r4,1; blelr cr0; 1: divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3; "
        "addi r3,r3,-7; cmpdi cr0,r3,0; bne cr0,1b",
        ("-; -; nop; nop; modud r3,r3,r4; -; -; -",),
        ("cmpldi cr0,r4,0; bltlr cr0; nop; nop; modud r3,r3,r4; -; -; -",),
    ),
    "rest_where_ways_meet": Written(
        "cmpdi cr0,r5,0; beq cr0,1f; cmpdi cr0,r4,0; beqlr cr0; 1: divdu r9,r3,r4; mulld r9,r9,r4; "
        "subf r3,r9,r3",
        (),
        ("-; -; -; -; nop; nop; modud r3,r3,r4",),
    ),
    "rest_where_tested_ways_meet": Written(
        "cmpdi cr0,r5,0; beq cr0,1f; cmpdi cr0,r4,0; beqlr cr0; b 2f; 1: cmpdi cr0,r4,5; "
        "bltlr cr0; 2: divdu r9,r3,r4; mulld r9,r9,r4; subf r3,r9,r3",
        ("-; -; -; -; -; -; -; nop; nop; modud r3,r3,r4",),
        ("-; -; -; -; -; cmpdi cr0,r4,0; -; nop; nop; modud r3,r3,r4",),
    ),
    "rest_behind_a_call": Written(  # which may change what was tested
        "mflr r11; cmpdi cr0,r4,0; beqlr cr0; bl rest_called; divdu r9,r3,r4; mulld r9,r9,r4; "
        "subf r3,r9,r3; mtlr r11",
        (),
        ("-; -; -; -; nop; nop; modud r3,r3,r4; -",),
    ),
    "rest_called": Written("mr r4,r5; nop", (), ()),
    "load": Written(
        "addi r9,r3,32; lxvd2x vs34,0,r9; xxpermdi vs34,vs34,vs34,2",
        ("nop; lxv vs34,32(r3); nop", "addi r9,r3,32; nop; lxvx vs34,0,r9"),
        (
            *("nop; lxv vs34,48(r3); nop", "nop; lxv vs35,32(r3); nop"),
            *("nop; lxv vs34,32(r3); xxpermdi vs34,vs34,vs34,2", "nop; lxvx vs34,0,r3; nop"),
            *("addi r9,r3,32; lxvd2x vs34,0,r9; nop", "nop; lxvx vs34,0,r9; nop"),
        ),
    ),
    "load_behind": Written(
        "lxvd2x vs0,0,r3; std r5,0(r4); xxpermdi vs34,vs0,vs0,2",
        ("lxv vs34,0(r3); std r5,0(r4); nop",),
        ("nop; std r5,0(r4); lxv vs34,0(r3)",),
    ),
    "load_read": Written(
        "lxvd2x vs34,0,r3; xxpermdi vs35,vs34,vs34,2; xxlxor vs34,vs34,vs35",
        (),
        ("lxv vs35,0(r3); nop; xxlxor vs34,vs34,vs35",),
    ),
    "store": Written(
        "xxpermdi vs0,vs34,vs34,2; stxvd2x vs0,r3,r4",
        ("nop; stxvx vs34,r3,r4",),
        (
            *("nop; stxvx vs0,r3,r4", "nop; stxvd2x vs34,r3,r4", "nop; stxv vs34,0(r3)"),
            *("nop; stxvx vs34,r3,r3", "nop; nop", "nop; stxvw4x vs34,r3,r4"),
        ),
    ),
    "reversed": Written(
        "lwz r9,8(r3); rotlwi r3,r9,24; rlwimi r3,r9,8,8,15; rlwimi r3,r9,8,24,31",
        (
            "addi r9,r3,8; nop; nop; lwbrx r3,0,r9",
            "lwz r9,8(r3); nop; brw r3,r9; rldicl r3,r3,0,32",
        ),
        (
            *("addi r9,r3,4; nop; nop; lwbrx r3,0,r9", "addi r9,r3,8; nop; nop; ldbrx r3,0,r9"),
            *("addi r9,r3,8; nop; nop; lhbrx r3,0,r9", "nop; nop; nop; lwbrx r3,0,r3"),
            "addi r9,r3,8; nop; nop; lwzx r3,0,r9",
        ),
    ),
    "reversed_store": Written(
        "rotlwi r9,r4,24; rlwimi r9,r4,8,8,15; rlwimi r9,r4,8,24,31; stw r9,0(r3)",
        ("nop; nop; nop; stwbrx r4,0,r3",),
        (
            *("nop; nop; nop; stdbrx r4,0,r3", "nop; nop; nop; sthbrx r4,0,r3"),
            *("nop; nop; nop; stwbrx r9,0,r3", "nop; nop; nop; stwbrx r4,r3,r3"),
        ),
    ),
    "flag": Written(
        "cmpd cr0,r3,r4; mfocrf r3,128; rlwinm r3,r3,3,31,31",
        ("cmpd cr0,r3,r4; nop; setbc r3,eq",),
        (
            *("cmpd cr0,r3,r4; nop; setbc r3,lt", "cmpd cr0,r3,r4; nop; setbcr r3,eq"),
            *("cmpd cr0,r3,r4; nop; setnbc r3,eq", "cmpd cr0,r3,r4; nop; setbc r3,4*cr1+eq"),
        ),
    ),
    "stopped": Written(
        "cmpdi cr0,r3,0; beqlr cr0; li r3,1; stw r3,0(r4); nop",
        ("cmpdi cr0,r3,0; beqlr cr0; li r3,1; stw r3,0(r4); li r3,2",),
        (
            *("cmpdi cr0,r3,0; beqlr cr0; li r3,1; nop; nop",),
            *("cmpdi cr0,r3,0; beqlr cr0; li r3,1; stw r3,0(r4); blr",),
            *("cmpdi cr0,r3,0; beqlr cr0; li r3,1; stw r3,0(r4); li r5,2",),
        ),
        behind=".long 0",
    ),
    "behind_a_call": Written(
        "mflr r11; bl shift; extsw r3,r3; sldi r3,r3,3; mtlr r11",
        ("-; -; nop; extswsli r3,r3,3; -",),
        ("-; -; nop; extswsli r3,r0,3; -", "-; -; nop; extswsli r3,r4,3; -"),
    ),
    "nothing_written": Written("nop; nop", (), ("nop; li r0,0",)),
}
"""A word of zeros is no instruction: "stopped" ends there, and nobody reads what is in registers
then.  But a caller may keep what it likes in a register that a function does not write."""


def _stem(path: Path) -> str:
    return path.stem


MADE = {
    "shift": "extswsli", "product": "maddld", "rest_of_ten": "modud", "load": "lxv",
    "load_behind": "lxv", "store": "stxvx", "reversed": "lwbrx", "reversed_store": "stwbrx",
    **dict.fromkeys(
        (
            *("rest_tested", "rest_tested_by_half", "rest_above", "rest_recorded"),
            *("rest_in_a_loop", "rest_of_what_stays", "rest_where_tested_ways_meet"),
        ),
        "modud",
    ),
    "rest_positive": "modsd",
    "flag": "setbc", "shift_recorded": "extswsli", "behind_a_call": "extswsli",
}  # fmt: skip
"""What the pass writes for POWER10 in some functions; in the others nothing."""


def _source() -> str:
    """All of them; a traceback table says where each ends, as gcc writes one."""
    lines = []
    for name, written in FUNCTIONS.items():
        body = written.before.replace("; ", "\n\t")
        end = written.behind or "blr"
        lines.append(
            f"\t.globl {name}\n\t.type {name},@function\n\t.p2align 4\n"
            f"{name}:\n\t.cfi_startproc\n\t{body}\n\t{end}\n\t.cfi_endproc\n\t.size {name},.-{name}"
        )
    return "\n".join(["\t.machine power10", "\t.abiversion 2", "\t.text", *lines]) + "\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file."""
    folder = tmp_path_factory.mktemp("combine")
    source, made = folder / "made.s", folder / "made.so"
    source.write_text(_source(), encoding="utf-8")
    gcc = inputs.require_tool("powerpc64le-linux-gnu-gcc")
    command = (gcc, "-shared", "-nostdlib", "-Wa,-mregnames", str(source), "-o", str(made))
    subprocess.run(command, check=True)
    return made


@pytest.fixture(scope="module")
def program(library: Path) -> Program:
    image = load(library)
    target = of(image).sequential
    assert target is not None
    return analyse(image, target)


def _changed(program: Program, ways: Mapping[str, str]) -> Image:
    """The file with functions written in other ways."""
    image, data = program.image, bytearray(program.image.data)
    starts = {s.name: s.st_value for s in image.symbols}
    for name, text in ways.items():
        at = image.offset_of(starts[name])
        for line in text.split("; "):
            if line != "-":
                data[at : at + 4] = assemble(line, width=64, byteorder="little").code
            at += 4
    return replace(image, data=bytes(data))


def _failed(program: Program, ways: Mapping[str, str]) -> set[str]:
    """The functions in which something is found."""
    cpu = program.target.cpus["power10"]
    verdict = verify(program, _changed(program, ways), lambda *_: None, cpu=cpu)
    assert verdict.ok == (not verdict.failed)
    return {function.name for function in verdict.failed}


def _rounds(ways: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """One way of each function at a time, until there are no more."""
    for number in range(max(map(len, ways.values()))):
        yield {name: texts[number] for name, texts in ways.items() if number < len(texts)}


def test_what_does_the_same_is_accepted(program: Program) -> None:
    ways = {name: written.right for name, written in FUNCTIONS.items()}
    assert [_failed(program, one) for one in _rounds(ways)] == [set() for _ in _rounds(ways)]


def test_what_does_not_is_refused(program: Program) -> None:
    ways = {name: written.wrong for name, written in FUNCTIONS.items()}
    rounds = list(_rounds(ways))
    assert sum(map(len, rounds)) > 40
    for one in rounds:
        assert _failed(program, one) == set(one)


def test_the_pass_writes_what_is_shown(library: Path) -> None:
    """objdump finds the new instructions, and that none of the others is another one."""
    out, back = library.with_suffix(".new"), library.with_suffix(".old")
    run = CliRunner()
    options = ("--cpu", "power10", "--passes", "combine", "-q")
    for arguments in (
        ("patch", str(library), "-o", str(out), *options),
        ("verify", str(library), str(out), "-q"),
        ("revert", str(out), "-o", str(back), "-q"),
    ):
        assert run.invoke(main, arguments).exit_code == 0, arguments
    assert back.read_bytes() == library.read_bytes()
    before, after = _texts(library), _texts(out)
    assert {name for name in FUNCTIONS if before[name] != after[name]} == set(MADE)
    assert all(MADE[name] in after[name] for name in MADE)


def _texts(path: Path) -> dict[str, list[str]]:
    """By function, the mnemonics that objdump finds in it."""
    command = [inputs.require_tool("powerpc64le-linux-gnu-objdump"), "-d", "--no-show-raw-insn"]
    text = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True).stdout
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.endswith(">:"):
            found[line.partition("<")[2][:-2]] = names = []
        elif ":\t" in line:
            names.append(line.partition("\t")[2].split()[0])
    return found


# On numbers ----------------------------------------------------------------------------------

RUNS = 20
_SMALL = (0, 1, 2, 10, (1 << 63), (1 << 64) - 1, 0x80000000, 0xFFFFFFFF)


class World(Concrete):
    """The concrete reading, from a random state; addresses may meet."""

    def __init__(self, seed: int, case: Case) -> None:
        self.seed, table = seed, case.language.target.table
        super().__init__(
            width=table.width,
            byteorder=table.byteorder,
            aligned=False,
            constants=table.constants,
            initial_register=self._register,
            initial_byte=lambda at: random.Random(f"{seed} byte {at}").getrandbits(8),
        )

    def _register(self, register: int) -> int:
        draw = random.Random(f"{self.seed} register {register}")
        if CR <= register < CR + 8:
            return draw.getrandbits(4)
        near = 0x1000 + 8 * draw.randrange(4)
        return draw.choice((near, draw.choice(_SMALL), draw.getrandbits(64))) & self.ones

    def opaque(self, name: str, *values: int) -> int:
        found = answer(name, *values)
        if found is None:
            found = random.Random(f"{self.seed} {name} {values}").getrandbits(64)
        return found & self.ones


def _end(case: Case, slots: Sequence[Insn | None], seed: int) -> tuple[object, ...]:
    """The registers that are read afterwards, memory, what was noticed, and where a branch goes."""
    world, stored = World(seed, case), dict[int, int]()
    for number, insn in enumerate(slots):
        if insn is not None:
            world.execute(insn, 0x10000 + 4 * number)
    stored = {at: byte for at, byte in world.memory.items() if byte != world.initial_byte(at)}
    held = [world.get(Reg(r)) for r in registers_of(case.exits)]
    return held, stored, world.events, world.target


@pytest.mark.parametrize("path", [p for p in CASES if p.parent.name == "combine"], ids=_stem)
def test_numbers_are_the_same(path: Path) -> None:
    """An oracle without a prover: the block of a case, before and after."""
    case = read(path)
    before, after = case.language.decoded(case.before), tuned(case).slots
    ends = [_end(case, before, seed) for seed in range(RUNS)]
    assert [_end(case, after, seed) for seed in range(RUNS)] == ends
    changed = [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    if made := [n for n in changed if after[n] is not None]:
        wrong = [*after[: made[-1]], None, *after[made[-1] + 1 :]]
        assert [_end(case, wrong, seed) for seed in range(RUNS)] != ends
