"""Results by their keys, as one file holds them.

bytes 0..4    b"RTR1"
the rest      records: key (32 bytes), SHA-256 of key and result (32), size (4, little-endian),
              and as many bytes of result

A record is believed only if its digest fits and it says what a run may (`checked`), and what the
verifier does not accept of it goes back like anything else that a run made.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from passes.substitute import Seen
from rewriter.core.code.program import Function
from rewriter.road.outcome import Done
from rewriter.road.remembered.checked import Checks
from rewriter.road.remembered.packed import STRANGE, done_of, of_done, of_seen, seen_of

MAGIC = b"RTR1"
_HEAD = struct.Struct("<32s32sI")

LARGEST = 64 << 20
"""Bytes of a file of results; what this run did not ask for goes first."""

_Result = TypeVar("_Result")


@dataclass
class Results:
    """What functions and routines became; `damaged` counts records that are not what was written.

    `used` are those that this run asked for or made, in that order; `salt` is what the run depends
    on beside the file and the CPU.
    """

    salt: bytes = b""
    kept: dict[bytes, bytes] = field(default_factory=dict)
    used: dict[bytes, bytes] = field(default_factory=dict)
    damaged: int = 0

    @classmethod
    def parse(cls, data: bytes, salt: bytes) -> Results:
        """What `dump` made, as far as it is whole."""
        results = cls(salt)
        if data[: len(MAGIC)] == MAGIC:
            results.kept = dict(results._records(data))
        elif data:
            results.damaged = 1
        return results

    def dump(self) -> bytes:
        """As bytes: what this run used first, then what else there is room for."""
        parts, size = [MAGIC], len(MAGIC)
        others = ((key, result) for key, result in self.kept.items() if key not in self.used)
        for key, result in chain(self.used.items(), others):
            size += _HEAD.size + len(result)
            if size > LARGEST:
                break
            parts += [_HEAD.pack(key, _digest(key, result), len(result)), result]
        return b"".join(parts)

    def done(self, key: bytes, function: Function, checks: Checks) -> Done | None:
        """What a function became, if it may have."""

        def read(packed: bytes) -> Done:
            done = done_of(packed, function)
            checks.check(done)
            return done

        return self._found(key, read)

    def seen(self, key: bytes, count: Callable[[], int]) -> Seen | str | None:
        """Which of the routines that are for one may stand for it, or why none does; `count` says
        how many these are."""
        return self._found(key, lambda packed: seen_of(packed, count))

    def keep_done(self, key: bytes, done: Done) -> None:
        """A function is as it is; what went wrong, or is a matter of places, is not kept."""
        if done.refusal is None and done.substitution is None:
            self.used[key] = of_done(done)

    def keep_seen(self, key: bytes, seen: Seen | str) -> None:
        """What may stand for a routine."""
        self.used[key] = of_seen(seen)

    def _found(self, key: bytes, read: Callable[[bytes], _Result]) -> _Result | None:
        packed = self.kept.get(key)
        if packed is None:
            return None
        try:
            result = read(packed)
        except STRANGE:
            self.damaged += 1
            return None
        self.used[key] = packed
        return result

    def _records(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        at = len(MAGIC)
        while at < len(data):
            if at + _HEAD.size > len(data):
                self.damaged += 1
                return
            key, digest, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            result = data[at : at + size]
            at += size
            if len(result) == size and _digest(key, result) == digest:
                yield key, result
            else:
                self.damaged += 1


def _digest(key: bytes, result: bytes) -> bytes:
    return hashlib.sha256(key + result).digest()
