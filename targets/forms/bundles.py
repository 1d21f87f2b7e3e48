"""Code of IA-64: bundles of 128 bits, a template and three slots (SDM volume 1, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.target.code_form import NOWHERE, Contexts, Items, Numbers, Values, by_context
from rewriter.core.varints import packed, unpacked

_SLOT = np.uint64((1 << 41) - 1)
_NOP, _NOP_B = 0x8000000, 0x4000000000
_DISTANCE = np.uint64(0xFFFFF << 13 | 1 << 36)
"""imm20b and its sign, in a branch."""
_CLASS = 41
_NONE, _M, _I, _F, _B, _L, _X, _A = range(8)
"""Classes of instructions: units, and A for what may go to M or to I (major opcode 8 or more)."""
_UNITS = {
    0x00: "MII", 0x02: "MII", 0x04: "MLX", 0x08: "MMI", 0x0A: "MMI", 0x0C: "MFI", 0x0E: "MMF",
    0x10: "MIB", 0x12: "MBB", 0x16: "BBB", 0x18: "MMB", 0x1C: "MFB",
}  # fmt: skip
_LETTERS = {"M": _M, "I": _I, "F": _F, "B": _B, "L": _L, "X": _X}
_OF_TEMPLATE = np.zeros((32, 3), np.uint64)
for _code, _letters in _UNITS.items():
    _OF_TEMPLATE[_code] = _OF_TEMPLATE[_code + 1] = [_LETTERS[letter] for letter in _letters]
_CONTEXTS = 2 * 8**3


@dataclass(frozen=True)
class Bundles:
    """The form of IA-64: values are slots with the class of the instruction above bit 41."""

    unit: int = 16
    size: int = 8

    def items(self, code: bytes, places: Numbers) -> Items:
        """Take code apart; `places` are its bundles."""
        templates, slots = _slots(code)
        units, nops = _read(templates, slots)
        majors = slots >> np.uint64(37)
        either = ((units == _M) | (units == _I)) & (majors >= 8)
        whole = (slots | np.where(either, np.uint64(_A), units) << np.uint64(_CLASS)).reshape(-1)
        real = np.flatnonzero(~nops.reshape(-1))
        values, where = whole[real], places[real // 3]
        branches = self.branches(values)
        bits = values & _DISTANCE
        distances = (bits >> np.uint64(13) & np.uint64(0xFFFFF)).astype(np.int64)
        distances -= (bits >> np.uint64(36)).astype(np.int64) << 20
        targets = np.where(branches, where + distances, NOWHERE)
        return Items(np.where(branches, values & ~_DISTANCE, values), where, targets)

    def branches(self, values: Values) -> NDArray[np.bool_]:
        """Which values are branches relative to their bundle: unit B, major opcode 4 or 5."""
        majors = values >> np.uint64(37) & np.uint64(15)
        found: NDArray[np.bool_] = values >> np.uint64(_CLASS) == _B
        found &= (majors == 4) | (majors == 5)
        return found

    def layout(self, code: bytes, places: Numbers, values: Values) -> tuple[bytes, ...]:
        """The template of each bundle, and which of its slots are nops, above it.

        The context is the classes of the next three instructions, and whether the template before
        ends a group.
        """
        templates, slots = _slots(code)
        _, nops = _read(templates, slots)
        symbols = (templates | nops @ np.array([32, 64, 128], np.uint8)).astype(np.uint8)
        counts = 3 - nops.sum(axis=1)
        first = np.cumsum(counts) - counts
        stops = np.concatenate([[0], symbols[:-1] & 1])[: len(symbols)]
        contexts = 2 * _next_classes(values)[first] + stops
        per_context, stream = by_context(contexts, symbols)
        return packed(per_context), stream, b""

    def placed(
        self, columns: tuple[bytes, ...], places: Numbers, values: Values
    ) -> tuple[Numbers, NDArray[np.uint8]]:
        """The place of each value, and the symbols of all bundles."""
        counts, stream, _ = columns
        contexts = Contexts(unpacked(counts), stream, _CONTEXTS)
        classes = (2 * _next_classes(values)).tolist()
        left = [3 - bin(symbol >> 5).count("1") for symbol in range(256)]
        symbols, at, stop = bytearray(), 0, 0
        for _ in range(len(places)):
            if at >= len(classes):
                raise ValueError("layout")
            symbol = contexts.take(classes[at] + stop)
            symbols.append(symbol)
            stop = symbol & 1
            at += left[symbol]
        if at != len(values):
            raise ValueError("layout")
        found = np.frombuffer(bytes(symbols), np.uint8)
        return np.repeat(places, np.array(left)[found]), found

    def code(self, items: Items, places: Numbers, laid_out: object) -> bytes:
        """Put code together."""
        assert isinstance(laid_out, np.ndarray)
        templates = (laid_out & 31).astype(np.uint64)
        nops = (laid_out[:, None] >> np.array([5, 6, 7], np.uint8) & 1).astype(bool)
        units = _OF_TEMPLATE[templates.astype(np.int64)]
        slots = np.where(units == _B, np.uint64(_NOP_B), np.uint64(_NOP))
        distances = items.targets - items.places
        bits = (distances & 0xFFFFF).astype(np.uint64) << np.uint64(13)
        bits |= (distances >> 20 & 1).astype(np.uint64) << np.uint64(36)
        values = items.values & _SLOT
        slots[~nops] = np.where(self.branches(items.values), values | bits, values)
        low = templates | slots[:, 0] << np.uint64(5) | slots[:, 1] << np.uint64(46)
        high = slots[:, 1] >> np.uint64(18) | slots[:, 2] << np.uint64(23)
        return np.stack([low, high], axis=1).astype("<u8").tobytes()


def _slots(code: bytes) -> tuple[NDArray[np.uint8], Values]:
    """The templates, and the three slots of each bundle."""
    halves = np.frombuffer(code, "<u8").reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    middle = (low >> np.uint64(46) | high << np.uint64(18)) & _SLOT
    slots = np.stack([low >> np.uint64(5) & _SLOT, middle, high >> np.uint64(23)], axis=1)
    return (low & np.uint64(31)).astype(np.uint8), slots


def _read(templates: NDArray[np.uint8], slots: Values) -> tuple[Values, NDArray[np.bool_]]:
    """The unit of each slot, and which are nops."""
    units = _OF_TEMPLATE[templates]
    nops = np.where(units == _B, slots == _NOP_B, slots == _NOP)
    return units, nops & (units != _L) & (units != _X) & (units != _NONE)


def _next_classes(values: Values) -> Numbers:
    """For each instruction its class and those of the next two, 8 of each; one row more."""
    classes = np.concatenate([(values >> np.uint64(_CLASS)).astype(np.int64), np.zeros(3, int)])
    found: Numbers = classes[:-2] * 64 + classes[1:-1] * 8 + classes[2:]
    return found
