"""What the table leaves open, on plain numbers, for trials of known routines.

What is undefined is a number that no routine would want.  LXVL and STXVL access as many bytes as a
register says (Power ISA 3.1B, Book I, 7.6.2).  dcbz fills its block with zeros: of 32
bytes on processors before POWER4, of 128 on it and later ones, and glibc's loader tells routines
which (`_dl_cache_line_size`), or leaves it zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from rewriter.core.readings.interpret import Effect
from rewriter.core.readings.machine import Machine
from rewriter.core.trials import World
from targets.ppc.meanings import answers
from targets.ppc.meanings.wide import QUADWORD

_UNDEFINED = 0xA5C3_96E1_7BD2_485F
_SILENT = frozenset(
    (
        *("dcbt", "dcbtst", "dst", "dstt", "dstst", "dststt", "dss", "dssall"),
        *("isync", "sync", "speculation barrier"),
    )
)
"""Hints and waits: nothing is there to wait for."""


def answer(name: str, *values: int) -> int | None:
    """What an operation gives; None where it is not known."""
    return _UNDEFINED if "undefined" in name else answers.answer(name, *values)


def lasting(event: tuple[object, ...]) -> bool:
    """Whether an event is more than a hint or a wait."""
    return event[0] not in _SILENT


def _cleared(size: int) -> Effect:
    def effect(m: Machine, address: int, *how: int) -> tuple[int, ...]:
        start, step = address & -size, m.width // 8
        for at in range(start, start + size, step):
            m.store(at, 0, step)
        return ()

    return effect


def _length(m: Machine, value: int) -> int:
    """How many bytes LXVL and its like access: the most significant byte says it."""
    return min(value >> m.width - 8 & 0xFF, QUADWORD)


def _loaded(left: bool) -> Effect:
    """LXVL, LXVLL: the bytes at one end of a vector, zeros at the other."""

    def effect(m: Machine, address: int, length: int) -> tuple[int, ...]:
        found = bytes(m.load(address + n, 1) for n in range(_length(m, length)))
        if left or m.byteorder == "big":
            content = found.ljust(QUADWORD, b"\0")
        else:
            content = found[::-1].rjust(QUADWORD, b"\0")
        step = m.width // 8
        return tuple(
            int.from_bytes(content[at : at + step], "big") for at in range(0, QUADWORD, step)
        )

    return effect


def _stored(left: bool) -> Effect:
    """STXVL, STXVLL."""

    def effect(m: Machine, address: int, length: int, *parts: int) -> tuple[int, ...]:
        content = b"".join(part.to_bytes(m.width // 8, "big") for part in parts)
        ordered = content if left or m.byteorder == "big" else content[::-1]
        for n, byte in enumerate(ordered[: _length(m, length)]):
            m.store(address + n, byte, 1)
        return ()

    return effect


_LENGTHS: Mapping[str, Effect] = MappingProxyType(
    {
        "lxvl": _loaded(left=False),
        "lxvll": _loaded(left=True),
        "stxvl": _stored(left=False),
        "stxvll": _stored(left=True),
    }
)


def _effects(block: int) -> Mapping[str, Effect]:
    return MappingProxyType({"dcbz": _cleared(block), "dcbzl": _cleared(128), **_LENGTHS})


@cache
def worlds(width: int) -> tuple[World, ...]:
    """Each block that there is, and a loader that does not say which.

    Code of 32 bits runs on machines of 64 bits, too.
    """
    sizes = (32, 128) if width == 32 else (128,)
    return (*(World(_effects(size), size) for size in sizes), World(_effects(128), 0))
