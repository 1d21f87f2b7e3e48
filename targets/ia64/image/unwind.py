"""Unwind descriptors: which slots they name, and the same bytes naming other slots.

Layout: Itanium Software Conventions and Runtime Architecture Guide, chapter 11 and appendix B.
A length or time counts slots, three to a bundle; a long instruction takes two of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rewriter.core.target.protocol import CannotMove, Memory
from targets.ia64.image.unwind_names import (
    BRANCHES,
    EVERY,
    IN_BRANCH,
    P3,
    P7,
    P8,
    REGISTERS,
    SPILLS,
)

ENTRY = struct.Struct("<QQQ")
_HANDLERS = 3  # flags: an exception or a termination handler
_NEVER = (1 << 64) - 1
_WORD = HEADER = 8  # bytes; descriptors stand behind the header
_SPARE = 256  # bytes of descriptors that the shortest code may have


class Malformed(CannotMove):
    """Why descriptors cannot be followed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the unwind table, as addresses: code from `start` to `end`, described at `info`."""

    start: int
    end: int
    info: int


@dataclass(frozen=True, slots=True)
class Number:
    """A number within descriptors: bytes [at, end), and its value.

    It is an unsigned LEB128 number, or where `bits` is not 0 the low bits of one byte.
    """

    at: int
    end: int
    value: int
    bits: int = 0

    @property
    def largest(self) -> int:
        """What its bytes can say."""
        return (1 << (self.bits or 7 * (self.end - self.at))) - 1

    def written(self, value: int, raw: bytearray) -> None:
        """Puts another value in its place."""
        if not 0 <= value <= self.largest:
            raise Malformed(f"no room for the number {value}")
        if self.bits:
            raw[self.at] = raw[self.at] & ~self.largest | value
            return
        for at in range(self.at, self.end):
            more = 0x80 if at < self.end - 1 else 0
            raw[at] = value & 0x7F | more
            value >>= 7


@dataclass(frozen=True, slots=True)
class Moment:
    """A slot that a descriptor names, counted from the routine's start.

    `number` says it: slots from the region's start, or from its last slot back if `back`.
    """

    slot: int
    number: Number
    back: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A region of the unwind information: slots [start, end) of the routine.

    `fixed` says that a descriptor in it names slots in a way that cannot follow them.
    """

    start: int
    end: int
    body: bool
    length: Number
    moments: tuple[Moment, ...]
    fixed: bool


@dataclass(frozen=True, slots=True)
class Unwinding:
    """What is said of a routine: its regions, and the bytes that say so.

    `kept` is a mask of general registers in which others are saved: unwinders look there.
    `stacked` is one of the registers that are saved in memory, where they look until the slot that
    restores the stack's pointer.
    """

    parts: tuple[Part, ...]
    raw: bytes
    handled: bool
    kept: int
    stacked: int


def entries(image: Memory, table: range, base: int) -> tuple[Entry, ...]:
    """The rows of the table; offsets in it are from `base`."""
    raw = image.read(table.start, len(table) // ENTRY.size * ENTRY.size)
    return tuple(Entry(*(base + offset for offset in row)) for row in ENTRY.iter_unpack(raw))


def unwinding(image: Memory, entry: Entry) -> Unwinding:
    """The description of a routine; Malformed where it cannot be followed."""
    (header,) = struct.unpack("<Q", image.read(entry.info, _WORD))
    if header >> 48 != 1:
        raise Malformed(f"version {header >> 48} of unwind descriptors")
    size = (header & 0xFFFF_FFFF) * _WORD
    if size > max(entry.end - entry.start, 0) + _SPARE:
        raise Malformed(f"{size} bytes of unwind descriptors are more than the code has")
    raw = image.read(entry.info + _WORD, size)
    parts, kept, stacked = parsed(raw)
    return Unwinding(parts, raw, bool(header >> 32 & _HANDLERS), kept, stacked)


def parsed(raw: bytes) -> tuple[tuple[Part, ...], int, int]:
    """The regions that descriptors describe, and masks of the general registers in which others
    are saved, and of the registers saved in memory; Malformed where they cannot be followed."""
    reader = _Reader(raw)
    try:
        return tuple(reader.parts()), reader.kept, reader.stacked
    except IndexError as error:
        raise Malformed("unwind descriptors end too early") from error


def retimed(found: Unwinding, places: Mapping[int, int], bounds: Mapping[int, int]) -> bytes:
    """The descriptors when named slots move to `places` and regions' ends to `bounds`.

    Raises Malformed when a number does not fit its bytes.
    """
    raw = bytearray(found.raw)
    for part in found.parts:
        start, end = bounds[part.start], bounds[part.end]
        part.length.written(end - start, raw)
        for moment in part.moments:
            slot = places[moment.slot]
            moment.number.written(end - 1 - slot if moment.back else slot - start, raw)
    return bytes(raw)


def blank(found: Unwinding) -> bytes:
    """The descriptors without what they say of slots."""
    raw = bytearray(found.raw)
    for part in found.parts:
        for number in (part.length, *(moment.number for moment in part.moments)):
            number.written(0, raw)
    return bytes(raw)


class _Reader:
    """Reads descriptors one behind the other."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.kept, self.stacked = raw, 0, 0, 0

    def parts(self) -> Iterator[Part]:
        start = 0
        while self.at < len(self.raw):
            body, length, named = self._header()
            found = _Part(start, start + length.value, body, named)
            while self.at < len(self.raw) and self.raw[self.at] >= 0x80:
                code = self._byte()
                self._body(code, found) if body else self._prologue(code, found)
            yield found.part(length)
            start += length.value

    def _header(self) -> tuple[bool, Number, set[str]]:
        code = self._byte()
        if code < 0x40:  # R1
            return bool(code & 0x20), Number(self.at - 1, self.at, code & 0x1F, 5), set()
        if code & 0xF8 == 0x40:  # R2
            mask = (code & 7) << 1 | self._byte() >> 7
            self._keeps(mask)
            saved = {name for bit, name in enumerate(("pr", "sp", "pfs", "rp")) if mask >> bit & 1}
            return False, self._number(), saved
        if code & 0xFC == 0x60:  # R3
            return bool(code & 1), self._number(), set()
        raise Malformed(f"unknown unwind descriptor {code:#x}")

    def _prologue(self, code: int, part: _Part) -> None:
        if code < 0xA0 or 0xC0 <= code < 0xE0:  # P1, P6: spills of a mask of registers
            part.spills = True
            self.stacked |= REGISTERS[BRANCHES if code < 0xA0 else SPILLS]
        elif code < 0xB0 or code in (0xB9, 0xF1):  # P2, P5, P9
            part.spills = True
            self.at += {0xB9: 3, 0xF1: 2}.get(code, 1)
            if code < 0xB0:
                self._keeps((code & 0xF) << 1 | self.raw[self.at - 1] >> 7)
            elif code == 0xB9:
                self.stacked |= REGISTERS[SPILLS]
            else:
                self._keeps(self.raw[self.at - 2] & 0xF)
        elif code < 0xB8:  # P3: a register in another
            which = (code & 7) << 1 | self._byte() >> 7
            part.saved.add(P3.get(which, ""))
            self._keeps(which != IN_BRANCH)
        elif code == 0xB8:  # P4: two bits a slot
            self.at += -(-(part.end - part.start) // 4)
            part.fixed = True
        elif code < 0xF0:  # P7
            self._saved(P7[code & 0xF], part)
        elif code == 0xF0:  # P8
            self._saved(P8.get(self._byte(), ("", False)), part)
        elif code == 0xFF:  # P10
            self.at += 2
            part.fixed = True
        else:
            self._anywhere(code, part)

    def _saved(self, what: tuple[str, bool], part: _Part) -> None:
        name, when = what
        number = self._number()
        if not name:
            raise Malformed("unknown unwind descriptor of a saved register")
        if when:
            part.times.add(name)
            part.moments.append(Moment(part.start + number.value, number, False))
        elif name != "area":
            part.saved.add(name)
            self.stacked |= REGISTERS.get(name, 0)
        if self.raw[number.at - 1] == 0xE0:  # the size of the frame
            self._number()

    def _body(self, code: int, part: _Part) -> None:
        if code < 0xC0:  # B1
            return
        if code < 0xE0 or code == 0xE0:  # B2, B3
            number = self._number()
            # Assemblers write -1 where the frame goes with the region's last slot.
            if number.value != _NEVER:
                part.moments.append(Moment(part.end - 1 - number.value, number, True))
            if code == 0xE0:
                self._number()
        elif code in (0xF0, 0xF8):  # B4
            self._number()
        else:
            self._anywhere(code, part)

    def _anywhere(self, code: int, part: _Part) -> None:
        """X1 to X4: a register at a time of its own."""
        size = {0xF9: 1, 0xFA: 2, 0xFB: 2, 0xFC: 3}.get(code)
        if size is None:
            raise Malformed(f"unknown unwind descriptor {code:#x}")
        self.at += size
        if code in (0xFA, 0xFC):
            self._keeps(1)
        else:
            self.stacked |= REGISTERS[EVERY]
        for _ in range(2 if code in (0xF9, 0xFB) else 1):
            self._number()
        part.fixed = True

    def _keeps(self, mask: int) -> None:
        """As many registers as a mask has hold others, from that on that the last byte names."""
        first = self.raw[self.at - 1] & 0x7F
        self.kept |= ((1 << mask.bit_count()) - 1) << first

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _number(self) -> Number:
        at, value = self.at, 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << 7 * (self.at - 1 - at)
            if byte < 0x80:
                return Number(at, self.at, value)


class _Part:
    """A region as it is read."""

    def __init__(self, start: int, end: int, body: bool, saved: set[str]) -> None:
        self.start, self.end, self.body = start, end, body
        self.saved, self.times = saved, set[str]()
        self.moments: list[Moment] = []
        self.spills = self.fixed = False

    def part(self, length: Number) -> Part:
        # What is saved at no named time is saved at the region's end.
        fixed = self.fixed or self.spills or not self.saved <= self.times
        moments = tuple(m for m in self.moments if self.start <= m.slot < self.end)
        fixed = fixed or len(moments) < len(self.moments)
        return Part(self.start, self.end, self.body, length, moments, fixed)
