"""A target that nobody built goes the whole road, on floors that know nothing of it.

It is big-endian and 32 bits wide, branches and returns on a condition register, and its accesses
stand anywhere.  What its programs do is run on the interpreter, where verify accepts a change.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.api import facade
from rewriter.core.code.dataflow import machine, run
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.system_tables import SystemTables
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.interpret import AccessFault, Interpreter, Memory
from tests.conftest import Run
from tests.support.depth import depth
from tests.support.toy import register
from tests.support.toy.isa import CR, LR, TABLE, WORD
from tests.support.toy.source import BASE, TEXT, assembled, program
from tests.support.toy.target import RESULTS, SAVED, Toy

PROGRAM = """
clip:
slwi r5,r3,24
srawi r3,r5,24
cmpwi r3,0
bclr 2,1
add. r3,r3,r4
bc 0,1,.end
lwzu r4,2(r6)
sth r4,1(r6)
lhz r7,3(r6)
stb r7,0(r8)
lwz r9,1(r8)
stw r9,-3(r6)
.end:
blr
caller:
addi r1,r1,-16
stw r14,4(r1)
addi r14,r3,4
bl clip
lwzx r3,r14,r8
lwz r14,4(r1)
addi r1,r1,16
blr
"""
STOP, DATA, STACK = 0x40000, 0x80000, 0x90000


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    """The toy is a target for the length of a test."""
    return register(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The program as a file."""
    made = tmp_path / "toy"
    made.write_bytes(program(PROGRAM))
    return made


def test_the_whole_road(run: Run, path: Path, tmp_path: Path) -> None:
    out, back, page = tmp_path / "out", tmp_path / "back", tmp_path / "page.html"
    assert "functions known by symbol: 2" in run("identify", path).stdout
    done = run("patch", path, "-o", out, "--cpu", "toy2")
    assert done.exit_code == 0, done.output
    assert "1 edit, 6 bytes changed, 1 instruction saved" in done.stdout
    assert run("verify", path, out).exit_code == 0
    assert "bytes:clip+4 at 0x10204: sign extension of a byte" in run("edits", out).stdout
    shown = run("explain", path, "clip", "--cpu", "toy2").stdout
    assert "- 10204: 1865c000  srawi r3,r5,24" in shown
    assert "+ 10204: 1c630000  extsb r3,r3" in shown
    assert run("report", path, out, "-o", page).exit_code == 0
    assert run("revert", out, "-o", back).exit_code == 0
    assert back.read_bytes() == path.read_bytes()


def test_nothing_to_do_without_the_instruction(run: Run, path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("patch", path, "-o", out, "--cpu", "toy1").exit_code == 4
    assert out.read_bytes() == path.read_bytes()


def test_a_kernel_whose_tables_are_not_all_read_is_left_alone(
    run: Run, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Toy, "tables", SystemTables("big", bounded="stone"))
    patch = ("patch", path, "--dry-run", "--cpu", "toy2")
    assert run(*patch).exit_code == 0, "it is no kernel"
    monkeypatch.setattr(Toy, "is_kernel", lambda toy, image: True)
    done = run(*patch)
    assert done.exit_code == 4
    reason = (
        "the kernel names code in tables of which no symbol says where they begin,"
        " as __start_stone does"
    )
    assert f"left alone: 2 functions: {reason}" in done.stdout


# What verify refuses ----------------------------------------------------------------------------


def flipped(data: bytes) -> Iterator[bytes]:
    """The file with one bit of its text changed."""
    size = len(assembled(PROGRAM)[0])
    bits = range(8 * size)
    for bit in random.Random(7).sample(bits, depth(120, 8 * size)):
        new = bytearray(data)
        new[TEXT - BASE + bit // 8] ^= 1 << bit % 8
        yield bytes(new)


def outcome(data: bytes, start: int, seed: int) -> object:
    """What a program leaves in memory and registers that somebody may read, or how it ends."""
    source = random.Random(seed)
    memory = Memory()
    memory.map(BASE, data[: TEXT - BASE + len(assembled(PROGRAM)[0])], write=False)
    memory.map(DATA, source.randbytes(0x1000), execute=False)
    memory.map(STACK, source.randbytes(0x1000), execute=False)
    registers = {n: source.choice((0, 1, 0x80, source.getrandbits(32))) for n in range(32)}
    near = {number: DATA + 0x400 + source.randrange(8) for number in (3, 6, 8)}
    registers |= {1: STACK + 0x800, int(LR): STOP} | near | {3: source.getrandbits(7) - 64}
    interpreter = Interpreter(TABLE, memory, registers)
    try:
        interpreter.run(start, STOP, 1000)
    except AccessFault as fault:
        return fault.address
    kept = {r: v for r, v in interpreter.registers.items() if (SAVED | RESULTS) >> r & 1}
    return kept, memory.read(DATA, 0x1000), memory.read(STACK + 0x800, 0x800)


def test_one_wrong_bit_is_refused_unless_it_changes_nothing() -> None:
    data = program(PROGRAM)
    assert facade.verify(data, data).ok
    starts = [assembled(PROGRAM)[1][name] for name in ("clip", "caller")]
    refused = 0
    for new in flipped(data):
        if facade.verify(data, new).ok:
            for seed in range(60):
                for start in starts:
                    assert outcome(data, start, seed) == outcome(new, start, seed)
        else:
            refused += 1
    assert refused > depth(100, 600)


SWAPPED = {
    "a load before a store, apart": ("stw r4,0(r6)", "lwz r5,4(r6)", True),
    "a load before a store that it overlaps": ("stw r4,0(r6)", "lwz r5,2(r6)", False),
    "a narrow load in a store": ("stw r4,0(r6)", "lbz r5,3(r6)", False),
    "a narrow load behind a store": ("stw r4,0(r6)", "lbz r5,4(r6)", True),
    "bytes of two stores": ("sth r4,1(r6)", "stb r3,2(r6)", False),
    "nothing is known of the other": ("stw r4,0(r6)", "lwz r5,4(r7)", False),
    "a sum of registers": ("stw r4,0(r6)", "lwzx r5,r6,r8", False),
    "what the update is read for": ("lwzu r5,4(r6)", "lwz r4,0(r6)", False),
    "what the condition is read for": ("add. r5,r4,r4", "cmpwi r6,1", False),
    "two loads": ("lwz r5,1(r6)", "lwzx r4,r7,r8", True),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_two_instructions_change_places(name: str) -> None:
    first, second, same = SWAPPED[name]
    tail = "bclr 0,1\nadd r3,r4,r5\nadd r3,r3,r6\nblr"
    old, new = (program(f"f:\n{a}\n{b}\n{tail}") for a, b in ((first, second), (second, first)))
    assert facade.verify(old, new).ok == same


def drawn(source: random.Random) -> str:
    """An instruction near two addresses that may be one."""
    name = source.choice(("lwz", "lhz", "lbz", "lwzu", "stw", "sth", "stb", "add.", "addi", "lwzx"))
    value, base = f"r{source.randrange(3, 6)}", f"r{source.randrange(6, 9)}"
    if name == "lwzx":
        return f"{name} {value},{base},r9"
    if name == "add.":
        return f"{name} {value},{value},r{source.randrange(3, 6)}"
    if name == "addi":
        return f"{name} {base},{base},{source.randrange(-3, 4)}"
    return f"{name} {value},{source.randrange(-4, 5)}({base})"


def changed(lines: list[str], source: random.Random) -> list[str]:
    """The lines with one of them elsewhere, or another one."""
    new = list(lines)
    at = source.randrange(len(new) - 1)
    if source.random() < 0.7:
        new[at], new[at + 1] = new[at + 1], new[at]
    else:
        new[at] = drawn(source)
    return new


def straight(lines: list[str]) -> str:
    """Code after which all that it touches is read."""
    return "\n".join(("f:", *lines, "bclr 0,1", *(f"add r3,r3,r{n}" for n in range(4, 9)), "blr"))


def left_by(data: bytes, seed: int) -> object:
    """What straight code leaves in memory and in the result."""
    source = random.Random(seed)
    memory = Memory()
    memory.map(BASE, data[:0x400], write=False)
    memory.map(DATA, source.randbytes(0x200), execute=False)
    base = DATA + 0x100
    registers = {n: base + source.randrange(-6, 7) for n in range(6, 9)}
    registers |= {n: source.getrandbits(32) for n in (3, 4, 5)} | {9: source.randrange(-4, 5)}
    interpreter = Interpreter(
        TABLE, memory, registers | {int(LR): STOP, int(CR): source.randrange(8)}
    )
    interpreter.run(TEXT, STOP, 100)
    return interpreter.registers[3], memory.read(DATA, 0x200)


def test_what_is_accepted_does_the_same_where_addresses_meet() -> None:
    source, accepted, refused = random.Random(11), 0, 0
    for _ in range(depth(60, 1500)):
        lines = [drawn(source) for _ in range(source.randrange(2, 6))]
        old, new = (program(straight(each)) for each in (lines, changed(lines, source)))
        if old == new:
            continue
        if facade.verify(old, new).ok:
            accepted += 1
            assert all(left_by(old, seed) == left_by(new, seed) for seed in range(80)), lines
        else:
            refused += 1
    assert accepted > 10
    assert refused > 10


# What the shared floors make of it ---------------------------------------------------------------


def _insn(text: str) -> Insn:
    found = TABLE.decode(int.from_bytes(assembled(text)[0], "big"))
    assert found is not None
    return found


def test_instructions_with_several_results() -> None:
    both = {"add. r5,r3,r4": {5, CR}, "lwzu r5,8(r3)": {5, 3}}
    for text, results in both.items():
        insn, terms = _insn(text), TABLE.terms()
        assert set(TABLE.computes(insn)) == results
        plain = machine(TABLE, terms)
        plain.execute(insn, TEXT)
        for _ in range(2):  # the second time what was found is taken again
            found = run(TABLE, terms, (insn,), (TEXT,), ())
            assert found.made[0] == {r: plain.registers[r] for r in sorted(results)}
            assert found.state.loaded == plain.loaded
            assert all(found.state.registers[r] is plain.registers[r] for r in results)


def test_an_update_takes_the_old_base() -> None:
    memory = Memory()
    memory.map(BASE, assembled("lwzu r5,6(r3)\nadd. r4,r5,r5\nblr", BASE)[0], write=False)
    memory.map(DATA, struct.pack(">4I", 1, 2, 0x80000003, 4))
    interpreter = Interpreter(TABLE, memory, {3: DATA, int(LR): STOP})
    interpreter.run(BASE, STOP)
    assert interpreter.registers[5] == 0x00028000
    assert interpreter.registers[3] == DATA + 6
    assert interpreter.registers[4] == 0x00050000
    assert interpreter.registers[CR] == 2  # greater than zero


def test_an_access_over_two_regions() -> None:
    memory = Memory()
    memory.map(BASE, assembled("lwz r5,0(r3)\nstw r5,1(r3)\nstw r5,1(r4)\nblr", BASE)[0])
    memory.map(DATA, bytes(range(8)))
    memory.map(DATA + 8, bytes(range(8, 16)))
    memory.map(DATA + 16, bytes(range(16, 24)), write=False)
    interpreter = Interpreter(TABLE, memory, {3: DATA + 6, 4: DATA + 13, int(LR): STOP})
    with pytest.raises(AccessFault) as fault:
        interpreter.run(BASE, STOP)
    assert (fault.value.address, fault.value.write) == (DATA + 16, True)
    assert interpreter.registers[5] == 0x06070809
    assert memory.read(DATA + 7, 1) + memory.read(DATA + 8, 3) == bytes((6, 7, 8, 9))
    assert memory.read(DATA + 13, 3) == bytes((13, 14, 15))  # the store did nothing


def test_flow_of_the_listing() -> None:
    image = facade.load(program(PROGRAM)).image
    listing = Toy().listing(image)
    flows = {
        TABLE.text(insn).split()[0]: flow
        for at, flow in enumerate(listing.flows.tolist())
        if (insn := listing.insn(at)) is not None
    }
    for name, flow in (("bclr", Flow.RETURN_IF), ("blr", Flow.RETURN), ("bl", Flow.CALL)):
        assert flows[name] == FLOW_CODE[flow]
    assert listing.uses.columns == 1
    words = assembled(PROGRAM)[0]
    assert len(listing) >= len(words) // WORD
    at = listing.index(TEXT)
    assert listing.words[at] == int.from_bytes(words[:4], "big")
    assert int(listing.defs[at, 0]) == 1 << Reg(5)
