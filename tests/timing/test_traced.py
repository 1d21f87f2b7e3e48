"""Recordings of whole programs: against the counting plugin, our interpreter, and the encoding."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import traced
from benchmarks.traced_boot import ENTRY, system_calls, undisturbed
from fixtures import inputs, programs
from fixtures.trace import INSIDE, LEFT, Recording, parse, record
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.operands import Kind
from rewriter.core.readings.interpret import Interpreter, Memory, Step
from rewriter.core.readings.machine import ByteOrder
from rewriter.elf.image import load
from rewriter.verify.trials.engines.qemu import headers_size, static_executable
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import UP1000
from targets.machines import EM_ALPHA

DATA = 0x1000  # bytes from the code
CODE = 0x120000000 + headers_size(64)
ROUTINE = f"""
        lda     a0,{DATA}(pv)
        lda     a1,64(a0)
        lda     a2,9(zero)
loop:   ldbu    t0,0(a0)
        stb     t0,3(a1)
        ldwu    t1,2(a0)
        stw     t1,6(a1)
        ldl     t2,4(a0)
        stl     t2,8(a1)
        ldq     t3,8(a0)
        stq     t3,16(a1)
        ldq_u   t4,5(a0)
        stq_u   t4,27(a1)
        ldt     $f1,16(a0)
        stt     $f1,32(a1)
        lds     $f2,20(a0)
        sts     $f2,44(a1)
        ldq_l   t5,0(a1)
        stq_c   t5,0(a1)
        blbs    a2,odd
        unop
        lda     a0,8(a0)
odd:    ldl     zero,0(a0)
        br      s0,call
back:   subq    a2,1,a2
        bne     a2,loop
        br      done
call:   jmp     (s0)
done:
"""
EXIT = "\n ldi v0,1\n clr a0\n callsys"


@dataclass(frozen=True)
class Program:
    """A static executable without a libc; see `qemu.Executable`."""

    text: bytes
    base: int = CODE
    memory_size: int = 2 * DATA
    emulator: tuple[str, ...] = ("qemu-alpha", "-cpu", "ev67")
    elf_machine: int = EM_ALPHA
    elf_flags: int = 0
    word_bits: int = 64
    byteorder: ByteOrder = "little"

    def code(self) -> bytes:
        return self.text


def recorded(code: bytes, folder: Path) -> Recording:
    """The recording of a static executable: the file stands for the library."""
    file, out = folder / "alone", folder / "out"
    # The data are in the file, so that they belong to what is moved.
    file.write_bytes(static_executable(Program(code.ljust(2 * DATA, b"\0"))))
    file.chmod(0o755)
    plugin = f"{programs.plugin_path('trace')},out={out},library=/{file.name}"
    emulator = (inputs.tool("qemu-alpha"), "-cpu", "ev67", "-plugin", plugin)
    subprocess.run((*emulator, str(file)), check=True, timeout=60)
    return parse(out.read_bytes())


def interpreted(code: bytes, base: int) -> Sequence[Step]:
    memory = Memory()
    memory.map(base, code.ljust(2 * DATA, b"\0"))
    return Interpreter(TABLE, memory, {27: base}).run(base, base + len(code))


def test_a_recording_is_what_our_interpreter_does(tmp_path: Path) -> None:
    inputs.require_tool("qemu-alpha")
    inputs.require_tool("cc")
    routine = assemble(ROUTINE, CODE).code
    start = assemble(" br pv,start\nstart: lda pv,-4(pv)", CODE).code
    code = start + routine
    recording = recorded(code + assemble(EXIT, CODE + len(code)).code, tmp_path)
    moved = traced.BASE + headers_size(64)
    expected = interpreted(code, moved)
    found = list(islice(traced.steps(recording, 4 * DATA, TABLE), len(expected)))
    hints = [step for step in expected if step.insn.name == "ldl" and not step.size]
    assert len(expected) > 150 and hints
    for got, want in zip(found, expected, strict=True):
        if want in hints:
            assert (got.address, got.insn, got.access) == (want.address, want.insn, None)
        else:
            assert got == want


@pytest.fixture(scope="module")
def recording() -> Recording:
    libc = inputs.require("alpha-libc")
    for name in ("qemu-alpha", "cc", "alpha-linux-gnu-gcc"):
        inputs.require_tool(name)
    return record("bench-number", libc, arguments=("0",))


def test_it_has_every_instruction_that_is_counted(recording: Recording) -> None:
    counts = programs.count("bench-number", inputs.find("alpha-libc"), arguments=("0",))
    assert 4_000 < recording.executed == counts.libc < counts.total


def leads(step: Step, following: int) -> bool:
    """Whether the instruction, as the table reads it, can lead there."""
    if step.target is None:
        return following == step.address + 4
    if step.insn.op.flow in (Flow.BRANCH, Flow.JUMP, Flow.CALL):
        kinds = [operand.kind for operand in step.insn.op.format.operands]
        distance = step.insn.operands[kinds.index(Kind.TARGET)]
        return step.target == step.address + 4 + distance
    return step.insn.op.flow not in (Flow.NEXT, Flow.TRAP)


def test_each_step_leads_to_the_next(recording: Recording) -> None:
    """What qemu executed next is where the instruction can lead; a lost record is seen."""
    size = traced.extent(load(inputs.find("alpha-libc")))

    def wrong(one: Recording) -> int:
        found = pairwise(traced.steps(one, size, TABLE))
        return sum(not leads(step, following.address) for step, following in found)

    assert wrong(recording) == 0
    records = recording.records
    plain = np.flatnonzero((records["kind"][1:] == INSIDE) & (np.diff(records["place"]) == 4)) + 1
    lost = int(plain[len(plain) // 2])
    assert wrong(replace(recording, records=np.delete(records, lost))) == 1


def test_what_it_leaves_for_is_not_in_the_library(recording: Recording) -> None:
    kinds = recording.records["kind"]
    left = recording.records["place"][kinds == LEFT]
    size = traced.extent(load(inputs.find("alpha-libc")))
    assert len(left) > 5
    assert not ((left >= recording.base) & (left < recording.base + size)).any()
    assert (recording.records["place"][kinds == INSIDE] < size).all()


def test_of_a_kernel_a_share_of_the_system_calls_is_recorded() -> None:
    """From the entry on, each step can lead to the next, but where an interrupt or a fault came."""
    path = inputs.require("alpha-vmlinux")
    for name in ("qemu-system-alpha", "cc", "alpha-linux-gnu-gcc"):
        inputs.require_tool(name)
    image = load(path)
    entry = next(image.code_address(s) for s in image.symbols if s.name == ENTRY)
    one = system_calls(path, 997)
    inside = one.records["kind"] == INSIDE
    entered = one.base + one.records["place"][inside] == entry
    calls = int(np.count_nonzero(entered))
    assert entered[0] and calls > 10
    left = int(np.count_nonzero(one.records["kind"] == LEFT))
    steps = traced.steps(one, traced.extent(image), TABLE, one.base)
    wrong = sum(not leads(step, then.address) for step, then in pairwise(steps))
    assert 0 < calls - 1 <= wrong <= left
    (alone,) = undisturbed([one], image)
    assert 0 < alone.executed < one.executed


def test_cycles_add_up_by_cause_and_by_place(recording: Recording) -> None:
    libc = inputs.find("alpha-libc")
    first, again = traced.time(recording, libc, "ev67", UP1000, 2)
    for spent in (first, again):
        assert spent.cycles == spent.causes.total()
        # Between the parts the pipeline is empty: one cycle each until the first retires.
        assert 0 <= spent.cycles - spent.places.total() <= 1 + recording.executed // 50_000
        inside = spent.instructions.total() - spent.instructions[traced.ELSEWHERE]
        assert recording.executed - 1 <= inside <= recording.executed
        least = inside / CPUS["ev67"].fetch_block.value * 4
        assert spent.cycles > least
    assert again.cycles < first.cycles
