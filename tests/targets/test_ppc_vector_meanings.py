"""What PowerPC's vector instructions do, against qemu: random registers, in both byte orders."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.concrete import Concrete
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.isa import floating, table, vectors
from targets.ppc.registers import CR, GPR, VSR
from tests.support.depth import depth
from tests.targets.ppc_vector_qemu import (
    GENERAL,
    MEMORY,
    POINTER,
    State,
    drawn,
    drawn_state,
    has,
    placed_state,
    run,
)

# The instructions whose whole meaning passes need; others are compared where there is one.
NEEDED = {
    *("lvx", "stvx", "lvsl", "lvsr", "lxvx", "stxvx", "lxv", "stxv", "lxvd2x", "stxvd2x"),
    *("lxvw4x", "stxvw4x", "lxvb16x", "lxvh8x", "lxvdsx", "lxsdx", "stxsdx", "lfd", "stfd"),
    *("vperm", "vsldoi", "vsel", "vor", "vxor", "vand", "vnor", "xxlor", "xxlxor", "xxlorc"),
    *("xxpermdi", "xxsldwi", "xxspltw", "xxspltib", "vspltisb", "vspltisw", "vspltb"),
    *("vcmpequb", "vcmpequb.", "vcmpequh.", "vcmpequw.", "vcmpneb.", "vcmpnezb."),
    *("vctzlsbb", "vclzlsbb", "mtvsrd", "mtvsrdd", "mtvsrwz", "mtvsrwa", "mtvsrws"),
    *("mfvsrd", "mfvsrld", "mfvsrwz", "vaddubm", "vsubudm", "vpkudum", "vmrghb", "vmrglw"),
    *("fmr", "fneg", "fabs", "fcpsgn", "lfiwax", "lfiwzx", "stfiwx", "xscpsgndp", "xxbrd"),
}


class Unsaid(Exception):
    """A result that the table leaves open."""


class Undefined(int):
    """A result that the architecture leaves open."""


@dataclass(kw_only=True)
class Told(Concrete):
    """One run that notes what is left undefined."""

    undefined: set[int] = field(default_factory=set)

    def set(self, register: Reg, value: int) -> None:
        super().set(register, value)
        if isinstance(value, Undefined):
            self.undefined.add(register)

    def opaque(self, name: str, *values: int) -> int:
        if " undefined " in name:
            return Undefined(0)
        raise Unsaid(name)

    def event(self, name: str, *values: int) -> None:
        raise Unsaid(name)

    def arithmetic(self, name: str, *values: int) -> None:
        raise Unsaid(name)


def told(insn: Insn, before: State, byteorder: ByteOrder) -> tuple[State, set[int]] | None:
    """What our meaning makes of a state, and which registers it leaves undefined."""
    first = before.general[0] - POINTER
    registers = {VSR + n // 2 + 64 * (n % 2): value for n, value in enumerate(before.vectors)}
    registers |= {GPR + r: value for r, value in zip(GENERAL, before.general, strict=True)}
    registers |= {CR + n: before.condition >> 28 - 4 * n & 15 for n in range(8)}
    machine = Told(
        width=64,
        byteorder=byteorder,
        aligned=False,
        constants=table(64, byteorder).constants,
        registers=registers,
        memory={first + n: byte for n, byte in enumerate(before.memory)},
    )
    try:
        machine.execute(insn, 0)
    except Unsaid:
        return None
    assert len(machine.memory) == MEMORY
    after = State(
        tuple(machine.registers[VSR + n // 2 + 64 * (n % 2)] for n in range(128)),
        tuple(machine.registers[GPR + r] for r in GENERAL),
        sum(machine.registers[CR + n] << 28 - 4 * n for n in range(8)),
        bytes(machine.memory[first + n] for n in range(MEMORY)),
    )
    return after, machine.undefined


def differences(ours: State, undefined: set[int], theirs: State) -> list[str]:
    """What is not the same, but for what is undefined."""
    found = [
        f"vs{n // 2}.{n % 2}: {mine:#x}, qemu {its:#x}"
        for n, (mine, its) in enumerate(zip(ours.vectors, theirs.vectors, strict=True))
        if mine != its and VSR + n // 2 + 64 * (n % 2) not in undefined
    ]
    for what in ("general", "condition", "memory"):
        mine, its = getattr(ours, what), getattr(theirs, what)
        if mine != its:
            found.append(f"{what}: {mine!r}, qemu {its!r}")
    return found


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_meanings_are_those_of_qemu(byteorder: ByteOrder, tmp_path: Path) -> None:
    source, known = random.Random(byteorder), table(64, byteorder)
    cases = []
    for op in (*floating.ROWS, *vectors.ROWS):
        if not has(op, byteorder):
            continue
        effects = known.effects(op)
        for _ in range(depth(2, 20)):
            insn = drawn(op, source)
            before = placed_state(drawn_state(source, effects.loads or effects.stores), 0)
            if told(insn, before, byteorder) is None:
                break
            cases.append((insn, before))
    assert {insn.name for insn, _ in cases} >= NEEDED
    words = [known.encode(insn) for insn, _ in cases]
    wrong = {}
    results = run(words, [before for _, before in cases], byteorder, tmp_path)
    for (insn, before), (placed, after) in zip(cases, results, strict=True):
        found = told(
            insn, State(before.vectors, placed.general, before.condition, before.memory), byteorder
        )
        assert found is not None
        if unlike := differences(*found, after):
            wrong.setdefault(known.text(insn), unlike)
    assert not wrong
