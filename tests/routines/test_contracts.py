"""The reference models against facts that Python knows, and the cases against the arena."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.contracts import CONTRACTS
from rewriter.contracts.checksum import fold
from rewriter.contracts.contract import MASK64, Arena, Contract, Piece, Result, View, widen
from rewriter.contracts.divide import quotient, remainder
from rewriter.contracts.place import without
from rewriter.core.readings.machine import ByteOrder

ARENA = Arena(0x10000000, 0x2000, 64)
AT = 0x1000
ORDERS = st.sampled_from(("little", "big"))


def _view(*parts: bytes, order: ByteOrder = "little") -> View:
    return View([Piece(AT * (n + 1), part) for n, part in enumerate(parts)], order)


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_case_lies_in_the_arena_and_its_model_stays_inside(name: str) -> None:
    contract = CONTRACTS[name]
    for _, point in islice(contract.points(), 0, None, 97):
        _check(contract, point)
    for _, point in contract.few():
        _check(contract, point)


def _check(contract: Contract, point: dict[str, int]) -> None:
    case = contract.case(ARENA, point)
    rooms = [(ARENA.start(n), ARENA.end(n)) for n in range(ARENA.rooms)]
    for piece in case.pieces:
        assert piece.address % 8 == 0 and piece.end % 8 == 0, point
        assert any(low <= piece.address and piece.end <= high for low, high in rooms), point
    assert all(0 <= value <= MASK64 for value in case.arguments), point
    assert len(case.arguments) == len(contract.kinds)
    view = View(case.pieces, "little")
    result = contract.model(view, *case.arguments)
    is_open = contract.linkage == "divide" and "divisor" not in point
    assert result is not None or contract.result is Result.NOTHING or is_open
    assert result is None or contract.result is not Result.NOTHING
    untouched = View(case.pieces, "little")
    for low, high in view.written:
        untouched.write(low, view.read(low, high - low))
    assert untouched.after() == view.after(), "the model changed what it did not say"


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_smallest_cases_come_first(name: str) -> None:
    contract = CONTRACTS[name]
    sizes = [contract.case(ARENA, point).size for _, point in contract.few()]
    assert sizes and sizes[0] <= max(sizes)


@given(
    st.binary(min_size=1, max_size=60), st.integers(0, 59), st.integers(0, 59), st.integers(0, 60)
)
def test_memmove_is_slice_assignment(data: bytes, to: int, source: int, count: int) -> None:
    count = max(0, min(count, len(data) - to, len(data) - source))
    view = _view(data)
    if count:
        assert CONTRACTS["memmove"].model(view, AT + to, AT + source, count) == AT + to
        want = bytearray(data)
        want[to : to + count] = data[source : source + count]
        assert view.after() == (bytes(want),)


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 60))
def test_strings_are_what_c_says(one: bytes, two: bytes, limit: int) -> None:
    one, two = without(one, 0), without(two, 0)
    room = one + b"\0" + bytes(range(1, 201))
    cut = two[:limit]

    def after(name: str, *more: int) -> tuple[int | None, bytes]:
        view = _view(room, two + b"\0")
        result = CONTRACTS[name].model(view, AT, 2 * AT, *more)
        return result, view.after()[0]

    tail = room[len(two) + 1 :]
    assert after("strcpy") == (AT, two + b"\0" + tail)
    assert after("stpcpy") == (AT + len(two), two + b"\0" + tail)
    assert after("strncpy", limit) == (AT, cut.ljust(limit, b"\0") + room[limit:])
    joined = one + two + b"\0"
    assert after("strcat") == (AT, joined + room[len(joined) :])
    joined = one + cut + b"\0"
    assert after("strncat", limit) == (AT, joined + room[len(joined) :])
    for name, a, b in (("strcmp", one, two), ("strncmp", one[:limit], cut)):
        more = (limit,) if name == "strncmp" else ()
        got = CONTRACTS[name].model(_view(one + b"\0", two + b"\0"), AT, 2 * AT, *more)
        assert got == (a > b) - (a < b)


@given(st.binary(max_size=40), st.integers(-300, 300), st.integers(0, 50))
def test_searches_are_pythons(data: bytes, byte: int, limit: int) -> None:
    text, needle = without(data, 0) + b"\0", bytes((byte & 0xFF,))
    view = _view(text)

    def call(name: str, *more: int) -> int | None:
        return CONTRACTS[name].model(view, AT, *more)

    assert call("strlen") == len(text) - 1
    assert call("strnlen", limit) == min(limit, len(text) - 1)
    found, last = text.find(needle), text.rfind(needle)
    assert call("strchr", byte) == (AT + found if found >= 0 else 0)
    assert call("strrchr", byte) == (AT + last if last >= 0 else 0)
    near = text[:limit].find(needle)
    if limit <= len(text) or near >= 0:
        assert call("memchr", byte, limit) == (AT + near if near >= 0 else 0)
        assert near < 0 or call("memchr", byte, MASK64) == call("rawmemchr", byte) == AT + near


@given(st.integers(0, MASK64), st.integers(0, MASK64))
def test_division_undoes_multiplication(a: int, b: int) -> None:
    x, y = (v - (1 << 64) if v >> 63 else v for v in (a, b))
    if b:
        assert quotient(x, y) * y + remainder(x, y) == x
        assert abs(remainder(x, y)) < abs(y) and remainder(x, y) * x >= 0
        view = View([], "little")
        assert CONTRACTS["divqu"].model(view, a, b) == a // b
        assert CONTRACTS["remqu"].model(view, a, b) == a % b
    if b & 0xFFFFFFFF:
        low, by = a & 0xFFFFFFFF, b & 0xFFFFFFFF
        assert CONTRACTS["divlu"].model(View([], "little"), widen(a), widen(b)) == widen(low // by)


@given(st.integers(1, MASK64), st.integers(0, MASK64), st.integers(0, MASK64), ORDERS)
def test_a_wide_division_undoes_multiplication(
    divisor: int, high: int, low: int, order: ByteOrder
) -> None:
    view, dividend = _view(bytes(8), order=order), (high % divisor) << 64 | low
    got = CONTRACTS["udiv_qrnnd"].model(view, AT, high % divisor, low, divisor)
    rest = int.from_bytes(view.after()[0], order)
    assert got is not None and 0 <= got <= MASK64 and rest < divisor
    assert got * divisor + rest == dividend


_LIMBS = st.lists(st.integers(0, MASK64), min_size=1, max_size=9)


def _stored(number: list[int], order: ByteOrder) -> bytes:
    return b"".join(limb.to_bytes(8, order) for limb in number)


@given(_LIMBS, st.integers(0, MASK64), ORDERS)
def test_what_is_added_can_be_taken_away(number: list[int], by: int, order: ByteOrder) -> None:
    """A product is a sum with zero, and the number times a limb once more is taken from it."""
    limbs, data = len(number), _stored(number, order)
    product, total = _view(bytes(len(data)), data, order=order), _view(data, data, order=order)
    high = CONTRACTS["mpn_mul_1"].model(product, AT, 2 * AT, limbs, by)
    assert high == CONTRACTS["mpn_addmul_1"].model(
        same := _view(bytes(len(data)), data, order=order), AT, 2 * AT, limbs, by
    )
    assert product.after() == same.after()
    out = CONTRACTS["mpn_addmul_1"].model(total, AT, 2 * AT, limbs, by)
    assert out == CONTRACTS["mpn_submul_1"].model(total, AT, 2 * AT, limbs, by)
    assert total.after()[0] == data


@given(_LIMBS, ORDERS)
def test_a_sum_less_one_number_is_the_other(number: list[int], order: ByteOrder) -> None:
    limbs, data = len(number), _stored(number, order)
    other = _stored(number[::-1], order)
    view = _view(bytes(len(data)), data, other, order=order)
    carry = CONTRACTS["mpn_add_n"].model(view, AT, 2 * AT, 3 * AT, limbs)
    assert carry == CONTRACTS["mpn_sub_n"].model(view, AT, AT, 3 * AT, limbs)
    assert view.after()[0] == data


@given(st.binary(max_size=60), st.integers(0, 0xFFFFFFFF), ORDERS)
def test_the_checksum_is_the_ones_complement_sum(data: bytes, start: int, order: ByteOrder) -> None:
    padded = data + bytes(len(data) % 2)
    words = [int.from_bytes(padded[n : n + 2], order) for n in range(0, len(padded), 2)]
    view = _view(data or b"\0", order=order)
    got = CONTRACTS["csum_partial"].model(view, AT, len(data), widen(start))
    assert got is not None and got % 0xFFFF == (sum(words) + start) % 0xFFFF
    assert (got == 0) == (not any(words) and start == 0)


def test_the_pseudo_header_of_ipv6_has_one_sum_in_either_order() -> None:
    """RFC 1071, 2 (B): sums of swapped words are the swapped sum."""
    one, two = bytes(range(16)), bytes(range(100, 116))
    model, rest = CONTRACTS["csum_ipv6_magic"].model, (AT, 2 * AT, 0x10203, 58, 0)
    orders: tuple[ByteOrder, ...] = ("little", "big")
    sums = [model(_view(one, two, order=order), *rest) for order in orders]
    data = one + two + (0x10203).to_bytes(4, "big") + (58).to_bytes(4, "big")
    words = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    assert sums[1] == 0xFFFF - (words % 0xFFFF or 0xFFFF)
    assert sums[0] == (sums[1] >> 8 | (sums[1] & 0xFF) << 8)


def test_fold_adds_carries_at_the_low_end() -> None:
    assert [fold(v) for v in (0, 0xFFFF, 0x10000, 0x1FFFE, 0xFFFFFFFF)] == [
        0,
        0xFFFF,
        1,
        0xFFFF,
        0xFFFF,
    ]


def test_ffs_knows_the_c_library() -> None:
    values = {0: 0, 1: 1, 6: 2, 1 << 31: 32, 1 << 63: 64}
    for value, number in values.items():
        assert CONTRACTS["ffsll"].model(View([], "little"), value) == number
    assert CONTRACTS["ffs"].model(View([], "little"), 1 << 32) == 0
    assert CONTRACTS["ffs"].model(View([], "little"), widen(1 << 31)) == 32


def test_a_user_copy_does_what_is_accessible() -> None:
    contract = CONTRACTS["__copy_user"]
    view = _view(b"x" * 24, b"abcdefgh")
    assert contract.model(view, AT, 2 * AT, 20) == 12
    assert view.after()[0] == b"abcdefgh" + b"x" * 16
    assert contract.model(view, AT, 3 * AT, 20) == 20


def test_a_model_may_not_leave_its_case() -> None:
    with pytest.raises(IndexError, match="outside the case"):
        CONTRACTS["memcpy"].model(_view(b"x" * 8), AT, AT + 4, 8)
