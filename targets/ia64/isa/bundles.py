"""Bundles: 128 bits, a template and three slots, little-endian in every file (SDM vol. 1, 3.3).

The template (bits 0 to 4) says which unit each slot goes to and where an instruction group ends.
Slots 1 and 2 of an MLX bundle are one long instruction; it counts as slot 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.groups import Slot
from rewriter.core.isa.operands import Words
from targets.ia64.isa.fields import BUNDLE, LONG, SLOT_BITS, Unit
from targets.ia64.isa.rows import TABLE

_SLOT = (1 << SLOT_BITS) - 1
_TEMPLATE = 5  # bits
SLOTS = 3

# A bar is a stop.  The templates that are not here are reserved.
_SPELLED = {
    0x00: "MII",
    0x01: "MII|",
    0x02: "MI|I",
    0x03: "MI|I|",
    0x04: "MLX",
    0x05: "MLX|",
    0x08: "MMI",
    0x09: "MMI|",
    0x0A: "M|MI",
    0x0B: "M|MI|",
    0x0C: "MFI",
    0x0D: "MFI|",
    0x0E: "MMF",
    0x0F: "MMF|",
    0x10: "MIB",
    0x11: "MIB|",
    0x12: "MBB",
    0x13: "MBB|",
    0x16: "BBB",
    0x17: "BBB|",
    0x18: "MMB",
    0x19: "MMB|",
    0x1C: "MFB",
    0x1D: "MFB|",
}


@dataclass(frozen=True, slots=True)
class Template:
    """A template: its code, the unit of each slot, and the slots behind which a group ends."""

    code: int
    units: tuple[Unit, ...]
    stops: frozenset[int]

    @property
    def name(self) -> str:
        """The units' letters, as in `MII`."""
        return "".join(unit.name for unit in self.units)

    @property
    def is_long(self) -> bool:
        """Whether slots 1 and 2 are one instruction."""
        return self.units[1] is Unit.L

    @property
    def holders(self) -> tuple[Unit, ...]:
        """The unit of each instruction: a long one is of unit X."""
        return (self.units[0], Unit.X) if self.is_long else self.units

    def slot_of(self, number: int) -> int:
        """The last slot of an instruction, by its number in the bundle."""
        return SLOTS - 1 if number == len(self.holders) - 1 else number


def _template(code: int, spelled: str) -> Template:
    letters = spelled.split("|")
    ends = (len("".join(letters[: n + 1])) - 1 for n in range(len(letters) - 1))
    return Template(code, tuple(Unit[c] for c in "".join(letters)), frozenset(ends))


TEMPLATES = {code: _template(code, spelled) for code, spelled in _SPELLED.items()}


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: its template and the word of each instruction, two of them in an MLX bundle."""

    template: Template
    words: tuple[int, ...]


def decode(raw: bytes) -> Bundle | None:
    """The bundle in 16 bytes; None when the template is reserved."""
    bits = int.from_bytes(raw, "little")
    template = TEMPLATES.get(bits & (1 << _TEMPLATE) - 1)
    if template is None:
        return None
    slots = [bits >> (_TEMPLATE + SLOT_BITS * n) & _SLOT for n in range(SLOTS)]
    if template.is_long:
        return Bundle(template, (_placed(slots[0], Unit.M), _long(slots[2], slots[1])))
    return Bundle(template, tuple(map(_placed, slots, template.units)))


def encode(bundle: Bundle) -> bytes:
    """The 16 bytes of a bundle; ValueError when a word is of another unit than its slot."""
    template, words = bundle.template, list(bundle.words)
    units = template.units
    if template.is_long:
        units = (Unit.M, Unit.X)
    found = [word >> SLOT_BITS & (1 << LONG - SLOT_BITS) - 1 for word in words]
    if found != list(units):
        raise ValueError(f"instructions of units {found} do not fit template {template.name}")
    slots = [word & _SLOT for word in words]
    if template.is_long:
        slots.insert(1, words[1] >> LONG)
    bits = template.code
    for n, slot in enumerate(slots):
        bits |= slot << (_TEMPLATE + SLOT_BITS * n)
    return bits.to_bytes(BUNDLE, "little")


def _placed(slot: int, unit: Unit) -> int:
    return slot | unit << SLOT_BITS


def _long(slot: int, extension: int) -> int:
    return _placed(slot, Unit.X) | extension << LONG


def straight(code: bytes, address: int) -> Iterator[Slot]:
    """The instructions of bundles at `address`, a long one at slot 1.

    ValueError where the bytes are no instruction.
    """
    decoded = TABLE.decode
    for at in range(0, len(code), BUNDLE):
        bits = int.from_bytes(code[at : at + BUNDLE], "little")
        steps = _STEPS.get(bits & (1 << _TEMPLATE) - 1)
        if steps is None:
            raise ValueError(f"no instruction at {address + at:#x}")
        for number, (shift, unit, extends, stop) in enumerate(steps):
            word = bits >> shift & _SLOT | unit
            if extends:
                word |= (bits >> _EXTENSION & _SLOT) << LONG
            insn = decoded(word)
            if insn is None:
                raise ValueError(f"no instruction at {address + at + number:#x}")
            yield Slot(address + at + number, insn, stop)


def _steps(template: Template) -> Iterator[tuple[int, int, bool, bool]]:
    """Of each instruction where its slot is, the bits of its unit, whether it has an L slot, too,
    and whether a stop follows."""
    for number, unit in enumerate(template.units):
        if unit is not Unit.L:
            place = _TEMPLATE + SLOT_BITS * number
            yield place, unit << SLOT_BITS, unit is Unit.X, number in template.stops


_STEPS = {code: tuple(_steps(template)) for code, template in TEMPLATES.items()}
_EXTENSION = _TEMPLATE + SLOT_BITS  # where the L slot is


def for_slots(units: Sequence[Unit], stops: frozenset[int]) -> Template | None:
    """The template with these units and stops, if there is one."""
    for template in TEMPLATES.values():
        if template.units == tuple(units) and template.stops == stops:
            return template
    return None


@dataclass(frozen=True)
class Slots:
    """The slots of a text as parallel arrays, three to a bundle.

    `addresses` are the bundle's with the slot's number added, unsigned (kernels live high up);
    `words` as the table takes them; `longs` the L slot of a long instruction, which stands at
    slot 2 behind a word of unit L; `stops` says whether a group ends behind the slot.  Slots of a
    reserved template have an all-ones word, which is no instruction.
    """

    addresses: NDArray[np.uint64]
    words: Words
    longs: Words
    stops: NDArray[np.bool_]


_UNITS = np.zeros((1 << _TEMPLATE, SLOTS), dtype=np.uint64)
_STOPS = np.zeros((1 << _TEMPLATE, SLOTS), dtype=np.bool_)
_RESERVED = np.ones(1 << _TEMPLATE, dtype=np.bool_)
for _code, _each in TEMPLATES.items():
    _UNITS[_code] = _each.units
    _STOPS[_code] = [n in _each.stops for n in range(SLOTS)]
    _RESERVED[_code] = False


def decode_text(data: bytes, address: int) -> Slots:
    """All slots of a text at `address`; its length is a whole number of bundles."""
    halves = np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    codes = (low & np.uint64((1 << _TEMPLATE) - 1)).astype(np.uint8)
    slot = np.uint64(_SLOT)
    words = np.empty((len(halves), SLOTS), dtype=np.uint64)
    words[:, 0] = low >> np.uint64(_TEMPLATE) & slot
    words[:, 1] = (low >> np.uint64(46) | high << np.uint64(18)) & slot
    words[:, 2] = high >> np.uint64(23)
    longs = np.zeros_like(words)
    is_long = _UNITS[codes, 1] == Unit.L
    longs[is_long, 2] = words[is_long, 1]
    words |= _UNITS[codes] << np.uint64(SLOT_BITS)
    words[_RESERVED[codes]] = np.uint64((1 << LONG) - 1)
    numbers: Words = np.arange(words.size, dtype=np.uint64)
    slots = np.uint64(SLOTS)
    addresses = np.uint64(address) + numbers // slots * np.uint64(BUNDLE) + numbers % slots
    return Slots(addresses, words.ravel(), longs.ravel(), _STOPS[codes].ravel())
