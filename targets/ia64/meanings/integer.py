"""Integer arithmetic, logic, shifts and bit fields (SDM vol. 3, 2.2).

Functions of the sources in the order of the text: registers without a sign, immediates with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from targets.ia64.meanings.binding import computes

_WIDTH = 64
_ALL = (1 << _WIDTH) - 1


def signed(value: int, bits: int = _WIDTH) -> int:
    """The low `bits` bits as a number with a sign."""
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def _pointer(value: int, base: int) -> int:
    """A 32-bit address made one of 64 bits: bits 31:30 of the base go to 62:61."""
    return value & 0xFFFF_FFFF | (base >> 30 & 3) << 61


def _shift_left(value: int, count: int) -> int:
    return value << count if count < _WIDTH else 0


def _shift_right(value: int, count: int) -> int:
    return signed(value) >> min(count, _WIDTH - 1)


def _extract(value: int, position: int, length: int) -> int:
    """A field with a sign; what reaches above bit 63 is cut off."""
    return signed(value >> position, min(length, _WIDTH - position))


def _extract_unsigned(value: int, position: int, length: int) -> int:
    return value >> position & (1 << length) - 1


def _deposit_in_zero(value: int, position: int, length: int) -> int:
    return (value & (1 << length) - 1) << position


def _deposit(value: int, base: int, position: int, length: int) -> int:
    mask = ((1 << length) - 1) << position & _ALL
    return base & ~mask | value << position & mask


def _leading_zeros(value: int) -> int:
    return _WIDTH - value.bit_length()


def _zero_lane(lane: int, from_left: bool) -> Callable[[int], int]:
    """The index of the first lane that is zero; how many there are if none is."""
    count = _WIDTH // lane

    def function(value: int) -> int:
        for index in range(count):
            shift = (count - 1 - index if from_left else index) * lane
            if not value >> shift & (1 << lane) - 1:
                return index
        return count

    return function


_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "add {r1}={r2},{r3},1": lambda a, b: a + b + 1,
    "adds": lambda a, b: a + b,
    "addl": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "sub {r1}={r2},{r3},1": lambda a, b: a - b - 1,
    "addp4": lambda a, b: _pointer(a + b, b),
    "shladd": lambda a, count, b: (a << count) + b,
    "shladdp4": lambda a, count, b: _pointer((a << count) + b, b),
    "and": lambda a, b: a & b,
    "andcm": lambda a, b: a & ~b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "movl": lambda value: value,
    "shl": _shift_left,
    "shr": _shift_right,
    "shr.u": lambda value, count: value >> min(count, _WIDTH),
    "shrp": lambda high, low, count: (high << _WIDTH | low) >> count,
    "extr": _extract,
    "extr.u": _extract_unsigned,
    "dep.z": _deposit_in_zero,
    "dep": _deposit,
    "zxt1": lambda value: value & 0xFF,
    "zxt2": lambda value: value & 0xFFFF,
    "zxt4": lambda value: value & 0xFFFF_FFFF,
    "sxt1": lambda value: signed(value, 8),
    "sxt2": lambda value: signed(value, 16),
    "sxt4": lambda value: signed(value, 32),
    "czx1.l": _zero_lane(8, from_left=True),
    "czx2.l": _zero_lane(16, from_left=True),
    "czx1.r": _zero_lane(8, from_left=False),
    "czx2.r": _zero_lane(16, from_left=False),
    "popcnt": int.bit_count,
    "clz": _leading_zeros,
    "mpy4": lambda a, b: (a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF),
    "mpyshl4": lambda a, b: (a >> 32) * (b & 0xFFFF_FFFF) << 32,
}

MEANINGS = {name: computes(function) for name, function in _FUNCTIONS.items()}
