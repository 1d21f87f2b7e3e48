"""A reader of docs/format.md, written from that page: the original of a patched file.

It uses nothing of the product, only what the page says, one thing after another.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import struct
import zlib
from collections.abc import Iterator

CONTEXTS = {2: (0, 0, 0), 3: (1, 2, 2)}
NOPS = (0x2FFE0000, 0x47FF041F)


def original_of(data: bytes) -> bytes:
    """The original of a little-endian 64-bit Alpha file that carries a manifest of format 4."""
    payload, bare = _note(data)
    assert payload[:4] == b"RTM4"
    assert hashlib.sha256(payload[36:]).digest() == payload[4:36]
    columns = _columns(payload[100:])
    document = json.loads(columns[0])
    whole = bare[: len(bare) - document["appended"]]
    old = _original(columns, whole)
    # The first digest tells whether that is the original.
    return old if hashlib.sha256(old).digest() == payload[36:68] else b""


def _note(data: bytes) -> tuple[bytes, bytes]:
    """The manifest, and the file without the note (names in place)."""
    e_shoff, e_shentsize, e_shnum, e_shstrndx = _header(data)
    offset, _ = struct.unpack_from("<QQ", data, e_shoff + (e_shnum - 1) * e_shentsize + 24)
    namesz, descsz, _ = struct.unpack_from("<3I", data, offset)
    start = offset + 12 + namesz + -namesz % 4
    fields = struct.unpack_from("<4s4QIII", data, start)
    magic, file_size, old_shoff, names, names_size, in_place, _, saved = fields
    assert magic == b"RTN1"
    assert in_place
    behind = data[start + 48 : start + 48 + saved]
    payload = data[start + 48 + saved + -saved % 4 : start + descsz]
    table = bytearray(data[e_shoff : e_shoff + (e_shnum - 1) * e_shentsize])
    struct.pack_into("<QQ", table, e_shstrndx * e_shentsize + 24, names, names_size)
    gap = old_shoff - names - names_size
    bare = bytearray(data[: names + names_size] + behind[:gap] + table + behind[gap:])
    struct.pack_into("<Q", bare, 40, old_shoff)
    struct.pack_into("<H", bare, 60, e_shnum - 1)
    assert len(bare) == file_size
    return payload, bytes(bare)


def _header(data: bytes) -> tuple[int, int, int, int]:
    (e_shoff,) = struct.unpack_from("<Q", data, 40)
    return (e_shoff, *struct.unpack_from("<3H", data, 58))


def _numbers(data: bytes) -> list[int]:
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def _signed(data: bytes) -> list[int]:
    return [number >> 1 ^ -(number & 1) for number in _numbers(data)]


def _columns(block: bytes) -> dict[int, bytes]:
    ends = [at for at, byte in enumerate(block) if byte < 128]
    count = _numbers(block[: ends[0] + 1])[0]
    at = ends[4 * count] + 1
    rows, found = _numbers(block[:at])[1:], {}
    for n in range(0, len(rows), 4):
        number, how, size, short = rows[n : n + 4]
        content = block[at : at + short]
        if how == 1:
            content = zlib.decompress(content, -15)
        elif how:
            lc, lp, pb = CONTEXTS[how]
            settings = {"id": lzma.FILTER_LZMA1, "dict_size": 1 << 23, "lc": lc, "lp": lp, "pb": pb}
            content = lzma.decompress(content, lzma.FORMAT_RAW, filters=[settings])
        assert len(content) == size
        found[number], at = content, at + short
    return found


def _spans(column: bytes, unit: int) -> Iterator[tuple[int, int]]:
    at, numbers = 0, iter(_numbers(column))
    for distance in numbers:
        start = at + distance * unit
        at = start + next(numbers) * unit
        yield start, at


def _original(columns: dict[int, bytes], new: bytes) -> bytes:
    got = [columns.get(number, b"") for number in range(13, 24)]
    spans, equal, gaps, named, spelled, targets, places, kept, *layout = got
    old = bytearray(new)
    where = [at for start, end in _spans(spans, 4) for at in range(start // 4, end // 4)]
    words = [struct.unpack_from("<I", new, 4 * at)[0] for at in where]
    told = _words(where, words, (equal, gaps, named, spelled, targets), layout)
    for at, word in zip(where, told, strict=True):
        struct.pack_into("<I", old, 4 * at, word)
    at = 0
    for start, end in _spans(places, 1):
        old[start:end] = kept[at : at + end - start]
        at += end - start
    return bytes(old)


def _words(
    where: list[int], words: list[int], script: tuple[bytes, ...], layout: list[bytes]
) -> list[int]:
    equal, gaps, named, spelled, targets = script
    new = [(at, word) for at, word in zip(where, words, strict=True) if word not in NOPS]
    partners = _partners(_numbers(equal), _numbers(gaps), iter(_numbers(named)))
    literal = iter(struct.unpack(f"<{len(spelled) // 4}I", spelled))
    values = [_cleared(new[p][1]) if p >= 0 else next(literal) for p in partners]
    positions, found = _placed(values, where, layout)
    first: dict[int, int] = {}
    for n, partner in enumerate(partners):
        if partner >= 0:
            first[partner] = n
    # For each new instruction the first old one whose partner is that one or behind it.
    reached, least = [len(values)] * (len(new) + 1), len(values)
    for at in range(len(new) - 1, -1, -1):
        least = min(least, first.get(at, least))
        reached[at] = least
    differences, inside = iter(_signed(targets)), set(where)
    for n, value in enumerate(values):
        if value >> 26 < 0x30:
            found[positions[n]] = value
            continue
        here = where[positions[n]]
        guess = here
        if partners[n] >= 0:
            at, word = new[partners[n]]
            guess = at + 1 + ((word & 0x1FFFFF ^ 0x100000) - 0x100000)
            if guess in inside:
                behind = next((k for k, (p, _) in enumerate(new) if p >= guess), len(new))
                old = reached[behind]
                guess = where[positions[old]] if old < len(values) else where[-1] + 1
        distance = guess + next(differences) - here - 1
        found[positions[n]] = value | distance & 0x1FFFFF
    return [word if word is not None else 0 for word in found]


def _cleared(word: int) -> int:
    return word & ~0x1FFFFF if word >> 26 >= 0x30 else word


def _partners(equal: list[int], gaps: list[int], named: Iterator[int]) -> list[int]:
    found: list[int] = []
    queue: list[int] = []
    at = 0
    for n, count in enumerate(equal):
        gap, passed = gaps[2 * n : 2 * n + 2]
        found += range(at, at + count)
        queue += range(at + count, at + count + passed)
        at += count + passed
        for _ in range(gap):
            name = next(named)
            found.append(queue.pop(name - 1) if name else -1)
        del queue[:-64]
    return found


def _placed(
    values: list[int], where: list[int], layout: list[bytes]
) -> tuple[list[int], list[int | None]]:
    counts, symbols, long = _numbers(layout[0]), layout[1], iter(_numbers(layout[2]))
    starts = [sum(counts[:n]) for n in range(len(counts))]
    majors = [64, *(value >> 26 for value in values), 64]
    positions: list[int] = []
    found: list[int | None] = [None] * len(where)
    at = 0
    for n in range(len(values) + 1):
        place = where[at] if at < len(where) else where[-1] + 1
        context = 2 * (65 * majors[n] + majors[n + 1]) + place % 2
        symbol = symbols[starts[context]]
        starts[context] += 1
        run = [int(digit) for digit in bin(symbol + 1)[3:]]
        if symbol == 255:
            run = [k & 1 for k in (next(long) for _ in range(next(long))) for _ in range(k >> 1)]
        for nop in run:
            found[at] = NOPS[nop]
            at += 1
        if n < len(values):
            positions.append(at)
        at += 1
    return positions, found
