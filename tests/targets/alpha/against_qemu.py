"""Runs Alpha rows on random operands, in qemu and in the batched reading, and compares."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from fixtures import inputs
from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.batched import Batched
from rewriter.verify.trials.engines.qemu import Batch, Qemu
from targets.alpha.assembler import assemble
from targets.alpha.isa.formats import WORD
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import FP
from tests.support.alpha_guest import AlphaGuest, Layout
from tests.targets.alpha.cases import (
    MEMORY,
    MIDDLE,
    REGISTERS,
    TAKEN,
    Lanes,
    Variant,
    tame,
    values,
    variants,
)

CASES = 10_000  # at least so many operand sets for every row

# What the table does not define, by mnemonic without qualifiers: results that depend on the chip
# or the moment, PALcode, the floating control register, and floating arithmetic.
OPAQUE = frozenset(
    (
        *("amask", "implver", "rpcc", "rc", "rs", "mt_fpcr", "mf_fpcr"),
        *("bpt", "bugchk", "callsys", "imb", "rduniq", "wruniq", "gentrap", "call_pal"),
        *("swpipl", "rdps", "tbi"),
        *(f"{name}{kind}" for name in ("add", "sub", "mul", "div", "sqrt") for kind in "fgst"),
        *("cmpteq", "cmptle", "cmptlt", "cmptun", "cmpgeq", "cmpgle", "cmpglt"),
        *("cvttq", "cvttq", "cvtts", "cvtqs", "cvtqt", "cvtst"),
        *("cvtdg", "cvtgd", "cvtgf", "cvtgq", "cvtqf", "cvtqg"),
    )
)
# QEMU 7.2 is wrong about VAX F numbers.  LDF: helper_memory_to_f masks with 0x003fffff where it
# means 0x3fff, and takes an exponent of zero for a number, so only words with bits 21 to 14 clear
# and an exponent come out right.  ITOFF: it swaps the words, which the chip does not do.
# STF: it converts the address instead of the register.
# `test_f_format_is_the_handbooks` covers what is left out here.
QEMU_IS_WRONG = ("itoff", "stf")
QEMU_IS_HALF_WRONG = "ldf"
_F_CLEAR, _F_EXPONENT = 0x003FC000, 0x00000080
LAYOUT = Layout((*REGISTERS, TAKEN), MEMORY)
NEXT, TARGET = 1, 2  # values of register TAKEN


BRANCHING = ("branch", "fp branch", "jump")
DEFINED = [op for op in TABLE if op.name.partition("/")[0] not in OPAQUE]
STRAIGHT = [op for op in DEFINED if op.format.name not in BRANCHING]
WITH_QEMU = [op for op in STRAIGHT if op.name not in QEMU_IS_WRONG]
CONTROL = [op for op in DEFINED if op.format.name in BRANCHING]


class Run:
    """Cases of one variant: the records before, and how to check those after."""

    def __init__(self, op: Op, variant: Variant, count: int, seed: int) -> None:
        self.op, self.variant, self.count = op, variant, count
        source = np.random.default_rng(seed)
        self.before = {Reg(r): values(count, source) for r in (*REGISTERS, TAKEN)}
        self.memory = values(count * MEMORY // 8, source).view(np.uint8).reshape(count, MEMORY)
        self._source = source
        tame(op, self.before[Reg(1)], self.before[Reg(2)])
        tame(op, self.before[Reg(FP + 1)], self.before[Reg(FP + 2)])
        if op.name == QEMU_IS_HALF_WRONG:
            words = self.memory.view(np.uint32)
            words[:] = words & ~np.uint32(_F_CLEAR) | np.uint32(_F_EXPONENT)

    def place(self, guest: AlphaGuest) -> Batch:
        """Adds the routine to the guest, and makes the records."""
        words = [TABLE.encode(insn) for insn in self.variant.insns]
        routine = guest.add(b"".join(word.to_bytes(WORD, "little") for word in words))
        self.address = guest.body_address(routine)
        return self.fill(guest, routine)

    def fill(self, guest: AlphaGuest, routine: int) -> Batch:
        """Makes the records of the routine."""
        self.base = np.array([guest.memory_address(i) for i in range(self.count)], dtype=np.uint64)
        if self.variant.base is not None:
            step = self._source.integers(0, 8 // self.variant.alignment, self.count)
            inside = (step * self.variant.alignment).astype(np.uint64)
            offset = np.uint64((MIDDLE - self.variant.offset) % (1 << 64))
            self.before[Reg(self.variant.base)] = self.base + inside + offset
        return Batch(routine, self.records())

    def records(self) -> np.ndarray:
        """Registers, then memory."""
        columns = np.stack([self.before[Reg(r)] for r in LAYOUT.registers], axis=1)
        return np.concatenate([columns.view(np.uint8), self.memory], axis=1)

    def expected(self, insns: Iterable[tuple[int, Insn]]) -> Batched:
        """The batched reading of the same cases."""
        machine = Batched(
            lanes=self.count,
            memory=self.memory.copy(),
            base=self.base,
            width=TABLE.width,
            byteorder=TABLE.byteorder,
            aligned=TABLE.aligned,
            constants=TABLE.constants,
            registers=self._unused() | self.before,
        )
        for address, insn in insns:
            machine.execute(insn, address)
        return machine

    def _unused(self) -> dict[Reg, Lanes]:
        """Zero in the registers that no record has: a trap barrier sees them all."""
        zero = np.zeros(self.count, dtype=np.uint64)
        return {Reg(number): zero for number in range(len(TABLE.register_names))}

    def straight(self) -> Batched:
        """The batched reading of the variant's instructions."""
        insns = self.variant.insns
        return self.expected((self.address + WORD * i, insn) for i, insn in enumerate(insns))


def disagreements(run: Run, machine: Batched, after: np.ndarray) -> list[str]:
    """The first register that differs, with its operands; or memory."""
    found = []
    got = after[:, : LAYOUT.memory_at].copy().view(np.uint64)
    for column, register in enumerate(LAYOUT.registers):
        expected: Lanes = machine.registers[Reg(register)]
        wrong = np.flatnonzero(got[:, column] != expected)
        if len(wrong):
            at = int(wrong[0])
            before = {r: hex(int(run.before[Reg(r)][at])) for r in LAYOUT.registers}
            found.append(
                f"{TABLE.text(run.variant.insn)}: {TABLE.register_names[register]} is"
                f" {int(got[at, column]):#x} in qemu, {int(expected[at]):#x} here,"
                f" in {len(wrong)} of {run.count} cases; before: {before}"
            )
    wrong = np.flatnonzero((after[:, LAYOUT.memory_at :] != machine.memory).any(axis=1))
    if len(wrong):
        at = int(wrong[0])
        found.append(
            f"{TABLE.text(run.variant.insn)}: memory is {after[at, LAYOUT.memory_at :].tobytes()!r}"
            f" in qemu, {machine.memory[at].tobytes()!r} here"
        )
    return found


def runs_of(ops: Iterable[Op], cases: int = CASES) -> list[Run]:
    """Runs that together hold at least `cases` operand sets for each row."""
    result = []
    for op in ops:
        forms = list(variants(op))
        assert forms, f"{op} has no test"
        count = -(-cases // len(forms))
        result += [Run(op, form, count, seed=len(result)) for form in forms]
    return result


def compare(runs: list[Run]) -> list[str]:
    """Runs everything in one guest; what differs from the batched reading."""
    inputs.require_tool("qemu-alpha")
    guest = AlphaGuest(LAYOUT)
    batches = [run.place(guest) for run in runs]
    after = Qemu(guest).run(batches)
    return [
        difference
        for run, records in zip(runs, after, strict=True)
        for difference in disagreements(run, run.straight(), records)
    ]


# Control ----------------------------------------------------------------------------------

# Where the target stands: behind the instruction, or in front of it.
_FORWARD = "insn: {insn}\n lda t3,1\n br after\n there: lda t3,2\nafter:"
_BACKWARD = "br insn\n there: lda t3,2\n br after\ninsn: {insn}\n lda t3,1\nafter:"


def _control_texts(op: Op) -> list[str]:
    if op.format.name == "jump":
        registers = ("t2,(t1)", "t1,(t1)", "zero,(t1)")
        return [f"{op.name} {pair},{hint}" for pair in registers for hint in (0, 1, 0x3FFF)]
    registers = ("$f1", "$f31") if op.format.name == "fp branch" else ("t0", "t2", "zero")
    return [f"{op.name} {register},there" for register in registers]


class ControlRun(Run):
    """Cases of one branch or jump, with its target in front of it or behind."""

    def __init__(self, op: Op, text: str, frame: str, count: int, seed: int) -> None:
        super().__init__(op, Variant(()), count, seed)
        self.text, self.frame = text, frame

    def place(self, guest: AlphaGuest) -> Batch:
        """Adds the routine; a jump's register holds the target and two bits that do not count."""

        def body(at: int) -> bytes:
            assembled = assemble(self.frame.format(insn=self.text), at)
            self.address, self.target = (assembled.labels[n] for n in ("insn", "there"))
            offset = self.address - at
            word = int.from_bytes(assembled.code[offset : offset + WORD], "little")
            insn = TABLE.decode(word)
            assert insn is not None
            self.variant = Variant((dataclasses.replace(insn, op=self.op),))
            return assembled.code

        routine = guest.add(body)
        if self.op.format.name == "jump":
            low_bits = self._source.integers(0, 4, self.count, dtype=np.uint64)
            self.before[Reg(2)] = np.uint64(self.target) + low_bits
        return self.fill(guest, routine)

    def straight(self) -> Batched:
        """The batched reading, with what the frame does to show the way taken."""
        machine = super().straight()
        assert machine.taken is not None and machine.target is not None
        assert (machine.target[machine.taken] == np.uint64(self.target)).all()
        machine.registers[Reg(TAKEN)] = np.where(machine.taken, TARGET, NEXT).astype(np.uint64)
        return machine


def control_runs(ops: Iterable[Op]) -> list[Run]:
    """Runs that together hold at least `CASES` operand sets for each row."""
    result: list[Run] = []
    for op in ops:
        forms = [(text, frame) for text in _control_texts(op) for frame in (_FORWARD, _BACKWARD)]
        count = -(-CASES // len(forms))
        result += [ControlRun(op, *form, count, seed=len(result)) for form in forms]
    return result
