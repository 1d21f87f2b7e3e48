"""What PowerPC's vector instructions do, against qemu: random registers, in both byte orders."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

import pytest

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.concrete import Concrete
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.arithmetic import worlds
from targets.ppc.isa import floating, table, vectors
from targets.ppc.meanings.answers import answer
from targets.ppc.registers import CR, GPR, VSR, parts
from tests.support.depth import depth
from tests.targets.ppc.vectors.ppc_vector_qemu import (
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
    *(
        "vminub",
        "vmaxub",
        "vslb",
        "vsrb",
        "vsl",
        "vslo",
        "vsro",
        "vcmpgtub",
        "vcmpgtub.",
        "vadduqm",
        "vsumsws",
        "vpopcnth",
        "vbpermq",
        "vextublx",
        "vextubrx",
        "lvewx",
        "stvewx",
    ),
    *("lvebx", "lvehx", "stvebx", "stvehx", "lxvl", "lxvll", "stxvl", "stxvll"),
}


LENGTHS = {"lxvl", "lxvll", "stxvl", "stxvll"}
"""What access as many bytes as a register says; its meaning is that of trials."""
EFFECTS = worlds(64)[0].effects


class Unsaid(Exception):
    """A result that the table leaves open."""


@dataclass(kw_only=True)
class Told(Concrete):
    """One run; what is left undefined has all bits as `undefined` says."""

    undefined: int
    seen: list[int] = field(default_factory=list)

    def opaque(self, name: str, *values: int) -> int:
        if " undefined " in name:
            return self.undefined
        found = answer(name, *values)
        if found is None:
            raise Unsaid(name)
        return found

    def event(self, name: str, *values: int) -> None:
        if name not in LENGTHS or self.width != 64:  # there the length is in a word that we lack
            raise Unsaid(name)
        self.seen = list(EFFECTS[name](self, *values))

    def observed(self, name: str, *values: int) -> int:
        return self.seen.pop(0)

    def arithmetic(self, name: str, *values: int) -> None:
        raise Unsaid(name)


def _numbers(doubleword: int, width: int) -> list[Reg]:
    """The registers of a doubleword of the vector-scalar registers, the most significant first."""
    each = 64 // width
    named = parts(VSR + doubleword // 2, 128, width)
    return list(named[each * (doubleword % 2) :][:each])


Bits = tuple[int, ...]
"""Of each doubleword of the vectors, those that are undefined."""


def told(
    insn: Insn, before: State, byteorder: ByteOrder, width: int = 64
) -> tuple[State, Bits] | None:
    """What our meaning makes of a state, and what of the vectors it leaves undefined."""
    try:
        one, other = (_told(insn, before, byteorder, width, lost) for lost in (0, -1))
    except Unsaid:
        return None
    assert replace(one, vectors=other.vectors) == other
    return one, tuple(a ^ b for a, b in zip(one.vectors, other.vectors, strict=True))


def _told(insn: Insn, before: State, byteorder: ByteOrder, width: int, undefined: int) -> State:
    first, ones = before.general[0] - POINTER, (1 << width) - 1
    registers: dict[int, int] = {}
    for n, value in enumerate(before.vectors):
        for low, number in enumerate(reversed(_numbers(n, width))):
            registers[number] = value >> width * low & ones
    registers |= {GPR + r: value & ones for r, value in zip(GENERAL, before.general, strict=True)}
    registers |= {CR + n: before.condition >> 28 - 4 * n & 15 for n in range(8)}
    machine = Told(
        width=width,
        byteorder=byteorder,
        aligned=False,
        constants=table(64, byteorder).constants,
        registers=registers,
        memory={first + n: byte for n, byte in enumerate(before.memory)},
        undefined=undefined,
    )
    machine.execute(insn, 0)
    assert len(machine.memory) == MEMORY
    places = [_numbers(n, width) for n in range(128)]
    return State(
        tuple(reduce(lambda a, r: a << width | machine.registers[r], n, 0) for n in places),
        tuple(machine.registers[GPR + r] for r in GENERAL),
        sum(machine.registers[CR + n] << 28 - 4 * n for n in range(8)),
        bytes(machine.memory[first + n] for n in range(MEMORY)),
    )


def differences(ours: State, undefined: Bits, theirs: State) -> list[str]:
    """What is not the same, but for what is undefined."""
    vectors = zip(ours.vectors, theirs.vectors, undefined, strict=True)
    found = [
        f"vs{n // 2}.{n % 2}: {mine:#x}, qemu {its:#x}"
        for n, (mine, its, lost) in enumerate(vectors)
        if (mine ^ its) & ~lost
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
            before = drawn_state(source, effects.loads or effects.stores)
            if op.name in LENGTHS:
                lengths = (source.randrange(20) << 56 | source.getrandbits(56) for _ in range(3))
                before = replace(before, general=(0, *lengths))
            before = placed_state(before, 0)
            if told(insn, before, byteorder) is None:
                break
            cases.append((insn, before))
    assert {insn.name for insn, _ in cases} >= NEEDED
    words = [known.encode(insn) for insn, _ in cases]
    wrong: dict[str, list[str]] = {}
    results = run(words, [before for _, before in cases], byteorder, tmp_path)
    for (insn, before), (placed, after) in zip(cases, results, strict=True):
        found = told(insn, replace(before, general=placed.general), byteorder)
        assert found is not None
        if unlike := differences(*found, after):
            wrong.setdefault(known.text(insn), unlike)
    assert not wrong


def test_registers_of_32_bits_do_the_same() -> None:
    """AltiVec is in 32-bit processors, too: what has been tested, in parts half as wide."""
    source, known = random.Random(32), table(32, "big")
    rows = [op for op in (*floating.ROWS, *vectors.ROWS) if op in known.rows and has(op, "big")]
    same, names = 0, set()
    for op in rows:
        effects = known.effects(op)
        for _ in range(depth(4, 40)):
            insn = drawn(op, source)
            before = placed_state(drawn_state(source, effects.loads or effects.stores), 0)
            found, narrow = told(insn, before, "big"), told(insn, before, "big", width=32)
            if found is None or narrow is None:
                break
            wide = replace(found[0], general=tuple(v & 0xFFFFFFFF for v in found[0].general))
            lost = tuple(a | b for a, b in zip(narrow[1], found[1], strict=True))
            assert not differences(narrow[0], lost, wide), known.text(insn)
            same += 1
            names.add(insn.name)
    assert names >= {"lvx", "stvx", "lvsl", "vperm", "vsldoi", "vcmpequb.", "vspltb", "lfd", "fneg"}
    assert same > 150


def test_signs_of_bytes_become_bits_of_a_register() -> None:
    """VEXTRACTBM, which no machine of the others has: byte element i gives bit 48 + i (Power ISA
    3.1B, Book I, 6.17), the lowest bit is the last byte's."""
    for vector, bits in (
        ((0x8000_0000_0000_0000, 0), 0x8000),
        ((0, 0xFF), 0x0001),
        ((0x7F80_007F_0000_0000, 0x0000_0000_0000_8000), 0x4002),
        ((0xFFFF_FFFF_FFFF_FFFF, 0x8080_8080_8080_8080), 0xFFFF),
    ):
        assert answer("vextractbm 0", *vector) == bits
        words = [part >> shift & 0xFFFF_FFFF for part in vector for shift in (32, 0)]
        assert answer("vextractbm 0", *words) == bits
