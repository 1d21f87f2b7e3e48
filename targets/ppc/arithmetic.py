"""What the table leaves open, on plain numbers, for trials of known routines.

What is undefined is a number that no routine would want.  dcbz fills its block with zeros: of 32
bytes on processors before POWER4, of 128 on it and later ones, and glibc's loader tells routines
which (`_dl_cache_line_size`), or leaves it zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.core.readings.interpret import Effect
from rewriter.core.readings.machine import Machine
from rewriter.core.trials import World
from targets.ppc.meanings import answers

_UNDEFINED = 0xA5C3_96E1_7BD2_485F
_SILENT = frozenset(
    {*("dcbt", "dcbtst", "dst", "dstt", "dstst", "dststt", "dss", "dssall"), "isync", "sync"}
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


def _effects(block: int) -> Mapping[str, Effect]:
    return MappingProxyType({"dcbz": _cleared(block), "dcbzl": _cleared(128)})


WORLDS = (World(_effects(32), 32), World(_effects(128), 128), World(_effects(128), 0))
"""Each block, and a loader that does not say which."""
