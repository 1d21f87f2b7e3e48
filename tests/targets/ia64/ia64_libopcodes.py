"""libopcodes' view of an IA-64 instruction, through ctypes: flags, what it reads and writes.

The library is part of the Debian package of the cross binutils, not an interface that anyone
promises: the layouts below are those of `include/opcode/ia64.h` in binutils 2.40.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path

import pytest

_PATHS = "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"
_NUMBER = 0x7FF  # of a dependency; above it is a footnote
TYPES = {"A": 1, "I": 2, "M": 3, "B": 4, "F": 5, "X": 6}
FIRST, LAST, PRIVILEGED, SLOT2, UNPREDICATED = 1, 4, 8, 0x10, 0x20  # bits of `flags`


class _Dependency(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("specifier", ctypes.c_int),
        ("mode", ctypes.c_int),  # 0 read after write, 1 write after write, 2 write after read
        ("semantics", ctypes.c_int),
        ("regindex", ctypes.c_int),
        ("info", ctypes.c_char_p),
    )


class _Lists(ctypes.Structure):
    _fields_ = (
        ("nchks", ctypes.c_int),
        ("chks", ctypes.POINTER(ctypes.c_ushort)),
        ("nregs", ctypes.c_int),
        ("regs", ctypes.POINTER(ctypes.c_ushort)),
    )


class _Opcode(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("num_outputs", ctypes.c_int),
        ("opcode", ctypes.c_uint64),
        ("mask", ctypes.c_uint64),
        ("operands", ctypes.c_int * 5),
        ("flags", ctypes.c_uint),
        ("ent_index", ctypes.c_short),
        ("dependencies", ctypes.POINTER(_Lists)),
    )


@dataclass(frozen=True)
class Opinion:
    """The mnemonic, the flags, and the names of the resources read and written."""

    name: str
    flags: int
    reads: frozenset[str]
    writes: frozenset[str]


@functools.cache
def library() -> ctypes.CDLL:
    """The library, or the test is skipped."""
    for folder in _PATHS:
        path = Path(folder) / "libopcodes-2.40-ia64.so"
        if path.is_file():
            found = ctypes.CDLL(str(path))
            found.ia64_dis_opcode.restype = ctypes.POINTER(_Opcode)
            found.ia64_dis_opcode.argtypes = [ctypes.c_uint64, ctypes.c_int]
            found.ia64_find_dependency.restype = ctypes.POINTER(_Dependency)
            found.ia64_find_dependency.argtypes = [ctypes.c_int]
            return found
    pytest.skip("libopcodes-2.40-ia64.so is not there: apt-get install binutils-ia64-linux-gnu")


def opinion(slot: int, unit: str) -> Opinion | None:
    """What libopcodes says about a slot of a unit ("A" to "X")."""
    found = library().ia64_dis_opcode(slot, TYPES[unit])
    if not found:
        return None
    opcode = found.contents
    lists = opcode.dependencies.contents
    return Opinion(
        opcode.name.decode(),
        opcode.flags,
        _names(lists.chks[: lists.nchks]),
        _names(lists.regs[: lists.nregs]),
    )


def _names(numbers: list[int]) -> frozenset[str]:
    """Resources of the read-after-write entries."""
    entries = [library().ia64_find_dependency(n & _NUMBER).contents for n in numbers]
    return frozenset(e.name.decode() for e in entries if e.mode == 0)
