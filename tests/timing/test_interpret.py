"""The built-in interpreter: what it does, what it reports, what it refuses."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from fixtures import inputs
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import (
    AccessFault,
    BadInstruction,
    Interpreter,
    LimitReached,
    Memory,
    Unspecified,
)
from rewriter.verify.trials.engines.qemu import Batch, Qemu
from targets.alpha.assembler import assemble
from targets.alpha.cpus import WRITE_HINTS
from targets.alpha.isa.rows import TABLE
from tests.support.alpha_guest import AlphaGuest, Layout

CODE, DATA, STOP = 0x10000, 0x20000, 0x1000
V0, T0, A0, A1, RA = 0, 1, 16, 17, 26


def machine(
    text: str, data: bytes = bytes(256), write: bool = True, **options: object
) -> Interpreter:
    """A machine with a program at CODE and data at DATA, in a0."""
    memory = Memory()
    memory.map(CODE, assemble(text, CODE).code, write=False)
    memory.map(DATA, data, write=write)
    return Interpreter(TABLE, memory, {A0: DATA, RA: STOP}, write_hints=WRITE_HINTS, **options)  # type: ignore[arg-type]


def test_steps_say_what_was_accessed_and_where_control_went() -> None:
    steps = machine("ldq_u t0,11(a0)\n stb t0,3(a0)\n unop\n beq zero,next\n unop\nnext: ret").run(
        CODE, STOP
    )
    seen = [(s.insn.name, s.access, s.size, s.store, s.target) for s in steps]
    assert seen == [
        ("ldq_u", DATA + 8, 8, False, None),
        ("stb", DATA + 3, 1, True, None),
        ("ldq_u", None, 0, False, None),
        ("beq", None, 0, False, CODE + 20),
        ("ret", None, 0, False, STOP),
    ]
    assert [s.address for s in steps] == [CODE, CODE + 4, CODE + 8, CODE + 12, CODE + 20]


def test_constant_registers_stay() -> None:
    runner = machine("addq a0,a0,zero\n addq zero,7,v0\n ret")
    runner.run(CODE, STOP)
    assert runner.registers[V0] == 7
    assert runner.registers[31] == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ldq t0,-8(a0)", (DATA - 8, 8, False)),
        ("ldq t0,256(a0)", (DATA + 256, 8, False)),
        ("stl t0,-4(a0)", (DATA - 4, 4, True)),
    ],
)
def test_an_access_outside_faults(text: str, fault: tuple[int, int, bool]) -> None:
    runner = machine(f"unop\n {text}\n ret")
    with pytest.raises(AccessFault) as caught:
        runner.run(CODE, STOP)
    assert (caught.value.address, caught.value.size, caught.value.write) == fault
    assert runner.pc == CODE + 4


def test_a_store_to_what_is_read_only_faults() -> None:
    runner = machine("ldq t0,0(a0)\n stq t0,0(a0)\n ret", write=False)
    with pytest.raises(AccessFault):
        runner.run(CODE, STOP)
    assert runner.pc == CODE + 4


def test_a_fault_handler_goes_on_from_elsewhere() -> None:
    runner = machine("lda v0,1\n ldq v0,-8(a0)\n lda v0,2\n ret\n fix: lda v0,4(v0)\n ret")
    with pytest.raises(AccessFault):
        runner.run(CODE, STOP)
    runner.run(CODE + 16, STOP)
    assert runner.registers[V0] == 5


def test_misaligned_accesses_trap() -> None:
    with pytest.raises(Misaligned):
        machine("ldl t0,2(a0)\n ret").run(CODE, STOP)


@pytest.mark.parametrize("hint", ["ldl zero,1(t5)", "ldq zero,0(t5)", "lds $f31,0(t5)"])
def test_prefetches_never_fault(hint: str) -> None:
    first, _ = machine(f"{hint}\n ret").run(CODE, STOP)
    assert (first.access, first.size, first.store) == (1 if "1(" in hint else 0, 0, False)


def test_a_write_hint_poisons_its_whole_line_and_nothing_else() -> None:
    runner = machine("lda t0,70(a0)\n wh64 (t0)\n ret", data=bytes(range(256)))
    step = runner.run(CODE, STOP)[1]
    assert (step.access, step.size, step.store) == (DATA + 64, 64, True)
    expected = bytearray(range(256))
    expected[64:128] = b"\xa5" * 64
    assert runner.memory.read(DATA, 256) == bytes(expected)


def test_a_write_hint_elsewhere_does_nothing() -> None:
    machine("wh64 (t0)\n ret").run(CODE, STOP)
    runner = machine("wh64 (a0)\n ret", write=False)
    runner.run(CODE, STOP)
    assert runner.memory.read(DATA, 256) == bytes(256)


def test_the_limit_and_words_that_are_no_instruction() -> None:
    with pytest.raises(LimitReached) as caught:
        machine("loop: br loop").run(CODE, STOP, limit=100)
    assert caught.value.address == CODE
    with pytest.raises(BadInstruction):
        machine(".long 0x04000000").run(CODE, STOP)
    with pytest.raises(AccessFault):
        machine("jmp (zero)").run(CODE, STOP)


@pytest.mark.parametrize("text", ["addt $f1,$f2,$f3", "callsys", "imb", "amask 1,t0"])
def test_what_the_table_leaves_open_needs_a_handler(text: str) -> None:
    with pytest.raises(Unspecified) as caught:
        machine(f"{text}\n ret").run(CODE, STOP)
    assert caught.value.address == CODE
    asked: list[str] = []

    def answer(name: str, *values: int) -> int:
        asked.append(name)
        return 3

    machine(f"{text}\n ret", opaque=answer).run(CODE, STOP)
    assert len(asked) == {"callsys": 2, "imb": 0}.get(text, 1)


def test_memory_regions_do_not_overlap_and_are_found() -> None:
    memory = Memory()
    memory.map(0x3000, b"high")
    memory.map(0x1000, 16, write=False)
    with pytest.raises(ValueError, match="mapped already"):
        memory.map(0x100F, 1)
    memory.write(0x3001, b"IG")
    assert memory.read(0x3000, 4) == b"hIGh"
    with pytest.raises(AccessFault):
        memory.write(0x1000, b"x")
    with pytest.raises(AccessFault):
        memory.read(0x100F, 2)
    with pytest.raises(AccessFault):
        memory.read(0xFFF, 1)


# Against qemu -----------------------------------------------------------------------------

WORK = tuple(range(1, 9))  # t0 to t7 hold values, a0 the address of the record's memory
LAYOUT = Layout((*WORK, A0), 64)
CASES, PROGRAMS = 40, 40
_PLAIN = ("operate", "operate literal", "unary", "unary literal", "memory")
_BARRED = ("/v", "amask", "implver", "_l", "_c", "fetch", "lda")


def _rows() -> list[str]:
    rows = [op for op in TABLE if op.format.name in _PLAIN and not op.name.startswith("f")]
    return sorted({op.name for op in rows if not op.name.endswith(_BARRED)} - {"lda", "ldah"})


def _program(source: random.Random) -> str:
    """Random straight code over the work registers and the record's memory."""
    return "\n".join(_line(name, source) for name in source.choices(_rows(), k=30))


def _line(name: str, source: random.Random) -> str:
    op = TABLE.find(name)
    a, b, c = (f"${source.choice(WORK)}" for _ in range(3))
    if op.format.name == "memory":
        size = {"b": 1, "w": 2, "l": 4, "q": 8}[name[2]]
        offset = (
            source.randrange(64) if name.endswith("_u") else source.randrange(64 // size) * size
        )
        return f"{name} {a},{offset}($16)"
    if op.format.name.startswith("unary"):
        return f"{name} {a},{c}"
    has_literal = any(op.name == name and op.format.name == "operate literal" for op in TABLE)
    literal = str(source.randrange(256)) if has_literal else b
    return f"{name} {a},{source.choice((b, literal))},{c}"


def _records(source: np.random.Generator, guest: AlphaGuest) -> Iterator[np.ndarray]:
    for case in range(CASES):
        registers = source.integers(0, 1 << 64, len(WORK), dtype=np.uint64)
        address = np.array([guest.memory_address(case)], dtype=np.uint64)
        memory = source.integers(0, 256, 64, dtype=np.uint8)
        yield np.concatenate([registers.view(np.uint8), address.view(np.uint8), memory])


def test_random_programs_do_what_they_do_in_qemu() -> None:
    inputs.require_tool("qemu-alpha")
    source = random.Random(1)
    guest = AlphaGuest(LAYOUT)
    bodies = [_program(source) for _ in range(PROGRAMS)]
    batches = [
        Batch(guest.add(body), np.stack(list(_records(np.random.default_rng(i), guest))))
        for i, body in enumerate(bodies)
    ]
    for body, batch, after in zip(bodies, batches, Qemu(guest).run(batches), strict=True):
        code = assemble(body, guest.body_address(batch.routine)).code
        for case, record in enumerate(batch.records):
            assert _interpreted(code, guest, case, record) == after[case].tobytes(), body


def _interpreted(code: bytes, guest: AlphaGuest, case: int, record: np.ndarray) -> bytes:
    memory = Memory()
    memory.map(CODE, code, write=False)
    data = guest.memory_address(case)
    memory.map(data, record[LAYOUT.memory_at :].tobytes())
    values = record[: LAYOUT.memory_at].copy().view(np.uint64)
    registers = {r: int(v) for r, v in zip(LAYOUT.registers, values, strict=True)}
    runner = Interpreter(TABLE, memory, registers)
    runner.run(CODE, CODE + len(code))
    out = b"".join(runner.registers[r].to_bytes(8, "little") for r in LAYOUT.registers)
    return out + memory.read(data, 64)
