"""__copy_user, __clear_user: they may fault at any access, and say how much was not done.

Source: the rules for raw_copy_to_user in the kernel's include/linux/uaccess.h: what was done is a
prefix, all behind it is unmodified, the result is zero when nothing faulted, and all of the
count only when not one byte could be done.
"""

from __future__ import annotations

from rewriter.contracts.contract import Arena, Case, Contract, Kind, Plan, Result, View
from rewriter.contracts.copy import APART
from rewriter.contracts.fill import CONTRACTS as FILLS
from rewriter.contracts.place import END, MIDDLE, START, address, held, noise, piece

NOT_FAULTING, SOURCE_FAULTS, TARGET_FAULTS = range(3)


def copy_user(view: View, to: int, source: int, count: int) -> int:
    """Copies what is accessible on both sides; gives the number of bytes that are left."""
    done = min(count, view.available(to), view.available(source))
    view.write(to, view.read(source, done) if done else b"")
    return count - done


def clear_user(view: View, to: int, count: int) -> int:
    """Fills what is accessible with zero; gives the number of bytes that are left."""
    done = min(count, view.available(to))
    view.write(to, bytes(done))
    return count - done


def _copy(
    arena: Arena,
    count: int,
    to: int,
    source: int,
    place: int,
    fault: int = NOT_FAULTING,
    at: int = 0,
) -> Case:
    """The fault comes `at` bytes in front of the end: such a number of bytes are inaccessible."""
    count = held(arena, count)
    at = min(at, count)
    target_size = count - at if fault == TARGET_FAULTS else count
    source_size = count - at if fault == SOURCE_FAULTS else count
    target = address(arena, 0, target_size, to, END if fault == TARGET_FAULTS else place)
    origin = address(arena, 1, source_size, source, END if fault == SOURCE_FAULTS else place)
    old, new = noise(target_size, count + 1), noise(source_size, count)
    pieces = piece(arena, target, old, to), piece(arena, origin, new, source)
    return Case((target, origin, count), pieces)


def _clear(
    arena: Arena, count: int, to: int, place: int, fault: int = NOT_FAULTING, at: int = 0
) -> Case:
    count = held(arena, count)
    at = min(at, count) if fault else 0
    target = address(arena, 0, count - at, to, END if fault else place)
    return Case((target, count), (piece(arena, target, noise(count - at, count), to),))


_COUNTS = (1, 2, 5, 7, 8, 9, 15, 16, 17, 31, 40, 63, 64, 65, 97, 130, 200)
_BACK = (1, 2, 3, 7, 8, 9, 16, 17, 25, 32, 33, 60, 64, 65, 100, 128, 199, 200)
"""Bytes that cannot be accessed at the end."""
_COPY_FAULTS = Plan(
    "faults",
    few={
        "count": _COUNTS,
        "to": (0,),
        "source": (0, 3, 8),
        "place": (MIDDLE,),
        "fault": (TARGET_FAULTS, SOURCE_FAULTS),
        "at": _BACK,
    },
)
_COPY_FAULTS_SKEWED = Plan(
    "faults on the source, every alignment of the target",
    few={
        "count": (1, 8, 21, 40, 77, 150),
        "to": range(8),
        "source": (0,),
        "place": (MIDDLE, START),
        "fault": (SOURCE_FAULTS,),
        "at": _BACK,
    },
)
_CLEAR_FAULTS = Plan(
    "faults",
    few={
        "count": range(1, 210, 3),
        "to": (0,),
        "place": (MIDDLE,),
        "fault": (TARGET_FAULTS,),
        "at": _BACK,
    },
)
CONTRACTS = (
    Contract(
        "__copy_user",
        (Kind.TO, Kind.FROM, Kind.COUNT),
        Result.UNDONE,
        copy_user,
        _copy,
        (*APART, _COPY_FAULTS, _COPY_FAULTS_SKEWED),
    ),
    Contract(
        "__clear_user",
        (Kind.TO, Kind.COUNT),
        Result.UNDONE,
        clear_user,
        _clear,
        (*(next(c for c in FILLS if c.name == "bzero").plans), _CLEAR_FAULTS),
    ),
)
