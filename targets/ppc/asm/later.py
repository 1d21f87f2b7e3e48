"""Instructions that Keystone does not know: those of ISA 3.0 that our routines use, as data.

Each is a word without its operands and, in the order of the text, where an operand's pieces go:
(bits from the right, low bit of the piece, bits wide).  Power ISA 3.0B, book I.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

Piece = tuple[int, int, int]  # bit of the word, bit of the value, bits

_D, _A, _B = ((21, 0, 5),), ((16, 0, 5),), ((11, 0, 5),)
_XT = ((21, 0, 5), (0, 5, 1))  # a vector-scalar register: its sixth bit is the word's last
_XT_DQ = ((21, 0, 5), (3, 5, 1))
_OFFSET = ((4, 4, 12),)  # a multiple of 16


@dataclass(frozen=True, slots=True)
class _Row:
    word: int
    operands: tuple[tuple[Piece, ...], ...]
    base: bool = False  # the last two are written offset(base)

    def encoded(self, text: str) -> int:
        pattern = r"[,()]" if self.base else ","
        values = [int(part, 0) for part in re.split(pattern, text.rstrip(")")) if part.strip()]
        if len(values) != len(self.operands):
            raise ValueError(f"it has {len(self.operands)} operands")
        word = self.word
        for number, pieces in zip(values, self.operands, strict=True):
            word |= _placed(number, pieces)
        return word


def _placed(number: int, pieces: tuple[Piece, ...]) -> int:
    signed = pieces is _OFFSET
    span = 1 << max(low + bits for _, low, bits in pieces)
    least = -span // 2 if signed else 0
    kept = sum(((1 << bits) - 1) << low for _, low, bits in pieces)
    if not least <= number < least + span or number & ~kept & span - 1:
        raise ValueError(f"{number} does not fit")
    return sum((number >> low & (1 << bits) - 1) << at for at, low, bits in pieces)


def _x(opcode: int) -> int:
    return 31 << 26 | opcode << 1


def _v(opcode: int) -> int:
    return 4 << 26 | opcode


_ROWS: Mapping[str, _Row] = MappingProxyType(
    {
        **{
            name: _Row(_x(opcode), (_XT, _A, _B))
            for name, opcode in {
                "lxvx": 268, "lxvl": 269, "lxvll": 301, "lxvwsx": 364, "lxvb16x": 876,
                "stxvx": 396, "stxvl": 397, "stxvll": 429, "stxvb16x": 1004, "mtvsrdd": 435,
            }.items()
        },
        "lxv": _Row(61 << 26 | 1, (_XT_DQ, _OFFSET, _A), base=True),
        "stxv": _Row(61 << 26 | 5, (_XT_DQ, _OFFSET, _A), base=True),
        "mtvsrws": _Row(_x(403), (_XT, _A)),
        "mfvsrld": _Row(_x(307), (((16, 0, 5),), _XT)),
        "cnttzw": _Row(_x(538), (_A, _D)),
        "cnttzd": _Row(_x(570), (_A, _D)),
        "vclzlsbb": _Row(_v(1538), (_D, _B)),
        "vctzlsbb": _Row(_v(1538) | 1 << 16, (_D, _B)),
        "vcmpneb": _Row(_v(7), (_D, _A, _B)),
        "vcmpneb.": _Row(_v(7 | 1 << 10), (_D, _A, _B)),
        "vcmpnezb": _Row(_v(263), (_D, _A, _B)),
        "vcmpnezb.": _Row(_v(263 | 1 << 10), (_D, _A, _B)),
        "vextublx": _Row(_v(1549), (_D, _A, _B)),
        "vextubrx": _Row(_v(1805), (_D, _A, _B)),
        "xxspltib": _Row(60 << 26 | 360 << 1, (_XT, ((11, 0, 8),))),
    }
)  # fmt: skip


def word(mnemonic: str, operands: str) -> int:
    """The word of an instruction whose operands are numbers; ValueError if there is none."""
    row = _ROWS.get(mnemonic)
    if row is None:
        raise ValueError(f"there is no instruction {mnemonic}")
    return row.encoded(operands)
