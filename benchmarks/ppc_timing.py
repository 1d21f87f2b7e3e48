"""Prints what the models of PowerPC CPUs say next to what compilers and manuals say, with errors.

Run it from the checkout: `python benchmarks/ppc_timing.py`; docs/timing.md holds the tables.

Three oracles, none of them ours.  gcc schedules `fixtures/ppc_kernels.c` for each chip and tells
the clock of every instruction of every block by its own description: where an instruction waited
for its operands, the model's latencies must give the same clock.  llvm-mca simulates the loops of
that file and of `fixtures/ppc/idioms.c` on POWER9 and POWER10.  Manuals and the kernel's authors
say how long some loops take.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from statistics import geometric_mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.inputs import tool
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu, Figure
from rewriter.core.target.dispatched_cpu import Dispatched
from rewriter.timing.dispatch.items import Items
from rewriter.timing.dispatch.steady import SteadyDispatched
from targets.ppc.cpus import CPUS
from targets.ppc.isa import table

_FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
KERNELS, IDIOMS = _FIXTURES / "ppc_kernels.c", _FIXTURES / "ppc" / "idioms.c"
BASE = 0x10000
_TABLE = table(64, "big")


def described(cpu: str) -> Dispatched:
    """The pipeline of a CPU."""
    pipeline = CPUS[cpu].pipeline
    assert isinstance(pipeline, Dispatched)
    return pipeline


def steady(cpu: str) -> SteadyDispatched:
    """The steady state of a CPU."""
    return _steady(CPUS[cpu], described(cpu))


def _steady(cpu: Cpu, pipeline: Dispatched) -> SteadyDispatched:
    return SteadyDispatched(cpu, pipeline, _TABLE, Items(cpu, pipeline))


# What gcc says ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiler:
    """A compiler, what makes it compile for a chip, and the options of its assembler."""

    program: str
    options: tuple[str, ...]
    assembler: str
    assembling: tuple[str, ...]


def _narrow(chip: str) -> Compiler:
    return Compiler(
        "powerpc-linux-gnu-gcc", (f"-mcpu={chip}",), "powerpc-linux-gnu-as", ("-a32", "-many")
    )


def _wide(chip: str) -> Compiler:
    return Compiler(
        "powerpc64-linux-gnu-gcc", (f"-mcpu={chip}",), "powerpc64-linux-gnu-as", ("-a64", "-many")
    )


COMPILERS = {
    **{name: _narrow(name) for name in ("750", "7400", "7450")},
    "603e": _narrow("603e"),
    **{name: _wide(name) for name in ("power4", "970", "power7", "power8", "power9", "power10")},
}


@dataclass(frozen=True)
class Clocked:
    """An instruction of a block with gcc's clock; `stalled`: nothing issued before it for want of
    its operands."""

    insn: Insn
    clock: int
    stalled: bool


_BLOCK = re.compile(r"^;;\s+-- basic block \d+ from")
_ISSUE = re.compile(r"^;;\s+(\d+)--> b\s+\d+: i\s+(\d+)\s")
_CONFLICT = re.compile(r"^;;\s+Ready-->Q: insn (\d+): .*resource conflict")
_MOVED = re.compile(r"^;;\s+Q-->Ready: insn (\d+): moving to ready with (\d+) stalls")
_LABEL = re.compile(r"^\s*\d+ (?:[0-9a-f]{4})?\s+(?:\.L\.)?([A-Za-z_]\w*):$")
_LINE = re.compile(r"^\s*\d+ [0-9a-f]{4,} ([0-9A-F]{8})\s.*# (\d+)\s+\[c=-?\d+ l=(\d+)\]")


_LEVELS = (("-O2",), ("-O3", "-funroll-all-loops", "-ffast-math"))
_SHOWN = ("-S", "-dp", "-fdump-rtl-sched2", "-fsched-verbose=5", "-fno-if-conversion")


@cache
def blocks(cpu: str) -> tuple[tuple[Clocked, ...], ...]:
    """The blocks of the kernels as gcc schedules them for a chip, at two levels of optimization."""
    return tuple(block for level in _LEVELS for block in _scheduled(COMPILERS[cpu], level))


def _scheduled(compiler: Compiler, level: Sequence[str]) -> Iterator[tuple[Clocked, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        shown = (*compiler.options, *level, *_SHOWN)
        _run(tool(compiler.program), *shown, KERNELS, "-o", at / "k.s")
        listing = f"-al={at / 'k.lst'}"
        _run(tool(compiler.assembler), *compiler.assembling, listing, at / "k.s", "-o", at / "k.o")
        dump = next(at.glob("*.sched2")).read_text()
        words = _words((at / "k.lst").read_text())
    yield from _blocks(dump, words)


def _run(*command: object) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def _words(listing: str) -> dict[str, dict[int, Insn]]:
    """By function, the instruction of each of gcc's numbers, where that is one instruction."""
    found: dict[str, dict[int, Insn]] = {}
    function = ""
    for line in listing.splitlines():
        label = _LABEL.match(line)
        if label is not None:
            function = label[1]
        read = _LINE.match(line)
        if read is not None and read[3] == "4":
            insn = _TABLE.decode(int(read[1], 16))
            if insn is not None:
                found.setdefault(function, {})[int(read[2])] = insn
    return found


def _blocks(dump: str, words: dict[str, dict[int, Insn]]) -> Iterator[tuple[Clocked, ...]]:
    """Blocks of which every instruction is known."""
    known: dict[int, Insn] = {}
    block: list[tuple[int, int]] = []
    moved: dict[int, int] = {}
    held_up: set[int] = set()
    for line in [*dump.splitlines(), ";; Function end"]:
        if line.startswith(";; Function") or _BLOCK.match(line):
            if block and all(uid in known for uid, _ in block):
                waited = {uid for uid, stalls in moved.items() if stalls} - held_up
                yield tuple(_clocked(block, waited, known))
            block, moved, held_up = [], {}, set()
        if line.startswith(";; Function"):
            known = words.get(line.split()[2], {})
        issue, ready, held = _ISSUE.match(line), _MOVED.match(line), _CONFLICT.match(line)
        if issue is not None:
            block.append((int(issue[2]), int(issue[1])))
        elif ready is not None:
            moved[int(ready[1])] = int(ready[2])
        elif held is not None:
            held_up.add(int(held[1]))


def _clocked(
    block: Sequence[tuple[int, int]], waited: set[int], known: dict[int, Insn]
) -> Iterator[Clocked]:
    before = 0
    for uid, clock in block:
        yield Clocked(known[uid], clock, uid in waited and clock > before)
        before = clock


@dataclass
class Compared:
    """How the model compares with gcc's description on one chip.

    Of `waits` for operands `same` end in the same clock, `off` are the differences of the others
    (model less gcc) by the classes of what was waited for and who waited.  `clocks` and `cycles`
    are what the blocks take until their last issue, by gcc and by the model.
    """

    waits: int = 0
    same: int = 0
    clocks: int = 0
    cycles: int = 0
    off: dict[tuple[str, str], set[int]] | None = None


@cache
def compared(cpu: str) -> Compared:
    """All blocks of a chip."""
    model, found = steady(cpu), Compared(off={})
    for block in blocks(cpu):
        _waits(model, block, found)
        insns = [one.insn for one in block]
        found.clocks += block[-1].clock + 1
        found.cycles += model.straight(insns)
    return found


def _waits(model: SteadyDispatched, block: Sequence[Clocked], found: Compared) -> None:
    """Where an instruction waited for its operands: when the model has them ready."""
    for number, one in enumerate(block):
        used = model.item(one.insn)
        stored = any(_TABLE.effects(before.insn.op).stores for before in block[:number])
        accesses = _TABLE.effects(one.insn.op).loads or _TABLE.effects(one.insn.op).stores
        # The dump does not say which accesses wait for stores; what branches wait is no latency.
        if not one.stalled or used.control or (stored and accesses):
            continue
        ready: dict[int, str] = {}
        for register in {register for register, _ in (*used.reads, *used.late)}:
            for before in reversed(block[:number]):
                made = model.item(before.insn)
                if register in dict((*made.writes, *made.bases)):
                    at = before.clock + model.latency(before.insn, one.insn, register)
                    ready[at] = made.name
                    break
        if ready:
            found.waits += 1
            found.same += max(ready) == one.clock
            if max(ready) != one.clock and found.off is not None:
                pair = ready[max(ready)], used.name
                found.off.setdefault(pair, set()).add(max(ready) - one.clock)


# What llvm-mca says -----------------------------------------------------------------------

MCA = {"power9": "pwr9", "power10": "pwr10"}
_PASSES = 200
_UNPREFIXED = {"power10": ("-mno-prefixed",)}
_FULL = 0.95  # of the cycles: where ports or units are taken for so many, they are what bounds
_WIDER = (
    (r"\b(lwz|lhz|lbz|lwa|lha)(u?x?)\b", r"ld\2"),
    (r"\b(lhbrx|lwbrx)\b", "ldbrx"),
    (r"\b(rlwinm|rotlwi|rlwimi|slwi|srwi|srawi) .*", "nop"),
    (r"\b(extsw|extsh|extsb)\b", "neg"),
    (r"\bcmp(l?)w(i?)\b", r"cmp\1d\2"),
    (r"\bmullw\b", "mulld"),
    (r"\bdivw(u?)\b", r"divd\1"),
    (r"\bpopcntw\b", "popcntd"),
    (r"\bcn(t[lt])zw\b", r"cn\1zd"),
)
"""Instructions of words, each with one of doublewords."""
_NEAR = Fraction(5, 100)
_WINDOW = Figure(44, "LLVM PPCScheduleP9.td and P10.td: MicroOpBufferSize, which llvm-mca has")


@dataclass(frozen=True)
class Loop:
    """A loop of one block: its function, and cycles a pass by llvm-mca and by the model.

    The model is given llvm-mca's window, which is smaller than that of the chips.  `bound` is what
    llvm-mca's cycles come from: `words` that wait for what their register held before, `ports` and
    units that are taken, or `latency`.
    """

    function: str
    insns: int
    published: Fraction
    model: Fraction
    bound: str


@cache
def loops(cpu: str, source: Path) -> tuple[Loop, ...]:
    """The loops of a file, compiled for the chip."""
    compiler = COMPILERS[cpu]
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        plain = ("-O2", "-fno-tree-vectorize", "-fno-unroll-loops", "-S", *_UNPREFIXED.get(cpu, ()))
        _run(tool(compiler.program), *compiler.options, *plain, source, "-o", at / "k.s")
        inner = _inner((at / "k.s").read_text())
        return tuple(_timed(cpu, *found) for found in inner if found[0] != "main")


def every(cpu: str) -> tuple[Loop, ...]:
    """The loops of both files."""
    return loops(cpu, KERNELS) + loops(cpu, IDIOMS)


def _inner(text: str) -> Iterator[tuple[str, list[str]]]:
    """Functions and the text of their loops of one block."""
    function, label, body = "", "", list[str]()
    for line in text.splitlines():
        code = line.split("#")[0].strip()
        named = re.match(r"^(?:\.L\.)?(\w+):$", code)
        if re.match(r"^\.L\d+:$", code):
            label, body = code[:-1], []
        elif named is not None:
            function, label, body = named[1], "", []
        elif code and not code.startswith("."):
            body.append(code)
            if re.match(r"^b(?!r[hwd]\b)\w+[ \t]", code):
                if label and code.endswith(label) and len(body) > 1:
                    yield function, body
                label, body = "", []


def _timed(cpu: str, function: str, body: list[str]) -> Loop:
    """One loop by both."""
    text = "\n".join(["loop:", *[re.sub(r"\.L\d+", "loop", line) for line in body]])
    took, units = _mca(cpu, text)
    insns = assembled(text, COMPILERS[cpu])
    flight = replace(described(cpu).flight, instructions=_WINDOW)
    model = _steady(CPUS[cpu], replace(described(cpu), flight=flight))
    return Loop(function, len(insns), took, passing(model, insns), _bound(cpu, text, took, units))


def _bound(cpu: str, text: str, took: Fraction, units: float) -> str:
    """What llvm-mca's cycles come from."""
    if units >= _FULL * took:
        return "ports"
    for narrow, wide in _WIDER:
        text = re.sub(narrow, wide, text)
    return "words" if _mca(cpu, text)[0] < _FULL * took else "latency"


def _mca(cpu: str, text: str) -> tuple[Fraction, float]:
    """Cycles of a pass by llvm-mca, and for how many of them ports and units are taken at least."""
    totals, units = list[int](), 0.0
    for passes in (_PASSES, 2 * _PASSES):
        options = ("-mtriple=powerpc64-linux-gnu", f"-mcpu={MCA[cpu]}", f"--iterations={passes}")
        done = subprocess.run(
            [tool("llvm-mca"), *options], input=text, capture_output=True, text=True, check=True
        )
        found = re.search(r"Total Cycles:\s+(\d+)[^$]*Block RThroughput: ([\d.]+)", done.stdout)
        assert found is not None, done.stdout
        totals.append(int(found[1]))
        units = float(found[2])
    return Fraction(totals[1] - totals[0], _PASSES), units


def assembled(text: str, compiler: Compiler) -> list[Insn]:
    """The instructions of a text."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "a.s", Path(folder) / "a.lst"
        source.write_text(text + "\n")
        _run(tool(compiler.assembler), *compiler.assembling, f"-al={made}", source,
             "-o", Path(folder) / "a.o")  # fmt: skip
        words = re.findall(r"^\s*\d+ [0-9a-f]{4,} ([0-9A-F]{8})", made.read_text(), re.M)
    found = [_TABLE.decode(int(word, 16)) for word in words]
    assert all(found), text
    return [insn for insn in found if insn is not None]


def passing(model: SteadyDispatched, insns: Sequence[Insn], start: int = BASE) -> Fraction:
    """Cycles a pass of a loop that begins at an address; its accesses do not meet."""
    return model.cycles([(start + 4 * n, insn, None) for n, insn in enumerate(insns)], {})


# What manuals and authors say -------------------------------------------------------------

PAGE_COPY = "\n".join(
    (
        "loop:",
        *(f"std {5 + n},{128 * n}(3)\nld {20 + n},{128 * n}(4)" for n in range(6)),
        *(f"std {20 + n},{128 * n + 8}(3)\nld {5 + n},{128 * n + 8}(4)" for n in range(6)),
        *(f"std {5 + n},{128 * n + 16}(3)\nld {20 + n},{128 * n + 16}(4)" for n in range(5)),
        "stdu 10,24(3)\nldu 25,24(4)",
        "bdnz loop",
    )
)
"""The inner loop of the page copy for POWER4: three times six stores and six loads."""

PLAIN_COPY = "loop:\nld 6,8(4)\nstd 7,8(3)\nldu 7,16(4)\nstdu 6,16(3)\nbdnz loop"
_SHORT = "loop:\naddi 3,3,1\naddi 4,4,1\naddi 5,5,1\nbdnz loop"


@dataclass(frozen=True)
class Statement:
    """Something published about a chip, and what the model says of it."""

    cpu: str
    what: str
    published: float
    model: Callable[[], float]
    source: str


def _groups(cpu: str, text: str) -> float:
    return len(steady(cpu).groups(assembled(text, COMPILERS[cpu])))


def _loop(cpu: str, text: str, start: int) -> float:
    return float(passing(steady(cpu), assembled(text, COMPILERS[cpu]), start))


def statements() -> Iterator[Statement]:
    """All of them."""
    rules = "dispatch rules of gcc config/rs6000/power4.md by hand"
    for cpu in ("power4", "970"):
        for what, text, groups in (
            ("groups of the page copy's inner loop, 144 bytes", PAGE_COPY, 10),
            ("groups of the plain copy, 16 bytes", PLAIN_COPY, 2),
        ):
            yield Statement(cpu, what, groups, partial(_groups, cpu, text), rules)
    guide = "Freescale AN2203"
    for what, start, cycles in (("in one block", BASE, 2), ("straddling blocks", BASE + 24, 3)):
        yield Statement(
            *("7450", f"cycles a pass of a loop of 4 instructions, {what}", cycles),
            *(partial(_loop, "7450", _SHORT, start), guide),
        )
    manual = "IBM 750GX User's Manual"
    for name, text, cycles in (
        ("load to its use", "loop:\nlwz 3,0(3)\nbdnz loop", 2),
        ("multiplication to its use", "loop:\nmullw 3,3,3\nbdnz loop", 4),
    ):
        yield Statement(
            "750", f"cycles of a {name}", cycles, partial(_loop, "750", text, BASE), manual
        )


def error(model: float, published: float) -> str:
    """The difference as a part of what is published."""
    return "0" if model == published else f"{100 * (model - published) / published:+.1f} %"


def statement_row(one: Statement) -> str:
    """A statement's line of the table."""
    said = one.model()
    figures = f"{one.published:g} | {said:g} | {error(said, one.published)}"
    return f"| {one.cpu} | {one.what} | {figures} | {one.source} |"


def compiler_row(cpu: str) -> str:
    """A chip's line of the table about gcc."""
    found = compared(cpu)
    share = 100 * found.same / found.waits
    return f"| {cpu} | {found.waits} | {share:.1f} % | {found.clocks} | {found.cycles} |"


def loop_row(cpu: str, loop: Loop) -> str:
    """A loop's line of the table about llvm-mca."""
    took, said = float(loop.published), float(loop.model)
    figures = f"{took:.2f} | {said:.2f} | {error(said, took)}"
    return f"| {cpu} | {loop.function} | {loop.insns} | {figures} | {loop.bound} |"


def bound_rows(cpu: str) -> Iterator[str]:
    """By what bounds llvm-mca, how many of its loops there are, and the model beside it."""
    for bound in ("latency", "words", "ports"):
        found = [loop for loop in every(cpu) if loop.bound == bound]
        same = sum(abs(loop.model / loop.published - 1) <= _NEAR for loop in found)
        ratios = [float(loop.model / loop.published) for loop in found]
        if found:
            mean, least = geometric_mean(ratios), min(ratios)
            yield f"| {cpu} | {bound} | {len(found)} | {same} | {mean:.2f} | {least:.2f} |"


def tables() -> Iterator[str]:
    """The tables of docs/timing.md."""
    yield "| CPU | statement | published | model | error | source |"
    yield "|---|---|---:|---:|---:|---|"
    yield from map(statement_row, statements())
    yield ""
    yield "| CPU | waits for operands in gcc's schedules | as long | gcc's clocks | model |"
    yield "|---|---:|---:|---:|---:|"
    yield from map(compiler_row, COMPILERS)
    yield ""
    yield "| CPU | loop | instructions | llvm-mca, cycles a pass | model | error | bound |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for cpu in MCA:
        yield from (loop_row(cpu, loop) for loop in every(cpu))
    yield ""
    yield "| CPU | what bounds llvm-mca | loops | within 5 % | mean of model / llvm-mca | least |"
    yield "|---|---|---:|---:|---:|---:|"
    for cpu in MCA:
        yield from bound_rows(cpu)


def main() -> None:
    """Prints them, and where the model and gcc differ."""
    print("\n".join(tables()))
    for cpu in COMPILERS:
        for (made, used), by in sorted((compared(cpu).off or {}).items()):
            print(f"{cpu}: {made} to {used}: {', '.join(f'{n:+d}' for n in sorted(by))}")


if __name__ == "__main__":
    main()
