"""Loads, stores and semaphores, and the formats of floating-point numbers in memory."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.faults import IllegalOperation, NatConsumption
from targets.ia64.machine.state import NATVAL, State
from targets.ia64.registers import FR, NUMBERS
from tests.targets.ia64.meanings.ia64_single import (
    DATA,
    F_A,
    F_TO,
    LEFT,
    RIGHT,
    TO,
    double,
    fraction,
    machine,
    run,
    single,
)

BITS = (1 << 64) - 1
BYTES = bytes(range(0x81, 0xA1))
CSD, CCV = NUMBERS["ar.csd"], NUMBERS["ar.ccv"]
LOADS = sorted({op.name for op in TABLE if op.name.startswith("ld") and op.sched in ("LD", "CLD")})
STORES = sorted({op.name for op in TABLE if op.sched == "ST"})


def at(address: int, value: int = 0) -> State:
    """A state with BYTES at DATA, an address in r10 and a value in r9."""
    state = machine()
    state.memory.write(DATA, BYTES)
    state.put(RIGHT, address)
    state.put(LEFT, value)
    return state


def size_of(name: str) -> int:
    return int("".join(c for c in name.split(".")[0] if c.isdigit()))


@pytest.mark.parametrize("name", [n for n in LOADS if size_of(n) < 16])
def test_loads_extend_with_zero(name: str) -> None:
    size = size_of(name)
    state = run(at(DATA + 8), name, "[{r3}]")
    assert state.r[TO] == int.from_bytes(BYTES[8 : 8 + size], "little")
    assert (state.access, state.size, state.stored) == (DATA + 8, size, False)
    state = run(at(DATA + 8), name, ",{imm9}", imm9=-16)
    assert (state.r[TO] & 0xFF, state.r[RIGHT]) == (BYTES[8], DATA - 8)
    state = run(at(DATA + 8, BITS), name, ",{r2}")
    assert (state.r[TO] & 0xFF, state.r[RIGHT]) == (BYTES[8], DATA + 7)


@pytest.mark.parametrize("name", [n for n in LOADS if size_of(n) > 1])
def test_a_load_that_faults_changes_nothing(name: str) -> None:
    speculative = name.endswith((".s", ".sa"))
    forms = ("[{r3}]",) if size_of(name) == 16 else ("[{r3}]", ",{imm9}")
    for address, fault in ((DATA + 1, Misaligned), (0x40, AccessFault)):
        for text in forms:
            state = at(address)
            if speculative:
                run(state, name, text, imm9=8)
                assert state.nat[TO] == 1
                assert state.r[RIGHT] == address + (8 if "imm9" in text else 0)
                continue
            with pytest.raises(fault):
                run(state, name, text, imm9=8)
            assert (state.r[TO], state.nat[TO], state.r[RIGHT]) == (0, 0, address)


@pytest.mark.parametrize("name", [n for n in STORES if size_of(n) < 16])
def test_stores_write_their_bytes(name: str) -> None:
    size = size_of(name)
    state = run(at(DATA + 8, 0x1122334455667788), name, "={r2}")
    expected = BYTES[:8] + 0x1122334455667788.to_bytes(8, "little")[:size] + BYTES[8 + size :]
    assert state.memory.read(DATA, len(BYTES)) == expected
    assert (state.access, state.size, state.stored) == (DATA + 8, size, True)
    state = run(at(DATA + 8, 7), name, ",{imm9}", imm9=-8)
    assert state.r[RIGHT] == DATA
    with pytest.raises(AccessFault):
        run(at(0x40), name, ",{imm9}", imm9=8)


def test_sixteen_bytes_at_once() -> None:
    state = run(at(DATA + 16), "ld16")
    assert (state.r[TO], state.r[CSD]) == struct.unpack("<QQ", BYTES[16:32])
    state = at(DATA, 5)
    state.r[CSD] = 6
    assert run(state, "st16").memory.read(DATA, 16) == struct.pack("<QQ", 5, 6)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_semaphores(size: int) -> None:
    old = int.from_bytes(BYTES[8 : 8 + size], "little")
    for name, expected, value in (
        (f"xchg{size}", None, 9),
        (f"cmpxchg{size}.acq", old, 9),
        (f"cmpxchg{size}.rel", old ^ 1, old),
        *([(f"fetchadd{size}.acq", None, old - 4)] if size >= 4 else []),
    ):
        state = at(DATA + 8, 9)
        state.r[CCV] = expected or 0
        run(state, name, inc3=-4)
        assert state.r[TO] == old
        assert int.from_bytes(state.memory.read(DATA + 8, size), "little") == value, name
        assert state.memory.read(DATA, 8) == BYTES[:8]


def test_a_wide_exchange_compares_half() -> None:
    (second,) = struct.unpack("<Q", BYTES[8:16])
    state = at(DATA + 8, 1)
    state.r[CSD], state.r[CCV] = 2, second
    run(state, "cmp8xchg16.acq")
    assert state.r[TO] == second
    assert state.memory.read(DATA, 16) == struct.pack("<QQ", 1, 2)


def test_an_advanced_load_and_its_checks() -> None:
    state = run(at(DATA), "ld8.a")
    state.memory.write(DATA, bytes(8))  # not by a store of the program
    before = state.r[TO]
    assert run(state, "ld8.c.nc").r[TO] == before
    assert run(state, "chk.a.nc", "{r1},{target25}", target25=0x100).target is None
    assert run(state, "ld8.c.clr").r[TO] == before
    assert run(state, "chk.a.nc", "{r1},{target25}", target25=0x100).target == 0x4100
    assert run(state, "ld8.c.nc").r[TO] == 0  # loads again, and enters it
    assert run(state, "chk.a.clr", "{r1},{target25}", target25=0x100).target is None
    run(state, "ld8.a")
    run(state, "invala.e", "{r1}")
    assert run(state, "chk.a.clr", "{r1},{target25}", target25=0x100).target == 0x4100
    run(state, "ld8.a")
    run(state, "invala")
    assert not state.alat.entries


def test_a_prefetch_only_faults_if_it_says_so() -> None:
    state = run(at(0x40), "lfetch", ",{imm9}", imm9=64)
    assert (state.access, state.size, state.r[RIGHT]) == (0x40, 0, 0x80)
    with pytest.raises(AccessFault):
        run(at(0x40), "lfetch.fault")
    state = at(0x40)
    state.deferring = True
    assert not run(state, "lfetch.fault").deferring
    assert run(at(DATA), "probe.w", "{imm2}").r[TO] == 1
    assert run(at(0x40), "probe.r", "{imm2}").r[TO] == 0


# Floating point -----------------------------------------------------------------------------


@settings(max_examples=60)
@given(value=st.floats(), narrow=st.floats(width=32), integer=st.integers(0, BITS))
def test_numbers_in_memory(value: float, narrow: float, integer: int) -> None:
    """What is loaded is the number that struct wrote, and is stored as the same bytes."""
    extended = np.longdouble(value).tobytes()[:10]  # the 80 bits of x87 are ldfe's
    for letter, data in {
        "d": struct.pack("<d", value),
        "s": struct.pack("<f", narrow),
        "e": extended,
        "8": integer.to_bytes(8, "little"),
    }.items():
        state = at(DATA + 16)
        state.memory.write(DATA + 16, data)
        register = run(state, f"ldf{letter}", "[{r3}]").r[F_TO]
        number = {"s": narrow, "8": integer}.get(letter, value)
        if math.isfinite(number):
            assert fraction(register) == Fraction(number)
        state.put_floating(F_A, register)
        state.put(RIGHT, DATA + 32)
        run(state, f"stf{letter}", "={f2}")
        assert state.memory.read(DATA + 32, len(data)) == data, letter


@settings(max_examples=40)
@given(a=st.floats(), b=st.floats(), c=st.floats(width=32), d=st.floats(width=32))
def test_pairs_and_whole_registers(a: float, b: float, c: float, d: float) -> None:
    state = at(DATA)
    state.memory.write(DATA, struct.pack("<dd", a, b))
    run(state, "ldfpd", ",16", f1=FR + 8, f2=FR + 9)
    assert (state.r[FR + 8], state.r[FR + 9]) == (double(a), double(b))
    assert state.r[RIGHT] == DATA + 16
    state.memory.write(DATA + 16, struct.pack("<ff", c, d))
    run(state, "ldfps", ",8", f1=FR + 8, f2=FR + 9)
    assert (state.r[FR + 8], state.r[FR + 9]) == (single(c), single(d))
    state.put(RIGHT, DATA + 48)
    for value in (double(a), NATVAL, 0x3FFFF << 64 | 7):
        state.put_floating(F_A, value)
        run(state, "stf.spill", "={f2}")
        assert run(state, "ldf.fill", "[{r3}]").r[F_TO] == value


@settings(max_examples=40)
@given(value=st.floats(), narrow=st.floats(width=32), bits=st.integers(0, BITS))
def test_moves_between_the_files(value: float, narrow: float, bits: int) -> None:
    (wide_bits,) = struct.unpack("<Q", struct.pack("<d", value))
    (narrow_bits,) = struct.unpack("<I", struct.pack("<f", narrow))
    for suffix, source, register in (
        ("d", wide_bits, double(value)),
        ("s", narrow_bits, single(narrow)),
        ("sig", bits, 0x1003E << 64 | bits),
        ("exp", bits, (bits & 0x3FFFF) << 64 | 1 << 63),
    ):
        state = run(at(DATA, source), f"setf.{suffix}")
        assert state.r[F_TO] == register
        state.put_floating(F_A, register)
        expected = bits & 0x3FFFF if suffix == "exp" else source
        assert run(state, f"getf.{suffix}").r[TO] == expected


def test_deferred_numbers() -> None:
    state = run(at(0x40), "ldfd.s", "[{r3}]")
    assert state.r[F_TO] == NATVAL
    state.put_floating(F_A, NATVAL)
    assert run(state, "chk.s", f2=F_A, target25=0x40).target == 0x4040
    state.put(RIGHT, DATA)
    with pytest.raises(NatConsumption):
        run(state, "stfd", "={f2}")
    assert run(state, "getf.d").nat[TO] == 1
    state.nat[LEFT] = 1
    assert run(state, "setf.sig").r[F_TO] == NATVAL
    with pytest.raises(IllegalOperation):
        run(state, "setf.sig", f1=FR + 1)
    run(state, "ldfd.a", "[{r3}]")
    state.memory.write(DATA, bytes(8))
    kept = state.r[F_TO]
    assert run(state, "ldfd.c.clr", "[{r3}]").r[F_TO] == kept
    assert run(state, "ldfd.c.clr", "[{r3}]").r[F_TO] == 0
