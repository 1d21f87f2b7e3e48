"""Prints what the timing model says next to what is published, with the error of each.

Run it from the checkout: `python benchmarks/timing.py`; docs/timing.md holds the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rewriter.core.readings.interpret import Interpreter, Memory, Step
from rewriter.core.target.cpu import System, assumed
from rewriter.timing import Result, causes, simulate
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS, WRITE_HINTS
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import A0, RA
from targets.alpha.systems import CS20, JENSEN, PC164, UP1000

CODE, STOP = 0x10000, 0x1000
TARGET, SOURCE = 0x200000, 0x301000  # not in the same sets of a direct-mapped cache
SPACE = 1 << 20
PAGE = 8192  # bytes
_ISSUE_STAGE = 3  # the earliest issue of the 21264, in cycles after fetch
BOARDS = {"ev4": JENSEN, "ev5": PC164, "ev6": UP1000, "ev67": UP1000}


def trace(text: str, count: int = 0, prepare: Callable[[Memory], None] | None = None) -> list[Step]:
    """The steps of a program: a0 and a1 point to memory, a2 is `count`, and it returns."""
    code = assemble(text + "\n ret", CODE).code
    return executed({CODE: code}, CODE, {A0: TARGET, A0 + 1: SOURCE, A0 + 2: count}, prepare)


def executed(
    parts: Mapping[int, bytes],
    entry: int,
    arguments: Mapping[int, int],
    prepare: Callable[[Memory], None] | None = None,
) -> list[Step]:
    """The steps of code at its addresses, from an entry until it returns."""
    memory = Memory()
    for address, code in parts.items():
        memory.map(address, code + bytes(16), write=False)
    memory.map(TARGET, SPACE)
    memory.map(SOURCE, SPACE)
    if prepare is not None:
        prepare(memory)
    registers = {RA: STOP, **arguments}
    machine = Interpreter(
        TABLE, memory, registers, write_hints=WRITE_HINTS, opaque=lambda name, *values: 0
    )
    return machine.run(entry, STOP)


def run(
    steps: Sequence[Step], cpu: str = "ev67", system: System | None = None, warm: bool = True
) -> Result:
    """A simulation on one of the CPUs, in its usual machine."""
    return simulate(steps, CPUS[cpu], system or BOARDS[cpu], warm)


def straight(block: str, cpu: str = "ev67", copies: int = 100) -> float:
    """Cycles of one copy of a block in straight code, far from both ends."""
    one, two = (run(trace(f"{block}\n" * n), cpu).cycles for n in (copies, 2 * copies))
    return (two - one) / copies


def loop(body: str, cpu: str = "ev67", before: str = "", count: int = 400) -> float:
    """Cycles of one pass of a loop over `body`, which ends with its branch to `loop`."""
    text = f"{before}\nloop: {body}"
    one, two = (run(trace(text, n), cpu).cycles for n in (count, 2 * count))
    return (two - one) / count


# Programs ---------------------------------------------------------------------------------

STQ_U_BYTES = """
        ldq_u   t0,0(a1)
        extbl   t0,a1,t0
        ldq_u   t1,0(a0)
        insbl   t0,a0,t0
        mskbl   t1,a0,t1
        bis     t0,t1,t0
        stq_u   t0,0(a0)
        lda     a1,1(a1)
        lda     a0,1(a0)
        subq    a2,1,a2
        unop
        bne     a2,loop
"""
STB_BYTES = """
        ldbu    t0,0(a1)
        lda     a1,1(a1)
        subq    a2,1,a2
        unop
        stb     t0,0(a0)
        lda     a0,1(a0)
        unop
        bne     a2,loop
"""


def _quads(line: str) -> str:
    return "\n".join(line.format(8 * i, register=f"t{i}") for i in range(8))


def page_copy(hint: str) -> str:
    """Copies a page, 64 bytes a pass."""
    return f"""
        ldi     a2,{PAGE // 64}
        .align  4
loop:   {hint}
        {_quads("ldq {register},{0}(a1)")}
        {_quads("stq {register},{0}(a0)")}
        lda     a0,64(a0)
        lda     a1,64(a1)
        subq    a2,1,a2
        bne     a2,loop
    """


def page_clear(hint: str) -> str:
    """Clears a page, 64 bytes a pass."""
    return f"""
        ldi     a2,{PAGE // 64}
        .align  4
loop:   {hint}
        {_quads("stq zero,{0}(a0)")}
        lda     a0,64(a0)
        subq    a2,1,a2
        bne     a2,loop
    """


def microseconds(text: str, system: System) -> float:
    """The time of a page on a machine whose caches hold other things."""
    result = run(trace(text), system=system, warm=False)
    return result.cycles / system.clock.value


def _linked(stride: int, length: int) -> Callable[[Memory], None]:
    def prepare(memory: Memory) -> None:
        for index in range(length):
            following = SOURCE + (index + 1) % length * stride
            memory.write(SOURCE + index * stride, following.to_bytes(8, "little"))

    return prepare


def chase(stride: int, length: int, cpu: str, passes: int) -> float:
    """Cycles from load to load of a linked list, caches warm."""
    body = "loop: ldq a1,0(a1)\n subq a2,1,a2\n bne a2,loop"
    one, two = (
        run(trace(body, length * n, _linked(stride, length)), cpu).cycles
        for n in (passes, 2 * passes)
    )
    return (two - one) / (length * passes)


# Checks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One published figure and how the model's own is found."""

    cpu: str
    what: str
    published: float
    source: str
    model: Callable[[], float]


def gap(producer: str, consumer: str, cpu: str) -> float:
    """Cycles from the issue of one instruction to that of its reader, caches warm."""
    line = run(trace(f"{producer}\n{consumer}"), cpu).timeline
    return line[-2].issue - line[0].issue


def refetched(text: str, at: int, warm: bool) -> float:
    """Cycles from the fetch of one step to that of the next: of another block, or after a trap.

    Counted as the manual counts: from the cycle after the fetch of what did not wait.
    """
    line = run(trace(text), warm=warm).timeline
    return line[at].fetch - line[at - 1].fetch - 1


def redirected(text: str, at: int) -> float:
    """As `refetched`, less what the branch before it waited, with predictors that know nothing."""
    line = run(trace(text), warm=False).timeline
    branch = line[at - 1]
    return line[at].fetch - branch.fetch - 1 - (branch.issue - branch.fetch - _ISSUE_STAGE)


def after_store(distance: int) -> float:
    """Cycles that a load of a 21164 loses when it could issue so long after the store."""
    chain = "addq t1,1,t1\n" * distance
    text = f".align 4\nunop\nunop\nstq t0,0(a0)\naddq t1,1,t1\n{chain}ldq t2,0(a0)"
    line = run(trace(text), "ev5").timeline
    return line[-2].issue - line[2].issue - distance


def adds(count: int) -> str:
    """Independent integer additions."""
    return "\n".join(f"addq t{i % 8},1,s{i % 4}" for i in range(count))


def cmovs(count: int) -> str:
    """A fetch block with so many conditional moves."""
    moves = [f"cmoveq t{i},t{i + 4},s{i}" for i in range(count)]
    return "\n".join([*moves, *(f"addq t{i},1,t{i}" for i in range(count, 4))])


def head(offset: int) -> float:
    """A pass of an eight-instruction loop whose first stands `offset` bytes into a block."""
    fill = "unop\n" * (offset // 4)
    return loop(f"subq a2,1,a2\n{adds(6)}\nbne a2,loop", before=f".align 4\n{fill}")


def branches(together: bool) -> float:
    """A pass of a loop of three blocks with three branches, two of them in one block or not."""
    pair = "blt a2,out\nblt a2,out" if together else "addq t0,1,t1\nblt a2,out"
    other = "addq t3,1,t4" if together else "blt a2,out"
    return loop(
        f"subq a2,1,a2\naddq t2,1,t3\n{pair}\n{adds(3)}\n{other}\n{adds(3)}\nbne a2,loop\nout:",
        before=".align 4",
    )


_READER = "addq t0,1,t1"
_FP_READER = "addt $f1,$f2,$f3"
_MANUAL = "21264 HRM"
_ARTICLE = "Gorton 2001"
_COMPUTED = f"{_ARTICLE}, computed from its bus"
_MICRO = "sim-alpha micro-benchmarks, README"


def _gaps(cpu: str, source: str, rows: Sequence[tuple[str, str, str, float]]) -> Iterator[Check]:
    for what, producer, reader, cycles in rows:
        model = partial(gap, producer, reader, cpu)
        yield Check(cpu, f"{what}, cycles to its use", cycles, source, model)


def _chains(source: str, rows: Sequence[tuple[str, str, float]]) -> Iterator[Check]:
    for what, text, cycles in rows:
        yield Check("ev67", f"{what}, cycles in a chain", cycles, source, partial(straight, text))


def latencies() -> Iterator[Check]:
    """Latencies: the manual's, and those of gcc's scheduler descriptions."""
    integer = (
        ("integer add", "addq a0,1,t0", _READER, 1),
        ("shift", "sll a0,1,t0", _READER, 1),
        ("count", "cttz a0,t0", _READER, 3),
        ("multiply", "mulq a0,a1,t0", _READER, 7),
        ("integer load", "ldq t0,0(a1)", _READER, 3),
        ("floating load", "ldt $f1,0(a1)", _FP_READER, 4),
        ("floating add", "addt $f2,$f2,$f1", _FP_READER, 4),
        ("floating multiply", "mult $f2,$f2,$f1", _FP_READER, 4),
    )
    yield from _gaps("ev67", f"{_MANUAL} table 2-4", integer)
    chains = (
        ("conditional move", "cmoveq t0,t0,t0", 2),
        ("floating conditional move", "fcmoveq $f1,$f1,$f1", 8),
        ("divide, single", "divs $f1,$f2,$f1", 12),
        ("divide, double", "divt $f1,$f2,$f1", 15),
        ("square root, single", "sqrts $f1,$f1", 18),
        ("square root, double", "sqrtt $f1,$f1", 33),
        ("to integer and back", "ftoit $f1,t0\nitoft t0,$f1", 6),
    )
    yield from _chains("gcc ev6.md", chains)
    ev5 = (
        ("integer add", "addq a0,1,t0", _READER, 1),
        ("compare, to a branch", "cmpeq a0,1,t0", "beq t0,.+4", 0),
        ("compare, to a conditional move", "cmpeq a0,1,t0", "cmoveq t0,t1,t2", 0),
        ("load", "ldq t0,0(a1)", _READER, 2),
        ("conditional move", "cmoveq a0,a1,t0", _READER, 2),
        ("multiply, long", "mull a0,a1,t0", _READER, 8),
        ("multiply, quad", "mulq a0,a1,t0", _READER, 12),
        ("multiply, high", "umulh a0,a1,t0", _READER, 14),
        ("add, then multiply", "addl a0,1,t0\nmull t0,a1,t0", _READER, 11),
        ("floating add", "addt $f2,$f2,$f1", _FP_READER, 4),
        ("divide, single", "divs $f2,$f2,$f1", _FP_READER, 15),
        ("divide, double", "divt $f2,$f2,$f1", _FP_READER, 22),
    )
    yield from _gaps("ev5", "gcc ev5.md; 21164PC HRM 2-25", ev5)
    ev4 = (
        ("integer add", "addq a0,1,t0", _READER, 1),
        ("compare", "cmpeq a0,1,t0", _READER, 2),
        ("compare, to a branch", "cmpeq a0,1,t0", "beq t0,.+4", 1),
        ("shift", "sll a0,1,t0", _READER, 2),
        ("add, to a store's data", "addq a0,1,t0", "stq t0,0(a0)", 0),
        ("load", "ldq t0,0(a1)", _READER, 3),
        ("multiply, long", "mull a0,a1,t0", _READER, 21),
        ("multiply, quad", "mulq a0,a1,t0", _READER, 23),
        ("floating add", "addt $f2,$f2,$f1", _FP_READER, 4),
        ("divide, double", "divt $f2,$f2,$f1", _FP_READER, 63),
    )
    yield from _gaps("ev4", "gcc ev4.md", ev4)


def front_end() -> Iterator[Check]:
    """Fetch, map, predictions and traps."""
    for count in range(5):
        source = f"{_ARTICLE}; {_MANUAL} 2-26" if count else f"{_MANUAL} 2-14"
        what = f"map cycles of a block, {count} conditional moves in it"
        yield Check("ev67", what, 1 + count, source, partial(straight, cmovs(count)))
    example = "addq t0,1,t1\ncmoveq t2,t3,t4\nsubq t5,1,t6\ncmovne t7,t8,s0"
    what = "map cycles of ADD, CMOV, SUB, CMOV"
    yield Check("ev67", what, 3, f"{_MANUAL} 2-26", partial(straight, example))
    fetch = f"{_ARTICLE}; {_MANUAL} 2-14"
    what = "cycles lost a pass by a loop that starts at 8 mod 16"
    yield Check("ev67", what, 1, fetch, lambda: head(8) - head(0))
    what = "cycles lost by a second branch in a block"
    yield Check("ev67", what, 1, fetch, lambda: branches(True) - branches(False))
    page = f"{_MANUAL} table 2-1"
    taken = "beq t0,there\nunop\nthere: unop"
    yield Check("ev67", "branch misprediction", 7, page, partial(redirected, taken, 1))
    jump = "br t0,here\nhere: addq t0,16,t0\nunop\njmp (t0)\nunop\nunop\nunop"
    yield Check("ev67", "jump misprediction", 8, page, partial(redirected, jump, 4))
    mapped = "ldq t5,8(a0)\nunop\nunop\nunop\n"  # the page is in the translation buffer
    behind = f"{mapped}mulq a0,1,t0\nstq t1,0(t0)\nldq t2,0(a0)"
    yield Check(
        "ev67", "load before an older store", 14, page, partial(refetched, behind, 6, False)
    )
    wide = "stl t0,0(a0)\nldq t1,0(a0)"
    yield Check("ev67", "load wider than its store", 13, page, partial(refetched, wide, 1, True))
    for distance, cycles in ((1, 7), (2, 1), (3, 0)):
        what = f"load issued {distance} cycles after the store"
        yield Check("ev5", what, cycles, "21164PC HRM 2-33", partial(after_store, distance))


def throughput() -> Iterator[Check]:
    """Instructions a cycle."""
    mixed = "\n".join(
        f"addq t{i},1,s{i}\n{('addt', 'mult')[i % 2]} $f1{i},$f1,$f2{i}" for i in range(4)
    )
    floats = "\n".join(f"addt $f1{i},$f1,$f2{i}" for i in range(8))
    for cpu, what, rate, source, text in (
        ("ev67", "independent integer additions", 4.0, _MICRO, adds(8)),
        ("ev67", "independent floating additions", 1.0, _MICRO, floats),
        ("ev5", "independent integer additions", 2.0, "gcc ev5.md: two integer pipes", adds(8)),
        ("ev5", "integer and floating additions", 4.0, "21164PC HRM 2-4: quad issue", mixed),
        ("ev4", "independent integer additions", 1.0, "gcc ev4.md: one integer box", adds(8)),
        ("ev4", "integer and floating additions", 2.0, "gcc ev4.md: two issue buses", mixed),
    ):
        yield Check(cpu, f"{what} a cycle", rate, source, partial(_rate, text, cpu))


def _rate(text: str, cpu: str) -> float:
    return 8 / straight(text, cpu)


def memories() -> Iterator[Check]:
    """Pages copied and cleared with the caches full of other things."""
    for system, copies, clears in (
        (UP1000, (30.7, 20.5), (20.5, 10.2)),
        (CS20, (9.3, 6.2), (6.2, 3.1)),
    ):
        for name, program, times in (
            ("copied", page_copy, copies),
            ("cleared", page_clear, clears),
        ):
            for hint, time in zip(("", "wh64 (a0)"), times, strict=True):
                what = f"{system.name}: page {name}{' with WH64' if hint else ''}, microseconds"
                model = partial(microseconds, program(hint), system)
                yield Check("ev67", what, time, _COMPUTED, model)


def checks() -> Iterator[Check]:
    """Every check."""
    yield from front_end()
    yield from throughput()
    yield from memories()
    yield from latencies()


def stores(nop: str) -> float:
    """Cycles a store of a loop of eight stores into a page that is in the data cache."""
    body = "".join(f"stq t0,{8 * i}(a0)\n{nop}\n" for i in range(8))
    return loop(f"{body}subq a2,1,a2\nunop\nunop\nbne a2,loop", before=".align 4") / 8


def after_narrow(store: str) -> float:
    """A pass of a loop that reads a quadword to which `store` has just written."""
    body = f"{store} t0,0(a0)\nldq t1,0(a0)\nlda a0,8(a0)\nsubq a2,1,a2\nbne a2,loop"
    return loop(body, before=".align 4")


def toggling(cpu: str) -> float:
    """Cycles that a branch costs which is taken every other time, a pass."""
    body = "xor t0,1,t0\nbeq t0,skip\naddq t1,1,t1\nskip: subq a2,1,a2\nbne a2,loop"
    result = run(trace(f".align 4\nloop: {body}", 2000), cpu)
    return result.share(causes.BRANCH) / 2000


def statements() -> Iterator[tuple[str, str, float]]:
    """What is said without a figure: CPU, what, and the model's figure."""
    for offset in (0, 4, 8, 12):
        yield (
            "ev67",
            f"cycles a pass of a loop of 8 instructions, head at {offset} mod 16",
            head(offset),
        )
    for name, body in (("LDQ_U, STQ_U", STQ_U_BYTES), ("LDBU, STB", STB_BYTES)):
        yield "ev67", f"cycles a byte of a copy by {name}", loop(body, before=".align 4")
    for store in ("stb", "stl", "stq"):
        yield (
            "ev67",
            f"cycles a pass of {store.upper()}, then LDQ of the same place",
            after_narrow(store),
        )
    for cpu in ("ev5", "ev67"):
        yield cpu, "cycles a pass lost by a branch that is taken every other time", toggling(cpu)
    for name, nop in (("alone", ""), ("each with a UNOP", "unop")):
        yield "ev67", f"cycles a store of a loop of stores, {name}", stores(nop)
    yield "ev67", "cycles from load to load through the board cache", chase(64, 2048, "ev67", 1)


def sensitivities() -> Iterator[tuple[str, int, float, float]]:
    """System, latency of memory (ns), time (us) of a page copied without and with WH64."""
    for system in (UP1000, CS20):
        for latency in (80, 100, 120, 140, 160, 200):
            changed = replace(system, latency=assumed(latency, "tried"))
            times = [microseconds(page_copy(hint), changed) for hint in ("", "wh64 (a0)")]
            yield system.name, latency, times[0], times[1]


def tables() -> Iterator[str]:
    """Everything, as lines of Markdown."""
    yield "| CPU | figure | published | model | error | source |"
    yield "|---|---|---:|---:|---:|---|"
    yield from (row(check, check.model()) for check in checks())
    yield ""
    yield from unpublished()


def row(check: Check, got: float) -> str:
    """The line of a published figure."""
    difference = got - check.published
    error = f"{100 * difference / check.published:+.1f} %" if check.published else "-"
    shown = f"{check.published:g} | {got:.4g} | {error if difference else '0'}"
    return f"| {check.cpu} | {check.what} | {shown} | {check.source} |"


def unpublished() -> Iterator[str]:
    """The tables of what has no published figure."""
    yield "| CPU | statement without a published figure | model |"
    yield "|---|---|---:|"
    yield from (f"| {cpu} | {what} | {got:.4g} |" for cpu, what, got in statements())
    yield "\n| system | memory, ns | page copied, us | with WH64, us |"
    yield "|---|---:|---:|---:|"
    for name, latency, plain, hinted in sensitivities():
        yield f"| {name} | {latency} | {plain:.1f} | {hinted:.1f} |"


if __name__ == "__main__":
    print("\n".join(tables()))
