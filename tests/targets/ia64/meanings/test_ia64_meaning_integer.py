"""Integer and multimedia operations against NumPy's lanes, and against strings of bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.registers import GR
from tests.targets.ia64.meanings.ia64_single import P1, P2, computed, machine, run

BITS = (1 << 64) - 1
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 1 << 63, BITS)
lane = st.sampled_from((0, 1, 0x7F, 0x80, 0x81, 0xFF)) | st.integers(0, 255)
quad = st.lists(lane, min_size=8, max_size=8).map(lambda b: int.from_bytes(bytes(b), "little"))
quad = quad | st.sampled_from(EDGES) | st.integers(0, BITS)

Lanes = NDArray[np.int64]
Function = Callable[[Lanes, Lanes], Lanes]


def split(value: int, size: int, signed: bool) -> Lanes:
    """Lanes of a register, the lowest first."""
    data = value.to_bytes(8, "little")
    return np.frombuffer(data, dtype=f"<{'i' if signed else 'u'}{size}").astype(np.int64)


def join(values: Lanes, size: int) -> int:
    """A register of lanes, each cut to its size."""
    cut = (values & (1 << 8 * size) - 1).astype(f"<u{size}")
    return int.from_bytes(cut.tobytes(), "little")


def clip(size: int, signed: bool, values: Lanes) -> Lanes:
    low, high = (
        (-1 << 8 * size - 1, (1 << 8 * size - 1) - 1) if signed else (0, (1 << 8 * size) - 1)
    )
    return np.clip(values, low, high)


# Name, size of a lane, signs of the operands and of a saturated result (None: it wraps).
SUMS = [
    (f"{name}{size}{suffix}", size, signs)
    for name in ("padd", "psub")
    for size in (1, 2, 4)
    for suffix, signs in (
        ("", (False, False, None)),
        (".sss", (True, True, True)),
        (".uuu", (False, False, False)),
        (".uus", (False, True, False)),
    )
    if size < 4 or not suffix
]


@pytest.mark.parametrize(("name", "size", "signs"), SUMS, ids=lambda value: str(value))
@settings(max_examples=12)
@given(a=quad, b=quad)
def test_sums(name: str, size: int, signs: tuple[bool, bool, bool | None], a: int, b: int) -> None:
    left, right = split(a, size, signs[0]), split(b, size, signs[1])
    result = left + right if name.startswith("padd") else left - right
    if signs[2] is not None:
        result = clip(size, signs[2], result)
    assert computed(name, a, b) == join(result, size)


EACH: dict[str, tuple[int, bool, Function]] = {
    "pcmp1.eq": (1, True, lambda a, b: -(a == b).astype(np.int64)),
    "pcmp2.gt": (2, True, lambda a, b: -(a > b).astype(np.int64)),
    "pcmp4.gt": (4, True, lambda a, b: -(a > b).astype(np.int64)),
    "pmin1.u": (1, False, np.minimum),
    "pmax1.u": (1, False, np.maximum),
    "pmin2": (2, True, np.minimum),
    "pmax2": (2, True, np.maximum),
    # The half of an odd sum: rounded away from zero, or its lowest bit set.
    "pavg1.raz": (1, False, lambda a, b: (a + b + 1) // 2),
    "pavg2.raz": (2, False, lambda a, b: (a + b + 1) // 2),
    "pavg1": (1, False, lambda a, b: (a + b) // 2 | (a + b) % 2),
    "pavg2": (2, False, lambda a, b: (a + b) // 2 | (a + b) % 2),
    "pavgsub1": (1, False, lambda a, b: (a - b) // 2 | (a - b) % 2),
    "pavgsub2": (2, False, lambda a, b: (a - b) // 2 | (a - b) % 2),
}


@pytest.mark.parametrize("name", EACH)
@settings(max_examples=12)
@given(a=quad, b=quad)
def test_lane_by_lane(name: str, a: int, b: int) -> None:
    size, signed, function = EACH[name]
    expected = function(split(a, size, signed), split(b, size, signed))
    assert computed(name, a, b) == join(expected, size)


@settings(max_examples=25)
@given(a=quad, b=quad, count=st.integers(1, 3))
def test_shift_and_add(a: int, b: int, count: int) -> None:
    x, y = split(a, 2, True), split(b, 2, True)
    shifted = x << count
    sums = clip(2, True, shifted + y)
    expected = np.where(clip(2, True, shifted) == shifted, sums, clip(2, True, shifted))
    assert computed("pshladd2", a, b, count2=count) == join(expected, 2)
    expected = clip(2, True, (x >> count) + y)
    assert computed("pshradd2", a, b, count2=count) == join(expected, 2)


@settings(max_examples=25)
@given(a=quad, b=quad, count=st.sampled_from((0, 7, 15, 16)))
def test_products(a: int, b: int, count: int) -> None:
    for name, signed in (("pmpyshr2", True), ("pmpyshr2.u", False)):
        products = split(a, 2, signed) * split(b, 2, signed) >> count
        assert computed(name, a, b, count=count) == join(products, 2)
    products = split(a, 2, True) * split(b, 2, True)
    assert computed("pmpy2.r", a, b) == join(products[::2], 4)
    assert computed("pmpy2.l", a, b) == join(products[1::2], 4)
    assert computed("psad1", a, b) == int(np.abs(split(a, 1, False) - split(b, 1, False)).sum())
    assert computed("mpy4", a, b) == a % (1 << 32) * (b % (1 << 32))
    assert computed("mpyshl4", a, b) == (a >> 32) * (b % (1 << 32)) * (1 << 32) % (1 << 64)


# The manual's figures, as byte numbers of r2 (upper case: r3's), most significant first.
LAYOUTS = {
    "mix1.l": "h H f F d D b B",
    "mix1.r": "g G e E c C a A",
    "mix2.l": "hg HG dc DC",
    "mix2.r": "fe FE ba BA",
    "mix4.l": "hgfe HGFE",
    "mix4.r": "dcba DCBA",
    "unpack1.h": "h H g G f F e E",
    "unpack1.l": "d D c C b B a A",
    "unpack2.h": "hg HG fe FE",
    "unpack2.l": "dc DC ba BA",
    "unpack4.h": "hgfe HGFE",
    "unpack4.l": "dcba DCBA",
}
MUX1 = {0: "aaaaaaaa", 8: "hdfbgcea", 9: "hdgcfbea", 10: "hfdbgeca", 11: "abcdefgh"}


def laid_out(layout: str, a: int, b: int) -> int:
    left, right = a.to_bytes(8, "little"), b.to_bytes(8, "little")
    picked = [
        right[ord(c) - ord("A")] if c.isupper() else left[ord(c) - ord("a")]
        for c in layout.replace(" ", "")
    ]
    return int.from_bytes(bytes(picked), "big")


@settings(max_examples=15)
@given(a=quad, b=quad, code=st.integers(0, 255))
def test_arrangements(a: int, b: int, code: int) -> None:
    for name, layout in LAYOUTS.items():
        assert computed(name, a, b) == laid_out(layout, a, b), name
    for kind, layout in MUX1.items():
        assert computed("mux1", a, mbtype4=kind) == laid_out(layout, a, 0), kind
    words = split(a, 2, False)
    expected = np.array([words[code >> shift & 3] for shift in (0, 2, 4, 6)])
    assert computed("mux2", a, mhtype8=code) == join(expected, 2)


PACKS = (("pack2.sss", 2, True), ("pack2.uss", 2, False), ("pack4.sss", 4, True))


@settings(max_examples=25)
@given(a=quad, b=quad)
def test_packing_saturates(a: int, b: int) -> None:
    for name, size, signed in (
        ("pack2.sss", 2, True),
        ("pack2.uss", 2, False),
        ("pack4.sss", 4, True),
    ):
        wide = np.concatenate((split(a, size, True), split(b, size, True)))
        assert computed(name, a, b) == join(clip(size // 2, signed, wide), size // 2), name


count = st.integers(0, 70) | quad


@settings(max_examples=30)
@given(a=quad, count=count)
def test_shifts_by_a_register(a: int, count: int) -> None:
    some = min(count, 64)
    signed = a - (a >> 63 << 64)
    assert computed("shl", a, count) == (a << some) % (1 << 64)
    assert computed("shr", count, a) == (signed >> some) % (1 << 64)
    assert computed("shr.u", count, a) == a >> some
    for size in (2, 4):
        lanes, unsigned = split(a, size, True), split(a, size, False)
        few = min(count, 8 * size)
        assert computed(f"pshl{size}", a, count) == join(lanes << few, size)
        assert computed(f"pshr{size}", count, a, "{r3},{r2}") == join(lanes >> few, size)
        assert computed(f"pshr{size}.u", count, a, "{r3},{r2}") == join(unsigned >> few, size)


@settings(max_examples=30)
@given(a=quad, count5=st.integers(0, 31))
def test_lane_shifts_by_a_constant(a: int, count5: int) -> None:
    for size in (2, 4):
        few = min(count5, 8 * size)
        lanes, unsigned = split(a, size, True), split(a, size, False)
        text = "{r3},{count5}"
        assert computed(f"pshr{size}", 0, a, text, count5=count5) == join(lanes >> few, size)
        assert computed(f"pshr{size}.u", 0, a, text, count5=count5) == join(unsigned >> few, size)
        found = computed(f"pshl{size}", a, 0, "{r2},{count5}", count5=count5)
        assert found == join(lanes << few, size)


def bits_of(value: int) -> str:
    """64 digits, bit 63 first."""
    return f"{value:064b}"


@settings(max_examples=40)
@given(a=quad, b=quad, pos=st.integers(0, 63), length=st.integers(1, 64))
def test_fields_are_substrings(a: int, b: int, pos: int, length: int) -> None:
    text = bits_of(b)[: 64 - pos][-length:]
    assert computed("extr.u", 0, b, pos6=pos, len6=length) == int(text, 2)
    assert computed("extr", 0, b, pos6=pos, len6=length) == int(text.rjust(64, text[0]), 2)
    inside = min(length, 64 - pos)
    placed = bits_of(a)[64 - inside :] + "0" * pos
    assert computed("dep.z", a, text="{r2},{pos6},{len6}", pos6=pos, len6=length) == int(placed, 2)
    kept = bits_of(b)
    for bit, digit in ((0, "0"), (-1, "1")):
        expected = kept[: 64 - pos - inside] + digit * inside + kept[64 - pos :]
        found = computed("dep", 0, b, "{pos6},{len6}", imm1=bit, pos6=pos, len6=length)
        assert found == int(expected, 2)
    short = min(inside, 16)
    expected = kept[: 64 - pos - short] + bits_of(a)[64 - short :] + kept[64 - pos :]
    assert computed("dep", a, b, "{len4}", pos6=pos, len4=short) == int(expected, 2)
    assert computed("shrp", a, b, count6=pos) == int((bits_of(a) + kept)[64 - pos : 128 - pos], 2)


@settings(max_examples=30)
@given(a=quad, b=quad, imm=st.integers(-128, 127), shift=st.integers(1, 4))
def test_arithmetic(a: int, b: int, imm: int, shift: int) -> None:
    x, y = np.uint64(a), np.uint64(b)
    with np.errstate(over="ignore"):
        expected = expected_sums(x, y, np.uint64(imm % (1 << 64)), np.uint64(shift))
    for (name, text), value in expected.items():
        found = computed(name, a, b, text, imm8=imm, imm14=imm, count2=shift)
        assert found == int(value), (name, text)


def expected_sums(
    x: np.uint64, y: np.uint64, imm: np.uint64, shift: np.uint64
) -> dict[tuple[str, str], np.uint64]:
    return {
        ("add", "{r2},{r3}"): x + y,
        ("add", "{r3},1"): x + y + np.uint64(1),
        ("sub", "{r2},{r3}"): x - y,
        ("sub", "{r3},1"): x - y - np.uint64(1),
        ("sub", "{imm8},{r3}"): imm - y,
        ("and", "{r2},{r3}"): x & y,
        ("andcm", "{r2},{r3}"): x & ~y,
        ("andcm", "{imm8},{r3}"): imm & ~y,
        ("or", "{r2},{r3}"): x | y,
        ("xor", "{imm8},{r3}"): imm ^ y,
        ("adds", ""): imm + y,
        ("shladd", ""): (x << shift) + y,
    }


@settings(max_examples=30)
@given(a=quad, b=quad)
def test_pointers_of_32_bits(a: int, b: int) -> None:
    """Bits 31:0 of the sum; bits 31:30 of the base in 62:61; all others clear."""
    total = bits_of((a + b) % (1 << 64))[32:]
    region = bits_of(b)[32:34]
    assert computed("addp4", a, b, "{r2},{r3}") == int("0" + region + "0" * 29 + total, 2)


@settings(max_examples=30)
@given(value=quad)
def test_bytes_and_bits_are_found(value: int) -> None:
    data, words = value.to_bytes(8, "big"), split(value, 2, False).tolist()
    assert computed("czx1.l", 0, value) == (data.find(0) if 0 in data else 8)
    assert computed("czx1.r", 0, value) == (data[::-1].find(0) if 0 in data else 8)
    assert computed("czx2.r", 0, value) == (words.index(0) if 0 in words else 4)
    assert computed("czx2.l", 0, value) == (words[::-1].index(0) if 0 in words else 4)
    assert computed("popcnt", 0, value) == bin(value).count("1")
    assert computed("clz", 0, value) == len(bits_of(value)) - len(bits_of(value).lstrip("0"))
    for size in (1, 2, 4):
        low = value.to_bytes(8, "little")[:size]
        assert computed(f"zxt{size}", 0, value) == int.from_bytes(low, "little")
        signed = int.from_bytes(low, "little", signed=True)
        assert computed(f"sxt{size}", 0, value) == signed % (1 << 64)


# What the manual's tables say the targets become, of: relation holds; not; not, or unknown (NaT).
TYPES = {
    "": ((1, 0), (0, 1), (0, 0)),
    ".unc": ((1, 0), (0, 1), (0, 0)),
    ".and": (None, (0, 0), (0, 0)),
    ".or": ((1, 1), None, None),
    ".or.andcm": ((1, 0), None, None),
}
RELATIONS: dict[str, Callable[[np.generic, np.generic], bool]] = {
    "eq": lambda a, b: bool(a == b),
    "ne": lambda a, b: bool(a != b),
    "lt": lambda a, b: bool(a < b),
    "le": lambda a, b: bool(a <= b),
    "gt": lambda a, b: bool(a > b),
    "ge": lambda a, b: bool(a >= b),
    "ltu": lambda a, b: bool(a < b),
}
COMPARES = sorted({op.name for op in TABLE if op.name.startswith("cmp") and "." in op.name[:5]})


def targets_of(name: str, a: int, b: int, nat: int, before: int) -> tuple[int, int]:
    state = machine()
    state.put(GR + 9, a)
    state.put(GR + 10, b, nat)
    state.r[P1] = state.r[P2] = before
    run(state, name)
    return state.r[P1], state.r[P2]


@pytest.mark.parametrize("name", [n for n in COMPARES if not n.startswith("cmpxchg")])
@settings(max_examples=8)
@given(a=quad, b=quad, before=st.integers(0, 1), same=st.booleans())
def test_compares(name: str, a: int, b: int, before: int, same: bool) -> None:
    kind, relation, *rest = name.split(".")
    a = b if same else a
    zero = relation in ("gt", "ge", "le") or (relation == "lt" and rest not in ([], ["unc"]))
    dtype = f"{'u' if relation == 'ltu' else ''}int{32 if kind == 'cmp4' else 64}"
    left, right = (np.array([v], dtype=np.uint64).view(dtype)[0] for v in (0 if zero else a, b))
    outcomes = TYPES["." + ".".join(rest) if rest else ""]
    expected = outcomes[0 if RELATIONS[relation](left, right) else 1] or (before, before)
    assert targets_of(name, a, b, 0, before) == expected
    assert targets_of(name, a, b, 1, before) == (outcomes[2] or (before, before))


@settings(max_examples=20)
@given(value=quad, pos=st.integers(0, 63), nat=st.integers(0, 1), before=st.integers(0, 1))
def test_tests_of_a_bit(value: int, pos: int, nat: int, before: int) -> None:
    for suffix, outcomes in TYPES.items():
        for letter in (".z", ".nz")[: 1 if suffix in ("", ".unc") else 2]:
            state = machine()
            state.put(GR + 10, value, nat)
            state.r[P1] = state.r[P2] = before
            holds = (bits_of(value)[63 - pos] == "0") == (letter == ".z")
            run(state, f"tbit{letter}{suffix}", pos6=pos)
            expected = outcomes[2 if nat else 0 if holds else 1] or (before, before)
            assert (state.r[P1], state.r[P2]) == expected
            state.r[P1] = state.r[P2] = before
            run(state, f"tnat{letter}{suffix}")
            expected = outcomes[0 if nat == (letter == ".nz") else 1] or (before, before)
            assert (state.r[P1], state.r[P2]) == expected


def test_one_predicate_cannot_take_both_results() -> None:
    with pytest.raises(IllegalOperation):
        run(machine(), "cmp.eq", p1=P1, p2=P1)
