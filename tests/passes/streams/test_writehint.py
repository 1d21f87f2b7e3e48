"""Whole lines given up in loops that fill memory: the same bytes, also where a page ends."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from passes.streams.filled import Filled, NoVersion
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.readings.interpret import AccessFault, Interpreter, Memory
from rewriter.elf.image import Image, load
from rewriter.identify.profiles import parse
from rewriter.identify.profiles.directions import FIRST, text_hash
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from rewriter.verify.terms.prover import Prover
from targets.alpha.assembler import REGISTERS
from targets.alpha.cpus import CPUS, WRITE_HINTS
from tests.passes.loops import ALPHA
from tests.passes.streams.test_prefetch import decoded
from tests.support.depth import DEEP

TABLE, EV67 = ALPHA.table, CPUS["ev67"]
SOURCE = """
typedef unsigned long quad;
void quads(quad *p, quad *end, quad v) { v ^= 5; do *p++ = v; while (p != end); }
void pairs(quad *p, quad *end, quad v) { do { p[0] = v; p[1] = ~v; p += 2; } while (p < end); }
void ints(int *p, long n, int v) { while (n-- > 0) *p++ = v; }
void ramp(int *p, long n) { for (int i = 0; i < (int)n; i++) p[i] = i; }
void doubles(double *p, quad n, double v) { for (quad i = 0; i < n; i++) p[i] = v; }
void lists(quad *p, quad *end) {
    do { *p = (quad)(p + 4); p += 4; p[-3] = p[-2] = p[-1] = 0; } while (p != end);
}
"""
MAIN = """
#include <stdio.h>
#include <string.h>
typedef unsigned long quad;
void quads(quad *, quad *, quad), pairs(quad *, quad *, quad), ints(int *, long, int);
void ramp(int *, long), doubles(double *, quad, double);
static quad room[2048];
static void said(const char *what) {
    quad sum = 1; for (int i = 0; i < 2048; i++) sum = sum * 31 + room[i];
    printf("%s %lx\\n", what, sum);
}
int main(void) {
    for (int n = 1; n < 700; n += 13) for (int at = 0; at < 9; at++) {
        memset(room, 0x5a, sizeof room); quads(room + at, room + at + n, n); said("quads");
        memset(room, 0x5a, sizeof room); pairs(room + at, room + at + n, n); said("pairs");
        memset(room, 0x5a, sizeof room); ints((int *)room + at, n, n); said("ints");
        memset(room, 0x5a, sizeof room); ramp((int *)room + at, n); said("ramp");
        memset(room, 0x5a, sizeof room); doubles((double *)room + at, n, 1.5); said("doubles");
    }
}
"""
NAMES = {"quads": (8, True), "pairs": (16, True), "ints": (4, False), "ramp": (4, False),
         "doubles": (8, False), "lists": (32, True)}  # fmt: skip
"""Bytes of a pass, and whether the second argument is where it ends."""

DATA, PAGE, STOP = 0x40000, 8192, 0x90000


CASES = sorted((Path(__file__).parents[3] / "fixtures" / "passes" / "writehint").glob("*.case"))


def shown(insn: Insn) -> str:
    """An instruction as a case writes it: a branch without its target."""
    text = TABLE.text(insn)
    return text.rpartition(",")[0] if insn.op.flow is Flow.BRANCH else text


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    """The parts of a loop's version, or why there is none, worked out from the manuals."""
    flags, *lines = path.read_text().splitlines()
    spare = register_mask(REGISTERS[name] for name in flags.removeprefix("spare=").split(","))
    parts = ("# test", "# lead", "# starts", "# guard", "# body", "# refused: ")
    text = [line for line in lines if not line.startswith("# ") or line.startswith(parts)]
    marks = [n for n, line in enumerate(text) if line.startswith("# ")]
    filled = Filled(decoded(text[: marks[0]]), spare, ALPHA, ALPHA.whole_lines, Prover.of(ALPHA))
    if text[marks[0]].startswith("# refused: "):
        with pytest.raises(NoVersion) as refused:
            filled.long()
        assert str(refused.value) == text[marks[0]].removeprefix("# refused: ")
        return
    long = filled.long()
    (guard,) = long.version.guards
    found = {"test": long.test, "lead": long.version.lead, "starts": long.version.starts,
             "guard": guard, "body": long.version.body}  # fmt: skip
    said = [f"# {name}\n" + "\n".join(map(shown, part)) for name, part in found.items()]
    assert "\n".join(said) == "\n".join(text[marks[0] :])


@dataclass(frozen=True)
class Made:
    """A library of loops, and what became of it."""

    folder: Path
    program: Program
    tuned: Tuned

    @property
    def new(self) -> Image:
        """The new file, without its note."""
        return replace(self.program.image, data=self.tuned.data)

    def function(self, name: str) -> Function:
        """A function by its name."""
        return next(f for f in self.program.functions if f.name == name)

    def given_up(self, name: str) -> list[int]:
        """Where lines are given up."""
        function, image = self.function(name), self.new
        words = ((at, image.read(at, 4)) for at in range(function.start, function.end, 4))
        insns = ((at, TABLE.decode(int.from_bytes(word, "little"))) for at, word in words)
        return [at for at, insn in insns if insn is not None and insn.name == "wh64"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("loops")
    (folder / "loops.c").write_text(SOURCE)
    # Labels far apart leave the room that other passes make in real code.
    options = ("-O2", "-fno-tree-loop-distribute-patterns", "-falign-labels=256", "-mcpu=ev5")
    compiler = inputs.require_tool("alpha-linux-gnu-gcc")
    command = (compiler, *options, "-shared", "-fPIC", "loops.c", "-o", "libloops.so")
    subprocess.run(command, check=True, cwd=folder)
    image = load(str(folder / "libloops.so"))
    program = analyse(image, targets.of(image))
    chosen = Options(passes=("writehint", "align"), funcs=tuple(NAMES))
    return Made(folder, program, tune(image, program.target, EV67, chosen, lambda *_: None))


def test_every_loop_gets_a_version(made: Made) -> None:
    edits = [edit for edit in made.tuned.edits if edit.technique == "writehint"]
    assert {edit.routine for edit in edits} == set(NAMES), made.tuned.skips
    assert all(edit.evidence.grade.value == "PROVED" for edit in edits)
    assert all(len(made.given_up(name)) == 1 for name in NAMES)
    assert not verify(made.program, made.new, lambda *_: None, made_for=EV67).findings
    assert verify(made.program, made.new, lambda *_: None).findings  # no other CPU need have WH64


def test_short_counts_of_a_profile_leave_a_loop_alone(made: Made) -> None:
    image, function = made.program.image, made.function("quads")
    latch = next(
        at
        for at, insn in zip(
            range(function.start, function.end, 4),
            made.program.listing.insns(function.start, function.end),
            strict=True,
        )
        if insn is not None and insn.op.flow is Flow.BRANCH
    )
    options, reasons = Options(passes=("writehint", "align"), funcs=("quads",)), []
    for executed, taken in ((1000, 900), (1000, 990)):  # 10 and 100 passes
        text = f"{FIRST}\ntext {text_hash(image)}\nbranch {latch:x} {executed} {taken} 1\n"
        profile = parse(text.encode(), "profile", image)
        done = tune(image, made.program.target, EV67, options, lambda *_: None, profile)
        reasons.append([s.reason for s in done.skips if s.technique == "writehint"])
    assert reasons == [["counts are short, by the profile"], []]


@dataclass(frozen=True)
class Outcome:
    """Memory afterwards, where it faulted, and how many lines were given up."""

    memory: bytes
    fault: int | None
    lines: int


def run(image: Image, function: Function, first: int, second: int) -> Outcome:
    """A function over memory of which two pages can be written."""
    memory = Memory()
    start = function.start & -16
    memory.map(start, image.read(start, function.end - start), write=False)
    memory.map(DATA, bytes(range(256)) * (2 * PAGE // 256))
    memory.map(DATA + 2 * PAGE, bytes(PAGE), write=False)
    registers = {16: first, 17: second, 18: 0x1122334455667788, 26: STOP, 27: function.start}
    runner = Interpreter(TABLE, memory, registers, write_hints=WRITE_HINTS)
    fault, lines = None, 0
    try:
        for step in runner.steps(function.start, STOP):
            lines += step.insn.name == "wh64"
    except AccessFault as found:
        fault = found.address
    return Outcome(bytes(memory.read(DATA, 2 * PAGE)), fault, lines)


def cases(name: str, count: int) -> Iterator[tuple[int, int]]:
    """Where a loop begins, and how many passes it makes."""
    step, _ = NAMES[name]
    draw = random.Random(name)
    unit = min(step, 8)
    for n in range(count):
        at = DATA + step * draw.randrange(2 * PAGE // step) + unit * (n % 7 == 0)
        passes = draw.choice((1, 2, draw.randrange(70), draw.randrange(70), draw.randrange(400)))
        if n % 3 == 0:  # around the end of what can be written
            at = DATA + 2 * PAGE - step * draw.randrange(600 // step)
            passes = draw.randrange(150)
        yield at, max(passes, 1)


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_the_same_whatever_a_line_holds_meanwhile(made: Made, name: str) -> None:
    """With poison in each line that is given up, also where a store faults in the middle."""
    step, ends = NAMES[name]
    function, lines, faults = made.function(name), 0, 0
    for at, passes in cases(name, 400 if DEEP else 40):
        second = at + step * passes if ends else passes
        old = run(made.program.image, function, at, second)
        new = run(made.new, function, at, second)
        assert (old.memory, old.fault) == (new.memory, new.fault), (hex(at), passes)
        assert not old.lines
        lines, faults = lines + new.lines, faults + (new.fault is not None)
        if step * passes <= 255:
            assert not new.lines
        if step * passes >= 1024 and new.fault is None and at % step == 0:
            assert new.lines >= step * passes // 64 - 2
    assert lines > 40
    assert faults > 3


def test_programs_run_the_same(made: Made) -> None:
    compiler, qemu = map(inputs.require_tool, ("alpha-linux-gnu-gcc", "qemu-alpha"))
    (made.folder / "main.c").write_text(MAIN)
    command = (compiler, "-O1", "main.c", "-L.", "-lloops", "-o", "main")
    subprocess.run(command, check=True, cwd=made.folder)
    said = []
    for name, data in (("old", made.program.image.data), ("new", made.tuned.data)):
        (made.folder / name).mkdir()
        (made.folder / name / "libloops.so").write_bytes(data)
        library = f"LD_LIBRARY_PATH={made.folder / name}"
        asked = (qemu, "-cpu", "ev67", "-L", "/usr/alpha-linux-gnu", "-E", library, "./main")
        said.append(subprocess.run(asked, check=True, cwd=made.folder, capture_output=True).stdout)
    assert said[0] == said[1]
    assert said[0].count(b"\n") == 2430


# Mutants -----------------------------------------------------------------------------------------


def changes(insn: Insn) -> Iterator[Insn]:
    """An instruction with another number, register or meaning."""
    names = {operand.name for operand in insn.op.format.operands}
    for name in names & {"disp", "target"}:
        for by in (8, -8, 64):
            yield insn.replace(**{name: insn.operand(name) + by})
    if insn.op.format.name == "operate literal":
        for by in (-1, 1, -8, 8):
            if 0 <= insn.operand("rb") + by < 256:
                yield insn.replace(rb=insn.operand("rb") + by)
    for name in names & {"ra", "rb"} if insn.op.format.name != "operate literal" else {"ra"}:
        yield insn.replace(**{name: (insn.operand(name) + 1) % 31})
    other = {"beq": "bne", "bne": "beq", "cmpule": "cmpult", "stq": "stl", "wh64": "ecb"}
    if insn.name in other:
        yield replace(insn, op=TABLE.find(other[insn.name], insn.op.format.name))


def harmless(old: Insn, new: Insn) -> bool:
    """Whether a change leaves fewer counts to the version, or less of them, or is the same."""
    if old.name == "cmpule":  # a larger number leaves more to the loop
        return new.name == "cmpule" and new.operand("rb") > old.operand("rb")
    return old.name == "and" and new.name == "and" and new.operand("rb") & 63 == 63


def test_mutants_of_a_version_are_refused(made: Made) -> None:
    """Every instruction of a version, changed: refused, or it still does the same."""
    function, image = made.function("quads"), made.new
    (line,) = made.given_up("quads")
    words = [(at, image.read(at, 4)) for at in range(line - 9 * 4, line + 11 * 4, 4)]
    refused, passed = 0, list[tuple[str, str]]()
    for at, word in words:
        insn = TABLE.decode(int.from_bytes(word, "little"))
        assert insn is not None
        for other in changes(insn) if not ALPHA.is_nop(insn) else ():
            data = bytearray(image.data)
            offset = image.offset_of(at)
            data[offset : offset + 4] = ALPHA.encode(other)
            changed = replace(image, data=bytes(data))
            verdict = verify(made.program, changed, lambda *_: None, only=[function])
            if verdict.findings:
                refused += 1
            elif not harmless(insn, other):
                passed.append((TABLE.text(insn), TABLE.text(other)))
    assert not passed
    assert refused > 60
