"""What meanings really touch, seen from outside: within the table's masks, and never against the
rules of a group."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from rewriter.contracts import CONTRACTS
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, Memory, Unspecified
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.alat import Alat, KeepAll
from targets.ia64.machine.calling import RETURN
from targets.ia64.machine.faults import MachineFault
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.state import FPSR, MODIFIED, STACKED, UNAT, State
from targets.ia64.meanings import bound
from targets.ia64.registers import AR, BR, FR, GR, NUMBERS, PR
from tests.targets.ia64.ia64_sweep import random_insn
from tests.targets.ia64.machine.ia64_programs import Routines, sample

# Registers that instructions add bits to: reading them for that is no dependency.
GATHERED = {FPSR, MODIFIED, UNAT}
FPSR_PARTS = {NUMBERS["fpsr.controls"], NUMBERS["fpsr.flags"]}
PSR_PARTS = {NUMBERS[name] for name in ("psr", "psr.um", "psr.mf", "psr.cpl")}
STATUS = PSR_PARTS | {NUMBERS["cr.ifs"]}
DATA, CONTENT = 0x10000, bytes(range(256)) * 0x200


class Watched(list[int]):
    """A register file that notes which single registers are read and written."""

    def __init__(self, values: list[int]) -> None:
        super().__init__(values)
        self.read: set[int] = set()
        self.written: set[int] = set()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            self.read.add(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, int):
            self.written.add(key)
        super().__setitem__(key, value)

    def taken(self) -> tuple[set[int], set[int]]:
        """What was noted since the last time."""
        noted = self.read, self.written
        self.read, self.written = set(), set()
        return noted


def watched(state: State) -> tuple[Watched, Watched]:
    state.r, state.nat = Watched(state.r), Watched(state.nat)
    return state.r, state.nat


def noted(registers: Watched, nats: Watched) -> tuple[set[int], set[int]]:
    read, written = registers.taken()
    more_read, more_written = nats.taken()
    return read | more_read, written | more_written


def bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def allowed(insn: Insn) -> tuple[set[int], set[int]]:
    """Registers that the masks let an instruction read and write, in the machine's terms."""
    uses, defs = set(bits(TABLE.uses(insn))), set(bits(TABLE.defs(insn)))
    for names in (uses, defs):
        if names & FPSR_PARTS:
            names.add(FPSR)
        if names & PSR_PARTS:
            names |= STATUS
    if defs & PSR_PARTS:  # the bits that it leaves as they are
        uses |= PSR_PARTS
    return uses | GATHERED | {GR, FR, FR + 1, PR}, defs


def prepared(source: random.Random) -> State:
    """A state whose general registers are all aligned addresses of data."""
    memory = Memory()
    memory.map(DATA, CONTENT)
    memory.map(0x100000, 0x10000)
    state = State(memory, Alat(KeepAll()), 0x100000)
    state.reframe(Frame(sof=96))
    for register in range(GR + 1, FR):
        state.put(register, DATA + 0x8000 + 16 * source.randrange(256))
    for register in range(FR + 2, PR):
        exponent = 0xFFFF + source.randrange(-40, 40)
        state.put_floating(register, exponent << 64 | 1 << 63 | source.getrandbits(63))
    for register in range(PR + 1, BR):
        state.put_predicate(register, source.getrandbits(1))
    return state


ROWS = [op for op in TABLE if not (op.flow is Flow.TRAP or op.name in ("alloc", "cover", "rfi"))]
FRAMES = ("br.call", "brl.call", "br.ret", "clrrrb", "clrrrb.pr", "flushrs", "loadrs")
# Names that these give to other registers, and what tells of the frame.
SHOWN = {NUMBERS[name] for name in ("cfm", "ar.bsp", "ar.bspstore", "ar.rnat")}
AROUND = ("TOAR_M", "BR_B2")
RENAMED = SHOWN | set(range(STACKED, FR))


@pytest.mark.parametrize("part", range(4))
def test_a_meaning_touches_what_the_masks_say(part: int) -> None:
    source = random.Random(part)
    touched = 0
    for op in ROWS[part::4]:
        for _ in range(3):
            touched += within_masks(op, source)
    assert touched > 1_000


def within_masks(op: Op, source: random.Random) -> int:
    insn = random_insn(op, source)
    state = prepared(source)
    watch = watched(state)
    with contextlib.suppress(MachineFault, Misaligned, AccessFault, Unspecified):
        bound(insn, 0x4000)(state)
    read, written = noted(*watch)
    uses, defs = allowed(insn)
    frame = RENAMED if insn.name in FRAMES else SHOWN if insn.op.sched in AROUND else set()
    assert read <= uses | frame, (TABLE.text(insn), read - uses)
    assert written <= defs | frame | {PR}, (TABLE.text(insn), written - defs)
    return len(read) + len(written)


LIBC = ("memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp", "strcpy", "strchr")


@pytest.mark.parametrize("name", LIBC)
def test_no_real_group_reads_what_it_wrote(name: str) -> None:
    """The machine runs slots in order: that this is reading everything before writing anything is
    seen here, without the masks."""
    libc = Routines("ia64-libc")
    watch = watched(libc.processor.state)
    contract = CONTRACTS[name]
    groups = 0
    for case in sample(contract, 25):
        for piece in case.pieces:
            libc.memory.write(piece.address, piece.data)
        libc.run_prepared(case.arguments)
        noted(*watch)
        before: set[int] = set()
        for step in libc.processor.steps(libc.program.symbols[name], RETURN):
            read, written = noted(*watch)
            if step.insn.name.startswith("br"):
                read -= {*range(PR, AR), NUMBERS["ar.pfs"]}
            if step.insn.name.endswith((".and", ".or", ".andcm")):
                written -= {*range(PR, BR)}
            clash = (read | written) & before - GATHERED
            assert not clash, (hex(step.address), clash)
            before |= written
            if step.stop or step.target is not None:
                before = set()
                groups += 1
    assert groups > 300
