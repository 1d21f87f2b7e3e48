"""Loops that flush: the cases, what they flush when they run, and changes that must be refused."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Interpreter, LimitReached, Memory
from rewriter.core.target.protocol import Sequential
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, load
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from targets.ppc.cpus import CPUS
from targets.ppc.registers import CTR, LR
from tests.support.depth import depth

CASES = sorted((Path(__file__).parents[3] / "fixtures" / "passes" / "flush").glob("*.case"))
BLOCK = {"750": 32, "7450": 32, "970": 128, "power7": 128}
FROM, STOP = 0x40000, 0x90000


@dataclass(frozen=True)
class Case:
    """A case as written: a function's text, what it becomes, and what is said of what stays."""

    name: str
    flags: Mapping[str, str]
    text: list[str]
    after: list[str]
    refused: list[str]

    @property
    def cpu(self) -> str:
        """The CPU that it is retuned for."""
        return self.flags["cpu"]

    @property
    def source(self) -> str:
        """Assembler text: the function, and as much room behind it as it asks for."""
        name = self.name.replace("-", "_")
        room = ["nop"] * int(self.flags.get("room", "0"))
        head = (f".globl {name}", f".type {name}, @function", ".p2align 5", f"{name}:")
        tail = (".cfi_endproc", f".size {name}, .-{name}")
        return "\n".join((*head, ".cfi_startproc", *self.text, *room, *tail, ""))


def read(path: Path) -> Case:
    """A case from its file."""
    head, *lines = path.read_text().splitlines()
    divide, mark = lines.index("# output"), "# refused: "
    return Case(
        path.stem,
        dict(flag.split("=", 1) for flag in head.split()),
        [line for line in lines[:divide] if not line.startswith("#")],
        [line for line in lines[divide:] if not line.startswith("#")],
        [line.removeprefix(mark) for line in lines[divide:] if line.startswith(mark)],
    )


@dataclass(frozen=True)
class Made:
    """All cases in one library."""

    image: Image
    target: Sequential
    program: Program

    def function(self, case: Case) -> Function:
        """A case's function."""
        name = case.name.replace("-", "_")
        return next(f for f in self.program.functions if f.name == name)

    def tuned(self, case: Case) -> Tuned:
        """The library with one case's function retuned for its CPU."""
        chosen = Options(passes=("flush", "align"), funcs=(self.function(case).name,))
        return tune(self.image, self.target, CPUS[case.cpu], chosen, lambda *_: None)

    def new(self, case: Case) -> Image:
        """The library as it then is, without its note."""
        return replace(self.image, data=with_old_identity(self.image, self.tuned(case).data))

    def insns(self, image: Image, case: Case) -> list[tuple[int, Insn]]:
        """A function's instructions in an image, without nops at its end."""
        function, order = self.function(case), self.target.table.byteorder
        words = ((at, image.read(at, 4)) for at in range(function.start, function.end, 4))
        both = ((at, self.target.table.decode(int.from_bytes(w, order))) for at, w in words)
        found = [(at, insn) for at, insn in both if insn is not None]
        while self.target.is_nop(found[-1][1]):
            found.pop()
        return found

    def refuses(self, case: Case, changed: Image, cpu: str | None = "") -> tuple[str, ...]:
        """What the verifier has against an image; without a name for the case's CPU."""
        chip = CPUS[cpu or case.cpu] if cpu is not None else None
        only = [self.function(case)]
        return verify(self.program, changed, lambda *_: None, only=only, cpu=chip).findings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("flushes")
    (folder / "f.s").write_text("".join(read(path).source for path in CASES))
    compiler = inputs.require_tool("powerpc-linux-gnu-gcc")
    command = (compiler, "-shared", "-nostdlib", "f.s", "-o", "f.so")
    subprocess.run(command, check=True, cwd=folder)
    image = load(str(folder / "f.so"))
    target = targets.of(image)
    assert isinstance(target, targets.ppc.target.Ppc)
    return Made(image, target, analyse(image, target))


def text(made: Made, insn: Insn) -> str:
    """An instruction as a case writes it: a branch with its distance."""
    return "nop" if made.target.is_nop(insn) else made.target.table.text(insn)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(made: Made, path: Path) -> None:
    case = read(path)
    tuned = made.tuned(case)
    new = replace(made.image, data=tuned.data)
    found = [insn for _, insn in made.insns(new, case)]
    shown = [text(made, insn) for insn in found]
    if "room" in case.flags:  # the layout may put nops before a loop's head
        shown = [line for line in shown if line != "nop"]
    assert shown == case.after
    skips = [s for s in tuned.skips if s.technique == "flush"]
    said = [f"{skip.kind}: {skip.reason}" for skip in skips]
    assert len(said) == len(case.refused), said
    assert all(map(str.startswith, said, case.refused)), said


# What they flush ---------------------------------------------------------------------------------

Phase = tuple[frozenset[tuple[str, int]], str]
"""Blocks that were flushed, and the barrier behind them."""


@dataclass(frozen=True)
class Ran:
    """The phases of a run, and the registers that a caller may read."""

    phases: tuple[Phase, ...]
    registers: tuple[int, ...]


def run(made: Made, image: Image, case: Case, start: int, count: int) -> Ran:
    """A function from a start, for so many rounds where it is told, or for 20 bytes each."""
    function, memory = made.function(case), Memory()
    code = image.read(function.start, function.end - function.start)
    memory.map(function.start, code, write=False)
    second = start + 20 * count if "end" in case.flags else count
    registers = {3: start, 4: second, 5: start + 0x10000, LR: STOP}
    runner = Interpreter(made.target.table, memory, registers)
    phases: list[Phase] = []
    blocks: set[tuple[str, int]] = set()
    for step in runner.steps(function.start, STOP, 100_000):
        if step.insn.name in ("dcbst", "dcbf", "icbi"):
            place = runner.registers.get(step.insn.operand("rb"), 0)
            blocks.add((step.insn.name, place // BLOCK[case.cpu]))
        elif step.insn.name in ("sync", "isync"):
            phases.append((frozenset(blocks), step.insn.name))
            blocks = set()
    return Ran(tuple(phases), tuple(runner.registers.get(r, 0) for r in (*range(1, 11), CTR)))


def counts(case: Case) -> tuple[int, ...]:
    """Rounds that are asked for, where the function does not say them itself."""
    return (1,) if any(line.startswith("li ") for line in case.text) else (1, 2, 3, 4, 5, 7, 33)


REWRITTEN = [path for path in CASES if not read(path).refused and path.stem != "local-970"]


@pytest.mark.parametrize("path", REWRITTEN, ids=lambda path: path.stem)
def test_the_same_blocks_between_the_same_barriers(made: Made, path: Path) -> None:
    """On numbers, at every start in two blocks; where fetch sees stores, one block is enough."""
    case, new = read(path), made.new(read(path))
    seen = 0
    for start in range(FROM, FROM + 2 * BLOCK[case.cpu], 12):
        for count in counts(case):
            before = run(made, made.image, case, start, count)
            after = run(made, new, case, start, count)
            assert [name for _, name in before.phases] == [name for _, name in after.phases]
            if case.cpu == "power7":
                (_, _), (forgotten, _), *_ = after.phases
                assert len(forgotten) == 1 and forgotten <= before.phases[1][0]
            else:
                assert before.phases == after.phases, (hex(start), count)
            assert before.registers[:-1] == after.registers[:-1]
            seen += 1
    assert seen >= 6


# Mutants -----------------------------------------------------------------------------------------


def changed(made: Made, image: Image, words: Mapping[int, bytes]) -> Image:
    """An image with other words at some addresses."""
    data = bytearray(image.data)
    for address, word in words.items():
        at = image.offset_of(address)
        data[at : at + len(word)] = word
    return replace(image, data=bytes(data))


def named(name: str) -> Case:
    """A case by its name."""
    return read(next(path for path in CASES if path.stem == name))


def places(made: Made, image: Image, case: Case, name: str) -> list[int]:
    """The addresses of instructions of a name."""
    return [at for at, insn in made.insns(image, case) if insn.name == name]


NOP = bytes.fromhex("60000000")


@pytest.mark.parametrize("path", REWRITTEN, ids=lambda path: path.stem)
def test_a_dropped_barrier_is_refused(made: Made, path: Path) -> None:
    case = read(path)
    new = made.new(case)
    assert not made.refuses(case, new)
    barriers = places(made, new, case, "sync") + places(made, new, case, "isync")
    for at in barriers:
        assert made.refuses(case, changed(made, new, {at: NOP})), hex(at)
    assert barriers


@pytest.mark.parametrize("path", REWRITTEN, ids=lambda path: path.stem)
def test_a_dropped_flush_is_refused(made: Made, path: Path) -> None:
    case = read(path)
    new = made.new(case)
    flushes = places(made, new, case, "dcbst") + places(made, new, case, "icbi")
    for at in flushes:
        assert made.refuses(case, changed(made, new, {at: NOP})), hex(at)
    assert flushes


def test_phases_that_change_places_are_refused(made: Made) -> None:
    """The icbi loop before the sync, and both loops fused into one."""
    case = named("page-7450")
    new = made.new(case)
    (first, *_), (forgets, *_) = (places(made, new, case, n) for n in ("sync", "icbi"))
    size = places(made, new, case, "sync")[1] - forgets
    moved = {first: new.read(first + 4, 4) + new.read(forgets, size) + new.read(first, 4)}
    assert made.refuses(case, changed(made, new, moved))
    for at, insn in made.insns(new, case):
        if insn.name == "dcbst":
            code = made.target.encode(insn)
            fused = {at + 4: bytes.fromhex("7c001fac")}  # icbi 0,r3 in the place of the step
            assert code != fused[at + 4]
            assert made.refuses(case, changed(made, new, fused))


def test_blocks_larger_than_the_cpus_are_refused(made: Made) -> None:
    """What is right on a 970 is wrong on a 750, and not shown where no CPU is named."""
    for name in ("unrolled-page-970", "unrolled-range-970"):
        case = named(name)
        new = made.new(case)
        assert not made.refuses(case, new, "power4")
        for cpu in ("750", "7450", None):
            assert any("leaves out a block" in f for f in made.refuses(case, new, cpu)), cpu


def test_loops_that_are_gone_are_refused_where_fetch_does_not_see_stores(made: Made) -> None:
    for name in ("page-power7", "scratch-count-power7"):
        case = named(name)
        new = made.new(case)
        for other in ("power8", "power10"):
            assert not made.refuses(case, new, other)
        for cpu in ("750", "7450", "power4", "970", None):
            assert any("another number of loops" in f for f in made.refuses(case, new, cpu)), cpu


def test_loops_that_are_not_for_fetch_alone_stay(made: Made) -> None:
    """Gone all the same, by hand: of a device's blocks, of other ranges and counts, unfenced."""
    for name in ("device-power7", "no-barrier-power7", "other-range-power7", "other-count-power7"):
        case = named(name)
        flushes = ("dcbst", "bc", "icbi")
        gone = {at: NOP for at, insn in made.insns(made.image, case) if insn.name in flushes}
        kept = places(made, made.image, case, "icbi")[:1]
        left = {at: word for at, word in gone.items() if at not in kept}
        assert made.refuses(case, changed(made, made.image, left)), name


def test_what_nothing_reads_says_nothing_of_the_new_code(made: Made) -> None:
    """The way by a register that the old code sets for nobody: the new one may set another."""
    case = named("dead-scratch-power7")
    new = made.new(case)
    (add, *_) = (
        at for at, insn in made.insns(new, case) if insn.name == "addi" and insn.operand("rt") == 3
    )
    by_scratch = {add: bytes.fromhex("7c635a14")}  # add r3,r3,r11
    assert made.refuses(case, changed(made, new, by_scratch))
    start = made.function(case).start
    dead = changed(made, new, {start: bytes.fromhex("39600000")})  # li r11,0
    assert not made.refuses(case, dead)
    assert made.refuses(case, changed(made, dead, by_scratch))


def test_a_range_that_is_a_block_short_is_refused(made: Made) -> None:
    """Fewer rounds, a longer step, a flush elsewhere, and a page with a line less."""
    case = named("page-7450")
    new = made.new(case)
    for at, insn in made.insns(new, case):
        if insn.name == "addi":
            for by in (-1, 1, 32):
                other = insn.replace(si=insn.operand("si") + by)
                words = {at: made.target.encode(other)}
                assert made.refuses(case, changed(made, new, words)), (hex(at), by)
        if insn.name == "bc":
            for by in (-4, 4, 8):
                other = insn.replace(bd=insn.operand("bd") + by)
                words = {at: made.target.encode(other)}
                assert made.refuses(case, changed(made, new, words)), (hex(at), by)


def flips(made: Made, image: Image, case: Case) -> Iterator[tuple[int, bytes]]:
    """Every bit of a function, changed."""
    for at, insn in made.insns(image, case):
        word = int.from_bytes(made.target.encode(insn), "big")
        for bit in range(32):
            yield at, (word ^ 1 << bit).to_bytes(4, "big")


def same(made: Made, image: Image, other: Image, case: Case) -> bool:
    """Whether two images flush the same blocks and leave the same, as far as runs show it."""
    for start in range(FROM, FROM + 2 * BLOCK[case.cpu], 36):
        for count in counts(case):
            try:
                runs = [run(made, one, case, start, count) for one in (image, other)]
            except (LimitReached, KeyError):
                return False
            if runs[0] != runs[1]:
                return False
    return True


@pytest.mark.parametrize("path", REWRITTEN, ids=lambda path: path.stem)
def test_no_changed_bit_is_accepted_that_flushes_something_else(made: Made, path: Path) -> None:
    case = read(path)
    new = made.new(case)
    every = [*flips(made, new, case)]
    drawn = random.Random(case.name).sample(every, min(depth(40, 10_000), len(every)))
    refused = 0
    for at, word in drawn:
        other = changed(made, new, {at: word})
        if made.refuses(case, other):
            refused += 1
        else:
            insn = made.target.table.decode(int.from_bytes(word, "big"))
            assert insn is not None and same(made, new, other, case), (hex(at), text(made, insn))
    assert refused > len(drawn) // 2
