"""Routines of real IA-64 files on the group-parallel machine, against what they promise.

The contracts are those that the product holds routines against; they, Python's own arithmetic and
its zlib know nothing of the machine, and the routines are what other people's compilers made.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewriter.contracts import CONTRACTS
from rewriter.core.readings.interpret import AccessFault
from targets.ia64.machine.alat import DropAll, KeepAll, Policy, Seeded
from tests.targets.ia64.machine.ia64_programs import ARENA, Routines, sample

LIBC = (
    *("memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp", "strncmp"),
    *("strcpy", "strncpy", "strcat", "strchr", "strrchr", "mempcpy"),
)
KERNEL = ("memcpy", "memset", "strlen", "memcmp", "clear_page", "copy_page")
CASES = 250
A, B = ARENA.start(0), ARENA.start(1)
BITS = (1 << 64) - 1
quad = st.integers(0, 64).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


@pytest.mark.parametrize("name", LIBC)
def test_the_libcs_routines_keep_their_contracts(name: str, ia64_libc: Routines) -> None:
    slots = 0
    for case in sample(CONTRACTS[name], CASES):
        slots += len(ia64_libc.check(CONTRACTS[name], case))
    assert slots > 10 * CASES


@pytest.mark.parametrize("name", KERNEL)
def test_the_kernels_routines_keep_their_contracts(name: str, ia64_kernel: Routines) -> None:
    cases = sample(CONTRACTS[name], CASES)
    for case in cases:
        ia64_kernel.check(CONTRACTS[name], case)
    assert cases


def test_a_routine_that_copies_too_much_is_seen(ia64_libc: Routines) -> None:
    """The contracts can fail here: a copy held against what a compare promises."""
    case = sample(CONTRACTS["memcmp"], CASES)[70]
    with pytest.raises(AssertionError):
        ia64_libc.check(CONTRACTS["memcmp"], case, "memcpy")


def test_a_string_without_an_end_faults_behind_its_page(ia64_libc: Routines) -> None:
    end = ARENA.end(0)
    ia64_libc.memory.write(end - 100, b"x" * 100)
    with pytest.raises(AccessFault) as caught:
        ia64_libc.run("strlen", end - 100)
    assert caught.value.address == end
    assert ia64_libc.processor.state.pc & 3 < 3


SIGNED_DIVISIONS = {"__divdi3": False, "__moddi3": True}
UNSIGNED_DIVISIONS = {"__udivdi3": False, "__umoddi3": True}


@settings(max_examples=60)
@given(a=quad, b=quad.filter(bool), name=st.sampled_from(sorted(UNSIGNED_DIVISIONS)))
@example(a=BITS, b=1, name="__udivdi3")
@example(a=BITS - 1, b=BITS, name="__umoddi3")
def test_unsigned_division_is_exact(
    ia64_libc: Routines, ia64_kernel: Routines, a: int, b: int, name: str
) -> None:
    expected = divmod(a, b)[UNSIGNED_DIVISIONS[name]]
    assert [ia64_libc.run(name, a, b)[0], ia64_kernel.run(name, a, b)[0]] == [expected, expected]


@settings(max_examples=60)
@given(a=quad, b=quad.filter(bool), name=st.sampled_from(sorted(SIGNED_DIVISIONS)))
def test_signed_division_truncates(
    ia64_libc: Routines, ia64_kernel: Routines, a: int, b: int, name: str
) -> None:
    left, right = (value - (value >> 63 << 64) for value in (a, b))
    negative = (left < 0) != (right < 0)
    quotient = abs(left) // abs(right) * (-1 if negative else 1)
    expected = left - quotient * right if SIGNED_DIVISIONS[name] else quotient
    found = [ia64_libc.run(name, a, b)[0], ia64_kernel.run(name, a, b)[0]]
    assert found == [expected & BITS] * 2


def quotient_of(a: float, b: float) -> float:
    """IEEE division: Python's, with the results that it refuses to give."""
    if b:
        return a / b
    if not a or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


@settings(max_examples=150)
@given(a=st.floats(), b=st.floats())
@example(a=5e-324, b=3.0)
@example(a=1.7976931348623157e308, b=5e-324)
@example(a=2.2250738585072014e-308, b=1.0000000000000002)
def test_gccs_division_sequence_rounds_as_ieee(ia64_libc: Routines, a: float, b: float) -> None:
    """frcpa, refined with fma in the wide range, rounded once to double."""
    found, expected = ia64_libc.run_doubles("___divdf3", a, b), quotient_of(a, b)
    if math.isnan(expected):
        assert math.isnan(found)
    else:
        assert struct.pack("<d", found) == struct.pack("<d", expected)


@settings(max_examples=30)
@given(a=quad, b=quad, data=st.binary(max_size=120))
def test_small_functions_of_the_kernel(ia64_kernel: Routines, a: int, b: int, data: bytes) -> None:
    ia64_kernel.memory.write(A, data)
    assert ia64_kernel.run("gcd", a, b)[0] == math.gcd(a, b)
    assert ia64_kernel.run("int_sqrt", a)[0] == math.isqrt(a)
    crc, _ = ia64_kernel.run("crc32_le_base", BITS >> 32, A, len(data))
    assert crc & BITS >> 32 == zlib.crc32(data) ^ BITS >> 32
    padded = data + bytes(len(data) % 2)
    total = sum(struct.unpack(f"<{len(padded) // 2}H", padded))
    assert (ia64_kernel.run("do_csum", A, len(data))[0] - total) % 0xFFFF == 0


def inflated(policy: Policy, compressed: bytes, size: int) -> Iterator[bytes | int]:
    """What the kernel's inflate makes of a stream, and how many checks went to recovery code."""
    kernel = Routines("ia64-vmlinux", policy)
    stream, output, workspace = B + 0x8000, A + 0x20000, A
    kernel.memory.write(B, compressed)
    fields = (B, len(compressed), 0, output, size, 0, 0, 0, workspace, 0, 0, 0)
    kernel.memory.write(stream, struct.pack("<12Q", *fields))
    assert kernel.run("zlib_inflateInit2", stream, 15)[0] == 0
    result, trace = kernel.run("zlib_inflate", stream, 4)
    assert result == 1  # Z_STREAM_END
    checks = [step for step in trace if step.insn.name.startswith("chk.a") and step.on]
    assert checks
    yield kernel.memory.read(output, size)
    yield sum(step.target is not None for step in checks)


def test_inflate_is_right_whatever_the_alat_forgets() -> None:
    """gcc's advanced loads, checks and recovery code, with every outcome of an entry."""
    text = b"It was the best of times, it was the worst of times. " * 20 + bytes(range(256))
    compressed = zlib.compress(text, 9)
    kept, dropped, some = (
        tuple(inflated(policy, compressed, len(text)))
        for policy in (KeepAll(), DropAll(), Seeded(1))
    )
    assert (kept[0], dropped[0], some[0]) == (text, text, text)
    assert kept[1] == 0
    assert isinstance(dropped[1], int)
    assert isinstance(some[1], int)
    assert 0 < some[1] < dropped[1]
