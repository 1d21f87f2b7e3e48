"""Operations on the lanes of a general register (SDM vol. 3, padd to unpack).

A lane operation is a function of lanes as numbers, with or without a sign; the first lane is the
one of the lowest bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import lshift, rshift

from targets.ia64.meanings.binding import Meaning, computes
from targets.ia64.meanings.integer import signed

_WIDTH = 64


def lanes(value: int, size: int, is_signed: bool = False) -> list[int]:
    """The lanes of `size` bytes."""
    bits = 8 * size
    parts = [value >> shift & (1 << bits) - 1 for shift in range(0, _WIDTH, bits)]
    return [signed(part, bits) for part in parts] if is_signed else parts


def joined(parts: Sequence[int], size: int) -> int:
    """The register that has these lanes, cut to their size."""
    bits = 8 * size
    return sum((part & (1 << bits) - 1) << bits * index for index, part in enumerate(parts))


def _each(
    function: Callable[[int, int], int], size: int, left: bool = False, right: bool = False
) -> Callable[[int, int], int]:
    """Lane by lane; `left` and `right` say whether the sources have signs."""

    def both(a: int, b: int) -> int:
        pairs = zip(lanes(a, size, left), lanes(b, size, right), strict=True)
        return joined([function(x, y) for x, y in pairs], size)

    return both


def _clamped(value: int, size: int, is_signed: bool) -> int:
    bits = 8 * size
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return max(low, min(high, value))


# Completer: signs of the result, of the left and of the right source.
_SATURATIONS = {
    ".sss": (True, True, True),
    ".uuu": (False, False, False),
    ".uus": (False, False, True),
}


def _sums(size: int) -> Iterator[tuple[str, Callable[..., int]]]:
    for name, sign in (("padd", 1), ("psub", -1)):

        def wrapped(a: int, b: int, sign: int = sign) -> int:
            return a + sign * b

        yield f"{name}{size}", _each(wrapped, size)
        for completer, (result, left, right) in _SATURATIONS.items() if size < 4 else ():

            def saturated(a: int, b: int, sign: int = sign, result: bool = result) -> int:
                return _clamped(a + sign * b, size, result)

            yield f"{name}{size}{completer}", _each(saturated, size, left, right)


def _averages(size: int) -> Iterator[tuple[str, Callable[..., int]]]:
    yield f"pavg{size}", _each(lambda a, b: (a + b) >> 1 | (a + b) & 1, size)
    yield f"pavg{size}.raz", _each(lambda a, b: a + b + 1 >> 1, size)
    yield f"pavgsub{size}", _each(lambda a, b: a - b >> 1 | (a - b) & 1, size)


def _compares(size: int) -> Iterator[tuple[str, Callable[..., int]]]:
    yield f"pcmp{size}.eq", _each(lambda a, b: -(a == b), size)
    yield f"pcmp{size}.gt", _each(lambda a, b: -(a > b), size, True, True)


def _shifts(size: int) -> Iterator[tuple[str, Callable[..., int]]]:
    bits = 8 * size

    def left(value: int, count: int) -> int:
        return joined([x << min(count, bits) for x in lanes(value, size)], size)

    def right(value: int, count: int) -> int:
        return joined([x >> min(count, bits) for x in lanes(value, size, True)], size)

    def right_unsigned(value: int, count: int) -> int:
        return joined([x >> min(count, bits) for x in lanes(value, size)], size)

    yield f"pshl{size}", left
    yield f"pshr{size}", right
    yield f"pshr{size}.u", right_unsigned


def _arranged(size: int) -> Iterator[tuple[str, Callable[..., int]]]:
    """Lanes of two registers mixed: every other lane, or one half."""
    half = _WIDTH // 8 // size // 2

    def taken(a: Sequence[int], b: Sequence[int]) -> int:
        return joined([lane for pair in zip(b, a, strict=True) for lane in pair], size)

    yield f"mix{size}.r", lambda a, b: taken(lanes(a, size)[::2], lanes(b, size)[::2])
    yield f"mix{size}.l", lambda a, b: taken(lanes(a, size)[1::2], lanes(b, size)[1::2])
    yield f"unpack{size}.l", lambda a, b: taken(lanes(a, size)[:half], lanes(b, size)[:half])
    yield f"unpack{size}.h", lambda a, b: taken(lanes(a, size)[half:], lanes(b, size)[half:])


def _pack(size: int, is_signed: bool) -> Callable[[int, int], int]:
    """Lanes, signed, cut to half their size with saturation: a's below b's."""

    def function(a: int, b: int) -> int:
        parts = lanes(a, size, True) + lanes(b, size, True)
        return joined([_clamped(part, size // 2, is_signed) for part in parts], size // 2)

    return function


def _shift_add(shift: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    """pshladd2, pshradd2: a shift that overflows saturates, and nothing is added to that."""

    def function(a: int, count: int, b: int) -> int:
        sums = []
        for x, y in zip(lanes(a, 2, True), lanes(b, 2, True), strict=True):
            shifted = shift(x, count)
            fits = shifted == _clamped(shifted, 2, True)
            sums.append(_clamped(shifted + y if fits else shifted, 2, True))
        return joined(sums, 2)

    return function


def _multiply_shift(is_signed: bool) -> Callable[[int, int, int], int]:
    def function(a: int, b: int, count: int) -> int:
        pairs = zip(lanes(a, 2, is_signed), lanes(b, 2, is_signed), strict=True)
        return joined([x * y >> count for x, y in pairs], 2)

    return function


def _multiply_half(first: int) -> Callable[[int, int], int]:
    """Every other pair of lanes, their whole products."""

    def function(a: int, b: int) -> int:
        pairs = zip(lanes(a, 2, True)[first::2], lanes(b, 2, True)[first::2], strict=True)
        return joined([x * y for x, y in pairs], 4)

    return function


def _differences(a: int, b: int) -> int:
    return sum(abs(x - y) for x, y in zip(lanes(a, 1), lanes(b, 1), strict=True))


# The four-bit code of a permutation of bytes: result lane by lane, the source lane.
_PERMUTATIONS = {
    0x0: (0, 0, 0, 0, 0, 0, 0, 0),  # @brcst
    0x8: (0, 4, 2, 6, 1, 5, 3, 7),  # @mix
    0x9: (0, 4, 1, 5, 2, 6, 3, 7),  # @shuf
    0xA: (0, 2, 4, 6, 1, 3, 5, 7),  # @alt
    0xB: (7, 6, 5, 4, 3, 2, 1, 0),  # @rev
}


def _permute_bytes(value: int, code: int) -> int:
    source = lanes(value, 1)
    return joined([source[index] for index in _PERMUTATIONS[code]], 1)


def _permute_words(value: int, code: int) -> int:
    source = lanes(value, 2)
    return joined([source[code >> shift & 3] for shift in range(0, 8, 2)], 2)


def _functions() -> Iterator[tuple[str, Callable[..., int]]]:
    for size in (1, 2, 4):
        yield from (*_sums(size), *_compares(size), *_arranged(size))
    for size in (1, 2):
        yield from _averages(size)
    for size in (2, 4):
        yield from _shifts(size)
    others: dict[str, Callable[..., int]] = {
        "pshladd2": _shift_add(lshift),
        "pshradd2": _shift_add(rshift),
        "pmpyshr2": _multiply_shift(True),
        "pmpyshr2.u": _multiply_shift(False),
        "pmpy2.r": _multiply_half(0),
        "pmpy2.l": _multiply_half(1),
        "pack2.uss": _pack(2, False),
        "pack2.sss": _pack(2, True),
        "pack4.sss": _pack(4, True),
        "pmin1.u": _each(min, 1),
        "pmax1.u": _each(max, 1),
        "pmin2": _each(min, 2, True, True),
        "pmax2": _each(max, 2, True, True),
        "psad1": _differences,
        "mux1": _permute_bytes,
        "mux2": _permute_words,
    }
    yield from others.items()


MEANINGS: dict[str, Meaning] = {name: computes(function) for name, function in _functions()}
