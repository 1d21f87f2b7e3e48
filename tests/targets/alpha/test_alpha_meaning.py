"""What the Alpha table says instructions do, against qemu."""

from __future__ import annotations

import contextlib
import dataclasses
import random

import numpy as np
import pytest

from rewriter.core.isa.instruction import Does, Flow, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.batched import Batched
from targets.alpha.assembler import assemble
from targets.alpha.isa.rows import TABLE
from targets.alpha.meanings import bytewise, control, memory, operate
from targets.alpha.registers import FP
from tests.support.alpha_guest import AlphaGuest
from tests.targets.alpha.against_qemu import (
    CONTROL,
    DEFINED,
    LAYOUT,
    OPAQUE,
    STRAIGHT,
    TARGET,
    WITH_QEMU,
    compare,
    control_runs,
    runs_of,
)
from tests.targets.alpha.cases import TAKEN, variants
from tests.targets.alpha.operands import random_insn


@pytest.mark.parametrize("part", range(8))
def test_meaning_is_qemus(part: int) -> None:
    assert compare(runs_of(WITH_QEMU[part::8])) == []


def test_control_is_qemus() -> None:
    assert compare(control_runs(CONTROL)) == []


def test_branches_go_both_ways() -> None:
    for run in control_runs(op for op in CONTROL if op.flow is Flow.BRANCH):
        run.place(AlphaGuest(LAYOUT))
        if run.variant.insn.operands[0] in TABLE.constants:
            continue
        taken = np.mean(run.straight().registers[Reg(TAKEN)] == TARGET)
        # Few random values are zero.
        assert 0.003 < taken < 0.997, run.variant


# What is left out, and how strong this is -------------------------------------------------


def _reaches_nothing_opaque(op: Op) -> bool:
    straight = op in STRAIGHT
    machine = Batched(
        1,
        np.zeros((1, 8), np.uint8),
        np.zeros(1, np.uint64),
        TABLE.constants,
        width=64,
        byteorder="little",
        aligned=True,
    )
    machine.registers = {Reg(r): np.zeros(1, np.uint64) for r in range(64)}
    insn = next(variants(op)).insn if straight else random_insn(op, random.Random(1))
    try:
        machine.execute(insn.replace(disp=0) if insn.has("disp") else insn, 0)
    except NotImplementedError:
        return False
    return True


def test_exactly_the_opaque_rows_are_left_out() -> None:
    # These two only tell the world something: an instruction cache, a control register.
    events = {"imb", "mt_fpcr", "wruniq", "bpt", "bugchk", "gentrap"}
    opaque = {op.name.partition("/")[0] for op in TABLE if not _reaches_nothing_opaque(op)}
    assert opaque | events == OPAQUE
    assert len(DEFINED) == len(STRAIGHT) + len(CONTROL)


def _mutant(name: str, does: Does) -> Op:
    return dataclasses.replace(next(op for op in TABLE if op.name == name), does=does)


_MUTANTS = (
    # off by one byte; off by one bit; nothing for a shift of zero
    _mutant("extbl", operate.binary(lambda m, a, b: bytewise.extract_low(1)(m, a, b + m.const(1)))),
    _mutant("srl", operate.binary(lambda m, a, b: m.lshr(a, b & m.const(31)))),
    _mutant(
        "mskqh", operate.binary(lambda m, a, b: a & ~m.lshr(a | ~a, bytewise.high_shift(m, b)))
    ),
    # a sign, a boundary, an alias, a size, an untouched register
    _mutant("sextb", operate.single(lambda m, b: m.zext(b, 8))),
    _mutant("cmple", operate.compare(lambda m, a, b: m.slt(a, b))),
    _mutant("cmovge", operate.conditional_move(operate.test_zero("gt"))),
    _mutant("ldl", memory.load(4)),
    _mutant("stl", memory.store(2)),
    _mutant("stq_u", memory.store(8)),
    _mutant("fcmovlt", operate.conditional_move(operate.test_zero("lt"))),
    _mutant("addl", operate.binary(lambda m, a, b: a + b)),
)


@pytest.mark.parametrize("mutant", _MUTANTS, ids=lambda op: op.name)
def test_a_wrong_meaning_is_caught(mutant: Op) -> None:
    with contextlib.suppress(IndexError):  # an access outside its lane is caught as well
        assert compare(runs_of([mutant])) != []


def test_a_wrong_branch_is_caught() -> None:
    mutant = _mutant("ble", control.branch(operate.test_zero("lt")))
    assert compare(control_runs([mutant])) != []


# QEMU's own mistakes ----------------------------------------------------------------------


def _f_in_register(word: int) -> int:
    """Alpha Architecture Handbook v4, table 2-1 and figures 2-5 and 2-6, literally."""
    sign, exponent, low, high = word >> 15 & 1, word >> 7 & 0xFF, word >> 16, word & 0x7F
    top, rest = exponent >> 7, exponent & 0x7F
    middle = 0b000 if top or rest == 0 else 0b111
    return sign << 63 | top << 62 | middle << 59 | rest << 52 | high << 45 | low << 29


@pytest.mark.parametrize("text", ["ldf $f1,0(t0)", "itoff t1,$f1", "stf $f1,0(t0)"])
def test_f_format_is_the_handbooks(text: str) -> None:
    count = 5000
    source = np.random.default_rng(7)
    words = source.integers(0, 1 << 32, count, dtype=np.uint64)
    words[::7] &= np.uint64(0xFFFF807F)  # an exponent of zero
    loaded = np.array([_f_in_register(word) for word in words.tolist()], dtype=np.uint64)
    # ITOFF takes the word in the order of the register, not of memory.
    turned = words >> np.uint64(16) | (words & np.uint64(0xFFFF)) << np.uint64(16)
    base = np.full(count, 1 << 20, dtype=np.uint64)
    registers = {Reg(1): base, Reg(2): turned}
    if text.startswith("stf"):
        memory = np.zeros((count, 8), dtype=np.uint8)
        registers[Reg(FP + 1)] = loaded
    else:
        memory = words[:, None].copy().view(np.uint8)
    machine = Batched(
        count, memory, base, TABLE.constants, registers, width=64, byteorder="little", aligned=True
    )
    insn = TABLE.decode(int.from_bytes(assemble(text).code, "little"))
    assert insn is not None
    machine.execute(insn, 0)
    assert (machine.registers[Reg(FP + 1)] == loaded).all()
    assert (memory.view(np.uint64)[:, 0] == words).all()
