"""Numbers for what the other files leave open, where something is to be run.

Quotients are those of the architecture.  What it leaves undefined is 0, but for a quotient that
does not exist, which is the dividend: any number would do, and these are an emulator's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

_UNDEFINED = " undefined"
_OVERFLOW = ", overflow"


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def _unsigned(value: int, bits: int) -> int:
    return value & (1 << bits) - 1


def _divided(a: int, b: int) -> int:
    """The quotient, rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


Number = Callable[[int, int], int]


_REGISTER = (1 << 64) - 1


def _quotient(bits: int, number: Number, extended: bool) -> Callable[[int, int], tuple[int, bool]]:
    """A quotient, and whether it exists; an extended one has zeros below its dividend."""

    def divide(a: int, b: int) -> tuple[int, bool]:
        dividend, divisor = number(a, bits), number(b, bits)
        if extended:
            dividend <<= bits
        found = _divided(dividend, divisor) if divisor else None
        if found is None or number(found, bits) != found:
            return (0 if extended else a & (1 << bits) - 1), False
        return found if extended else found & (1 << bits) - 1, True

    return divide


def _rest(bits: int, number: Number) -> Callable[[int, int], tuple[int, bool]]:
    def divide(a: int, b: int) -> tuple[int, bool]:
        dividend, divisor = number(a, bits), number(b, bits)
        if not divisor:
            return 0, False
        return dividend - divisor * _divided(dividend, divisor), True

    return divide


_QUOTIENTS: Mapping[str, Callable[[int, int], tuple[int, bool]]] = MappingProxyType(
    {
        "divw": _quotient(32, _signed, False),
        "divwu": _quotient(32, _unsigned, False),
        "divwe": _quotient(32, _signed, True),
        "divweu": _quotient(32, _unsigned, True),
        "divd": _quotient(64, _signed, False),
        "divdu": _quotient(64, _unsigned, False),
        "divde": _quotient(64, _signed, True),
        "divdeu": _quotient(64, _unsigned, True),
        "modsw": _rest(32, _signed),
        "moduw": _rest(32, _unsigned),
        "modsd": _rest(64, _signed),
        "modud": _rest(64, _unsigned),
    }
)


# Vectors: each part of a result has a name of its own and is given the parts of all sources.

_BYTES: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "vminub": min,
        "vmaxub": max,
        "vslb": lambda a, b: a << (b & 7) & 0xFF,
        "vsrb": lambda a, b: a >> (b & 7),
        "vaddubs": lambda a, b: min(a + b, 0xFF),
        "vsububs": lambda a, b: max(a - b, 0),
        "vcmpgtub": lambda a, b: 0xFF if a > b else 0,
    }
)


def _joined(parts: Sequence[int]) -> bytes:
    return b"".join(part.to_bytes(16 // len(parts), "big") for part in parts)


def _bytewise(name: str, *values: int) -> int:
    """A part of what is done to each byte of two vectors, whether a sum was cut, or CR6 of what
    a record form compares."""
    (base, part), parts = name.split(), len(values) // 2
    pairs = list(zip(_joined(values[:parts]), _joined(values[parts:]), strict=True))
    if part == "adds":
        return int(any(a < b if base == "vsububs" else a + b > 0xFF for a, b in pairs))
    found = bytes(_BYTES[base.removesuffix(".")](a, b) for a, b in pairs)
    number, size = int(part), 16 // parts
    if number == parts:
        return 8 * all(found) | 2 * (not any(found))
    return int.from_bytes(found[number * size :][:size], "big")


def _extracted(name: str, index: int, *vector: int) -> int:
    """VEXTUBLX and VEXTUBRX: the byte of a number, from the left or from the right."""
    place = index & 15
    return _joined(vector)[15 - place if name.startswith("vextubr") else place]


def _gathered(name: str, *values: int) -> int:
    """VBPERMQ: the bits of one vector that the bytes of another number, in doubleword 0."""
    parts = len(values) // 2
    bits = int.from_bytes(_joined(values[:parts]), "big")
    found = 0
    for number in _joined(values[parts:]):
        found = found << 1 | (bits >> 127 - number & 1 if number < 128 else 0)
    return found if name == f"vbpermq {parts // 2 - 1}" else 0


def _signs(name: str, *vector: int) -> int:
    """VEXTRACTBM: the highest bit of each byte, that of byte 0 first."""
    found = 0
    for byte in _joined(vector):
        found = found << 1 | byte >> 7
    return found


def _shifted(name: str, *values: int) -> int:
    """A part of VSL, VSLO, VSRO: one vector shifted by the lowest three bits of another, or by the
    four before them in bytes."""
    parts, base = len(values) // 2, name.split()[0]
    by = values[-1] & (7 if base == "vsl" else 0x78)
    whole = int.from_bytes(_joined(values[:parts]), "big")
    whole = whole >> by if base == "vsro" else whole << by
    width = 128 // parts
    return whole >> 128 - width - width * int(name.split()[1]) & (1 << width) - 1


def _added(name: str, *values: int) -> int:
    """A part of VADDUQM: the sum of two vectors as numbers."""
    parts = len(values) // 2
    one, other = (int.from_bytes(_joined(half), "big") for half in (values[:parts], values[parts:]))
    width = 128 // parts
    return one + other >> 128 - width - width * int(name.split()[1]) & (1 << width) - 1


def _across(name: str, *values: int) -> int:
    """A part of VSUMSWS, or whether it was cut: the words of one vector and the last of another."""
    (_, part), parts = name.split(), len(values) // 2
    words = _joined(values[:parts]), _joined(values[parts:])[12:]
    total = sum(_signed(word, 32) for half in words for (word,) in struct.iter_unpack(">I", half))
    cut = max(-(1 << 31), min(total, (1 << 31) - 1))
    if part == "adds":
        return int(cut != total)
    return _unsigned(cut, 32) if int(part) == parts - 1 else 0


def _population(size: int) -> Callable[..., int]:
    """A part of VPOPCNTH and its like: the bits that are set in elements of so many bytes."""

    def count(name: str, *values: int) -> int:
        bits, width = 8 * size, 128 // len(values)
        whole, ones = int.from_bytes(_joined(values), "big"), (1 << bits) - 1
        counts = sum((whole >> low & ones).bit_count() << low for low in range(0, 128, bits))
        return counts >> 128 - width - width * int(name.split()[1]) & (1 << width) - 1

    return count


_VECTORS: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        **dict.fromkeys((*_BYTES, "vcmpgtub."), _bytewise),
        **dict.fromkeys(("vextublx", "vextubrx"), _extracted),
        "vbpermq": _gathered,
        "vextractbm": _signs,
        **dict.fromkeys(("vsl", "vslo", "vsro"), _shifted),
        "vadduqm": _added,
        "vsumsws": _across,
        "vpopcntb": _population(1),
        "vpopcnth": _population(2),
        "vpopcntw": _population(4),
        "vpopcntd": _population(8),
    }
)


def answer(name: str, *values: int) -> int | None:
    """What an opaque operation gives, in 64 bits; None where nothing is known of it."""
    if _UNDEFINED in name:
        return 0
    base = name.split()[0]
    if base in _VECTORS:
        return _VECTORS[base](name, *values)
    divide = _QUOTIENTS.get(name.removesuffix(_OVERFLOW))
    if divide is None:
        return None
    quotient, exists = divide(*values)
    return int(not exists) if name.endswith(_OVERFLOW) else quotient & _REGISTER
