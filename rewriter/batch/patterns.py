"""Decided patterns as bytes: for other processes, and for a store on the disk.

bytes 0..4    b"RTP1"
bytes 4..36   SHA-256 of the rest
the rest      records: width in bits and cell in bytes (2 bytes each, little-endian), digest
              (16), 1 for proved or 0 for refuted, and the name of a proved pattern (12)
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

from rewriter.core.edit import Grade
from rewriter.verify.terms.remembered import Decided, Kind, Patterns

MAGIC, _DIGEST = b"RTP1", 32
_RECORD = struct.Struct("<HH16sB12s")
_GRADES = (Grade.REFUTED, Grade.PROVED)


class Damaged(ValueError):
    """Not what `dump` made."""


def dump(patterns: Patterns) -> bytes:
    """Patterns as bytes: the same patterns, in any order, the same bytes."""
    rest = b"".join(sorted(_records(patterns)))
    return MAGIC + hashlib.sha256(rest).digest() + rest


def parse(data: bytes) -> Patterns:
    """What `dump` made of patterns; Damaged for anything else."""
    start = len(MAGIC) + _DIGEST
    rest = data[start:]
    if data[: len(MAGIC)] != MAGIC or hashlib.sha256(rest).digest() != data[len(MAGIC) : start]:
        raise Damaged("checksum")
    if len(rest) % _RECORD.size:
        raise Damaged("size")
    found: dict[Kind, dict[bytes, Decided]] = {}
    for width, cell, digest, grade, key in _RECORD.iter_unpack(rest):
        decided = Decided(_GRADES[grade], key.rstrip(b"\0").decode("ascii"))
        found.setdefault((width, cell), {})[digest] = decided
    return found


def _records(patterns: Patterns) -> Iterator[bytes]:
    for (width, cell), decided in patterns.items():
        for digest, one in decided.items():
            if one.grade in _GRADES:
                number = _GRADES.index(one.grade)
                yield _RECORD.pack(width, cell, digest, number, one.key.encode("ascii"))
